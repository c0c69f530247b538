"""What is read of the Reporting API's answers: numbers as they are meant, and nothing at all of what can't be right."""

from __future__ import annotations

from typing import Any

import pytest

from uploader.inputs.parsers import limits
from uploader.services.base import Call
from uploader.services.play.gate import MAX_PAGES, Gate, Measured, measure

GATE = Gate(limits("crash-rate 1.09%"))
END = {"year": 2026, "month": 6, "day": 24}
RATE = "userPerceivedCrashRate"


def row(rate: str, users: str = "5000", interval: tuple[str, str] | None = None, **more: Any) -> dict[str, Any]:
    """One row of version 42 on the newest day."""
    value: dict[str, Any] = {"metric": RATE, "decimalValue": {"value": rate}}
    if interval:
        lower, upper = ({"value": bound} for bound in interval)
        value["decimalValueConfidenceInterval"] = {"lowerBound": lower, "upperBound": upper}
    return {
        "startTime": {**END, "day": 23},
        "dimensions": [{"dimension": "versionCode", "int64Value": "42"}],
        "metrics": [value, {"metric": "distinctUsers", "decimalValue": {"value": users}}],
        **more,
    }


def found(response: Any, end: Any = END) -> Measured | str:
    """What comes of these two answers: how fresh the data are, and the same page for each query."""
    steps = measure("com.example.app", GATE)
    freshness = {"freshnessInfo": {"freshnesses": [{"aggregationPeriod": "DAILY", "latestEndTime": end}]}}
    try:
        step = next(steps)
        for _ in range(2 * MAX_PAGES):
            assert isinstance(step, Call)
            step = steps.send(freshness if step.method == "GET" else response)
    except StopIteration as ended:
        result: Measured | str = ended.value["crash-rate"]
        return result
    raise AssertionError("pages without end")


@pytest.mark.parametrize(
    ("interval", "expected"),
    [
        (None, None),
        (("0.001", "0.009"), (0.001, 0.009)),
        (("0.004", "0.004"), (0.004, 0.004)),
        (("0.9", "0.1"), None),
        (("0.02", "0.03"), None),
        (("-0.001", "0.009"), None),
        (("0.001", "1.2"), None),
        (("NaN", "0.009"), None),
        (("low", "high"), None),
    ],
)
def test_an_interval_is_taken_only_as_one_around_the_rate(
    interval: tuple[str, str] | None, expected: tuple[float, float] | None
) -> None:
    """Without one that can be right there is Wilson's, and neither a halt nor a pass rests on nonsense."""
    measured = found({"rows": [row("0.004", interval=interval)]})
    assert isinstance(measured, Measured)
    assert [one.interval for one in measured.rows] == [expected]


@pytest.mark.parametrize("rate", ["-0.01", "1.4", "NaN", "inf", "x", "0,01"])
def test_a_rate_that_is_none_makes_the_metric_unknown(rate: str) -> None:
    """One row that can't be read is enough."""
    assert isinstance(found({"rows": [row("0.004"), row(rate)]}), str)


@pytest.mark.parametrize("users", ["-1", "NaN", "inf", "1e300", "many"])
def test_users_are_a_number_that_people_can_be(users: str) -> None:
    """As with rates."""
    assert isinstance(found({"rows": [row("0.004", users)]}), str)


@pytest.mark.parametrize(
    "end",
    [
        None,
        "2026-06-24",
        {**END, "year": "2026"},
        {**END, "day": 0},
        {**END, "year": 1},
        {**END, "year": 10**30},
        {**END, "month": 6.0},
        dict.fromkeys(END, True),
    ],
)
def test_a_day_that_can_not_be_is_not_counted_from(end: Any) -> None:
    """Neither as the end of the data nor as the day of a row."""
    assert isinstance(found({"rows": []}, end), str)
    assert isinstance(found({"rows": [row("0.004", startTime=end)]}), str)


def test_pages_without_end_are_not_read() -> None:
    """A server that always names a next page is given up on."""
    assert "pages" in str(found({"rows": [row("0.004")], "nextPageToken": "x"}))
