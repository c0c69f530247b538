"""The Reporting API over scripted series: freshness, timelines, slices, filters, pages and refusals."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from datetime import datetime, timezone
from typing import Any

import pytest

from google_emulator import Emulator
from tests.support.emulator_client import APP, PACKAGE, EmulatorClient, Reply

NOW = datetime(2026, 11, 2, 20, 30, tzinfo=timezone.utc).timestamp()  # Monday noon in Los Angeles, a day after DST
SET = f"/v1beta1/apps/{PACKAGE}/crashRateMetricSet"
ANR_SET = f"/v1beta1/apps/{PACKAGE}/anrRateMetricSet"
PACIFIC = {"timeZone": {"id": "America/Los_Angeles"}}
VERSIONS: dict[str, dict[str, Any]] = {
    "42": {"since": "2026-10-29", "users": [64, 940, 5210], "userPerceivedCrashRate": [0.03, 0.0142, 0.004]},
    "41": {"users": 91_400, "userPerceivedCrashRate": 0.003, "crashRate": 0.005, "userPerceivedAnrRate": 0.0021},
}


@pytest.fixture
def reporting() -> Iterator[Any]:
    """Starts an emulator at a fixed time with these vitals, and a client with the Reporting API's scope."""
    with ExitStack() as stack:

        def start(config: dict[str, Any] | None = None, **vitals: Any) -> EmulatorClient:
            settings = {"vitals": {PACKAGE: {"versions": VERSIONS, **vitals}}, **(config or {})}
            emulator = stack.enter_context(Emulator(config=settings, clock=lambda: NOW))
            client = EmulatorClient(emulator, emulator.token("playdeveloperreporting"))
            stack.callback(client.close)
            return client

        yield start


def day(number: int, month: int = 10) -> dict[str, Any]:
    return {"year": 2026, "month": month, "day": number}


def body(**changed: Any) -> dict[str, Any]:
    """A query for both versions from the 29th to the 31st of October."""
    timeline = {"aggregationPeriod": "DAILY", "startTime": day(29), "endTime": day(1, 11)}
    metrics = ["userPerceivedCrashRate", "distinctUsers"]
    return {"timelineSpec": timeline, "dimensions": ["versionCode"], "metrics": metrics, **changed}


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
            *(one.get("int64Value", one.get("stringValue")) for one in row["dimensions"]),
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
                    "latestEndTime": {**day(2, 11), "hours": 17, "timeZone": {"id": "UTC"}},
                },
                {"aggregationPeriod": "DAILY", "latestEndTime": {**day(1, 11), **PACIFIC}},
            ]
        },
    }
    stale = reporting(freshness_days=5, freshness_hours=None).request("GET", ANR_SET).json
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


def test_anrs_have_a_metric_set_of_their_own(reporting: Any) -> None:
    """The ANR set has ANR metrics, and the crash set has none."""
    client = reporting()
    rows = table(query(client, ANR_SET, metrics=["userPerceivedAnrRate", "anrRate"], filter="versionCode = 41"))
    assert rows[0] == (29, "41", "0.0021", "0.0021")
    refused = query(client, metrics=["userPerceivedAnrRate"])
    assert (refused.status, refused.message) == (
        400,
        "Metric userPerceivedAnrRate is not supported by crashRateMetricSet.",
    )


def test_without_dimensions_the_app_is_one(reporting: Any) -> None:
    """Rates are weighted by users, and dimensions that nobody scripted have a single value."""
    [first, *_] = table(query(reporting(), dimensions=[], metrics=["userPerceivedCrashRate", "distinctUsers"]))
    assert first == (29, "0.00301889", "91000")
    assert table(query(reporting(), dimensions=["countryCode", "deviceRamBucket"]))[0][:3] == (29, "UNKNOWN", "0")


def test_averages_go_back_over_days(reporting: Any) -> None:
    """The rolling averages are weighted by each day's users; they exist by day alone."""
    client = reporting()
    average = "userPerceivedCrashRate7dUserWeighted"
    rows = table(query(client, metrics=[average], filter="versionCode = 42"))
    days = [(64, 0.03), (940, 0.0142), (5210, 0.004)]
    for count, row in enumerate(rows, start=1):
        users, crashed = (sum(values) for values in zip(*((n, n * rate) for n, rate in days[:count]), strict=True))
        assert float(row[2]) == pytest.approx(crashed / users, abs=1e-8)
    hour = {**day(1, 11), "hours": 3}
    hourly = {"aggregationPeriod": "HOURLY", "startTime": hour, "endTime": {**hour, "hours": 4}}
    assert query(client, metrics=[average], timelineSpec=hourly).status == 400


def test_hours_are_those_of_utc(reporting: Any) -> None:
    """An hour has its day's rates and a tenth of its users, or what is scripted for it."""
    hours = {"since": "2026-11-01T04", "users": [200, 300], "userPerceivedCrashRate": 0.01}
    client = reporting()
    client.emulator.vitals.script({PACKAGE: {"versions": {"43": {"users": 10, "hours": hours}}}})
    spec = {"aggregationPeriod": "HOURLY", "startTime": {**day(1, 11), "hours": 4}}
    spec["endTime"] = {**day(1, 11), "hours": 6, "timeZone": {"id": "UTC"}}
    reply = query(client, timelineSpec=spec, filter="versionCode != 41")
    assert [row["startTime"]["hours"] for row in reply.json["rows"]] == [4, 4, 5, 5]
    assert [row[1:] for row in table(reply)] == [
        ("42", "0.004", "520"),
        ("43", "0.01", "200"),
        ("42", "0.004", "520"),
        ("43", "0.01", "300"),
    ]


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("", {"41", "42"}),
        ("versionCode = 42", {"42"}),
        ('versionCode="42"', {"42"}),
        ("versionCode = 42 OR versionCode = 41", {"41", "42"}),
        ("(versionCode=42) AND apiLevel = 'UNKNOWN'", {"42"}),
        ("versionCode = 42 countryCode = DE", set()),
        ("NOT versionCode = 42", {"41"}),
        ("-(versionCode = 41)", {"42"}),
        ("versionCode = 1", set()),
    ],
)
def test_filters_compare_dimensions(reporting: Any, text: str, codes: set[str]) -> None:
    """AIP-160, as far as it is about equality."""
    assert {row[1] for row in table(query(reporting(), filter=text))} == codes


@pytest.mark.parametrize(
    "text",
    [
        *("versionCode", "versionCode =", "versionCode > 3", "versionCode = abc", "version = 3", "= 3"),
        *("versionCode = 42 OR", "(versionCode = 42", "versionCode = 42)", 'versionCode = "42', "(" * 40),
    ],
)
def test_a_filter_that_cannot_be_read_is_refused(reporting: Any, text: str) -> None:
    """400 INVALID_ARGUMENT, with the field at fault."""
    reply = query(reporting(), filter=text)
    assert (reply.status, reply.json["error"]["status"]) == (400, "INVALID_ARGUMENT")
    assert reply.json["error"]["details"][0]["fieldViolations"][0]["field"] == "filter"


def test_pages_hold_together(reporting: Any) -> None:
    """Page by page the same rows come; a token is good for the same request alone."""
    client = reporting(page_size=4)
    whole = table(query(reporting()))
    first = query(client)
    token = first.json["nextPageToken"]
    rest = query(client, pageToken=token)
    assert table(first) + table(rest) == whole
    assert "nextPageToken" not in rest.json
    assert len(table(query(client, pageSize=1))) == 1
    other = query(client, pageToken=token, filter="versionCode = 42")
    assert (other.status, other.message.startswith("All other parameters must match")) == (400, True)
    assert query(client, pageToken="???").message == "The page token is invalid."
    assert query(client, pageSize=-1).status == 400


def test_small_slices_are_left_out(reporting: Any) -> None:
    """Fewer users than `min_users` are no row."""
    assert {row[1] for row in table(query(reporting(min_users=100_000)))} == set()
    rows = table(query(reporting(min_users=100), filter="versionCode = 42"))
    assert [row[0] for row in rows] == [30, 31]


def test_intervals_are_there_when_scripted(reporting: Any) -> None:
    """Wilson's at 95 %, or the bounds of the script; users have none."""

    def intervals(client: EmulatorClient) -> list[Any]:
        [row] = query(client, filter="versionCode = 42", timelineSpec=day_29).json["rows"]
        return [one.get("decimalValueConfidenceInterval") for one in row["metrics"]]

    day_29 = timeline(endTime=day(30))["timelineSpec"]
    assert intervals(reporting()) == [None, None]
    wilson = {"lowerBound": {"value": "0.00807437"}, "upperBound": {"value": "0.10515224"}}
    assert intervals(reporting(interval=True)) == [wilson, None]
    scripted = {"42": {**VERSIONS["42"], "intervals": {"userPerceivedCrashRate": [0.01, 0.05]}}}
    bounds = {"lowerBound": {"value": "0.01"}, "upperBound": {"value": "0.05"}}
    assert intervals(reporting(interval=True, versions=scripted)) == [bounds, None]


def test_single_days_can_be_scripted(reporting: Any) -> None:
    """A day of its own values, and a day without any."""
    days = {"2026-10-29": {"users": 700, "userPerceivedCrashRate": 0.5}, "2026-10-30": None}
    client = reporting(versions={"42": {"users": 100, "days": days}})
    assert table(query(client)) == [(29, "42", "0.5", "700"), (31, "42", "0", "100")]


def test_a_missing_metric_is_in_no_row(reporting: Any) -> None:
    """The query is answered, without it."""
    rows = table(query(reporting(missing=["userPerceivedCrashRate"]), filter="versionCode = 42"))
    assert rows[0] == (29, "42", "60")


def test_cohorts_are_apart(reporting: Any) -> None:
    """Testers are in no public row; the beta cohort has fewer dimensions."""
    versions = {**VERSIONS, "43": {"users": 100, "cohort": "APP_TESTERS"}}
    client = reporting(versions=versions)
    assert {row[1] for row in table(query(client, userCohort="APP_TESTERS"))} == {"43"}
    assert {row[1] for row in table(query(client, userCohort="USER_COHORT_UNSPECIFIED"))} == {"41", "42"}
    assert query(client, userCohort="OS_BETA", dimensions=["osBuild"]).json == {}
    assert query(client, userCohort="OS_BETA", dimensions=["countryCode"]).status == 400


@pytest.mark.parametrize(
    ("down", "status", "reason"),
    [
        ("unavailable", 503, "UNAVAILABLE"),
        ("disabled", 403, "SERVICE_DISABLED"),
        ("forbidden", 403, "PERMISSION_DENIED"),
    ],
)
def test_an_outage(reporting: Any, down: str, status: int, reason: str) -> None:
    """Both calls fail until the script is changed, which can be done while it runs."""
    client = reporting(down=down)
    for reply in (client.request("GET", SET), query(client)):
        assert (reply.status, reason in reply.body.decode()) == (status, True)
    assert client.request("POST", "/__emulator/vitals", json={PACKAGE: {"down": ""}}).status == 200
    assert len(table(query(client))) == 6


def test_the_days_go_by(reporting: Any) -> None:
    """With the clock moved there is more data; an answer's Date follows it."""
    client = reporting()
    assert client.request("GET", SET).header("Date") == "Mon, 02 Nov 2026 20:30:00 GMT"
    assert query(client, timelineSpec=timeline(endTime=day(2, 11))["timelineSpec"]).status == 400
    client.emulator.clock.advance(86_400)
    assert len(table(query(client, timelineSpec=timeline(endTime=day(2, 11))["timelineSpec"]))) == 8
    assert client.request("GET", SET).header("Date") == "Tue, 03 Nov 2026 20:30:00 GMT"


def test_each_api_has_its_scope(reporting: Any) -> None:
    """Play's token is refused here, this one there, with ACCESS_TOKEN_SCOPE_INSUFFICIENT; and none with 401."""
    client = reporting()
    refusals = [client.request("GET", f"{APP}/tracks/production/releases")]
    client.token = client.emulator.token("androidpublisher")
    refusals += [client.request("GET", SET), query(client)]
    for reply in refusals:
        assert (reply.status, reply.json["error"]["status"]) == (403, "PERMISSION_DENIED")
        assert reply.json["error"]["details"][0]["reason"] == "ACCESS_TOKEN_SCOPE_INSUFFICIENT"
    client.token = ""
    assert client.request("GET", SET).status == 401


def test_apps_that_cannot_be_seen(reporting: Any) -> None:
    """Unknown is 404, forbidden 403; an app without a script has fresh data of nothing."""
    client = reporting({"any_app": False, "apps": {PACKAGE: {}}, "denied": ["com.example.secret"]})
    assert client.request("GET", SET.replace(PACKAGE, "com.example.other")).status == 404
    assert client.request("GET", SET.replace(PACKAGE, "com.example.secret")).status == 403
    assert query(reporting(), SET.replace(PACKAGE, "com.example.other")).json == {}


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"colour": 1}, 'Unknown name "colour": Cannot find field.'),
        ({"timelineSpec": {"zone": 1}}, "Unknown name \"zone\" at 'timeline_spec': Cannot find field."),
        ({"timelineSpec": []}, "Proto field is not repeating, cannot start list."),
        ({"timelineSpec": 1}, "Invalid value at 'timeline_spec' (message), 1"),
        (timeline(aggregationPeriod="WEEKLY"), 'v1beta1.AggregationPeriod), "WEEKLY"'),
        (timeline(startTime={"year": "x"}), "Invalid value at 'timeline_spec.start_time.year' (TYPE_INT32), \"x\""),
        (timeline(startTime={"year": True}), "(TYPE_INT32), true"),
        (timeline(startTime={"year": 1 << 31}), "(TYPE_INT32)"),
        (timeline(startTime={**day(29), "utcOffset": "1h"}), 'google.protobuf.Duration), "1h"'),
        ({"metrics": [3]}, "Invalid value at 'metrics[0]' (TYPE_STRING), 3"),
        ({"filter": ["a"]}, "Proto field is not repeating"),
        ({"userCohort": "EVERYBODY"}, 'v1beta1.UserCohort), "EVERYBODY"'),
        ({"pageSize": 1.5}, "Invalid value at 'page_size' (TYPE_INT32), 1.5"),
        ({"metrics": ["crashes"]}, "Metric crashes is not supported"),
        ({"dimensions": ["colour"]}, "Dimension colour is not supported"),
        ({"dimensions": ["versionCode", "versionCode"]}, "has a name twice"),
        ({"timelineSpec": None}, "The aggregation period must be one of DAILY, HOURLY"),
        (timeline(aggregationPeriod="FULL_RANGE"), "The aggregation period must be one of DAILY, HOURLY"),
        (timeline(startTime=None), "The start and the end time are required."),
        (timeline(startTime=day(31), endTime=day(31)), "The start time must be before the end time."),
        (timeline(startTime=day(32)), "are no date and time"),
        (timeline(startTime={**day(29), "hours": 1}), "hours, minutes, seconds, nanos must be unset"),
        (timeline(startTime={**day(29), "timeZone": {"id": "UTC"}}), "with DAILY is America/Los_Angeles"),
        (timeline(aggregationPeriod="HOURLY", startTime={**day(29), **PACIFIC}), "with HOURLY is UTC"),
        (timeline(aggregationPeriod="HOURLY", startTime={**day(29), "utcOffset": "3600s"}), "with HOURLY is UTC"),
        (timeline(aggregationPeriod="HOURLY", startTime={**day(29), "minutes": 5}), "must be unset"),
        (timeline(endTime=day(2, 11)), "later than the latest end time"),
    ],
)
def test_what_the_documents_do_not_allow_is_refused(reporting: Any, changed: dict[str, Any], words: str) -> None:
    """400 INVALID_ARGUMENT in Google's form of words."""
    reply = query(reporting(), **changed)
    assert (reply.status, reply.json["error"]["status"]) == (400, "INVALID_ARGUMENT")
    assert words in reply.message, reply.message


def test_parameters_are_known(reporting: Any) -> None:
    """Those of every method are understood, others refused."""
    client = reporting()
    assert client.request("GET", f"{SET}?alt=json&prettyPrint=false").status == 200
    assert "Cannot bind query parameter" in client.request("GET", f"{SET}?pageSize=3").message
    offset = timeline(aggregationPeriod="HOURLY", startTime={**day(29), "utcOffset": "0s"})
    assert query(client, **offset).status == 200


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ({"weather": 1}, "unknown key weather in vitals"),
        ({"down": "a bit"}, "down is one of"),
        ({"versions": {"x": {}}}, "invalid literal"),
        ({"versions": {"1": {"speed": 1}}}, "unknown key speed of a version"),
        ({"versions": {"1": {"users": -1}}}, "users is a number of users"),
        ({"versions": {"1": {"users": []}}}, "users is a number of users"),
        ({"versions": {"1": {"crashRate": 1.42}}}, "crashRate is a share from 0 to 1"),
        ({"versions": {"1": {"since": "soon"}}}, "Invalid isoformat"),
        ({"versions": {"1": {"cohort": "ALL"}}}, "cohort is one of"),
        ({"versions": {"1": {"intervals": {"crashRate": [0.5, 0.1]}}}}, "intervals are pairs"),
        ({"versions": {"1": {"hours": {"days": {}}}}}, "unknown key days of a version"),
    ],
)
def test_a_script_that_makes_no_sense_is_refused(script: dict[str, Any], words: str) -> None:
    """A misspelt script can't pass for a test."""
    with pytest.raises(ValueError, match=words):
        Emulator(config={"vitals": {"*": script}})
