"""Whether, how long and until when: the documented schedule, every form of Retry-After, the budget, the deadline."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from email.utils import format_datetime, formatdate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.words import responses
from uploader.http.messages import Headers, Response, TransportError
from uploader.protocol.retry import LONGEST_RETRY_AFTER, Verdict, backoff, next_wait, retry_after, verdict

NOW = 1_445_412_480.0  # Wed, 21 Oct 2015 07:28:00 GMT
RATE = b'{"error": {"errors": [{"reason": "%s"}]}}'

VERDICTS = [
    *((status, Verdict.SUCCESS) for status in (200, 201, 204, 299)),
    *((status, Verdict.RETRY) for status in (408, 429, 500, 501, 502, 503, 504, 599)),
    *((status, Verdict.GONE) for status in (404, 410)),
    *(
        (status, Verdict.REFUSED)
        for status in (100, 301, 302, 307, 308, 400, 402, 403, 405, 409, 411, 412, 413, 416, 499)
    ),
    (401, Verdict.RENEW),
]


@pytest.mark.parametrize(("status", "expected"), VERDICTS)
def test_each_status_has_its_verdict(status: int, expected: Verdict) -> None:
    """5xx, 408 and 429 are worth another try, the rest is not."""
    assert verdict(Response(status)) is expected


def test_a_broken_connection_is_worth_another_try() -> None:
    """Nothing was said, so nothing was refused."""
    assert verdict(TransportError("reset", sent_whole=False)) is Verdict.RETRY


@pytest.mark.parametrize("reason", [b"rateLimitExceeded", b"userRateLimitExceeded"])
def test_a_403_for_the_rate_means_slower(reason: bytes) -> None:
    """Two reasons turn a 403 into a retry."""
    assert verdict(Response(403, body=RATE % reason)) is Verdict.RETRY


@pytest.mark.parametrize(
    "body", [b"", b"<html>", b"{}", RATE % b"forbidden", RATE % b"dailyLimitExceeded", b'{"error": 3}']
)
def test_any_other_403_is_a_no(body: bytes) -> None:
    """Without one of the two reasons a 403 stays what it is."""
    assert verdict(Response(403, body=body)) is Verdict.REFUSED


def http_date(seconds: float) -> str:
    return formatdate(NOW + seconds, usegmt=True)


WAITS = [
    ("0", 0.0),
    ("7", 7.0),
    ("007", 7.0),
    ("300", 300.0),
    ("301", LONGEST_RETRY_AFTER),
    ("9" * 400, LONGEST_RETRY_AFTER),
    (http_date(20), 20.0),
    (http_date(-20), 0.0),
    (http_date(9000), LONGEST_RETRY_AFTER),
    ("Wednesday, 21-Oct-15 07:28:09 GMT", 9.0),
    ("Wed Oct 21 07:28:09 2015", 9.0),
    (format_datetime(datetime.fromtimestamp(NOW + 5, timezone(timedelta(hours=2)))), 5.0),
]


@pytest.mark.parametrize(("value", "seconds"), WAITS)
def test_retry_after_in_seconds_or_as_a_date(value: str, seconds: float) -> None:
    """RFC 9110, section 10.2.3, with the two older date forms of section 5.6.7; five minutes at most."""
    for status in (429, 503):
        assert retry_after(Response(status, Headers({"Retry-After": value})), NOW) == pytest.approx(seconds)


@pytest.mark.parametrize(
    "value", ["", "soon", "-5", "1.5", "1e3", "5 s", "\u0665", "Wed, 99 Oct 2015 07:28:00 GMT", "0x10"]
)
def test_retry_after_nonsense_is_ignored(value: str) -> None:
    """What is neither seconds nor a date leaves the wait to the schedule."""
    assert retry_after(Response(503, Headers({"Retry-After": value})), NOW) is None


def test_retry_after_counts_on_429_and_503_alone() -> None:
    """On other answers the header means something else, or nothing."""
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


def test_the_waits_are_spent_one_by_one() -> None:
    """Five waits by default schedule, then no more."""
    waits = [next_wait(spent, 5, time_left=1e9, fraction=0.0) for spent in range(6)]
    assert waits == [1.0, 2.0, 4.0, 8.0, 16.0, None]


@pytest.mark.parametrize(
    ("now", "asked", "seconds"), [(0, None, 1.0), (98.9, None, 1.0), (99, None, None), (95, 5, None), (94, 5, 5)]
)
def test_no_wait_passes_the_deadline(now: float, asked: float | None, seconds: float | None) -> None:
    """A wait that would end at or after the deadline is not begun."""
    assert next_wait(0, 5, time_left=100.0 - now, fraction=0.0, asked=asked) == seconds


def test_the_servers_wish_replaces_the_schedule_and_counts() -> None:
    """What the server asks for is waited instead of the own delay, and is a wait like any other."""
    assert next_wait(0, 1, time_left=1000.0, fraction=0.0, asked=120.0) == 120.0
    assert next_wait(1, 1, time_left=1000.0, fraction=0.0, asked=120.0) is None


@given(responses(["Retry-After"]))
def test_no_answer_raises(response: Response) -> None:
    """Any status, header and body has a verdict, and a wait between 0 and five minutes or none."""
    assert verdict(response) in Verdict
    seconds = retry_after(response, NOW)
    assert seconds is None or 0 <= seconds <= LONGEST_RETRY_AFTER


@given(
    st.text(max_size=60)
    | st.builds("{}, {} {} {} {}:{}:{} {}".format, *[st.text(max_size=4) | st.integers(-5, 99999)] * 8)
)
def test_no_retry_after_raises(value: str) -> None:
    """Dates out of every range are nonsense, not exceptions."""
    seconds = retry_after(Response(503, Headers({"Retry-After": value})), NOW)
    assert seconds is None or 0 <= seconds <= LONGEST_RETRY_AFTER
