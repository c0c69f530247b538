"""The body of one request, read from the socket as it comes: counted, paced, and with a place where faults act.

Nothing is read ahead of the one who asks, so a body may be of any size, and a server that stops reading really stops.
"""

from __future__ import annotations

from collections.abc import Callable

from google_emulator.http.errors import ApiError, Disconnected
from google_emulator.http.framing import Source

BLOCK = 256 * 1024  # bytes


class Body:
    """A request's body. `length` is in bytes, None when unknown beforehand; `received` is what came so far.

    `keep` limits what the reader gets to see: the rest is read and lost, and counted in `dropped`. `exact` tells
    whoever stores the body that a break is to keep the very last byte seen, not only whole granules: a fault has said
    how many, or the body had come to its end. `pace` is told the size of every block read.
    """

    def __init__(self, source: Source, length: int | None, pace: Callable[[int], None]) -> None:
        self.length = length
        self.received = 0
        self.ended = length == 0
        self.keep: int | None = None
        self.dropped = 0
        self._source = source
        self._pace = pace
        self._action: Callable[[], None] | None = None
        self._action_at = 0

    @property
    def exact(self) -> bool:
        """Whether everything that the reader saw is to be stored when the request is interrupted."""
        return self.keep is not None or self.ended

    def call_after(self, count: int | None, action: Callable[[], None]) -> None:
        """Calls `action` once `count` bytes have come, at the latest (None) when the whole body has."""
        self._action = action
        self._action_at = -1 if count is None else count

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
        if self._action is not None and self.received == self._action_at:
            self._act()
        if self._action is not None and self._action_at > self.received:
            view = view[: self._action_at - self.received]
        try:
            count = self._source(view)
        except OSError as error:
            raise Disconnected("the client broke the connection") from error
        if count == 0:
            self.ended = True
            self._act()
            return 0
        self.received += count
        self._pace(count)
        return count

    def _act(self) -> None:
        action, self._action = self._action, None
        if action is not None:
            action()

    def read_all(self, limit: int) -> bytes:
        """The whole body, for requests that are small by nature. Raises `ApiError` 413 beyond `limit` bytes."""
        parts: list[bytes] = []
        block = bytearray(min(BLOCK, (self.length or BLOCK) + 1))
        while count := self.readinto(memoryview(block)):
            parts.append(bytes(block[:count]))
            if self.received > limit:
                raise ApiError(413, "Request payload size exceeds the limit.", "requestTooLarge")
        return b"".join(parts)

    def drain(self) -> None:
        """Reads what is left and forgets it; faults no longer matter."""
        self._action = None
        block = memoryview(bytearray(BLOCK))
        while self._next(block):
            pass
