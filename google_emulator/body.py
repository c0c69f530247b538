"""The body of one request, read from the socket as it comes: counted, paced, and with a tripwire for faults.

Nothing is read ahead of the one who asks, so a body may be of any size, and a server that stops reading really stops.
"""

from __future__ import annotations

from collections.abc import Callable
from io import BufferedIOBase
from typing import Protocol, cast

from google_emulator.answers import Refusal, Vanished

BLOCK = 256 * 1024
LINE_LIMIT = 64 * 1024


class Source(Protocol):
    """Fills a view with the next bytes and tells how many; 0 is the proper end, `Vanished` an improper one."""

    def __call__(self, view: memoryview) -> int:
        """See the class."""


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
            raise Vanished("the body ended early")
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
            raise Vanished("the body ended early")
        left -= count
        if left == 0 and stream.readline(3) != b"\r\n":
            raise Refusal(400, "A chunk does not end where it said it would.")
        return count

    return fill


def _chunk_size(stream: Stream) -> int | None:
    """The size of the next chunk in bytes; None after the last one, with the trailer read."""
    line = stream.readline(LINE_LIMIT)
    if not line:
        raise Vanished("the body ended early")
    try:
        size = int(line.split(b";")[0].strip(), 16)
    except ValueError:
        raise Refusal(400, "A chunk begins without its size.") from None
    if size:
        return size
    while stream.readline(LINE_LIMIT) not in (b"\r\n", b"\n", b""):
        pass
    return None


class Body:
    """A request's body. `length` is in bytes, None when unknown beforehand; `received` is what came so far.

    `keep` limits what the reader gets to see: the rest is taken from the wire and lost. `exact` tells whoever stores
    the body that a break is to keep the very last byte seen, not only whole granules: a fault has said how many, or
    the body had come to its end.
    """

    def __init__(self, source: Source, length: int | None, pace: Callable[[int], None]) -> None:
        self.length = length
        self.received = 0
        self.ended = length == 0
        self.keep: int | None = None
        self.dropped = 0
        self._source = source
        self._pace = pace
        self._wire: Callable[[], None] | None = None
        self._wire_at = 0

    @property
    def exact(self) -> bool:
        """Whether everything that the reader saw is to be stored when the exchange is cut."""
        return self.keep is not None or self.ended

    def arm(self, after: int | None, wire: Callable[[], None]) -> None:
        """Calls `wire` once `after` bytes have come, at the latest (None) when the whole body has."""
        self._wire = wire
        self._wire_at = -1 if after is None else after

    def readinto(self, view: memoryview) -> int:
        """Fills `view` with the next bytes and tells how many; 0 at the end of the body."""
        while True:
            count = self._next(view)
            if count == 0 or self.keep is None:
                return count
            seen = self.received - count - self.dropped
            visible = max(0, min(count, self.keep - seen))
            self.dropped += count - visible
            if visible:
                return visible

    def _next(self, view: memoryview) -> int:
        if self._wire is not None and self.received == self._wire_at:
            self._trip()
        if self._wire is not None and self._wire_at > self.received:
            view = view[: self._wire_at - self.received]
        count = self._source(view)
        if count == 0:
            self.ended = True
            self._trip()
            return 0
        self.received += count
        self._pace(count)
        return count

    def _trip(self) -> None:
        wire, self._wire = self._wire, None
        if wire is not None:
            wire()

    def read_all(self, limit: int) -> bytes:
        """The whole body, for requests that are small by nature. Raises `Refusal` 413 beyond `limit` bytes."""
        parts: list[bytes] = []
        block = bytearray(min(BLOCK, (self.length or BLOCK) + 1))
        while count := self.readinto(memoryview(block)):
            parts.append(bytes(block[:count]))
            if self.received > limit:
                raise Refusal(413, "Request payload size exceeds the limit.", "requestTooLarge")
        return b"".join(parts)

    def drain(self) -> None:
        """Reads what is left and forgets it; faults no longer matter."""
        self._wire = None
        block = memoryview(bytearray(BLOCK))
        while self._next(block):
            pass


def stream_of(file: BufferedIOBase) -> Stream:
    """A buffered reader seen as a `Stream`; typeshed has no common name for what `makefile('rb')` gives."""
    return cast("Stream", file)
