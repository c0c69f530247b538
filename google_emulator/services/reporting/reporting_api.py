"""The calls of the Reporting API: how fresh a metric set is, and its values.

Reference: developers.google.com/play/developer/reporting/reference/rest.
"""

from __future__ import annotations

import base64
import hashlib
import json

from google_emulator.config import Config
from google_emulator.http.errors import ApiError, invalid_argument
from google_emulator.http.request import Request
from google_emulator.http.response import Json, Response, json_response
from google_emulator.http.routes import Handler, Route
from google_emulator.services.reporting.metric_sets import METRIC_SETS, MetricSet
from google_emulator.services.reporting.metrics_query import MetricsQuery, read_query
from google_emulator.services.reporting.metrics_rows import answer_rows
from google_emulator.services.reporting.vitals_script import AppVitals
from google_emulator.services.reporting.vitals_store import VitalsStore

REPORTING_SCOPE = "https://www.googleapis.com/auth/playdeveloperreporting"
PARAMETERS = {"alt", "prettyPrint", "fields", "key", "quotaUser", "$.xgafv"}  # of every method


class ReportingApi:
    """`get` and `query` of the crash and ANR metric sets."""

    def __init__(self, vitals: VitalsStore, config: Config) -> None:
        self._vitals = vitals
        self._config = config

    def routes(self) -> list[Route]:
        """The calls that this API serves."""
        return [route for metric_set in METRIC_SETS for route in self._routes(metric_set)]

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
