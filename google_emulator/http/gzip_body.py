"""A body that is compressed on its way (`Content-Encoding: gzip`), decompressed as it comes.

Google's Java client compresses JSON and media, gsutil -J media; Google stores what was compressed, not how it came.
"""

from __future__ import annotations

import zlib

from google_emulator.http.errors import ApiError
from google_emulator.http.framing import Source

BLOCK = 64 * 1024  # bytes
_GZIP = 16 + zlib.MAX_WBITS  # what zlib calls the format of gzip (RFC 1952)


def decompressed(source: Source) -> Source:
    """The body within a body of gzip members; its end is theirs. Raises `ApiError` 400 for anything else."""
    stream, waiting, begun = zlib.decompressobj(_GZIP), b"", False
    block = memoryview(bytearray(BLOCK))

    def fill(view: memoryview) -> int:
        nonlocal stream, waiting, begun
        while True:
            if stream.eof and (waiting := stream.unused_data):
                stream = zlib.decompressobj(_GZIP)
            data = _next(stream, waiting, len(view))
            waiting = stream.unconsumed_tail
            if data:
                view[: len(data)] = data
                return len(data)
            if stream.eof and stream.unused_data:
                continue
            count = source(block)
            if count == 0:
                if begun and not stream.eof:
                    raise _malformed()
                return 0
            stream = zlib.decompressobj(_GZIP) if stream.eof else stream
            waiting, begun = bytes(block[:count]), True

    return fill


def _malformed() -> ApiError:
    return ApiError(400, "The request body is not compressed with gzip, as its Content-Encoding says.")


def _next(stream: zlib._Decompress, data: bytes, room: int) -> bytes:
    try:
        return b"" if stream.eof else stream.decompress(data, room)
    except zlib.error:
        raise _malformed() from None
