"""Waits until a release has come through Play's review: looks at its state, at growing intervals, up to a deadline."""

from __future__ import annotations

from dataclasses import replace
from itertools import count

from uploader.errors import ReleaseTrouble, TemporaryError, UploaderError
from uploader.services.base import Flow, Note, Outcome, Pause, Publish, Section, Steps
from uploader.services.play.edit_api import CONSOLE
from uploader.services.play.lifecycle import REJECTED, WORDS, ReviewGoal, listed, state_of, words
from uploader.text import capitalised


def awaited(package: str, tracks: tuple[str, ...], codes: tuple[str, ...], goal: ReviewGoal, outcome: Outcome) -> Flow:
    """The outcome once the review is through. It has `trouble` where the release was rejected, or time is up.

    Without `codes` the newest release on each track is meant.
    """
    for number in count(1):
        states = yield from _look(package, tracks, codes)
        told = ", ".join(f"{track}: {words(state)}" for track, state in states.items()) or "it could not be looked up"
        through = bool(states) and all(state in goal.enough for state in states.values())
        rejected = REJECTED in states.values()
        if through or rejected or not (yield Pause(number, goal.seconds, f"the review has not finished ({told})")):
            trouble = None if through else _rejected(package, told) if rejected else _not_through(goal, told)
            return (yield from _told(outcome, states, told, trouble))
    raise AssertionError  # the loop has no other end


def _told(outcome: Outcome, states: dict[str, str], told: str, trouble: UploaderError | None) -> Flow:
    yield Note(f"Review: {told}.")
    rows = tuple((track, capitalised(words(state))) for track, state in states.items())
    sections = (*outcome.sections, Section("State of the review", ("Track", "State"), rows))
    return replace(outcome, headline=f"{outcome.headline} Review: {told}.", sections=sections, trouble=trouble)


def _look(package: str, tracks: tuple[str, ...], codes: tuple[str, ...]) -> Steps[dict[str, str]]:
    """The state on each track; nothing where Play can't be asked at present, since there is time to ask again."""
    states = {}
    try:
        for track in tracks:
            found = yield from listed(package, track)
            newest = max((one.codes for one in found), key=lambda each: max(map(int, each), default=0), default=())
            states[track] = state_of(found, codes or newest)
    except TemporaryError as error:
        yield Note(f"The review could not be looked up: {error.what}", "warning")
        return {}
    order = list(WORDS)
    least = min(states.values(), key=lambda state: order.index(state) if state in order else 0, default="")
    yield Publish({"lifecycle": least})
    return states


def _rejected(package: str, told: str) -> ReleaseTrouble:
    return ReleaseTrouble(
        f"Google Play's review rejected the release of {package} ({told}).",
        cause="It breaks a policy, or a declaration is missing or untrue.",
        hint=f"Read why under Publishing overview and Policy status in the Play Console: {CONSOLE}",
        code="review-rejected",
    )


def _not_through(goal: ReviewGoal, told: str) -> TemporaryError:
    return TemporaryError(
        f"The release is not {goal.state} after {goal.seconds:g} s ({told}).",
        cause="A review takes hours or days; what is not sent for review, or not published, waits for someone in the "
        "Play Console.",
        hint="Check again with `target: play-status` and `wait-for`, or run again: nothing is committed twice.",
        code="review-pending",
    )
