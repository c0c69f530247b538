"""A server of a dozen states that stores how many bytes it has, not which: enough to catch every
mistake with offsets.

It answers moves instead of requests, so that the machine alone is tested, and every fault of the
protocol's table is one letter of an alphabet from which the exhaustive test makes all words.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from uploader.http.messages import Response, TransportError
from uploader.protocol.session import (
    Cancel,
    Completed,
    Event,
    Move,
    OffsetUnknown,
    QueryOffset,
    Send,
    SessionLost,
    Start,
    Started,
    Stored,
    TokenRejected,
)

FAULTS = (
    "none",
    "error before",  # 5xx, nothing stored
    "error after",  # 5xx, all of it stored
    "break before",
    "break after",
    "partial",  # half of the span stored, said honestly
    "partial break",  # half of the span stored, connection broken
    "silent",  # 308 without Range
    "conflict",  # 4xx, the session lives
    "overstated",  # half of the span stored, all of it claimed
    "lost",  # 404
    "token",  # 401
    "retreat",  # the server forgets its last bytes
    "beyond",  # a Range past what was sent
    "early",  # success before the end
)


@dataclass(frozen=True, slots=True)
class Server:
    """`stored` bytes of `size`; `finals` counts how often an object was made, `holes` how often a
    span did not fit.

    `overstated` says that a span did not fit because of what the server itself had claimed.
    """

    size: int
    open: bool = False
    stored: int = 0
    finals: int = 0
    holes: int = 0
    received: int = 0
    lied: bool = False
    overstated: bool = False

    def response(self, move: Move, fault: str) -> tuple[Server, Event]:
        """The server after a move, and what it answers."""
        match move:
            case Start():
                return self._start(fault)
            case Send():
                return self._send(move, fault)
            case QueryOffset():
                return self._ask(fault)
            case Cancel():
                raise AssertionError("the machine itself cancels nothing")

    def _start(self, fault: str) -> tuple[Server, Event]:
        if fault in ("error before", "error after", "break before", "break after"):
            return self, OffsetUnknown(fault, TransportError(fault, True))
        if fault == "token":
            return self, TokenRejected(Response(401))
        return replace(self, open=True, stored=0), Started(
            "https://x.googleapis.com/session", 1
        )

    def _send(self, move: Send, fault: str) -> tuple[Server, Event]:
        if self.finals:
            return self, Completed(Response(200))
        if fault == "lost" or not self.open:
            return replace(self, open=False, stored=0), SessionLost(fault)
        span = move.span
        if span.start > self.stored or fault == "conflict":
            hole = span.start > self.stored and not self.overstated
            return replace(self, holes=self.holes + hole), OffsetUnknown(
                "conflict", Response(409), server_ok=True
            )
        if fault in ("error before", "break before", "token"):
            return self, TokenRejected(
                Response(401)
            ) if fault == "token" else OffsetUnknown(fault, TransportError(fault, True))
        stop = (
            span.start + span.size // 2
            if fault.startswith(("partial", "over"))
            else span.stop
        )
        after = replace(
            self, stored=max(self.stored, stop), received=self.received + span.size
        )
        if fault == "overstated" and not move.final:
            return replace(after, overstated=True), Stored(span.stop)
        if after.stored == self.size and move.final:
            after = replace(after, finals=after.finals + 1, open=False)
        return after._told(fault)

    def _told(self, fault: str) -> tuple[Server, Event]:
        if fault in ("error after", "break after", "partial break"):
            return self, OffsetUnknown(fault, TransportError(fault, True))
        if self.finals:
            return self, Completed(Response(200))
        return self._status(fault)

    def _status(self, fault: str) -> tuple[Server, Event]:
        if fault in ("silent", "overstated"):
            return self, OffsetUnknown(fault, Response(308), server_ok=True)
        if fault == "beyond":
            return self, Stored(self.size + 7)
        if fault == "early":
            return replace(self, lied=True), Completed(Response(200))
        after = (
            replace(self, stored=max(self.stored - 1, 0))
            if fault == "retreat"
            else self
        )
        return after, Stored(after.stored)

    def _ask(self, fault: str) -> tuple[Server, Event]:
        if fault == "conflict":
            return self, OffsetUnknown(fault, Response(409), server_ok=True)
        if fault in ("error before", "error after", "break before", "break after"):
            return self, OffsetUnknown(fault, TransportError(fault, True))
        if fault == "token":
            return self, TokenRejected(Response(401))
        if fault == "forgotten":  # what was finished, too
            return replace(self, open=False, stored=0), SessionLost(fault)
        if self.finals:
            return self, Completed(Response(200))
        if fault == "lost" or not self.open:
            return replace(self, open=False, stored=0), SessionLost(fault)
        return self._status("none" if fault in ("silent", "overstated") else fault)
