"""Compiled XML: both encodings say the same, and what Android could read in another way than this
program is no compiled XML.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence

import pytest

from google_emulator.services.play.binary_xml import read_proto_xml, write_binary_xml
from google_emulator.specimens.manifests import (
    chunk,
    event,
    field,
    number,
    string_pool,
    varint,
)
from uploader.files.android import compiled_xml
from uploader.files.android.compiled_xml import (
    MAX_EVENTS,
    Documents,
    End,
    Event,
    Namespace,
    NotComparable,
    NotCompiledXml,
    Start,
    Text,
    binary_events,
    proto_events,
    tree,
    tree_and_vocabulary,
)

ANDROID = "http://schemas.android.com/apk/res/android"
TOOLS = "http://schemas.android.com/tools"
STRINGS = ["value", "name", ANDROID, "android", "view", "class", "Hello", "", "other"]
STRINGS += [" \n", " Hello ", "  Hello"]
VALUE, NAME, URI, PREFIX, VIEW, CLASS, HELLO, EMPTY, OTHER, SPACE, APART, WIDE = range(
    len(STRINGS)
)
IDS = (0x01010024, 0x01010003)  # of the first two strings
NONE = 0xFFFFFFFF


def attribute(
    name: int, kind: int, data: int, *, raw: int = NONE, uri: int = URI, size: int = 8
) -> bytes:
    return struct.pack("<3IH2BI", uri, name, raw, size, 0, kind, data)


def start(
    attributes: Sequence[bytes] = (),
    places: tuple[int, int, int] = (0, 0, 0),
    uri: int = NONE,
) -> bytes:
    sizes = struct.pack("<6H", 20, 20, len(attributes), *places)
    return event(0x0102, struct.pack("<2I", uri, VIEW) + sizes + b"".join(attributes))


def end(name: int = VIEW, uri: int = NONE) -> bytes:
    return event(0x0103, struct.pack("<2I", uri, name))


def namespace(kind: int, prefix: int = PREFIX) -> bytes:
    return event(kind, struct.pack("<2I", prefix, URI))


def text(place: int, size: int = 8, kind: int = 0, data: int = 0) -> bytes:
    return event(0x0104, struct.pack("<IH2BI", place, size, 0, kind, data))


IDS_CHUNK = chunk(0x0180, b"", struct.pack("<2I", *IDS))


def document(*nodes: bytes) -> bytes:
    return chunk(3, b"", string_pool(STRINGS) + IDS_CHUNK + b"".join(nodes))


def read(data: bytes, *, named: bool = False) -> list[Event]:
    return list(binary_events(data, named=named))


def test_a_document_is_read() -> None:
    decimal = attribute(VALUE, 0x10, 7)
    data = document(
        namespace(0x100), start([decimal]), text(HELLO), end(), namespace(0x101)
    )
    assert read(data) == [
        Start("view", (("0x01010024", "10:00000007"),)),
        Text("Hello"),
        End(),
    ]
    named = read(data, named=True)
    assert named[0] == Namespace("android", ANDROID)
    assert named[1] == Start(
        "view", ((f"0x01010024 {{{ANDROID}}}value", "10:00000007"),)
    )


def test_beside_a_text_is_the_same_text_again() -> None:
    same = document(start([attribute(VALUE, 3, HELLO, raw=HELLO)]), end())
    assert read(same)[0] == Start("view", (("0x01010024", "text:Hello"),))
    beside = document(start([attribute(VALUE, 3, HELLO, raw=OTHER)]), end())
    assert read(beside)[0] == Start(
        "view", (("0x01010024", "text:Hello beside text:other"),)
    )
    alone = document(start([attribute(VALUE, 3, HELLO)]), end())
    assert read(alone)[0] == Start("view", (("0x01010024", "alone text:Hello"),))
    of_a_number = document(start([attribute(VALUE, 0x10, 1, raw=OTHER)]), end())
    assert "beside text:other" in str(read(of_a_number)[0])


def test_the_place_of_a_class_is_told() -> None:
    own = attribute(CLASS, 3, HELLO, uri=NONE)
    assert read(document(start([own], (0, 1, 0)), end()))


@pytest.mark.parametrize(
    "nodes",
    [
        [start([attribute(CLASS, 3, HELLO, uri=NONE)]), end()],
        [start([attribute(VALUE, 0x10, 1)], (0, 0, 1)), end()],
        [start([attribute(VALUE, 0x10, 1), attribute(NAME, 3, HELLO)]), end()],
        [start([attribute(CLASS, 3, HELLO), attribute(NAME, 3, HELLO)]), end()],
        [start([attribute(OTHER, 0x10, 1), attribute(HELLO, 0x10, 1)]), end()],
        [
            start([attribute(HELLO, 0x10, 1), attribute(OTHER, 0x10, 1, uri=NONE)]),
            end(),
        ],
        [start([attribute(VALUE, 0x10, 1, size=12)]), end()],
        [start([attribute(VALUE, 3, 99)]), end()],
        [start([attribute(VALUE, 0x10, 1, uri=EMPTY)]), end()],
        [start(uri=EMPTY), end()],
        [start(), end(OTHER)],
        [start(), end(uri=URI)],
        [start(), IDS_CHUNK, end()],
        [start(), string_pool(STRINGS), end()],
        [start(), event(0x0105, bytes(8)), end()],
        [start([attribute(VALUE, 0x12, 1)]), end()],
        [start(), text(SPACE), end()],
        [start(), text(EMPTY), end()],
        [start(), text(WIDE), end()],
        [start(), text(HELLO, kind=0x10), end()],
        [start(), text(HELLO, kind=3, data=OTHER), end()],
        [start(), text(HELLO, size=9), end()],
        [namespace(0x100), start(), end()],
        [namespace(0x100), start(), end(), namespace(0x101, OTHER)],
        [start(), end(), namespace(0x101)],
        [start()],
        [start(), end(), end()],
        [start(), end(), start(), end()],
        [start(), end(), text(HELLO)],
        [start([attribute(VALUE, 0x10, 1)])[:-4], end()],
    ],
    ids=[
        "class-not-told",
        "style-told",
        "unsorted",
        "id-behind-none",
        "unsorted-names",
        "unsorted-namespaces",
        "value-size",
        "no-such-string",
        "empty-namespace",
        "empty-namespace-of-element",
        "other-end",
        "other-end-namespace",
        "ids-again",
        "strings-again",
        "unknown",
        "true-as-one",
        "white-space",
        "empty-text",
        "wide-text",
        "text-with-number",
        "text-with-other-text",
        "text-size",
        "namespace-open",
        "namespace-other-end",
        "namespace-not-begun",
        "no-end",
        "two-ends",
        "two-roots",
        "text-behind-the-root",
        "cut",
    ],
)
def test_what_android_may_read_otherwise_is_no_compiled_xml(nodes: list[bytes]) -> None:
    with pytest.raises(NotCompiledXml):
        read(document(*nodes))


@pytest.mark.parametrize(
    "data",
    [
        chunk(3, b"", IDS_CHUNK + string_pool(STRINGS) + start() + end()),
        chunk(3, b"", string_pool([*STRINGS[:-1], "other\0"]) + start() + end()[:-8]),
        document(start(), end()) + bytes(4),
    ],
    ids=["order", "cut", "more"],
)
def test_a_damaged_document_is_no_compiled_xml(data: bytes) -> None:
    with pytest.raises(NotCompiledXml):
        read(data)


# Both encodings


def proto(
    *attributes: bytes, declared: Sequence[bytes] = (), inner: bytes = b""
) -> bytes:
    """A `<view>` in aapt2's protobuf XML."""
    content = b"".join(field(1, one) for one in declared) + field(3, b"view")
    return field(1, content + b"".join(field(4, one) for one in attributes) + inner)


def named_attribute(
    name: str, item: bytes, uri: str = ANDROID, resource: int = 0
) -> bytes:
    written = field(1, uri.encode()) + field(2, name.encode())
    return (
        written
        + (varint(5 << 3) + varint(resource) if resource else b"")
        + field(6, item)
    )


@pytest.mark.parametrize(
    "document",
    [
        proto(
            named_attribute("id", field(1, number(2, 0x7F010001)), resource=0x010100D0)
        ),
        proto(
            named_attribute("style", field(1, number(2, 0x7F010002)), uri=""),
            named_attribute("value", field(7, number(6, 5)), resource=0x01010024),
            named_attribute("class", field(2, field(1, b"a.B")), uri=""),
        ),
        proto(declared=[field(1, b"android") + field(2, ANDROID.encode())]),
        proto(inner=field(5, field(2, b'\n  It\\\'s "text"\xc2\xa0 '))),
        proto(inner=field(5, field(2, b"\n ")) + field(5, field(2, b"text"))),
    ],
    ids=["id", "style-and-class", "namespace", "text", "white-space"],
)
def test_both_encodings_say_the_same(document: bytes) -> None:
    binary = write_binary_xml(read_proto_xml(document))
    assert list(binary_events(binary, named=True)) == list(
        proto_events(document, named=True)
    )


def test_white_space_around_a_text_is_told_from_none() -> None:
    spaced = document(start(), text(APART), end())
    assert read(spaced)[1] == Text(" Hello ")
    built = proto(inner=field(5, field(2, b"\n  Hello\t")))
    assert list(proto_events(built))[1] == Text(" Hello ")
    assert list(proto_events(proto(inner=field(5, field(2, b"Hello")))))[1] == Text(
        "Hello"
    )


def uncompiled(text: str) -> bytes:
    return proto(field(2, b"name") + field(3, text.encode()))


@pytest.mark.parametrize(
    ("written", "compiled"),
    [
        ("don't", "don't"),
        ('say "hi"', 'say "hi"'),
        (r"a\'b\"c\\d\n\t\u0041\x\@ \#", "a'b\"c\\d\n\tAx@ #"),
        ("ab\\", "ab"),
        ("  two  spaces ", "  two  spaces "),
    ],
)
def test_escapes_of_a_text_that_was_not_compiled_are_resolved(
    written: str, compiled: str
) -> None:
    """As aapt2 2.19 does it: these are what it makes of these texts."""
    assert next(iter(proto_events(uncompiled(written)))) == Start(
        "view", (("name", f"text:{compiled}"),)
    )


@pytest.mark.parametrize("escape", [r"\u", r"\u12", r"\ud800", r"\u0000", r"\u00g0"])
def test_an_escape_of_no_character_is_not_comparable(escape: str) -> None:
    with pytest.raises(NotComparable):
        list(proto_events(uncompiled(escape)))


def test_what_helps_to_write_an_app_is_left_out_of_an_apk() -> None:
    helped = proto(
        named_attribute("context", field(2, field(1, b".Main")), uri=TOOLS),
        declared=[field(1, b"tools") + field(2, TOOLS.encode())],
    )
    assert list(proto_events(helped, named=True)) == [Start("view", ()), End()]


def test_a_reference_that_is_not_resolved_yet_is_another_one() -> None:
    later = number(2, 0x7F010001) + field(5, number(1, 1))
    (start_event, _) = proto_events(
        proto(named_attribute("x", field(1, later), uri=""))
    )
    assert start_event == Start("view", (("x", "07:7f010001"),))


def test_the_names_of_a_document_are_told() -> None:
    data = document(
        namespace(0x100), start([attribute(VALUE, 0x10, 7)]), end(), namespace(0x101)
    )
    root, names = tree_and_vocabulary(binary_events(data, named=True))
    assert names == {f"0x01010024 {{{ANDROID}}}value", f"xmlns:android {ANDROID}"}
    assert root == tree(binary_events(data))
    assert compiled_xml.is_binary(data)


# What decoding may cost


def test_a_content_is_decoded_once() -> None:
    reads: list[str] = []

    def reading(name: str) -> Callable[[], bytes]:
        def read_again() -> bytes:
            reads.append(name)
            return document(start(), end())

        return read_again

    documents = Documents()
    digests = {documents.digest(b"1", reading(name), is_binary=True) for name in "ab"}
    assert len(digests) == 1
    assert reads == ["a"]


def test_documents_together_have_a_bound() -> None:
    documents = Documents(max_events=3)
    content = document(start(), end())
    documents.digest(b"1", lambda: content, is_binary=True)
    for _ in range(2):
        with pytest.raises(NotComparable, match="too many"):
            documents.digest(b"2", lambda: content, is_binary=True)


def test_nodes_that_say_nothing_count_as_well() -> None:
    declared = namespace(0x100) * MAX_EVENTS
    with pytest.raises(NotCompiledXml, match="more than"):
        read(document(declared, start(), end()))


@pytest.mark.parametrize("name", ["0x01010003", "{http://a}b"])
def test_no_name_is_taken_for_the_key_of_another_attribute(name: str) -> None:
    strings = string_pool([*STRINGS, name])
    own = attribute(len(STRINGS), 0x10, 1, uri=NONE)
    with pytest.raises(NotCompiledXml):
        read(chunk(3, b"", strings + IDS_CHUNK + start([own]) + end()))
