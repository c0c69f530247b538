"""The one place where a run waits before it tries again; whether and how long, `protocol.retry` says.

A run has one `RetryPolicy`; each operation (an upload, a call, the fetching of a token) takes a `Retrier` from it, asks
it to wait before another attempt, and tells it when the server made progress. Who logs a wait is passed in.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from uploader.cancellation import Cancellation
from uploader.clock import Clock
from uploader.errors import TemporaryError
from uploader.http.messages import Response, TransportError
from uploader.protocol.google_error import last_words
from uploader.protocol.retry import next_look, next_wait, retry_after
from uploader.text import capitalised

CAUSE = "The service or the network is having problems."
HINT = "Run again later."
# Cause and cure where it is known why there is no way to the service, by the code of a broken connection.
ADVICE: Final[Mapping[str, tuple[str, str]]] = {
    "host-not-found": (
        "The host name is wrong, or this machine's DNS does not know it.",
        "Check `api-endpoint` if it is set, and this machine's network; then run again.",
    ),
    "proxy-unreachable": (
        "The proxy is down, or the variable that names it is wrong.",
        "Correct the variable, or list the hosts that need no proxy in NO_PROXY; then run again.",
    ),
    "proxy-refused": (
        "The proxy does not let this machine connect to that host, or requires a login.",
        "Have the host allowed there, or list it in NO_PROXY; then run again.",
    ),
}


@dataclass(frozen=True)
class Wait:
    """One wait before another attempt, reported before it begins: `why`, `seconds`, its `number` out of `most`."""

    why: str
    seconds: float
    number: int
    most: int

    def __str__(self) -> str:
        if not self.seconds:
            return f"{capitalised(self.why)}; trying again at once."
        return f"{capitalised(self.why)}; trying again in {self.seconds:.1f} s (retry {self.number} of {self.most})."


Report = Callable[[Wait], None]


class RetryPolicy:
    """How a run tries again: `max_retries` waits without progress, none that would end after the run's deadline.

    The deadline is `retry_deadline` seconds after the run's first operation began. `out_of_time` is true once an
    operation was given up for it: then nothing new is begun, while a run in which all goes well goes on.
    """

    def __init__(self, clock: Clock, cancellation: Cancellation, max_retries: int, retry_deadline: float) -> None:
        self.clock = clock
        self.cancellation = cancellation
        self.max_retries = max_retries
        self.retry_deadline = retry_deadline
        self.out_of_time = False
        self._deadline: float | None = None

    def retrier(self, report: Report, what: str = "") -> Retrier:
        """The waits of an operation that begins now, each reported to `report`; `what` names it when they are spent."""
        if self._deadline is None:
            self._deadline = self.clock.monotonic() + self.retry_deadline
        return Retrier(self, report, self._deadline, what)

    def watch(self, report: Callable[[str], None], seconds: float) -> Watch:
        """The pauses between looks that begin now, each told to `report`; `max_retries` has nothing to do with them."""
        return Watch(self, report, seconds)


class Watch:
    """The pauses between looks at something that takes its time, for at most `seconds` from the first look."""

    def __init__(self, policy: RetryPolicy, report: Callable[[str], None], seconds: float) -> None:
        self._policy = policy
        self._report = report
        self._end = policy.clock.monotonic() + seconds
        self._pauses = 0

    def wait(self, why: str) -> bool:
        """Sleeps until the next look, or answers False where no time is left. Raises `Interrupted` when cancelled."""
        left = self._end - self._policy.clock.monotonic()
        if left <= 0:
            return False
        seconds = min(next_look(self._pauses), left)
        self._report(f"{capitalised(why)}; looking again in {seconds:.0f} s.")
        self._policy.clock.sleep(seconds)
        self._policy.cancellation.check()
        self._pauses += 1
        return True


class Retrier:
    """The waits of one operation, until `deadline` on the monotonic clock.

    `retries` counts them, `waited` adds up their seconds.
    """

    def __init__(self, policy: RetryPolicy, report: Report, deadline: float, what: str = "") -> None:
        self._policy = policy
        self._report = report
        self._deadline = deadline
        self._what = what
        self._spent = 0
        self._renewed = False
        self.retries = 0
        self.waited = 0.0

    def progressed(self) -> None:
        """The server advanced: everything may be tried as often as at the start."""
        self._spent = 0
        self._renewed = False

    def may_renew(self) -> bool:
        """Whether a token that was not accepted may be renewed: once for each stretch of progress."""
        allowed, self._renewed = not self._renewed, True
        if allowed:
            self._report(Wait("the access token was rejected", 0.0, self._spent, self._policy.max_retries))
        return allowed

    def wait(
        self,
        why: str,
        response: Response | TransportError | None = None,
        *,
        at_once: bool = False,
        cause: str = CAUSE,
        hint: str = HINT,
    ) -> None:
        """Sleeps as the schedule or the server says; `at_once`: the first time not at all, though it counts as a wait.

        `at_once` is for a server that answered properly and only left something unsaid; `cause` is the likely cause
        and `hint` what to do, told with the last words of the `answer` when no wait is left. Raises `TemporaryError`
        when no further wait is allowed, and `Interrupted` when the run is cancelled.
        """
        policy, clock = self._policy, self._policy.clock
        began = clock.monotonic()
        skipped = at_once and not self._spent
        seconds: float | None = 0.0
        if not skipped:
            asked = None if response is None else retry_after(response, clock.wall())
            left, fraction = self._deadline - began, clock.fraction()
            seconds = next_wait(self._spent, policy.max_retries, time_left=left, fraction=fraction, asked=asked)
        if seconds is None:
            policy.out_of_time |= self._spent < policy.max_retries or began >= self._deadline
            code = response.code if isinstance(response, TransportError) else ""
            cause, hint = ADVICE.get(code, (cause, hint))
            raise TemporaryError(self._exhausted(why + last_words(response)), cause=cause, hint=hint, code=code)
        self._report(Wait(why, seconds, self._spent + 1, policy.max_retries))
        if not skipped:
            clock.sleep(seconds)
        policy.cancellation.check()
        self._spent += 1
        self.retries += 1
        self.waited += clock.monotonic() - began

    def _exhausted(self, why: str) -> str:
        """What happened: which operation was given up, for which limit, and the last thing that went wrong with it."""
        what, spent = self._what, f"{self._spent} {'retry' if self._spent == 1 else 'retries'}"
        on = f" on {what}" if what else ""
        if self._spent < self._policy.max_retries:
            seconds = f"{self._policy.retry_deadline:g} s"
            reason = f"The next retry{f' of {what}' if what else ''} would be past the retry deadline ({seconds})"
        elif self._spent:
            reason = f"Gave up{on} after {spent} without progress"
        else:
            reason = f"Gave up{on} without a retry (`max-retries` is 0)"
        return f"{reason}; last error: {why}."
