"""Resource tables in aapt2's protobuf encoding, with the smallest of each kind of value; and types
of a binary table in the encodings that the emulator does not write.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

from google_emulator.services.play.binary_table import (
    Record,
    read_proto_table,
    write_binary_table,
)
from google_emulator.specimens.manifests import (
    chunk,
    field,
    number,
    string_pool,
    varint,
)

APP = "com.example.app"
APP_ID = 0x7F


def fixed(field_id: int, value: int) -> bytes:
    """A field of four bytes."""
    return varint(field_id << 3 | 5) + struct.pack("<I", value)


def text_item(text: str) -> bytes:
    """A text."""
    return field(2, field(1, text.encode()))


def file_item(path: str) -> bytes:
    """The path of a file."""
    return field(5, field(1, path.encode()))


def reference(
    resource: int, name: str = "", *, attribute: bool = False, **flags: bool
) -> bytes:
    """A reference to a resource, without what says that it is an item."""
    written = number(1, 1) if attribute else b""
    written += number(2, resource) + (field(3, name.encode()) if name else b"")
    return written + (field(5, number(1, 1)) if flags.get("dynamic") else b"")


def primitive(field_id: int, value: int) -> bytes:
    """A number of some kind."""
    return field(7, number(field_id, value))


def styled_item(text: str, *spans: tuple[str, int, int]) -> bytes:
    """A text with tags."""
    written = field(1, text.encode())
    for tag, first, last in spans:
        written += field(2, field(1, tag.encode()) + number(2, first) + number(3, last))
    return field(4, written)


def item(content: bytes) -> bytes:
    """A value that is a single item."""
    return field(4, content)


def compound(field_id: int, content: bytes) -> bytes:
    """A style, an array, plurals or an attribute."""
    return field(5, field(field_id, content))


def resource(entry: int, name: str, values: Mapping[bytes, bytes]) -> bytes:
    """A resource of a type: values by their configurations."""
    written = field(1, number(1, entry)) + field(2, name.encode())
    for configuration, value in values.items():
        written += field(6, field(1, configuration) + field(2, value))
    return written


def proto_table(
    types: Mapping[str, Sequence[bytes]], package: str = APP, package_id: int = APP_ID
) -> bytes:
    """A table of one package: resources by the names of their types."""
    written = field(1, number(1, package_id)) + field(2, package.encode())
    for index, (name, resources) in enumerate(types.items(), 1):
        content = b"".join(field(3, one) for one in resources)
        written += field(
            3, field(1, number(1, index)) + field(2, name.encode()) + content
        )
    return field(2, written)


def records(table: bytes) -> list[Record]:
    """The values of a table as the emulator reads them."""
    return [record for _, values in read_proto_table(table) for record, _ in values]


def binary_table(table: bytes) -> bytes:
    """A table in Android's binary encoding, as the emulator writes it."""
    return write_binary_table(records(table))


def locale(tag: str) -> bytes:
    """A configuration for a language."""
    return field(3, tag.encode())


def dpi(value: int) -> bytes:
    """A configuration for a density."""
    return number(18, value)


def table_of_type(
    indices: bytes,
    count: int,
    entries: bytes,
    *,
    flags: int = 0,
    announced: int = 0x10000,
    texts: Sequence[str] = ("Hello",),
) -> bytes:
    """A binary table with one chunk of strings called `hello`, of these indices and entries."""
    body = indices + bytes(-len(indices) % 4)
    header = struct.pack("<2BH2I", 1, flags, 0, count, 84 + len(body))
    values = chunk(0x0201, header + struct.pack("<I", 64) + bytes(60), body + entries)
    spec = chunk(0x0202, struct.pack("<2BHI", 1, 0, 1, announced), bytes(4 * announced))
    types = string_pool(["string"])
    package = struct.pack(
        "<I256s5I", APP_ID, APP.encode("utf-16-le"), 288, 0, 288 + len(types), 0, 0
    )
    packed = chunk(0x0200, package, types + string_pool(["hello"]) + spec + values)
    return chunk(0x0002, struct.pack("<I", 1), string_pool(texts) + packed)
