"""The upload session as a state machine: a table of state, event and new state, and the arithmetic of offsets.

No input or output happens here, and no dialect is known. A dialect turns a move into a request and an answer into an
event; the machine says what the event means and which move comes next. After anything doubtful the move is to ask
for the offset, never to send again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import TypeAlias

from uploader.http.messages import Broken, Response, Span

MOST_RESTARTS = 3  # new sessions for one file after the first was lost
DEFAULT_GRANULARITY = 256 * 1024  # bytes: "multiples of 256 KB (256 x 1024 bytes)"
AUTO_CHUNK = 8 * 1024 * 1024  # bytes: what `auto` falls back to after an interruption


class State(Enum):
    """Where a session stands."""

    NEW = "no session yet"
    KNOWN = "offset known"
    UNSURE = "offset in doubt"
    COMPLETE = "complete"
    REFUSED = "refused"
    BROKEN = "protocol broken"
    EXHAUSTED = "lost too often"
    CANCELLED = "cancelled"


# --- events: what an answer meant -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Started:
    """The server opened a session at `uri`; chunks are multiples of `granularity` bytes."""

    uri: str
    granularity: int = DEFAULT_GRANULARITY


@dataclass(frozen=True, slots=True)
class Stored:
    """The server holds the bytes before `offset`."""

    offset: int


@dataclass(frozen=True, slots=True)
class Completed:
    """The upload is whole on the server; `answer` holds the resource."""

    answer: Response


@dataclass(frozen=True, slots=True)
class OffsetUnknown:
    """Nobody here knows what the server holds. `polite` when it answered properly, only without telling the offset."""

    why: str
    answer: Response | Broken | None = None
    polite: bool = False


@dataclass(frozen=True, slots=True)
class TokenRejected:
    """The bearer token was not accepted (401)."""

    answer: Response


@dataclass(frozen=True, slots=True)
class Lost:
    """The session is gone (404, 410): what was stored in it is lost."""

    why: str


@dataclass(frozen=True, slots=True)
class Rejected:
    """The service said no for good."""

    answer: Response


@dataclass(frozen=True, slots=True)
class Violated:
    """The answer is not one that the protocol allows."""

    why: str


@dataclass(frozen=True, slots=True)
class Ended:
    """The session was cancelled at our wish."""


Event: TypeAlias = Started | Stored | Completed | OffsetUnknown | TokenRejected | Lost | Rejected | Violated | Ended

# --- moves: what to do next -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Start:
    """Open a session."""


@dataclass(frozen=True, slots=True)
class Send:
    """Send a span; `final` when the file ends with it. An empty final span finishes what is stored already."""

    span: Span
    final: bool


@dataclass(frozen=True, slots=True)
class Ask:
    """Ask for the offset."""


@dataclass(frozen=True, slots=True)
class Cancel:
    """End the session for good."""


Move: TypeAlias = Start | Send | Ask | Cancel

# --- the table ------------------------------------------------------------------------------------------------------

N, K, U = State.NEW, State.KNOWN, State.UNSURE

TRANSITIONS: dict[State, dict[type[Event], State]] = {
    N: {
        Started: K,
        OffsetUnknown: N,
        TokenRejected: N,
        Rejected: State.REFUSED,
        Violated: State.BROKEN,
        Ended: State.CANCELLED,
    },
    K: {
        Stored: K,
        Completed: State.COMPLETE,
        OffsetUnknown: U,
        TokenRejected: U,
        Lost: N,
        Rejected: State.REFUSED,
        Violated: State.BROKEN,
        Ended: State.CANCELLED,
    },
    U: {
        Stored: K,
        Completed: State.COMPLETE,
        OffsetUnknown: U,
        TokenRejected: U,
        Lost: N,
        Rejected: State.REFUSED,
        Violated: State.BROKEN,
        Ended: State.CANCELLED,
    },
}
"""Every event that may come in every state. What is not in the table can't happen, and asking for it is a bug."""


def _rounded(wanted: int, granularity: int) -> int:
    return max(wanted // granularity, 1) * granularity


@dataclass(frozen=True, slots=True)
class Chunking:
    """How many bytes go into one request: a fixed number, or None for `auto`.

    `auto` sends the whole rest at once, which Google calls the preferred way; after an interruption it goes on in
    chunks of 8 MiB that double with every success, so that a bad line loses little and a good one is not slowed down.
    """

    fixed: int | None = None
    current: int | None = None

    def length(self, granularity: int) -> int | None:
        """Bytes for the next request, a multiple of `granularity` and at least one of it; None for the whole rest."""
        wanted = self.fixed if self.fixed is not None else self.current
        if wanted is None:
            return None
        return _rounded(wanted, granularity)

    def after_interruption(self) -> Chunking:
        """Careful again."""
        return self if self.fixed is not None else replace(self, current=AUTO_CHUNK)

    def after_success(self) -> Chunking:
        """Bolder."""
        return self if self.current is None else replace(self, current=self.current * 2)


@dataclass(frozen=True, slots=True)
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
    retreats: int = 0
    why: str = ""
    answer: Response | None = None

    @classmethod
    def resumed(cls, size: int, uri: str, granularity: int, chunking: Chunking) -> Session:
        """A session of an earlier run: everything may have been sent, and the first move is to ask."""
        return cls(size, chunking, State.UNSURE, uri, granularity, sent=size)

    @property
    def over(self) -> bool:
        """True when no further move exists."""
        return self.state not in TRANSITIONS

    def move(self) -> Move:
        """What to do next. For a stream the span's end is a wish: `Send.final` is settled when its end is seen."""
        if self.state is State.NEW:
            return Start()
        if self.state is State.UNSURE:
            return Ask()
        return self._send()

    def _send(self) -> Send:
        if self.size is None:
            # The end is not known, so every request needs one; it is held in memory, so a careful chunk never grows.
            length = _rounded(self.chunking.fixed or AUTO_CHUNK, self.granularity)
            return Send(Span(self.offset, self.offset + length), final=False)
        wanted = self.chunking.length(self.granularity)
        stop = self.size if wanted is None else min(self.offset + wanted, self.size)
        return Send(Span(self.offset, stop), final=stop == self.size)

    def sending(self, span: Span) -> Session:
        """The session once bytes up to the end of `span` may have reached the server."""
        return replace(self, sent=max(self.sent, span.stop))

    def with_size(self, size: int) -> Session:
        """The session once a stream's end was seen."""
        return replace(self, size=size)

    def after(self, event: Event) -> Session:
        """The session after an event. Raises `LookupError` for an event that the table does not know in this state."""
        checked = self._checked(event)
        try:
            state = TRANSITIONS[self.state][type(checked)]
        except KeyError:
            raise LookupError(f"{type(checked).__name__} can't happen with {self.state.value}") from None
        return self._settled(checked, state)

    def _checked(self, event: Event) -> Event:
        """The event, or the violation that it really is: offsets and completion must fit what was sent."""
        if isinstance(event, Stored):
            if not 0 <= event.offset <= self.sent:
                return Violated(f"the server claims {event.offset} bytes where {self.sent} were sent")
            if event.offset < self.offset and self.retreats:
                return Violated(f"the server's offset went back a second time, from {self.offset} to {event.offset}")
        if isinstance(event, Completed) and (self.size is None or self.sent < self.size):
            whole = "a stream that has not ended" if self.size is None else f"{self.size} bytes"
            return Violated(f"the server calls the upload complete after {self.sent} of {whole}")
        return event

    def _settled(self, event: Event, state: State) -> Session:
        match event:
            case Started():
                fresh = replace(self, uri=event.uri, granularity=event.granularity, offset=0, sent=0)
                return replace(fresh, state=state, retreats=0)
            case Stored():
                return self._stored(event.offset, state)
            case Completed():
                return replace(self, state=state, answer=event.answer)
            case Lost() if self.restarts >= MOST_RESTARTS:
                return replace(self, state=State.EXHAUSTED, why=event.why)
            case Lost():
                return replace(self, state=state, uri="", restarts=self.restarts + 1, why=event.why)
            case OffsetUnknown():
                chunking = self.chunking if self.state is State.NEW else self.chunking.after_interruption()
                return replace(self, state=state, chunking=chunking, why=event.why)
            case Rejected():
                return replace(self, state=state, answer=event.answer)
            case Violated():
                return replace(self, state=state, why=event.why)
            case _:
                return replace(self, state=state)

    def _stored(self, offset: int, state: State) -> Session:
        went_back = offset < self.offset
        chunking = self.chunking
        if self.state is State.KNOWN:
            # Less than was sent is an interruption too: the whole rest, again and again, would have no bound.
            chunking = chunking.after_success() if offset == self.sent else chunking.after_interruption()
        return replace(
            self,
            state=state,
            offset=offset,
            sent=offset,
            retreats=self.retreats + went_back,
            chunking=chunking,
        )
