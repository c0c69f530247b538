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
from uploader.text import capitalised

HOST = "playdeveloperreporting.googleapis.com"
ROOT = f"https://{HOST}"
SCOPE = "https://www.googleapis.com/auth/playdeveloperreporting"
APIS = "https://console.cloud.google.com/apis/library/"
VIEW_QUALITY = "View app quality information (read-only)"
MAX_PAGES = 20
PAGE_SIZE = 1000  # rows
DAY = 86_400  # seconds
# seconds; a day in Los Angeles ends 7 hours after one in UTC. In winter it ends 8 hours after, and
# data look an hour older than they are.
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

# of a chart: its name, and a value for each day
Line: TypeAlias = tuple[str, tuple[float, ...]]
Finding = Literal[
    "below", "above", "surely above", "too few users", "nothing to compare with"
]
Ruling = Literal["pass", "hold", "halt"]


@dataclass(frozen=True)
class Gate:
    """The limits of a rollout, and how they are applied.

    The newest `days` count; one with fewer than `min_users` is not judged. Data that are older than
    `max_age` (seconds) hold the rollout. Without `halts` the gate only reports.
    """

    limits: tuple[Limit, ...] = ()
    halts: bool = True
    min_users: int = 100
    days: int = 2
    max_age: float = 3.0 * DAY


@dataclass(frozen=True)
class Measurement:
    """The rate that Google measured for one version on one day.

    `rate` is a share of that day's users; `interval` is Google's own confidence interval, None
    where it gives none.
    """

    code: str
    day: date
    rate: float
    users: int
    interval: tuple[float, float] | None = None

    @property
    def bounds(self) -> tuple[float, float]:
        """Return the 95 % confidence interval."""
        return self.interval or wilson(self.rate, self.users)


@dataclass(frozen=True)
class Refused:
    """Why the Reporting API gives this account no data of any metric.

    It stays so until someone grants the permission or enables the API: the gate does not work.
    `brief` is `why` in a few words.
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

    `bound` is the limit as a share of users, None where the day can't be judged. `others` is the
    rate that the limit is a multiple of, and `other_codes` are the versions that have it. `share`
    is that of the users of the day, as far as Google counted them, who had the version.
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
    """What follows for the rollout, why, and every finding.

    `briefs` are the reasons in a few words, `deciding` the findings from which they follow.
    """

    ruling: Ruling
    reasons: tuple[str, ...] = ()
    judged: tuple[Judged, ...] = ()
    briefs: tuple[str, ...] = ()
    deciding: tuple[Judged, ...] = ()

    @property
    def why(self) -> str:
        """Return all reasons in one sentence, without its full stop."""
        return "; ".join(reason.rstrip(".") for reason in self.reasons)

    @property
    def brief(self) -> str:
        """Return the reasons in a few words: of each metric the lowest limit that was passed."""
        lowest: dict[Metric, Judged] = {}
        for day in self.deciding:
            other = lowest.get(day.limit.metric)
            if other is None or _bound(day) < _bound(other):
                lowest[day.limit.metric] = day
        if not lowest:
            return "; ".join(dict.fromkeys(self.briefs))
        by_chance = ""
        if self.ruling == "hold":
            by_chance = ", perhaps by chance"
        return "; ".join(f"{_in_brief(day)}{by_chance}" for day in lowest.values())


def measure(context: Context, package: str, gate: Gate) -> dict[Metric, Answer]:
    """Return what was measured of each metric that the gate has a limit for, or why that is not
    known.
    """
    reads: dict[Metric, Callable[[], Answer]] = {}
    for limit in gate.limits:
        read = partial(_measured_or_why_not, context, package, limit.metric, gate.days)
        reads.setdefault(limit.metric, read)
    measured = context.together(list(reads.values()))
    return dict(zip(reads, measured, strict=True))


def _measured_or_why_not(
    context: Context, package: str, metric: Metric, days: int
) -> Answer:
    try:
        return _measured(context, package, metric, days)
    except ApiError as refusal:
        return _lasting_refusal(refusal) or refusal.what
    except (ServiceError, CredentialsError, TemporaryError) as error:
        return error.what


def _lasting_refusal(refusal: ApiError) -> Refused | None:
    """Return what to do about a refusal that does not pass by itself; None for any other."""
    known = find(refusal)
    message = (refusal.message or refusal.what).rstrip(".")
    if known.code == "api-disabled":
        why = f"the Google Play Developer Reporting API is not enabled: {APIS}{HOST}"
        return Refused(why, "the Reporting API is not enabled")
    if known.permission or refusal.status == 403:
        why = (
            f"the Reporting API refuses the account (\u201c{message}\u201d). Grant it "
            f"\u201c{VIEW_QUALITY}\u201d under Users and permissions in the Play Console, and run "
            "`target: check` with `halt-above` to see whether it is enough"
        )
        return Refused(why, "the account lacks a permission")
    return None


def _measured(context: Context, package: str, metric: Metric, days: int) -> Measured:
    """Return the newest days of one metric, for all versions.

    All are asked for at once, so that a version that Google leaves out, having few users, is
    noticed. Raises ProtocolError for a response in another form.
    """
    _, rate_name = _SETS[metric]
    path = _path(package, metric)
    end = _newest_end(context, path, metric)
    query: dict[str, Json] = {
        "timelineSpec": {
            "aggregationPeriod": "DAILY",
            "startTime": _midnight(end - timedelta(days)),
            "endTime": _midnight(end),
        },
        "dimensions": ["versionCode"],
        "metrics": [rate_name, "distinctUsers"],
        "pageSize": PAGE_SIZE,
    }
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


def look(context: Context, package: str, metric: Metric) -> None:
    """Ask how recent the data of a metric are. Raises what a measurement would raise for an account
    that may not see them, or an API that is not enabled.
    """
    _newest_end(context, _path(package, metric), metric)


def _path(package: str, metric: Metric) -> str:
    metric_set, _ = _SETS[metric]
    return expand("/v1beta1/apps/{package}/", {"package": package}) + metric_set


def _newest_end(context: Context, path: str, metric: Metric) -> date:
    """Return the day before which the daily data of a metric end."""
    what = f"the freshness of the {metric}"
    response = context.call(
        Call("GET", ROOT, path, what=what, promised=("freshnessInfo",))
    )
    info = response.get("freshnessInfo") or {}
    for freshness in entries(info, "freshnesses"):
        if freshness.get("aggregationPeriod") == "DAILY":
            return _date(freshness.get("latestEndTime"))
    raise ProtocolError("The Reporting API does not say how fresh its data are.")


def _midnight(day: date) -> dict[str, Json]:
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
    if day < ANDROID:  # nor may the days before it leave the calendar
        raise ProtocolError(
            "The Reporting API returned a time in an undocumented format."
        )
    return day


def _measurements(response: object, rate_name: str) -> Iterator[Measurement]:
    """Yield the measurements of a response. Raises ProtocolError for a row that can't be read:
    nothing is concluded from the others.
    """
    for row in entries(response, "rows"):
        code = ""
        dimensions = entries(row, "dimensions")
        if dimensions:
            code = str(dimensions[0].get("int64Value"))
        metrics = {}
        for metric in entries(row, "metrics"):
            metrics[str(metric.get("metric"))] = metric
        if rate_name not in metrics or "distinctUsers" not in metrics:
            continue  # left out for this version and day, as if the whole row were
        users = _number(metrics["distinctUsers"].get("decimalValue"))
        rate = _number(metrics[rate_name].get("decimalValue"))
        if not (0 <= users < 1e12 and 0 <= rate <= 1):
            raise ProtocolError(
                f"The Reporting API returned a rate of {rate:g} of {users:g} users, which is "
                "impossible."
            )
        yield Measurement(
            code=code,
            day=_date(row.get("startTime")),
            rate=rate,
            users=int(users),
            interval=_interval(metrics[rate_name], rate),
        )


def _interval(metric: Mapping[str, Json], rate: float) -> tuple[float, float] | None:
    """Return Google's own confidence interval; None where it gives none, or an impossible one."""
    bounds = metric.get("decimalValueConfidenceInterval")
    if not isinstance(bounds, Mapping):
        return None
    lower = _number(bounds.get("lowerBound"))
    upper = _number(bounds.get("upperBound"))
    # false where one of them is NaN
    if 0 <= lower <= rate <= upper <= 1:
        return lower, upper
    return None


def _number(value: object) -> float:
    """Return a google.type.Decimal, in which an empty text means 0; NaN for anything else."""
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
    """Return the judgement over the versions `codes` at `now` (seconds since the epoch), compared
    with those of `baseline`.

    `found` has for each metric what was measured, or why that is not known.
    """
    versions = set(codes)
    completed = set(baseline)
    judgements = []
    for limit in gate.limits:
        measured = found[limit.metric]
        judgements.append(_judge(gate, limit, now, measured, versions, completed))
    ruling = _strictest(judgements)
    others: list[str] = []
    briefs: list[str] = []
    judged: list[Judged] = []
    deciding: list[Judged] = []
    for judgement in judgements:
        judged += judgement.judged
        if judgement.ruling == ruling:
            others += judgement.reasons
            briefs += judgement.briefs
            deciding += judgement.deciding
    reasons = dict.fromkeys([*_reasons(deciding, ruling), *others])
    return Judgement(
        ruling, tuple(reasons), tuple(judged), tuple(briefs), tuple(deciding)
    )


def _reasons(deciding: Iterable[Judged], ruling: Ruling) -> Iterator[str]:
    """Yield a sentence for each rate that is too high, with all limits that it is above."""
    findings: dict[tuple[Metric, Measurement], list[Judged]] = {}
    for day in deciding:
        findings.setdefault((day.limit.metric, day.row), []).append(day)
    for days in findings.values():
        if ruling == "hold":
            yield f"{_in_words(days)}, but perhaps by chance"
        else:
            yield _in_words(days)


def _strictest(judgements: Iterable[Judgement]) -> Ruling:
    strictest: Ruling = "pass"
    for judgement in judgements:
        if judgement.ruling == "halt":
            return "halt"
        if judgement.ruling == "hold":
            strictest = "hold"
    return strictest


def wilson(rate: float, users: int) -> tuple[float, float]:
    """Return Wilson's interval of 95 % for a share that was seen among so many users (J. Am. Stat.
    Assoc. 22, 1927).
    """
    spread = Z * Z / users
    middle = (rate + spread / 2) / (1 + spread)
    half = (
        Z / (1 + spread) * math.sqrt(rate * (1 - rate) / users + spread / (4 * users))
    )
    # At its ends the interval is exact, where rounding would leave a trace of a crash that nobody
    # saw.
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
    """Return what follows from one limit. Data that are unknown or too old hold the rollout."""
    metric = limit.metric
    if isinstance(measured, Refused):
        reason = f"the gate is not working: {measured.why}"
        return Judgement(
            "hold", (reason,), briefs=(f"the gate is not working: {measured.brief}",)
        )
    if isinstance(measured, str):
        return _hold_as_unknown(metric, measured)
    end, measurements = measured
    held = _hold_by_age(gate, metric, now, end)
    if held:
        return held
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
        judged.append(replace(day, share=row.users / users[row.day]))
    return _ruling(tuple(judged), gate.min_users, NAMES[metric])


def _hold_as_unknown(metric: Metric, why: str) -> Judgement:
    """Return that the rollout is held, because nobody knows what was measured."""
    reason = f"the {NAMES[metric]} is not known: {why}"
    brief = f"the {_SHORT_NAMES[metric]} is not known"
    return Judgement("hold", (reason,), briefs=(brief,))


def _hold_by_age(gate: Gate, metric: Metric, now: float, end: date) -> Judgement | None:
    """Return that the rollout is held, where the newest data, which end before a day, are too old
    or of the future; None where they count.
    """
    midnight = datetime(end.year, end.month, end.day, tzinfo=timezone.utc).timestamp()
    age = now - midnight - DAY_ENDS
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
    return Judgement("hold", (reason,), briefs=(brief,))


def _users_by_day(measurements: Iterable[Measurement]) -> dict[date, int]:
    """Return how many users all versions together had on each day, and 1 for a day without any."""
    users: dict[date, int] = {}
    for row in measurements:
        users[row.day] = users.get(row.day, 0) + row.users
    return {day: max(count, 1) for day, count in users.items()}


@dataclass(frozen=True)
class _Others:
    """The versions that everybody has, on one day: their rate, and its upper bound."""

    codes: tuple[str, ...]
    rate: float
    upper: float


def _others_on(day: date, compared: Iterable[Measurement]) -> _Others | None:
    """Return what the compared versions had on a day, weighted by their users; None without any."""
    codes = []
    users = 0
    weighted_rate = 0.0
    weighted_upper = 0.0
    for row in compared:
        if row.day == day:
            codes.append(row.code)
            users += row.users
            weighted_rate += row.users * row.rate
            weighted_upper += row.users * row.bounds[1]
    if not users:
        return None
    return _Others(
        tuple(dict.fromkeys(codes)), weighted_rate / users, weighted_upper / users
    )


def _day(
    limit: Limit, row: Measurement, compared: Iterable[Measurement], min_users: int
) -> Judged:
    """Return the finding for one version on one day."""
    if row.users < min_users:
        return Judged(limit, row, None, "too few users")
    if not limit.relative:
        # A rate whose lower bound is above the limit is surely too high.
        return Judged(limit, row, limit.value, _finding(row, limit.value, limit.value))
    others = _others_on(row.day, compared)
    if others is None:
        return Judged(limit, row, None, "nothing to compare with")
    bound = limit.value * others.rate
    surely = limit.value * max(others.rate, others.upper)
    return Judged(
        limit, row, bound, _finding(row, bound, surely), others.rate, others.codes
    )


def _finding(row: Measurement, bound: float, surely: float) -> Finding:
    """Return the finding for a rate with a limit; its lower bound is compared with `surely`."""
    if row.rate <= bound:
        return "below"
    lower, _ = row.bounds
    if lower > surely:
        return "surely above"
    return "above"


def _ruling(judged: tuple[Judged, ...], min_users: int, name: str) -> Judgement:
    """Return what follows for the rollout from all days of one limit, and why; `name` is the
    metric's.
    """
    surely_above = _with_finding(judged, "surely above")
    if surely_above:
        # the worst day alone: the table has the others
        worst = max(surely_above, key=_lower_bound)
        return Judgement("halt", judged=judged, deciding=(worst,))
    newest = _newest(judged)
    above = _with_finding(newest, "above")
    if above:
        return Judgement("hold", judged=judged, deciding=tuple(above))
    if newest:
        return Judgement("pass", (), judged)
    reason, brief = _why_not_judged(judged, min_users, name)
    return Judgement("hold", (reason,), judged, briefs=(brief,))


def _lower_bound(judged: Judged) -> float:
    """Return the lower bound of a version's rate."""
    lower, _ = judged.row.bounds
    return lower


def _with_finding(judged: Iterable[Judged], finding: Finding) -> list[Judged]:
    return [day for day in judged if day.finding == finding]


def _newest(judged: tuple[Judged, ...]) -> list[Judged]:
    """Return the newest day of each version that could be judged; `judged` is sorted by day."""
    days = [day for day in judged if day.bound is not None]
    newest = {day.row.code: day.row.day for day in days}
    return [day for day in days if day.row.day == newest[day.row.code]]


def _why_not_judged(
    judged: tuple[Judged, ...], min_users: int, name: str
) -> tuple[str, str]:
    """Return why no day of any version could be judged, in a sentence and in a few words."""
    if not judged:
        reason = f"the {name} was not measured: too few users have this release."
        return reason, "too few users"
    most = 0
    for day in judged:
        if day.finding == "nothing to compare with":
            reason = (
                f"there is no completed release whose {name} it could be compared with."
            )
            return reason, "no completed release to compare it with"
        most = max(most, day.row.users)
    reason = (
        f"the {name} was measured among at most {most:,} users a day, and "
        f"{min_users:,} are needed."
    )
    return reason, f"too few users ({most:,} of {min_users:,})"


def _bound(judged: Judged) -> float:
    """Return the limit of a finding as a share of users; infinite where it was not judged."""
    if judged.bound is None:
        return math.inf
    return judged.bound


def _in_brief(judged: Judged) -> str:
    """Return one finding in a few words: `crash rate 2.1 %, limit 0.9 %`."""
    rate = f"{_SHORT_NAMES[judged.limit.metric]} {_percent(judged.row.rate)}"
    return f"{rate}, limit {_percent(_bound(judged))}"


def _in_words(days: Sequence[Judged]) -> str:
    """Return the findings for one rate: `version 42 has a user-perceived crash rate of 2.1 % (at
    least 1.6 %) …: above the limits of 1.09 % and 0.9 % (1.5x)`.
    """
    row = days[0].row
    metric = NAMES[days[0].limit.metric]
    rate = f"a {metric} of {_percent(row.rate)} (at least {_percent(row.bounds[0])})"
    measured = f"version {row.code} has {rate} among {row.users:,} users on {row.day}"
    noun = "limit" if len(days) == 1 else "limits"
    limits = " and ".join(map(_limit, days))
    return f"{measured}: above the {noun} of {limits}"


def section(judged: Sequence[Judged]) -> Section:
    """Return the table of the measurements, a row for each day and version and a column for each
    limit, and a chart for each metric and version.
    """
    limits = _limits_by_metric(judged)
    header = ["Day", "Version", "Users (share)"]
    for metric, of_metric in limits.items():
        header.append(capitalised(_SHORT_NAMES[metric]))
        header += [_limit_name(limit, judged) for limit in of_metric]
    rows = []
    for days in _by_day_and_version(judged).values():
        row = days[0].row
        cells = [str(row.day), row.code, _users(days[0])]
        for metric, of_metric in limits.items():
            cells += _cells(metric, of_metric, days)
        rows.append(tuple(cells))
    return Section("Measurements", tuple(header), tuple(rows), tuple(_charts(judged)))


def _limits_by_metric(judged: Iterable[Judged]) -> dict[Metric, list[Limit]]:
    """Return the limits of each metric that was measured, each once."""
    limits: dict[Metric, list[Limit]] = {}
    for metric in _metrics(judged):
        limits[metric] = []
    for day in judged:
        of_metric = limits[day.limit.metric]
        if day.limit not in of_metric:
            of_metric.append(day.limit)
    return limits


def _metrics(judged: Iterable[Judged]) -> list[Metric]:
    """Return the metrics that were measured, in their order."""
    measured = {day.limit.metric for day in judged}
    return [metric for metric in NAMES if metric in measured]


def _by_day_and_version(
    judged: Iterable[Judged],
) -> dict[tuple[date, str, int], list[Judged]]:
    """Return the findings of each day and version; what Google reports twice has two entries."""
    rows: dict[tuple[Metric, date, str], list[Measurement]] = {}
    findings: dict[tuple[date, str, int], list[Judged]] = {}
    for day in judged:
        row = day.row
        measurements = rows.setdefault((day.limit.metric, row.day, row.code), [])
        if row not in measurements:
            measurements.append(row)
        key = (row.day, row.code, measurements.index(row))
        findings.setdefault(key, []).append(day)
    return dict(sorted(findings.items()))


def _users(judged: Judged) -> str:
    """Return how many users had a version on a day, and their share of all whom Google counted."""
    users = f"{judged.row.users:,}"
    if judged.share is None:
        return users
    return f"{users} ({judged.share * 100:.2g} %)"


def _cells(
    metric: Metric, limits: Sequence[Limit], days: Sequence[Judged]
) -> list[str]:
    """Return what the table has of one metric on one day: the rate, and the finding for each of its
    limits.
    """
    of_metric = [day for day in days if day.limit.metric == metric]
    if not of_metric:
        return [""] * (1 + len(limits))
    row = of_metric[0].row
    rate = _percent(row.rate)
    if row.users:
        rate += f" (at least {_percent(row.bounds[0])})"
    findings = {day.limit: _in_a_cell(day) for day in of_metric}
    return [rate] + [findings.get(limit, "") for limit in limits]


def _in_a_cell(judged: Judged) -> str:
    """Return one finding for the table: `over (certain)`, and a relative limit as a rate."""
    words = {
        "below": "ok",
        "above": "over (may be chance)",
        "surely above": "over (certain)",
    }
    finding = words.get(judged.finding, judged.finding)
    if judged.limit.relative and judged.bound is not None:
        return f"{finding}, limit {_percent(judged.bound)}"
    return finding


def _limit_name(limit: Limit, judged: Iterable[Judged]) -> str:
    """Return how people call a limit: `limit 1.09 %`, `1.5 times 41's`."""
    if not limit.relative:
        return f"limit {_percent(limit.value)}"
    codes = _other_codes(judged)
    if codes:
        return f"{limit.value:g} times {codes}'s"
    return f"{limit.value:g} times what everybody has"


def _charts(judged: Sequence[Judged]) -> Iterator[Chart]:
    """Yield a chart for each metric and version, as far as its days could be judged."""
    for metric in _metrics(judged):
        by_version: dict[str, list[Judged]] = {}
        for day in judged:
            if day.limit.metric == metric and day.bound is not None:
                by_version.setdefault(day.row.code, []).append(day)
        for code, days in by_version.items():
            yield _chart(metric, code, days)


def _chart(metric: Metric, code: str, days: Sequence[Judged]) -> Chart:
    """Return a chart of one version's rate by day, with its limits and the rate of the others."""
    over: dict[Measurement, bool] = {}
    for day in days:
        is_over = day.finding in ("above", "surely above")
        over[day.row] = is_over or over.get(day.row, False)
    rows = list(over)
    labels = []
    rates: list[float | None] = []
    for row in rows:
        labels.append(f"{row.day:%d %b}")
        rates.append(row.rate)
    lines = (*_lines_of_limits(days, rows), *_line_of_others(days, rows))
    return Chart(
        f"{capitalised(NAMES[metric])} of {code} in percent",
        tuple(labels),
        _in_percent(rates),
        tuple(over.values()),
        lines,
        _certainty(metric, days),
    )


def _certainty(metric: Metric, days: Sequence[Judged]) -> str:
    """Return a sentence on the day whose rate is most clearly over a limit; empty
    where there is none.
    """
    certain = _with_finding(days, "surely above")
    if not certain:
        return ""
    worst = max(certain, key=_lower_bound).row
    least = _percent(worst.bounds[0])
    name = _SHORT_NAMES[metric]
    return f"The {name} of {worst.day:%d %b} is at least {least}, with 95 % confidence."


def _lines_of_limits(
    days: Sequence[Judged], rows: Sequence[Measurement]
) -> Iterator[Line]:
    """Return a line for each limit, by its name."""
    bounds: dict[Limit, dict[Measurement, float | None]] = {}
    for day in days:
        bounds.setdefault(day.limit, {})[day.row] = day.bound
    for limit, by_row in bounds.items():
        yield _limit_name(limit, days), _in_percent(list(map(by_row.get, rows)))


def _line_of_others(
    days: Sequence[Judged], rows: Sequence[Measurement]
) -> Iterator[Line]:
    """Return a line for the rate of the versions that everybody has, where it is known."""
    rates: dict[Measurement, float | None] = {}
    for day in days:
        if day.others is not None:
            rates[day.row] = day.others
    if rates:
        yield f"{_other_codes(days)} itself", _in_percent(list(map(rates.get, rows)))


def _other_codes(judged: Iterable[Judged]) -> str:
    """Return the version codes that everybody has, as people write them: `41`."""
    codes: list[str] = []
    for day in judged:
        codes += day.other_codes
    return "+".join(dict.fromkeys(codes))


def _in_percent(shares: Sequence[float | None]) -> tuple[float, ...]:
    """Return shares of users in percent; one that is not known is that of the day beside it."""
    known = [share for share in shares if share is not None]
    last = known[0]
    percents = []
    for share in shares:
        if share is not None:
            last = share
        percents.append(round(100 * last, 4))
    return tuple(percents)


def _limit(judged: Judged) -> str:
    bound = ""
    if judged.bound is not None:
        bound = _percent(judged.bound)
    if judged.limit.relative:
        return f"{bound} ({judged.limit.value:g}x)"
    return bound


def _percent(share: float) -> str:
    """Return a rate as people read it: `1.09 %`."""
    return f"{share * 100:.3g} %"
