"""The values of a resource table, in the form in which both of its encodings are compared.

An APK has Android's binary table (`resource_table`), a bundle has aapt2's protobuf table
(`resource_proto`), and bundletool makes one of the other with `aapt2 convert`. What means the same
in both gives equal values here. A value is an `Encoded`: a number as it is, everything else as a
digest, so that a table with very many values takes little memory.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeAlias

from uploader.files.android.protobuf import Field

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
HEXADECIMAL = 0x11
BOOLEAN = 0x12
COLOR_ARGB8 = 0x1C
COLOR_RGB8 = 0x1D
COLOR_ARGB4 = 0x1E
COLOR_RGB4 = 0x1F
# The type that each field of aapt2's message Primitive has (Resources.proto).
_PRIMITIVES = {
    3: FLOAT,
    4: DIMENSION,
    5: FRACTION,
    6: DECIMAL,
    7: HEXADECIMAL,
    8: BOOLEAN,
    9: COLOR_ARGB8,
    10: COLOR_RGB8,
    11: COLOR_ARGB4,
    12: COLOR_RGB4,
    13: DIMENSION,
    14: FRACTION,
}
# fields of Primitive that say that there is no value
_NULL_VALUE = 1
_EMPTY_VALUE = 2
# fields of aapt2's message Item (Resources.proto), one for each kind of value
ITEM_REFERENCE = 1
ITEM_TEXT = 2
ITEM_RAW_TEXT = 3
ITEM_STYLED_TEXT = 4
ITEM_FILE = 5
ITEM_ID = 6
ITEM_PRIMITIVE = 7
ITEM_FLAG = 8

# keys of items that are not attributes (ResTable_map)
ATTRIBUTE_TYPE = 0x01000000
ATTRIBUTE_MINIMUM = 0x01000001
ATTRIBUTE_MAXIMUM = 0x01000002
ARRAY_BEGINNING = 0x01000001
PLURALS = (5, 6, 7, 8, 9, 4)  # zero, one, two, few, many, other

CONFIGURATION_SIZE = 60  # bytes of ResTable_config without its size
_DENSITY = struct.Struct("<10xH")
_LANGUAGE = slice(4, 6)
_REGION = slice(6, 8)
# language and region, script and variant, numbering system
_LOCALE = (
    slice(4, 8),
    slice(32, 44),
    slice(49, 57),
)

ENCODED_SIZE = 16  # bytes
_NUMBER = struct.Struct("<2BI10x")
DISORDERED: Encoded = b"\xff" * ENCODED_SIZE
"""What stands for a value whose items are not in aapt2's order. It equals no value of a bundle."""


class UnreadableTable(Exception):
    """A table is damaged, larger than any real one, or has something unknown. The text is a phrase
    that continues "a resource table that".
    """


class TableValue(NamedTuple):
    """One value of a resource: the resource's id, type and name, the configuration that the value
    is for, and the value. `text` is the value if it is a plain text, which may be the path of a
    file.
    """

    resource: int
    type: str
    name: str
    configuration: bytes
    value: Encoded
    text: str | None = None


def read_primitive(fields: Iterable[Field]) -> tuple[int, int] | None:
    """Return the type and the number of a value from the fields of aapt2's message Primitive; None
    if it has a value of an unknown kind.
    """
    for field in fields:
        if field.id in _PRIMITIVES:
            return _PRIMITIVES[field.id], field.number
        if field.id == _NULL_VALUE:
            return NULL, 0
        if field.id == _EMPTY_VALUE:
            return NULL, 1
    return None


def encode_number(kind: int, data: int) -> Encoded:
    """Encode a value that is not text. `kind` is one of the types above."""
    return _NUMBER.pack(kind, 0, data & 0xFFFFFFFF)


def encode_text(text: str) -> Encoded:
    """Encode a text, or the path of a file."""
    content = text.encode("utf-8", "surrogatepass")
    return _digest(b"t" + content)


def encode_styled(text: str, spans: Iterable[tuple[str, int, int]]) -> Encoded:
    """Encode a text with tags. Each span is a tag with its first and last character."""
    parts = [text]
    for tag, first, last in spans:
        parts.append(f"{first}-{last} {tag}")
    lengths = bytearray()
    for part in parts:
        lengths += struct.pack("<I", len(part))
    content = "".join(parts).encode("utf-8", "surrogatepass")
    return _digest(b"s" + lengths + content)


def encode_items(parent: int, items: Iterable[tuple[int, Encoded]]) -> Encoded:
    """Encode a value that consists of other values, each with its key, in any order. `parent` is
    the id of the parent of a style; 0 for none.
    """
    content = bytearray(b"i")
    content += struct.pack("<I", parent)
    for key, value in sorted(items):
        content += struct.pack("<I", key)
        content += value
    return _digest(content)


def is_in_order(keys: Sequence[int]) -> bool:
    """Return whether items have the order in which aapt2 writes them (ResEntryWriter), as far as
    the order matters: Android counts the items of an array, and older versions search those of a
    style as a sorted list. Attributes and plurals may have any order.
    """
    if ATTRIBUTE_TYPE in keys or _are_plurals(keys):
        return True
    if _is_sorted(keys):
        return True
    # Newer versions of aapt2 put ids that are only known on a device after Android's own.
    dynamic_last = []
    for key in keys:
        is_dynamic = not key >> 24
        place = key
        if is_dynamic:
            place += 0x01FFFFFF
        dynamic_last.append(place)
    return _is_sorted(dynamic_last)


def _are_plurals(keys: Sequence[int]) -> bool:
    for key in keys:
        quantity = key - ATTRIBUTE_TYPE
        if quantity not in PLURALS:
            return False
    return True


def _is_sorted(keys: Sequence[int]) -> bool:
    return list(keys) == sorted(keys)


def _digest(data: bytes | bytearray) -> Encoded:
    return hashlib.blake2b(data, digest_size=ENCODED_SIZE).digest()


def density(configuration: bytes) -> int:
    """Return the density of a configuration in dots per inch; 0 if it names none."""
    (dots_per_inch,) = _DENSITY.unpack_from(configuration)
    return int(dots_per_inch)


def without_density(configuration: bytes) -> bytes:
    """Return the configuration without its density."""
    before = configuration[:10]
    after = configuration[12:]
    return before + bytes(2) + after


def language(configuration: bytes) -> str:
    """Return the language of a configuration in two or three letters; empty if it names none."""
    return unpack_letters(configuration[_LANGUAGE], ord("a"))


def pack_letters(letters: str, first: int) -> bytes:
    """Return a language or a region as ResTable_config has it: two letters as they are, three in
    five bits each, counted from the character `first`. Raises ValueError for any other
    number of letters.
    """
    if len(letters) == 2:
        return letters.encode("ascii")
    if len(letters) != 3:
        raise ValueError(letters)
    # bits: 1cccccbb bbbaaaaa
    bits = 1
    for letter in reversed(letters):
        number = ord(letter) - first
        bits <<= 5
        bits |= number & 0x1F
    return bits.to_bytes(2, "big")


def unpack_letters(packed: bytes, first: int) -> str:
    """Return the letters that `pack_letters` packed."""
    bits = int.from_bytes(packed, "big")
    if not bits & 0x8000:
        letters = packed.rstrip(b"\0")
        return letters.decode("ascii", "replace")
    unpacked = ""
    for shift in (0, 5, 10):
        number = bits >> shift & 0x1F
        unpacked += chr(first + number)
    return unpacked


def describe(configuration: bytes) -> str:
    """Return a configuration in a few words, for people."""
    words = []
    locale = language(configuration)
    region = unpack_letters(configuration[_REGION], ord("0"))
    if locale and region:
        words.append(f"{locale}-r{region}")
    elif locale:
        words.append(locale)
    dots_per_inch = density(configuration)
    if dots_per_inch:
        words.append(f"{dots_per_inch}dpi")
    other_qualifiers = bytearray(without_density(configuration))
    for part in _LOCALE:
        length = part.stop - part.start
        other_qualifiers[part] = bytes(length)
    if any(other_qualifiers):
        words.append("with other qualifiers")
    if not words:
        return "default"
    return " ".join(words)
