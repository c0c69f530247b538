"""Decodes compiled XML, a manifest or a resource, from both of its encodings into the same events.

An APK has Android's binary XML, a bundle has aapt2's protobuf XML (`manifest` names the sources of
both), and bundletool makes one of the other with `aapt2 convert`. What means the same gives equal
events, whatever the encoding. Comments and line numbers do not count, nor does text that is only
white space, which aapt2 leaves out of an APK. Binary XML is read as strictly as `aapt2 convert`
writes it: if Android could read a document differently from this program, it is refused.

The bytes are untrusted: depth, events and characters are bounded, and nothing is copied on the way
down.
"""

from __future__ import annotations

import hashlib
import json
import re
import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from uploader.files.android.protobuf import ABSENT, Field, ProtoReader
from uploader.files.android.resource_values import (
    ATTRIBUTE_REFERENCE,
    BOOLEAN,
    DYNAMIC_ATTRIBUTE,
    DYNAMIC_REFERENCE,
    ITEM_PRIMITIVE,
    ITEM_RAW_TEXT,
    ITEM_REFERENCE,
    ITEM_STYLED_TEXT,
    ITEM_TEXT,
    NULL,
    REFERENCE,
    STRING,
    read_primitive,
)
from uploader.files.android.string_pool import StringPool

MAX_DEPTH = 100  # elements within one another; layouts have some tens
MAX_EVENTS = 200_000  # of one document: the largest manifests have some ten thousand
MAX_CHARACTERS = 8 << 20  # of one document, names included
# of all documents of a run: a large app has some 20,000, with some hundred events each
MAX_EVENTS_OF_RUN = 20_000_000
_MAX_TEXT = 1 << 20  # characters of one text
_MAX_FIELDS = 2_000_000  # of a protobuf document: ten for each event

# chunks of the binary encoding
_CHUNK = struct.Struct("<2HI")  # kind, size of the header, size
_XML = 0x0003
_POOL = 0x0001
_IDS = 0x0180
_START_NAMESPACE = 0x0100
_END_NAMESPACE = 0x0101
_START_ELEMENT = 0x0102
_END_ELEMENT = 0x0103
_CDATA = 0x0104
_NOTHING = 0xFFFFFFFF
_NODE_HEADER = 16  # bytes, with the line and the comment
_VALUE_SIZE = 8  # bytes of Res_value
_BINARY_BEGINNING = b"\x03\x00\x08\x00"
# prefix and URI of a namespace, or URI and name of an element
_NAMES = struct.Struct("<2I")
# namespace, name; offset of the attributes, size of one, count; places of id, class and style
_ELEMENT = struct.Struct("<2I6H")
# the text, then a Res_value that says nothing more
_TEXT_VALUE = struct.Struct("<IH2BI")
_ATTRIBUTE = struct.Struct("<3IHBBI")  # namespace, name, raw string, then Res_value
# References to a package whose id is not known before the app runs.
_DYNAMIC = {REFERENCE: DYNAMIC_REFERENCE, ATTRIBUTE_REFERENCE: DYNAMIC_ATTRIBUTE}
_ID_ATTRIBUTE = 0x010100D0
# Attributes in this namespace only help to write an app, and aapt2 leaves them out of an APK.
_TOOLS = "http://schemas.android.com/tools"
# Such a name could be taken for the key of an attribute with an id or a namespace.
_IMPOSSIBLE_NAME = re.compile(r"0x|\{")
# A backslash at the end of a text escapes nothing, and is left out.
_ESCAPE = re.compile(r"\\(u[0-9A-Fa-f]{0,4}|.|$)", re.DOTALL)
_ESCAPED = {"t": "\t", "n": "\n"}  # other letters stand for themselves
_WHITE_SPACE = " \t\n\v\f\r"  # at the ends of a text aapt2 makes one space of it
_TRUE = 0xFFFFFFFF  # aapt2 writes no other number for it
# fields of aapt2's messages
_NODE_ELEMENT = 1
_NODE_TEXT = 2
_ELEMENT_DECLARATION = 1
_ELEMENT_NAMESPACE = 2
_ELEMENT_NAME = 3
_ELEMENT_ATTRIBUTE = 4
_ELEMENT_CHILD = 5
_ATTRIBUTE_NAMESPACE = 1
_ATTRIBUTE_NAME = 2
_ATTRIBUTE_TEXT = 3
_ATTRIBUTE_ID = 5
_ATTRIBUTE_ITEM = 6
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
    """Text between elements; white space at either end is one space, as aapt2 writes it."""

    text: str


class End(NamedTuple):
    """An element ends."""


class Namespace(NamedTuple):
    """The next element declares the prefix of a namespace."""

    prefix: str
    uri: str


Event: TypeAlias = Start | Text | End | Namespace


@dataclass
class Element:
    """One element of a document, with what is in it."""

    name: str
    attributes: dict[str, str] = field(default_factory=dict)
    children: list[Element] = field(default_factory=list)
    text: str = ""

    def find(self, name: str) -> Element | None:
        """Return the first child of this name, None if there is none."""
        for child in self.children:
            if child.name == name:
                return child
        return None


def is_binary(beginning: bytes) -> bool:
    """Return whether a file that begins like this claims to be Android's binary XML."""
    return beginning.startswith(_BINARY_BEGINNING)


def digest(events: Iterator[Event]) -> bytes:
    """Return the SHA-256 of what a document says. Raises NotCompiledXml and NotComparable."""
    sha256 = hashlib.sha256()
    for event in events:
        kind = type(event).__name__
        line = json.dumps([kind, *event])
        # The JSON of an event has no line break, so no two sequences have the same bytes.
        sha256.update(line.encode() + b"\n")
    return sha256.digest()


def tree(events: Iterator[Event]) -> Element:
    """Return the root of a document. Raises NotCompiledXml and NotComparable."""
    root: Element | None = None
    open_elements: list[Element] = []
    for event in events:
        if isinstance(event, Start):
            attributes = dict(event.attributes)
            if len(attributes) < len(event.attributes):
                # Android takes the first of them, other readers the last.
                name = event.name[:100]
                raise NotCompiledXml(f"gives an attribute of {name} twice")
            element = Element(event.name, attributes)
            if open_elements:
                parent = open_elements[-1]
                parent.children.append(element)
            elif root is None:
                root = element
            open_elements.append(element)
        elif isinstance(event, End):
            open_elements.pop()
        elif isinstance(event, Text) and open_elements:
            parent = open_elements[-1]
            parent.text += event.text
    if root is None:
        raise NotCompiledXml("has no element")
    return root


def tree_and_vocabulary(events: Iterator[Event]) -> tuple[Element, frozenset[str]]:
    """Return the root of a document as `tree` does, and its vocabulary: the name of each attribute
    that has a resource id, behind that id, and the namespaces that it declares.

    The events must have been decoded with `named`. Raises NotCompiledXml and NotComparable.
    """
    words: set[str] = set()

    def without_names() -> Iterator[Event]:
        for event in events:
            if isinstance(event, Start):
                attributes = []
                for key, value in event.attributes:
                    if key.startswith("0x"):
                        words.add(key)
                    attributes.append((_without_name(key), value))
                yield Start(event.name, tuple(attributes))
            elif isinstance(event, Namespace):
                declaration = f"xmlns:{event.prefix} {event.uri}"
                words.add(declaration)
            else:
                yield event

    root = tree(without_names())
    return root, frozenset(words)


def _without_name(key: str) -> str:
    """Return the key of an attribute without the name behind its resource id."""
    if not key.startswith("0x"):
        return key
    identifier, _, _ = key.partition(" ")
    return identifier


_Digest: TypeAlias = bytes | NotCompiledXml | NotComparable
"""The digest of a document, or why there is none."""


class Documents:
    """The digests of the documents of a run. Equal documents are decoded only once, however many
    resources and APKs have them, and all of them together have at most `max_events`.
    """

    def __init__(self, max_events: int = MAX_EVENTS_OF_RUN) -> None:
        self._left = max_events
        # by the SHA-256 of the document, and whether it is binary XML
        self._digests: dict[tuple[bytes, bool], _Digest] = {}

    def digest(
        self,
        sha256: bytes,
        read: Callable[[], bytes],
        *,
        is_binary: bool,
    ) -> bytes:
        """Return the digest of the document that `read` returns, whose SHA-256 is given. Raises
        NotCompiledXml, and NotComparable, also for one document too many.
        """
        key = (sha256, is_binary)
        if key not in self._digests:
            data = read()
            self._digests[key] = self._decode(data, is_binary=is_binary)
        document_digest = self._digests[key]
        if isinstance(document_digest, bytes):
            return document_digest
        raise document_digest

    def _decode(self, data: bytes, *, is_binary: bool) -> _Digest:
        """Return the digest of a document, or why there is none."""
        decode = binary_events if is_binary else proto_events
        events = decode(data, named=True)
        try:
            return digest(self.count_events(events))
        except (NotCompiledXml, NotComparable) as error:
            return error

    def count_events(self, events: Iterator[Event]) -> Iterator[Event]:
        """Pass the events of a document on. Raises NotComparable for one too many."""
        for event in events:
            self._left -= 1
            if isinstance(event, Start):
                self._left -= len(event.attributes)
            if self._left < 0:
                raise NotComparable(
                    "is one too many: all XML files together are too large"
                )
            yield event


class _Budget:
    """Counts the events and the characters of a document. Raises NotCompiledXml if there are more
    than in any real one.

    `named` is that of `binary_events`.
    """

    def __init__(self, *, named: bool) -> None:
        self.named = named
        self._events = MAX_EVENTS
        self._characters = MAX_CHARACTERS

    def event(self) -> None:
        self._events -= 1
        if self._events < 0:
            raise NotCompiledXml(
                f"has more than {MAX_EVENTS:,} elements and attributes"
            )

    def text(self, text: str) -> str:
        """Return the text, counted."""
        self._characters -= len(text)
        if self._characters < 0:
            raise NotCompiledXml(f"has more than {MAX_CHARACTERS:,} characters")
        return text


def _check_structure(events: Iterator[Event]) -> Iterator[Event]:
    """Pass the events on. Raises NotCompiledXml unless they have one root and all elements end."""
    depth = 0
    roots = 0
    for event in events:
        if isinstance(event, Start):
            if not depth:
                roots += 1
            depth += 1
        elif isinstance(event, End):
            depth -= 1
        if not 0 <= depth <= MAX_DEPTH:
            raise NotCompiledXml(
                "is nested too deep, or ends elements that did not begin"
            )
        is_outside = isinstance(event, Text) and not depth
        if roots > 1 or is_outside:
            raise NotCompiledXml("has more than one root")
        yield event
    if depth:
        raise NotCompiledXml("ends within an element")


def binary_events(data: bytes, *, named: bool = False) -> Iterator[Event]:
    """Decode Android's binary XML. Raises NotCompiledXml.

    With `named` the keys of attributes with resource ids have their names, too, and namespaces are
    events. The system knows attributes by their ids alone, an app may look for a name.
    """
    budget = _Budget(named=named)
    try:
        document = _BinaryXml(data, budget)
        yield from _check_structure(document.events())
    except _DAMAGED:
        raise NotCompiledXml("is not Android's binary XML") from None


class _Attribute(NamedTuple):
    """An attribute of an element in binary XML.

    aapt2 sorts attributes by `rank` (XmlFlattener.cpp): Android searches the ids as a sorted list,
    and an app may ask for the other attributes, which follow, by their index. `special_place` is
    which of the element's three places names this attribute, if any: id, class or style.
    """

    key: str
    value: str
    rank: tuple[int, str, str]
    special_place: int | None


class _BinaryXml:
    """A document in Android's binary XML. Raises NotCompiledXml, and those in _DAMAGED."""

    def __init__(self, data: bytes, budget: _Budget) -> None:
        self._data = data
        self._budget = budget
        self._open_elements: list[str] = []
        self._open_namespaces: list[Namespace] = []
        kind, header, size = _CHUNK.unpack_from(data)
        if kind != _XML or header != _CHUNK.size or size != len(data):
            raise NotCompiledXml("is not Android's binary XML")
        # The strings come first, then the ids of attributes; Android takes no later ones.
        pool_end, kind, _, pool = self._chunk(_CHUNK.size)
        if kind != _POOL:
            raise ValueError(kind)
        self._pool = StringPool(pool)
        self._ids: tuple[int, ...] = ()
        self._nodes = pool_end
        if pool_end < len(data):
            ids_end, kind, header, ids = self._chunk(pool_end)
            if kind == _IDS:
                if header != _CHUNK.size:
                    raise ValueError(header)
                ids_size = len(ids) - header
                count = ids_size // 4
                self._ids = struct.unpack_from(f"<{count}I", ids, header)
                self._nodes = ids_end

    def _chunk(self, offset: int) -> tuple[int, int, int, bytes]:
        """Return where the chunk at an offset ends, its kind, the size of its header and itself."""
        kind, header, length = _CHUNK.unpack_from(self._data, offset)
        left = len(self._data) - offset
        is_within = _CHUNK.size <= header <= length <= left
        if not is_within or length % 4:
            raise ValueError(length)
        end = offset + length
        return end, kind, header, self._data[offset:end]

    def events(self) -> Iterator[Event]:
        """Decode the nodes."""
        offset = self._nodes
        while offset < len(self._data):
            offset, kind, header, chunk = self._chunk(offset)
            if header != _NODE_HEADER:
                raise ValueError(header)
            self._budget.event()
            if kind == _START_ELEMENT:
                yield self._start(chunk)
            elif kind == _END_ELEMENT:
                uri, name = self._names(chunk)
                opened = self._open_elements.pop()
                if opened != _key(uri, name):
                    raise ValueError(name)
                yield End()
            elif kind == _CDATA:
                yield self._text(chunk)
            elif kind == _START_NAMESPACE:
                namespace = self._namespace(chunk)
                self._open_namespaces.append(namespace)
                if self._budget.named:
                    yield namespace
            elif kind == _END_NAMESPACE:
                declared = self._open_namespaces.pop()
                if declared != self._namespace(chunk):
                    raise ValueError(kind)
            else:
                raise ValueError(kind)
        if self._open_namespaces:
            raise ValueError(offset)

    def _names(self, chunk: bytes) -> tuple[str, str]:
        """Return the namespace and the name of an element that ends."""
        content = chunk[_NODE_HEADER:]
        space, name = _NAMES.unpack(content)
        uri = self._uri(space)
        return uri, self._pool[name]

    def _namespace(self, chunk: bytes) -> Namespace:
        content = chunk[_NODE_HEADER:]
        prefix, uri = _NAMES.unpack(content)
        return Namespace(
            prefix=self._budget.text(self._pool[prefix]),
            uri=self._budget.text(self._pool[uri]),
        )

    def _text(self, chunk: bytes) -> Text:
        content = chunk[_NODE_HEADER:]
        place, size, zero, kind, value = _TEXT_VALUE.unpack(content)
        if size not in (0, _VALUE_SIZE) or zero:
            raise ValueError(size)
        # Older tools repeat the text as a value.
        known_values = (
            (NULL, 0),
            (STRING, 0),
            (STRING, place),
        )
        if (kind, value) not in known_values:
            raise ValueError(kind)
        text = self._pool[place]
        self._budget.text(text)
        if not text or text != _compact(text):
            raise ValueError(place)
        return Text(text)

    def _uri(self, place: int) -> str:
        """Return a namespace. An empty one is written as no string at all, never as an empty
        string: Android distinguishes the two.
        """
        if place == _NOTHING:
            return ""
        uri = self._pool[place]
        if not uri:
            raise ValueError(place)
        return uri

    def _start(self, chunk: bytes) -> Start:
        """Decode an element with its attributes."""
        fields = _ELEMENT.unpack_from(chunk, _NODE_HEADER)
        space, name, start, size, count, *places = fields
        # No tool uses another layout, and Android and its tools would read it differently.
        if (start, size) != (_ELEMENT.size, _ATTRIBUTE.size):
            raise ValueError(size)
        first = _NODE_HEADER + start
        end = first + size * count
        if len(chunk) != end:
            raise ValueError(count)
        attributes = []
        expected_places = [0, 0, 0]
        last_rank = (0, "", "")
        for index in range(count):
            self._budget.event()
            offset = first + index * size
            attribute = self._attribute(chunk, offset)
            if attribute.rank < last_rank:
                raise ValueError(attribute.rank)
            last_rank = attribute.rank
            special = attribute.special_place
            if special is not None:
                expected_places[special] = index + 1
            key = self._budget.text(attribute.key)
            value = self._budget.text(attribute.value)
            attributes.append((key, value))
        if places != expected_places:
            raise ValueError(places)
        uri = self._uri(space)
        full_name = _key(uri, self._pool[name])
        self._open_elements.append(full_name)
        attributes.sort()
        return Start(self._budget.text(full_name), tuple(attributes))

    def _attribute(self, chunk: bytes, offset: int) -> _Attribute:
        """Decode the attribute at an offset."""
        fields = _ATTRIBUTE.unpack_from(chunk, offset)
        namespace, name_index, raw, size, zero, kind, content = fields
        resource_id = 0
        if name_index < len(self._ids):
            resource_id = self._ids[name_index]
        uri = self._uri(namespace)
        name = self._pool[name_index]
        if resource_id:
            rank = (resource_id, "", "")
        else:
            if _IMPOSSIBLE_NAME.match(name):
                raise ValueError(name)
            rank = (_NOTHING, uri, name)
        return _Attribute(
            key=_key(uri, name, resource_id, named=self._budget.named),
            value=self._value(raw, size, zero, kind, content),
            rank=rank,
            special_place=_special_place(uri, name, resource_id),
        )

    def _value(
        self,
        raw: int,
        size: int,
        zero: int,
        kind: int,
        content: int,
    ) -> str:
        """Return the value of an attribute. Beside a text there is the same text again, which some
        of Android's readers prefer (aapt2, XmlFlattener.cpp); beside another value there is none.
        """
        if size != _VALUE_SIZE or zero:
            raise ValueError(size)
        if kind == BOOLEAN and content not in (0, _TRUE):
            raise ValueError(content)
        value = _number_value(kind, content)
        if kind == STRING:
            value = _text_value(self._pool[content])
            if raw == _NOTHING:
                return f"alone {value}"
        if raw == _NOTHING:
            return value
        text_beside = _text_value(self._pool[raw])
        if text_beside != value:
            return f"{value} beside {text_beside}"
        return value


def _special_place(uri: str, name: str, resource_id: int) -> int | None:
    if resource_id == _ID_ATTRIBUTE:
        return 0
    if uri:
        return None
    return {"class": 1, "style": 2}.get(name)


def _key(
    namespace: str,
    name: str,
    resource_id: int = 0,
    *,
    named: bool = True,
) -> str:
    """Return what distinguishes an attribute, or an element, from others. A name follows a resource
    id only if `named`.
    """
    full_name = name
    if namespace:
        full_name = f"{{{namespace}}}{name}"
    if not resource_id:
        return full_name
    identifier = f"0x{resource_id:08x}"
    if not named:
        return identifier
    return f"{identifier} {full_name}"


def _compact(text: str) -> str:
    """Return a text as aapt2 writes it into an APK; empty if it writes none (XmlFlattener.cpp)."""
    stripped = text.strip(_WHITE_SPACE)
    if not stripped:
        return ""
    compact = stripped
    if text[0] in _WHITE_SPACE:
        compact = f" {compact}"
    if text[-1] in _WHITE_SPACE:
        compact = f"{compact} "
    return compact


def _text_value(text: str) -> str:
    return f"text:{text}"


def _number_value(kind: int, content: int) -> str:
    """Return a value that is not text; `content` has 32 bits."""
    content &= 0xFFFFFFFF
    if kind == BOOLEAN:
        content = min(content, 1)
    return f"{kind:02x}:{content:08x}"


def proto_events(data: bytes, *, named: bool = False) -> Iterator[Event]:
    """Decode aapt2's protobuf XML; `named` is that of `binary_events`. Raises NotCompiledXml and
    NotComparable.
    """
    budget = _Budget(named=named)
    try:
        yield from _check_structure(_proto(data, budget))
    except _DAMAGED:
        raise NotCompiledXml("is not aapt2's protobuf XML") from None


def _proto(data: bytes, budget: _Budget) -> Iterator[Event]:
    """Decode the nodes from the root on, without recursion. Raises NotCompiledXml, NotComparable,
    and those in _DAMAGED.
    """
    proto = ProtoReader(_MAX_FIELDS)
    document = proto.message(memoryview(data))
    root = document.get(_NODE_ELEMENT)
    if root is None:
        raise NotCompiledXml("is not aapt2's protobuf XML")
    declarations, start, children = _proto_element(root.data, proto, budget)
    yield from declarations
    yield start
    open_elements = [iter(children)]
    while open_elements:
        child = next(open_elements[-1], None)
        if child is None:
            open_elements.pop()
            yield End()
            continue
        budget.event()
        node = proto.message(child)
        if _NODE_ELEMENT in node:
            if len(open_elements) > MAX_DEPTH:
                raise NotCompiledXml("is nested too deep")
            element = node[_NODE_ELEMENT]
            declarations, start, children = _proto_element(element.data, proto, budget)
            yield from declarations
            yield start
            open_elements.append(iter(children))
        elif _NODE_TEXT in node:
            written = _text_of(node, _NODE_TEXT)
            text = _compact(budget.text(written))
            if text:
                yield Text(text)


def _proto_element(
    data: memoryview, proto: ProtoReader, budget: _Budget
) -> tuple[list[Namespace], Start, list[memoryview]]:
    """Decode an element with its attributes and the namespaces that it declares, if those are
    wanted; its children are not decoded yet.
    """
    namespace = ""
    name = ""
    declarations: list[Namespace] = []
    attributes: list[tuple[str, str]] = []
    children: list[memoryview] = []
    for field_id, _, content in proto.fields(data):
        if field_id == _ELEMENT_NAMESPACE:
            namespace = _string(content)
        elif field_id == _ELEMENT_NAME:
            name = _string(content)
        elif field_id == _ELEMENT_DECLARATION and budget.named:
            budget.event()
            declaration = proto.message(content)
            prefix = budget.text(_text_of(declaration, 1))
            uri = budget.text(_text_of(declaration, 2))
            if uri != _TOOLS:
                declarations.append(Namespace(prefix, uri))
        elif field_id == _ELEMENT_ATTRIBUTE:
            budget.event()
            message = proto.message(content)
            if _text_of(message, _ATTRIBUTE_NAMESPACE) == _TOOLS:
                continue
            key, value = _proto_attribute(message, proto, budget)
            budget.text(key)
            budget.text(value)
            attributes.append((key, value))
        elif field_id == _ELEMENT_CHILD:
            children.append(content)
    full_name = budget.text(_key(namespace, name))
    attributes.sort()
    start = Start(full_name, tuple(attributes))
    return declarations, start, children


def _proto_attribute(
    message: Mapping[int, Field], proto: ProtoReader, budget: _Budget
) -> tuple[str, str]:
    namespace = _text_of(message, _ATTRIBUTE_NAMESPACE)
    name = _text_of(message, _ATTRIBUTE_NAME)
    resource_id = message.get(_ATTRIBUTE_ID, ABSENT).number
    key = _key(namespace, name, resource_id, named=budget.named)
    if _ATTRIBUTE_ITEM in message:
        item = proto.message(message[_ATTRIBUTE_ITEM].data)
        if item:
            return key, proto_value(item, proto)
    text = _text_of(message, _ATTRIBUTE_TEXT)
    return key, _text_value(_unescape(text))


def proto_value(item: Mapping[int, Field], proto: ProtoReader) -> str:
    """Return a compiled value. Raises NotComparable for those of old tools."""
    if ITEM_REFERENCE in item:
        return _reference_value(item[ITEM_REFERENCE].data, proto)
    for kind in (ITEM_TEXT, ITEM_RAW_TEXT, ITEM_STYLED_TEXT):
        if kind in item:
            message = proto.message(item[kind].data)
            text = _text_of(message, 1)
            return _text_value(text)
    if ITEM_PRIMITIVE not in item:
        raise NotComparable("has a value of an unknown kind")
    fields = proto.fields(item[ITEM_PRIMITIVE].data)
    primitive = read_primitive(fields)
    if primitive is None:
        raise NotComparable("has a value of an unknown kind")
    primitive_kind, number = primitive
    return _number_value(primitive_kind, number)


def _reference_value(data: memoryview, proto: ProtoReader) -> str:
    """Return a reference to a resource or an attribute. Raises NotComparable."""
    reference = proto.message(data)
    resource_id = reference.get(2, ABSENT).number
    name = reference.get(3, ABSENT).data
    if name and not resource_id:
        raise NotComparable("refers to a resource by its name alone")
    kind = REFERENCE
    if reference.get(1, ABSENT).number:
        kind = ATTRIBUTE_REFERENCE
    dynamic = reference.get(5, ABSENT).data
    if resource_id and dynamic:
        is_dynamic = proto.message(dynamic)[1].number != 0
        if is_dynamic:
            kind = _DYNAMIC[kind]
    return _number_value(kind, resource_id)


def _text_of(message: Mapping[int, Field], field_id: int) -> str:
    """Return the text in a field of a message; empty if the field is absent."""
    return _string(message.get(field_id, ABSENT).data)


def _string(data: memoryview) -> str:
    if len(data) > 4 * _MAX_TEXT:
        raise ValueError(len(data))
    return str(data, "utf-8")


def _unescape(text: str) -> str:
    """Return a text that was not compiled as an APK has it: without its escapes (aapt2,
    ResourceUtils::StringBuilder, which keeps white space and quotation marks here). Raises
    NotComparable for an escape that stands for no character.
    """
    if "\\" not in text:
        return text
    return _ESCAPE.sub(_escaped_character, text)


def _escaped_character(escape: re.Match[str]) -> str:
    content = escape[1]
    if not content.startswith("u"):
        return _ESCAPED.get(content, content)
    digits = content[1:]
    if len(digits) < 4:
        raise NotComparable("has an escape that is no character")
    code = int(digits, 16)
    is_surrogate = 0xD800 <= code < 0xE000
    if is_surrogate or code == 0:
        raise NotComparable("has an escape that is no character")
    return chr(code)
