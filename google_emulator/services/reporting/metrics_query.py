"""A request to query a metric set: what it asks for, once it has been checked against the documents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone

from google_emulator.http.errors import ApiError, invalid_argument
from google_emulator.http.response import Json
from google_emulator.services.payload_rules import (
    EnumRule,
    ListRule,
    MessageRule,
    duration,
    int32,
    read_message,
    text,
)
from google_emulator.services.reporting.aip_filter import Predicate, parse_filter
from google_emulator.services.reporting.civil_time import PERIODS, AggregationPeriod
from google_emulator.services.reporting.metric_sets import COHORTS, DIMENSIONS, OS_BETA_DIMENSIONS, MetricSet

DEFAULT_PAGE, LARGEST_PAGE = 1000, 10_000  # rows
_TYPES = "google.play.developer.reporting.v1beta1."
_NUMBERS = ("year", "month", "day", "hours", "minutes", "seconds", "nanos")
_ZONE = MessageRule({"id": text, "version": text})
_DATE_TIME = MessageRule({**dict.fromkeys(_NUMBERS, int32), "timeZone": _ZONE, "utcOffset": duration})
_PERIOD = EnumRule(_TYPES + "AggregationPeriod", ("AGGREGATION_PERIOD_UNSPECIFIED", "HOURLY", "DAILY", "FULL_RANGE"))
_TIMELINE = MessageRule({"aggregationPeriod": _PERIOD, "startTime": _DATE_TIME, "endTime": _DATE_TIME})
_REQUEST = MessageRule(
    {
        "timelineSpec": _TIMELINE,
        "dimensions": ListRule(text),
        "metrics": ListRule(text),
        "filter": text,
        "pageSize": int32,
        "pageToken": text,
        "userCohort": EnumRule(_TYPES + "UserCohort", ("USER_COHORT_UNSPECIFIED", *COHORTS)),
    }
)


@dataclass(frozen=True, slots=True)
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
