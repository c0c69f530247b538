"""Retries: how long to wait as pure functions, when to give up, and the one place where a run
sleeps.

The documented schedule: wait 2^n seconds plus a random number of milliseconds up to 1000, drawn
anew each time, for n = 0, 1, 2, …; by default five waits without progress, about 32 s in all; each
delay stays under a minute (developers.google.com/android-publisher/upload, "Best practices").

A run has one `RetryPolicy`; each operation (an upload, a call, the fetching of a token) takes a
`Retrier` from it, asks it to wait before another attempt, and tells it when the server made
progress. The function that logs a wait is passed in.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Final, TypeAlias

from uploader import error_table, tasks
from uploader.cancellation import Cancellation
from uploader.clock import Clock
from uploader.errors import TemporaryError
from uploader.http.messages import Response, TransportError
from uploader.protocol.google_error import is_too_fast, last_words
from uploader.text import capitalise

Result: TypeAlias = Response | TransportError  # what an attempt came to

MAX_BACKOFF = 58.0  # seconds, so that with jitter each delay stays under a minute
MAX_RETRY_AFTER = 300.0  # seconds
FIRST_POLL = 15.0  # seconds
LONGEST_POLL = 40  # times the first
CAUSE = "The service or the network is having problems."
TOO_FAST = (
    "A quota is used up for the moment: Google counts requests, by minute or by user."
)
HINT = "Run again later."
# Cause and hint if it is known why the service can't be reached, by the code of a broken
# connection.
ADVICE: Final[Mapping[str, tuple[str, str]]] = {
    entry.code: (entry.texts["cause"], entry.texts["hint"])
    for entry in error_table.of_source("network")
}


def retry_after(response: Result, wall_clock: float) -> float | None:
    """Return the seconds that the server asks us to wait (RFC 9110, section 10.2.3), at most five
    minutes; None if it does not ask, or the value is malformed.

    `wall_clock` is the time in seconds since the epoch, needed for the date form. The header is
    read on 429 and 503 alone.
    """
    if isinstance(response, TransportError) or response.status not in (429, 503):
        return None
    value = response.headers.get("retry-after") or ""
    if value.isascii() and value.isdigit():
        # More digits than any sane wait has: do not build a huge number only to cut it down.
        if len(value) >= 20:
            return MAX_RETRY_AFTER
        return min(float(value), MAX_RETRY_AFTER)
    try:
        seconds = parsedate_to_datetime(value).timestamp() - wall_clock
    except (ValueError, TypeError, OverflowError):
        return None
    return min(max(seconds, 0.0), MAX_RETRY_AFTER)


def backoff(attempt: int, fraction: float) -> float:
    """Return the seconds to wait before retry number `attempt` (0, 1, 2, …); `fraction` is random
    in [0, 1).
    """
    power_of_two = math.ldexp(1.0, min(attempt, 16))
    jitter = math.floor(fraction * 1001) / 1000
    return min(power_of_two, MAX_BACKOFF) + jitter


@dataclass(frozen=True)
class Wait:
    """One wait before another attempt, reported before it begins: `why`, `seconds`, and its
    `number`.
    """

    why: str
    seconds: float
    number: int
    max_retries: int

    def __str__(self) -> str:
        if not self.seconds:
            return f"{capitalise(self.why)}; trying again at once."
        number = f"retry {self.number} of {self.max_retries}"
        return (
            f"{capitalise(self.why)}; trying again in {self.seconds:.1f} s ({number})."
        )


Report = Callable[[Wait], None]


class RetryPolicy:
    """How a run tries again: `max_retries` waits without progress, none that would end after the
    run's deadline.

    The deadline is `retry_deadline` seconds after the run's first operation began. `out_of_time`
    becomes true when an operation is given up because of it: then no other file is begun. A run in
    which nothing fails may go on past the deadline.
    """

    def __init__(
        self,
        clock: Clock,
        cancellation: Cancellation,
        max_retries: int,
        retry_deadline: float,
    ) -> None:
        self.clock = clock
        self.cancellation = cancellation
        self.max_retries = max_retries
        self.retry_deadline = retry_deadline
        self.out_of_time = False
        self._deadline: float | None = None

    def retrier(
        self,
        report: Report,
        what: str = "",
        seconds: float | None = None,
    ) -> Retrier:
        """Return the retrier of an operation that begins now. Each wait is reported to `report`;
        `what` names the operation in the error when it is given up; no wait may end later than
        `seconds` from now.
        """
        now = self.clock.monotonic()
        if self._deadline is None:
            self._deadline = now + self.retry_deadline
        if seconds is not None and now + seconds < self._deadline:
            return Retrier(self, report, now + seconds, what, seconds)
        return Retrier(self, report, self._deadline, what)

    def poll(
        self,
        why: str,
        number: int,
        end: float,
        report: Callable[[str], None],
        first: float = FIRST_POLL,
    ) -> bool:
        """Sleep until the next look at something that takes time to be ready. Return False, without
        a sleep, if no time is left until `end`.

        Pause `number` 1 takes `first` seconds, each further one twice as long, up to 40 times the
        first. `end` is on the monotonic clock. Raises `Interrupted` and `Stopped` as `sleep` does.
        """
        left = end - self.clock.monotonic()
        if left <= 0:
            return False
        pause = math.ldexp(first, min(number - 1, 16))
        seconds = min(pause, first * LONGEST_POLL, left)
        report(f"{capitalise(why)}; looking again in {seconds:.0f} s.")
        self.sleep(seconds)
        return True

    def sleep(self, seconds: float) -> None:
        """Sleep. This is the only place where a run sleeps.

        Raises `Interrupted` when the run is cancelled, and `Stopped` if another task of the
        caller's group has failed.
        """
        while tasks.in_group() and seconds > 1.0:
            # Others may fail meanwhile, which ends this wait as well.
            self._sleep(1.0)
            seconds -= 1.0
        self._sleep(seconds)

    def _sleep(self, seconds: float) -> None:
        self.clock.sleep(seconds)
        self.cancellation.check()
        tasks.check()


class Retrier:
    """The waits of one operation, until `deadline` on the monotonic clock; `retries` counts them.
    `seconds` is given if the deadline is the operation's own, and not the run's.
    """

    def __init__(
        self,
        policy: RetryPolicy,
        report: Report,
        deadline: float,
        what: str = "",
        seconds: float | None = None,
    ) -> None:
        self._policy = policy
        self._report = report
        self._deadline = deadline
        self._what = what
        self._seconds = seconds
        self._spent = 0
        self._renewed = False
        self.retries = 0

    def progressed(self) -> None:
        """Note that the server advanced: everything may be tried as often as at the start."""
        self._spent = 0
        self._renewed = False

    def may_renew(self) -> bool:
        """Return whether a rejected token may be renewed: once until the server makes progress
        again. If so, it is reported.
        """
        if self._renewed:
            return False
        self._renewed = True
        self._report(
            Wait(
                "the access token was rejected",
                0.0,
                self._spent,
                self._policy.max_retries,
            )
        )
        return True

    def wait(
        self,
        why: str,
        response: Result | None = None,
        *,
        at_once: bool = False,
        cause: str = CAUSE,
        hint: str = HINT,
    ) -> None:
        """Sleep as the schedule or the server says before another attempt.

        With `at_once` the first wait does not sleep, though it counts: it is for a server that
        answered properly and only left something unsaid. `cause` is the likely cause and `hint`
        what to do, reported with the last words of the `response` when no wait is left. Raises
        TemporaryError when no further wait is allowed, Interrupted when the run is cancelled, and
        Stopped if another task of the group has failed.
        """
        policy = self._policy
        now = policy.clock.monotonic()
        sleeps = not at_once or self._spent > 0
        seconds = 0.0
        if sleeps:
            seconds = self._delay(response)
            if self._spent >= policy.max_retries or seconds >= self._deadline - now:
                raise self._give_up(why, response, now, cause, hint)
        self._report(Wait(why, seconds, self._spent + 1, policy.max_retries))
        if sleeps:
            policy.sleep(seconds)
        else:
            policy.cancellation.check()
        self._spent += 1
        self.retries += 1

    def _delay(self, response: Result | None) -> float:
        """Return the seconds that the server asks for, else those of the schedule."""
        clock = self._policy.clock
        if response is not None:
            seconds = retry_after(response, clock.wall())
            if seconds is not None:
                return seconds
        return backoff(self._spent, clock.fraction())

    def _give_up(
        self,
        why: str,
        response: Result | None,
        now: float,
        cause: str,
        hint: str,
    ) -> TemporaryError:
        """Return the error for an operation that has no wait left, and note that time is up."""
        policy = self._policy
        by_deadline = self._spent < policy.max_retries or now >= self._deadline
        if by_deadline and self._seconds is None:
            policy.out_of_time = True
        code = ""
        if isinstance(response, TransportError):
            code = response.code
        if is_too_fast(response):
            cause = TOO_FAST
        if code in ADVICE:
            cause, hint = ADVICE[code]
        what = self._describe_limit(why + last_words(response))
        return TemporaryError(
            what,
            cause=cause,
            hint=hint,
            code=code,
        )

    def _describe_limit(self, why: str) -> str:
        """Return which operation was given up, because of which limit, and its last error."""
        if self._spent < self._policy.max_retries:
            limit = f"the retry deadline ({self._policy.retry_deadline:g} s)"
            if self._seconds is not None:
                limit = "the end of the wait"
            of_what = f" of {self._what}" if self._what else ""
            reason = f"The next retry{of_what} would be past {limit}"
        else:
            if self._spent == 0:
                progress = "without a retry (`max-retries` is 0)"
            elif self._spent == 1:
                progress = "after 1 retry without progress"
            else:
                progress = f"after {self._spent} retries without progress"
            on_what = f" on {self._what}" if self._what else ""
            reason = f"Gave up{on_what} {progress}"
        return f"{reason}; last error: {why}."
