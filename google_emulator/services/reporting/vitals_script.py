"""What is scripted of an app's vitals, read from JSON and checked.

`{"freshness_days": 1, "versions": {"42": {"since": 7, "users": [60, 900], "userPerceivedCrashRate": 0.004}}}`
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import date, datetime, timezone

from google_emulator.http.response import Json
from google_emulator.services.reporting.civil_time import DAILY, HOURLY, AggregationPeriod
from google_emulator.services.reporting.metric_sets import COHORTS, RATES
from google_emulator.services.reporting.series import PEOPLE, Series, VersionSeries

OUTAGES = ("", "unavailable", "disabled", "forbidden")
_SINCE = {"DAILY": 28, "HOURLY": 72}  # points before now at which a series begins unless it says so
_SERIES_KEYS = {"since", PEOPLE, *RATES}
_VERSION_KEYS = _SERIES_KEYS | {"days", "hours", "intervals", "cohort"}


@dataclass(frozen=True, slots=True)
class AppVitals:
    """Everything scripted of one app. Each field but `versions` is a key of the JSON, and documented there."""

    freshness_days: int | None = field(
        default=1,
        metadata={"meaning": "days between the end of the latest day with data and today's beginning; null: no DAILY"},
    )
    freshness_hours: int | None = field(
        default=3, metadata={"meaning": "the same in hours, for HOURLY; null: none is told"}
    )
    min_users: int = field(default=10, metadata={"meaning": "slices with fewer users are left out"})
    interval: bool = field(
        default=False, metadata={"meaning": "rates have a confidence interval (Wilson's at 95 %, unless scripted)"}
    )
    page_size: int = field(default=10_000, metadata={"meaning": "the most rows of a page, whatever was asked for"})
    missing: tuple[str, ...] = field(default=(), metadata={"meaning": "metrics that no row has"})
    down: str = field(
        default="",
        metadata={
            "meaning": "`unavailable` (503), `disabled` (403, the API is not enabled in the project) or `forbidden` "
            "(403, the account may not see the app)"
        },
    )
    versions: Mapping[int, VersionSeries] = field(
        default_factory=dict, metadata={"meaning": "the series of each version code; see below"}
    )

    def changed(self, script: Mapping[str, Json], now: float) -> AppVitals:
        """The same with these keys set anew, versions one by one. Raises `ValueError` for what can't be read."""
        unknown = sorted(set(script) - {one.name for one in fields(self)})
        if unknown:
            names = ", ".join(one.name for one in fields(self))
            raise ValueError(f"unknown key {', '.join(unknown)} in vitals; there are: {names}")
        values = dict(script)
        if values.get("down", "") not in OUTAGES:
            raise ValueError(f"down is one of {', '.join(filter(None, OUTAGES))}, or empty")
        read = {int(code): _version(one, now) for code, one in values.get("versions", {}).items()}
        values |= {"versions": {**self.versions, **read}, "missing": tuple(values.get("missing", self.missing))}
        return replace(self, **values)


def _version(script: Mapping[str, Json], now: float) -> VersionSeries:
    _check_keys(script, _VERSION_KEYS)
    hours = script.get("hours")
    cohort = script.get("cohort", COHORTS[0])
    if cohort not in COHORTS:
        raise ValueError(f"cohort is one of {', '.join(COHORTS)}")
    intervals = script.get("intervals", {})
    if any(rate not in RATES or not 0 <= low <= high <= 1 for rate, (low, high) in intervals.items()):
        raise ValueError("intervals are pairs of shares, by rate")
    return VersionSeries(
        _series(script, script.get("days", {}), DAILY, now),
        None if hours is None else _hourly(hours, now),
        {rate: (low, high) for rate, (low, high) in intervals.items()},
        cohort,
    )


def _hourly(script: Mapping[str, Json], now: float) -> Series:
    _check_keys(script, _SERIES_KEYS | {"points"})
    return _series(script, script.get("points", {}), HOURLY, now)


def _series(script: Mapping[str, Json], points: Mapping[str, Json], period: AggregationPeriod, now: float) -> Series:
    single = {_point(text, period, now): one and _numbers(one) for text, one in points.items()}
    values = {name: _list(name, script[name]) for name in (PEOPLE, *RATES) if name in script}
    _default_rates(values)
    if PEOPLE not in values:
        values[PEOPLE] = [1000]
    return Series(_point(script.get("since", _SINCE[period.name]), period, now), values, single)


def _default_rates(values: dict[str, list[float]]) -> None:
    """What is not scripted follows from what is: every user-perceived event is an event; without any, none."""
    for perceived, every in (("userPerceivedCrashRate", "crashRate"), ("userPerceivedAnrRate", "anrRate")):
        values.setdefault(perceived, [0.0])
        values.setdefault(every, values[perceived])


def _numbers(values: Mapping[str, Json]) -> dict[str, float]:
    _check_keys(values, {PEOPLE, *RATES})
    return {name: _list(name, value)[0] for name, value in values.items()}


def _list(name: str, value: Json) -> list[float]:
    """The values of a metric, one for each point. Raises `ValueError` unless all are shares, or numbers of users."""
    values = value if isinstance(value, list) else [value]
    highest = float("inf") if name == PEOPLE else 1
    numbers = all(isinstance(one, (int, float)) and not isinstance(one, bool) for one in values)
    if not values or not numbers or not all(0 <= one <= highest for one in values):
        raise ValueError(
            f"{name} is {'a number of users' if name == PEOPLE else 'a share from 0 to 1'}, or a list of such"
        )
    return values


def _point(value: Json, period: AggregationPeriod, now: float) -> int:
    """A point by its date (`2026-11-01`, for hours `2026-11-01T13`) or as a number of points before now."""
    if isinstance(value, int):
        return period.point_at(now) - value
    if period.daily:
        return date.fromisoformat(value).toordinal()
    return period.point_of(datetime.strptime(value, "%Y-%m-%dT%H").replace(tzinfo=timezone.utc))


def _check_keys(values: Mapping[str, Json], known: set[str]) -> None:
    unknown = sorted(set(values) - known)
    if unknown:
        raise ValueError(f"unknown key {', '.join(unknown)} of a version; there are: {', '.join(sorted(known))}")
