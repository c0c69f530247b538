"""The rows that answer a query: measurements sliced by dimension, without the slices that have too few users."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from decimal import Decimal

from google_emulator.http.response import Json
from google_emulator.services.reporting.civil_time import day_of_hour
from google_emulator.services.reporting.metric_sets import DIMENSIONS, USERS, VERSION_CODE, MetricSet
from google_emulator.services.reporting.metrics_query import MetricsQuery
from google_emulator.services.reporting.series import Measurement, VersionSeries, merged
from google_emulator.services.reporting.vitals_script import AppVitals

# Only versions are scripted, so every other dimension has a single value.
ONLY_VALUES = {"stringValue": "UNKNOWN", "int64Value": "0"}
_NORMAL = 1.959963984540054  # of the standard normal distribution, for 95 %


def answer_rows(vitals: AppVitals, query: MetricsQuery, metric_set: MetricSet) -> list[dict[str, Json]]:
    """Every row of the answer, by time and then by version."""
    return [
        row
        for point in range(query.start, query.end)
        for codes in _slices(vitals, query)
        if (row := _Slice(vitals, query, codes).row(point, metric_set)) is not None
    ]


def _slices(vitals: AppVitals, query: MetricsQuery) -> list[list[int]]:
    """The version codes of each slice."""
    cohort = {code: one for code, one in vitals.versions.items() if one.cohort == query.cohort}
    codes = [code for code in sorted(cohort) if query.wanted(_dimension_values(code))]
    if VERSION_CODE in query.dimensions:
        return [[code] for code in codes]
    return [codes] if codes else []


def _dimension_values(code: int) -> dict[str, str]:
    return {name: ONLY_VALUES[kind] for name, kind in DIMENSIONS.items()} | {VERSION_CODE: str(code)}


class _Slice:
    """Some versions of the app, seen as one."""

    def __init__(self, vitals: AppVitals, query: MetricsQuery, codes: list[int]) -> None:
        self._vitals = vitals
        self._query = query
        self._codes = codes

    def row(self, point: int, metric_set: MetricSet) -> dict[str, Json] | None:
        """The MetricsRow of a point; None without data, or with too little."""
        measured = self._at(point)
        if measured is None or measured.users < self._vitals.min_users:
            return None
        metrics = (one for one in self._query.metrics if one not in self._vitals.missing)
        return {
            "aggregationPeriod": self._query.period.name,
            "startTime": self._query.period.write(point),
            "dimensions": [self._dimension(name) for name in self._query.dimensions],
            "metrics": [self._metric(name, point, metric_set) for name in metrics],
        }

    def _at(self, point: int) -> Measurement | None:
        found = [one for one in map(self._reader(point), self._series()) if one is not None]
        return merged(found) if found else None

    def _reader(self, point: int) -> Callable[[VersionSeries], Measurement | None]:
        if self._query.period.daily:
            return lambda series: series.days.at(point)
        day = day_of_hour(point)
        return lambda series: series.hour(point, day)

    def _series(self) -> Iterator[VersionSeries]:
        return (self._vitals.versions[code] for code in self._codes)

    def _dimension(self, name: str) -> dict[str, Json]:
        return {"dimension": name, DIMENSIONS[name]: _dimension_values(self._codes[0])[name]}

    def _metric(self, name: str, point: int, metric_set: MetricSet) -> dict[str, Json]:
        """The MetricValue of a metric that the set is known to have."""
        rate, days = metric_set.metric(name) or (USERS, 1)
        window = [one for one in map(self._at, range(point - days + 1, point + 1)) if one is not None]
        measured = merged(window)
        if rate == USERS:
            return {"metric": name, "decimalValue": {"value": str(rounded_users(measured.users))}}
        value = {"metric": name, "decimalValue": _decimal(measured.rates[rate])}
        if self._vitals.interval:
            low, high = self._interval(rate, measured)
            value["decimalValueConfidenceInterval"] = {"lowerBound": _decimal(low), "upperBound": _decimal(high)}
        return value

    def _interval(self, rate: str, measured: Measurement) -> tuple[float, float]:
        scripted = [one.intervals[rate] for one in self._series() if rate in one.intervals]
        return scripted[0] if len(self._codes) == 1 and scripted else wilson(measured.rates[rate], measured.users)


def rounded_users(users: float) -> int:
    """Users to the nearest multiple of 10, 100, 1,000 or 1,000,000: coarser, the more there are."""
    step = 10 if users < 1000 else 100 if users < 10_000 else 1000 if users < 10_000_000 else 1_000_000
    return int(users / step + 0.5) * step


def wilson(rate: float, users: float) -> tuple[float, float]:
    """Wilson's interval of a share at 95 %."""
    if not users:
        return 0.0, 1.0
    square = _NORMAL * _NORMAL
    middle = rate + square / (2 * users)
    spread = _NORMAL * math.sqrt(rate * (1 - rate) / users + square / (4 * users * users))
    scale = 1 + square / users
    return max(0.0, (middle - spread) / scale), min(1.0, (middle + spread) / scale)


def _decimal(value: float) -> dict[str, Json]:
    """A google.type.Decimal: a share with at most eight places, without zeros at its end."""
    text = format(Decimal(repr(value)).quantize(Decimal("1e-8")), "f").rstrip("0").rstrip(".")
    return {"value": text or "0"}
