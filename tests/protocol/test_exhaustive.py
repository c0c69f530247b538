"""Every word of up to six faults, for whole and chunked uploads: never a hole, a double, a false
success or a loop.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.abstract_server import FAULTS, Server
from uploader.protocol.session import (
    Chunking,
    OffsetUnknown,
    QueryOffset,
    Send,
    Session,
    Start,
    State,
    Stored,
    TokenRejected,
)

pytestmark = pytest.mark.slow

# bytes: with chunks of two, every position of a fault (first, middle, last, finished) occurs
SIZE = 4


def explore(
    depth: int,
    chunk: int | None,
    *,
    at_most_once: bool = False,
    extra: tuple[str, ...] = (),
) -> dict[State, int]:
    """Follows every sequence of faults of that length and counts the ends; asserts the invariants
    in every state.

    Positions that were seen with as many faults left are not walked again: the machine and the
    server have no memory beyond their frozen values, so their futures are the same.
    """
    ends: dict[State, int] = {}
    seen: set[tuple[object, ...]] = set()
    todo = [(Session(SIZE, Chunking(chunk), at_most_once), Server(SIZE), depth, 0)]
    while todo:
        session, server, left, idle = todo.pop()
        assert server.finals <= 1, "two objects were made"
        assert server.holes == 0, "a span began past what the server holds"
        if session.over:
            check_end(session, server)
            ends[session.state] = ends.get(session.state, 0) + 1
            continue
        assert idle <= 4 + 2 * depth, f"no progress after {idle} moves in {session}"
        for fault in (*FAULTS, *extra) if left else ("none",):
            after, answered = step(session, server, fault)
            after = replace(after, why="", response=None)  # which nothing depends on
            progress = after.offset > session.offset or after.over
            position = (
                after,
                answered,
                left - (fault != "none"),
                0 if progress else idle + 1,
            )
            if position not in seen:
                seen.add(position)
                todo.append(position)
    return ends


def step(session: Session, server: Server, fault: str) -> tuple[Session, Server]:
    """One move, its answer, and the machine's next state."""
    move = session.next_move()
    server, event = server.response(move, fault)
    after = session.after(event, move.span.stop if isinstance(move, Send) else 0)
    if isinstance(event, Stored) and not after.over:
        assert after.offset == event.offset, "the offset is the server's word alone"
    if isinstance(event, (OffsetUnknown, TokenRejected)) and not isinstance(
        move, Start
    ):
        assert after.next_move() == QueryOffset(), "bytes are never sent again blindly"
    return after, server


def check_end(session: Session, server: Server) -> None:
    """A success is one object made from all bytes.

    One lie is beyond any protocol: to call the upload complete when everything was sent and
    something was lost. That one is the digest's to catch, and the tests of the transfer show that
    it does.
    """
    if session.state is State.COMPLETE:
        assert session.sent == SIZE
        assert server.finals == 1 or server.lied


@pytest.mark.parametrize("chunk", [None, 1, 2, 3])
def test_no_sequence_of_up_to_six_faults_leads_to_a_hole_a_double_or_a_loop(
    chunk: int | None,
) -> None:
    """Whatever six faults come in whatever order, the upload ends whole, or refused, and never in
    between.
    """
    ends = explore(6, chunk)
    assert set(ends) <= {State.COMPLETE, State.VIOLATED, State.LOST_TOO_OFTEN}
    assert ends[State.COMPLETE] > 0
    assert ends[State.VIOLATED] > 0


@pytest.mark.parametrize("chunk", [None, 2])
def test_what_may_not_be_doubled_is_never_begun_again_once_it_may_be_there(
    chunk: int | None,
) -> None:
    """With every word of five faults, and a server that forgets what it finished: one object, or
    the doubt is told.
    """
    ends = explore(5, chunk, at_most_once=True, extra=("forgotten",))
    assert set(ends) <= {
        State.COMPLETE,
        State.VIOLATED,
        State.LOST_TOO_OFTEN,
        State.IN_DOUBT,
    }
    assert ends[State.IN_DOUBT] > 0
