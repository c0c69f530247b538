"""Turns the texts of a staged rollout into values: the shares that it goes through, and the limits that end it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from uploader.inputs.invalid_value import InvalidValue
from uploader.inputs.parse import items

Metric = Literal["crash-rate", "anr-rate"]
_NUMBER = r"[0-9]{1,4}(?:\.[0-9]{1,6})?"
_LIMIT = re.compile(rf"(crash-rate|anr-rate)\s+({_NUMBER})\s*(%|x)")


@dataclass(frozen=True)
class Limit:
    """The most that a rate may be: a share of the users, or, `relative`, a multiple of the completed release's rate."""

    metric: Metric
    value: float
    relative: bool = False

    def __str__(self) -> str:
        return f"{self.metric} {self.value:g}x" if self.relative else f"{self.metric} {self.value * 100:g} %"


def rollout_steps(value: str) -> tuple[float, ...]:
    """`1%, 5%, 100%` is (0.01, 0.05, 1.0): shares of the users, ascending."""
    accepted = "ascending shares above 0 % and up to 100 %, such as `1%, 5%, 20%, 50%, 100%`"
    found = [re.fullmatch(rf"({_NUMBER})\s*%", item) for item in items(value)]
    shares = [_share(match[1]) for match in found if match]
    if not shares or len(shares) < len(found) or not all(0 < share <= 1 for share in shares):
        raise InvalidValue("is not a list of shares.", accepted)
    if any(later <= earlier for earlier, later in pairwise(shares)):
        raise InvalidValue("does not ascend.", accepted)
    return tuple(shares)


def limits(value: str) -> tuple[Limit, ...]:
    """`crash-rate 1.09%` is a share of the users, `crash-rate 1.5x` a multiple of the completed release's rate."""
    accepted = "`crash-rate 1.09%`, `anr-rate 0.47%`, `crash-rate 1.5x`"
    found = [_LIMIT.fullmatch(item) for item in items(value)]
    made = tuple(_limit(match) for match in found if match)
    if not made or len(made) < len(found) or not all(_is_limit(limit) for limit in made):
        raise InvalidValue("is not a list of limits.", accepted)
    return made


def _limit(match: re.Match[str]) -> Limit:
    metric: Metric = "anr-rate" if match[1] == "anr-rate" else "crash-rate"
    return Limit(metric, float(match[2]), relative=True) if match[3] == "x" else Limit(metric, _share(match[2]))


def _is_limit(limit: Limit) -> bool:
    """Whether it can be passed at all: a rate of 100 % can't, and whatever is the same passes less than once itself."""
    return limit.value >= 1 if limit.relative else 0 < limit.value < 1


def _share(percent: str) -> float:
    """The share as JSON would read it: `1.1` is the very number that Google Play has for 1.1 %."""
    whole, _, rest = percent.partition(".")
    return int(whole + rest) / 10.0 ** (len(rest) + 2)
