"""Writes an APK's AndroidManifest.xml: binary XML, from the description in the platform's ResourceTypes.h."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from google_emulator.specimens.android_names import (
    ANDROID,
    DEBUGGABLE,
    LOW_32,
    VERSION_CODE,
    VERSION_CODE_MAJOR,
    VERSION_NAME,
)

_NONE = 0xFFFFFFFF  # no string, no comment
_STRING_POOL, _XML, _RESOURCE_IDS = 0x0001, 0x0003, 0x0180
_NAMESPACE_START, _NAMESPACE_END, _ELEMENT_START, _ELEMENT_END = 0x0100, 0x0101, 0x0102, 0x0103
_STRING, _INTEGER, _BOOLEAN = 0x03, 0x10, 0x12
_UTF8_FLAG = 1 << 8


def manifest_axml(
    package: str, version_code: int, version_name: str, *, utf16: bool = False, debuggable: bool = False
) -> bytes:
    """A manifest as aapt writes it into an APK, its strings in UTF-8, or in UTF-16 as older tools do.

    That of a debug build is `debuggable`.
    """
    low, high = version_code & LOW_32, version_code >> 32
    ids = [VERSION_CODE, VERSION_NAME, DEBUGGABLE, *([VERSION_CODE_MAJOR] if high else [])]
    names = ["versionCode", "versionName", "debuggable", "versionCodeMajor"][: len(ids)]
    strings = [*names, "android", ANDROID, "manifest", "application", "package", package, version_name]
    at = {text: index for index, text in reversed(list(enumerate(strings)))}
    attributes = [
        (at[ANDROID], 0, _NONE, _INTEGER, low),
        (at[ANDROID], 1, at[version_name], _STRING, at[version_name]),
        *([(at[ANDROID], 3, _NONE, _INTEGER, high)] if high else []),
        (_NONE, at["package"], at[package], _STRING, at[package]),
    ]
    debug = [(at[ANDROID], 2, _NONE, _BOOLEAN, LOW_32)] if debuggable else []
    scope = struct.pack("<2I", at["android"], at[ANDROID])
    return _chunk(
        _XML,
        b"",
        _string_pool(strings, utf16)
        + _chunk(_RESOURCE_IDS, b"", struct.pack(f"<{len(ids)}I", *ids))
        + _event(_NAMESPACE_START, scope)
        + _event(_ELEMENT_START, _element(at["manifest"], attributes))
        + _event(_ELEMENT_START, _element(at["application"], debug))
        + _event(_ELEMENT_END, struct.pack("<2I", _NONE, at["application"]))
        + _event(_ELEMENT_END, struct.pack("<2I", _NONE, at["manifest"]))
        + _event(_NAMESPACE_END, scope),
    )


def _element(name: int, attributes: Sequence[tuple[int, int, int, int, int]]) -> bytes:
    element = struct.pack("<2I6H", _NONE, name, 20, 20, len(attributes), 0, 0, 0)
    for namespace, attribute, raw, kind, data in attributes:
        element += struct.pack("<3IHBBI", namespace, attribute, raw, 8, 0, kind, data)
    return element


def _chunk(kind: int, header: bytes, body: bytes) -> bytes:
    return struct.pack("<2HI", kind, 8 + len(header), 8 + len(header) + len(body)) + header + body


def _event(kind: int, body: bytes) -> bytes:
    return _chunk(kind, struct.pack("<2I", 1, _NONE), body)  # line 1, no comment


def _string_pool(strings: Sequence[str], utf16: bool) -> bytes:
    encoded = [_utf16(text) if utf16 else _utf8(text) for text in strings]
    offsets = [sum(map(len, encoded[:index])) for index in range(len(encoded))]
    body = b"".join(encoded)
    body += bytes(-len(body) % 4)
    start = 28 + 4 * len(strings)
    header = struct.pack("<5I", len(strings), 0, 0 if utf16 else _UTF8_FLAG, start, 0)
    return _chunk(_STRING_POOL, header, struct.pack(f"<{len(offsets)}I", *offsets) + body)


def _utf16(text: str) -> bytes:
    data = text.encode("utf-16-le")
    units = len(data) // 2
    length = struct.pack("<H", units) if units < 0x8000 else struct.pack("<2H", units >> 16 | 0x8000, units & 0xFFFF)
    return length + data + b"\0\0"


def _utf8(text: str) -> bytes:
    units = text.encode("utf-16-be", "surrogatepass")
    # Characters beyond the BMP are written as their two surrogates, three bytes each, as the platform does.
    halves = "".join(chr(unit) for (unit,) in struct.iter_unpack(">H", units))
    data = halves.encode("utf-8", "surrogatepass")
    return b"".join(_length8(count) for count in (len(halves), len(data))) + data + b"\0"


def _length8(length: int) -> bytes:
    return bytes([length]) if length < 0x80 else bytes([length >> 8 | 0x80, length & 0xFF])
