"""The upload session as a state machine: a table of states and events, and the arithmetic of
offsets.

Theory of operation
-------------------

A resumable upload is a conversation about one number: how many bytes of the file the server has
stored. Only the server knows it. The client knows what it was told last (`Session.offset`) and how
much it has handed to the network since (`Session.sent`); the truth lies between the two. Everything
here follows from that.

The machine does no input or output, and knows neither of the two dialects: `next_move()` says what
to do, the dialect (`content_range`, `goog_upload`) turns the move into a request and the response
into an event, and `after(event)` gives the next session.

Every doubt becomes a query. A 503, a broken connection and a rejected token say nothing about the
bytes that were on their way: the server may have stored none, some, or all of them, or have
finished the upload. Sending again from the old offset could put bytes in the wrong place, or finish
an upload twice; a query has no effect. So no path in the table leads from OFFSET_UNKNOWN or
UNCONFIRMED (the same after the last byte: the upload may be finished) to a `Send` except through
`Stored`, or through a new session if the server has lost this one. A start that failed has stored
nothing: it is simply repeated.

What can't be known. When an UNCONFIRMED session is lost, or the server refuses to speak of it or
does not say whether it goes on, the upload may have been finished. If a repeat replaces, it is
started over; where it would add a second one (`at_most_once`: a mail, a file in Drive) that is the
end: IN_DOUBT. A server that turned the last request away, or holds less than everything, has ended
the doubt.

What the server says is checked against what it was given. An offset below 0 or beyond `sent`, or
completion before everything was sent, is a `ProtocolViolated`. An offset that goes back is accepted
once in a session, because real servers lose their last block when a machine fails; a second time
could become a loop. A lost session (404, 410) starts over from byte 0, at most `MAX_RESTARTS` times
for a file. With the caller's bound on waits without progress this makes every upload end;
`tests/protocol/test_exhaustive.py` walks every sequence of up to six faults to show it.

A server that lost bytes and calls the upload complete after all of it was sent is believed here;
the digest in the response shows the loss (`upload.proof`). A stream's size is unknown until its end
is read, so the span that `next_move()` names for it is an upper bound: the caller reads ahead, sets
`size` when it sees the end, and asks for the move again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import TypeAlias

from uploader.http.messages import Response, Span, TransportError

MAX_RESTARTS = 3  # new sessions for one file after the first was lost
DEFAULT_GRANULARITY = 256 * 1024  # bytes: "multiples of 256 KB (256 x 1024 bytes)"
AUTO_CHUNK = 8 * 1024 * 1024  # bytes: what `auto` falls back to after an interruption


class State(Enum):
    """Where a session stands."""

    NEW = "no session yet"
    OFFSET_KNOWN = "offset known"
    OFFSET_UNKNOWN = "offset unknown"
    UNCONFIRMED = "all sent, unconfirmed"
    COMPLETE = "complete"
    REFUSED = "refused"
    VIOLATED = "protocol violated"
    LOST_TOO_OFTEN = "lost too often"
    IN_DOUBT = "in doubt"


# --- events: what a response meant ----------------------------------------------------------------


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
    """The upload is whole on the server; `response` holds the resource."""

    response: Response


@dataclass(frozen=True)
class OffsetUnknown:
    """It is unknown what the server holds. `server_ok` is true if the server itself works: it did
    not state the offset, or refused a request and said that the session goes on. `may_have_acted`
    is false if the server surely did nothing with the request: it never had all of it, or asked for
    another attempt. `untold` is true if it answered a query in a way that the documents show, which
    leaves open whether the upload is finished.
    """

    why: str
    response: Response | TransportError | None = None
    server_ok: bool = False
    may_have_acted: bool = True
    untold: bool = False


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


Event: TypeAlias = (
    Started
    | Stored
    | Completed
    | OffsetUnknown
    | TokenRejected
    | SessionLost
    | Rejected
    | ProtocolViolated
)

# --- moves: what to do next -----------------------------------------------------------------------


@dataclass(frozen=True)
class Start:
    """Open a session."""


@dataclass(frozen=True)
class Send:
    """Send a span; `final` when the file ends with it. An empty final span finishes what is stored
    already.
    """

    span: Span
    final: bool


@dataclass(frozen=True)
class QueryOffset:
    """Ask the server for the offset."""


@dataclass(frozen=True)
class Cancel:
    """End the session for good; whatever the server answers, nothing more can be done."""


Move: TypeAlias = Start | Send | QueryOffset | Cancel

# --- the table ------------------------------------------------------------------------------------

_NEW = State.NEW
_KNOWN = State.OFFSET_KNOWN
_UNKNOWN = State.OFFSET_UNKNOWN
_UNCONFIRMED = State.UNCONFIRMED
_ENDS: dict[type[Event], State] = {
    Rejected: State.REFUSED,
    ProtocolViolated: State.VIOLATED,
}
_OPEN: dict[type[Event], State] = {
    Stored: _KNOWN,
    Completed: State.COMPLETE,
    # UNCONFIRMED after a `Send` with the last byte that may have been processed
    OffsetUnknown: _UNKNOWN,
    TokenRejected: _UNKNOWN,
    SessionLost: _NEW,  # LOST_TOO_OFTEN after `MAX_RESTARTS`
    **_ENDS,
}
TRANSITIONS: dict[State, dict[type[Event], State]] = {
    _NEW: {Started: _KNOWN, OffsetUnknown: _NEW, TokenRejected: _NEW, **_ENDS},
    _KNOWN: _OPEN,
    _UNKNOWN: _OPEN,
    # With `at_most_once` a lost session, a refusal and an `untold` query lead to IN_DOUBT.
    _UNCONFIRMED: {**_OPEN, OffsetUnknown: _UNCONFIRMED, TokenRejected: _UNCONFIRMED},
}
"""Every event that may come in every state. What is not in the table can't happen, and asking for
it is a bug.
"""


def round_to_granularity(wanted: int, granularity: int) -> int:
    """Return the number of bytes as a whole multiple of the granularity, at least one of it."""
    return max(wanted // granularity, 1) * granularity


@dataclass(frozen=True)
class Chunking:
    """How many bytes go into one request: a fixed number, or None for `auto`.

    `auto` sends the whole rest at once, which Google calls the preferred way; after an interruption
    it goes on in chunks of 8 MiB that double with every success, so that a bad line loses little
    and a good one is not slowed down. With `patient` the whole rest is sent until a request from
    the same offset has broken twice.
    """

    fixed: int | None = None
    current: int | None = None
    patient: bool = False
    broke_at: int | None = None

    def length(self, granularity: int) -> int | None:
        """Return the bytes for the next request, a multiple of `granularity` and at least one of
        it; None for the whole rest.
        """
        if self.fixed is not None:
            return round_to_granularity(self.fixed, granularity)
        if self.current is not None:
            return round_to_granularity(self.current, granularity)
        return None

    def after_interruption(self, offset: int) -> Chunking:
        """Return chunks of 8 MiB again after a request from `offset` broke, unless the length is
        fixed, or this was the first break at this offset and the chunking is patient.
        """
        if self.fixed is not None:
            return self
        if self.patient and offset != self.broke_at:
            return replace(self, broke_at=offset)
        return replace(self, current=AUTO_CHUNK)

    def after_success(self) -> Chunking:
        """Return chunks twice as long, if chunks are sent at all and their length is not fixed."""
        if self.current is None:
            return self
        return replace(self, current=self.current * 2)


@dataclass(frozen=True)
class Session:
    """One upload session as it stands. Frozen: `after(event)` gives the next one.

    `size` is the file's size in bytes, None while a stream has not ended. `offset` is what the
    server last said, `sent` the end of what it may hold: that offset and what was handed to it
    since. No honest response names an offset beyond it. `why` is the last trouble; in UNCONFIRMED,
    what became of the request with the last byte. `doubted` is true once a session of this file
    ended in UNCONFIRMED without a word on how it ended: the file may have been stored already.
    `untold` is true if the server still answered for the session then.
    """

    size: int | None
    chunking: Chunking = Chunking()
    at_most_once: bool = False
    state: State = State.NEW
    uri: str = ""
    granularity: int = DEFAULT_GRANULARITY
    offset: int = 0
    sent: int = 0
    restarts: int = 0
    rewinds: int = 0
    doubted: bool = False
    untold: bool = False
    why: str = ""
    response: Response | None = None

    def resume(
        self,
        uri: str,
        granularity: int,
        unconfirmed: str = "",
    ) -> Session:
        """Return a session that an earlier run began: anything may have been sent, and the first
        move is to ask.

        `unconfirmed` says why the upload may even be finished; it is empty if it can't be.
        """
        state = State.UNCONFIRMED if unconfirmed else State.OFFSET_UNKNOWN
        return replace(
            self,
            state=state,
            uri=uri,
            granularity=granularity,
            sent=self.size or 0,
            why=unconfirmed,
        )

    @property
    def over(self) -> bool:
        """True when no further move exists."""
        return self.state not in TRANSITIONS

    def next_move(self) -> Move:
        """Return what to do next. For a stream the end of a `Send` is an upper bound; see the head
        of this file.
        """
        if self.state is State.NEW:
            return Start()
        if self.state in (State.OFFSET_UNKNOWN, State.UNCONFIRMED):
            return QueryOffset()
        if self.size is None:
            # The end is not known, so every request needs one; it is held in memory, so a careful
            # chunk never grows.
            length = round_to_granularity(
                self.chunking.fixed or AUTO_CHUNK, self.granularity
            )
            return Send(Span(self.offset, self.offset + length), final=False)
        stop = self.size
        chunk = self.chunking.length(self.granularity)
        if chunk is not None:
            stop = min(self.offset + chunk, self.size)
        return Send(Span(self.offset, stop), final=stop == self.size)

    def after(self, event: Event, sent: int = 0) -> Session:
        """Return the session after an event; `sent` is the offset up to which the request that led
        to it may have delivered the file.

        Raises `LookupError` for an event that the table does not know in this state.
        """
        sent = max(self.sent, sent)
        if isinstance(event, Stored):
            event = self._check_offset(event, sent)
        elif isinstance(event, Completed):
            event = self._check_completion(event, sent)
        try:
            state = TRANSITIONS[self.state][type(event)]
        except KeyError:
            raise LookupError(
                f"{type(event).__name__} can't happen with {self.state.value}"
            ) from None
        after = replace(self, state=state, sent=sent)
        match event:
            case Started():
                new = Session(
                    self.size,
                    self.chunking,
                    self.at_most_once,
                    restarts=self.restarts,
                    doubted=self.doubted,
                )
                return replace(
                    new,
                    state=state,
                    uri=event.uri,
                    granularity=event.granularity,
                )
            case Stored():
                return self._after_stored(event.offset, after)
            case Completed():
                return replace(after, response=event.response)
            case OffsetUnknown():
                return self._after_unknown_offset(event, after)
            case SessionLost():
                return self._after_loss(event, after)
            case Rejected():
                return self._with_doubt(replace(after, response=event.response))
            case ProtocolViolated():
                return replace(after, why=event.why)
            case TokenRejected():
                return after

    def _check_completion(self, event: Completed, sent: int) -> Event:
        """Return the event, or the violation that it is unless everything was sent."""
        if self.size is None:
            whole = "a stream that has not ended"
        elif sent < self.size:
            whole = f"{self.size} bytes"
        else:
            return event
        return ProtocolViolated(
            f"the server calls the upload complete after {sent} of {whole}"
        )

    def _check_offset(self, event: Stored, sent: int) -> Event:
        """Return the event, or the violation that it is if the offset does not fit what was sent,
        or goes back once more.
        """
        if not 0 <= event.offset <= sent:
            return ProtocolViolated(
                f"the server claims {event.offset} bytes where {sent} were sent"
            )
        if event.offset < self.offset and self.rewinds:
            where = f"from {self.offset} to {event.offset}"
            return ProtocolViolated(
                f"the server's offset went back a second time, {where}"
            )
        return event

    def _after_stored(self, offset: int, after: Session) -> Session:
        """Return the session after the server stated its offset, in response to a `Send` or a
        query.
        """
        chunking = self.chunking
        was_sending = self.state is State.OFFSET_KNOWN
        if was_sending and offset == after.sent:
            chunking = chunking.after_success()
        elif was_sending:
            # Storing less than was sent is an interruption too. Otherwise a server could be sent
            # the whole rest again and again; two of these count as one request that broke twice.
            chunking = chunking.after_interruption(-1)
        rewinds = self.rewinds
        if offset < self.offset:
            rewinds += 1
        return replace(
            after,
            offset=offset,
            sent=offset,
            rewinds=rewinds,
            chunking=chunking,
        )

    def _after_unknown_offset(self, event: OffsetUnknown, after: Session) -> Session:
        """Return the session after a doubt. A failed start leaves nothing in doubt; after a `Send`
        or a query the offset has to be asked for, unless the query left open whether the upload is
        finished and a repeat would add a second one.
        """
        if self.state is State.NEW:
            return replace(after, why=event.why)
        was_sending = self.state is State.OFFSET_KNOWN
        # A query that fails is one more sign of a bad connection, but `patient` only counts what
        # was sent.
        if was_sending or not self.chunking.patient:
            chunking = self.chunking.after_interruption(self.offset)
            after = replace(after, chunking=chunking)
        if self.state is State.UNCONFIRMED:
            if event.untold and self.at_most_once:
                return replace(
                    after,
                    state=State.IN_DOUBT,
                    doubted=True,
                    untold=True,
                    why=event.why,
                )
            # `why` still describes the request with the last byte.
            return after
        if was_sending and event.may_have_acted and after.sent == self.size:
            return replace(after, state=State.UNCONFIRMED, why=event.why)
        return replace(after, why=event.why)

    def _after_loss(self, event: SessionLost, after: Session) -> Session:
        """Return the session after the server lost it: a new one from byte 0, or the end."""
        after = self._with_doubt(after)
        if after.state is State.IN_DOUBT:
            return replace(after, why=event.why)
        if self.restarts >= MAX_RESTARTS:
            return replace(after, state=State.LOST_TOO_OFTEN, why=event.why)
        return replace(
            after,
            uri="",
            restarts=self.restarts + 1,
            why=event.why,
        )

    def _with_doubt(self, after: Session) -> Session:
        """Return the session after it ended and nothing said what became of the upload."""
        if self.state is not State.UNCONFIRMED:
            return after
        if self.at_most_once:
            return replace(after, state=State.IN_DOUBT, doubted=True)
        return replace(after, doubted=True)
