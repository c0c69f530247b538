"""The Reporting API over scripted series: freshness, timelines, slices and refusals."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from datetime import datetime, timezone
from typing import Any

import pytest

from google_emulator import Emulator
from tests.support.emulator_client import PACKAGE, EmulatorClient, Reply

# Monday noon in Los Angeles, a day after DST
NOW = datetime(2026, 11, 2, 20, 30, tzinfo=timezone.utc).timestamp()
SET = f"/v1beta1/apps/{PACKAGE}/crashRateMetricSet"
ANR_SET = f"/v1beta1/apps/{PACKAGE}/anrRateMetricSet"
PACIFIC = {"timeZone": {"id": "America/Los_Angeles"}}
VERSIONS: dict[str, dict[str, Any]] = {
    "42": {
        "since": "2026-10-29",
        "users": [64, 940, 5210],
        "userPerceivedCrashRate": [0.03, 0.0142, 0.004],
    },
    "41": {
        "users": 91_400,
        "userPerceivedCrashRate": 0.003,
        "crashRate": 0.005,
        "userPerceivedAnrRate": 0.0021,
    },
}


@pytest.fixture
def reporting() -> Iterator[Any]:
    """Starts an emulator at a fixed time with these vitals, and a client with the Reporting API's
    scope.
    """
    with ExitStack() as stack:

        def start(
            config: dict[str, Any] | None = None, **vitals: Any
        ) -> EmulatorClient:
            settings = {
                "vitals": {PACKAGE: {"versions": VERSIONS, **vitals}},
                **(config or {}),
            }
            emulator = stack.enter_context(Emulator(config=settings, clock=lambda: NOW))
            client = EmulatorClient(emulator, emulator.token("playdeveloperreporting"))
            stack.callback(client.close)
            return client

        yield start


def day(number: int, month: int = 10) -> dict[str, Any]:
    return {"year": 2026, "month": month, "day": number}


def body(**changed: Any) -> dict[str, Any]:
    """A query for both versions from the 29th to the 31st of October."""
    timeline = {
        "aggregationPeriod": "DAILY",
        "startTime": day(29),
        "endTime": day(1, 11),
    }
    metrics = ["userPerceivedCrashRate", "distinctUsers"]
    return {
        "timelineSpec": timeline,
        "dimensions": ["versionCode"],
        "metrics": metrics,
        **changed,
    }


def timeline(**changed: Any) -> dict[str, Any]:
    return body(timelineSpec={**body()["timelineSpec"], **changed})


def query(client: EmulatorClient, path: str = SET, **changed: Any) -> Reply:
    return client.request("POST", f"{path}:query", json=body(**changed))


def table(reply: Reply) -> list[tuple[Any, ...]]:
    """The rows as tuples: day, dimensions, metrics."""
    assert reply.status == 200, reply.body
    return [
        (
            row["startTime"]["day"],
            *(
                one.get("int64Value", one.get("stringValue"))
                for one in row["dimensions"]
            ),
            *(one["decimalValue"]["value"] for one in row["metrics"]),
        )
        for row in reply.json.get("rows", [])
    ]


def test_freshness_is_told_by_period(reporting: Any) -> None:
    """Days of Los Angeles and hours of UTC, as far as there is data."""
    assert reporting().request("GET", SET).json == {
        "name": f"apps/{PACKAGE}/crashRateMetricSet",
        "freshnessInfo": {
            "freshnesses": [
                {
                    "aggregationPeriod": "HOURLY",
                    "latestEndTime": {
                        **day(2, 11),
                        "hours": 17,
                        "timeZone": {"id": "UTC"},
                    },
                },
                {
                    "aggregationPeriod": "DAILY",
                    "latestEndTime": {**day(1, 11), **PACIFIC},
                },
            ]
        },
    }
    stale = (
        reporting(freshness_days=5, freshness_hours=None).request("GET", ANR_SET).json
    )
    latest = {"aggregationPeriod": "DAILY", "latestEndTime": {**day(28), **PACIFIC}}
    assert stale["freshnessInfo"]["freshnesses"] == [latest]


def test_rows_by_day_and_version(reporting: Any) -> None:
    """A row for each day and version, with int64 and decimals as text; users are rounded."""
    reply = query(reporting())
    assert table(reply) == [
        (29, "41", "0.003", "91000"),
        (29, "42", "0.03", "60"),
        (30, "41", "0.003", "91000"),
        (30, "42", "0.0142", "940"),
        (31, "41", "0.003", "91000"),
        (31, "42", "0.004", "5200"),
    ]
    assert reply.json["rows"][1] == {
        "aggregationPeriod": "DAILY",
        "startTime": {**day(29), **PACIFIC},
        "dimensions": [{"dimension": "versionCode", "int64Value": "42"}],
        "metrics": [
            {"metric": "userPerceivedCrashRate", "decimalValue": {"value": "0.03"}},
            {"metric": "distinctUsers", "decimalValue": {"value": "60"}},
        ],
    }


@pytest.mark.parametrize(
    ("down", "status", "reason"),
    [
        ("unavailable", 503, "UNAVAILABLE"),
        ("disabled", 403, "SERVICE_DISABLED"),
        ("forbidden", 403, "PERMISSION_DENIED"),
    ],
)
def test_an_outage_lasts_until_the_script_is_changed(
    reporting: Any, down: str, status: int, reason: str
) -> None:
    """Both calls fail until then. The script can be changed while the emulator runs."""
    client = reporting(down=down)
    for reply in (client.request("GET", SET), query(client)):
        assert (reply.status, reason in reply.body.decode()) == (status, True)
    assert (
        client.request(
            "POST", "/__emulator/vitals", json={PACKAGE: {"down": ""}}
        ).status
        == 200
    )
    assert len(table(query(client))) == 6


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"colour": 1}, 'Unknown name "colour": Cannot find field.'),
        (
            {"timelineSpec": {"zone": 1}},
            "Unknown name \"zone\" at 'timeline_spec': Cannot find field.",
        ),
        (timeline(aggregationPeriod="WEEKLY"), 'v1beta1.AggregationPeriod), "WEEKLY"'),
        (
            timeline(startTime={"year": "x"}),
            "Invalid value at 'timeline_spec.start_time.year' (TYPE_INT32), \"x\"",
        ),
        (
            timeline(startTime={**day(29), "utcOffset": "1h"}),
            'google.protobuf.Duration), "1h"',
        ),
        ({"userCohort": "EVERYBODY"}, 'v1beta1.UserCohort), "EVERYBODY"'),
        ({"metrics": ["crashes"]}, "Metric crashes is not supported"),
        ({"dimensions": ["colour"]}, "Dimension colour is not supported"),
        (
            timeline(aggregationPeriod="FULL_RANGE"),
            "The aggregation period must be one of DAILY, HOURLY",
        ),
        (timeline(startTime=None), "The start and the end time are required."),
        (
            timeline(startTime=day(31), endTime=day(31)),
            "The start time must be before the end time.",
        ),
        (timeline(startTime=day(32)), "are no date and time"),
        (
            timeline(startTime={**day(29), "timeZone": {"id": "UTC"}}),
            "with DAILY is America/Los_Angeles",
        ),
        (
            timeline(aggregationPeriod="HOURLY", startTime={**day(29), **PACIFIC}),
            "with HOURLY is UTC",
        ),
        (timeline(endTime=day(2, 11)), "later than the latest end time"),
    ],
)
def test_what_the_documents_do_not_allow_is_refused(
    reporting: Any, changed: dict[str, Any], words: str
) -> None:
    """400 INVALID_ARGUMENT in Google's form of words."""
    reply = query(reporting(), **changed)
    assert (reply.status, reply.json["error"]["status"]) == (400, "INVALID_ARGUMENT")
    assert words in reply.message, reply.message
