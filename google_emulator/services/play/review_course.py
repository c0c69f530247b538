"""The course of a release's review: the states that it passes through, by looks, by time or when someone acts.

The states are those of ReleaseSummary.releaseLifecycleState, without their prefix.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from google_emulator.http.response import Json

DRAFT, NOT_SENT, IN_REVIEW = "DRAFT", "NOT_SENT_FOR_REVIEW", "IN_REVIEW"
APPROVED, REJECTED, PUBLISHED = "APPROVED_NOT_PUBLISHED", "NOT_APPROVED", "PUBLISHED"
STATES = (NOT_SENT, IN_REVIEW, APPROVED, REJECTED, PUBLISHED)


@dataclass(frozen=True)
class Stage:
    """A state, and after how many looks at it or how many seconds it passes; with neither it stays."""

    state: str
    looks: int | None = None
    seconds: float | None = None

    def passed(self, looks: int, seconds: float) -> bool:
        """Whether the state is over after so many looks, so long after it began."""
        by_looks = self.looks is not None and looks >= self.looks
        return by_looks or (self.seconds is not None and seconds >= self.seconds)


Course: TypeAlias = tuple[Stage, ...]
AT_ONCE: Course = (Stage(PUBLISHED),)
UNSENT: Course = (Stage(NOT_SENT),)


@dataclass
class Review:
    """A release on its course. `looks` and `since` (seconds since the epoch) belong to the first stage that is left."""

    codes: tuple[str, ...]
    name: str
    course: Course
    since: float
    looks: int = 0

    def state(self, now: float) -> str:
        """The state at this time."""
        while len(self.course) > 1 and self.course[0].passed(self.looks, now - self.since):
            timed = self.course[0].seconds is not None and now - self.since >= (self.course[0].seconds or 0)
            self.since = self.since + (self.course[0].seconds or 0) if timed else now
            self.course, self.looks = self.course[1:], 0
        return self.course[0].state

    def look(self, now: float) -> str:
        """The state that an answer tells; telling it is a look."""
        state = self.state(now)
        self.looks += 1
        return state

    def begin(self, course: Course, now: float) -> None:
        """Puts the release on another course."""
        self.course, self.since, self.looks = course, now, 0


def read_course(value: Json) -> Course:
    """A course from JSON: a list of states, or of {`state`, `looks` or `seconds`}. Raises `ValueError`."""
    if not isinstance(value, list) or not value:
        raise ValueError(f"a course is a list of states, each one of {', '.join(STATES)}")
    return tuple(_stage(one) for one in value)


def _stage(value: Json) -> Stage:
    values: dict[str, Json] = {"state": value} if isinstance(value, str) else dict(value)
    unknown = sorted(set(values) - {"state", "looks", "seconds"})
    if unknown:
        raise ValueError(f"unknown key {', '.join(unknown)} in a course; there are: state, looks, seconds")
    if values.get("state") not in STATES:
        raise ValueError(f"unknown state {values.get('state')!r} in a course; there are: {', '.join(STATES)}")
    for name in ("looks", "seconds"):
        limit = values.get(name)
        if limit is not None and (isinstance(limit, bool) or not isinstance(limit, (int, float)) or limit < 0):
            raise ValueError(f"{name} in a course is a number from 0 on")
    return Stage(**values)
