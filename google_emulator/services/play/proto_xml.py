"""Reads a bundle's AndroidManifest.xml, which is protocol-buffer XML: its elements with their attributes.

The format is aapt2's Resources.proto in AOSP's tools/base.
"""

from __future__ import annotations

from collections.abc import Iterator

# Fields of Resources.proto that lead from XmlNode to an attribute's value.
_ELEMENT, _ELEMENT_NAME, _ATTRIBUTE, _CHILD = 1, 3, 4, 5
_NAME, _VALUE, _COMPILED = 2, 3, 6
_ITEM_STRING, _ITEM_PRIMITIVE = 2, 7
_NUMBERS = (6, 7, 8)  # decimal, hexadecimal, boolean


def proto_elements(data: bytes) -> Iterator[tuple[str, dict[str, str | int]]]:
    """Name and attributes of each element, from the root on.

    Raises ValueError, IndexError, TypeError or RecursionError if malformed.
    """
    element = next((value for number, value in _fields(data) if number == _ELEMENT and isinstance(value, bytes)), b"")
    found: dict[str, str | int] = {}
    name, children = b"", []
    for number, value in _fields(element):
        if number == _ELEMENT_NAME and isinstance(value, bytes):
            name = value
        elif number == _ATTRIBUTE and isinstance(value, bytes):
            found.update(_attribute(value))
        elif number == _CHILD and isinstance(value, bytes):
            children.append(value)
    yield name.decode(), found
    for child in children:
        yield from proto_elements(child)


def _attribute(data: bytes) -> dict[str, str | int]:
    fields = dict(_fields(data))
    name, value, compiled = (fields.get(number, b"") for number in (_NAME, _VALUE, _COMPILED))
    if not isinstance(name, bytes) or not isinstance(value, bytes):
        raise TypeError("an attribute is malformed")
    if value or not isinstance(compiled, bytes):
        return {name.decode(): value.decode()}
    return {name.decode(): _compiled(compiled)}


def _compiled(data: bytes) -> str | int:
    """An attribute that has only its compiled form: a string, or a whole number."""
    item = dict(_fields(data))
    text, primitive = item.get(_ITEM_STRING), item.get(_ITEM_PRIMITIVE)
    if isinstance(text, bytes):
        return next((value.decode() for _, value in _fields(text) if isinstance(value, bytes)), "")
    if isinstance(primitive, bytes):
        numbers = dict(_fields(primitive))
        return next((value for key in _NUMBERS if isinstance(value := numbers.get(key), int)), 0)
    return ""


def _fields(data: bytes) -> Iterator[tuple[int, bytes | int]]:
    """Field numbers and values of one protocol-buffer message."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        number, wire = key >> 3, key & 7
        if wire == 0:
            value, at = _varint(data, at)
            yield number, value
            continue
        size = {1: 8, 5: 4}.get(wire)
        if size is None:
            if wire != 2:
                raise ValueError("unknown wire type")
            size, at = _varint(data, at)
        if at + size > len(data):
            raise ValueError("a field is longer than its message")
        yield number, data[at : at + size]
        at += size


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at
        if shift > 63:
            raise ValueError("a number is too long")
