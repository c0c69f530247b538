"""Reads the pool of strings in Android's binary XML and resource tables, strictly: a string that a
reader of Android could take for another one is an error.

Reference: ResourceTypes.h of the Android platform (ResStringPool_header, ResStringPool_span).

The bytes are untrusted: a string is decoded when it is asked for, and all strings together cost no
more than a few times the size of the pool.
"""

from __future__ import annotations

import codecs
import struct
from typing import NamedTuple

_HEADER = struct.Struct("<2HI5I")
_SPAN = struct.Struct("<3I")  # name, first and last character
_INDEX = struct.Struct("<I")
_UNIT = struct.Struct("<H")  # of UTF-16
_UTF8 = 1 << 8
_END = 0xFFFFFFFF  # of the spans of one string
# times the size of the pool that its strings may have when all are decoded
_MAX_EXPANSION = 2
_MIN_BUDGET = 4096  # characters


class _Header(NamedTuple):
    """The header of a pool: the sizes of the header and of the whole pool in bytes, the counts of
    its strings and of those with styles, and where the strings and the styles begin.
    """

    kind: int
    header_size: int
    size: int
    string_count: int
    style_count: int
    flags: int
    strings_at: int
    styles_at: int

    @property
    def is_utf8(self) -> bool:
        return bool(self.flags & _UTF8)


class Span(NamedTuple):
    """The part of a styled string that one tag is for; offsets count UTF-16 units."""

    tag: str
    first: int
    last: int


class StringPool(dict[int, str]):
    """The strings of a pool by their index.

    Raises LookupError, ValueError or struct.error, here and when a string is asked for, for a pool
    that is damaged or whose strings overlap without end.
    """

    def __init__(self, chunk: bytes) -> None:
        super().__init__()
        header = _Header._make(_HEADER.unpack_from(chunk))
        size = len(chunk)
        if header.header_size != _HEADER.size or header.size != size:
            raise ValueError(header.size)
        index_count = header.string_count + header.style_count
        indices_end = _HEADER.size + _INDEX.size * index_count
        if indices_end > size:
            raise ValueError(size)
        # Android's readers take a pool for damaged if its strings begin within its indices.
        if header.string_count and not indices_end <= header.strings_at < size:
            raise ValueError(header.strings_at)
        if header.style_count and not indices_end <= header.styles_at < size:
            raise ValueError(header.styles_at)
        # If a pool claims to be sorted, Android searches it as a sorted list.
        if header.flags & ~_UTF8:
            raise ValueError(header.flags)
        _check_ends(chunk, header)
        self._chunk = chunk
        self._header = header
        self._left = _MAX_EXPANSION * size + _MIN_BUDGET

    def __missing__(self, index: int) -> str:
        if index >= self._header.string_count:
            raise IndexError(index)
        offset = self._header.strings_at + self._distance(index)
        is_utf8 = self._header.is_utf8
        text = self._utf8(offset) if is_utf8 else self._utf16(offset)
        self[index] = text
        return text

    def _distance(self, index: int) -> int:
        """Return how far a string is from the first one. Styles are counted after the strings, and
        their distances are from the first style.
        """
        place = _HEADER.size + _INDEX.size * index
        (distance,) = _INDEX.unpack_from(self._chunk, place)
        return int(distance)

    def spans(self, index: int) -> tuple[Span, ...]:
        """Return the styles of a string, in the order of the pool."""
        header = self._header
        # Only the strings at the beginning of a pool have styles.
        if index >= header.style_count:
            return ()
        style = header.string_count + index
        offset = header.styles_at + self._distance(style)
        spans: list[Span] = []
        while True:
            (name,) = _INDEX.unpack_from(self._chunk, offset)
            if name == _END:
                return tuple(spans)
            self._spend(_SPAN.size)
            name, first, last = _SPAN.unpack_from(self._chunk, offset)
            span = Span(self[name], first, last)
            spans.append(span)
            offset += _SPAN.size

    def _spend(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            raise ValueError("its strings overlap")

    def _utf8(self, offset: int) -> str:
        """Decode a string: its lengths in UTF-16 units and in bytes, the bytes, and a zero."""
        pool = self._chunk
        units, offset = utf8_length(pool, offset)
        length, offset = utf8_length(pool, offset)
        end = offset + length
        if pool[end]:
            raise ValueError(offset)
        self._spend(length)
        utf8 = pool[offset:end]
        utf16 = decode_utf8(utf8, is_whole=True)
        if len(utf16) != 2 * units:
            raise ValueError(units)
        return utf16.decode("utf-16-le", "surrogatepass")

    def _utf16(self, offset: int) -> str:
        """Decode a string: its length in UTF-16 units, the units, and a zero."""
        length, offset = utf16_length(self._chunk, offset)
        end = offset + 2 * length
        (zero,) = _UNIT.unpack_from(self._chunk, end)
        if zero:
            raise ValueError(offset)
        self._spend(2 * length)
        utf16 = self._chunk[offset:end]
        return utf16.decode("utf-16-le", "surrogatepass")


def _check_ends(chunk: bytes, header: _Header) -> None:
    """Raise ValueError unless the strings of a pool end with a zero, and its styles with three end
    marks: Android refuses other pools (ResStringPool::setTo).
    """
    strings_end = header.size
    if header.style_count:
        strings_end = header.styles_at
        if strings_end <= header.strings_at:
            raise ValueError(strings_end)
        end_marks = _SPAN.pack(_END, _END, _END)
        if not chunk.endswith(end_marks):
            raise ValueError(strings_end)
    width = 2  # bytes of a character
    if header.is_utf8:
        width = 1
    # An odd byte behind the last character does not count.
    odd = (strings_end - header.strings_at) % width
    end = strings_end - odd
    last = end - width
    last_character = chunk[last:end]
    if header.string_count and any(last_character):
        raise ValueError(last)


def decode_utf8(data: bytes, *, is_whole: bool) -> bytes:
    """Return a string of a UTF-8 pool in UTF-16, surrogates as they are. One that is not whole may
    end within a character. Raises UnicodeError.

    Android's "modified UTF-8" writes characters beyond the BMP as two surrogates of three bytes
    each; newer tools write four bytes.
    """
    text, _ = codecs.utf_8_decode(data, "surrogatepass", is_whole)
    return text.encode("utf-16-le", "surrogatepass")


def utf8_length(pool: bytes, offset: int) -> tuple[int, int]:
    """Return a length in a UTF-8 pool, of one byte or two, and the offset behind it."""
    length = pool[offset]
    if not length & 0x80:
        return length, offset + 1
    upper = length & 0x7F
    lower = pool[offset + 1]
    length = upper << 8 | lower
    return length, offset + 2


def utf16_length(pool: bytes, offset: int) -> tuple[int, int]:
    """Return a length in a UTF-16 pool, of two bytes or four, and the offset behind it. The upper
    half of a long one comes first.
    """
    (length,) = _UNIT.unpack_from(pool, offset)
    if not length & 0x8000:
        return length, offset + 2
    upper = length & 0x7FFF
    (lower,) = _UNIT.unpack_from(pool, offset + 2)
    length = upper << 16 | lower
    return length, offset + 4
