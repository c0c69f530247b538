"""The clock by which Play ages: real time, moved on request, so that a demo or a test can run through days at once."""

from __future__ import annotations

from collections.abc import Callable


class SimulatedClock:
    """Seconds since the epoch, ahead of (or behind) `base` by all that was asked for."""

    def __init__(self, base: Callable[[], float]) -> None:
        self._base = base
        self._ahead = 0.0

    def __call__(self) -> float:
        """Seconds since the epoch."""
        return self._base() + self._ahead

    def advance(self, seconds: float) -> float:
        """Moves the clock, backward with a negative number; the answer is the new time."""
        self._ahead += seconds
        return self()
