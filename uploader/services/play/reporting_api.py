"""Asks the Play Developer Reporting API how often a release crashes or hangs, by version and day.

The discovery document playdeveloperreporting.v1beta1 is the reference. Rates are shares: `0.0142` is 1.42 %. All
versions are asked for at once, so that a version that Google leaves out, as it does with one that has too few users, is
seen to be missing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from datetime import date, timedelta
from typing import Any

from uploader.errors import CredentialsError, ProtocolError, ServiceError, TemporaryError
from uploader.inputs.parse_rollout import Metric
from uploader.services.base import Call, Json, Steps
from uploader.services.play.edit_api import entries
from uploader.services.play.gate import Gate, Measured, Measurement
from uploader.services.uri_template import expand

ROOT = "https://playdeveloperreporting.googleapis.com"
SCOPE = "https://www.googleapis.com/auth/playdeveloperreporting"
MOST_PAGES = 20
PAGE_SIZE = 1000  # rows
DAYS_END_IN = "America/Los_Angeles"
ANDROID = date(2008, 9, 23)  # its first release; nothing was measured before
_SETS: Mapping[Metric, tuple[str, str]] = {
    "crash-rate": ("crashRateMetricSet", "userPerceivedCrashRate"),
    "anr-rate": ("anrRateMetricSet", "userPerceivedAnrRate"),
}


def measure(package: str, gate: Gate) -> Steps[dict[Metric, Measured | str]]:
    """What was measured of each metric that the gate has a limit for, or why that is not known."""
    found: dict[Metric, Measured | str] = {}
    for metric in dict.fromkeys(limit.metric for limit in gate.limits):
        found[metric] = yield from _measured_or_why_not(package, metric, gate.days)
    return found


def _measured_or_why_not(package: str, metric: Metric, days: int) -> Steps[Measured | str]:
    try:
        return (yield from _measured(package, metric, days))
    except (ServiceError, CredentialsError, TemporaryError) as error:
        return error.what


def _measured(package: str, metric: Metric, days: int) -> Steps[Measured]:
    resource, name = _SETS[metric]
    path = expand("/v1beta1/apps/{package}/", {"package": package}) + resource
    end = _end_of_data((yield Call("GET", ROOT, path, what=f"the freshness of the {metric}")))
    query = {
        "timelineSpec": {
            "aggregationPeriod": "DAILY",
            "startTime": _midnight(end - timedelta(days)),
            "endTime": _midnight(end),
        },
        "dimensions": ["versionCode"],
        "metrics": [name, "distinctUsers"],
        "pageSize": PAGE_SIZE,
    }
    rows: list[Measurement] = []
    for _ in range(MOST_PAGES):
        response = yield Call("POST", ROOT, f"{path}:query", json=query, what=f"the {metric}")
        rows += _rows(response, name)
        token = response.get("nextPageToken")
        if not token:
            return Measured(end, tuple(rows))
        query = {**query, "pageToken": str(token)}
    raise ProtocolError(f"The Reporting API returned more than {MOST_PAGES} pages of the {metric}.")


def _midnight(day: date) -> dict[str, Json]:
    return {"year": day.year, "month": day.month, "day": day.day, "timeZone": {"id": DAYS_END_IN}}


def _end_of_data(response: object) -> date:
    """The day before which the daily data end."""
    info = response.get("freshnessInfo") if isinstance(response, Mapping) else None
    for freshness in entries(info or {}, "freshnesses"):
        if freshness.get("aggregationPeriod") == "DAILY":
            return _date(freshness.get("latestEndTime"))
    raise ProtocolError("The Reporting API does not say how fresh its data are.")


def _date(value: object) -> date:
    found = value if isinstance(value, Mapping) else {}
    try:
        day = date(found["year"], found["month"], found["day"])
    except (LookupError, TypeError, ValueError, OverflowError):
        day = date.min
    if day < ANDROID:  # nor may the days before it leave the calendar
        raise ProtocolError("The Reporting API returned a time in an undocumented format.")
    return day


def _rows(response: object, name: str) -> Iterator[Measurement]:
    """The rows of an answer. Raises ProtocolError for one that can't be read: nothing is concluded from the others."""
    for row in entries(response, "rows"):
        codes = [str(one.get("int64Value")) for one in entries(row, "dimensions")]
        values = {str(one.get("metric")): one for one in entries(row, "metrics")}
        if name not in values or "distinctUsers" not in values:
            continue  # left out for this version and day, as if the whole row were
        users = _decimal(values["distinctUsers"].get("decimalValue"))
        rate = _rate(values[name].get("decimalValue"))
        yield Measurement(
            codes[0] if codes else "", _date(row.get("startTime")), rate, int(users), _interval(values[name], rate)
        )


def _interval(value: Mapping[str, Any], rate: float) -> tuple[float, float] | None:
    """Google's interval around the rate; None where there is none that can be one."""
    interval = value.get("decimalValueConfidenceInterval")
    if not isinstance(interval, Mapping):
        return None
    lower, upper = (_number(interval.get(bound)) for bound in ("lowerBound", "upperBound"))
    return (lower, upper) if 0 <= lower <= rate <= upper <= 1 else None


def _rate(value: object) -> float:
    rate = _decimal(value)
    if rate > 1:
        raise ProtocolError(f"The Reporting API returned a rate of {rate:g}, which is not a share of users.")
    return rate


def _decimal(value: object) -> float:
    """A google.type.Decimal that counts or measures. Raises ProtocolError for another."""
    number = _number(value)
    if not 0 <= number < 1e12:
        raise ProtocolError("The Reporting API returned a number in an undocumented format.")
    return number


def _number(value: object) -> float:
    """A google.type.Decimal, of which an empty text means 0; not a number where it is no such thing."""
    text = value.get("value", "") if isinstance(value, Mapping) else None
    try:
        return float(text or 0) if isinstance(text, str) else math.nan
    except ValueError:
        return math.nan
