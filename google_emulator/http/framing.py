"""How a body is framed, by its Content-Length or in chunks; read from the socket as it is asked for, never ahead."""

from __future__ import annotations

import re
from collections.abc import Callable
from email.message import Message
from io import BufferedIOBase
from typing import Protocol, TypeAlias, cast

from google_emulator.http.errors import ApiError, Disconnected

LINE_LIMIT = 64 * 1024  # bytes
MOST_TRAILERS = 100
_LENGTH = re.compile(r"[0-9]{1,18}")
_CHUNK_SIZE = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;[^\r\n]*)?\r?\n")

# Fills a view with the next bytes and tells how many; 0 is the proper end, `Disconnected` an improper one.
Source: TypeAlias = Callable[[memoryview], int]


class Stream(Protocol):
    """The part of a buffered reader that is used here."""

    def readinto1(self, view: memoryview, /) -> int:
        """Reads at most once; 0 at the end of the stream."""

    def readline(self, limit: int, /) -> bytes:
        """Reads up to the end of a line."""

    def peek(self, size: int, /) -> bytes:
        """Looks at what comes next, without taking it."""


def framed(stream: Stream, headers: Message) -> tuple[Source, int | None]:
    """The body that these headers announce, and its length in bytes, None when that is unknown.

    Raises `ApiError` 400 for headers that contradict themselves or each other, 501 for another transfer coding.
    """
    coding = headers.get("Transfer-Encoding")
    lengths = set(headers.get_all("Content-Length", ["0"] if coding is None else []))
    if coding is not None:
        if lengths:
            raise ApiError(400, "A request has a Content-Length or a Transfer-Encoding, not both.")
        if coding.strip().lower() != "chunked":
            raise ApiError(501, "The only transfer coding is chunked.")
        return chunked(stream), None
    length = lengths.pop().strip()
    if lengths or not _LENGTH.fullmatch(length):
        raise ApiError(400, "Invalid Content-Length.")
    return sized(stream, int(length)), int(length)


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
    found = _CHUNK_SIZE.fullmatch(line)
    if found is None:
        raise ApiError(400, "A chunk begins without its size.")
    if size := int(found[1], 16):
        return size
    for _ in range(MOST_TRAILERS):
        if stream.readline(LINE_LIMIT) in (b"\r\n", b"\n", b""):
            return None
    raise ApiError(400, "There are too many lines behind the last chunk.")


def stream_of(file: BufferedIOBase) -> Stream:
    """A buffered reader seen as a `Stream`; typeshed has no common name for what `makefile('rb')` gives."""
    return cast("Stream", file)
