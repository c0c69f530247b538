"""The upload session as a state machine: a table of states and events, and the arithmetic of offsets.

Theory of operation
-------------------

A resumable upload is a conversation about one number: how many bytes of the file the server has stored. Only the server
knows it. The client knows what it was told last (`Session.offset`) and how much it has handed to the network since
(`Session.sent`); the truth lies between the two. Everything here follows from that.

The machine does no input or output, and knows neither of the two dialects. One round goes like this: `next_move()` says
what to do; the dialect (`content_range`, `goog_upload`) turns the move into a request; the caller sends it; the dialect
turns the answer, or the lack of one, into an event; and `after(event)` gives the next session. A session is a frozen
value, so that a test can try every event in every state and compare the results.

States. NEW: there is no session on the server, so the move is `Start`. OFFSET_KNOWN: the server's last word is fresh,
so the move is to `Send` from there. OFFSET_UNKNOWN: something was sent and its fate is in doubt, so the move is to
`QueryOffset`. The other five are ends. The state alone decides the kind of move; there is no second way to ask "may I
send now?".

Why every doubt becomes a query. A 503, a broken connection and a rejected token tell nothing about the bytes that were
on their way: the server may have stored none, some, or all of them, or have finished the upload and made the resource.
Sending again from the old offset would at best waste bandwidth and at worst put bytes in the wrong place, or finish an
upload twice. A query is free of effects and settles the matter. So `OffsetUnknown` and `TokenRejected` lead to
OFFSET_UNKNOWN whatever was sent, and no path in the table leads from there to a `Send` except through `Stored`. In NEW
the same events lead back to NEW: a start that failed has stored nothing, and an orphaned session expires by itself.

What the server says is checked against what it was given. An offset below 0 or beyond `sent`, or completion before
everything was sent, is a `ProtocolViolated`, whatever the dialect made of it. An offset that goes back is accepted once
in a session, because real servers lose their last block when a machine fails; a second time could become a loop. A lost
session (404, 410) starts anew from byte 0, at most `MAX_RESTARTS` times for a file. With the caller's bound on waits
without progress this makes every upload end; `tests/protocol/test_exhaustive.py` walks every sequence of up to six
faults to show it.

How much to send is `chunking`'s affair and changes no state.

Known weak spots:

- A server that lost bytes and calls the upload complete after all of it was sent is believed here. Only the digest
  in the answer can tell; `transfer.upload` compares it where the service states one.
- After `SessionLost` the machine starts anew even if everything had been sent. Whether the lost session had been
  finished can't be known: for a method whose repeat adds (a mail, a file in Drive) the caller stops at that point.
- `Started` in NEW after a start whose answer was lost leaves an empty session behind on the server, never a resource.
- A stream's size is unknown until its end is read, so the span that `next_move()` names for it is an upper bound. The
  caller reads ahead, sets `size` when it sees the end, and asks for the move again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import TypeAlias

from uploader.http.messages import Response, Span, TransportError
from uploader.protocol.chunking import AUTO_CHUNK, Chunking, rounded

MAX_RESTARTS = 3  # new sessions for one file after the first was lost
DEFAULT_GRANULARITY = 256 * 1024  # bytes: "multiples of 256 KB (256 x 1024 bytes)"


class State(Enum):
    """Where a session stands."""

    NEW = "no session yet"
    OFFSET_KNOWN = "offset known"
    OFFSET_UNKNOWN = "offset unknown"
    COMPLETE = "complete"
    REFUSED = "refused"
    VIOLATED = "protocol violated"
    LOST_TOO_OFTEN = "lost too often"
    CANCELLED = "cancelled"


# --- events: what an answer meant -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Started:
    """The server opened a session at `uri`; chunks are multiples of `granularity` bytes."""

    uri: str
    granularity: int = DEFAULT_GRANULARITY


@dataclass(frozen=True)
class Stored:
    """The server holds the bytes before `offset`."""

    offset: int


@dataclass(frozen=True)
class Completed:
    """The upload is whole on the server; `answer` holds the resource."""

    response: Response


@dataclass(frozen=True)
class OffsetUnknown:
    """What the server holds is in doubt; `server_ok` when it is well: it did not tell the offset, or refused a request.

    A refusal is such a doubt only where the server says that the session goes on.
    """

    why: str
    response: Response | TransportError | None = None
    server_ok: bool = False


@dataclass(frozen=True)
class TokenRejected:
    """The bearer token was not accepted (401)."""

    response: Response


@dataclass(frozen=True)
class SessionLost:
    """The session is gone (404, 410): what was stored in it is lost."""

    why: str


@dataclass(frozen=True)
class Rejected:
    """The service refused, and would refuse again."""

    response: Response


@dataclass(frozen=True)
class ProtocolViolated:
    """The answer is not one that the protocol allows."""

    why: str


@dataclass(frozen=True)
class Cancelled:
    """The server was told to end the session."""


Event: TypeAlias = (
    Started | Stored | Completed | OffsetUnknown | TokenRejected | SessionLost | Rejected | ProtocolViolated | Cancelled
)

# --- moves: what to do next -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Start:
    """Open a session."""


@dataclass(frozen=True)
class Send:
    """Send a span; `final` when the file ends with it. An empty final span finishes what is stored already."""

    span: Span
    final: bool


@dataclass(frozen=True)
class QueryOffset:
    """Ask the server for the offset."""


@dataclass(frozen=True)
class Cancel:
    """End the session for good."""


Move: TypeAlias = Start | Send | QueryOffset | Cancel

# --- the table ------------------------------------------------------------------------------------------------------

_NEW, _KNOWN, _UNKNOWN = State.NEW, State.OFFSET_KNOWN, State.OFFSET_UNKNOWN
_ENDS: dict[type[Event], State] = {
    Rejected: State.REFUSED,
    ProtocolViolated: State.VIOLATED,
    Cancelled: State.CANCELLED,
}
_OPEN: dict[type[Event], State] = {
    Stored: _KNOWN,
    Completed: State.COMPLETE,
    OffsetUnknown: _UNKNOWN,
    TokenRejected: _UNKNOWN,
    SessionLost: _NEW,  # LOST_TOO_OFTEN after `MAX_RESTARTS`
    **_ENDS,
}
TRANSITIONS: dict[State, dict[type[Event], State]] = {
    _NEW: {Started: _KNOWN, OffsetUnknown: _NEW, TokenRejected: _NEW, **_ENDS},
    _KNOWN: _OPEN,
    _UNKNOWN: _OPEN,
}
"""Every event that may come in every state. What is not in the table can't happen, and asking for it is a bug."""


@dataclass(frozen=True)
class Session:
    """One upload session as it stands. Frozen: `after(event)` gives the next one.

    `size` is the file's size in bytes, None while a stream has not ended. `offset` is the server's last word, `sent`
    the end of what it may hold: its last word and what was handed to it since. No honest answer lies beyond.
    """

    size: int | None
    chunking: Chunking = Chunking()
    state: State = State.NEW
    uri: str = ""
    granularity: int = DEFAULT_GRANULARITY
    offset: int = 0
    sent: int = 0
    restarts: int = 0
    rewinds: int = 0
    why: str = ""
    response: Response | None = None

    @classmethod
    def resumed(cls, size: int, uri: str, granularity: int, chunking: Chunking) -> Session:
        """A session of an earlier run: everything may have been sent, and the first move is to ask."""
        return cls(size, chunking, State.OFFSET_UNKNOWN, uri, granularity, sent=size)

    @property
    def over(self) -> bool:
        """True when no further move exists."""
        return self.state not in TRANSITIONS

    def next_move(self) -> Move:
        """What to do next. For a stream the end of a `Send` is an upper bound; see the head of this file."""
        if self.state is State.NEW:
            return Start()
        if self.state is State.OFFSET_UNKNOWN:
            return QueryOffset()
        if self.size is None:
            # The end is not known, so every request needs one; it is held in memory, so a careful chunk never grows.
            length = rounded(self.chunking.fixed or AUTO_CHUNK, self.granularity)
            return Send(Span(self.offset, self.offset + length), final=False)
        wanted = self.chunking.length(self.granularity)
        stop = self.size if wanted is None else min(self.offset + wanted, self.size)
        return Send(Span(self.offset, stop), final=stop == self.size)

    def after(self, event: Event, sent: int = 0) -> Session:
        """The session after an event; `sent` is the end of what the request that led to it may have brought there.

        Raises `LookupError` for an event that the table does not know in this state.
        """
        sent = max(self.sent, sent)
        if isinstance(event, (Stored, Completed)):
            event = self._checked(event, sent)
        try:
            state = TRANSITIONS[self.state][type(event)]
        except KeyError:
            raise LookupError(f"{type(event).__name__} can't happen with {self.state.value}") from None
        match event:
            case Started():
                return Session(self.size, self.chunking, state, event.uri, event.granularity, restarts=self.restarts)
            case Stored():
                return self._stored(event.offset, sent, state)
            case SessionLost() if self.restarts >= MAX_RESTARTS:
                return replace(self, sent=sent, state=State.LOST_TOO_OFTEN, why=event.why)
            case SessionLost():
                return replace(self, sent=sent, state=state, uri="", restarts=self.restarts + 1, why=event.why)
            case OffsetUnknown():
                chunking = self.chunking if self.state is State.NEW else self.chunking.after_interruption()
                return replace(self, sent=sent, state=state, chunking=chunking, why=event.why)
            case Completed() | Rejected():
                return replace(self, sent=sent, state=state, response=event.response)
            case ProtocolViolated():
                return replace(self, sent=sent, state=state, why=event.why)
            case TokenRejected() | Cancelled():
                return replace(self, sent=sent, state=state)

    def _checked(self, event: Stored | Completed, sent: int) -> Event:
        """The event, or the violation that it really is: offsets and completion must fit what was sent."""
        if isinstance(event, Completed):
            if self.size is not None and sent >= self.size:
                return event
            whole = "a stream that has not ended" if self.size is None else f"{self.size} bytes"
            return ProtocolViolated(f"the server calls the upload complete after {sent} of {whole}")
        if not 0 <= event.offset <= sent:
            return ProtocolViolated(f"the server claims {event.offset} bytes where {sent} were sent")
        if event.offset < self.offset and self.rewinds:
            where = f"from {self.offset} to {event.offset}"
            return ProtocolViolated(f"the server's offset went back a second time, {where}")
        return event

    def _stored(self, offset: int, sent: int, state: State) -> Session:
        chunking = self.chunking
        if self.state is State.OFFSET_KNOWN:
            # Less than was sent is an interruption too: the whole rest, again and again, would have no bound.
            chunking = chunking.after_success() if offset == sent else chunking.after_interruption()
        rewinds = self.rewinds + (offset < self.offset)
        return replace(self, state=state, offset=offset, sent=offset, rewinds=rewinds, chunking=chunking)
