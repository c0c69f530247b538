"""Resource tables: both encodings say the same, every encoding of a type is read, and what is
damaged or unknown is told as such. The binary tables are the emulator's, a second reading of
Android's documents.
"""

from __future__ import annotations

import struct

import pytest

from google_emulator.specimens.manifests import field, number, string_pool
from tests.support.table_specimens import (
    binary_table,
    compound,
    dpi,
    file_item,
    fixed,
    item,
    locale,
    primitive,
    proto_table,
    reference,
    resource,
    styled_item,
    table_of_type,
    text_item,
)
from uploader.files.android.resource_proto import ProtoTable
from uploader.files.android.resource_table import BinaryTable, Layouts
from uploader.files.android.resource_values import (
    MAX_ITEMS_OF_VALUE,
    TableValue,
    UnreadableTable,
    describe,
    encode_number,
    encode_text,
    language,
)
from uploader.files.android.string_pool import StringPool

ENTRY = struct.pack("<2HI", 8, 0, 0) + struct.pack("<H2BI", 8, 0, 3, 0)
COMPACT = struct.pack("<2HI", 0, 0x0308, 0)
HELLO = encode_text("Hello")
EVERY_LAYOUT = Layouts(sparse=True, compact=True)


def binary(data: bytes) -> list[TableValue]:
    return list(BinaryTable(data, EVERY_LAYOUT).values())


def said(values: list[TableValue]) -> list[tuple[object, ...]]:
    """What is compared of values, in some order."""
    return sorted(
        (one.resource, one.type, one.name, one.configuration, one.value)
        for one in values
    )


VALUES = {
    "text": item(text_item("Hello")),
    "empty-text": item(text_item("")),
    "astral-text": item(text_item("\U0001f600 and more")),
    "long-text": item(text_item("ü" * 9000)),
    "styled-text": item(styled_item("Hello", ("b", 0, 2), ("a;href=x", 1, 4))),
    "styled-text-without-tags": item(styled_item("Hello")),
    "file": item(file_item("res/layout/main.xml")),
    "id": item(field(6, b"")),
    "reference": item(field(1, reference(0x7F010001, "com.example.app:string/hello"))),
    "no-reference": item(field(1, b"")),
    "attribute-reference": item(field(1, reference(0x7F010001, attribute=True))),
    "float": item(field(7, fixed(3, 0x3F800000))),
    "decimal": item(primitive(6, 0xFFFFFFFFFFFFFFFE)),
    "hexadecimal": item(primitive(7, 0xFFFF)),
    "true": item(primitive(8, 1)),
    "colour": item(primitive(9, 0xFF00FF00)),
    "dimension": item(primitive(13, 0x1001)),
    "null": item(field(7, field(1, b""))),
    "empty": item(field(7, field(2, b""))),
    "array": compound(
        4, field(1, field(3, text_item("one"))) + field(1, field(3, text_item("two")))
    ),
    "plurals": compound(
        5,
        field(1, number(3, 1) + field(4, text_item("one")))
        + field(1, number(3, 5) + field(4, text_item("other"))),
    ),
    "style": compound(
        2,
        field(1, reference(0x7F020001))
        + field(3, field(3, reference(0x01010098)) + field(4, primitive(9, 1)))
        + field(3, field(3, reference(0x01010001)) + field(4, text_item("x"))),
    ),
    "attribute": compound(
        1,
        number(1, 1 << 16)
        + number(2, 0xFFFFFFFF80000000)
        + number(3, 0x7FFFFFFF)
        + field(4, field(3, reference(0x7F010001)) + number(4, 7)),
    ),
    "attribute-with-limits": compound(1, number(1, 4) + number(2, 1) + number(3, 9)),
}


@pytest.mark.parametrize("value", VALUES.values(), ids=list(VALUES))
def test_a_value_says_the_same_in_both_encodings(value: bytes) -> None:
    table = proto_table({"thing": [resource(3, "hello", {b"": value})]})
    built = list(ProtoTable(table).values())
    assert [(one.resource, one.type, one.name) for one in built] == [
        (0x7F010003, "thing", "hello")
    ]
    assert said(binary(binary_table(table))) == said(built)


def test_different_values_are_told_apart() -> None:
    table = proto_table(
        {
            "thing": [
                resource(place, "x", {b"": value})
                for place, value in enumerate(VALUES.values())
            ]
        }
    )
    values = {one.value for one in ProtoTable(table).values()}
    # A styled text without tags is a text, and so is its value; a plain "Hello" is there already.
    assert len(values) == len(VALUES) - 1


CONFIGURATIONS = {
    "default": b"",
    "language": locale("de"),
    "language-and-region": locale("pt-BR"),
    "three-letters": locale("fil"),
    "region-in-digits": locale("es-419"),
    "script": locale("sr-Latn"),
    "script-and-region": locale("zh-Hant-TW"),
    "variant": locale("ca-ES-valencia"),
    "density": dpi(480),
    "night": number(17, 1),
    "no-night": number(17, 2),
    "long": number(11, 1),
    "right-to-left": number(4, 2),
    "size": number(10, 4),
    "round": number(12, 1),
    "wide-colours": number(13, 2),
    "high-range": number(14, 1),
    "television": number(16, 4),
    "hidden-keys": number(20, 2) + number(22, 1),
    "keyboard": number(21, 2) + number(23, 3),
    "screen": number(5, 1080)
    + number(6, 1920)
    + number(7, 360)
    + number(8, 640)
    + number(9, 600),
    "operator": number(1, 262) + number(2, 1),
    "system": number(24, 26),
    "grammar": number(26, 2),
    "orientation": number(15, 2) + number(19, 3),
}


def test_a_configuration_says_the_same_in_both_encodings() -> None:
    values = {one: item(text_item(name)) for name, one in CONFIGURATIONS.items()}
    table = proto_table({"string": [resource(0, "hello", values)]})
    built = list(ProtoTable(table).values())
    assert said(binary(binary_table(table))) == said(built)
    assert len({one.configuration for one in built}) == len(CONFIGURATIONS)


@pytest.mark.parametrize(
    ("configuration", "code", "words"),
    [
        (b"", "", "default"),
        (locale("fil"), "fil", "fil"),
        (locale("es-419") + dpi(320), "es", "es-r419 320dpi"),
        (locale("de") + number(17, 1), "de", "de with other qualifiers"),
    ],
    ids=["default", "three-letters", "region", "night"],
)
def test_people_are_told_for_what_a_value_is(
    configuration: bytes, code: str, words: str
) -> None:
    table = proto_table(
        {"string": [resource(0, "x", {configuration: item(text_item("x"))})]}
    )
    (value,) = ProtoTable(table).values()
    assert (language(value.configuration), describe(value.configuration)) == (
        code,
        words,
    )


def test_a_feature_has_its_own_package() -> None:
    table = proto_table(
        {"string": [resource(0, "x", {b"": item(text_item("x"))})]}, "a.b.c", 0x7E
    )
    served = BinaryTable(binary_table(table), EVERY_LAYOUT)
    assert [value.resource for value in served.values()] == [0x7E010000]
    assert served.packages == served.libraries == [(0x7E, "a.b.c")]


def test_a_text_that_no_pool_can_hold_is_what_aapt2_writes_instead() -> None:
    table = proto_table(
        {"string": [resource(0, "x", {b"": item(text_item("x" * 0x8000))})]}
    )
    (value,) = ProtoTable(table).values()
    assert value.value == encode_text("STRING_TOO_LARGE")


def test_what_is_not_resolved_yet_is_another_reference() -> None:
    target = reference(0x7F010001, dynamic=True)
    table = proto_table({"string": [resource(0, "x", {b"": item(field(1, target))})]})
    (value,) = ProtoTable(table).values()
    assert value.value == encode_number(0x07, 0x7F010001)


@pytest.mark.parametrize(
    ("data", "numbers"),
    [
        (table_of_type(struct.pack("<2I", 0xFFFFFFFF, 0), 2, ENTRY), [1]),
        (table_of_type(struct.pack("<2I", 0, 0), 2, ENTRY), [0, 1]),
        (table_of_type(struct.pack("<2H", 7, 0), 1, ENTRY, flags=1), [7]),
        (table_of_type(struct.pack("<3H", 0xFFFF, 0xFFFF, 0), 3, ENTRY, flags=2), [2]),
        (
            table_of_type(struct.pack("<2H", 0, 2), 2, COMPACT + COMPACT, flags=2),
            [0, 1],
        ),
    ],
    ids=["offsets", "shared", "sparse", "short-offsets", "compact"],
)
def test_every_way_to_list_values_is_read(data: bytes, numbers: list[int]) -> None:
    values = binary(data)
    assert [value.resource - 0x7F010000 for value in values] == numbers
    assert {(value.type, value.name, value.value) for value in values} == {
        ("string", "hello", HELLO)
    }


SPARSE_TABLE = table_of_type(struct.pack("<2H", 7, 0), 1, ENTRY, flags=1)
SHORT_TABLE = table_of_type(struct.pack("<2H", 0, 0xFFFF), 2, ENTRY, flags=2)
COMPACT_TABLE = table_of_type(struct.pack("<I", 0), 1, COMPACT)


@pytest.mark.parametrize(
    ("data", "layouts", "level"),
    [
        (SPARSE_TABLE, Layouts(compact=True), 32),
        (SHORT_TABLE, Layouts(sparse=True), 34),
        (COMPACT_TABLE, Layouts(sparse=True), 34),
    ],
    ids=["sparse", "short-offsets", "compact"],
)
def test_what_older_devices_read_otherwise_is_unreadable(
    data: bytes, layouts: Layouts, level: int
) -> None:
    with pytest.raises(UnreadableTable, match=f"before API level {level}"):
        list(BinaryTable(data, layouts).values())


PLAIN = table_of_type(struct.pack("<I", 0), 1, ENTRY, announced=1)


def patched(offset: int, layout: str, *values: int) -> bytes:
    """The plain table with other numbers at an offset, from the end where it is negative."""
    data = bytearray(PLAIN)
    struct.pack_into(layout, data, offset % len(data), *values)
    return bytes(data)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "damaged"),
        (PLAIN[:-4], "damaged"),
        (PLAIN + bytes(4), "damaged"),
        (patched(8, "<I", 2), "damaged"),
        (patched(0, "<H", 3), "damaged"),
        (patched(-4, "<I", 1), "damaged"),
        (patched(-12, "<I", 1), "damaged"),
        (patched(-16, "<H", 9), "damaged"),
        (patched(-14, "<H", 0x20), "values of an unknown kind"),
        (patched(-20, "<I", 16), "damaged"),
        (patched(-20, "<I", 2), "damaged"),
        (patched(-20 - 84, "<H", 0x0299), "unknown part"),
        (table_of_type(struct.pack("<I", 0), 1, ENTRY, flags=4), "lists its values"),
        (table_of_type(struct.pack("<4H", 2, 0, 1, 0), 2, ENTRY, flags=1), "damaged"),
        (table_of_type(struct.pack("<2I", 0, 0), 2, ENTRY, announced=1), "damaged"),
        (table_of_type(b"", 0x7FFFFFFF, ENTRY), "damaged"),
        (table_of_type(struct.pack("<I", 0), 1, ENTRY, texts=()), "damaged"),
    ],
    ids=[
        "nothing",
        "cut",
        "more",
        "packages",
        "kind",
        "text",
        "name",
        "entry-size",
        "entry-flags",
        "offset",
        "unaligned",
        "chunk",
        "type-flags",
        "unsorted",
        "announced",
        "count",
        "no-texts",
    ],
)
def test_a_damaged_table_is_unreadable(data: bytes, reason: str) -> None:
    with pytest.raises(UnreadableTable, match=reason):
        binary(data)


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        (b"\xff", "damaged"),
        (proto_table({"s": [resource(0, "x", {b"": b""})]}), "damaged"),
        (proto_table({"s": [resource(0, "x", {b"": item(b"")})]}), "unknown kind"),
        (
            proto_table(
                {"s": [resource(0, "x", {b"": item(field(1, field(3, b"a:b/c")))})]}
            ),
            "by its name alone",
        ),
        (
            proto_table(
                {"s": [resource(0, "x", {locale("x-y-z"): item(text_item("x"))})]}
            ),
            "language",
        ),
        (
            proto_table(
                {"s": [resource(0, "x", {number(40, 1): item(text_item("x"))})]}
            ),
            "device",
        ),
        (proto_table({"s": [resource(0, "x", {}) + field(8, b"")]}), "feature flag"),
    ],
    ids=["damaged", "no-value", "no-item", "name", "language", "device", "flag"],
)
def test_an_unknown_value_of_a_bundle_is_unreadable(table: bytes, reason: str) -> None:
    with pytest.raises(UnreadableTable, match=reason):
        list(ProtoTable(table).values())


def test_types_that_only_builds_need_are_left_out() -> None:
    table = proto_table({"styleable": [resource(0, "x", {b"": compound(3, b"")})]})
    assert list(ProtoTable(table).values()) == []


# Bounds


def pool(offsets: list[int], strings: bytes) -> bytes:
    start = 28 + 4 * len(offsets)
    header = struct.pack(
        "<2H6I", 1, 28, start + len(strings), len(offsets), 0, 256, start, 0
    )
    return header + struct.pack(f"<{len(offsets)}I", *offsets) + strings


def test_a_pool_that_claims_to_be_sorted_is_damaged() -> None:
    """Android would look for a name as in a sorted list; aapt2 sorts none."""
    flagged = bytearray(pool([0], b"\0\0\0\0"))
    flagged[16] |= 1
    with pytest.raises(ValueError, match="257"):
        StringPool(bytes(flagged))


def test_a_pool_whose_strings_do_not_end_is_damaged() -> None:
    """Android refuses it, whatever its strings are."""
    assert StringPool(pool([0], b"\1\1x\0"))[0] == "x"
    with pytest.raises(ValueError, match="37"):
        StringPool(pool([0], b"\1\1x\0\0\7"))


def test_a_pool_whose_styles_do_not_end_is_damaged() -> None:
    styles = struct.pack("<4I", *(0xFFFFFFFF,) * 4)
    header = struct.pack("<2H6I", 1, 28, 40 + len(styles), 1, 1, 256, 36, 40)
    styled = header + struct.pack("<2I", 0, 0) + b"\1\1x\0" + styles
    assert StringPool(styled).spans(0) == ()
    with pytest.raises(ValueError, match="40"):
        StringPool(styled[:-1] + b"\0")


def test_the_header_of_a_type_has_one_size() -> None:
    """Android would read the numbers behind a longer one."""
    data = bytearray(PLAIN)
    start = data.index(struct.pack("<2H", 0x0202, 16))
    struct.pack_into("<H", data, start + 2, 20)
    with pytest.raises(UnreadableTable, match="damaged"):
        binary(bytes(data))


def test_strings_that_overlap_cost_no_more_than_the_pool() -> None:
    text = b"\xff\xff\xff\xff" + b"x" * 0x7FFF + b"\0"
    overlapping = StringPool(pool([0] * 100_000, text))
    with pytest.raises(ValueError, match="overlap"):
        _ = [overlapping[index] for index in range(100_000)]


def test_the_items_of_a_value_are_counted() -> None:
    entry = struct.pack("<2H3I", 16, 1, 0, 0, MAX_ITEMS_OF_VALUE + 1)
    with pytest.raises(UnreadableTable, match="items"):
        binary(table_of_type(struct.pack("<I", 0), 1, entry))


def test_the_parts_of_a_table_are_counted() -> None:
    parts = struct.pack("<2HI", 1, 8, 8) * 200_000
    data = struct.pack("<2H2I", 2, 12, len(parts) + 12, 1) + parts
    package = struct.pack("<2HI", 0x0200, 288, 288 + len(parts)) + bytes(280) + parts
    pool = string_pool([])
    nested = (
        struct.pack("<2H2I", 2, 12, 12 + len(pool) + len(package), 1) + pool + package
    )
    with pytest.raises(UnreadableTable, match="parts"):
        binary(nested)
    with pytest.raises(UnreadableTable, match="damaged"):
        binary(data)


def test_the_resources_of_a_bundle_are_counted() -> None:
    table = field(2, field(3, field(2, b"string") + field(3, b"") * 70_000))
    with pytest.raises(UnreadableTable, match="more resources than there are ids"):
        list(ProtoTable(table).values())


def test_a_shared_entry_is_a_value_of_each_resource_that_has_it() -> None:
    data = table_of_type(struct.pack("<65536I", *[0] * 65536), 65536, ENTRY)
    assert len(binary(data)) == 65536
