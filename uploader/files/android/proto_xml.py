"""Reads the first elements of aapt2's protobuf XML, the form that a manifest has inside an Android App Bundle.

A handful of fields of five messages (Resources.proto of aapt2: XmlNode, XmlElement, XmlAttribute, Item, Primitive) is
less than a generated module and a runtime dependency would be. Everything but the root and its `application` is skipped
by its length, so the depth of the document does not matter.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from uploader.files.android.manifest_attributes import IDS, ResourceReference, Value, name_of
from uploader.files.android.zip_reader import MalformedFile

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_NODE_ELEMENT = 1
_ELEMENT_NAME, _ELEMENT_ATTRIBUTE, _ELEMENT_CHILD = 3, 4, 5
_ATTRIBUTE_NAMESPACE, _ATTRIBUTE_NAME, _ATTRIBUTE_VALUE, _ATTRIBUTE_ID, _ATTRIBUTE_ITEM = 1, 2, 3, 5, 6
_ITEM_REFERENCE, _ITEM_STRING, _ITEM_PRIMITIVE = 1, 2, 7
_REFERENCE_ID = 2
_STRING_VALUE = 1
_PRIMITIVE_INTEGERS = (6, 7, 8)  # int_decimal_value, int_hexadecimal_value, boolean_value


def root(data: bytes) -> dict[str, Value]:
    """The root's attributes that matter (see `name_of`), and `debuggable` of the application in it.

    Raises MalformedFile for anything but such a manifest.
    """
    try:
        return _root(data)
    except (IndexError, UnicodeError):
        raise MalformedFile(
            "has a damaged base/manifest/AndroidManifest.xml: it ends in the middle of a field."
        ) from None


class _ProtoField(NamedTuple):
    """One field of a message: its content is a number on the wire, or bytes; the other of the two is empty."""

    id: int
    number: int = 0
    data: bytes = b""


def _root(data: bytes) -> dict[str, Value]:
    manifest = _element(data)
    if _name(manifest) != "manifest":
        raise MalformedFile("has a base/manifest/AndroidManifest.xml whose root is not <manifest>.")
    elements = (_element(field.data) for field in _fields(manifest) if field.id == _ELEMENT_CHILD)
    application = next((element for element in elements if _name(element) == "application"), b"")
    return {**_attributes(manifest), "debuggable": _attributes(application).get("debuggable", "")}


def _element(node: bytes) -> bytes:
    return _pick(node, _NODE_ELEMENT)[_NODE_ELEMENT].data


def _name(element: bytes) -> str:
    return _pick(element, _ELEMENT_NAME)[_ELEMENT_NAME].data.decode()


def _attributes(element: bytes) -> dict[str, Value]:
    found = dict(_attribute(field.data) for field in _fields(element) if field.id == _ELEMENT_ATTRIBUTE)
    return {name: value for name, value in found.items() if name}


def _attribute(data: bytes) -> tuple[str, Value]:
    fields = _pick(data, _ATTRIBUTE_NAMESPACE, _ATTRIBUTE_NAME, _ATTRIBUTE_VALUE, _ATTRIBUTE_ID, _ATTRIBUTE_ITEM)
    if resource_id := fields[_ATTRIBUTE_ID].number:
        key = IDS.get(resource_id, "")
    else:
        key = name_of(fields[_ATTRIBUTE_NAMESPACE].data.decode(), fields[_ATTRIBUTE_NAME].data.decode())
    value = _item(fields[_ATTRIBUTE_ITEM].data)
    return key, fields[_ATTRIBUTE_VALUE].data.decode() if value is None else value


def _item(data: bytes) -> Value | None:
    """The compiled value, or None when it is of a kind that only its text can tell."""
    for field in _fields(data):
        if field.id == _ITEM_REFERENCE:
            return ResourceReference(_pick(field.data, _REFERENCE_ID)[_REFERENCE_ID].number)
        if field.id == _ITEM_STRING:
            return _pick(field.data, _STRING_VALUE)[_STRING_VALUE].data.decode()
        if field.id == _ITEM_PRIMITIVE:
            # int32 on the wire is sign-extended to 64 bits; Android reads a version code as unsigned 32.
            numbers = [each.number for each in _fields(field.data) if each.id in _PRIMITIVE_INTEGERS]
            return numbers[-1] & 0xFFFFFFFF if numbers else None
    return None


def _pick(data: bytes, *wanted: int) -> dict[int, _ProtoField]:
    """The fields asked for, the last of each as protobuf has it, and empty where there is none; no others are held."""
    return {id_: _ProtoField(id_) for id_ in wanted} | {
        field.id: field for field in _fields(data) if field.id in wanted
    }


def _fields(data: bytes) -> Iterator[_ProtoField]:
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        kind = key & 7
        if kind == _VARINT:
            number, at = _varint(data, at)
            yield _ProtoField(key >> 3, number)
            continue
        length, at = _varint(data, at) if kind == _BYTES else ({_FIXED64: 8, _FIXED32: 4}.get(kind, -1), at)
        if length < 0:
            raise MalformedFile("has a base/manifest/AndroidManifest.xml that is not aapt2's protobuf XML.")
        if at + length > len(data):
            raise IndexError(at)
        yield _ProtoField(key >> 3, data=data[at : at + length])
        at += length


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):  # ten bytes carry 64 bits; more is no protobuf
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    raise IndexError(at)
