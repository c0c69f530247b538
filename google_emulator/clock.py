"""The clock by which Play ages, and points in time as Google's JSON has them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timezone


class SimulatedClock:
    """A clock in seconds since the epoch, ahead of `base` by the sum of all calls of `advance`."""

    def __init__(self, base: Callable[[], float]) -> None:
        self._base = base
        self._ahead = 0.0

    def __call__(self) -> float:
        """Return the time in seconds since the epoch."""
        return self._base() + self._ahead

    def advance(self, seconds: float) -> float:
        """Move the clock ahead by so many seconds, or back if they are negative. Return the new
        time.
        """
        self._ahead += seconds
        return self()


def timestamp(seconds: float) -> str:
    """Return a time in seconds since the epoch as RFC 3339 in UTC, with milliseconds."""
    return (
        datetime.fromtimestamp(seconds, timezone.utc)
        .isoformat(timespec="milliseconds")
        .replace("+00:00", "Z")
    )
