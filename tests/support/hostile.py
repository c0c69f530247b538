"""Files that are made to be much work for a parser, measured by their size."""

from __future__ import annotations

import struct

_NONE = 0xFFFFFFFF
_AA = 0x6161  # UTF-16 units
_ROOT = "manifest"


def crowded_axml(attributes: int) -> bytes:
    """Binary XML whose root has so many attributes (65,535 at most), all of them named by one huge
    string.
    """
    # In UTF-16, "aa" is both two letters and the length of a string: one begins wherever one may.
    root = struct.pack("<H", len(_ROOT)) + _ROOT.encode("utf-16-le") + bytes(2)
    body = root + b"a" * (4 + 2 * _AA)
    pool = struct.pack("<7I", 2, 0, 0, 36, 0, 0, len(root)) + body
    element = struct.pack("<2I", 1, _NONE) + struct.pack(
        "<2I6H", _NONE, 0, 20, 20, attributes, 0, 0, 0
    )
    element += b"".join(
        struct.pack("<3IHBBI", _NONE, 1, _NONE, 8, 0, 0x10, index)
        for index in range(attributes)
    )
    return _chunk(3, 8, _chunk(1, 28, pool) + _chunk(0x102, 16, element))


def slow_axml(elements: int) -> bytes:
    """Binary XML whose elements have names of their own, all of which begin in one long string of
    surrogates.
    """
    body = b"\x81\x80\x86\x80" + "\ud83d\ude00".encode("utf-8", "surrogatepass") * 256
    pool = (
        struct.pack("<5I", elements, 0, 1 << 8, 28 + 4 * elements, 0)
        + bytes(4 * elements)
        + body
    )
    each = (
        _chunk(
            0x102, 16, struct.pack("<4I6H", 1, _NONE, _NONE, index, 20, 20, 0, 0, 0, 0)
        )
        for index in range(elements)
    )
    ends = _chunk(0x103, 16, struct.pack("<4I", 1, _NONE, _NONE, 0))
    return _chunk(
        3, 8, _chunk(1, 28, pool) + next(each) + b"".join(one + ends for one in each)
    )


def fragmented_axml(chunks: int) -> bytes:
    """Binary XML of so many empty chunks, and no element."""
    return _chunk(3, 8, _chunk(0x180, 8, b"") * chunks)


def fill_bytes_jpeg(size: int) -> bytes:
    """A JPEG of so many bytes that never comes to its frame: nothing but the fill that may precede
    a marker.
    """
    return b"\xff\xd8" + b"\xff" * (size - 4) + b"\xff\xd9"


def empty_segments_jpeg(size: int) -> bytes:
    """A JPEG of so many bytes in segments that are as short as a segment can be."""
    return b"\xff\xd8" + b"\xff\xe1\x00\x02" * ((size - 4) // 4) + b"\xff\xd9"


def directory_bomb(length: int) -> bytes:
    """A zip's end that claims a directory of so many bytes; in front of it belongs a hole of that
    length.
    """
    end64 = struct.pack("<4sQ2H2I4Q", b"PK\6\6", 44, 45, 45, 0, 0, 1, 1, length, 0)
    locator = struct.pack("<4sIQI", b"PK\6\7", 0, length, 1)
    return (
        end64
        + locator
        + struct.pack(
            "<4s4H2IH", b"PK\5\6", 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0
        )
    )


def _chunk(kind: int, header: int, content: bytes) -> bytes:
    return struct.pack("<2HI", kind, header, 8 + len(content)) + content
