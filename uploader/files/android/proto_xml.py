"""Reads the first elements of aapt2's protobuf XML, the form that a manifest has inside an Android App Bundle.

A handful of fields of five messages (Resources.proto of aapt2: XmlNode, XmlElement, XmlAttribute, Item, Primitive) is
less than a generated module and a runtime dependency would be. Everything but the root and its `application` is skipped
by its length, so the depth of the document does not matter.
"""

from __future__ import annotations

from collections.abc import Iterator

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


def _root(data: bytes) -> dict[str, Value]:
    manifest = _message(data, _NODE_ELEMENT)
    if _name(manifest) != "manifest":
        raise MalformedFile("has a base/manifest/AndroidManifest.xml whose root is not <manifest>.")
    children = (content for field, content in _fields(manifest) if field == _ELEMENT_CHILD)
    elements = (_message(child, _NODE_ELEMENT) for child in children if isinstance(child, bytes))
    application = next((element for element in elements if _name(element) == "application"), b"")
    return {**_attributes(manifest), "debuggable": _attributes(application).get("debuggable", "")}


def _name(element: bytes) -> str:
    return _text(_pick(element, _ELEMENT_NAME).get(_ELEMENT_NAME, b""))


def _attributes(element: bytes) -> dict[str, Value]:
    attributes = (content for field, content in _fields(element) if field == _ELEMENT_ATTRIBUTE)
    found = dict(_attribute(content) for content in attributes if isinstance(content, bytes))
    return {name: value for name, value in found.items() if name}


def _attribute(data: bytes) -> tuple[str, Value]:
    fields = _pick(data, _ATTRIBUTE_NAMESPACE, _ATTRIBUTE_NAME, _ATTRIBUTE_VALUE, _ATTRIBUTE_ID, _ATTRIBUTE_ITEM)
    resource_id = fields.get(_ATTRIBUTE_ID, 0)
    if isinstance(resource_id, int) and resource_id:
        key = IDS.get(resource_id, "")
    else:
        key = name_of(_text(fields.get(_ATTRIBUTE_NAMESPACE, b"")), _text(fields.get(_ATTRIBUTE_NAME, b"")))
    item = fields.get(_ATTRIBUTE_ITEM)
    value = _item(item) if isinstance(item, bytes) else None
    return key, _text(fields.get(_ATTRIBUTE_VALUE, b"")) if value is None else value


def _item(data: bytes) -> Value | None:
    """The compiled value, or None when it is of a kind that only its text can tell."""
    for field, content in _fields(data):
        if field == _ITEM_REFERENCE and isinstance(content, bytes):
            reference = _pick(content, _REFERENCE_ID).get(_REFERENCE_ID, 0)
            return ResourceReference(reference if isinstance(reference, int) else 0)
        if field == _ITEM_STRING:
            return _text(_message(content, _STRING_VALUE) if isinstance(content, bytes) else b"")
        if field == _ITEM_PRIMITIVE and isinstance(content, bytes):
            # int32 on the wire is sign-extended to 64 bits; Android reads a version code as unsigned 32.
            numbers = [v for f, v in _fields(content) if f in _PRIMITIVE_INTEGERS and isinstance(v, int)]
            return numbers[-1] & 0xFFFFFFFF if numbers else None
    return None


def _message(data: bytes, wanted: int) -> bytes:
    """The content of the field `wanted` of a message; empty when there is none."""
    content = _pick(data, wanted).get(wanted, b"")
    return content if isinstance(content, bytes) else b""


def _pick(data: bytes, *wanted: int) -> dict[int, int | bytes]:
    """The fields asked for, the last of each as protobuf has it; no others are held, however many there are."""
    return {field: content for field, content in _fields(data) if field in wanted}


def _text(content: int | bytes) -> str:
    return content.decode("utf-8") if isinstance(content, bytes) else ""


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Number and content of each field of a message: an integer for a varint, bytes for the rest."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        kind = key & 7
        content: int | bytes
        if kind == _VARINT:
            content, at = _varint(data, at)
        else:
            length, at = _varint(data, at) if kind == _BYTES else ({_FIXED64: 8, _FIXED32: 4}.get(kind, -1), at)
            if length < 0:
                raise MalformedFile("has a base/manifest/AndroidManifest.xml that is not aapt2's protobuf XML.")
            if at + length > len(data):
                raise IndexError(at)
            content, at = data[at : at + length], at + length
        yield key >> 3, content


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):  # ten bytes carry 64 bits; more is no protobuf
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    raise IndexError(at)
