"""How a body is framed, by its Content-Length or in chunks; read from the socket as it is asked for, never ahead."""

from __future__ import annotations

from collections.abc import Callable
from io import BufferedIOBase
from typing import Protocol, TypeAlias, cast

from google_emulator.http.errors import ApiError, Disconnected

LINE_LIMIT = 64 * 1024  # bytes

# Fills a view with the next bytes and tells how many; 0 is the proper end, `Disconnected` an improper one.
Source: TypeAlias = Callable[[memoryview], int]


class Stream(Protocol):
    """The part of a buffered reader that is used here."""

    def readinto1(self, view: memoryview, /) -> int:
        """Reads at most once; 0 at the end of the stream."""

    def readline(self, limit: int, /) -> bytes:
        """Reads up to the end of a line."""


def sized(stream: Stream, length: int) -> Source:
    """A body with a Content-Length."""
    left = length

    def fill(view: memoryview) -> int:
        nonlocal left
        if left == 0:
            return 0
        count = stream.readinto1(view[: min(left, len(view))])
        if count == 0:
            raise Disconnected("the body ended early")
        left -= count
        return count

    return fill


def chunked(stream: Stream) -> Source:
    """A body in chunked transfer coding (RFC 9112, section 7.1)."""
    left: int | None = 0

    def fill(view: memoryview) -> int:
        nonlocal left
        if left == 0:
            left = _chunk_size(stream)
        if left is None:
            return 0
        count = stream.readinto1(view[: min(left, len(view))])
        if count == 0:
            raise Disconnected("the body ended early")
        left -= count
        if left == 0 and stream.readline(3) != b"\r\n":
            raise ApiError(400, "A chunk does not end where it said it would.")
        return count

    return fill


def _chunk_size(stream: Stream) -> int | None:
    """The size of the next chunk in bytes; None after the last one, with the trailer read."""
    line = stream.readline(LINE_LIMIT)
    if not line:
        raise Disconnected("the body ended early")
    try:
        size = int(line.split(b";")[0].strip(), 16)
    except ValueError:
        raise ApiError(400, "A chunk begins without its size.") from None
    if size:
        return size
    while stream.readline(LINE_LIMIT) not in (b"\r\n", b"\n", b""):
        pass
    return None


def stream_of(file: BufferedIOBase) -> Stream:
    """A buffered reader seen as a `Stream`; typeshed has no common name for what `makefile('rb')` gives."""
    return cast("Stream", file)
