"""The gate of a rollout: what follows from each situation that Google's measurements can be in."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime, timedelta, timezone
from itertools import count
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.factory import Step, answers
from uploader.inputs.parsers import Metric, limits
from uploader.services.base import Call
from uploader.services.play.gate import (
    MAX_PAGES,
    Answer,
    Gate,
    Judgement,
    Measurement,
    judge,
    measure,
    section,
    wilson,
)

TODAY = date(2026, 6, 24)  # the data end before this day
NOW = datetime(2026, 6, 25, 12, tzinfo=timezone.utc).timestamp()
HOUR = 3600.0


def day(
    ago: int,
    rate: float,
    users: int,
    code: str = "42",
    interval: tuple[float, float] | None = None,
) -> Measurement:
    """A measurement of the day so many days before the newest; the rate is in per cent."""
    bounds = interval and (interval[0] / 100, interval[1] / 100)
    return Measurement(code, TODAY - timedelta(ago + 1), rate / 100, users, bounds)


def old(rate: float, users: int = 100_000, ago: int = 0) -> Measurement:
    """A measurement of version 41, which everybody has."""
    return day(ago, rate, users, "41")


# By situation: the limits, the measurements, the ruling, and a part of its reason. The release is
# 42+43, the one before it 41.
CRASH, ANR, TIMES = "crash-rate 1.09%", "anr-rate 0.47%", "crash-rate 1.5x"
NEVER = day(0, 0, 100_000, "41", (0, 0))
SITUATIONS: dict[str, tuple[str, list[Measurement], str, str]] = {
    "well below": (CRASH, [day(0, 0.4, 5000)], "pass", ""),
    "well below on both days": (
        CRASH,
        [day(0, 0.4, 5000), day(1, 0.5, 900)],
        "pass",
        "",
    ),
    "exactly the limit": (CRASH, [day(0, 1.09, 5000)], "pass", ""),
    "a hair above": (CRASH, [day(0, 1.1, 5000)], "hold", "by chance"),
    "above, few hundred users": (CRASH, [day(0, 1.8, 500)], "hold", "by chance"),
    "above, many users": (
        CRASH,
        [day(0, 1.8, 5000)],
        "halt",
        "above the limit of 1.09 %",
    ),
    "far above, few hundred users": (CRASH, [day(0, 6.0, 300)], "halt", "at least"),
    "everybody crashes": (CRASH, [day(0, 100, 200)], "halt", "100 %"),
    "nobody crashes": (CRASH, [day(0, 0, 200)], "pass", ""),
    "first day, sixty users, bad by chance": (
        CRASH,
        [day(0, 2.3, 60)],
        "hold",
        "100 are needed",
    ),
    "first day, sixty users, good": (
        CRASH,
        [day(0, 0, 60)],
        "hold",
        "at most 60 users a day",
    ),
    "just enough users": (CRASH, [day(0, 0.5, 100)], "pass", ""),
    "one user too few": (CRASH, [day(0, 0.5, 99)], "hold", "99 users"),
    "no users": (CRASH, [day(0, 0, 0)], "hold", "0 users"),
    "two thin days are not added up": (
        CRASH,
        [day(0, 0.5, 60), day(1, 0.5, 60)],
        "hold",
        "60 users",
    ),
    "bad first day, thin; good second": (
        CRASH,
        [day(1, 2.3, 60), day(0, 0.5, 3000)],
        "pass",
        "",
    ),
    "bad first day, by chance; good second": (
        CRASH,
        [day(1, 1.6, 150), day(0, 0.5, 3000)],
        "pass",
        "",
    ),
    "surely bad first day; good second": (
        CRASH,
        [day(1, 3, 5000), day(0, 0.5, 3000)],
        "halt",
        "2026-06-22",
    ),
    "rising, sure by now": (
        CRASH,
        [day(1, 0.2, 90_000), day(0, 1.5, 90_000)],
        "halt",
        "2026-06-23",
    ),
    "rising, perhaps by chance": (
        CRASH,
        [day(1, 0.2, 900), day(0, 1.3, 900)],
        "hold",
        "by chance",
    ),
    "good day, then a thin one": (
        CRASH,
        [day(1, 0.4, 2000), day(0, 5, 40)],
        "pass",
        "",
    ),
    "bad before the period": (CRASH, [day(2, 9, 5000), day(0, 0.4, 5000)], "pass", ""),
    "only before the period": (
        CRASH,
        [day(2, 0.4, 5000)],
        "hold",
        "too few users have this release to measure",
    ),
    "not measured at all": (CRASH, [], "hold", "too few users have this release"),
    "only others are measured": (
        CRASH,
        [old(0.4)],
        "hold",
        "too few users have this release to measure",
    ),
    "only others are bad": (CRASH, [old(9), day(0, 0.4, 5000)], "pass", ""),
    "two versions, both good": (
        CRASH,
        [day(0, 0.4, 5000), day(0, 0.4, 800, "43")],
        "pass",
        "",
    ),
    "two versions, one surely bad": (
        CRASH,
        [day(0, 0.4, 5000), day(0, 9, 800, "43")],
        "halt",
        "version 43",
    ),
    "two versions, one bad by chance": (
        CRASH,
        [day(0, 0.4, 5000), day(0, 2, 150, "43")],
        "hold",
        "version 43",
    ),
    "two versions, one thin": (
        CRASH,
        [day(0, 0.4, 5000), day(0, 20, 10, "43")],
        "pass",
        "",
    ),
    "two versions, both thin": (
        CRASH,
        [day(0, 0.4, 70), day(0, 0.4, 70, "43")],
        "hold",
        "70 users",
    ),
    "Google's interval is wide": (
        CRASH,
        [day(0, 3, 5000, interval=(0.9, 5))],
        "hold",
        "by chance",
    ),
    "Google's interval is narrow": (
        CRASH,
        [day(0, 1.2, 500, interval=(1.1, 1.3))],
        "halt",
        "at least 1.1 %",
    ),
    "Google's interval just touches": (
        CRASH,
        [day(0, 2, 5000, interval=(1.09, 3))],
        "hold",
        "by chance",
    ),
    "Google's interval is no interval of the rate": (
        CRASH,
        [day(0, 0.4, 5000, interval=(2, 3))],
        "pass",
        "",
    ),
    "a day is told twice, once above": (
        CRASH,
        [day(0, 1.3, 5000), day(0, 0.4, 5000)],
        "hold",
        "by chance",
    ),
    "a day is told twice, once surely above": (
        CRASH,
        [day(0, 3, 5000), day(0, 0.4, 5000)],
        "halt",
        "3 %",
    ),
    "ANRs below": (ANR, [day(0, 0.3, 5000)], "pass", ""),
    "ANRs surely above": (ANR, [day(0, 1.2, 5000)], "halt", "ANR rate"),
    "both metrics below": (f"{CRASH}, {ANR}", [day(0, 0.3, 5000)], "pass", ""),
    "crashes fine, ANRs not": (
        f"{CRASH}, {ANR}",
        [day(0, 0.9, 5000)],
        "halt",
        "ANR rate",
    ),
    "relative, below": (TIMES, [old(0.5), day(0, 0.6, 5000)], "pass", ""),
    "relative, above by chance": (
        TIMES,
        [old(0.5), day(0, 0.9, 900)],
        "hold",
        "(1.5x)",
    ),
    "relative, surely above": (
        TIMES,
        [old(0.5), day(0, 2, 5000)],
        "halt",
        "above the limit of 0.75 % (1.5x)",
    ),
    "relative, the old one is bad, too": (TIMES, [old(3), day(0, 4, 5000)], "pass", ""),
    "relative, the old one is not measured": (
        TIMES,
        [day(0, 0.6, 5000)],
        "hold",
        "compared",
    ),
    "relative, the old one is thin": (
        TIMES,
        [old(0.5, 50), day(0, 0.6, 5000)],
        "hold",
        "compared",
    ),
    "relative, the old one on another day": (
        TIMES,
        [old(0.5, ago=1), day(0, 0.6, 5000)],
        "hold",
        "compared",
    ),
    "relative, the old one never crashes": (
        TIMES,
        [old(0), day(0, 0, 5000)],
        "pass",
        "",
    ),
    "relative, surely nobody crashes": (TIMES, [NEVER, day(0, 0, 5000)], "pass", ""),
    "relative, the old one surely never crashes": (
        TIMES,
        [NEVER, day(0, 2, 5000)],
        "halt",
        "above the limit of 0 %",
    ),
    "relative, the old one is not sure": (
        TIMES,
        [old(0.5, 200), day(0, 2, 5000)],
        "hold",
        "by chance",
    ),
    "absolute below, relative above": (
        f"{CRASH}, {TIMES}",
        [old(0.2), day(0, 0.9, 5000)],
        "halt",
        "(1.5x)",
    ),
    "absolute above, nothing to compare": (
        f"{CRASH}, {TIMES}",
        [day(0, 3, 5000)],
        "halt",
        "1.09 %",
    ),
}


def judged(
    text: str, rows: list[Measurement], gate: Gate | None = None, now: float = NOW
) -> Judgement:
    """The judgement over the release 42+43."""
    found: dict[Metric, Answer] = dict.fromkeys(
        ("crash-rate", "anr-rate"), (TODAY, tuple(rows))
    )
    return judge(
        replace((gate or Gate()), limits=limits(text)),
        now,
        found,
        ("42", "43"),
        ("41",),
    )


@pytest.mark.parametrize("name", SITUATIONS)
def test_each_situation_has_its_ruling_and_its_reason(name: str) -> None:
    """The table above: what was measured, and whether the rollout goes on, waits, or ends."""
    text, rows, ruling, reason = SITUATIONS[name]
    judgement = judged(text, rows)
    assert judgement.ruling == ruling, judgement
    assert reason in " ".join(judgement.reasons)
    assert bool(judgement.reasons) == (ruling != "pass")


@pytest.mark.parametrize(
    ("text", "rows", "brief"),
    [
        (
            f"{CRASH}, {TIMES}",
            [old(0.6), day(0, 2.1, 5000)],
            "crash rate 2.1 %, limit 0.9 %",
        ),
        (
            CRASH,
            [day(0, 1.3, 900)],
            "crash rate 1.3 %, limit 1.09 %, perhaps by chance",
        ),
        (f"{CRASH}, {ANR}", [day(0, 0.4, 40)], "too few users (40 of 100)"),
        (TIMES, [day(0, 0.6, 5000)], "no completed release to compare it with"),
    ],
    ids=["halt", "by-chance", "too-few", "nothing-to-compare"],
)
def test_reasons_in_a_few_words(text: str, rows: list[Measurement], brief: str) -> None:
    """For the heading of the summary: of several limits that were passed the lowest."""
    assert judged(text, rows).brief == brief


@pytest.mark.parametrize(
    ("text", "rows", "why"),
    [
        (
            f"{CRASH}, {TIMES}, {ANR}",
            [],
            (
                "too few users have this release to measure its user-perceived crash rate and "
                "user-perceived ANR rate"
            ),
        ),
        (
            f"{CRASH}, {ANR}",
            [day(0, 0.4, 40)],
            (
                "at most 40 users a day had this release, and 100 are needed to judge its "
                "user-perceived crash rate and user-perceived ANR rate"
            ),
        ),
    ],
    ids=["not-measured", "too-few"],
)
def test_one_reason_for_several_metrics_is_said_once(
    text: str, rows: list[Measurement], why: str
) -> None:
    assert judged(text, rows).why == why


@pytest.mark.parametrize(
    ("hours", "ruling"),
    [(0, "pass"), (24, "pass"), (72, "pass"), (72.1, "hold"), (24 * 30, "hold")],
)
def test_old_data_say_nothing(hours: float, ruling: str) -> None:
    """A feed that stopped is no good news: data that ended longer ago than `gate-max-age` hold the
    rollout.
    """
    # in Los Angeles, summer
    ended = datetime(
        TODAY.year, TODAY.month, TODAY.day, 7, tzinfo=timezone.utc
    ).timestamp()
    found = judged(CRASH, [day(0, 0.1, 5000)], now=ended + hours * HOUR)
    assert found.ruling == ruling
    assert ("stale" in " ".join(found.reasons)) == (ruling == "hold")


def test_data_from_the_future_are_not_fresh() -> None:
    """A date that is wrong must not keep a feed fresh that stopped: the rollout is held."""
    began = datetime(
        TODAY.year, TODAY.month, TODAY.day, 7, tzinfo=timezone.utc
    ).timestamp()
    for hours in (0.1, 24, 24 * 365):
        found = judged(CRASH, [day(0, 0.1, 5000)], now=began - hours * HOUR)
        assert (found.ruling, "future" in found.why) == ("hold", True)


def test_stale_data_halt_nothing_either() -> None:
    """What was surely bad a month ago may be cured by now, so the rollout is held for people to
    look at.
    """
    assert judged(CRASH, [day(0, 9, 5000)], now=NOW + 30 * 24 * HOUR).ruling == "hold"


def test_a_metric_that_could_not_be_had_holds_and_says_why() -> None:
    """One limit that can't be judged is enough to hold; one that is surely broken still halts."""
    good, bad = ((TODAY, (day(0, rate, 5000),)) for rate in (0.4, 9))
    gate = Gate(limits(f"{CRASH}, {ANR}"))
    held = judge(
        gate, NOW, {"crash-rate": good, "anr-rate": "the API is down."}, ["42"], []
    )
    assert held.ruling == "hold"
    assert held.reasons == (
        "the user-perceived ANR rate is not known: the API is down.",
    )
    assert (
        judge(
            gate, NOW, {"crash-rate": bad, "anr-rate": "the API is down."}, ["42"], []
        ).ruling
        == "halt"
    )


@pytest.mark.parametrize(
    ("rate", "users", "lower", "upper"),
    [
        (0.5, 100, 0.4038, 0.5962),
        (0.0, 100, 0.0, 0.0370),
        (1.0, 100, 0.9630, 1.0),
        (0.0109, 10_000, 0.0090, 0.0132),
    ],
)
def test_wilson_agrees_with_tables(
    rate: float, users: int, lower: float, upper: float
) -> None:
    """The interval is that of the literature."""
    assert wilson(rate, users) == pytest.approx((lower, upper), abs=0.0001)


ROWS = st.builds(
    lambda ago, rate, users, code: Measurement(
        code, TODAY - timedelta(ago), rate, users
    ),
    st.integers(-3, 5),
    st.floats(0, 1),
    st.integers(0, 10**9),
    st.sampled_from(["41", "42", "43", "7"]),
)


@given(
    st.lists(ROWS, max_size=8),
    st.sampled_from([CRASH, ANR, TIMES, f"{CRASH}, {TIMES}"]),
)
def test_only_what_is_seen_passes_or_halts(rows: list[Measurement], text: str) -> None:
    """It passes only by a day with enough users below the limit, and halts only by one that is
    above it.
    """
    found = judged(text, rows)
    if found.ruling == "pass":
        assert {one.finding for one in found.judged} & {"below"}
        assert all(
            one.row.users >= 100 for one in found.judged if one.finding == "below"
        )
    if found.ruling == "halt":
        worst = [one for one in found.judged if one.finding == "surely above"]
        assert worst
        assert all(
            one.bound is not None and one.row.rate >= one.bound and one.row.users >= 100
            for one in worst
        )


def test_a_rate_above_several_limits_is_told_once() -> None:
    """The sentence names every limit that the rate is above."""
    measured = [old(0.6), day(0, 2.18, 5000)]
    judgement = judged(f"{CRASH}, {TIMES}", measured)
    (reason,) = judgement.reasons
    assert reason.startswith(
        "version 42 has a user-perceived crash rate of 2.18 % (at least 1.81 %)"
    )
    assert reason.endswith("above the limits of 1.09 % and 0.9 % (1.5x)")


def test_the_table_has_a_row_for_each_day_and_each_metric_a_chart() -> None:
    """A column for each limit says what was found; the chart has the bars that are over, every
    limit, the others' own rate, and what is certain.
    """
    measured = [
        old(0.6, ago=1),
        old(0.6),
        day(1, 0.545, 5000),
        day(0, 2.18, 5000),
        day(2, 9, 20),
    ]
    table = section(judged(f"{CRASH}, {TIMES}", measured).judged)
    assert table.header == (
        "Day",
        "Version",
        "Users (share)",
        "Crash rate",
        "limit 1.09 %",
        "1.5 times 41's",
    )
    assert table.rows == (
        (
            "2026-06-22",
            "42",
            "5,000 (4.8 %)",
            "0.545 % (at least 0.375 %)",
            "ok",
            "ok, limit 0.9 %",
        ),
        (
            "2026-06-23",
            "42",
            "5,000 (4.8 %)",
            "2.18 % (at least 1.81 %)",
            "over (certain)",
            "over (certain), limit 0.9 %",
        ),
    )
    (chart,) = table.charts
    assert chart.title == "User-perceived crash rate of 42 in percent"
    assert (
        chart.note
        == "The crash rate of 23 Jun is at least 1.81 %, with 95 % confidence."
    )
    assert (chart.labels, chart.bars) == (("22 Jun", "23 Jun"), (0.545, 2.18))
    assert chart.over == (False, True)
    assert chart.lines == (
        ("limit 1.09 %", (1.09, 1.09)),
        ("1.5 times 41's", (0.9, 0.9)),
        ("41 itself", (0.6, 0.6)),
    )


# --- what is read of the Reporting API's answers --------------------------------------------------

GATE = Gate(limits("crash-rate 1.09%"))
END = {"year": 2026, "month": 6, "day": 24}
RATE = "userPerceivedCrashRate"


def row(
    rate: str, users: str = "5000", interval: tuple[str, str] | None = None, **more: Any
) -> dict[str, Any]:
    """One row of version 42 on the newest day."""
    value: dict[str, Any] = {"metric": RATE, "decimalValue": {"value": rate}}
    if interval:
        lower, upper = ({"value": bound} for bound in interval)
        value["decimalValueConfidenceInterval"] = {
            "lowerBound": lower,
            "upperBound": upper,
        }
    return {
        "startTime": {**END, "day": 23},
        "dimensions": [{"dimension": "versionCode", "int64Value": "42"}],
        "metrics": [
            value,
            {"metric": "distinctUsers", "decimalValue": {"value": users}},
        ],
        **more,
    }


def found(response: Any, end: Any = END) -> Answer:
    """What comes of these two answers: how fresh the data are, and the same page for each query."""
    freshness = {
        "freshnessInfo": {
            "freshnesses": [{"aggregationPeriod": "DAILY", "latestEndTime": end}]
        }
    }
    pages = count()

    def answer(step: Step) -> Any:
        assert isinstance(step, Call)
        assert next(pages) < 2 * MAX_PAGES, "pages without end"
        return freshness if step.method == "GET" else response

    return measure(answers(answer), "com.example.app", GATE)["crash-rate"]


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
    """Without one that can be right there is Wilson's, and neither a halt nor a pass rests on
    nonsense.
    """
    measured = found({"rows": [row("0.004", interval=interval)]})
    assert isinstance(measured, tuple)
    assert [one.interval for one in measured[1]] == [expected]


@pytest.mark.parametrize(
    "odd",
    [
        *(row(rate) for rate in ("-0.01", "1.4", "NaN", "inf", "x", "0,01")),
        *(row("0.004", users) for users in ("-1", "NaN", "inf", "1e300", "many")),
    ],
    ids=[
        *(f"rate {rate}" for rate in ("-0.01", "1.4", "NaN", "inf", "x", "0,01")),
        *(f"{users} users" for users in ("-1", "NaN", "inf", "1e300", "many")),
    ],
)
def test_a_rate_or_a_number_of_users_that_can_not_be_makes_the_metric_unknown(
    odd: dict[str, Any],
) -> None:
    """One row that can't be read is enough."""
    assert isinstance(found({"rows": [row("0.004"), odd]}), str)


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
