"""Reads the pool of strings in Android's binary XML and resource tables, strictly: a string that a
reader of Android could take for another one is an error.

Reference: ResourceTypes.h of the Android platform (ResStringPool_header, ResStringPool_span).

The bytes are untrusted: a string is decoded when it is asked for, and all strings together cost no
more than a few times the size of the pool.
"""

from __future__ import annotations

import codecs
import struct
from collections.abc import Sequence
from typing import NamedTuple

_HEADER = struct.Struct("<2HI5I")  # chunk; strings, styles, flags, where both begin
_SPAN = struct.Struct("<3I")  # name, first and last character
_UTF8 = 1 << 8
_END = 0xFFFFFFFF  # of the spans of one string
# times the size of the pool that its strings may have when all are decoded
_MAX_EXPANSION = 2
_MIN_BUDGET = 4096  # characters


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
        header = _HEADER.unpack_from(chunk)
        _, header_size, size, self._count, self._styles, flags, strings, styles = header
        indices = header_size + 4 * (self._count + self._styles)
        if header_size != _HEADER.size or size != len(chunk) or indices > size:
            raise ValueError(size)
        # Readers of Android take a pool for damaged whose strings begin within its indices.
        if self._count and not indices <= strings < size:
            raise ValueError(strings)
        if self._styles and not indices <= styles < size:
            raise ValueError(styles)
        # In a pool that claims to be sorted, Android looks for a name as in a sorted list.
        if flags & ~_UTF8:
            raise ValueError(flags)
        _check_ends(chunk, header)
        self._chunk = chunk
        self._offsets = header_size
        self._strings = strings
        self._style_data = styles
        self._is_utf8 = bool(flags & _UTF8)
        self._left = _MAX_EXPANSION * size + _MIN_BUDGET

    def __missing__(self, index: int) -> str:
        if index >= self._count:
            raise IndexError(index)
        (distance,) = struct.unpack_from("<I", self._chunk, self._offsets + 4 * index)
        offset = self._strings + distance
        text = self._utf8(offset) if self._is_utf8 else self._utf16(offset)
        self[index] = text
        return text

    def spans(self, index: int) -> tuple[Span, ...]:
        """Return the styles of a string, in the order of the pool."""
        # Only the strings at the beginning of a pool have styles.
        if index >= self._styles:
            return ()
        place = self._offsets + 4 * (self._count + index)
        (distance,) = struct.unpack_from("<I", self._chunk, place)
        offset = self._style_data + distance
        spans = []
        while struct.unpack_from("<I", self._chunk, offset)[0] != _END:
            self._spend(_SPAN.size)
            name, first, last = _SPAN.unpack_from(self._chunk, offset)
            spans.append(Span(self[name], first, last))
            offset += _SPAN.size
        return tuple(spans)

    def _spend(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            raise ValueError("its strings overlap")

    def _utf8(self, offset: int) -> str:
        """Decode a string that has its lengths in UTF-16 units and in bytes, and a zero behind."""
        pool = self._chunk
        units, offset = utf8_length(pool, offset)
        length, offset = utf8_length(pool, offset)
        end = offset + length
        if pool[end]:
            raise ValueError(offset)
        self._spend(length)
        # Android's "modified UTF-8" writes characters beyond the BMP as two surrogates of three
        # bytes each; newer tools write four bytes.
        text, _ = codecs.utf_8_decode(pool[offset:end], "surrogatepass", True)
        encoded = text.encode("utf-16-le", "surrogatepass")
        if len(encoded) != 2 * units:
            raise ValueError(units)
        return encoded.decode("utf-16-le", "surrogatepass")

    def _utf16(self, offset: int) -> str:
        """Decode a string that has its length in UTF-16 units, and a zero behind."""
        length, offset = utf16_length(self._chunk, offset)
        end = offset + 2 * length
        if struct.unpack_from("<H", self._chunk, end)[0]:
            raise ValueError(offset)
        self._spend(2 * length)
        return self._chunk[offset:end].decode("utf-16-le", "surrogatepass")


def _check_ends(chunk: bytes, header: Sequence[int]) -> None:
    """Raise ValueError for a pool that Android refuses for what it ends with: its strings with a
    zero, its styles with as many marks as one span has numbers (ResStringPool::setTo).
    """
    _, _, size, count, styles, flags, strings_at, styles_at = header
    end = size
    if styles:
        end = styles_at
        if styles_at <= strings_at or chunk[-_SPAN.size :] != _SPAN.pack(
            _END, _END, _END
        ):
            raise ValueError(styles_at)
    width = 1 if flags & _UTF8 else 2
    # The last character, where what is behind a whole number of them does not count.
    last = strings_at + (end - strings_at) // width * width - width
    if count and any(chunk[last : last + width]):
        raise ValueError(last)


def utf8_length(pool: bytes, offset: int) -> tuple[int, int]:
    """Return a length in a UTF-8 pool, of one byte or two, and the offset behind it."""
    length = pool[offset]
    if length & 0x80:
        return (length & 0x7F) << 8 | pool[offset + 1], offset + 2
    return length, offset + 1


def utf16_length(pool: bytes, offset: int) -> tuple[int, int]:
    """Return a length in a UTF-16 pool, of two bytes or four with the upper half first, and the
    offset behind it.
    """
    (length,) = struct.unpack_from("<H", pool, offset)
    if length & 0x8000:
        (low,) = struct.unpack_from("<H", pool, offset + 2)
        return (length & 0x7FFF) << 16 | low, offset + 4
    return length, offset + 2
