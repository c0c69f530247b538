"""The clock by which Play ages, and points in time as Google's JSON writes them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timezone


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


def timestamp(seconds: float) -> str:
    """Seconds since the epoch as RFC 3339 in UTC, with milliseconds."""
    return (
        datetime.fromtimestamp(seconds, timezone.utc)
        .isoformat(timespec="milliseconds")
        .replace("+00:00", "Z")
    )
