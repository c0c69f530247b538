"""The Play Developer Reporting API: how fresh a metric set is, and its values, after a check of the
query.

Reference: developers.google.com/play/developer/reporting/reference/rest.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from decimal import Decimal
from functools import partial

from google_emulator.config import Config
from google_emulator.http.request import Request
from google_emulator.http.response import (
    ApiError,
    Json,
    Response,
    api_disabled,
    invalid_argument,
    json_response,
    permission_denied,
)
from google_emulator.http.routes import Route
from google_emulator.protocol.uploads import Service
from google_emulator.services.payload_rules import (
    EnumRule,
    Rule,
    duration,
    int32,
    read_message,
    text,
)
from google_emulator.services.play.permissions import VIEW_APP, may
from google_emulator.services.vitals import (
    COHORTS,
    DIMENSIONS,
    METRIC_SETS,
    OS_BETA_DIMENSIONS,
    PEOPLE,
    PERIODS,
    USERS,
    VERSION_CODE,
    AggregationPeriod,
    AppVitals,
    Measurement,
    MetricSet,
    VersionSeries,
    VitalsStore,
    merged,
)

HOST = "playdeveloperreporting.googleapis.com"
DEFAULT_PAGE, MAX_PAGE = 1000, 10_000  # rows
_TYPES = "google.play.developer.reporting.v1beta1."
_NUMBERS = ("year", "month", "day", "hours", "minutes", "seconds", "nanos")
_ZONE: Mapping[str, Rule] = {"id": text, "version": text}
_DATE_TIME: Mapping[str, Rule] = {
    **dict.fromkeys(_NUMBERS, int32),
    "timeZone": _ZONE,
    "utcOffset": duration,
}
_PERIOD = EnumRule(
    _TYPES + "AggregationPeriod",
    ("AGGREGATION_PERIOD_UNSPECIFIED", "HOURLY", "DAILY", "FULL_RANGE"),
)
_REQUEST: Mapping[str, Rule] = {
    "timelineSpec": {
        "aggregationPeriod": _PERIOD,
        "startTime": _DATE_TIME,
        "endTime": _DATE_TIME,
    },
    "dimensions": [text],
    "metrics": [text],
    "filter": text,
    "pageSize": int32,
    "pageToken": text,
    "userCohort": EnumRule(
        _TYPES + "UserCohort", ("USER_COHORT_UNSPECIFIED", *COHORTS)
    ),
}


@dataclass(frozen=True)
class MetricsQuery:
    """A query: the points from `start` to before `end`, the metrics and dimensions, and the
    page.
    """

    period: AggregationPeriod
    start: int
    end: int
    metrics: tuple[str, ...]
    dimensions: tuple[str, ...]
    cohort: str
    page_size: int
    page_token: str


def read_query(body: Mapping[str, Json], metric_set: MetricSet) -> MetricsQuery:
    """Return the query in the body of a request. Raises `ApiError` 400 for what Google's documents
    do not allow.
    """
    given = read_message(dict(body), _REQUEST)
    period, start, end = _timeline(given.get("timelineSpec", {}))
    cohort: str = given.get("userCohort", COHORTS[0])
    cohort = cohort if cohort in COHORTS else COHORTS[0]
    dimensions, metrics = _names(given, "dimensions"), _names(given, "metrics")
    allowed = (
        OS_BETA_DIMENSIONS if cohort == "OS_BETA" else set(DIMENSIONS) - {"osBuild"}
    )
    for name in dimensions:
        if name not in allowed:
            raise invalid_argument(
                f"Dimension {name} is not supported with the user cohort {cohort}.",
                "dimensions",
            )
    for metric in metrics:
        _, days = metric_set.metrics.get(metric, ("", 0))
        if not days:
            raise invalid_argument(
                f"Metric {metric} is not supported by {metric_set.name}.", "metrics"
            )
        if days > 1 and not period.daily:
            raise invalid_argument(
                f"Metric {metric} is not supported in {period.name} granularity.",
                "metrics",
            )
    size = given.get("pageSize", 0)
    if size < 0:
        raise invalid_argument("page_size must not be negative.", "page_size")
    if given.get("filter"):
        raise invalid_argument("The emulator supports no filter.", "filter")
    page_size = min(size or DEFAULT_PAGE, MAX_PAGE)
    page_token = given.get("pageToken", "")
    return MetricsQuery(
        period, start, end, metrics, dimensions, cohort, page_size, page_token
    )


def _names(given: Mapping[str, Json], field: str) -> tuple[str, ...]:
    names = tuple(given.get(field, ()))
    if len(set(names)) != len(names):
        raise invalid_argument(f"{field} has a name twice.", field)
    return names


def _timeline(spec: Mapping[str, Json]) -> tuple[AggregationPeriod, int, int]:
    """Return the period, the first point, and the point after the last."""
    period = PERIODS.get(spec.get("aggregationPeriod", ""))
    if period is None:
        raise invalid_argument(
            f"The aggregation period must be one of {', '.join(PERIODS)}.",
            "timeline_spec.aggregation_period",
        )
    if not {"startTime", "endTime"} <= spec.keys():
        raise invalid_argument(
            "The start and the end time are required.", "timeline_spec"
        )
    start, end = (
        period.point_of(_time(spec[name], period)) for name in ("startTime", "endTime")
    )
    if start >= end:
        raise invalid_argument(
            "The start time must be before the end time.", "timeline_spec"
        )
    return period, start, end


def _time(written: Mapping[str, Json], period: AggregationPeriod) -> datetime:
    """Return the civil time at which a point begins. Raises `ApiError` 400 unless it is aligned and
    in the period's time zone.
    """
    zone, offset = (
        written.get("timeZone", {}).get("id", period.zone),
        written.get("utcOffset"),
    )
    if zone != period.zone or not (
        offset is None or (not period.daily and float(offset[:-1]) == 0)
    ):
        message = f"The only time zone supported with {period.name} is {period.zone}."
        raise invalid_argument(message, "timeline_spec")
    finer = _NUMBERS[3 if period.daily else 4 :]
    if any(written.get(name) for name in finer):
        raise invalid_argument(
            f"With {period.name}, {', '.join(finer)} must be unset.", "timeline_spec"
        )
    try:
        year, month, day, hours = (written.get(name, 0) for name in _NUMBERS[:4])
        return datetime(year, month, day, hours, tzinfo=timezone.utc)
    except ValueError:
        raise invalid_argument(
            "Year, month, day and hours are no date and time.", "timeline_spec"
        ) from None


REPORTING_SCOPE = "https://www.googleapis.com/auth/playdeveloperreporting"
PARAMETERS = {
    "alt",
    "prettyPrint",
    "fields",
    "key",
    "quotaUser",
    "$.xgafv",
}  # of every method
# Only versions are scripted, so every other dimension has a single value.
ONLY_VALUES = {"stringValue": "UNKNOWN", "int64Value": "0"}


class ReportingApi(Service):
    """`get` and `query` of the crash and ANR metric sets."""

    def __init__(self, vitals: VitalsStore, config: Config) -> None:
        self._vitals = vitals
        self._config = config
        self.routes = [
            route for metric_set in METRIC_SETS for route in self._routes(metric_set)
        ]

    def _routes(self, metric_set: MetricSet) -> list[Route]:
        method = f"playdeveloperreporting.vitals.{metric_set.method}"
        path = f"/v1beta1/apps/{{package}}/{metric_set.name}"
        get, query = (
            partial(self._get, metric_set=metric_set),
            partial(self._query, metric_set=metric_set),
        )
        return [
            Route(f"{method}.get", "GET", path, get, (REPORTING_SCOPE,)),
            Route(
                f"{method}.query", "POST", path + ":query", query, (REPORTING_SCOPE,)
            ),
        ]

    def _get(self, request: Request, metric_set: MetricSet) -> Response:
        self._opened(request)
        package = request.params["package"]
        freshness = {"freshnesses": self._vitals.freshness(package)}
        return json_response(
            {"name": f"apps/{package}/{metric_set.name}", "freshnessInfo": freshness}
        )

    def _query(self, request: Request, metric_set: MetricSet) -> Response:
        vitals = self._opened(request)
        query = read_query(request.json(), metric_set)
        latest = self._vitals.latest_end(request.params["package"], query.period)
        if latest is None or query.end > latest:
            # As FreshnessInfo says: the latest available time that can be requested in a
            # TimelineSpec.
            raise invalid_argument(
                "The end time of the timeline is later than the latest end time for which data is "
                "available.",
                "timeline_spec.end_time",
            )
        return json_response(
            _page(_rows(vitals, query, metric_set), query, vitals, request)
        )

    def _opened(self, request: Request) -> AppVitals:
        """Return the vitals of the request's app. Raises `ApiError` if the account can't see the
        app, or the API is scripted to fail.
        """
        for name in request.query:
            if name not in PARAMETERS:
                raise invalid_argument(
                    f'Invalid JSON payload received. Unknown name "{name}": Cannot bind query '
                    f"parameter. Field '{name}' could not be found in request message."
                )
        package = request.params["package"]
        vitals = self._vitals.of(package)
        if may(self._config, package, VIEW_APP):
            if not self._config.any_app and package not in self._config.apps:
                raise ApiError(404, f"App {package} not found.")
            if not vitals.down:
                return vitals
            if vitals.down == "unavailable":
                raise ApiError(503, "The service is currently unavailable.")
            if vitals.down == "disabled":
                raise api_disabled(HOST)
        raise permission_denied()


def _page(
    rows: list[dict[str, Json]],
    query: MetricsQuery,
    vitals: AppVitals,
    request: Request,
) -> dict[str, Json]:
    """Return one page. The token of the next page has the number of its first row, and a digest of
    the request.
    """
    asked = {
        name: value
        for name, value in request.json().items()
        if name not in ("pageToken", "pageSize")
    }
    digest = hashlib.sha256(
        f"{request.path} {json.dumps(asked, sort_keys=True)}".encode()
    ).hexdigest()[:16]
    start = 0
    if query.page_token:
        try:
            made_for, _, offset = (
                base64.urlsafe_b64decode(query.page_token).decode().partition(":")
            )
            start = int(offset)
        except ValueError:
            raise invalid_argument("The page token is invalid.", "page_token") from None
        if made_for != digest:
            message = (
                "All other parameters must match the call that provided the page token."
            )
            raise invalid_argument(message, "page_token")
    end = start + min(query.page_size, vitals.page_size)
    page: dict[str, Json] = {"rows": rows[start:end]} if rows[start:end] else {}
    if end < len(rows):
        page["nextPageToken"] = base64.urlsafe_b64encode(
            f"{digest}:{end}".encode()
        ).decode()
    return page


def _rows(
    vitals: AppVitals, query: MetricsQuery, metric_set: MetricSet
) -> list[dict[str, Json]]:
    """Return every MetricsRow of the response, by time and then by version, without those that have
    too few users.
    """
    cohort = {
        code: series
        for code, series in sorted(vitals.versions.items())
        if series.cohort == query.cohort
    }
    slices = (
        [[code] for code in cohort]
        if VERSION_CODE in query.dimensions
        else [list(cohort)]
        if cohort
        else []
    )
    rows: list[dict[str, Json]] = []
    for point in range(query.start, query.end):
        for part in slices:
            versions = [cohort[code] for code in part]
            measured = _measured(versions, [point], query)
            if measured is None or measured[PEOPLE] < vitals.min_users:
                continue
            values = _dimension_values(part[0])
            names = [name for name in query.metrics if name not in vitals.missing]
            metrics = [
                _metric(name, metric_set, versions, point, query) for name in names
            ]
            rows.append(
                {
                    "aggregationPeriod": query.period.name,
                    "startTime": query.period.write(point),
                    "dimensions": [
                        {
                            "dimension": dimension,
                            DIMENSIONS[dimension]: values[dimension],
                        }
                        for dimension in query.dimensions
                    ],
                    "metrics": metrics,
                }
            )
    return rows


def _dimension_values(code: int) -> dict[str, str]:
    return {name: ONLY_VALUES[kind] for name, kind in DIMENSIONS.items()} | {
        VERSION_CODE: str(code)
    }


def _measured(
    versions: Sequence[VersionSeries], points: Sequence[int], query: MetricsQuery
) -> Measurement | None:
    """Return several versions as one measurement, at each of these points and over all of them;
    None if there is no data.
    """
    by_point = []
    for point in points:
        found = [
            measurement
            for version in versions
            if (measurement := version.at(point, query.period)) is not None
        ]
        by_point += [merged(found)] if found else []
    return merged(by_point) if by_point else None


def _metric(
    name: str,
    metric_set: MetricSet,
    versions: Sequence[VersionSeries],
    point: int,
    query: MetricsQuery,
) -> dict[str, Json]:
    """Return the MetricValue of a metric of the set, at a point with data."""
    rate, days = metric_set.metrics[name]
    measured = _measured(versions, range(point - days + 1, point + 1), query) or {
        PEOPLE: 0.0
    }
    if rate == USERS:
        return {
            "metric": name,
            "decimalValue": {"value": str(rounded_users(measured[PEOPLE]))},
        }
    return {"metric": name, "decimalValue": _decimal(measured[rate])}


def rounded_users(users: float) -> int:
    """Return a number of users rounded to a multiple of 10, 100, 1,000 or 1,000,000, the coarser
    the more there are.
    """
    step = (
        10
        if users < 1000
        else 100
        if users < 10_000
        else 1000
        if users < 10_000_000
        else 1_000_000
    )
    return int(users / step + 0.5) * step


def _decimal(value: float) -> dict[str, Json]:
    """Return a google.type.Decimal of a share, with at most eight decimals and without zeros at its
    end.
    """
    text = (
        format(Decimal(repr(value)).quantize(Decimal("1e-8")), "f")
        .rstrip("0")
        .rstrip(".")
    )
    return {"value": text or "0"}
