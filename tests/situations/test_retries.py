"""Situations that call for waiting, and those that end it: limits of rate and time, tokens, slow
and silent servers.
"""

from __future__ import annotations

import os
from email.utils import formatdate

import pytest

from tests.support.transfer_harness import (
    DIALECTS,
    EPOCH,
    GRANULE,
    STEPS,
    data_of,
    emulated,
    fault,
    job,
)
from uploader.errors import ApiError, CredentialsError, Interrupted, TemporaryError
from uploader.http.client import HttpClient, Timeouts
from uploader.http.messages import Request, Response
from uploader.services.base import Dialect

pytestmark = pytest.mark.parametrize("dialect", DIALECTS)
DATA = data_of(4 * GRANULE + 5)


def test_an_expired_token_is_renewed_and_the_offset_asked(dialect: Dialect) -> None:
    """401 to the second chunk: a fresh token, a query, and the rest, without a wait."""
    with emulated(
        fault(STEPS[dialect]["put"], "token-expired", nth=2), chunk=GRANULE
    ) as bench:
        result = bench.send(job(DATA, dialect))
        assert (result.error, bench.stored(), bench.fired()) == (
            "",
            [DATA],
            ["token-expired"],
        )
        assert (
            bench.login.renewals,
            bench.count(STEPS[dialect]["query"]),
            bench.naps,
        ) == (
            1,
            1,
            [],
        )


def test_a_token_that_expires_in_mid_body_costs_no_second_body(
    dialect: Dialect,
) -> None:
    """The 401 comes while the body is on its way; the body is not sent again before the offset is
    known.
    """
    with emulated(
        fault(STEPS[dialect]["put"], "token-expired", after=2 * GRANULE)
    ) as bench:
        result = bench.send(job(DATA, dialect))
        assert (result.error, bench.stored(), bench.fired()) == (
            "",
            [DATA],
            ["token-expired"],
        )
        assert bench.state()["sessions"][0]["bytes_repeated"] == 0


def test_the_token_is_renewed_once_for_each_stretch_of_progress(
    dialect: Dialect,
) -> None:
    """Every chunk may find the token expired, as long as the one before it was stored."""
    with emulated(
        *(
            [
                fault(STEPS[dialect]["put"], "token-expired", nth=nth)
                for nth in (1, 3, 5)
            ]
        ),
        chunk=GRANULE,
    ) as bench:
        result = bench.send(job(DATA, dialect))
        assert (result.error, bench.stored(), bench.login.renewals) == ("", [DATA], 3)


def test_a_second_401_without_progress_is_about_the_credentials(
    dialect: Dialect,
) -> None:
    """The fresh token is not accepted either: exit code 3, and no loop."""
    step = STEPS[dialect]
    with emulated(
        fault(step["put"], "token-expired"), fault(step["query"], "token-expired")
    ) as bench:
        result = bench.send(job(DATA, dialect))
        assert isinstance(result.failure, CredentialsError)
        assert (result.failure.exit_code, bench.login.renewals, bench.stored()) == (
            3,
            1,
            [],
        )


@pytest.mark.parametrize("reason", ["rateLimitExceeded", "userRateLimitExceeded"])
def test_a_rate_limit_is_waited_out(dialect: Dialect, reason: str) -> None:
    """403 with one of two reasons: wait, ask, go on."""
    with emulated(
        fault(STEPS[dialect]["put"], "status", status=403, reason=reason, nth=2),
        chunk=GRANULE,
    ) as bench:
        result = bench.send(job(DATA, dialect))
        assert (result.error, bench.stored(), bench.naps) == ("", [DATA], [1.0])
        assert bench.count(STEPS[dialect]["query"]) == 1


@pytest.mark.parametrize(
    "reason",
    ["forbidden", "insufficientPermissions", "dailyLimitExceeded", "quotaExceeded"],
)
def test_any_other_403_is_the_end(dialect: Dialect, reason: str) -> None:
    """What is not permitted now is not permitted a second later."""
    with emulated(
        fault(STEPS[dialect]["put"], "status", status=403, reason=reason, nth=2),
        chunk=GRANULE,
    ) as bench:
        result = bench.send(job(DATA, dialect))
        assert isinstance(result.failure, ApiError)
        assert (result.failure.reason, bench.naps, bench.stored()) == (reason, [], [])


@pytest.mark.parametrize("status", [403, 429])
def test_a_quota_of_the_day_is_not_waited_for(dialect: Dialect, status: int) -> None:
    """It ends at midnight, and not within the waits of a run: the refusal says so."""
    refused = fault(
        STEPS[dialect]["put"],
        "status",
        status=status,
        reason="rateLimitExceeded",
        message="Quota exceeded for limit 'Queries per day'.",
        nth=2,
    )
    with emulated(refused, chunk=GRANULE) as bench:
        result = bench.send(job(DATA, dialect))
        assert isinstance(result.failure, ApiError)
        assert (result.failure.code, result.failure.exit_code) == ("daily-quota", 4)
        assert "midnight Pacific time" in result.failure.hint
        assert (bench.naps, bench.stored()) == ([], [])


@pytest.mark.parametrize("status", [408, 429, 503])
def test_without_retry_after_the_schedule_holds(dialect: Dialect, status: int) -> None:
    """408, 429 and 503 without Retry-After: the first wait of the schedule, then the query."""
    with emulated(
        fault(STEPS[dialect]["put"], "status", status=status, after="end", nth=2),
        chunk=GRANULE,
    ) as bench:
        result = bench.send(job(DATA, dialect))
        assert (result.error, bench.stored(), bench.naps) == ("", [DATA], [1.0])
        assert bench.count(STEPS[dialect]["query"]) == 1


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize(
    ("wish", "waited"),
    [
        ("7", 7.0),
        (formatdate(EPOCH + 1000 + 20, usegmt=True), 20.0),
        (formatdate(EPOCH, usegmt=True), 0.0),
        ("9000", 300.0),
        (formatdate(EPOCH + 90_000, usegmt=True), 300.0),
        ("soon", 1.0),
        ("-7", 1.0),
        ("1.5", 1.0),
    ],
)
def test_retry_after_is_waited_for(
    dialect: Dialect, status: int, wish: str, waited: float
) -> None:
    """Seconds or a date, five minutes at most; nonsense leaves the schedule as it is."""
    with emulated(
        fault(STEPS[dialect]["put"], "status", status=status, retry_after=wish),
        chunk=GRANULE,
    ) as bench:
        result = bench.send(job(DATA, dialect))
        assert (result.error, bench.stored(), bench.naps) == ("", [DATA], [waited])


def test_retry_after_counts_as_a_retry(dialect: Dialect) -> None:
    """A server that says `Retry-After: 0` for ever is given up as soon as any other."""
    with emulated(
        fault(STEPS[dialect]["start"], "status", status=503, retry_after=0, times=99)
    ) as bench:
        result = bench.send(job(DATA, dialect))
        assert isinstance(result.failure, TemporaryError)
        assert (bench.naps, bench.count("upload")) == ([0.0] * 5, 6)


def test_a_wait_that_would_pass_the_deadline_is_not_begun(dialect: Dialect) -> None:
    """The run ends at once with exit code 75 instead of sleeping into its deadline."""
    with emulated(
        fault(STEPS[dialect]["put"], "status", status=503, retry_after=200),
        retry_deadline=150,
    ) as bench:
        result = bench.send(job(DATA, dialect))
        assert isinstance(result.failure, TemporaryError)
        assert (result.failure.exit_code, bench.naps, bench.stored()) == (75, [], [])
        assert "deadline" in result.error


def test_the_budget_is_full_again_after_progress(dialect: Dialect) -> None:
    """Eight interruptions with one retry allowed: each comes after progress, so none is the
    last.
    """
    faults = [
        fault(STEPS[dialect]["put"], "reset", after="end", stored=GRANULE, nth=nth)
        for nth in range(1, 9)
    ]
    with emulated(*faults, chunk=2 * GRANULE, max_retries=1) as bench:
        result = bench.send(job(data_of(12 * GRANULE), dialect))
        assert (result.error, bench.naps, result.retries) == ("", [1.0] * 8, 8)
        assert bench.fired() == ["reset"] * 8


def test_without_progress_the_budget_is_spent(dialect: Dialect) -> None:
    """Chunk after chunk fails and nothing is stored: the schedule once, then exit code 75; the
    session stays.
    """
    with emulated(
        fault(STEPS[dialect]["put"], "status", status=500, times=99, nth=3),
        chunk=GRANULE,
    ) as bench:
        result = bench.send(job(DATA, dialect))
        assert isinstance(result.failure, TemporaryError)
        assert (bench.naps, bench.stored()) == ([1.0, 2.0, 4.0, 8.0, 16.0], [])
        assert bench.state()["sessions"][0]["state"] == "open"


def test_progress_does_not_move_the_deadline(dialect: Dialect) -> None:
    """However often the offset advances, no attempt follows a failure after the deadline."""
    faults = [
        fault(STEPS[dialect]["put"], "reset", after="end", stored=GRANULE, nth=nth)
        for nth in range(1, 9)
    ]
    with emulated(*faults, chunk=2 * GRANULE, retry_deadline=5) as bench:
        result = bench.send(job(data_of(12 * GRANULE), dialect))
        assert isinstance(result.failure, TemporaryError)
        assert bench.naps == [1.0] * 4


@pytest.mark.slow
def test_a_server_that_stops_reading_is_left_and_asked(dialect: Dialect) -> None:
    """A write that blocks for the stall limit breaks the connection; the offset is asked over a new
    one.
    """
    data = os.urandom(24 << 20)
    with emulated(
        fault(STEPS[dialect]["put"], "stall", after=GRANULE, seconds=30), stall=1.0
    ) as bench:
        result = bench.send(job(data, dialect))
        assert (result.error, bench.stored() == [data], bench.fired()) == (
            "",
            True,
            ["stall"],
        )
        assert bench.naps == [1.0]
        assert bench.count(STEPS[dialect]["query"]) == 1


def test_a_slow_finalise_is_waited_for(dialect: Dialect) -> None:
    """The answer to the last byte may take longer than the stall limit: it is not sent again, nor
    asked for.
    """
    with emulated(
        fault(STEPS[dialect]["final"], "slow-answer", seconds=0.6),
        stall=0.3,
        finalize=10,
    ) as bench:
        result = bench.send(job(DATA, dialect))
        assert (result.error, bench.stored(), bench.fired()) == (
            "",
            [DATA],
            ["slow-answer"],
        )
        assert (bench.naps, result.attempts, bench.count(STEPS[dialect]["query"])) == (
            [],
            1,
            0,
        )


def test_after_the_finalise_timeout_the_offset_is_asked(dialect: Dialect) -> None:
    """The answer takes too long: the query shows that the upload is complete, and no byte goes
    twice.
    """
    with emulated(
        fault(STEPS[dialect]["final"], "slow-answer", seconds=30), finalize=0.3
    ) as bench:
        result = bench.send(job(DATA, dialect))
        assert (result.error, bench.stored(), bench.fired()) == (
            "",
            [DATA],
            ["slow-answer"],
        )
        assert (bench.naps, result.attempts, result.bytes_resent) == ([1.0], 1, 0)


def test_only_the_last_byte_gets_the_long_wait(dialect: Dialect) -> None:
    """`finalize-timeout` holds for the answer to the last byte; every other answer has the stall
    limit.
    """
    seen: list[float] = []

    class Watching(HttpClient):
        def send(
            self, request: Request, blocks: object, token: str, timeouts: Timeouts
        ) -> Response:
            seen.append(timeouts.response)
            return super().send(request, blocks, token, timeouts)  # type: ignore[arg-type]  # passed on as it came

    with emulated(
        fault(STEPS[dialect]["put"], "reset"),
        chunk=3 * GRANULE,
        stall=30,
        finalize=600,
        transport=Watching(),
    ) as bench:
        assert bench.send(job(DATA, dialect)).error == ""
    assert seen == [30, 30, 30, 30, 600]


def test_a_stop_ends_the_upload_and_keeps_the_session(dialect: Dialect) -> None:
    """SIGTERM in mid-upload: exit code 143, no cancel, the session lives on for the next run."""
    with emulated(chunk=GRANULE) as bench:
        bench.reporter.hook = lambda offset: (
            bench.cancellation.cancel(15) if offset >= 2 * GRANULE else None
        )
        result = bench.send(job(DATA, dialect))
        assert isinstance(result.failure, Interrupted)
        assert (result.failure.exit_code, bench.naps, bench.stored()) == (143, [], [])
        assert bench.state()["sessions"][0]["state"] == "open"
