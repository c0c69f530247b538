"""How long, how often and until when: the documented schedule, Retry-After, the budget, the
deadline; and polling.
"""

from __future__ import annotations

from contextlib import nullcontext
from datetime import datetime, timedelta, timezone
from email.utils import format_datetime, formatdate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.transfer_harness import Bench, FakeTime
from uploader.cancellation import Cancellation
from uploader.errors import Interrupted, TemporaryError
from uploader.http.headers import Headers
from uploader.http.messages import Response, TransportError
from uploader.retry import (
    MAX_RETRY_AFTER,
    Retrier,
    RetryPolicy,
    Wait,
    backoff,
    retry_after,
)
from uploader.services.base import Context, Outcome

NOW = 1_445_412_480.0  # Wed, 21 Oct 2015 07:28:00 GMT
BUSY = Response(503)


def http_date(seconds: float) -> str:
    return formatdate(NOW + seconds, usegmt=True)


WAITS = [
    ("0", 0.0),
    ("7", 7.0),
    ("007", 7.0),
    ("300", 300.0),
    ("301", MAX_RETRY_AFTER),
    ("9" * 400, MAX_RETRY_AFTER),
    (http_date(20), 20.0),
    (http_date(-20), 0.0),
    (http_date(9000), MAX_RETRY_AFTER),
    ("Wednesday, 21-Oct-15 07:28:09 GMT", 9.0),
    ("Wed Oct 21 07:28:09 2015", 9.0),
    (
        format_datetime(datetime.fromtimestamp(NOW + 5, timezone(timedelta(hours=2)))),
        5.0,
    ),
]


@pytest.mark.parametrize(("value", "seconds"), WAITS)
def test_retry_after_in_seconds_or_as_a_date(value: str, seconds: float) -> None:
    """RFC 9110, section 10.2.3, with the two older date forms of section 5.6.7; five minutes at
    most.
    """
    for status in (429, 503):
        assert retry_after(
            Response(status, Headers({"Retry-After": value})), NOW
        ) == pytest.approx(seconds)


@pytest.mark.parametrize(
    "value",
    [
        "",
        "soon",
        "-5",
        "1.5",
        "1e3",
        "5 s",
        "\u0665",
        "Wed, 99 Oct 2015 07:28:00 GMT",
        "0x10",
    ],
)
def test_retry_after_nonsense_is_ignored(value: str) -> None:
    """What is neither seconds nor a date leaves the wait to the schedule."""
    assert retry_after(Response(503, Headers({"Retry-After": value})), NOW) is None


def test_retry_after_counts_on_429_and_503_alone() -> None:
    """On other responses the header means something else, or nothing."""
    for status in (200, 301, 403, 408, 500, 502, 504):
        assert retry_after(Response(status, Headers({"Retry-After": "7"})), NOW) is None
    assert retry_after(Response(503), NOW) is None
    assert retry_after(TransportError("gone", sent_whole=True), NOW) is None


def test_the_schedule_is_two_to_the_n_plus_milliseconds() -> None:
    """1, 2, 4, 8, 16 seconds, each plus whole milliseconds from 0 to 1000."""
    assert [backoff(n, 0.0) for n in range(5)] == [1.0, 2.0, 4.0, 8.0, 16.0]
    assert backoff(0, 0.999999) == 2.0
    assert backoff(3, 0.5) == pytest.approx(8.5)
    assert (backoff(0, 0.12345) * 1000) % 1 == pytest.approx(0)


@given(st.integers(0, 10**6), st.floats(0, 1, exclude_max=True))
def test_every_delay_stays_under_a_minute(attempt: int, fraction: float) -> None:
    """However long the trouble lasts, no wait reaches a minute."""
    assert 1 <= backoff(attempt, fraction) < 60


@given(
    st.text(max_size=60)
    | st.builds(
        "{}, {} {} {} {}:{}:{} {}".format,
        *[st.text(max_size=4) | st.integers(-5, 99999)] * 8,
    )
)
def test_no_retry_after_raises(value: str) -> None:
    """Dates out of every range are nonsense, not exceptions."""
    seconds = retry_after(Response(503, Headers({"Retry-After": value})), NOW)
    assert seconds is None or 0 <= seconds <= MAX_RETRY_AFTER


# --- the waits of one operation -------------------------------------------------------------------


class Operation:
    """A policy and one operation's retrier, with the waits that were reported."""

    def __init__(self, max_retries: int = 5, retry_deadline: float = 1800.0) -> None:
        self.time = FakeTime()
        self.cancellation = Cancellation()
        self.policy = RetryPolicy(
            self.time.clock(), self.cancellation, max_retries, retry_deadline
        )
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
    assert operation.retrier.retries == 5
    with pytest.raises(TemporaryError) as caught:
        operation.retrier.wait("the server answered 503", BUSY)
    assert (
        caught.value.what
        == "Gave up after 5 retries without progress; last error: the server answered 503."
    )
    assert len(operation.time.naps) == 5


def test_at_once_skips_the_first_sleep_alone(operation: Operation) -> None:
    """It costs no time and is reported as such, but it is spent: the next one sleeps as the second
    wait.
    """
    for _ in range(2):
        operation.retrier.wait("nothing was stored", at_once=True)
    assert operation.time.naps == [2.0]
    assert [str(wait) for wait in operation.reported] == [
        "Nothing was stored; trying again at once.",
        "Nothing was stored; trying again in 2.0 s (retry 2 of 5).",
    ]


@pytest.mark.parametrize(
    ("now", "asked", "naps"),
    [(0, "", [1.0]), (98.9, "", [1.0]), (99, "", []), (95, "5", []), (94, "5", [5.0])],
)
def test_no_wait_passes_the_deadline(now: float, asked: str, naps: list[float]) -> None:
    """A wait that would end at or after the deadline is not begun."""
    operation = Operation(retry_deadline=100.0)
    operation.time.now += now
    with nullcontext() if naps else pytest.raises(TemporaryError):
        operation.retrier.wait("busy", Response(503, Headers({"Retry-After": asked})))
    assert operation.time.naps == naps


def test_a_cancelled_run_waits_no_further(operation: Operation) -> None:
    """The wait during which the run is cancelled ends as the interruption, and does not count."""
    operation.policy.clock.sleep = lambda _: operation.cancellation.cancel(15)
    with pytest.raises(Interrupted):
        operation.retrier.wait("busy")
    assert operation.retrier.retries == 0


# --- looks at something that takes hours ----------------------------------------------------------


def looks(timeout: float) -> tuple[list[bool], Bench]:
    """A flow that pauses until there is no time left: the answers, and the bench that it ran on."""
    bench, responses = Bench("http://127.0.0.1:1"), list[bool]()

    def flow(context: Context) -> Outcome:
        poll = context.poll(timeout)
        for _ in range(1, 20):
            responses.append(poll.wait("the review is not through"))
            if not responses[-1]:
                break
        return Outcome("done")

    bench.engine.run(flow)
    return responses, bench


def test_looks_come_at_growing_intervals_up_to_the_deadline() -> None:
    """15 s, twice as long each time, ten minutes at most, and a last look when the time is up; each
    is told.
    """
    responses, bench = looks(2400)
    assert bench.time.naps == [15, 30, 60, 120, 240, 480, 600, 600, 255]
    assert responses == [True] * 9 + [False]
    assert (
        bench.reporter.infos[0] == "The review is not through; looking again in 15 s."
    )


def test_no_time_is_one_look() -> None:
    """With a deadline of 0 s nothing is waited for."""
    responses, bench = looks(0)
    assert (responses, bench.time.naps) == ([False], [])
