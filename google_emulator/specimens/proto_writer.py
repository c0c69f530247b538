"""Writes a bundle's AndroidManifest.xml: protocol-buffer XML, from the description in aapt2's Resources.proto."""

from __future__ import annotations

from google_emulator.specimens.android_names import (
    ANDROID,
    DEBUGGABLE,
    LOW_32,
    VERSION_CODE,
    VERSION_CODE_MAJOR,
    VERSION_NAME,
)


def manifest_proto(package: str, version_code: int, version_name: str, *, debuggable: bool = False) -> bytes:
    """A manifest as aapt2 writes it into a bundle; that of a debug build is `debuggable`."""
    low, high = version_code & LOW_32, version_code >> 32
    attributes = [
        attribute("versionCode", str(low), VERSION_CODE, field(7, number(6, low))),
        attribute("versionName", version_name, VERSION_NAME, None),
        field(2, b"package") + field(3, package.encode()),
    ]
    if high:
        attributes.insert(1, attribute("versionCodeMajor", str(high), VERSION_CODE_MAJOR, field(7, number(6, high))))
    namespace = field(1, field(1, b"android") + field(2, ANDROID.encode()))
    debug = field(4, attribute("debuggable", "true", DEBUGGABLE, field(7, number(8, 1)))) if debuggable else b""
    application = field(5, field(1, field(3, b"application") + debug))
    return field(1, namespace + field(3, b"manifest") + b"".join(field(4, each) for each in attributes) + application)


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
