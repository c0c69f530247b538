"""Reads an APK's binary AndroidManifest.xml: its elements with those attributes that Play looks at.

The format is AOSP's ResourceTypes.h: chunks of type, header size and size: a string pool, resource ids, elements.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

STRING_POOL, RESOURCE_MAP, START_ELEMENT = 0x0001, 0x0180, 0x0102
UTF8_FLAG = 1 << 8
TYPE_STRING, FIRST_INTEGER = 0x03, 0x10  # below an integer: references, whose values are elsewhere
ATTRIBUTES = {
    0x0101000F: "debuggable",
    0x0101021B: "versionCode",
    0x01010576: "versionCodeMajor",
    0x0101021C: "versionName",
}
NONE = 0xFFFFFFFF


def binary_elements(data: bytes) -> Iterator[tuple[str, dict[str, str | int]]]:
    """Name and attributes of each element, from the root on. Raises ValueError or struct.error on malformed data."""
    strings: list[str] = []
    resources: tuple[int, ...] = ()
    for kind, header, start, size in _chunks(data):
        if kind == STRING_POOL:
            strings = _strings(data[start : start + size])
        elif kind == RESOURCE_MAP:
            resources = struct.unpack_from(f"<{(size - header) // 4}I", data, start + header)
        elif kind == START_ELEMENT:
            yield _element(data[start : start + size], header, strings, resources)


def _chunks(data: bytes) -> Iterator[tuple[int, int, int, int]]:
    """Type, header size, offset and size of each chunk inside the document's own."""
    offset = struct.unpack_from("<HHI", data)[1]
    while offset + 8 <= len(data):
        kind, header, size = struct.unpack_from("<HHI", data, offset)
        if size < 8:
            raise ValueError("a chunk has no size")
        yield kind, header, offset, size
        offset += size


def _strings(chunk: bytes) -> list[str]:
    count, _, flags, first, _ = struct.unpack_from("<5I", chunk, 8)
    offsets = struct.unpack_from(f"<{count}I", chunk, 28)
    read = _utf8 if flags & UTF8_FLAG else _utf16
    return [read(chunk, first + offset) for offset in offsets]


def _utf8(chunk: bytes, at: int) -> str:
    at += 2 if chunk[at] & 0x80 else 1  # the length in characters, of no use here
    size = chunk[at]
    at += 1
    if size & 0x80:
        size = (size & 0x7F) << 8 | chunk[at]
        at += 1
    return chunk[at : at + size].decode("utf-8", "replace")


def _utf16(chunk: bytes, at: int) -> str:
    (size,) = struct.unpack_from("<H", chunk, at)
    at += 2
    if size & 0x8000:
        (low,) = struct.unpack_from("<H", chunk, at)
        size = (size & 0x7FFF) << 16 | low
        at += 2
    return chunk[at : at + size * 2].decode("utf-16-le", "replace")


def _element(
    chunk: bytes, header: int, strings: list[str], resources: tuple[int, ...]
) -> tuple[str, dict[str, str | int]]:
    _, name, first, size, count = struct.unpack_from("<IIHHH", chunk, header)
    found: dict[str, str | int] = {}
    for number in range(count):
        at = header + first + number * size
        _, key, raw, _, _, kind, value = struct.unpack_from("<IIIHBBI", chunk, at)
        label = ATTRIBUTES.get(resources[key]) if key < len(resources) else strings[key]
        if label and kind == TYPE_STRING:
            found[label] = strings[raw if raw != NONE else value]
        elif label and kind >= FIRST_INTEGER:
            found[label] = int(value)
    return strings[name], found
