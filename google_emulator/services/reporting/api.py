"""The Play Developer Reporting API: how fresh a metric set is, and its values."""

from __future__ import annotations

import base64
import hashlib
import json
import math
from collections.abc import Callable, Iterator
from decimal import Decimal

from google_emulator.config import Config
from google_emulator.http.request import Request
from google_emulator.http.response import ApiError, Json, Response, invalid_argument, json_response
from google_emulator.http.routes import Handler, Route
from google_emulator.protocol.uploads import Service
from google_emulator.services.reporting.queries import MetricsQuery, read_query
from google_emulator.services.reporting.vitals import (
    DIMENSIONS,
    METRIC_SETS,
    USERS,
    VERSION_CODE,
    AppVitals,
    Measurement,
    MetricSet,
    VersionSeries,
    VitalsStore,
    day_of_hour,
    merged,
)

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


REPORTING_SCOPE = "https://www.googleapis.com/auth/playdeveloperreporting"
PARAMETERS = {"alt", "prettyPrint", "fields", "key", "quotaUser", "$.xgafv"}  # of every method


class ReportingApi(Service):
    """`get` and `query` of the crash and ANR metric sets."""

    def __init__(self, vitals: VitalsStore, config: Config) -> None:
        self._vitals = vitals
        self._config = config
        self.routes = [route for metric_set in METRIC_SETS for route in self._routes(metric_set)]

    def _routes(self, metric_set: MetricSet) -> list[Route]:
        method = f"playdeveloperreporting.vitals.{metric_set.method}"
        path = f"/v1beta1/apps/{{package}}/{metric_set.name}"
        return [
            Route(f"{method}.get", "GET", path, self._get(metric_set), (REPORTING_SCOPE,)),
            Route(f"{method}.query", "POST", path + ":query", self._query(metric_set), (REPORTING_SCOPE,)),
        ]

    def _get(self, metric_set: MetricSet) -> Handler:
        def get(request: Request) -> Response:
            self._opened(request)
            package = request.params["package"]
            freshness = {"freshnesses": self._vitals.freshness(package)}
            return json_response({"name": f"apps/{package}/{metric_set.name}", "freshnessInfo": freshness})

        return get

    def _query(self, metric_set: MetricSet) -> Handler:
        def query(request: Request) -> Response:
            vitals = self._opened(request)
            asked = read_query(request.json(), metric_set)
            self._check_freshness(request.params["package"], asked)
            return json_response(_page(answer_rows(vitals, asked, metric_set), asked, vitals, request))

        return query

    def _opened(self, request: Request) -> AppVitals:
        """The vitals of the request's app. Raises `ApiError` where it can't be seen, or the API is scripted to fail."""
        for name in request.query:
            if name not in PARAMETERS:
                raise invalid_argument(
                    f'Invalid JSON payload received. Unknown name "{name}": Cannot bind query parameter. Field '
                    f"'{name}' could not be found in request message."
                )
        package = request.params["package"]
        if package in self._config.denied:
            raise _forbidden()
        if not self._config.any_app and package not in self._config.apps:
            raise ApiError(404, f"App {package} not found.")
        vitals = self._vitals.of(package)
        if vitals.down:
            raise _outage(vitals.down)
        return vitals

    def _check_freshness(self, package: str, query: MetricsQuery) -> None:
        """FreshnessInfo: "the latest available time that can be requested in a TimelineSpec"."""
        latest = self._vitals.latest_end(package, query.period)
        if latest is None or query.end > latest:
            raise invalid_argument(
                "The end time of the timeline is later than the latest end time for which data is available.",
                "timeline_spec.end_time",
            )


def _page(rows: list[dict[str, Json]], query: MetricsQuery, vitals: AppVitals, request: Request) -> dict[str, Json]:
    """One page; its token holds the next row's number, and a digest of the request that it continues."""
    digest = _digest(request)
    start = _offset(query.page_token, digest)
    end = start + min(query.page_size, vitals.page_size)
    page: dict[str, Json] = {"rows": rows[start:end]} if rows[start:end] else {}
    if end < len(rows):
        page["nextPageToken"] = base64.urlsafe_b64encode(f"{digest}:{end}".encode()).decode()
    return page


def _digest(request: Request) -> str:
    """What all requests for the pages of one answer have in common."""
    asked = {name: value for name, value in request.json().items() if name not in ("pageToken", "pageSize")}
    return hashlib.sha256(f"{request.path} {json.dumps(asked, sort_keys=True)}".encode()).hexdigest()[:16]


def _offset(token: str, digest: str) -> int:
    if not token:
        return 0
    try:
        made_for, _, offset = base64.urlsafe_b64decode(token).decode().partition(":")
        number = int(offset)
    except ValueError:
        raise invalid_argument("The page token is invalid.", "page_token") from None
    if made_for != digest:
        raise invalid_argument("All other parameters must match the call that provided the page token.", "page_token")
    return number


def _outage(how: str) -> ApiError:
    if how == "unavailable":
        return ApiError(503, "The service is currently unavailable.")
    return _disabled() if how == "disabled" else _forbidden()


def _disabled() -> ApiError:
    message = (
        "Google Play Developer Reporting API has not been used in project 123456789 before or it is disabled. Enable "
        "it by visiting https://console.developers.google.com/apis/api/playdeveloperreporting.googleapis.com/overview?"
        "project=123456789 then retry."
    )
    info = {
        "@type": "type.googleapis.com/google.rpc.ErrorInfo",
        "reason": "SERVICE_DISABLED",
        "domain": "googleapis.com",
        "metadata": {"service": "playdeveloperreporting.googleapis.com", "consumer": "projects/123456789"},
    }
    return ApiError(403, message, "accessNotConfigured", details=[info])


def _forbidden() -> ApiError:
    return ApiError(403, "The caller does not have permission")
