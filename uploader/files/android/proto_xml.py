"""Reads the first elements of aapt2's protobuf XML, the form that a manifest has inside an Android App Bundle.

A handful of fields of five messages: XmlNode, XmlElement, XmlAttribute, Item and Primitive of aapt2's Resources.proto.
Everything but the root and its children is skipped by its length, so the depth of the document does not matter.
"""

from __future__ import annotations

from collections.abc import Iterator

from uploader.files.android.manifest_attributes import IDS, WANTED, Element, ResourceReference, Value, name_of
from uploader.files.android.protobuf import fields, message, pick
from uploader.files.android.zip_reader import MalformedFile

_NODE_ELEMENT = 1
_ELEMENT_NAME, _ELEMENT_ATTRIBUTE, _ELEMENT_CHILD = 3, 4, 5
_ATTRIBUTE_NAMESPACE, _ATTRIBUTE_NAME, _ATTRIBUTE_VALUE, _ATTRIBUTE_ID, _ATTRIBUTE_ITEM = 1, 2, 3, 5, 6
_ITEM_REFERENCE, _ITEM_STRING, _ITEM_PRIMITIVE = 1, 2, 7
_REFERENCE_ID = 2
_STRING_VALUE = 1
_PRIMITIVE_INTEGERS = (6, 7, 8)  # int_decimal_value, int_hexadecimal_value, boolean_value


def elements(data: bytes) -> Iterator[Element]:
    """The root and then those of its children that are WANTED. Raises MalformedFile for anything but such XML."""
    try:
        root = message(data, _NODE_ELEMENT)
        yield _element(root)
        for field in fields(root):
            child = message(field.data, _NODE_ELEMENT) if field.id == _ELEMENT_CHILD else b""
            if message(child, _ELEMENT_NAME).decode() in WANTED:
                yield _element(child)
    except IndexError:
        raise MalformedFile(
            "has a damaged base/manifest/AndroidManifest.xml: it ends in the middle of a field."
        ) from None
    except ValueError:
        raise MalformedFile("has a base/manifest/AndroidManifest.xml that is not aapt2's protobuf XML.") from None


def _element(data: bytes) -> Element:
    found = dict(_attribute(field.data) for field in fields(data) if field.id == _ELEMENT_ATTRIBUTE)
    return Element(message(data, _ELEMENT_NAME).decode(), {name: value for name, value in found.items() if name})


def _attribute(data: bytes) -> tuple[str, Value]:
    found = pick(data, _ATTRIBUTE_NAMESPACE, _ATTRIBUTE_NAME, _ATTRIBUTE_VALUE, _ATTRIBUTE_ID, _ATTRIBUTE_ITEM)
    if resource_id := found[_ATTRIBUTE_ID].number:
        key = IDS.get(resource_id, "")
    else:
        key = name_of(found[_ATTRIBUTE_NAMESPACE].data.decode(), found[_ATTRIBUTE_NAME].data.decode())
    value = _item(found[_ATTRIBUTE_ITEM].data)
    return key, found[_ATTRIBUTE_VALUE].data.decode() if value is None else value


def _item(data: bytes) -> Value | None:
    """The compiled value, or None when it is of a kind that only its text can tell."""
    for field in fields(data):
        if field.id == _ITEM_REFERENCE:
            return ResourceReference(pick(field.data, _REFERENCE_ID)[_REFERENCE_ID].number)
        if field.id == _ITEM_STRING:
            return message(field.data, _STRING_VALUE).decode()
        if field.id == _ITEM_PRIMITIVE:
            # int32 on the wire is sign-extended to 64 bits; Android reads a version code as unsigned 32.
            numbers = [each.number for each in fields(field.data) if each.id in _PRIMITIVE_INTEGERS]
            return numbers[-1] & 0xFFFFFFFF if numbers else None
    return None
