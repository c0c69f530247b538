"""A request to query a metric set: what it asks for, once it has been checked against the documents."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import TypeAlias

from google_emulator.http.response import ApiError, Json, invalid_argument
from google_emulator.services.payload_rules import (
    EnumRule,
    Rule,
    duration,
    int32,
    read_message,
    text,
)
from google_emulator.services.reporting.vitals import (
    COHORTS,
    DIMENSIONS,
    OS_BETA_DIMENSIONS,
    PERIODS,
    AggregationPeriod,
    MetricSet,
)

Predicate: TypeAlias = Callable[[Mapping[str, str]], bool]
_TOKEN = re.compile(
    r"""\s*(?:(?P<text>"[^"\\]*"|'[^'\\]*')|(?P<sign>!=|<=|>=|[()=<>:,-])|(?P<word>[^\s()=<>:,!"']+))"""
)
DEEPEST = 32  # parentheses


def parse_filter(text: str) -> Predicate:
    """What the filter says of a slice's dimensions. Raises `ApiError` 400 for what it can't read."""
    return _Parser(text).parse()


class _Parser:
    """A parser by recursive descent over the tokens of one filter."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._depth = 0
        self._tokens = self._split(text.strip())

    def _split(self, rest: str) -> list[str]:
        tokens, position = [], 0
        while position < len(rest):
            found = _TOKEN.match(rest, position)
            if found is None:
                raise self._error(f"unexpected {rest[position:][:10]!r}")
            tokens.append(found[0].strip())
            position = found.end()
        return tokens

    def parse(self) -> Predicate:
        if not self._tokens:
            return lambda _: True
        whole = self._sequence()
        if self._tokens:
            raise self._error(f"unexpected {self._tokens[0]!r}")
        return whole

    def _next(self) -> str:
        return self._tokens[0] if self._tokens else ""

    def _take(self) -> str:
        if not self._tokens:
            raise self._error("unexpected end")
        return self._tokens.pop(0)

    def _sequence(self) -> Predicate:
        factors = [self._factor()]
        while self._tokens and self._next() != ")":
            if self._next() == "AND":
                self._take()
            factors.append(self._factor())
        return lambda slice_: all(factor(slice_) for factor in factors)

    def _factor(self) -> Predicate:
        terms = [self._term()]
        while self._next() == "OR":
            self._take()
            terms.append(self._term())
        return lambda slice_: any(term(slice_) for term in terms)

    def _term(self) -> Predicate:
        if self._next() in ("NOT", "-"):
            self._take()
            negated = self._simple()
            return lambda slice_: not negated(slice_)
        return self._simple()

    def _simple(self) -> Predicate:
        if self._next() != "(":
            return self._comparison()
        self._take()
        self._depth += 1
        if self._depth > DEEPEST:
            raise self._error("too many parentheses")
        inside = self._sequence()
        if self._take() != ")":
            raise self._error("')' is missing")
        self._depth -= 1
        return inside

    def _comparison(self) -> Predicate:
        name, sign, value = self._take(), self._take(), self._take().strip("\"'")
        if name not in DIMENSIONS:
            raise self._error(f"{name!r} is no dimension")
        if sign not in ("=", "!="):
            raise self._error(f"{sign!r} is not supported, only equality is")
        if DIMENSIONS[name] == "int64Value" and not value.isdecimal():
            raise self._error(f"{value!r} is no int64")
        return lambda slice_: (slice_[name] == value) is (sign == "=")

    def _error(self, why: str) -> ApiError:
        return invalid_argument(f"Invalid filter {self._text!r}: {why}.", "filter")


DEFAULT_PAGE, LARGEST_PAGE = 1000, 10_000  # rows
_TYPES = "google.play.developer.reporting.v1beta1."
_NUMBERS = ("year", "month", "day", "hours", "minutes", "seconds", "nanos")
_ZONE: Mapping[str, Rule] = {"id": text, "version": text}
_DATE_TIME: Mapping[str, Rule] = {**dict.fromkeys(_NUMBERS, int32), "timeZone": _ZONE, "utcOffset": duration}
_PERIOD = EnumRule(_TYPES + "AggregationPeriod", ("AGGREGATION_PERIOD_UNSPECIFIED", "HOURLY", "DAILY", "FULL_RANGE"))
_TIMELINE: Mapping[str, Rule] = {"aggregationPeriod": _PERIOD, "startTime": _DATE_TIME, "endTime": _DATE_TIME}
_REQUEST: Mapping[str, Rule] = {
    "timelineSpec": _TIMELINE,
    "dimensions": [text],
    "metrics": [text],
    "filter": text,
    "pageSize": int32,
    "pageToken": text,
    "userCohort": EnumRule(_TYPES + "UserCohort", ("USER_COHORT_UNSPECIFIED", *COHORTS)),
}


@dataclass(frozen=True)
class MetricsQuery:
    """What is asked: points from `start` to before `end`, for which slices, how many rows at once from where on."""

    period: AggregationPeriod
    start: int
    end: int
    metrics: tuple[str, ...]
    dimensions: tuple[str, ...]
    wanted: Predicate
    cohort: str
    page_size: int
    page_token: str


def read_query(body: Mapping[str, Json], metric_set: MetricSet) -> MetricsQuery:
    """The query in a request's body. Raises `ApiError` 400 for whatever Google's documents do not allow."""
    given = read_message(dict(body), _REQUEST)
    period, start, end = _timeline(given.get("timelineSpec", {}))
    cohort = _cohort(given)
    dimensions = _names(given, "dimensions")
    _check_dimensions(dimensions, cohort)
    metrics = _names(given, "metrics")
    for metric in metrics:
        _check_metric(metric, metric_set, period)
    size = given.get("pageSize", 0)
    if size < 0:
        raise invalid_argument("page_size must not be negative.", "page_size")
    return MetricsQuery(
        *(period, start, end, metrics, dimensions, parse_filter(given.get("filter", "")), cohort),
        page_size=min(size or DEFAULT_PAGE, LARGEST_PAGE),
        page_token=given.get("pageToken", ""),
    )


def _names(given: Mapping[str, Json], field: str) -> tuple[str, ...]:
    names = tuple(given.get(field, ()))
    if len(set(names)) != len(names):
        raise invalid_argument(f"{field} has a name twice.", field)
    return names


def _cohort(given: Mapping[str, Json]) -> str:
    cohort: str = given.get("userCohort", COHORTS[0])
    return cohort if cohort in COHORTS else COHORTS[0]


def _check_dimensions(dimensions: tuple[str, ...], cohort: str) -> None:
    allowed = OS_BETA_DIMENSIONS if cohort == "OS_BETA" else set(DIMENSIONS) - {"osBuild"}
    for name in dimensions:
        if name not in allowed:
            raise invalid_argument(f"Dimension {name} is not supported with the user cohort {cohort}.", "dimensions")


def _check_metric(metric: str, metric_set: MetricSet, period: AggregationPeriod) -> None:
    found = metric_set.metric(metric)
    if found is None:
        raise invalid_argument(f"Metric {metric} is not supported by {metric_set.name}.", "metrics")
    if found[1] > 1 and not period.daily:
        raise invalid_argument(f"Metric {metric} is not supported in {period.name} granularity.", "metrics")


def _timeline(spec: Mapping[str, Json]) -> tuple[AggregationPeriod, int, int]:
    """The period, and the points from the first to past the last."""
    period = PERIODS.get(spec.get("aggregationPeriod", ""))
    if period is None:
        raise invalid_argument(
            f"The aggregation period must be one of {', '.join(PERIODS)}.", "timeline_spec.aggregation_period"
        )
    if not {"startTime", "endTime"} <= spec.keys():
        raise invalid_argument("The start and the end time are required.", "timeline_spec")
    start, end = (period.point_of(_moment(spec[name], period)) for name in ("startTime", "endTime"))
    if start >= end:
        raise invalid_argument("The start time must be before the end time.", "timeline_spec")
    return period, start, end


def _moment(written: Mapping[str, Json], period: AggregationPeriod) -> datetime:
    """The civil time at which a point begins. Raises `ApiError` 400 unless it is aligned, and in the period's zone."""
    _check_zone(written, period)
    finer = _NUMBERS[3 if period.daily else 4 :]
    if any(written.get(name) for name in finer):
        raise invalid_argument(f"With {period.name}, {', '.join(finer)} must be unset.", "timeline_spec")
    try:
        year, month, day, hours = (written.get(name, 0) for name in _NUMBERS[:4])
        return datetime(year, month, day, hours, tzinfo=timezone.utc)
    except ValueError:
        raise invalid_argument("Year, month, day and hours are no date and time.", "timeline_spec") from None


def _check_zone(written: Mapping[str, Json], period: AggregationPeriod) -> None:
    zone = written.get("timeZone", {}).get("id", period.zone)
    offset = written.get("utcOffset")
    if zone != period.zone or not (offset is None or (not period.daily and float(offset[:-1]) == 0)):
        raise _wrong_zone(period)


def _wrong_zone(period: AggregationPeriod) -> ApiError:
    return invalid_argument(f"The only time zone supported with {period.name} is {period.zone}.", "timeline_spec")
