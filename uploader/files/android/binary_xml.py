"""Reads the first elements of Android's binary XML, the form that a manifest has inside an APK.

The file is a chunk of chunks: a string pool, a table that gives the first strings resource ids, then the XML events.
Layout: ResourceTypes.h of the Android platform (ResStringPool_header, ResXMLTree_attrExt, ResXMLTree_attribute,
Res_value). Only the root and those of its children that matter are decoded, and only the strings that they name.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from uploader.files.android.manifest_attributes import IDS, WANTED, Element, ResourceReference, Value, name_of
from uploader.files.android.zip_reader import MalformedFile

_XML, _POOL, _IDS, _ELEMENT, _END = 0x0003, 0x0001, 0x0180, 0x0102, 0x0103
_NOTHING = 0xFFFFFFFF
_UTF8 = 1 << 8
_TYPE_REFERENCE, _TYPE_STRING, _TYPE_DYNAMIC_REFERENCE = 0x01, 0x03, 0x07
_TYPE_INTEGERS = range(0x10, 0x20)
_ELEMENT_HEADER = struct.Struct("<2I3H")  # namespace, name, offset of the attributes, size of one, how many
_ATTRIBUTE = struct.Struct("<3IHBBI")  # namespace, name, raw string, then Res_value: size, zero, type, data


def elements(data: bytes) -> Iterator[Element]:
    """The root and then those of its children that are WANTED. Raises MalformedFile for anything but such XML."""
    try:
        yield from _elements(data)
    except (struct.error, IndexError, UnicodeError):
        raise MalformedFile("has a damaged AndroidManifest.xml: it points beyond its end.") from None


def _elements(data: bytes) -> Iterator[Element]:
    strings: StringPool | None = None
    ids: tuple[int, ...] = ()
    depth = 0
    for kind, header, length, chunk in _chunks(data):
        if kind == _POOL:
            strings = StringPool(chunk, header)
        elif kind == _IDS:
            ids = struct.unpack_from(f"<{(length - header) // 4}I", chunk, header)
        elif kind == _END:
            depth -= 1
        elif kind == _ELEMENT and strings is not None:
            depth += 1
            name = strings[_ELEMENT_HEADER.unpack_from(chunk, header)[1]] if depth <= 2 else ""
            if depth == 1 or name in WANTED:
                yield Element(name, _attributes(chunk, header, strings, ids))


def _chunks(data: bytes) -> Iterator[tuple[int, int, int, bytes]]:
    """Type, header length, whole length and bytes of each chunk inside the outer one."""
    kind, at, _ = struct.unpack_from("<2HI", data)
    if kind != _XML or at < 8:
        raise MalformedFile("has an AndroidManifest.xml that is not in Android's binary form.", "Build it with aapt2.")
    while at + 8 <= len(data):
        kind, header, length = struct.unpack_from("<2HI", data, at)
        if not 8 <= header <= length <= len(data) - at:
            raise MalformedFile("has a damaged AndroidManifest.xml: a chunk's length is impossible.")
        yield kind, header, length, data[at : at + length]
        at += length


def _attributes(chunk: bytes, header: int, strings: StringPool, ids: tuple[int, ...]) -> dict[str, Value]:
    _, _, start, size, count = _ELEMENT_HEADER.unpack_from(chunk, header)
    if size < _ATTRIBUTE.size:
        raise MalformedFile("has a damaged AndroidManifest.xml: its attributes are too short.")
    found: dict[str, Value] = {}
    for index in range(count):
        namespace, name, raw, _, _, kind, content = _ATTRIBUTE.unpack_from(chunk, header + start + index * size)
        if resource_id := ids[name] if name < len(ids) else 0:
            key = IDS.get(resource_id, "")
        else:
            key = name_of("" if namespace == _NOTHING else strings[namespace], strings[name])
        if key:
            found[key] = _value(strings, raw, kind, content)
    return found


def _value(strings: StringPool, raw: int, kind: int, content: int) -> Value:
    if kind in (_TYPE_REFERENCE, _TYPE_DYNAMIC_REFERENCE):
        return ResourceReference(content)
    if kind == _TYPE_STRING:
        return strings[content]
    if raw != _NOTHING:
        return strings[raw]
    return content if kind in _TYPE_INTEGERS else ""


class StringPool:
    """A string pool, decoded one string at a time as it is asked for, and each once.

    Strings may not share their bytes, as they do in no honest file: what is decoded is never more than the pool holds.
    """

    def __init__(self, chunk: bytes, header: int) -> None:
        self._chunk = chunk
        self._header = header
        self._count, _, flags, self._start, _ = struct.unpack_from("<5I", chunk, 8)
        self._utf8 = bool(flags & _UTF8)
        self._left = len(chunk)  # bytes that may still be decoded
        self._decoded: dict[int, str] = {}  # by where they begin

    def __getitem__(self, index: int) -> str:
        if index >= self._count:
            raise IndexError(index)
        at = self._start + struct.unpack_from("<I", self._chunk, self._header + 4 * index)[0]
        if at not in self._decoded:
            self._decoded[at] = self._utf8_at(at) if self._utf8 else self._utf16_at(at)
        return self._decoded[at]

    def _utf8_at(self, at: int) -> str:
        at = self._byte_length(at)[1]  # how many UTF-16 units it would be: not needed
        length, at = self._byte_length(at)
        # Android's "modified UTF-8" writes characters beyond the BMP as two surrogates of three bytes each.
        units = self._take(at, length).decode("utf-8", "surrogatepass").encode("utf-16-le", "surrogatepass")
        return units.decode("utf-16-le", "replace")

    def _utf16_at(self, at: int) -> str:
        (length,) = struct.unpack_from("<H", self._chunk, at)
        at += 2
        if length & 0x8000:
            (low,) = struct.unpack_from("<H", self._chunk, at)
            length, at = (length & 0x7FFF) << 16 | low, at + 2
        return self._take(at, 2 * length).decode("utf-16-le", "replace")

    def _byte_length(self, at: int) -> tuple[int, int]:
        length = self._chunk[at]
        return ((length & 0x7F) << 8 | self._chunk[at + 1], at + 2) if length & 0x80 else (length, at + 1)

    def _take(self, at: int, length: int) -> bytes:
        self._left -= length
        if at + length > len(self._chunk) or self._left < 0:
            raise IndexError(at)
        return self._chunk[at : at + length]
