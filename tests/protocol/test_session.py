"""The session machine where the exhaustive test does not look: lengths, offsets that lie, the table
itself.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from uploader.http.messages import Response, Span, TransportError
from uploader.protocol.session import (
    AUTO_CHUNK,
    DEFAULT_GRANULARITY,
    TRANSITIONS,
    Chunking,
    Completed,
    Event,
    OffsetUnknown,
    QueryOffset,
    Rejected,
    Send,
    Session,
    SessionLost,
    Started,
    State,
    Stored,
    TokenRejected,
)

GRANULE = DEFAULT_GRANULARITY
MIB = 1 << 20
STARTED = Started("https://www.googleapis.com/s")
DOUBT = OffsetUnknown("gone", TransportError("gone", True))


def begun(
    size: int | None, chunk: int | None = None, granularity: int = GRANULE
) -> Session:
    """A session that the server has opened."""
    return Session(size, Chunking(chunk)).after(Started(STARTED.uri, granularity))


def sent(session: Session) -> Session:
    """The session with its next move's bytes under way."""
    move = session.next_move()
    assert isinstance(move, Send)
    return replace(session, sent=move.span.stop)


@pytest.mark.parametrize(
    ("wanted", "granularity", "length"),
    [
        (None, GRANULE, None),
        (1, GRANULE, GRANULE),
        (GRANULE, GRANULE, GRANULE),
        (2 * GRANULE - 1, GRANULE, GRANULE),
        (5 * MIB, MIB, 5 * MIB),
        (5 * MIB, 3 * MIB, 3 * MIB),
        (MIB, 4 * MIB, 4 * MIB),
        (1000, 7, 994),
    ],
)
def test_a_chunk_is_rounded_to_the_granularity_and_at_least_one(
    wanted: int | None, granularity: int, length: int | None
) -> None:
    """Whatever is asked for, a request holds whole granules, and one of them at least."""
    assert Chunking(wanted).length(granularity) == length


def test_auto_sends_the_whole_rest_and_after_an_interruption_8_mib() -> None:
    """Undisturbed everything goes at once; after an interruption a bad line can lose no more than a
    chunk.
    """
    session = sent(begun(200 * MIB))
    assert session.sent == 200 * MIB
    session = session.after(DOUBT).after(Stored(MIB))
    assert session.next_move() == Send(Span(MIB, MIB + AUTO_CHUNK), final=False)


def test_chunks_double_with_each_success() -> None:
    """From 8 MiB on every request that was stored whole makes the next one twice as long."""
    session = replace(begun(200 * MIB), chunking=Chunking(None, AUTO_CHUNK))
    lengths = []
    for _ in range(3):
        session = sent(session)
        lengths.append(session.sent - session.offset)
        session = session.after(Stored(session.sent))
    assert lengths == [AUTO_CHUNK, 2 * AUTO_CHUNK, 4 * AUTO_CHUNK]


def test_a_stream_is_sent_in_chunks_that_never_grow() -> None:
    """What is held of a stream stays bounded, and is whole granules even where 8 MiB are not."""
    session = begun(None, granularity=3 * MIB)
    for _ in range(5):
        move = session.next_move()
        assert isinstance(move, Send)
        assert (move.span.size, move.final) == (6 * MIB, False)
        session = session.after(DOUBT, move.span.stop).after(Stored(move.span.stop))


def test_the_last_bytes_are_final_and_an_empty_rest_is_too() -> None:
    """The chunk that ends the file says so; when all of it is stored but not finished, an empty one
    does.
    """
    session = begun(GRANULE + 5, GRANULE)
    session = sent(session).after(Stored(GRANULE))
    assert session.next_move() == Send(Span(GRANULE, GRANULE + 5), final=True)
    session = sent(session).after(DOUBT).after(Stored(GRANULE + 5))
    assert session.next_move() == Send(Span(GRANULE + 5, GRANULE + 5), final=True)


def test_a_resumed_session_asks_first() -> None:
    """What an earlier run sent is not known, so nothing is sent before the server was asked."""
    session = Session(100).resume("https://www.googleapis.com/s", GRANULE)
    assert session.next_move() == QueryOffset()
    assert session.after(Stored(43)).next_move() == Send(Span(43, 100), final=True)
    assert session.after(Completed(Response(200))).state is State.COMPLETE


# --- everything was sent, and nothing was answered ------------------------------------------------


def unconfirmed(*, at_most_once: bool) -> Session:
    """A session whose last byte's request had no response."""
    session = Session(10, at_most_once=at_most_once).after(STARTED)
    return session.after(DOUBT, 10)


@pytest.mark.parametrize(
    ("event", "sent", "state"),
    [
        (DOUBT, 10, State.UNCONFIRMED),
        (DOUBT, 9, State.OFFSET_UNKNOWN),
        (replace(DOUBT, may_have_acted=False), 10, State.OFFSET_UNKNOWN),
        (TokenRejected(Response(401)), 10, State.OFFSET_UNKNOWN),
    ],
    ids=["all sent", "not all sent", "turned away", "token"],
)
def test_only_what_can_have_been_finished_is_unconfirmed(
    event: Event, sent: int, state: State
) -> None:
    """Every byte was handed on, and the server may have acted on the request."""
    assert begun(10).after(event, sent).state is state


@pytest.mark.parametrize(
    "event", [SessionLost("gone"), Rejected(Response(400))], ids=["lost", "refused"]
)
def test_an_unconfirmed_upload_that_nobody_can_ask_for_is_in_doubt(
    event: Event,
) -> None:
    """Where a repeat adds that is the end; where it replaces, the session ends as ever, and the
    doubt is remembered.
    """
    session = unconfirmed(at_most_once=True).after(event)
    assert (session.state, session.over, session.doubted) == (
        State.IN_DOUBT,
        True,
        True,
    )
    session = unconfirmed(at_most_once=False).after(event)
    assert session.state is TRANSITIONS[State.UNCONFIRMED][type(event)]
    assert session.doubted
    if session.state is State.NEW:
        assert session.after(STARTED).doubted, (
            "the next session may be refused because the first one had ended well"
        )


@pytest.mark.parametrize(
    "event", [DOUBT, TokenRejected(Response(401))], ids=["doubt", "token"]
)
def test_a_query_without_an_answer_changes_nothing_of_the_doubt(
    event: Event,
) -> None:
    """However often it is asked in vain, what became of the last byte's request is what is told."""
    session = unconfirmed(at_most_once=True)
    assert session.after(
        replace(DOUBT, why="busy") if event is DOUBT else event
    ) == replace(session, why="gone")


def test_a_server_that_holds_less_has_ended_the_doubt() -> None:
    """A lost session is then started over even where a repeat would add."""
    session = unconfirmed(at_most_once=True).after(Stored(9)).after(SessionLost("gone"))
    assert (session.state, session.doubted) == (State.NEW, False)


@pytest.mark.parametrize("unconfirmed", ["", "an earlier run may have sent all of it"])
def test_an_earlier_runs_session_is_in_doubt_only_where_all_may_have_been_sent(
    unconfirmed: str,
) -> None:
    """What the journal says of the last block decides what a lost session means."""
    session = Session(100, at_most_once=True).resume(
        "https://www.googleapis.com/s", GRANULE, unconfirmed
    )
    lost = session.after(SessionLost("gone"))
    assert lost.state is (State.IN_DOUBT if unconfirmed else State.NEW)


@given(
    size=st.integers(0, 1 << 30),
    chunk=st.none() | st.integers(1, 1 << 28),
    granularity=st.integers(1, 1 << 24),
    share=st.floats(0, 1),
)
def test_every_request_begins_at_the_servers_offset(
    size: int, chunk: int | None, granularity: int, share: float
) -> None:
    """A span begins where the server stands, stays inside the file, and is whole granules unless it
    is the last.
    """
    session = begun(size, chunk, granularity)
    session = session.after(DOUBT, size).after(Stored(int(size * share)))
    move = session.next_move()
    assert isinstance(move, Send)
    assert move.span.start == session.offset <= move.span.stop <= size
    assert move.final == (move.span.stop == size)
    assert move.final or move.span.size % granularity == 0
    assert move.span.size or move.final
