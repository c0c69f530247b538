"""A request to query a metric set: what it asks for, once it has been checked against the documents."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone

from google_emulator.http.response import ApiError, Json, invalid_argument
from google_emulator.services.filters import Condition, FilterParser
from google_emulator.services.payload_rules import EnumRule, Rule, duration, int32, read_message, text
from google_emulator.services.reporting.vitals import (
    COHORTS,
    DIMENSIONS,
    OS_BETA_DIMENSIONS,
    PERIODS,
    AggregationPeriod,
    MetricSet,
)

DEFAULT_PAGE, MAX_PAGE = 1000, 10_000  # rows
_TYPES = "google.play.developer.reporting.v1beta1."
_NUMBERS = ("year", "month", "day", "hours", "minutes", "seconds", "nanos")
_ZONE: Mapping[str, Rule] = {"id": text, "version": text}
_DATE_TIME: Mapping[str, Rule] = {**dict.fromkeys(_NUMBERS, int32), "timeZone": _ZONE, "utcOffset": duration}
_PERIOD = EnumRule(_TYPES + "AggregationPeriod", ("AGGREGATION_PERIOD_UNSPECIFIED", "HOURLY", "DAILY", "FULL_RANGE"))
_REQUEST: Mapping[str, Rule] = {
    "timelineSpec": {"aggregationPeriod": _PERIOD, "startTime": _DATE_TIME, "endTime": _DATE_TIME},
    "dimensions": [text],
    "metrics": [text],
    "filter": text,
    "pageSize": int32,
    "pageToken": text,
    "userCohort": EnumRule(_TYPES + "UserCohort", ("USER_COHORT_UNSPECIFIED", *COHORTS)),
}


class AipFilter(FilterParser):
    """A filter as AIP-160 writes it, as far as the Reporting API supports it: dimensions compared for equality.

    `versionCode = 42 OR versionCode = 43`, `(versionCode = 42) AND countryCode = "DE"`, `NOT …`. As in AIP-160, OR
    binds tighter than AND, and AND may be left out. Reference: google.aip.dev/160.
    """

    token = re.compile(r"""\s*("[^"\\]*"|'[^'\\]*'|!=|<=|>=|[()=<>:,-]|[^\s()=<>:,!"']+)""")
    negations = ("NOT", "-")
    loose = ("AND", all)
    tight = ("OR", any)
    loose_word_optional = True

    def comparison(self) -> Condition:
        """A dimension, `=` or `!=`, and a value."""
        name, sign, value = self.take(), self.take(), self.take().strip("\"'")
        if name not in DIMENSIONS:
            raise self.error(f"{name!r} is no dimension")
        if sign not in ("=", "!="):
            raise self.error(f"{sign!r} is not supported, only equality is")
        if DIMENSIONS[name] == "int64Value" and not value.isdecimal():
            raise self.error(f"{value!r} is no int64")
        return lambda slice_: (slice_[name] == value) is (sign == "=")

    def error(self, why: str) -> ApiError:
        """The filter, and what is wrong with it."""
        return invalid_argument(f"Invalid filter {self.text!r}: {why}.", "filter")


@dataclass(frozen=True)
class MetricsQuery:
    """What is asked: points from `start` to before `end`, for which slices, how many rows at once from where on."""

    period: AggregationPeriod
    start: int
    end: int
    metrics: tuple[str, ...]
    dimensions: tuple[str, ...]
    wanted: Condition
    cohort: str
    page_size: int
    page_token: str


def read_query(body: Mapping[str, Json], metric_set: MetricSet) -> MetricsQuery:
    """The query in a request's body. Raises `ApiError` 400 for whatever Google's documents do not allow."""
    given = read_message(dict(body), _REQUEST)
    period, start, end = _timeline(given.get("timelineSpec", {}))
    cohort: str = given.get("userCohort", COHORTS[0])
    cohort = cohort if cohort in COHORTS else COHORTS[0]
    dimensions, metrics = _names(given, "dimensions"), _names(given, "metrics")
    allowed = OS_BETA_DIMENSIONS if cohort == "OS_BETA" else set(DIMENSIONS) - {"osBuild"}
    for name in dimensions:
        if name not in allowed:
            raise invalid_argument(f"Dimension {name} is not supported with the user cohort {cohort}.", "dimensions")
    for metric in metrics:
        _, days = metric_set.metrics.get(metric, ("", 0))
        if not days:
            raise invalid_argument(f"Metric {metric} is not supported by {metric_set.name}.", "metrics")
        if days > 1 and not period.daily:
            raise invalid_argument(f"Metric {metric} is not supported in {period.name} granularity.", "metrics")
    size = given.get("pageSize", 0)
    if size < 0:
        raise invalid_argument("page_size must not be negative.", "page_size")
    wanted = AipFilter(given.get("filter", "")).parse()
    page_size = min(size or DEFAULT_PAGE, MAX_PAGE)
    page_token = given.get("pageToken", "")
    return MetricsQuery(period, start, end, metrics, dimensions, wanted, cohort, page_size, page_token)


def _names(given: Mapping[str, Json], field: str) -> tuple[str, ...]:
    names = tuple(given.get(field, ()))
    if len(set(names)) != len(names):
        raise invalid_argument(f"{field} has a name twice.", field)
    return names


def _timeline(spec: Mapping[str, Json]) -> tuple[AggregationPeriod, int, int]:
    """The period, and the points from the first to past the last."""
    period = PERIODS.get(spec.get("aggregationPeriod", ""))
    if period is None:
        raise invalid_argument(
            f"The aggregation period must be one of {', '.join(PERIODS)}.", "timeline_spec.aggregation_period"
        )
    if not {"startTime", "endTime"} <= spec.keys():
        raise invalid_argument("The start and the end time are required.", "timeline_spec")
    start, end = (period.point_of(_time(spec[name], period)) for name in ("startTime", "endTime"))
    if start >= end:
        raise invalid_argument("The start time must be before the end time.", "timeline_spec")
    return period, start, end


def _time(written: Mapping[str, Json], period: AggregationPeriod) -> datetime:
    """The civil time at which a point begins. Raises `ApiError` 400 unless it is aligned, and in the period's zone."""
    zone, offset = written.get("timeZone", {}).get("id", period.zone), written.get("utcOffset")
    if zone != period.zone or not (offset is None or (not period.daily and float(offset[:-1]) == 0)):
        message = f"The only time zone supported with {period.name} is {period.zone}."
        raise invalid_argument(message, "timeline_spec")
    finer = _NUMBERS[3 if period.daily else 4 :]
    if any(written.get(name) for name in finer):
        raise invalid_argument(f"With {period.name}, {', '.join(finer)} must be unset.", "timeline_spec")
    try:
        year, month, day, hours = (written.get(name, 0) for name in _NUMBERS[:4])
        return datetime(year, month, day, hours, tzinfo=timezone.utc)
    except ValueError:
        raise invalid_argument("Year, month, day and hours are no date and time.", "timeline_spec") from None
