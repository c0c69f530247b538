"""What the Reporting API measures: metric sets, aggregation periods, and the scripted series of
each version of an app.

`{"freshness_days": 1, "versions": {"42": {"since": 7, "users": [60, 900], "userPerceivedCrashRate":
0.004}}}`

Reference: developers.google.com/play/developer/reporting/reference/rest/v1beta1/vitals.crashrate.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import date, datetime, timedelta, timezone
from typing import TypeAlias
from zoneinfo import ZoneInfo

from google_emulator.config import setting
from google_emulator.http.response import Json

USERS = "distinctUsers"
VERSION_CODE = "versionCode"
AVERAGES = {
    "": 1,
    "7dUserWeighted": 7,
    "28dUserWeighted": 28,
}  # suffix of a metric's name: days
COHORTS = ("OS_PUBLIC", "OS_BETA", "APP_TESTERS")  # the first is the default
OS_BETA_DIMENSIONS = (VERSION_CODE, "osBuild")
_STRINGS = (
    "apiLevel",
    "deviceModel",
    "deviceBrand",
    "deviceType",
    "countryCode",
    "deviceSocMake",
    "deviceSocModel",
    "deviceCpuMake",
    "deviceCpuModel",
    "deviceGpuMake",
    "deviceGpuModel",
    "deviceGpuVersion",
    "deviceVulkanVersion",
    "deviceGlEsVersion",
    "deviceScreenSize",
    "deviceScreenDpi",
    "osBuild",
)
# Every dimension with the field of DimensionValue that holds its values.
DIMENSIONS: Mapping[str, str] = {
    VERSION_CODE: "int64Value",
    "deviceRamBucket": "int64Value",
    **dict.fromkeys(_STRINGS, "stringValue"),
}
PEOPLE = "users"  # the key of the users in a script, beside the rates
FOREGROUND_SHARE = 10  # one in so many of a day's users is counted in each of its hours
OUTAGES = ("", "unavailable", "disabled", "forbidden")
EVERY_APP = "*"
HOUR = 3600  # seconds
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_SINCE = 28  # days before now at which a series without `since` begins


@dataclass(frozen=True)
class MetricSet:
    """A metric set: its name in the path, its name in method ids, and the rates from which its
    metrics are made.
    """

    name: str
    method: str
    rates: tuple[str, str]

    @property
    def metrics(self) -> dict[str, tuple[str, int]]:
        """Its metrics by name: the rate that each shows (or the users), and over how many days."""
        averages = {
            rate + suffix: (rate, days)
            for rate in self.rates
            for suffix, days in AVERAGES.items()
        }
        return {USERS: (USERS, 1), **averages}


METRIC_SETS = (
    MetricSet(
        "crashRateMetricSet", "crashrate", ("userPerceivedCrashRate", "crashRate")
    ),
    MetricSet("anrRateMetricSet", "anrrate", ("userPerceivedAnrRate", "anrRate")),
)
RATES = tuple(rate for metric_set in METRIC_SETS for rate in metric_set.rates)


@dataclass(frozen=True)
class AggregationPeriod:
    """An aggregation period, with its only time zone. Points are numbered from a fixed one."""

    name: str
    zone: str
    daily: bool

    def point_at(self, seconds: float) -> int:
        """Return the point that contains a time in seconds since the epoch."""
        return self.point_of(
            datetime.fromtimestamp(
                seconds, ZoneInfo(self.zone) if self.daily else timezone.utc
            )
        )

    def point_of(self, time: datetime) -> int:
        """Return the point that begins at this civil time."""
        return (
            time.toordinal()
            if self.daily
            else int((time - _EPOCH) // timedelta(hours=1))
        )

    def write(self, point: int) -> dict[str, Json]:
        """Return the beginning of a point as google.type.DateTime; hours are left out if they are
        0, as Google does.
        """
        begin = (
            date.fromordinal(point) if self.daily else _EPOCH + timedelta(hours=point)
        )
        hours = (
            {"hours": begin.hour} if isinstance(begin, datetime) and begin.hour else {}
        )
        return {
            "year": begin.year,
            "month": begin.month,
            "day": begin.day,
            **hours,
            "timeZone": {"id": self.zone},
        }


DAILY = AggregationPeriod("DAILY", "America/Los_Angeles", daily=True)
HOURLY = AggregationPeriod("HOURLY", "UTC", daily=False)
PERIODS = {period.name: period for period in (DAILY, HOURLY)}

# The users of a version at one point (`PEOPLE`), and each rate, as a share of these users.
Measurement: TypeAlias = Mapping[str, float]


@dataclass(frozen=True)
class Series:
    """Measurements from the point `start` on: `values` has a list for each metric, whose last value
    lasts.
    """

    start: int
    values: Mapping[str, Sequence[float]]

    def at(self, point: int) -> Measurement | None:
        """Return the measurement at a point; None before the first."""
        if point < self.start:
            return None
        return {
            name: many[min(point - self.start, len(many) - 1)]
            for name, many in self.values.items()
        }


@dataclass(frozen=True)
class VersionSeries:
    """The days of a version; `cohort` is the user cohort that was measured."""

    days: Series
    cohort: str = COHORTS[0]

    def at(self, point: int, period: AggregationPeriod) -> Measurement | None:
        """Return the measurement at a point; None before the first. An hour has a share of the
        users of its day.
        """
        if period.daily:
            return self.days.at(point)
        whole = self.days.at(DAILY.point_at(point * HOUR))
        return whole and {**whole, PEOPLE: whole[PEOPLE] // FOREGROUND_SHARE}


def merged(measurements: Sequence[Measurement]) -> Measurement:
    """Return several measurements as one: the sum of the users, and the rates weighted by them."""
    users = sum(measurement[PEOPLE] for measurement in measurements)
    rates = {
        name: sum(
            measurement[PEOPLE] * measurement.get(name, 0.0)
            for measurement in measurements
        )
        / users
        if users
        else 0.0
        for name in {name for measurement in measurements for name in measurement}
    }
    return {**rates, PEOPLE: users}


@dataclass(frozen=True)
class AppVitals:
    """What is scripted for one app. Each field is a key of the JSON, described beside it."""

    freshness_days: int | None = setting(
        1,
        "days between the end of the latest day with data and today's beginning; null: no DAILY",
    )
    freshness_hours: int | None = setting(
        3, "the same in hours, for HOURLY; null: no HOURLY"
    )
    min_users: int = setting(10, "slices with fewer users are left out")
    page_size: int = setting(10_000, "the most rows of a page, whatever is asked for")
    missing: tuple[str, ...] = setting((), "metrics that no row has")
    down: str = setting(
        "",
        "`unavailable` (503), `disabled` (403, the API is not enabled in the project) or "
        "`forbidden` (403, the account may not see the app)",
    )
    versions: Mapping[int, VersionSeries] = setting(
        dict,
        "by version code: `since` (a date, or days before now), `users` and rates, each a "
        "value or a list by day",
    )

    def changed(self, script: Mapping[str, Json], now: float) -> AppVitals:
        """Return a copy with these keys replaced; versions that are not named stay. `now` is in
        seconds since the epoch. Raises `ValueError` for what can't be read.
        """
        _check_keys(script, [field.name for field in fields(self)], "in vitals")
        values = dict(script)
        if values.get("down", "") not in OUTAGES:
            raise ValueError(
                f"down is one of {', '.join(filter(None, OUTAGES))}, or empty"
            )
        read = {
            int(code): _version(series, now)
            for code, series in values.get("versions", {}).items()
        }
        values |= {
            "versions": {**self.versions, **read},
            "missing": tuple(values.get("missing", self.missing)),
        }
        return replace(self, **values)


class VitalsStore:
    """The vitals by package (`*`: of any other). `clock` returns seconds since the epoch."""

    def __init__(self, scripts: Mapping[str, Json], clock: Callable[[], float]) -> None:
        self._clock = clock
        self._apps: dict[str, AppVitals] = {}
        self.script(scripts)

    def script(self, scripts: Mapping[str, Json]) -> None:
        """Change what is scripted, by package; keys that are not named stay. Raises
        `ValueError`.
        """
        now = self._clock()
        changed = {
            package: self.of(package).changed(script, now)
            for package, script in scripts.items()
        }
        self._apps.update(changed)

    def of(self, package: str) -> AppVitals:
        """Return the vitals of an app."""
        return self._apps.get(package) or self._apps.get(EVERY_APP) or AppVitals()

    def latest_end(self, package: str, period: AggregationPeriod) -> int | None:
        """Return the point before which there is data; None if the API does not report it."""
        vitals = self.of(package)
        lag = vitals.freshness_days if period.daily else vitals.freshness_hours
        return None if lag is None else period.point_at(self._clock()) - lag

    def freshness(self, package: str) -> list[dict[str, Json]]:
        """Return the Freshness of every aggregation period that is reported."""
        ends = {period: self.latest_end(package, period) for period in (HOURLY, DAILY)}
        return [
            {"aggregationPeriod": period.name, "latestEndTime": period.write(end)}
            for period, end in ends.items()
            if end is not None
        ]


def _version(script: Mapping[str, Json], now: float) -> VersionSeries:
    _check_keys(script, {"since", PEOPLE, *RATES, "cohort"}, "of a version")
    cohort = script.get("cohort", COHORTS[0])
    if cohort not in COHORTS:
        raise ValueError(f"cohort is one of {', '.join(COHORTS)}")
    values = {
        name: _list(name, script[name]) for name in (PEOPLE, *RATES) if name in script
    }
    # By default, no event is user-perceived, and there are no events but the user-perceived ones.
    for perceived, every in (metric_set.rates for metric_set in METRIC_SETS):
        values.setdefault(perceived, [0.0])
        values.setdefault(every, values[perceived])
    values.setdefault(PEOPLE, [1000])
    since = script.get("since", _SINCE)  # a date, or a number of days before now
    start = (
        DAILY.point_at(now) - since
        if isinstance(since, int)
        else date.fromisoformat(since).toordinal()
    )
    return VersionSeries(Series(start, values), cohort)


def _list(name: str, value: Json) -> list[float]:
    """Return the values of a metric, one for each point. Raises `ValueError` unless all are shares
    (or, for users, numbers).
    """
    values = value if isinstance(value, list) else [value]
    highest = float("inf") if name == PEOPLE else 1
    numbers = all(
        isinstance(entry, (int, float)) and not isinstance(entry, bool)
        for entry in values
    )
    if not values or not numbers or not all(0 <= entry <= highest for entry in values):
        expected = "a number of users" if name == PEOPLE else "a share from 0 to 1"
        raise ValueError(f"{name} is {expected}, or a list of such")
    return values


def _check_keys(
    values: Mapping[str, Json], known: Sequence[str] | set[str], where: str
) -> None:
    if unknown := sorted(set(values) - set(known)):
        names = known if isinstance(known, Sequence) else sorted(known)
        raise ValueError(
            f"unknown key {', '.join(unknown)} {where}; there are: {', '.join(names)}"
        )
