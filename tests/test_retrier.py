"""The waits of one operation: how long, how often, until when; and how short the way is from a 503 to its wait."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from types import FrameType

import pytest

import uploader
from tests.support.transfer_harness import Bench, FakeTime, in_memory, job
from uploader.cancellation import Cancellation
from uploader.errors import Interrupted, TemporaryError
from uploader.http.client import Timeouts
from uploader.http.messages import Block, Headers, Request, Response, TransportError
from uploader.retrier import Retrier, RetryPolicy, Wait
from uploader.services.base import Call, Context, Flow, Outcome, Sleep

CLIENT = str(Path(uploader.__file__).parent)
BUSY = Response(503)


class Operation:
    """A policy and one operation's retrier, with the waits that were reported."""

    def __init__(self, max_retries: int = 5, retry_deadline: float = 1800.0) -> None:
        self.time = FakeTime()
        self.cancellation = Cancellation()
        self.policy = RetryPolicy(self.time.clock(), self.cancellation, max_retries, retry_deadline)
        self.reported: list[Wait] = []
        self.retrier: Retrier = self.policy.retrier(self.reported.append)


@pytest.fixture
def operation() -> Operation:
    """An operation with five waits and half an hour."""
    return Operation()


def test_the_waits_follow_the_schedule_and_are_counted(operation: Operation) -> None:
    """1, 2, 4, 8, 16 seconds, then a temporary error that says after how many waits."""
    for _ in range(5):
        operation.retrier.wait("the server answered 503", BUSY)
    assert operation.time.naps == [1.0, 2.0, 4.0, 8.0, 16.0]
    assert (operation.retrier.retries, operation.retrier.waited) == (5, 31.0)
    with pytest.raises(TemporaryError) as caught:
        operation.retrier.wait("the server answered 503", BUSY)
    assert caught.value.what == "Gave up after 5 retries without progress; last error: the server answered 503."
    assert len(operation.time.naps) == 5


def test_the_server_says_how_long(operation: Operation) -> None:
    """`Retry-After` replaces the schedule for that wait, which counts all the same."""
    operation.retrier.wait("busy", Response(429, Headers({"Retry-After": "7"})))
    operation.retrier.wait("busy", TransportError("reset", sent_whole=False))
    assert operation.time.naps == [7.0, 2.0]


def test_progress_gives_every_wait_back(operation: Operation) -> None:
    """The schedule begins anew, and so does the right to renew the token; the totals go on."""
    assert [operation.retrier.may_renew(), operation.retrier.may_renew()] == [True, False]
    operation.retrier.wait("busy")
    operation.retrier.progressed()
    operation.retrier.wait("busy")
    assert operation.time.naps == [1.0, 1.0]
    assert operation.retrier.may_renew()
    assert operation.retrier.retries == 2


def test_no_wait_passes_the_runs_deadline() -> None:
    """The deadline counts from the run's first operation, for every operation; the refused wait is not begun."""
    operation = Operation(retry_deadline=10.0)
    operation.time.now += 4.0
    later = operation.policy.retrier(operation.reported.append)
    for _ in range(2):
        later.wait("busy")
    with pytest.raises(TemporaryError, match=r"past the retry deadline \(10 s\); last error: busy\."):
        later.wait("busy")
    assert operation.time.naps == [1.0, 2.0]


def test_at_once_skips_the_first_sleep_alone(operation: Operation) -> None:
    """It costs no time and is reported as such, but it is spent: the next one sleeps as the second wait."""
    for _ in range(2):
        operation.retrier.wait("nothing was stored", at_once=True)
    assert operation.time.naps == [2.0]
    assert [str(wait) for wait in operation.reported] == [
        "Nothing was stored; trying again at once.",
        "Nothing was stored; trying again in 2.0 s (retry 2 of 5).",
    ]


def test_each_wait_is_reported_before_it_begins(operation: Operation) -> None:
    """Whoever reads the log knows why nothing happens, how long, and how often it may happen again."""
    seen: list[int] = []
    clock = operation.policy.clock
    sleep = clock.sleep

    def noting(seconds: float) -> None:
        seen.append(len(operation.reported))
        sleep(seconds)

    clock.sleep = noting
    operation.retrier.wait("the server answered 503", BUSY)
    assert seen == [1]
    assert str(operation.reported[0]) == "The server answered 503; trying again in 1.0 s (retry 1 of 5)."


def test_the_cause_is_told_when_no_wait_is_left() -> None:
    """What the caller knows of the trouble stands in the error instead of the usual cause."""
    with pytest.raises(TemporaryError) as caught:
        Operation(max_retries=0).retrier.wait("busy", cause="Another job holds the lock.")
    assert caught.value.cause == "Another job holds the lock."
    assert caught.value.what == "Gave up without a retry (`max-retries` is 0); last error: busy."


def test_a_cancelled_run_waits_no_further(operation: Operation) -> None:
    """The wait during which the run is cancelled ends as the interruption, and does not count."""
    operation.policy.clock.sleep = lambda _: operation.cancellation.cancel(15)
    with pytest.raises(Interrupted):
        operation.retrier.wait("busy")
    assert operation.retrier.retries == 0


# --- from the answer to the wait --------------------------------------------------------------------------------------


class Answers:
    """A transport with prepared answers; what is called after a 503 until the sleep is written down."""

    def __init__(self, *responses: Response) -> None:
        self._answers = list(responses)
        self.calls: list[str] = []

    def send(self, request: Request, blocks: Iterable[Block], token: str, timeouts: Timeouts) -> Response:
        del request, token, timeouts
        for _ in blocks:
            pass
        response = self._answers.pop(0)
        if response.status == 503:
            sys.setprofile(self._note)
        return response

    def abort(self) -> None:
        """Has no connection to break."""

    def _note(self, frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(CLIENT):
            self.calls.append(f"{Path(frame.f_code.co_filename).name}:{frame.f_code.co_name}")


def a_call(_: Context) -> Flow:
    yield Call("GET", "https://things.googleapis.com", "/things/v1/items")
    return Outcome("done")


def an_upload(_: Context) -> Flow:
    yield job(in_memory(b"content"))
    return Outcome("done")


STARTED = Response(200, Headers({"Location": "http://127.0.0.1:9/session?upload_id=1"}))
STORED = Response(200, body=b'{"id": "1"}')


@pytest.mark.parametrize(
    ("flow", "responses"),
    [(a_call, (BUSY, STORED)), (an_upload, (STARTED, BUSY, Response(308), STORED))],
    ids=["call", "resumable upload"],
)
def test_a_503_is_not_far_from_its_wait(flow: Callable[[Context], Flow], responses: tuple[Response, ...]) -> None:
    """Whoever asks why a run waits has few functions to read: those that ran in between, and those on the stack."""
    transport = Answers(*responses)
    bench = Bench("http://127.0.0.1:9", transport=transport)
    clock = bench.client.policy.clock
    sleep, stack = clock.sleep, list[str]()

    def measuring(seconds: float) -> None:
        sys.setprofile(None)
        frame: FrameType | None = sys._getframe(1)  # the stack itself is what is measured
        while frame is not None:
            if frame.f_code.co_filename.startswith(CLIENT):
                stack.append(frame.f_code.co_name)
            frame = frame.f_back
        sleep(seconds)

    clock.sleep = measuring
    bench.engine.run(flow)
    assert bench.naps == [1.0]
    assert (stack[0], stack[-1]) == ("wait", "run")
    assert len(stack) <= 12, stack
    assert len(transport.calls) <= 16, transport.calls


# --- looks at something that takes hours ------------------------------------------------------------------------------


def looks(most: float) -> tuple[list[bool], Bench]:
    """A flow that pauses until there is no time left: the answers, and the bench that it ran on."""
    bench, responses = Bench("http://127.0.0.1:1"), list[bool]()

    def flow(_: Context) -> Flow:
        for number in range(1, 20):
            responses.append((yield Sleep(number, "the review is not through", most)))
            if not responses[-1]:
                break
        return Outcome("done")

    bench.engine.run(flow)
    return responses, bench


def test_looks_come_at_growing_intervals_up_to_the_deadline() -> None:
    """15 s, twice as long each time, ten minutes at most, and a last look when the time is up; each is told."""
    responses, bench = looks(2400)
    assert bench.time.naps == [15, 30, 60, 120, 240, 480, 600, 600, 255]
    assert responses == [True] * 9 + [False]
    assert bench.reporter.infos[0] == "The review is not through; looking again in 15 s."


def test_no_time_is_one_look() -> None:
    """With a deadline of 0 s nothing is waited for."""
    responses, bench = looks(0)
    assert (responses, bench.time.naps) == ([False], [])


def test_a_pause_ends_with_the_run(operation: Operation) -> None:
    """A cancelled run looks no further."""
    operation.cancellation.cancel(15)
    with pytest.raises(Interrupted):
        operation.policy.watch(lambda _: None, 60).wait("it takes its time")
