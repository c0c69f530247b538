"""The gate of a rollout: whether what Google measured of a release allows another step, holds the rollout, or ends it.

Pure. Each day of each version is judged by itself: the numbers of users are rounded and count people once a day, so
they are never added up, and an average over days would hide a release that goes bad today.

- A day on which a version has too few users is not judged. Without any judged day the rollout is held.
- A day is *surely* above the limit when even the lower bound of its 95 % confidence interval is: Google's own interval
  where it gives one, else Wilson's. One such day halts the rollout.
- Otherwise the newest judged day of each version counts: where it is above the limit, perhaps by chance, the rollout
  is held.
- A relative limit is a multiple of what the completed release has on the same day, all its versions weighted by their
  users. To be surely above means to be above that multiple of the upper bound, since that rate is an estimate as well.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from typing import Literal

from uploader.inputs.parse_rollout import Limit, Metric

Z = 1.959964  # standard deviations of a two-sided interval of 95 %
DAY = 86_400  # seconds
# When a day ends in Los Angeles: 7 hours after Greenwich in summer, 8 in winter. The earlier makes data look older.
DAY_ENDS = 7 * 3600
NAMES: Mapping[Metric, str] = {"crash-rate": "user-perceived crash rate", "anr-rate": "user-perceived ANR rate"}

Finding = Literal["below", "above", "surely above", "too few users", "nothing to compare with"]
Ruling = Literal["pass", "hold", "halt"]


@dataclass(frozen=True)
class Gate:
    """What a rollout is held to. `max_age` is in seconds, `days` how many count; without `halts` it only reports."""

    limits: tuple[Limit, ...] = ()
    halts: bool = True
    min_users: int = 100
    days: int = 2
    max_age: float = 3.0 * DAY


@dataclass(frozen=True)
class Measurement:
    """What Google measured of one version on one day: a share of that day's users, and its interval where given."""

    code: str
    day: date
    rate: float
    users: int
    interval: tuple[float, float] | None = None

    @property
    def bounds(self) -> tuple[float, float]:
        """The 95 % confidence interval."""
        return self.interval or wilson(self.rate, self.users)


@dataclass(frozen=True)
class Measured:
    """All of one metric: its measurements, and the day before which they end."""

    end: date
    rows: tuple[Measurement, ...]


@dataclass(frozen=True)
class Judged:
    """One version on one day against one limit; `bound` is the limit as a share of users, None where there is none."""

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


def judge(
    gate: Gate, now: float, found: Mapping[Metric, Measured | str], codes: Iterable[str], baseline: Iterable[str]
) -> Judgement:
    """The judgement over the versions `codes` at `now` (seconds since the epoch), compared with those of `baseline`.

    `found` has for each metric what was measured, or why that is not known.
    """
    judgements = [_judge(gate, limit, now, found[limit.metric], set(codes), set(baseline)) for limit in gate.limits]
    order: tuple[Ruling, ...] = ("halt", "hold", "pass")
    ruling: Ruling = next((one for one in order if any(each.ruling == one for each in judgements)), "pass")
    reasons = (reason for each in judgements if each.ruling == ruling for reason in each.reasons)
    return Judgement(ruling, tuple(dict.fromkeys(reasons)), tuple(one for each in judgements for one in each.judged))


def wilson(rate: float, users: int) -> tuple[float, float]:
    """Wilson's interval of 95 % for a share that was seen among so many users (J. Am. Stat. Assoc. 22, 1927)."""
    spread = Z * Z / users
    middle = (rate + spread / 2) / (1 + spread)
    half = Z / (1 + spread) * math.sqrt(rate * (1 - rate) / users + spread / (4 * users))
    # At its ends the interval is exact, where rounding would leave a trace of a crash that nobody saw.
    return max(middle - half, 0.0) if rate else 0.0, min(middle + half, 1.0) if rate < 1 else 1.0


def _judge(
    gate: Gate, limit: Limit, now: float, measured: Measured | str, codes: set[str], baseline: set[str]
) -> Judgement:
    name = NAMES[limit.metric]
    if isinstance(measured, str):
        return Judgement("hold", (f"the {name} is not known: {measured}",))
    if stale := _stale(measured.end, now, gate.max_age):
        return Judgement("hold", (f"the {name} {stale}",))
    period = [row for row in measured.rows if measured.end - timedelta(gate.days) <= row.day < measured.end]
    rows = sorted((row for row in period if row.code in codes), key=lambda row: (row.day, row.code))
    compared = [row for row in period if row.code in baseline and row.users >= gate.min_users]
    judged = tuple(_day(limit, row, compared, gate.min_users) for row in rows)
    ruling, reasons = _ruling(judged, gate.min_users, name)
    return Judgement(ruling, reasons, judged)


def _stale(end: date, now: float, max_age: float) -> str:
    """Why data that end before this day say nothing about today; empty where they do."""
    ended = datetime(end.year, end.month, end.day, tzinfo=timezone.utc).timestamp() + DAY_ENDS
    if now - ended <= max_age:
        return ""
    return f"is stale: the newest data end before {end}, which is more than {max_age / 3600:g} hours ago."


def _day(limit: Limit, row: Measurement, compared: Iterable[Measurement], min_users: int) -> Judged:
    if row.users < min_users:
        return Judged(limit, row, None, "too few users")
    bounds = _limits_of_the_day(limit, [other for other in compared if other.day == row.day])
    if bounds is None:
        return Judged(limit, row, None, "nothing to compare with")
    bound, surely = bounds
    finding: Finding = "below" if row.rate <= bound else "surely above" if row.bounds[0] > surely else "above"
    return Judged(limit, row, bound, finding)


def _limits_of_the_day(limit: Limit, compared: list[Measurement]) -> tuple[float, float] | None:
    """The limit, and the one above which a rate surely is too high; None without anything to compare with."""
    if not limit.relative:
        return limit.value, limit.value
    users = sum(row.users for row in compared)  # as weights only
    if not users:
        return None
    rate, upper = (sum(row.users * value(row) for row in compared) / users for value in (_rate, _upper))
    return limit.value * rate, limit.value * max(rate, upper)


def _rate(row: Measurement) -> float:
    return row.rate


def _upper(row: Measurement) -> float:
    return row.bounds[1]


def _ruling(judged: tuple[Judged, ...], min_users: int, name: str) -> tuple[Ruling, tuple[str, ...]]:
    surely = [one for one in judged if one.finding == "surely above"]
    if surely:
        return "halt", (describe(max(surely, key=lambda one: one.row.bounds[0])),)  # the table has the others
    last = {one.row.code: one.row.day for one in judged if one.bound is not None}
    newest = [one for one in judged if one.bound is not None and one.row.day == last[one.row.code]]
    above = [one for one in newest if one.finding == "above"]
    if above:
        return "hold", tuple(f"{describe(one)}, but perhaps by chance" for one in above)
    if newest:
        return "pass", ()
    if any(one.finding == "nothing to compare with" for one in judged):
        return "hold", (f"there is no completed release whose {name} it could be compared with.",)
    most = max((one.row.users for one in judged), default=0)
    few = f"was measured among at most {most:,} users a day, and {min_users:,} are needed"
    return "hold", (f"the {name} {few if judged else 'was not measured: too few users have this release'}.",)


def describe(one: Judged) -> str:
    """One finding for people: `version 42 has a user-perceived crash rate of 2.1 % (at least 1.6 %) …`."""
    row = one.row
    rate = f"a {NAMES[one.limit.metric]} of {percent(row.rate)} (at least {percent(row.bounds[0])})"
    limit = f"{percent(one.bound or 0)}" + (f" ({one.limit.value:g}x)" if one.limit.relative else "")
    return f"version {row.code} has {rate} among {row.users:,} users on {row.day}: above the limit of {limit}"


def percent(share: float) -> str:
    """A rate as people read it: `1.09 %`."""
    return f"{share * 100:.3g} %"
