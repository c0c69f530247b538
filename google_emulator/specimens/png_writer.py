"""PNG images of one color, from the PNG specification (W3C, third edition): whole and valid for every reader."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

SIGNATURE = b"\x89PNG\r\n\x1a\n"
MOST_PIXELS = 1 << 14  # a side; far beyond what any store takes
GREY = (128, 128, 128)
_TRUECOLOR, _TRUECOLOR_ALPHA = 2, 6


def make_image(path: Path, width: int, height: int, *, color: tuple[int, int, int] = GREY, alpha: bool = False) -> None:
    """Writes a PNG of `width` times `height` pixels in one color (red, green and blue, 0 to 255 each).

    It has 24 bits a pixel, as Play wants screenshots and feature graphics, or with `alpha` 32, as it wants icons; the
    image is opaque in both. Different colors give images with different digests.

    Raises `ValueError` for a side that is not between 1 and 16384 pixels or a color out of range, `OSError` when the
    file can't be written.
    """
    if not 1 <= min(width, height) <= max(width, height) <= MOST_PIXELS:
        raise ValueError(f"an image is 1 to {MOST_PIXELS} pixels wide and high, not {width} x {height}")
    pixel = bytes(color) + (b"\xff" if alpha else b"")
    kind = _TRUECOLOR_ALPHA if alpha else _TRUECOLOR
    header = struct.pack(">2I5B", width, height, 8, kind, 0, 0, 0)
    chunks = _chunk(b"IHDR", header) + _chunk(b"IDAT", _pixels(pixel * width, height)) + _chunk(b"IEND", b"")
    path.write_bytes(SIGNATURE + chunks)


def _pixels(row: bytes, height: int) -> bytes:
    compressor = zlib.compressobj(1)
    parts = [compressor.compress(b"\0" + row) for _ in range(height)]  # 0: a row without a filter
    return b"".join(parts) + compressor.flush()


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
