"""The values of a resource table, in the form in which both of its encodings are compared.

An APK has Android's binary table (`resource_table`), a bundle aapt2's protobuf table
(`resource_proto`); `aapt2 convert` is how bundletool makes one of the other. What says the same
gives equal values here: a value is an `Encoded`, a number as it is, everything else as a digest, so
that a table with very many values takes little memory.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable, Sequence
from operator import le
from typing import NamedTuple, TypeAlias

Encoded: TypeAlias = bytes

# bytes of one table; a bundle's has some tens of bytes about the origin of each value
MAX_BUILT_TABLE = 64 << 20
MAX_TABLE = 32 << 20
MAX_VALUES = 1_000_000  # of one table: a hundred languages with ten thousand texts
# of the tables of all APKs that are compared with one bundle
MAX_VALUES_OF_APKS = 10_000_000
MAX_ITEMS = 2_000_000  # within all styles, arrays, plurals and attributes of one table
MAX_ITEMS_OF_VALUE = 0xFFFF  # within one of them

# types of a value (Res_value in ResourceTypes.h), in tables and in compiled XML
NULL = 0x00
REFERENCE = 0x01
ATTRIBUTE_REFERENCE = 0x02
STRING = 0x03
FLOAT = 0x04
DIMENSION = 0x05
FRACTION = 0x06
DYNAMIC_REFERENCE = 0x07
DYNAMIC_ATTRIBUTE = 0x08
DECIMAL = 0x10
BOOLEAN = 0x12
# the same by the field of aapt2's message Primitive (Resources.proto)
PRIMITIVES = {
    3: FLOAT,
    4: DIMENSION,
    5: FRACTION,
    6: DECIMAL,
    7: 0x11,  # hexadecimal
    8: BOOLEAN,
    9: 0x1C,  # #aarrggbb
    10: 0x1D,  # #rrggbb
    11: 0x1E,  # #argb
    12: 0x1F,  # #rgb
    13: DIMENSION,
    14: FRACTION,
}
# fields of Primitive that say that there is no value
NULL_VALUE = 1
EMPTY_VALUE = 2

# keys of the items that are no attributes (ResTable_map)
ATTRIBUTE_TYPE = 0x01000000
ATTRIBUTE_MINIMUM = 0x01000001
ATTRIBUTE_MAXIMUM = 0x01000002
ARRAY_BEGINNING = 0x01000001
PLURALS = (5, 6, 7, 8, 9, 4)  # zero, one, two, few, many, other

CONFIGURATION_SIZE = 60  # bytes of ResTable_config behind its size
_DENSITY = struct.Struct("<10xH")
_LANGUAGE = slice(4, 6)
_LOCALE = (slice(4, 8), slice(32, 44), slice(49, 57))

ENCODED_SIZE = 16  # bytes
_NUMBER = struct.Struct("<2BI10x")
DISORDERED: Encoded = b"\xff" * ENCODED_SIZE
"""What is compared of a value whose items have another order: it is like no other value."""


class UnreadableTable(Exception):
    """A table is damaged, larger than any, or has what this program does not know; the text is a
    phrase that goes on after "a resource table that".
    """


class TableValue(NamedTuple):
    """One value of a resource: the resource's id, type and name, the configuration that the value
    is for, and the value. `text` is the value where it is a plain text, which may be the path of a
    file.
    """

    resource: int
    type: str
    name: str
    configuration: bytes
    value: Encoded
    text: str | None = None


def encode_number(kind: int, data: int) -> Encoded:
    """Return what is compared of a value that is not text."""
    return _NUMBER.pack(kind, 0, data & 0xFFFFFFFF)


def encode_text(text: str) -> Encoded:
    """Return what is compared of a text, or of the path of a file."""
    return _digest(b"t" + text.encode("utf-8", "surrogatepass"))


def encode_styled(text: str, spans: Iterable[tuple[str, int, int]]) -> Encoded:
    """Return what is compared of a text with tags; spans are tags with their first and last
    character.
    """
    parts = [text, *(f"{first}-{last} {tag}" for tag, first, last in spans)]
    lengths = struct.pack(f"<{len(parts)}I", *map(len, parts))
    return _digest(b"s" + lengths + "".join(parts).encode("utf-8", "surrogatepass"))


def encode_items(parent: int, items: Iterable[tuple[int, Encoded]]) -> Encoded:
    """Return what is compared of a value that consists of others, in any order."""
    content = b"".join(struct.pack("<I", key) + value for key, value in sorted(items))
    return _digest(b"i" + struct.pack("<I", parent) + content)


def is_in_order(keys: Sequence[int]) -> bool:
    """Return whether items have the order in which aapt2 writes them (ResEntryWriter), as far as it
    means something: Android counts the items of an array, and older versions look for those of a
    style as in a sorted list. Attributes and plurals may have any.
    """
    if ATTRIBUTE_TYPE in keys or all(key - ATTRIBUTE_TYPE in PLURALS for key in keys):
        return True
    # Newer versions of aapt2 put the ids that are known only on a device behind Android's own.
    dynamic = [key if key >> 24 else 0x01FFFFFF + key for key in keys]
    return any(all(map(le, order, order[1:])) for order in (list(keys), dynamic))


def _digest(data: bytes) -> Encoded:
    return hashlib.blake2b(data, digest_size=ENCODED_SIZE).digest()


def density(configuration: bytes) -> int:
    """Return the density of a configuration in dots per inch; 0 where it names none."""
    return int(_DENSITY.unpack_from(configuration)[0])


def without_density(configuration: bytes) -> bytes:
    """Return the configuration without its density."""
    return configuration[:10] + bytes(2) + configuration[12:]


def language(configuration: bytes) -> str:
    """Return the language of a configuration in two or three letters, or nothing."""
    return unpack_letters(configuration[_LANGUAGE], ord("a"))


def pack_letters(letters: str, first: int) -> bytes:
    """Return a language or a region as ResTable_config has it: two letters as they are, three in
    five bits each, counted from the character `first`.
    """
    if len(letters) == 2:
        return letters.encode("ascii")
    a, b, c = ((ord(letter) - first) & 0x1F for letter in letters)
    return bytes((0x80 | c << 2 | b >> 3, (b & 7) << 5 | a))


def unpack_letters(packed: bytes, first: int) -> str:
    """Return the letters that `pack_letters` has packed."""
    if not packed[0] & 0x80:
        return packed.rstrip(b"\0").decode("ascii", "replace")
    a = packed[1] & 0x1F
    b = packed[1] >> 5 | (packed[0] & 3) << 3
    c = packed[0] >> 2 & 0x1F
    return "".join(chr(first + letter) for letter in (a, b, c))


def describe(configuration: bytes) -> str:
    """Return a configuration in a few words, for people."""
    words = []
    locale = language(configuration)
    region = unpack_letters(configuration[6:8], ord("0"))
    if locale:
        words.append(f"{locale}-r{region}" if region else locale)
    if density(configuration):
        words.append(f"{density(configuration)}dpi")
    rest = bytearray(without_density(configuration))
    for part in _LOCALE:
        rest[part] = bytes(len(rest[part]))
    if any(rest):
        words.append("with other qualifiers")
    return " ".join(words) or "default"
