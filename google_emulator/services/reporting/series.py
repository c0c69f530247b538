"""The scripted measurements of one version: users and rates, day by day or hour by hour."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

PEOPLE = "users"  # beside the rates, in what is scripted
FOREGROUND_SHARE = 10  # of a day's users one in so many is there in a given hour, where nothing else is scripted


@dataclass(frozen=True, slots=True)
class Measurement:
    """A version at one point: the users, and the share of them that met each rate's event."""

    users: float
    rates: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Series:
    """Measurements from the point `start` on.

    `values` are lists by metric, the last value of each holds on; `points` are values of single points, None a hole.
    """

    start: int
    values: Mapping[str, Sequence[float]]
    points: Mapping[int, Mapping[str, float] | None] = field(default_factory=dict)

    def at(self, point: int) -> Measurement | None:
        """The measurement at a point; None where there is none."""
        single = self.points.get(point, {})
        if single is None or (point < self.start and not single):
            return None
        index = max(point - self.start, 0)
        values = {name: many[min(index, len(many) - 1)] for name, many in self.values.items()} | dict(single)
        return Measurement(values.pop(PEOPLE), values)


@dataclass(frozen=True, slots=True)
class VersionSeries:
    """A version's days and, if they are scripted, hours; `intervals` are bounds by rate, `cohort` is who was asked."""

    days: Series
    hours: Series | None = None
    intervals: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    cohort: str = "OS_PUBLIC"

    def hour(self, hour: int, day: int) -> Measurement | None:
        """The measurement of an hour, which lies in this day."""
        if self.hours is not None:
            return self.hours.at(hour)
        whole = self.days.at(day)
        return whole and Measurement(whole.users // FOREGROUND_SHARE, whole.rates)


def merged(measurements: Sequence[Measurement]) -> Measurement:
    """Several measurements as one: users added up, rates weighted by them."""
    users = sum(one.users for one in measurements)
    names = {name for one in measurements for name in one.rates}
    rates = {
        name: sum(one.users * one.rates.get(name, 0.0) for one in measurements) / users if users else 0.0
        for name in names
    }
    return Measurement(users, rates)
