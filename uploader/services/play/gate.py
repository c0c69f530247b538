"""Judge a rollout by what Google measured of its release: it may take another step, or it is held
or halted.

The measurements come from the Play Developer Reporting API (discovery document
playdeveloperreporting.v1beta1), by version and day. A rate is a share of users: `0.0142` is 1.42 %.
Each day of each version is judged by itself, since an average over several days would hide a
release that goes bad today.

- A day on which a version has too few users is not judged. If no day can be judged, the rollout is
  held.
- A day is *surely* above the limit if even the lower bound of its 95 % confidence interval is. The
  interval is Google's own if it gives one, else Wilson's. One such day halts the rollout.
- Otherwise the newest judged day of each version counts: if it is above the limit, perhaps by
  chance, the rollout is held.
- A relative limit is a multiple of the rate of the completed release on the same day, averaged over
  its versions by their users. That rate is an estimate as well, so a day is surely above the limit
  only if it is above the same multiple of its upper bound.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta, timezone
from functools import partial
from typing import Literal, TypeAlias

from uploader.errors import (
    ApiError,
    CredentialsError,
    ProtocolError,
    ServiceError,
    TemporaryError,
)
from uploader.inputs.parsers import Limit, Metric
from uploader.services.base import Call, Chart, Context, Json, Section
from uploader.services.catalogue import expand
from uploader.services.play.client import entries
from uploader.services.play.known_errors import find
from uploader.text import capitalise

HOST = "playdeveloperreporting.googleapis.com"
ROOT = f"https://{HOST}"
SCOPE = "https://www.googleapis.com/auth/playdeveloperreporting"
APIS = "https://console.cloud.google.com/apis/library/"
VIEW_QUALITY = "View app quality information (read-only)"
MAX_PAGES = 20
PAGE_SIZE = 1000  # rows
DAY = 86_400  # seconds
# seconds; in summer a day in Los Angeles ends 7 hours after the same day in UTC. In winter it ends
# 8 hours after, so data look an hour older than they are.
DAY_ENDS = 7 * 3600
ANDROID = date(2008, 9, 23)  # its first release; nothing was measured before
Z = 1.959964  # standard deviations of a two-sided interval of 95 %
NAMES: Mapping[Metric, str] = {
    "crash-rate": "user-perceived crash rate",
    "anr-rate": "user-perceived ANR rate",
}
_SHORT_NAMES: Mapping[Metric, str] = {
    "crash-rate": "crash rate",
    "anr-rate": "ANR rate",
}
_SETS: Mapping[Metric, tuple[str, str]] = {
    "crash-rate": ("crashRateMetricSet", "userPerceivedCrashRate"),
    "anr-rate": ("anrRateMetricSet", "userPerceivedAnrRate"),
}

# a line of a chart: its name, and a value for each day
Line: TypeAlias = tuple[str, tuple[float, ...]]
Finding = Literal[
    "below", "above", "surely above", "too few users", "nothing to compare with"
]
Ruling = Literal["pass", "hold", "halt"]


@dataclass(frozen=True)
class Gate:
    """The limits of a rollout, and how they are applied.

    The newest `days` days count; one with fewer than `min_users` users is not judged. Data older
    than `max_age` seconds hold the rollout. Unless it `halts`, the gate only reports.
    """

    limits: tuple[Limit, ...] = ()
    halts: bool = True
    min_users: int = 100
    days: int = 2
    max_age: float = 3.0 * DAY


@dataclass(frozen=True)
class Measurement:
    """The rate that Google measured for one version on one day.

    `rate` is a share of that day's users; `interval` is Google's own confidence interval, None if
    it gives none.
    """

    code: str
    day: date
    rate: float
    users: int
    interval: tuple[float, float] | None = None

    @property
    def bounds(self) -> tuple[float, float]:
        """The 95 % confidence interval: Google's own, else Wilson's."""
        if self.interval is None:
            return wilson(self.rate, self.users)
        return self.interval


@dataclass(frozen=True)
class Refused:
    """Why the Reporting API gives this account no data of any metric.

    The gate does not work until someone grants the permission or enables the API. `brief` is `why`
    in a few words.
    """

    why: str
    brief: str


# the day before which the data of one metric end, and all its measurements
Measured: TypeAlias = tuple[date, tuple[Measurement, ...]]
# what was measured of a metric, or why that is not known
Answer: TypeAlias = Measured | str | Refused


@dataclass(frozen=True)
class Judged:
    """The finding for one version on one day under one limit.

    `bound` is the limit as a share of users, None if the day can't be judged. For a relative limit
    `others` is the rate that it is a multiple of, and `other_codes` are the versions with that
    rate. `share` says which part of the users whom Google counted on that day had the version.
    """

    limit: Limit
    row: Measurement
    bound: float | None
    finding: Finding
    others: float | None = None
    other_codes: tuple[str, ...] = ()
    share: float | None = None


@dataclass(frozen=True)
class Judgement:
    """What follows for the rollout, the reasons, and every finding.

    `briefs` are the reasons in a few words. `deciding` are the findings that led to the ruling.
    `unjudged` is why no day could be judged, with `{rates}` where the names of the metrics belong.
    """

    ruling: Ruling
    reasons: tuple[str, ...] = ()
    judged: tuple[Judged, ...] = ()
    briefs: tuple[str, ...] = ()
    deciding: tuple[Judged, ...] = ()
    unjudged: str = ""

    @property
    def why(self) -> str:
        """All reasons in one sentence, without its full stop."""
        reasons = [reason.rstrip(".") for reason in self.reasons]
        return "; ".join(reasons)

    @property
    def brief(self) -> str:
        """The reasons in a few words: for each metric, the lowest limit that was exceeded."""
        lowest: dict[Metric, Judged] = {}
        for day in self.deciding:
            metric = day.limit.metric
            other = lowest.get(metric)
            if other is None or _bound(day) < _bound(other):
                lowest[metric] = day
        if not lowest:
            return "; ".join(dict.fromkeys(self.briefs))
        by_chance = ""
        if self.ruling == "hold":
            by_chance = ", perhaps by chance"
        findings = [_in_brief(day) + by_chance for day in lowest.values()]
        return "; ".join(findings)


def measure(context: Context, package: str, gate: Gate) -> dict[Metric, Answer]:
    """Return what was measured of each metric that the gate has a limit for, or why that is not
    known.
    """
    metrics = list(dict.fromkeys(limit.metric for limit in gate.limits))
    reads: list[Callable[[], Answer]] = [
        partial(
            _ask,
            context,
            package,
            metric,
            gate.days,
        )
        for metric in metrics
    ]
    answers = context.together(reads)
    return dict(zip(metrics, answers, strict=True))


def _ask(
    context: Context,
    package: str,
    metric: Metric,
    days: int,
) -> Answer:
    """Return the newest days of one metric, or why they are not known."""
    try:
        return _fetch_metric(context, package, metric, days)
    except ApiError as error:
        refused = _lasting_refusal(error)
        if refused is None:
            return error.what
        return refused
    except (ServiceError, CredentialsError, TemporaryError) as error:
        return error.what


def _lasting_refusal(refusal: ApiError) -> Refused | None:
    """Return what to do about a refusal that does not pass by itself; None for any other."""
    known = find(refusal)
    if known.code == "api-disabled":
        why = f"the Google Play Developer Reporting API is not enabled: {APIS}{HOST}"
        return Refused(why, "the Reporting API is not enabled")
    if known.permission or refusal.status == 403:
        message = refusal.message or refusal.what
        quoted = message.rstrip(".")
        why = (
            f"the Reporting API refuses the account (\u201c{quoted}\u201d). Grant it "
            f"\u201c{VIEW_QUALITY}\u201d under Users and permissions in the Play Console, and run "
            "`target: check` with `halt-above` to see whether it is enough"
        )
        return Refused(why, "the account lacks a permission")
    return None


def _fetch_metric(
    context: Context,
    package: str,
    metric: Metric,
    days: int,
) -> Measured:
    """Return the newest days of one metric, for all versions.

    The query is for all versions, so that one that Google leaves out because it has few users is
    noticed. Raises ProtocolError for a response in another form.
    """
    _, rate_name = _SETS[metric]
    path = _path(package, metric)
    end = _newest_end(context, path, metric)
    first_day = end - timedelta(days)
    query = _query(rate_name, first_day, end)
    measurements: list[Measurement] = []
    for _ in range(MAX_PAGES):
        call = Call(
            "POST",
            ROOT,
            f"{path}:query",
            json=query,
            what=f"the {metric}",
            ask_twice=True,
        )
        response = context.call(call)
        measurements += _measurements(response, rate_name)
        token = response.get("nextPageToken")
        if not token:
            return end, tuple(measurements)
        query = {**query, "pageToken": str(token)}
    raise ProtocolError(
        f"The Reporting API returned more than {MAX_PAGES} pages of the {metric}."
    )


def _query(rate_name: str, first_day: date, end: date) -> dict[str, Json]:
    """Return the query for a rate by version and day, from the first day until before the end."""
    timeline = {
        "aggregationPeriod": "DAILY",
        "startTime": _midnight(first_day),
        "endTime": _midnight(end),
    }
    return {
        "timelineSpec": timeline,
        "dimensions": ["versionCode"],
        "metrics": [rate_name, "distinctUsers"],
        "pageSize": PAGE_SIZE,
    }


def look(context: Context, package: str, metric: Metric) -> None:
    """Ask how recent the data of a metric are.

    Raises what a measurement would raise if the account may not see them, or the API is not
    enabled.
    """
    _newest_end(context, _path(package, metric), metric)


def _path(package: str, metric: Metric) -> str:
    """Return the path of a metric set of one app."""
    metric_set, _ = _SETS[metric]
    app = expand("/v1beta1/apps/{package}/", {"package": package})
    return app + metric_set


def _newest_end(context: Context, path: str, metric: Metric) -> date:
    """Return the day before which the daily data of a metric end."""
    call = Call(
        "GET",
        ROOT,
        path,
        what=f"the freshness of the {metric}",
        promised=("freshnessInfo",),
    )
    response = context.call(call)
    info = response.get("freshnessInfo") or {}
    for freshness in entries(info, "freshnesses"):
        if freshness.get("aggregationPeriod") == "DAILY":
            return _date(freshness.get("latestEndTime"))
    raise ProtocolError("The Reporting API does not say how fresh its data are.")


def _midnight(day: date) -> dict[str, Json]:
    """Return the beginning of a day as a google.type.DateTime, in the only zone that the API has
    for daily data.
    """
    return {
        "year": day.year,
        "month": day.month,
        "day": day.day,
        "timeZone": {"id": "America/Los_Angeles"},
    }


def _date(value: object) -> date:
    """Return the day of a google.type.DateTime. Raises ProtocolError for anything else."""
    day = date.min
    if isinstance(value, Mapping):
        with suppress(LookupError, TypeError, ValueError, OverflowError):
            day = date(value["year"], value["month"], value["day"])
    # An earlier day is no answer, and subtracting days from it could leave the calendar.
    if day < ANDROID:
        raise ProtocolError(
            "The Reporting API returned a time in an undocumented format."
        )
    return day


def _measurements(response: object, rate_name: str) -> Iterator[Measurement]:
    """Yield the measurements of a response. Raises ProtocolError for a row that can't be read:
    nothing is concluded from the others.
    """
    for row in entries(response, "rows"):
        code = _version_code(row)
        metrics = {}
        for metric in entries(row, "metrics"):
            name = str(metric.get("metric"))
            metrics[name] = metric
        rate_metric = metrics.get(rate_name)
        users_metric = metrics.get("distinctUsers")
        if rate_metric is None or users_metric is None:
            continue  # Google gives no data of this version and day
        rate = _number(rate_metric.get("decimalValue"))
        users = _number(users_metric.get("decimalValue"))
        # NaN fails either comparison.
        rate_is_possible = 0 <= rate <= 1
        users_are_possible = 0 <= users < 1e12
        if not rate_is_possible or not users_are_possible:
            raise ProtocolError(
                f"The Reporting API returned a rate of {rate:g} of {users:g} users, which is "
                "impossible."
            )
        yield Measurement(
            code=code,
            day=_date(row.get("startTime")),
            rate=rate,
            users=int(users),
            interval=_interval(rate_metric, rate),
        )


def _version_code(row: Mapping[str, Json]) -> str:
    """Return the version code that a row is about; empty if it names none."""
    dimensions = entries(row, "dimensions")
    if not dimensions:
        return ""
    return str(dimensions[0].get("int64Value"))


def _interval(metric: Mapping[str, Json], rate: float) -> tuple[float, float] | None:
    """Return Google's own confidence interval; None if it gives none, or an impossible one."""
    bounds = metric.get("decimalValueConfidenceInterval")
    if not isinstance(bounds, Mapping):
        return None
    lower = _number(bounds.get("lowerBound"))
    upper = _number(bounds.get("upperBound"))
    # A comparison with NaN is false.
    if 0 <= lower <= rate <= upper <= 1:
        return lower, upper
    return None


def _number(value: object) -> float:
    """Return the value of a google.type.Decimal, where an empty text means 0; NaN for anything
    else.
    """
    if not isinstance(value, Mapping):
        return math.nan
    text = value.get("value", "")
    if not isinstance(text, str):
        return math.nan
    try:
        return float(text or 0)
    except ValueError:
        return math.nan


def judge(
    gate: Gate,
    now: float,
    found: Mapping[Metric, Answer],
    codes: Iterable[str],
    baseline: Iterable[str],
) -> Judgement:
    """Judge the version codes `codes` by all limits at `now` (seconds since the epoch).

    `baseline` are the version codes that everybody has, with which relative limits compare. `found`
    has for each metric what was measured, or why that is not known.
    """
    versions = set(codes)
    completed = set(baseline)
    judgements = []
    for limit in gate.limits:
        measured = found[limit.metric]
        judgements.append(
            _judge(
                gate,
                limit,
                now,
                measured,
                versions,
                completed,
            )
        )
    return _combine(gate.limits, judgements)


def _combine(limits: Sequence[Limit], judgements: Sequence[Judgement]) -> Judgement:
    """Return the strictest of the judgements, one under each limit, with the findings of all.

    Its reasons are those of the judgements that are as strict.
    """
    ruling = _strictest(judgements)
    other_reasons: list[str] = []
    briefs: list[str] = []
    judged: list[Judged] = []
    deciding: list[Judged] = []
    unjudged: dict[str, list[str]] = {}
    for limit, judgement in zip(limits, judgements, strict=True):
        judged += judgement.judged
        if judgement.ruling != ruling:
            continue
        other_reasons += judgement.reasons
        briefs += judgement.briefs
        deciding += judgement.deciding
        if judgement.unjudged:
            metrics = unjudged.setdefault(judgement.unjudged, [])
            metrics.append(NAMES[limit.metric])
    for why, metrics in unjudged.items():
        rates = " and ".join(dict.fromkeys(metrics))
        other_reasons.append(why.format(rates=rates))
    reasons = list(_reasons(deciding, ruling))
    reasons += other_reasons
    return Judgement(
        ruling,
        reasons=tuple(dict.fromkeys(reasons)),
        judged=tuple(judged),
        briefs=tuple(briefs),
        deciding=tuple(deciding),
    )


def _reasons(deciding: Iterable[Judged], ruling: Ruling) -> Iterator[str]:
    """Yield a sentence for each rate that is too high, with all limits that it is above."""
    by_rate: dict[tuple[Metric, Measurement], list[Judged]] = {}
    for day in deciding:
        rate = (day.limit.metric, day.row)
        by_rate.setdefault(rate, []).append(day)
    for days in by_rate.values():
        reason = _in_words(days)
        if ruling == "hold":
            reason += ", but perhaps by chance"
        yield reason


def _strictest(judgements: Iterable[Judgement]) -> Ruling:
    """Return the strictest ruling: a halt before a hold, and that before a pass."""
    strictest: Ruling = "pass"
    for judgement in judgements:
        if judgement.ruling == "halt":
            return "halt"
        if judgement.ruling == "hold":
            strictest = "hold"
    return strictest


def wilson(rate: float, users: int) -> tuple[float, float]:
    """Return Wilson's 95 % confidence interval for a rate that was measured among so many users
    (J. Am. Stat. Assoc. 22, 1927).
    """
    spread = Z * Z / users
    scale = 1 + spread
    middle = (rate + spread / 2) / scale
    variance = rate * (1 - rate) / users
    variance += spread / (4 * users)
    half = Z / scale * math.sqrt(variance)
    # Rounding would put the bound of a rate of 0 or 1 beside it, as if a crash had been seen.
    lower = 0.0
    upper = 1.0
    if rate > 0:
        lower = max(middle - half, lower)
    if rate < 1:
        upper = min(middle + half, upper)
    return lower, upper


def _judge(
    gate: Gate,
    limit: Limit,
    now: float,
    measured: Answer,
    codes: set[str],
    baseline: set[str],
) -> Judgement:
    """Judge the version codes by one limit. Data that are unknown or too old hold the rollout."""
    metric = limit.metric
    if isinstance(measured, Refused):
        reason = f"the gate is not working: {measured.why}"
        brief = f"the gate is not working: {measured.brief}"
        return _hold(reason, brief)
    if isinstance(measured, str):
        return _hold_as_unknown(metric, measured)
    end, measurements = measured
    held = _hold_by_age(gate, metric, now, end)
    if held:
        return held
    judged = _judge_days(gate, limit, end, measurements, codes, baseline)
    return _ruling(judged, gate.min_users)


def _judge_days(
    gate: Gate,
    limit: Limit,
    end: date,
    measurements: Sequence[Measurement],
    codes: set[str],
    baseline: set[str],
) -> tuple[Judged, ...]:
    """Return a finding for each day of the period and each of the `codes` that was measured then,
    sorted by day. `end` is the day after the last one.

    A relative limit is compared with the measurements of the `baseline` on the same day. The share
    of a finding is that of the version's users among all users of the day.
    """
    first_day = end - timedelta(gate.days)
    rows: list[Measurement] = []
    compared: list[Measurement] = []
    for row in measurements:
        if not first_day <= row.day < end:
            continue
        if row.code in codes:
            rows.append(row)
        if row.code in baseline and row.users >= gate.min_users:
            compared.append(row)
    rows.sort(key=lambda row: (row.day, row.code))
    users = _users_by_day(measurements)
    judged = []
    for row in rows:
        day = _day(limit, row, compared, gate.min_users)
        users_of_day = users[row.day]
        share = row.users / users_of_day
        judged.append(replace(day, share=share))
    return tuple(judged)


def _hold(reason: str, brief: str) -> Judgement:
    """Return a judgement that holds the rollout without a finding."""
    return Judgement("hold", (reason,), briefs=(brief,))


def _hold_as_unknown(metric: Metric, why: str) -> Judgement:
    """Hold the rollout because it is not known what was measured."""
    reason = f"the {NAMES[metric]} is not known: {why}"
    brief = f"the {_SHORT_NAMES[metric]} is not known"
    return _hold(reason, brief)


def _hold_by_age(
    gate: Gate,
    metric: Metric,
    now: float,
    end: date,
) -> Judgement | None:
    """Hold the rollout if the newest data, which end before the day `end`, are too old or of the
    future; return None if they count.
    """
    end_in_utc = datetime(end.year, end.month, end.day, tzinfo=timezone.utc)
    end_of_data = end_in_utc.timestamp() + DAY_ENDS
    age = now - end_of_data
    if age < 0:
        return _hold_as_unknown(
            metric, f"Google dates its newest data in the future, {end}."
        )
    if age <= gate.max_age:
        return None
    hours = f"{gate.max_age / 3600:g} hours"
    reason = (
        f"the {NAMES[metric]} is stale: the newest data end before {end}, which is more than "
        f"{hours} ago."
    )
    brief = f"the {_SHORT_NAMES[metric]} is older than {hours}"
    return _hold(reason, brief)


def _users_by_day(measurements: Iterable[Measurement]) -> dict[date, int]:
    """Return how many users all versions together had on each day; 1 for a day without any, since
    it is divided by.
    """
    users: Counter[date] = Counter()
    for row in measurements:
        users[row.day] += row.users
    return {day: max(count, 1) for day, count in users.items()}


@dataclass(frozen=True)
class _Others:
    """The versions that everybody has, on one day: their rate and its upper bound."""

    codes: tuple[str, ...]
    rate: float
    upper: float


def _others_on(day: date, compared: Iterable[Measurement]) -> _Others | None:
    """Return the rate of the compared versions on a day, weighted by their users; None if they have
    no users.
    """
    codes: dict[str, None] = {}  # an ordered set
    users = 0
    weighted_rate = 0.0
    weighted_upper = 0.0
    for row in compared:
        if row.day != day:
            continue
        _, upper = row.bounds
        codes[row.code] = None
        users += row.users
        weighted_rate += row.users * row.rate
        weighted_upper += row.users * upper
    if not users:
        return None
    mean_rate = weighted_rate / users
    mean_upper = weighted_upper / users
    return _Others(tuple(codes), mean_rate, mean_upper)


def _day(
    limit: Limit,
    row: Measurement,
    compared: Iterable[Measurement],
    min_users: int,
) -> Judged:
    """Return the finding for one version on one day."""
    if row.users < min_users:
        return Judged(limit, row, None, "too few users")
    if not limit.relative:
        bound = limit.value
        finding = _finding(row, bound, surely=bound)
        return Judged(limit, row, bound, finding)
    others = _others_on(row.day, compared)
    if others is None:
        return Judged(limit, row, None, "nothing to compare with")
    bound = limit.value * others.rate
    highest_rate = max(others.rate, others.upper)
    surely = limit.value * highest_rate
    finding = _finding(row, bound, surely)
    return Judged(
        limit,
        row,
        bound,
        finding,
        others=others.rate,
        other_codes=others.codes,
    )


def _finding(row: Measurement, bound: float, surely: float) -> Finding:
    """Compare a rate with the limit `bound`; it is surely above if its lower bound is above
    `surely`.
    """
    if row.rate <= bound:
        return "below"
    lower, _ = row.bounds
    if lower > surely:
        return "surely above"
    return "above"


def _ruling(judged: tuple[Judged, ...], min_users: int) -> Judgement:
    """Return what follows for the rollout from the days under one limit, with the findings that
    decide. Any day can halt it; otherwise the newest day of each version counts.
    """
    surely_above = _with_finding(judged, "surely above")
    if surely_above:
        # The reason names only the day with the highest lower bound; the table shows all.
        worst = max(surely_above, key=_lower_bound)
        return Judgement("halt", judged=judged, deciding=(worst,))
    newest = _newest(judged)
    above = _with_finding(newest, "above")
    if above:
        return Judgement("hold", judged=judged, deciding=tuple(above))
    if newest:
        return Judgement("pass", judged=judged)
    unjudged, brief = _why_not_judged(judged, min_users)
    return Judgement(
        "hold",
        judged=judged,
        briefs=(brief,),
        unjudged=unjudged,
    )


def _lower_bound(judged: Judged) -> float:
    """Return the lower bound of a version's rate."""
    lower, _ = judged.row.bounds
    return lower


def _with_finding(judged: Iterable[Judged], finding: Finding) -> list[Judged]:
    """Return the days with one finding."""
    return [day for day in judged if day.finding == finding]


def _newest(judged: tuple[Judged, ...]) -> list[Judged]:
    """Return for each version the newest day on which it could be judged; `judged` is sorted by
    day.
    """
    days = [day for day in judged if day.bound is not None]
    newest: dict[str, date] = {}
    for day in days:
        row = day.row
        newest[row.code] = row.day
    return [day for day in days if day.row.day == newest[day.row.code]]


def _why_not_judged(judged: tuple[Judged, ...], min_users: int) -> tuple[str, str]:
    """Return why no day of any version could be judged: in a clause with `{rates}` where the names
    of the metrics belong, and again in a few words.
    """
    if not judged:
        reason = "too few users have this release to measure its {rates}"
        return reason, "too few users"
    most = 0
    for day in judged:
        if day.finding == "nothing to compare with":
            reason = (
                "there is no completed release whose {rates} it could be compared with"
            )
            return reason, "no completed release to compare it with"
        most = max(most, day.row.users)
    reason = (
        f"at most {most:,} users a day had this release, and {min_users:,} are needed to "
        "judge its {rates}"
    )
    brief = f"too few users ({most:,} of {min_users:,})"
    return reason, brief


def _bound(judged: Judged) -> float:
    """Return the limit of a finding as a share of users; infinite if it was not judged."""
    if judged.bound is None:
        return math.inf
    return judged.bound


def _in_brief(judged: Judged) -> str:
    """Return one finding in a few words: `crash rate 2.1 %, limit 0.9 %`."""
    name = _SHORT_NAMES[judged.limit.metric]
    rate = _percent(judged.row.rate)
    limit = _percent(_bound(judged))
    return f"{name} {rate}, limit {limit}"


def _in_words(days: Sequence[Judged]) -> str:
    """Return the findings for one rate: `version 42 has a user-perceived crash rate of 2.1 % (at
    least 1.6 %) …: above the limits of 1.09 % and 0.9 % (1.5x)`.
    """
    first = days[0]
    row = first.row
    metric = NAMES[first.limit.metric]
    rate = _percent(row.rate)
    least = _percent(_lower_bound(first))
    measured = f"version {row.code} has a {metric} of {rate} (at least {least})"
    users = f"{row.users:,} users on {row.day}"
    noun = "limits"
    if len(days) == 1:
        noun = "limit"
    limits = " and ".join(map(_limit, days))
    return f"{measured} among {users}: above the {noun} of {limits}"


def section(judged: Sequence[Judged]) -> Section:
    """Return the table of the measurements, a row for each day and version and a column for each
    limit, and a chart for each metric and version.
    """
    limits = _limits_by_metric(judged)
    header = ["Day", "Version", "Users (share)"]
    for metric, of_metric in limits.items():
        header.append(capitalise(_SHORT_NAMES[metric]))
        header += [_limit_name(limit, judged) for limit in of_metric]
    rows = [_row(days, limits) for days in _by_day_and_version(judged)]
    charts = tuple(_charts(judged))
    return Section("Measurements", tuple(header), tuple(rows), charts)


def _limits_by_metric(judged: Iterable[Judged]) -> dict[Metric, list[Limit]]:
    """Return the limits of each metric that was measured, without repetitions."""
    limits: dict[Metric, list[Limit]] = {}
    for metric in _metrics(judged):
        limits[metric] = []
    for day in judged:
        limits_of_metric = limits[day.limit.metric]
        if day.limit not in limits_of_metric:
            limits_of_metric.append(day.limit)
    return limits


def _metrics(judged: Iterable[Judged]) -> list[Metric]:
    """Return the metrics that were measured, in their order."""
    measured = {day.limit.metric for day in judged}
    return [metric for metric in NAMES if metric in measured]


def _by_day_and_version(judged: Iterable[Judged]) -> list[list[Judged]]:
    """Return the findings grouped by day and version, in ascending order.

    If Google reports the same version twice for one day, each measurement has findings of its own,
    and its own row of the table.
    """
    measured: dict[tuple[Metric, date, str], list[Measurement]] = {}
    findings: dict[tuple[date, str, int], list[Judged]] = {}
    for day in judged:
        row = day.row
        key = (day.limit.metric, row.day, row.code)
        same_day = measured.setdefault(key, [])
        if row not in same_day:
            same_day.append(row)
        number = same_day.index(row)
        place = (row.day, row.code, number)
        group = findings.setdefault(place, [])
        group.append(day)
    return [findings[place] for place in sorted(findings)]


def _row(
    days: Sequence[Judged], limits: Mapping[Metric, Sequence[Limit]]
) -> tuple[str, ...]:
    """Return the row of the table for one day and version."""
    first = days[0]
    measured = first.row
    cells = [
        str(measured.day),
        measured.code,
        _users(first),
    ]
    for metric, of_metric in limits.items():
        cells += _cells(metric, of_metric, days)
    return tuple(cells)


def _users(judged: Judged) -> str:
    """Return how many users had a version on a day, with their share of all users whom Google
    counted: `1,234 (5 %)`.
    """
    users = f"{judged.row.users:,}"
    if judged.share is None:
        return users
    percent = judged.share * 100
    return f"{users} ({percent:.2g} %)"


def _cells(
    metric: Metric,
    limits: Sequence[Limit],
    days: Sequence[Judged],
) -> list[str]:
    """Return the cells of one metric in a row of the table: the rate, and the finding for each of
    its limits.
    """
    days_of_metric = [day for day in days if day.limit.metric == metric]
    if not days_of_metric:
        return [""] * (1 + len(limits))
    first = days_of_metric[0]
    rate = _percent(first.row.rate)
    if first.row.users:
        least = _percent(_lower_bound(first))
        rate += f" (at least {least})"
    findings = {day.limit: _in_a_cell(day) for day in days_of_metric}
    cells = [rate]
    cells += [findings.get(limit, "") for limit in limits]
    return cells


def _in_a_cell(judged: Judged) -> str:
    """Return one finding for the table: `over (certain)`; after it a relative limit as a rate."""
    words = {
        "below": "ok",
        "above": "over (may be chance)",
        "surely above": "over (certain)",
    }
    finding = words.get(judged.finding, judged.finding)
    if judged.limit.relative and judged.bound is not None:
        limit = _percent(judged.bound)
        return f"{finding}, limit {limit}"
    return finding


def _limit_name(limit: Limit, judged: Iterable[Judged]) -> str:
    """Return how people call a limit: `limit 1.09 %`, `1.5 times 41's`."""
    if not limit.relative:
        return f"limit {_percent(limit.value)}"
    times = f"{limit.value:g} times"
    codes = _other_codes(judged)
    if codes:
        return f"{times} {codes}'s"
    return f"{times} what everybody has"


def _charts(judged: Sequence[Judged]) -> Iterator[Chart]:
    """Yield a chart for each metric and version, with those of its days that could be judged."""
    for metric in _metrics(judged):
        by_version: dict[str, list[Judged]] = {}
        for day in judged:
            if day.limit.metric != metric or day.bound is None:
                continue
            of_version = by_version.setdefault(day.row.code, [])
            of_version.append(day)
        for code, days in by_version.items():
            yield _chart(metric, code, days)


def _chart(metric: Metric, code: str, days: Sequence[Judged]) -> Chart:
    """Return a chart of one version's rate by day, with its limits and the rate of the others."""
    over: dict[Measurement, bool] = {}
    for day in days:
        over.setdefault(day.row, False)
        if day.finding in ("above", "surely above"):
            over[day.row] = True
    rows = list(over)
    labels = []
    rates: list[float | None] = []
    for row in rows:
        labels.append(f"{row.day:%d %b}")
        rates.append(row.rate)
    lines = list(_lines_of_limits(days, rows))
    lines += _line_of_others(days, rows)
    name = capitalise(NAMES[metric])
    return Chart(
        title=f"{name} of {code} in percent",
        labels=tuple(labels),
        bars=_in_percent(rates),
        over=tuple(over.values()),
        lines=tuple(lines),
        note=_certainty(metric, days),
    )


def _certainty(metric: Metric, days: Sequence[Judged]) -> str:
    """Return a sentence on the day whose rate is most clearly over a limit; empty if there is no
    such day.
    """
    certain = _with_finding(days, "surely above")
    if not certain:
        return ""
    worst = max(certain, key=_lower_bound)
    name = _SHORT_NAMES[metric]
    day = f"{worst.row.day:%d %b}"
    least = _percent(_lower_bound(worst))
    return f"The {name} of {day} is at least {least}, with 95 % confidence."


def _lines_of_limits(
    days: Sequence[Judged], rows: Sequence[Measurement]
) -> Iterator[Line]:
    """Yield a line for each limit, under its name."""
    bounds: dict[Limit, dict[Measurement, float | None]] = {}
    for day in days:
        bound_by_row = bounds.setdefault(day.limit, {})
        bound_by_row[day.row] = day.bound
    for limit, bound_by_row in bounds.items():
        shares = list(map(bound_by_row.get, rows))
        yield _limit_name(limit, days), _in_percent(shares)


def _line_of_others(
    days: Sequence[Judged], rows: Sequence[Measurement]
) -> Iterator[Line]:
    """Yield the line for the rate of the versions that everybody has, if that is known."""
    rates: dict[Measurement, float | None] = {}
    for day in days:
        if day.others is not None:
            rates[day.row] = day.others
    if not rates:
        return
    shares = list(map(rates.get, rows))
    yield f"{_other_codes(days)} itself", _in_percent(shares)


def _other_codes(judged: Iterable[Judged]) -> str:
    """Return the version codes that everybody has, for people: `41`, `41+42`."""
    codes: list[str] = []
    for day in judged:
        codes += day.other_codes
    return "+".join(dict.fromkeys(codes))


def _in_percent(shares: Sequence[float | None]) -> tuple[float, ...]:
    """Return shares of users in percent. A share that is not known is taken from the day before, or
    from the first known one. At least one has to be known.
    """
    known = [share for share in shares if share is not None]
    last = known[0]
    percents = []
    for share in shares:
        if share is not None:
            last = share
        percent = round(100 * last, 4)
        percents.append(percent)
    return tuple(percents)


def _limit(judged: Judged) -> str:
    """Return the limit of a finding in a sentence: `1.09 %`, `0.9 % (1.5x)`."""
    bound = ""
    if judged.bound is not None:
        bound = _percent(judged.bound)
    if judged.limit.relative:
        return f"{bound} ({judged.limit.value:g}x)"
    return bound


def _percent(share: float) -> str:
    """Return a rate for people: `1.09 %`."""
    percent = share * 100
    return f"{percent:.3g} %"
