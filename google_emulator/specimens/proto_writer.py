"""Writes a bundle's AndroidManifest.xml: protocol-buffer XML, from the description in aapt2's Resources.proto."""

from __future__ import annotations

from collections.abc import Mapping

from google_emulator.specimens.android_names import (
    ANDROID,
    RESOURCE_IDS,
    manifest_children,
    version_attributes,
)
from google_emulator.specimens.build import RELEASE_BUILD, Build


def manifest_proto(
    package: str,
    version_code: int,
    version_name: str,
    build: Build = RELEASE_BUILD,
) -> bytes:
    """A manifest as aapt2 writes it into a bundle."""
    namespace = field(1, field(1, b"android") + field(2, ANDROID.encode()))
    own = field(4, field(2, b"package") + field(3, package.encode()))
    children = manifest_children(build)
    content = namespace + _element("manifest", version_attributes(version_code, version_name)) + own
    return field(1, content + b"".join(field(5, field(1, _element(*child))) for child in children))


def _element(name: str, attributes: Mapping[str, int | str | bool]) -> bytes:
    written = (attribute(key, _text(value), RESOURCE_IDS[key], _item(value)) for key, value in attributes.items())
    return field(3, name.encode()) + b"".join(field(4, each) for each in written)


def _text(value: int | str | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _item(value: int | str | bool) -> bytes | None:
    if isinstance(value, str):
        return None
    return field(7, number(8 if isinstance(value, bool) else 6, int(value)))


def field(key: int, content: bytes) -> bytes:
    """A field that holds bytes: a string or a message."""
    return varint(key << 3 | 2) + varint(len(content)) + content


def number(key: int, value: int) -> bytes:
    """A field that holds a whole number, not negative."""
    return varint(key << 3) + varint(value)


def varint(value: int) -> bytes:
    """A whole number in base 128, least significant group first."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def attribute(name: str, value: str, resource_id: int, item: bytes | None) -> bytes:
    """An XmlAttribute of the android namespace; `item` is its compiled form, if it has one."""
    compiled = b"" if item is None else field(6, item)
    text = field(2, name.encode()) + field(3, value.encode())
    return field(1, ANDROID.encode()) + text + number(5, resource_id) + compiled
