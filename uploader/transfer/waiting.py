"""The run's time: the only clock and the only sleep, both passed in, and how long a run has patience."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from uploader.errors import TemporaryError
from uploader.protocol.messages import Broken, Response
from uploader.protocol.retry import Budget, retry_after
from uploader.transfer.stop import Stop


@dataclass(slots=True)
class Clock:
    """Every source of time and chance of a run, replaced as a whole in tests. All figures are seconds."""

    sleep: Callable[[float], None]
    monotonic: Callable[[], float] = time.monotonic
    wall: Callable[[], float] = time.time
    fraction: Callable[[], float] = random.SystemRandom().random  # which has no state that others could notice


@dataclass(slots=True)
class Patience:
    """How often and how long a run tries again: `max_retries` waits without progress, until the deadline of the run.

    The deadline is `retry_deadline` seconds after the run's first request.
    """

    clock: Clock
    stop: Stop
    max_retries: int
    retry_deadline: float
    _deadline: float | None = field(default=None)

    def begin(self) -> None:
        """Marks the run's first request; later calls change nothing."""
        if self._deadline is None:
            self._deadline = self.clock.monotonic() + self.retry_deadline

    def budget(self) -> Budget:
        """A full budget for one upload or call."""
        self.begin()
        assert self._deadline is not None
        return Budget(self.max_retries, self._deadline)

    def wait(self, budget: Budget, answer: Response | Broken | None, why: str, say: Callable[[str], None]) -> Budget:
        """Sleeps as the schedule or the server says, and returns the budget with the wait spent.

        Raises `TemporaryError` when the budget or the deadline does not allow another wait, at once.
        """
        self.stop.check()
        asked = None if answer is None else retry_after(answer, self.clock.wall())
        seconds = budget.wait(self.clock.monotonic(), self.clock.fraction(), asked)
        if seconds is None:
            raise self._spent(budget, why)
        say(f"{_sentence(why)}; trying again in {seconds:.1f} s (wait {budget.spent + 1} of {budget.max_retries}).")
        self.clock.sleep(seconds)
        self.stop.check()
        return budget.after_wait()

    def _spent(self, budget: Budget, why: str) -> TemporaryError:
        if budget.spent >= budget.max_retries:
            reason = f"No progress after {budget.spent} {'wait' if budget.spent == 1 else 'waits'}; last: {why}."
        else:
            reason = f"The retry deadline of {self.retry_deadline:g} s would have passed; last: {why}."
        return TemporaryError(reason, cause=TEMPORARY_CAUSE, cure=TEMPORARY_CURE)


TEMPORARY_CAUSE = "The service or the network is in trouble at the moment."
TEMPORARY_CURE = "Run again: what arrived is kept, and the upload goes on from there."


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]
