"""XML of a bundle, in protocol buffers (aapt2's Resources.proto), rewritten as the binary XML of an
APK (ResourceTypes.h).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field

from google_emulator.http.response import Json
from google_emulator.services.play.artifact_files import proto_fields
from google_emulator.specimens.manifests import (
    ANDROID,
    ELEMENT_END,
    ELEMENT_START,
    NAMESPACE_END,
    NAMESPACE_START,
    NO_STRING,
    RESOURCE_MAP,
    XML,
    chunk,
    event,
    string_pool,
)

_TEXT = 0x0104  # the chunk of a text between elements
_REFERENCE, _STRING, _DECIMAL, _BOOLEAN = 0x01, 0x03, 0x10, 0x12
# Fields of a Primitive, and the type of Res_value that each becomes.
_PRIMITIVES = {
    1: 0x00,
    2: 0x00,
    3: 0x04,
    6: _DECIMAL,
    7: 0x11,
    8: _BOOLEAN,
    9: 0x1C,
    10: 0x1D,
    11: 0x1E,
    12: 0x1F,
    13: 0x05,
    14: 0x06,
}
_ALL_ONES = 0xFFFFFFFF  # a boolean that is true
_ID = 0x010100D0  # the attribute that names an element
_WHITE_SPACE = " \t\n\v\f\r"


@dataclass
class Attribute:
    """One attribute. `value` is its compiled form (type and data); if it has none, its `text`
    counts.
    """

    name: str
    text: str
    namespace: str = ""
    resource: int = 0
    value: tuple[int, int] | None = None


@dataclass
class Element:
    """One element. `namespaces` are those that it declares: URIs by prefix."""

    name: str
    attributes: list[Attribute] = field(default_factory=list)
    children: list[Element | str] = field(default_factory=list)
    namespace: str = ""
    namespaces: dict[str, str] = field(default_factory=dict)

    def set(self, attribute: Attribute) -> None:
        """Set an attribute, replacing one of the same name."""
        self.remove(attribute.name, attribute.namespace)
        self.attributes.append(attribute)

    def remove(self, name: str, namespace: str = "") -> None:
        """Remove an attribute, if the element has it."""
        self.attributes = [
            attribute
            for attribute in self.attributes
            if (attribute.name, attribute.namespace) != (name, namespace)
        ]

    def get(self, name: str, namespace: str = "") -> Attribute | None:
        """Return the attribute of this name; None if there is none."""
        for attribute in self.attributes:
            if (attribute.name, attribute.namespace) == (name, namespace):
                return attribute
        return None

    def below(self, name: str) -> Element | None:
        """Return the first child of this name; None if there is none."""
        for child in self.children:
            if isinstance(child, Element) and child.name == name:
                return child
        return None


def android(name: str, resource: int, value: str | int | bool) -> Attribute:
    """Return an attribute of the android namespace."""
    if isinstance(value, bool):
        compiled = (_BOOLEAN, _ALL_ONES if value else 0)
        return Attribute(name, str(value).lower(), ANDROID, resource, compiled)
    if isinstance(value, int):
        return Attribute(name, str(value), ANDROID, resource, (_DECIMAL, value))
    return Attribute(name, value, ANDROID, resource)


def android_reference(name: str, resource: int, target: int) -> Attribute:
    """Return an attribute of the android namespace that refers to a resource."""
    return Attribute(name, "", ANDROID, resource, (_REFERENCE, target))


def read_proto_xml(data: bytes) -> Element:
    """Return the root element of a document. Raises one of `artifact_files.MALFORMED`."""
    root = _node(data)
    if not isinstance(root, Element):
        raise TypeError("the root is no element")
    return root


def _node(data: bytes) -> Element | str:
    fields = proto_fields(data)
    if 1 not in fields:
        return _compacted(_text(fields, 2))
    element = proto_fields(fields[1][0])
    declared = [proto_fields(namespace) for namespace in element.get(1, [])]
    children = [_node(child) for child in element.get(5, [])]
    return Element(
        _text(element, 3),
        [_attribute(proto_fields(attribute)) for attribute in element.get(4, [])],
        [child for child in children if child],
        _text(element, 2),
        {_text(namespace, 1): _text(namespace, 2) for namespace in declared},
    )


def _compacted(text: str) -> str:
    """Return a text as aapt2 writes it: white space at each end becomes one space, and white space
    alone nothing.
    """
    stripped = text.strip(_WHITE_SPACE)
    if not stripped:
        return ""
    before = " " if text[0] in _WHITE_SPACE else ""
    after = " " if text[-1] in _WHITE_SPACE else ""
    return f"{before}{stripped}{after}"


def _attribute(fields: dict[int, list[Json]]) -> Attribute:
    attribute = Attribute(
        _text(fields, 2),
        _text(fields, 3),
        _text(fields, 1),
        int(fields.get(5, [0])[-1]),
    )
    item = proto_fields(fields.get(6, [b""])[-1])
    if 1 in item:
        attribute.value = (_REFERENCE, int(proto_fields(item[1][-1]).get(2, [0])[-1]))
    elif 2 in item or 3 in item:
        attribute.text = _text(proto_fields(item[2 if 2 in item else 3][-1]), 1)
    elif 7 in item:
        attribute.value = read_primitive(proto_fields(item[7][-1]))
    return attribute


def read_primitive(fields: dict[int, list[Json]]) -> tuple[int, int]:
    """Return the type and the data of a Primitive. Raises `ValueError` for an unknown kind."""
    for key, kind in _PRIMITIVES.items():
        if key not in fields:
            continue
        value = fields[key][-1]
        # a float is four bytes, a null or an empty value a message
        if isinstance(value, bytes):
            value = struct.unpack("<I", value)[0] if len(value) == 4 else int(key == 2)
        data = int(value) & _ALL_ONES
        return kind, _ALL_ONES if kind == _BOOLEAN and data else data
    raise ValueError("a primitive of an unknown kind")


def _text(fields: dict[int, list[Json]], key: int) -> str:
    return str(fields.get(key, [b""])[-1].decode())


def write_binary_xml(root: Element) -> bytes:
    """Return the document as aapt2 writes it into an APK."""
    pool = _Pool(root)
    body = b"".join(_written(root, pool))
    resources = struct.pack(f"<{len(pool.resources)}I", *pool.resources)
    content = string_pool(pool.strings) + chunk(RESOURCE_MAP, b"", resources) + body
    return chunk(XML, b"", content)


class _Pool:
    """The strings of a document. Names of attributes with a resource id come first, in the order of
    their ids.
    """

    def __init__(self, root: Element) -> None:
        elements = list(_elements(root))
        named = {
            (attribute.resource, attribute.name)
            for element in elements
            for attribute in element.attributes
            if attribute.resource
        }
        self.resources = [resource for resource, _ in sorted(named)]
        self._names = {key: index for index, key in enumerate(sorted(named))}
        self.strings = [name for _, name in sorted(named)]
        self._others: dict[str, int] = {}
        for element in elements:
            for text in _strings(element):
                self._add(text)

    def _add(self, text: str) -> None:
        if text not in self._others:
            self._others[text] = len(self.strings)
            self.strings.append(text)

    def at(self, text: str) -> int:
        """Return the index of a string that is not the name of an attribute with a resource id."""
        return self._others[text]

    def optional(self, text: str) -> int:
        """Return the index of a string; `NO_STRING` for an empty one."""
        return self.at(text) if text else NO_STRING

    def name(self, attribute: Attribute) -> int:
        """Return the index of an attribute's name."""
        if attribute.resource:
            return self._names[attribute.resource, attribute.name]
        return self.at(attribute.name)


def _elements(root: Element) -> Iterator[Element]:
    yield root
    for child in root.children:
        if isinstance(child, Element):
            yield from _elements(child)


def _strings(element: Element) -> Iterator[str]:
    for prefix, uri in element.namespaces.items():
        yield prefix
        yield uri
    if element.namespace:
        yield element.namespace
    yield element.name
    for attribute in element.attributes:
        if attribute.namespace:
            yield attribute.namespace
        if not attribute.resource:
            yield attribute.name
        if attribute.value is None:
            yield attribute.text
    for child in element.children:
        if isinstance(child, str):
            yield child


def _written(element: Element, pool: _Pool) -> Iterator[bytes]:
    scopes = [
        struct.pack("<2I", pool.at(prefix), pool.at(uri))
        for prefix, uri in element.namespaces.items()
    ]
    for scope in scopes:
        yield event(NAMESPACE_START, scope)
    name = struct.pack("<2I", pool.optional(element.namespace), pool.at(element.name))
    ordered = sorted(element.attributes, key=_order)
    attributes = b"".join(_written_attribute(attribute, pool) for attribute in ordered)
    sizes = struct.pack("<6H", 20, 20, len(ordered), *_special_places(ordered))
    yield event(ELEMENT_START, name + sizes + attributes)
    for child in element.children:
        if isinstance(child, Element):
            yield from _written(child, pool)
        else:
            yield event(_TEXT, struct.pack("<IHBBI", pool.at(child), 8, 0, 0, 0))
    yield event(ELEMENT_END, name)
    for scope in reversed(scopes):
        yield event(NAMESPACE_END, scope)


def _order(attribute: Attribute) -> tuple[int, str, str]:
    """Return the sort key of an attribute: by resource id, those without one last."""
    return attribute.resource or _ALL_ONES, attribute.namespace, attribute.name


def _special_places(attributes: list[Attribute]) -> list[int]:
    """Return the places of the attributes id, class and style, counted from 1; 0 for each that is
    missing.
    """
    places = [0, 0, 0]
    for place, attribute in enumerate(attributes, 1):
        if attribute.resource == _ID:
            places[0] = place
        elif not attribute.namespace and attribute.name in ("class", "style"):
            places[("class", "style").index(attribute.name) + 1] = place
    return places


def _written_attribute(attribute: Attribute, pool: _Pool) -> bytes:
    if attribute.value is None:
        raw = pool.at(attribute.text)
        kind, data = _STRING, raw
    else:
        raw = NO_STRING
        kind, data = attribute.value
    names = (pool.optional(attribute.namespace), pool.name(attribute), raw)
    return struct.pack("<3IHBBI", *names, 8, 0, kind, data)
