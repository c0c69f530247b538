"""The resource table of what Google Play serves against the bundle's: values, names, files, and
what a set of APKs should have.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from google_emulator.services.play.binary_table import (
    Bag,
    Record,
    Styled,
    write_binary_table,
)
from google_emulator.specimens.manifests import field, number
from tests.support.served_specimens import (
    FEATURE_MARK,
    VALUE,
    File,
    apk,
    binary_xml,
    bundle,
    component,
    manifest,
)
from tests.support.table_specimens import (
    compound,
    dpi,
    file_item,
    item,
    locale,
    primitive,
    proto_table,
    records,
    resource,
    styled_item,
    table_of_type,
    text_item,
)
from uploader.files.android.compiled_xml import Element
from uploader.files.android.resource_values import MAX_TABLE
from uploader.files.android.served import Finding, Verdict, compare
from uploader.files.android.served_files import Tables

DEX = b"dex\n035 code"
PNG = b"\x89PNG "
GERMAN = locale("de")
SERBIAN = locale("sr-Latn")
PICTURES = {"hdpi": 240, "xhdpi": 320}
ICONS = {
    dpi(one): item(file_item(f"res/mipmap-{name}/icon.png"))
    for name, one in PICTURES.items()
}
TYPES: Mapping[str, Sequence[bytes]] = {
    "string": [
        resource(
            0,
            "hello",
            {
                b"": item(text_item("Hello")),
                GERMAN: item(text_item("Hallo")),
                SERBIAN: item(text_item("Zdravo")),
            },
        ),
        resource(1, "styled", {b"": item(styled_item("Hello", ("b", 0, 1)))}),
    ],
    "drawable": [
        resource(
            0,
            "logo",
            {
                dpi(one): item(file_item(f"res/drawable-{name}/logo.png"))
                for name, one in PICTURES.items()
            },
        )
    ],
    "mipmap": [resource(0, "icon", ICONS)],
    "raw": [
        resource(0, "words", {b"": item(file_item("res/raw/words.txt"))}),
        resource(1, "more", {b"": item(file_item("res/raw/more.txt"))}),
    ],
    "integer": [resource(0, "limit", {b"": item(primitive(6, 7))})],
}
TABLE = proto_table(TYPES)
RECORDS = records(TABLE)
FILES = {
    "res/raw/words.txt": b"words",
    "res/raw/more.txt": b"more",
    "res/mipmap-hdpi/icon.png": PNG + b"icon",
    "res/mipmap-xhdpi/icon.png": PNG + b"large icon",
}
LOGOS = {f"res/drawable-{name}/logo.png": PNG + name.encode() for name in PICTURES}
BUILT = {f"base/{path}": data for path, data in (FILES | LOGOS).items()}
AAB = bundle(
    {"base": manifest()},
    {"base/dex/classes.dex": DEX, "base/resources.pb": TABLE, **BUILT},
)
MAIN = [
    one
    for one in RECORDS
    if one.type != "drawable" and one.value not in ("Hallo", "Zdravo")
]
SPLIT = {"0x0101064e": "text:base__density"}
FUSED = component(
    "meta-data", "com.android.dynamic.apk.fused.modules", **{VALUE: "text:base"}
)


def base(values: Sequence[Record], files: Mapping[str, bytes] = FILES) -> File:
    """The main APK with these values and files."""
    entries = {
        "classes.dex": DEX,
        "resources.arsc": write_binary_table(values),
        **files,
    }
    return apk("base.apk", manifest(**SPLIT), entries)


def split(
    suffix: str, values: Sequence[Record], files: Mapping[str, bytes] | None = None
) -> File:
    """The APK of a configuration."""
    root = manifest(split=f"text:config.{suffix}", configForSplit="text:")
    root.children[0].attributes["0x0101000c"] = "12:00000000"
    entries = {"resources.arsc": write_binary_table(values), **(files or {})}
    return apk(f"split_config.{suffix}.apk", root, entries)


def whole(values: Sequence[Record], files: Mapping[str, bytes] = FILES | LOGOS) -> File:
    """The universal APK."""
    entries = {
        "classes.dex": DEX,
        "resources.arsc": write_binary_table(values),
        **files,
    }
    return apk("universal.apk", manifest(FUSED), entries)


def chosen(kind: str, name: str) -> Record:
    """The first value of a resource."""
    return next(one for one in RECORDS if (one.type, one.name) == (kind, name))


def instead(record: Record, *others: Record) -> list[Record]:
    """All values, with others instead of one."""
    place = RECORDS.index(record)
    return [*RECORDS[:place], *others, *RECORDS[place + 1 :]]


def of_table(verdict: Verdict) -> Finding:
    """What was found of the table, and nothing else was found."""
    (finding,) = verdict.findings
    return finding


XHDPI = split(
    "xhdpi",
    [one for one in RECORDS if one.value == "res/drawable-xhdpi/logo.png"],
    {"res/drawable-xhdpi/logo.png": LOGOS["res/drawable-xhdpi/logo.png"]},
)
DE = split("de", [one for one in RECORDS if one.value == "Hallo"])
HELLO = chosen("string", "hello")
STYLED = chosen("string", "styled")
WORDS = chosen("raw", "words")
LIMIT = chosen("integer", "limit")


def test_a_universal_apk_with_every_value_is_the_same() -> None:
    verdict = compare(AAB, [whole(RECORDS)])
    assert (verdict.served, verdict.findings) == ("same", ())
    assert verdict.values_not_given == 0


def test_the_apks_of_a_phone_are_the_same_and_lack_what_is_for_others() -> None:
    verdict = compare(AAB, [base(MAIN), XHDPI, DE])
    assert (verdict.served, verdict.findings) == ("same", ())
    assert verdict.values_not_given == 2  # Serbian, and the logo for hdpi


def entry_of(kind: int, field_id: int, *items: bytes) -> bytes:
    """A value that consists of others."""
    return compound(kind, b"".join(field(field_id, one) for one in items))


def reference(resource_id: int) -> bytes:
    return number(2, resource_id)


BAGS: Mapping[str, bytes] = {
    "array": entry_of(
        4, 1, *(field(3, text_item(text)) for text in ("one", "two", "three"))
    ),
    "style": entry_of(
        2,
        3,
        *(
            field(3, reference(key)) + field(4, primitive(9, key))
            for key in (0x7F010002, 0x7F010001)
        ),
    ),
    "plurals": entry_of(
        5, 1, *(number(3, key) + field(4, text_item("x")) for key in (1, 2, 5))
    ),
    "attribute": entry_of(
        1,
        4,
        *(field(3, reference(key)) + number(4, 7) for key in (0x7F010002, 0x7F010001)),
    ),
}


@pytest.mark.parametrize(
    ("kind", "served"),
    [
        ("array", "changed"),
        ("style", "changed"),
        ("plurals", "same"),
        ("attribute", "same"),
    ],
)
def test_the_order_of_items_counts_where_it_means_something(
    kind: str, served: str
) -> None:
    """Of an array, and of a style, which older devices search as a sorted list."""
    table = proto_table({kind: [resource(0, "x", {b"": BAGS[kind]})]})
    aab = bundle(
        {"base": manifest()}, {"base/dex/classes.dex": DEX, "base/resources.pb": table}
    )
    (value,) = records(table)
    assert compare(aab, [base([value], {})]).served == "same"
    assert isinstance(value.value, Bag)
    reverse = replace(value.value, items=value.value.items[::-1])
    assert compare(aab, [base([replace(value, value=reverse)], {})]).served == served


def test_a_main_apk_alone_is_the_same() -> None:
    verdict = compare(AAB, [base(MAIN)])
    assert (verdict.served, verdict.values_not_given) == ("same", 4)


@pytest.mark.parametrize(
    ("record", "other", "why"),
    [
        (
            HELLO,
            replace(HELLO, value="Hullo"),
            "string/hello (default) has another value",
        ),
        (
            HELLO,
            replace(HELLO, value=(1, 0x7F010001)),
            "string/hello (default) has another value",
        ),
        (HELLO, replace(HELLO, name="hallo"), "string/hallo (default) was added"),
        (HELLO, replace(HELLO, type="text"), "was added"),
        (
            HELLO,
            replace(HELLO, resource=0x7F010009),
            "string/hello (default) was added",
        ),
        (
            HELLO,
            replace(HELLO, value=Bag(0, ())),
            "string/hello (default) has another value",
        ),
        (
            STYLED,
            replace(STYLED, value="Hello"),
            "string/styled (default) has another value",
        ),
        (
            STYLED,
            replace(STYLED, value=Styled("Hello", (("b", 0, 2),))),
            "has another value",
        ),
        (
            STYLED,
            replace(STYLED, value=Styled("Hello", (("i", 0, 1),))),
            "has another value",
        ),
        (
            LIMIT,
            replace(LIMIT, value=(0x10, 8)),
            "integer/limit (default) has another value",
        ),
        (
            LIMIT,
            replace(LIMIT, value=(0x11, 7)),
            "integer/limit (default) has another value",
        ),
    ],
    ids=[
        "text",
        "kind",
        "name",
        "type",
        "id",
        "items",
        "tags",
        "span",
        "tag",
        "number",
        "base",
    ],
)
def test_another_value_is_a_change(record: Record, other: Record, why: str) -> None:
    verdict = compare(AAB, [whole(instead(record, other))])
    assert verdict.served == "changed"
    finding = verdict.findings[0]
    assert (finding.entry, finding.state) == ("resources.arsc", "changed")
    assert why in finding.why


def test_another_package_is_a_change() -> None:
    others = [replace(one, package="com.evil") for one in RECORDS]
    assert (
        "package com.evil (0x7f) was added"
        in of_table(compare(AAB, [whole(others)])).why
    )


def test_a_library_that_the_bundle_does_not_name_is_a_change() -> None:
    foreign = Record(0x7E010000, "com.evil", "string", "x", bytes(60), "x")
    why = of_table(compare(AAB, [whole([*RECORDS, foreign])])).why
    assert "library com.evil (0x7e) was added" in why
    assert "string/x (default) was added" in why


def test_a_value_for_devices_that_the_bundle_has_none_for_is_a_change() -> None:
    night = records(
        proto_table(
            {
                "string": [
                    resource(0, "hello", {number(17, 1): item(text_item("Hello"))})
                ]
            }
        )
    )
    verdict = compare(AAB, [whole([*RECORDS, *night])])
    assert "was added for these devices" in of_table(verdict).why


def test_only_the_first_changes_are_told() -> None:
    others = [
        replace(HELLO, resource=0x7F010100 + index, name=f"x{index}")
        for index in range(50)
    ]
    assert "and 40 more" in of_table(compare(AAB, [whole([*RECORDS, *others])])).why


@pytest.mark.parametrize(
    "record",
    [HELLO, WORDS, chosen("mipmap", "icon")],
    ids=["text", "file", "mipmap"],
)
def test_a_value_that_every_device_needs_is_missing(record: Record) -> None:
    values = [one for one in MAIN if one != record]
    finding = of_table(compare(AAB, [base(values), XHDPI, DE]))
    assert (finding.entry, finding.state) == ("base/resources.pb", "missing")
    assert f"{record.type}/{record.name}" in finding.why


def test_a_split_without_its_values_lacks_them() -> None:
    assert (
        "string/hello (de)" in of_table(compare(AAB, [base(MAIN), split("de", [])])).why
    )
    pictures = split("xhdpi", [])
    assert (
        "drawable/logo (320dpi)" in of_table(compare(AAB, [base(MAIN), pictures])).why
    )


@pytest.mark.parametrize("text", ["Hallo", "Zdravo"])
def test_a_universal_apk_has_every_language(text: str) -> None:
    values = [one for one in RECORDS if one.value != text]
    assert of_table(compare(AAB, [whole(values)])).state == "missing"


def test_a_standalone_apk_may_have_the_pictures_of_one_density() -> None:
    values = [one for one in RECORDS if one.value != "res/drawable-hdpi/logo.png"]
    files = {
        path: data
        for path, data in (FILES | LOGOS).items()
        if "drawable-hdpi" not in path
    }
    verdict = compare(AAB, [whole(values, files)])
    assert (verdict.served, verdict.values_not_given) == ("same", 1)


# Files


def test_a_file_that_the_table_names_is_missing() -> None:
    files = {path: data for path, data in FILES.items() if path != "res/raw/words.txt"}
    finding = of_table(compare(AAB, [base(MAIN, files), XHDPI, DE]))
    assert (finding.file, finding.entry, finding.state) == (
        "base.apk",
        "res/raw/words.txt",
        "missing",
    )


def renamed(path: str) -> list[Record]:
    """All values, with another path for the words."""
    return instead(WORDS, replace(WORDS, value=path))


def test_a_file_may_have_another_path_if_its_content_is_the_same() -> None:
    files = {
        path: data
        for path, data in (FILES | LOGOS).items()
        if path != "res/raw/words.txt"
    }
    values = renamed("res/aB.txt")
    assert (
        compare(AAB, [whole(values, {**files, "res/aB.txt": b"words"})]).served
        == "same"
    )
    changed = compare(AAB, [whole(values, {**files, "res/aB.txt": b"werds"})])
    assert (of_table(changed).entry, of_table(changed).state) == (
        "res/aB.txt",
        "changed",
    )


def test_a_resource_with_the_file_of_another_one_is_a_change() -> None:
    """Both files are the bundle's, and each would be found the same by its path."""
    verdict = compare(AAB, [whole(renamed("res/raw/more.txt"))])
    assert (of_table(verdict).entry, of_table(verdict).state) == (
        "res/raw/more.txt",
        "changed",
    )


def test_a_path_outside_of_the_resources_is_a_change() -> None:
    assert (
        "has another value" in of_table(compare(AAB, [whole(renamed("assets/x"))])).why
    )


# What is made by rule

GERMAN_SPLIT = Element("entry", {"key": "text:de", "split": "text:config.de"})
LIST = Element(
    "splits",
    {},
    [Element("module", {"name": "text:"}, [Element("language", {}, [GERMAN_SPLIT])])],
)
MADE = Record(
    0x7F060000, "com.example.app", "xml", "splits0", bytes(60), "res/xml/splits0.xml"
)


def test_the_list_of_languages_is_added_by_rule() -> None:
    files = {**FILES, **LOGOS, "res/xml/splits0.xml": binary_xml(LIST)}
    verdict = compare(AAB, [whole([*RECORDS, MADE], files)])
    assert (verdict.served, of_table(verdict).state) == ("same", "by-rule")


def test_the_list_of_languages_may_have_an_id_that_a_split_has_too() -> None:
    """It is the next one that is free in the main APK."""
    files = {**FILES, "res/xml/splits0.xml": binary_xml(LIST)}
    made = replace(MADE, resource=chosen("drawable", "logo").resource)
    assert compare(AAB, [base([*MAIN, made], files), XHDPI, DE]).served == "same"


@pytest.mark.parametrize(
    "other",
    [
        replace(MADE, name="splits"),
        replace(MADE, value="res/xml/other.xml"),
        replace(MADE, type="layout"),
        replace(MADE, configuration=RECORDS[1].configuration),
    ],
    ids=["name", "path", "type", "devices"],
)
def test_nothing_else_is_added_by_rule(other: Record) -> None:
    assert compare(AAB, [whole([*RECORDS, other])]).served == "changed"


def test_an_app_without_resources_gets_a_table_for_the_list_alone() -> None:
    aab = bundle({"base": manifest()}, {"base/dex/classes.dex": DEX})
    listed = base([MADE], {"res/xml/splits0.xml": binary_xml(LIST)})
    assert compare(aab, [listed]).served == "same"
    assert compare(aab, [base([HELLO], {})]).served == "changed"


def configured(optimizations: bytes) -> File:
    """The bundle with these settings for resources."""
    config = field(1, field(2, b"1.18.0")) + field(2, field(5, optimizations))
    return AAB.with_entries({"BundleConfig.pb": config})


COLLAPSED = [replace(one, name="0_resource_name_obfuscated") for one in RECORDS]
COLLAPSE = number(1, 1)


def test_names_are_collapsed_where_the_bundle_says_so() -> None:
    collapsing = configured(field(2, COLLAPSE))
    assert compare(collapsing, [whole(COLLAPSED)]).served == "same"
    assert compare(collapsing, [whole(RECORDS)]).served == "same"
    assert compare(AAB, [whole(COLLAPSED)]).served == "changed"


@pytest.mark.parametrize(
    "kept",
    [field(4, b"string"), field(2, field(1, b"string") + field(2, b"hello"))],
    ids=["type", "resource"],
)
def test_names_that_the_bundle_keeps_are_not_collapsed(kept: bytes) -> None:
    keeping = configured(field(2, COLLAPSE + kept))
    verdict = compare(keeping, [whole(COLLAPSED)])
    assert verdict.served == "changed"
    assert "integer" not in of_first(verdict)


def of_first(verdict: Verdict) -> str:
    """Why the first entry is not the same."""
    return verdict.findings[0].why


ENTRY = struct.pack("<2HI", 8, 0, 0) + struct.pack("<H2BI", 8, 0, 3, 0)
HELLO_TABLE = proto_table(
    {"string": [resource(0, "hello", {b"": item(text_item("Hello"))})]}
)
SPARSE_HELLO = table_of_type(struct.pack("<2H", 0, 0), 1, ENTRY, flags=1)


@pytest.mark.parametrize(
    ("config", "min_sdk", "served"),
    [
        (b"", 24, "unverified"),
        (b"", 32, "same"),
        (field(2, field(5, number(1, 2))), 24, "same"),
        (field(2, field(5, number(1, 1))), 24, "unverified"),
    ],
    ids=["older-devices", "newer-devices", "wanted", "not-wanted"],
)
def test_a_sparse_table_is_for_devices_that_can_read_it(
    config: bytes, min_sdk: int, served: str
) -> None:
    """Or a bundle asks for it; then bundletool makes it for API level 32 and later."""
    root = manifest(FUSED)
    root.children.insert(0, Element("uses-sdk", {"0x0101020c": f"10:{min_sdk:08x}"}))
    built = manifest()
    built.children.insert(0, root.children[0])
    files = {"base/dex/classes.dex": DEX, "base/resources.pb": HELLO_TABLE}
    settings = {"BundleConfig.pb": field(1, field(2, b"1.18.0")) + config}
    aab = bundle({"base": built}, files).with_entries(settings)
    sparse = apk(
        "universal.apk", root, {"classes.dex": DEX, "resources.arsc": SPARSE_HELLO}
    )
    assert compare(aab, [sparse]).served == served


def test_the_values_of_all_apks_are_counted() -> None:
    """Beyond the limit tables are unverified, and so is what might be missing."""
    tables = Tables(max_values=len(RECORDS))
    assert compare(AAB, [whole(RECORDS)], (), tables).served == "unverified"
    verdict = compare(AAB, [whole(RECORDS[:1])], (), tables)
    assert verdict.served == "unverified"
    assert "the tables of all APKs have more than" in of_first(verdict)


# Feature modules

FEATURE = proto_table(
    {"string": [resource(0, "extra", {b"": item(text_item("Extra"))})]},
    "com.example.app.extra",
    0x7E,
)


def test_a_feature_has_its_own_values_and_no_others() -> None:
    root = manifest(split="text:extra")
    aab = bundle(
        {"base": manifest(), "extra": root},
        {
            "base/dex/classes.dex": DEX,
            "base/resources.pb": TABLE,
            "extra/resources.pb": FEATURE,
        }
        | BUILT,
    )
    served = manifest(split="text:extra", **FEATURE_MARK)
    own = apk(
        "split_extra.apk",
        served,
        {"resources.arsc": write_binary_table(records(FEATURE))},
    )
    assert compare(aab, [base(MAIN), own]).served == "same"
    foreign = apk(
        "split_extra.apk", served, {"resources.arsc": write_binary_table([HELLO])}
    )
    assert compare(aab, [base(MAIN), foreign]).served == "changed"


# What can't be read


@pytest.mark.parametrize(
    ("aab", "served", "why"),
    [
        (AAB, whole(RECORDS).with_entries({"resources.arsc": b"arsc"}), "is damaged"),
        (
            AAB.with_entries({"base/resources.pb": b"\xff"}),
            whole(RECORDS),
            "is damaged",
        ),
        (
            AAB,
            whole(RECORDS).with_entries({"resources.arsc": bytes(MAX_TABLE + 1)}),
            "is larger than",
        ),
    ],
    ids=["apk", "bundle", "large"],
)
def test_a_table_that_cannot_be_read_is_unverified(
    aab: File, served: File, why: str
) -> None:
    verdict = compare(aab, [served])
    assert (verdict.served, of_table(verdict).state) == ("unverified", "unverified")
    assert why in of_table(verdict).why
