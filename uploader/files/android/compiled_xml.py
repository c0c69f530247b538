"""Decodes compiled XML, a manifest or a resource, from both of its encodings into the same events.

An APK has Android's binary XML, a bundle aapt2's protobuf XML; `manifest` names the sources of
both. What says the same gives equal events, whatever the encoding: `aapt2 convert` is how
bundletool makes one of the other. Comments, line numbers, the names of prefixes and text that is
only white space do not count.

The bytes are untrusted: depth, events and characters are bounded, and nothing is copied on the way
down.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from uploader.files.android.manifest import StringPool
from uploader.files.android.protobuf import ABSENT, Field, ProtoReader

MAX_DEPTH = 100  # elements within one another; layouts have some tens
MAX_EVENTS = 200_000  # of one document: the largest manifests have some ten thousand
MAX_CHARACTERS = 8 << 20  # of one document, names included
_MAX_TEXT = 1 << 20  # characters of one text
_MAX_STRINGS = 200_000
_MAX_FIELDS = 2_000_000  # of a protobuf document: ten for each event

# chunks of the binary encoding
_XML = 0x0003
_POOL = 0x0001
_IDS = 0x0180
_START_ELEMENT = 0x0102
_END_ELEMENT = 0x0103
_CDATA = 0x0104
_NOTHING = 0xFFFFFFFF
_NODE_HEADER = 16  # bytes, with the line and the comment
_VALUE_SIZE = 8  # bytes of Res_value
_BINARY_BEGINNING = b"\x03\x00\x08\x00"
_ELEMENT = struct.Struct("<2I3H")  # namespace, name, offset of the attributes, size of one, count
_ATTRIBUTE = struct.Struct("<3IHBBI")  # namespace, name, raw string, then Res_value
# types of a value (Res_value); the protobuf encoding has a field for each
_NULL = 0x00
_REFERENCE = 0x01
_ATTRIBUTE_REFERENCE = 0x02
_STRING = 0x03
_FLOAT = 0x04
_DIMENSION = 0x05
_FRACTION = 0x06
_BOOLEAN = 0x12
# A reference to a package whose id is not known before the app runs is the same reference.
_DYNAMIC = {0x07: _REFERENCE, 0x08: _ATTRIBUTE_REFERENCE}
# fields of aapt2's messages
_NODE_ELEMENT = 1
_NODE_TEXT = 2
_ELEMENT_NAMESPACE = 2
_ELEMENT_NAME = 3
_ELEMENT_ATTRIBUTE = 4
_ELEMENT_CHILD = 5
_ATTRIBUTE_NAMESPACE = 1
_ATTRIBUTE_NAME = 2
_ATTRIBUTE_TEXT = 3
_ATTRIBUTE_ID = 5
_ATTRIBUTE_ITEM = 6
_ITEM_REFERENCE = 1
_ITEM_STRING = 2
_ITEM_RAW_STRING = 3
_ITEM_STYLED_STRING = 4
_ITEM_PRIMITIVE = 7
_PRIMITIVES = {  # by field: the type of the value
    3: _FLOAT,
    6: 0x10,  # decimal
    7: 0x11,  # hexadecimal
    8: _BOOLEAN,
    9: 0x1C,  # #aarrggbb
    10: 0x1D,  # #rrggbb
    11: 0x1E,  # #argb
    12: 0x1F,  # #rgb
    13: _DIMENSION,
    14: _FRACTION,
}
_PRIMITIVE_NULL = 1
_PRIMITIVE_EMPTY = 2
_DAMAGED = (struct.error, LookupError, UnicodeError, ValueError)


class NotCompiledXml(Exception):
    """The bytes are not compiled XML of this encoding, or larger than any."""


class NotComparable(Exception):
    """The document has a value that the other encoding may say in several ways."""


class Start(NamedTuple):
    """An element begins. Attributes are sorted; a key is a resource id or a name with its
    namespace, a value begins with its type.
    """

    name: str
    attributes: tuple[tuple[str, str], ...]


class Text(NamedTuple):
    """Text between elements, without white space around it."""

    text: str


class End(NamedTuple):
    """An element ends."""


Event: TypeAlias = Start | Text | End


@dataclass
class Element:
    """One element of a document, with what is in it."""

    name: str
    attributes: dict[str, str] = field(default_factory=dict)
    children: list[Element] = field(default_factory=list)
    text: str = ""

    def find(self, name: str) -> Element | None:
        """Return the first child of this name."""
        return next((child for child in self.children if child.name == name), None)


def is_binary(beginning: bytes) -> bool:
    """Return whether a file that begins like this claims to be Android's binary XML."""
    return beginning.startswith(_BINARY_BEGINNING)


def digest(events: Iterator[Event]) -> bytes:
    """Return the SHA-256 of what a document says. Raises NotCompiledXml and NotComparable."""
    sha256 = hashlib.sha256()
    for event in events:
        # The JSON of one event has no line break, so no two sequences have the same bytes.
        sha256.update(json.dumps([type(event).__name__, *event]).encode() + b"\n")
    return sha256.digest()


def tree(events: Iterator[Event]) -> Element:
    """Return the root of a document. Raises NotCompiledXml and NotComparable."""
    root: Element | None = None
    open_elements: list[Element] = []
    for event in events:
        if isinstance(event, Start):
            element = Element(event.name, dict(event.attributes))
            if open_elements:
                open_elements[-1].children.append(element)
            elif root is None:
                root = element
            open_elements.append(element)
        elif isinstance(event, End):
            open_elements.pop()
        elif open_elements:
            open_elements[-1].text += event.text
    if root is None:
        raise NotCompiledXml("has no element")
    return root


class _Budget:
    """Counts what a document gives out. Raises NotCompiledXml where it is more than any has.

    `named` is that of `binary_events`.
    """

    def __init__(self, *, named: bool) -> None:
        self.named = named
        self._events = MAX_EVENTS
        self._characters = MAX_CHARACTERS

    def event(self) -> None:
        self._events -= 1
        if self._events < 0:
            raise NotCompiledXml(f"has more than {MAX_EVENTS:,} elements and attributes")

    def text(self, text: str) -> str:
        """Return the text, counted."""
        self._characters -= len(text)
        if self._characters < 0:
            raise NotCompiledXml(f"has more than {MAX_CHARACTERS:,} characters")
        return text


def _checked(events: Iterator[Event], budget: _Budget) -> Iterator[Event]:
    """Pass events on whose elements end where they should. Raises NotCompiledXml."""
    depth = 0
    for event in events:
        budget.event()
        if isinstance(event, Start):
            depth += 1
        elif isinstance(event, End):
            depth -= 1
        if not 0 <= depth <= MAX_DEPTH:
            raise NotCompiledXml("is nested too deep, or ends elements that did not begin")
        yield event
    if depth:
        raise NotCompiledXml("ends within an element")


def binary_events(data: bytes, *, named: bool = False) -> Iterator[Event]:
    """Decode Android's binary XML. Raises NotCompiledXml.

    With `named` the keys of attributes with resource ids have their names, too. The system knows
    them by their ids alone, an app may look for a name.
    """
    budget = _Budget(named=named)
    try:
        yield from _checked(_binary(data, budget), budget)
    except _DAMAGED:
        raise NotCompiledXml("is not Android's binary XML") from None


def _binary(data: bytes, budget: _Budget) -> Iterator[Event]:
    """Decode the chunks. Raises NotCompiledXml, and those in _DAMAGED."""
    pool: StringPool | None = None
    ids: tuple[int, ...] = ()
    kind, offset, size = struct.unpack_from("<2HI", data)
    if kind != _XML or offset != 8 or size != len(data):
        raise NotCompiledXml("is not Android's binary XML")
    while offset + 8 <= len(data):
        kind, header, length = struct.unpack_from("<2HI", data, offset)
        if not 8 <= header <= length <= len(data) - offset:
            raise IndexError(length)
        if kind in (_START_ELEMENT, _END_ELEMENT, _CDATA) and header != _NODE_HEADER:
            raise IndexError(header)
        if kind == _POOL and pool is None:
            pool = StringPool(data[offset : offset + length], _MAX_TEXT, _MAX_STRINGS)
        elif kind == _IDS:
            ids = struct.unpack_from(f"<{(length - header) // 4}I", data, offset + header)
        elif kind in (_START_ELEMENT, _END_ELEMENT, _CDATA) and pool is None:
            raise IndexError(offset)
        elif kind == _START_ELEMENT and pool is not None:
            chunk = data[offset : offset + length]
            yield _binary_element(chunk, header, pool, ids, budget)
        elif kind == _END_ELEMENT:
            yield End()
        elif kind == _CDATA and pool is not None:
            (index,) = struct.unpack_from("<I", data, offset + header)
            text = budget.text(pool[index]).strip()
            if text:
                yield Text(text)
        offset += length


def _binary_element(
    chunk: bytes, header: int, pool: StringPool, ids: tuple[int, ...], budget: _Budget
) -> Start:
    """Decode an element with its attributes. Raises NotCompiledXml, and those in _DAMAGED."""
    space, name, start, size, count = _ELEMENT.unpack_from(chunk, header)
    # No tool writes it otherwise, and Android and its tools read other layouts differently.
    if (start, size) != (_ELEMENT.size + 6, _ATTRIBUTE.size):
        raise IndexError(size)
    attributes = []
    first = header + start
    for offset in range(first, first + size * count, size):
        budget.event()
        namespace, key, raw, value_size, zero, kind, content = _ATTRIBUTE.unpack_from(chunk, offset)
        if value_size != _VALUE_SIZE or zero:
            raise IndexError(value_size)
        resource_id = ids[key] if key < len(ids) else 0
        uri = "" if namespace == _NOTHING else pool[namespace]
        identifier = _key(uri, pool[key], resource_id, named=budget.named)
        if kind == _STRING:
            value = _text_value(pool[content])
        elif kind == _NULL and raw != _NOTHING and not content:
            value = _text_value(pool[raw])
        else:
            value = _number_value(kind, content)
        attributes.append((budget.text(identifier), budget.text(value)))
    uri = "" if space == _NOTHING else pool[space]
    return Start(budget.text(_key(uri, pool[name])), tuple(sorted(attributes)))


def _key(namespace: str, name: str, resource_id: int = 0, *, named: bool = True) -> str:
    """Return what tells one attribute from another, or one element."""
    full_name = f"{{{namespace}}}{name}" if namespace else name
    if not resource_id:
        return full_name
    identifier = f"0x{resource_id:08x}"
    return f"{identifier} {full_name}" if named else identifier


def _text_value(text: str) -> str:
    return f"text:{text}"


def _number_value(kind: int, content: int) -> str:
    """Return what a value says that is not text; `content` is 32 bits."""
    kind = _DYNAMIC.get(kind, kind)
    content &= 0xFFFFFFFF
    if kind == _BOOLEAN:
        content = min(content, 1)
    return f"{kind:02x}:{content:08x}"


def proto_events(data: bytes, *, named: bool = False) -> Iterator[Event]:
    """Decode aapt2's protobuf XML; `named` is that of `binary_events`. Raises NotCompiledXml and
    NotComparable.
    """
    budget = _Budget(named=named)
    try:
        yield from _checked(_proto(data, budget), budget)
    except _DAMAGED:
        raise NotCompiledXml("is not aapt2's protobuf XML") from None


def _proto(data: bytes, budget: _Budget) -> Iterator[Event]:
    """Decode the nodes from the root on, without recursion. Raises NotCompiledXml, NotComparable,
    and those in _DAMAGED.
    """
    proto = ProtoReader(_MAX_FIELDS)
    root = proto.message(memoryview(data)).get(_NODE_ELEMENT)
    if root is None:
        raise NotCompiledXml("is not aapt2's protobuf XML")
    start, children = _proto_element(root.data, proto, budget)
    yield start
    open_elements = [iter(children)]
    while open_elements:
        child = next(open_elements[-1], None)
        if child is None:
            open_elements.pop()
            yield End()
            continue
        node = proto.message(child)
        if _NODE_ELEMENT in node:
            if len(open_elements) > MAX_DEPTH:
                raise NotCompiledXml("is nested too deep")
            start, children = _proto_element(node[_NODE_ELEMENT].data, proto, budget)
            yield start
            open_elements.append(iter(children))
        elif _NODE_TEXT in node:
            text = _plain(budget.text(_string(node[_NODE_TEXT].data))).strip()
            if text:
                yield Text(text)


def _proto_element(
    data: memoryview, proto: ProtoReader, budget: _Budget
) -> tuple[Start, list[memoryview]]:
    """Decode an element with its attributes; its children are not decoded yet."""
    namespace = ""
    name = ""
    attributes: list[tuple[str, str]] = []
    children: list[memoryview] = []
    for one in proto.fields(data):
        if one.id == _ELEMENT_NAMESPACE:
            namespace = _string(one.data)
        elif one.id == _ELEMENT_NAME:
            name = _string(one.data)
        elif one.id == _ELEMENT_ATTRIBUTE:
            budget.event()
            key, value = _proto_attribute(proto.message(one.data), proto, budget)
            attributes.append((budget.text(key), budget.text(value)))
        elif one.id == _ELEMENT_CHILD:
            children.append(one.data)
    return Start(budget.text(_key(namespace, name)), tuple(sorted(attributes))), children


def _proto_attribute(
    message: Mapping[int, Field], proto: ProtoReader, budget: _Budget
) -> tuple[str, str]:
    namespace = _string(message.get(_ATTRIBUTE_NAMESPACE, ABSENT).data)
    name = _string(message.get(_ATTRIBUTE_NAME, ABSENT).data)
    resource_id = message.get(_ATTRIBUTE_ID, ABSENT).number
    key = _key(namespace, name, resource_id, named=budget.named)
    if _ATTRIBUTE_ITEM in message:
        item = proto.message(message[_ATTRIBUTE_ITEM].data)
        if item:
            return key, proto_value(item, proto)
    return key, _text_value(_plain(_string(message.get(_ATTRIBUTE_TEXT, ABSENT).data)))


def proto_value(item: Mapping[int, Field], proto: ProtoReader) -> str:
    """Return what a compiled value says. Raises NotComparable for those of old tools."""
    if _ITEM_REFERENCE in item:
        reference = proto.message(item[_ITEM_REFERENCE].data)
        resource_id = reference.get(2, ABSENT).number
        if not resource_id and reference.get(3, ABSENT).data:
            raise NotComparable("refers to a resource by its name alone")
        kind = _ATTRIBUTE_REFERENCE if reference.get(1, ABSENT).number else _REFERENCE
        return _number_value(kind, resource_id)
    for text in (_ITEM_STRING, _ITEM_RAW_STRING, _ITEM_STYLED_STRING):
        if text in item:
            return _text_value(_string(proto.message(item[text].data).get(1, ABSENT).data))
    if _ITEM_PRIMITIVE not in item:
        raise NotComparable("has a value of an unknown kind")
    for one in proto.fields(item[_ITEM_PRIMITIVE].data):
        if one.id in _PRIMITIVES:
            return _number_value(_PRIMITIVES[one.id], one.number)
        if one.id in (_PRIMITIVE_NULL, _PRIMITIVE_EMPTY):
            return _number_value(_NULL, int(one.id == _PRIMITIVE_EMPTY))
    raise NotComparable("has a value of an unknown kind")


def _string(data: memoryview) -> str:
    if len(data) > 4 * _MAX_TEXT:
        raise ValueError(len(data))
    return str(data, "utf-8")


def _plain(text: str) -> str:
    """Return a text that was not compiled. Raises NotComparable where it has escapes, which are
    resolved on the way into an APK.
    """
    if any(mark in text for mark in "\\\"'"):
        raise NotComparable("has a text with escapes")
    return text
