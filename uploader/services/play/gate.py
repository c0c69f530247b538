"""The gate of a rollout: what Google measured of a release, and whether that allows another step,
holds or halts it.

The measurements are the Play Developer Reporting API's (discovery document
playdeveloperreporting.v1beta1), by version and day; a rate is a share of users, `0.0142` is 1.42 %.
Each day of each version is judged by itself, since an average over days would hide a release that
goes bad today.

- A day on which a version has too few users is not judged. Without any judged day the rollout is
  held.
- A day is *surely* above the limit when even the lower bound of its 95 % confidence interval is:
  Google's own interval where it gives one, else Wilson's. One such day halts the rollout.
- Otherwise the newest judged day of each version counts: where it is above the limit, perhaps by
  chance, the rollout is held.
- A relative limit is a multiple of what the completed release has on the same day, all its versions
  weighted by their users. To be surely above means to be above that multiple of the upper bound,
  since that rate is an estimate as well.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from typing import Literal, TypeAlias

from uploader.errors import CredentialsError, ProtocolError, ServiceError, TemporaryError
from uploader.inputs.parsers import Limit, Metric
from uploader.services.base import Call, Chart, Context, Json, Section
from uploader.services.catalogue import expand
from uploader.services.play.client import entries
from uploader.text import capitalised

ROOT = "https://playdeveloperreporting.googleapis.com"
SCOPE = "https://www.googleapis.com/auth/playdeveloperreporting"
MAX_PAGES = 20
PAGE_SIZE = 1000  # rows
DAY = 86_400  # seconds
# after Greenwich, in Los Angeles; 8 hours in winter, but the earlier makes data look older
DAY_ENDS = 7 * 3600
ANDROID = date(2008, 9, 23)  # its first release; nothing was measured before
Z = 1.959964  # standard deviations of a two-sided interval of 95 %
NAMES: Mapping[Metric, str] = {
    "crash-rate": "user-perceived crash rate",
    "anr-rate": "user-perceived ANR rate",
}
_SETS: Mapping[Metric, tuple[str, str]] = {
    "crash-rate": ("crashRateMetricSet", "userPerceivedCrashRate"),
    "anr-rate": ("anrRateMetricSet", "userPerceivedAnrRate"),
}

Finding = Literal["below", "above", "surely above", "too few users", "nothing to compare with"]
Ruling = Literal["pass", "hold", "halt"]


@dataclass(frozen=True)
class Gate:
    """What a rollout is held to. `max_age` is in seconds, `days` how many count; without `halts` it
    only reports.
    """

    limits: tuple[Limit, ...] = ()
    halts: bool = True
    min_users: int = 100
    days: int = 2
    max_age: float = 3.0 * DAY


@dataclass(frozen=True)
class Measurement:
    """What Google measured of one version on one day: a share of that day's users, and its interval
    where given.
    """

    code: str
    day: date
    rate: float
    users: int
    interval: tuple[float, float] | None = None

    @property
    def bounds(self) -> tuple[float, float]:
        """The 95 % confidence interval."""
        return self.interval or wilson(self.rate, self.users)


# all of one metric, and the day before which they end
Measured: TypeAlias = tuple[date, tuple[Measurement, ...]]


@dataclass(frozen=True)
class Judged:
    """One version on one day against one limit; `bound` is the limit as a share of users, None
    where there is none.
    """

    limit: Limit
    row: Measurement
    bound: float | None
    finding: Finding


@dataclass(frozen=True)
class Judgement:
    """What follows for the rollout, why, and all that was judged."""

    ruling: Ruling
    reasons: tuple[str, ...] = ()
    judged: tuple[Judged, ...] = ()

    @property
    def why(self) -> str:
        """All reasons in one sentence, without its full stop."""
        return "; ".join(reason.rstrip(".") for reason in self.reasons)


def measure(context: Context, package: str, gate: Gate) -> dict[Metric, Measured | str]:
    """What was measured of each metric that the gate has a limit for, or why that is not known."""
    found: dict[Metric, Measured | str] = {}
    for metric in dict.fromkeys(limit.metric for limit in gate.limits):
        try:
            found[metric] = _measured(context, package, metric, gate.days)
        except (ServiceError, CredentialsError, TemporaryError) as error:  # noqa: PERF203 - each metric has its own
            found[metric] = error.what
    return found


def _measured(context: Context, package: str, metric: Metric, days: int) -> Measured:
    """All versions are asked for at once, so that one that Google leaves out, having few users, is
    missed.
    """
    resource, name = _SETS[metric]
    path = expand("/v1beta1/apps/{package}/", {"package": package}) + resource
    what = f"the freshness of the {metric}"
    response = context.call(Call("GET", ROOT, path, what=what, promised=("freshnessInfo",)))
    freshness = response.get("freshnessInfo") or {}
    daily = [
        one for one in entries(freshness, "freshnesses") if one.get("aggregationPeriod") == "DAILY"
    ]
    if not daily:
        raise ProtocolError("The Reporting API does not say how fresh its data are.")
    end = _date(daily[0].get("latestEndTime"))
    timeline = {"startTime": _midnight(end - timedelta(days)), "endTime": _midnight(end)}
    query = {
        "timelineSpec": {"aggregationPeriod": "DAILY", **timeline},
        "dimensions": ["versionCode"],
        "metrics": [name, "distinctUsers"],
        "pageSize": PAGE_SIZE,
    }
    rows: list[Measurement] = []
    for _ in range(MAX_PAGES):
        response = context.call(
            Call("POST", ROOT, f"{path}:query", json=query, what=f"the {metric}", ask_twice=True)
        )
        rows += _rows(response, name)
        token = response.get("nextPageToken")
        if not token:
            return end, tuple(rows)
        query = {**query, "pageToken": str(token)}
    raise ProtocolError(f"The Reporting API returned more than {MAX_PAGES} pages of the {metric}.")


def _midnight(day: date) -> dict[str, Json]:
    return {
        "year": day.year,
        "month": day.month,
        "day": day.day,
        "timeZone": {"id": "America/Los_Angeles"},
    }


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
    """The rows of a response. Raises ProtocolError for one that can't be read: nothing is concluded
    from the others.
    """
    for row in entries(response, "rows"):
        codes = [str(one.get("int64Value")) for one in entries(row, "dimensions")]
        values = {str(one.get("metric")): one for one in entries(row, "metrics")}
        if name not in values or "distinctUsers" not in values:
            continue  # left out for this version and day, as if the whole row were
        users, rate = (
            _number(values[metric].get("decimalValue")) for metric in ("distinctUsers", name)
        )
        if not (0 <= users < 1e12 and 0 <= rate <= 1):
            raise ProtocolError(
                f"The Reporting API returned a rate of {rate:g} of {users:g} users, which can't be."
            )
        bounds = values[name].get("decimalValueConfidenceInterval")
        given = bounds if isinstance(bounds, Mapping) else {}
        lower, upper = (_number(given.get(bound)) for bound in ("lowerBound", "upperBound"))
        # as any comparison with NaN is false
        interval = (lower, upper) if 0 <= lower <= rate <= upper <= 1 else None
        yield Measurement(
            next(iter(codes), ""), _date(row.get("startTime")), rate, int(users), interval
        )


def _number(value: object) -> float:
    """A google.type.Decimal, of which an empty text means 0; not a number where it is no such
    thing.
    """
    text = value.get("value", "") if isinstance(value, Mapping) else None
    try:
        return float(text or 0) if isinstance(text, str) else math.nan
    except ValueError:
        return math.nan


def judge(
    gate: Gate,
    now: float,
    found: Mapping[Metric, Measured | str],
    codes: Iterable[str],
    baseline: Iterable[str],
) -> Judgement:
    """The judgement over the versions `codes` at `now` (seconds since the epoch), compared with
    those of `baseline`.

    `found` has for each metric what was measured, or why that is not known.
    """
    judgements = [
        _judge(gate, limit, now, found[limit.metric], set(codes), set(baseline))
        for limit in gate.limits
    ]
    ruling: Ruling = min(
        (one.ruling for one in judgements), key=("halt", "hold", "pass").index, default="pass"
    )
    reasons = (reason for each in judgements if each.ruling == ruling for reason in each.reasons)
    return Judgement(
        ruling,
        tuple(dict.fromkeys(reasons)),
        tuple(one for each in judgements for one in each.judged),
    )


def wilson(rate: float, users: int) -> tuple[float, float]:
    """Wilson's interval of 95 % for a share that was seen among so many users (J. Am. Stat. Assoc.
    22, 1927).
    """
    spread = Z * Z / users
    middle = (rate + spread / 2) / (1 + spread)
    half = Z / (1 + spread) * math.sqrt(rate * (1 - rate) / users + spread / (4 * users))
    # At its ends the interval is exact, where rounding would leave a trace of a crash that nobody
    # saw.
    return max(middle - half, 0.0) if rate else 0.0, min(middle + half, 1.0) if rate < 1 else 1.0


def _judge(
    gate: Gate,
    limit: Limit,
    now: float,
    measured: Measured | str,
    codes: set[str],
    baseline: set[str],
) -> Judgement:
    name = NAMES[limit.metric]
    if isinstance(measured, str):
        return Judgement("hold", (f"the {name} is not known: {measured}",))
    end, measurements = measured
    old = now - datetime(end.year, end.month, end.day, tzinfo=timezone.utc).timestamp() - DAY_ENDS
    if old < 0:
        return Judgement(
            "hold",
            (f"the {name} is not known: Google dates its newest data to the future, {end}.",),
        )
    if old > gate.max_age:
        age = f"before {end}, which is more than {gate.max_age / 3600:g} hours ago"
        return Judgement("hold", (f"the {name} is stale: the newest data end {age}.",))
    period = [row for row in measurements if end - timedelta(gate.days) <= row.day < end]
    rows = sorted((row for row in period if row.code in codes), key=lambda row: (row.day, row.code))
    compared = [row for row in period if row.code in baseline and row.users >= gate.min_users]
    judged = tuple(_day(limit, row, compared, gate.min_users) for row in rows)
    ruling, reasons = _ruling(judged, gate.min_users, name)
    return Judgement(ruling, reasons, judged)


def _day(limit: Limit, row: Measurement, compared: Iterable[Measurement], min_users: int) -> Judged:
    """One version on one day; `bound` is the limit, `surely` the one above which a rate is surely
    too high.
    """
    if row.users < min_users:
        return Judged(limit, row, None, "too few users")
    bound = surely = limit.value
    if limit.relative:
        others = [other for other in compared if other.day == row.day]
        users = sum(other.users for other in others)  # as weights only
        if not users:
            return Judged(limit, row, None, "nothing to compare with")
        rate = sum(other.users * other.rate for other in others) / users
        upper = sum(other.users * other.bounds[1] for other in others) / users
        bound, surely = limit.value * rate, limit.value * max(rate, upper)
    finding: Finding = (
        "below" if row.rate <= bound else "surely above" if row.bounds[0] > surely else "above"
    )
    return Judged(limit, row, bound, finding)


def _ruling(
    judged: tuple[Judged, ...], min_users: int, name: str
) -> tuple[Ruling, tuple[str, ...]]:
    if surely := [one for one in judged if one.finding == "surely above"]:
        # the table has the others
        return "halt", (_in_words(max(surely, key=lambda one: one.row.bounds[0])),)
    last = {one.row.code: one.row.day for one in judged if one.bound is not None}
    newest = [one for one in judged if one.bound is not None and one.row.day == last[one.row.code]]
    if above := [one for one in newest if one.finding == "above"]:
        return "hold", tuple(f"{_in_words(one)}, but perhaps by chance" for one in above)
    if newest:
        return "pass", ()
    if any(one.finding == "nothing to compare with" for one in judged):
        return "hold", (f"there is no completed release whose {name} it could be compared with.",)
    most = max((one.row.users for one in judged), default=0)
    few = f"was measured among at most {most:,} users a day, and {min_users:,} are needed"
    return "hold", (
        f"the {name} {few if judged else 'was not measured: too few users have this release'}.",
    )


def _in_words(one: Judged) -> str:
    """One finding for people: `version 42 has a user-perceived crash rate of 2.1 % (at least 1.6 %)
    …`.
    """
    row, limit = one.row, _limit(one)
    rate = (
        f"a {NAMES[one.limit.metric]} of {_percent(row.rate)} (at least {_percent(row.bounds[0])})"
    )
    return (
        f"version {row.code} has {rate} among {row.users:,} users on {row.day}: above the limit of "
        f"{limit}"
    )


def section(judged: Sequence[Judged]) -> Section:
    """One row for each version, day and limit; a chart for each metric, of what could be judged."""
    header = ("Day", "Version", "Measured", "Rate", "At least", "Limit", "Users", "Finding")
    charts = filter(None, (_chart(metric, judged) for metric in NAMES))
    return Section("Measurements", header, tuple(map(_row, judged)), tuple(charts))


def _chart(metric: Metric, judged: Iterable[Judged]) -> Chart | None:
    """The rate of each version on each day, and the lowest limit that it was held to."""
    bounds: dict[Measurement, float] = {}
    for one in judged:
        if one.limit.metric == metric and one.bound is not None:
            bounds[one.row] = min(one.bound, bounds.get(one.row, one.bound))
    if not bounds:
        return None
    labels = tuple(f"{row.code}, {row.day:%d %b}" for row in bounds)
    rates = tuple(round(100 * row.rate, 4) for row in bounds)
    limits = tuple(round(100 * bound, 4) for bound in bounds.values())
    title = f"{capitalised(NAMES[metric])} in percent, and its limit"
    return Chart(title, labels, rates, limits)


def _row(one: Judged) -> tuple[str, ...]:
    row = one.row
    return (
        str(row.day),
        row.code,
        NAMES[one.limit.metric],
        _percent(row.rate),
        _percent(row.bounds[0]) if row.users else "",
        _limit(one),
        f"{row.users:,}",
        capitalised(one.finding),
    )


def _limit(one: Judged) -> str:
    bound = "" if one.bound is None else _percent(one.bound)
    return f"{bound} ({one.limit.value:g}x)" if one.limit.relative else bound


def _percent(share: float) -> str:
    """A rate as people read it: `1.09 %`."""
    return f"{share * 100:.3g} %"
