"""Look up how far Google Play's review of a release is, and wait until it is done.

The state comes from `applications.tracks.releases.list`, which needs no edit. The list has at most
20 releases, and no obsolete ones. The states are Google's, without their prefix.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from uploader.errors import (
    ApiError,
    Problems,
    ProtocolError,
    ReleaseTrouble,
    TemporaryError,
    UploaderError,
)
from uploader.inputs.records import ReleaseInputs, StatusInputs
from uploader.services.base import Call, Context, Outcome, Section
from uploader.services.catalogue import expand
from uploader.services.play.client import CONSOLE, ROOT, entries
from uploader.services.play.known_errors import NO_SUCH_TRACK, find
from uploader.services.play.model import highest_of, newest
from uploader.text import capitalise

REJECTED = "NOT_APPROVED"
APPROVED = "APPROVED_NOT_PUBLISHED"
PUBLISHED = "PUBLISHED"
WORDS = {  # the least advanced first
    REJECTED: "rejected by the review",
    "DRAFT": "a draft",
    "NOT_SENT_FOR_REVIEW": "not sent for review",
    "IN_REVIEW": "in review",
    "": "not listed by Google Play",
    APPROVED: "approved, not published",
    PUBLISHED: "published",
}
WHY_REJECTED = (
    "Find the reason under Publishing overview and Policy status in the Play Console: "
    f"{CONSOLE}"
)
_ORDER = list(WORDS)
_PATH = "/androidpublisher/v3/applications/{package}/tracks/{track}/releases"
_PREFIX = "RELEASE_LIFECYCLE_STATE_"
_DIGITS = re.compile("[0-9]+")


@dataclass(frozen=True)
class Listed:
    """One release of the list: its version codes, its name, and its state."""

    codes: tuple[str, ...]
    name: str
    state: str

    @property
    def highest_version_code(self) -> int:
        """The highest version code, -1 if there is none."""
        return highest_of(self.codes)


@dataclass(frozen=True)
class ReviewGoal:
    """What to wait for, and for how many seconds at most (0: look once).

    In a `rehearsal` only the emulator is asked.
    """

    state: str  # approved or published
    seconds: float
    rehearsal: bool = False


def goal_of(
    inputs: ReleaseInputs | StatusInputs, tracks: Sequence[str], problems: Problems
) -> ReviewGoal:
    """Return what the inputs ask to wait for; `tracks` are those that get a release."""
    if isinstance(inputs, ReleaseInputs):
        if not (inputs.commit and tracks):
            what = "no release is committed, so there is nothing to wait for."
            accepted = "with `tracks` and `commit: true`, or with `target: play-status`"
            problems.add("wait-for", what, accepted)
        if inputs.changes_not_sent_for_review == "true":
            what = "what is not sent for review is not reviewed."
            accepted = (
                "with `changes-not-sent-for-review: auto`; or later, with `target: "
                "play-status`"
            )
            problems.add("wait-for", what, accepted)
    if inputs.status == "draft":
        problems.add("wait-for", "a draft is not reviewed.", "with another `status`")
    return ReviewGoal(inputs.wait_for, inputs.wait_deadline, inputs.common.rehearsal)


def list_releases(context: Context, package: str, track: str) -> tuple[Listed, ...]:
    """Return the releases of a track; none if Google Play answers 404, as it may for a track that
    was never used.
    """
    try:
        return _list(context, package, track)
    except ApiError as refused:
        if refused.status != 404 or find(refused) not in NO_SUCH_TRACK:
            raise
        return ()


def live_versions(context: Context, package: str, track: str) -> frozenset[str] | None:
    """Return the version codes that are published on a track.

    None is returned if they can't be read: that must not end a run.
    """
    try:
        releases = _list(context, package, track)
    except (ProtocolError, ApiError, TemporaryError):
        return None
    published: set[str] = set()
    for release in releases:
        if release.state == PUBLISHED:
            published.update(release.codes)
    return frozenset(published)


def _list(context: Context, package: str, track: str) -> tuple[Listed, ...]:
    """Return the releases of a track. Raises ApiError, also for a track that was never used."""
    path = expand(_PATH, {"package": package, "track": track})
    what = f"the releases of track {track}"
    call = Call("GET", ROOT, path, what=what, ask_twice=True)
    response = context.call(call)
    return tuple(_read(entry, track) for entry in entries(response, "releases"))


def _read(entry: Mapping[str, Any], track: str) -> Listed:
    """Return one release of the list. Raises ProtocolError for an undocumented format."""
    artifacts = entries(entry, "activeArtifacts")
    codes = [str(artifact.get("versionCode")) for artifact in artifacts]
    name = entry.get("releaseName", "")
    state = entry.get("releaseLifecycleState", "")
    are_texts = isinstance(name, str) and isinstance(state, str)
    are_codes = all(map(_DIGITS.fullmatch, codes))
    if not are_texts or not are_codes:
        raise ProtocolError(
            f"Google Play returned a release of track {track} in an undocumented format."
        )
    return Listed(tuple(codes), name, state.removeprefix(_PREFIX))


def state_of(releases: Iterable[Listed], codes: Iterable[str]) -> str:
    """Return the least advanced state of the listed releases with any of these version codes; empty
    if none of them is listed.
    """
    wanted = set(codes)
    states = [
        release.state for release in releases if not wanted.isdisjoint(release.codes)
    ]
    return min(states, key=_rank, default="")


def _rank(state: str) -> int:
    """Return how advanced a state is. An unknown one ranks as if the release were not listed."""
    if state not in WORDS:
        state = ""
    return _ORDER.index(state)


def state_of_release(releases: Sequence[Listed], codes: Collection[str]) -> str:
    """Return the state of the release with exactly these version codes, or else that of `state_of`.

    Another release that retains some of the version codes may still be in review.
    """
    exact = [release for release in releases if set(release.codes) == set(codes)]
    if exact:
        return state_of(exact, codes)
    return state_of(releases, codes)


def words(state: str) -> str:
    """Return a state in words; an unknown one as it is."""
    return WORDS.get(state, state)


def wait_for_review(
    package: str,
    tracks: tuple[str, ...],
    codes: tuple[str, ...],
    goal: ReviewGoal,
    outcome: Outcome,
    context: Context,
) -> Outcome:
    """Wait until the review is done, and return the outcome with its result.

    The outcome has `trouble` if the release was rejected, or if time is up. Without `codes` the
    newest release on each track is meant.
    """
    poll = context.poll(goal.seconds)
    while True:
        states = _states(package, tracks, codes, context)
        summary = _summary(states)
        if _is_over(states, goal):
            break
        if not poll.wait(f"the review has not finished ({summary})"):
            break
    where = ""
    if goal.rehearsal:
        where = " in the emulator"
    context.info(f"Review{where}: {summary}.")
    rows = []
    for track, state in states.items():
        shown = capitalise(words(state))
        rows.append((track, shown))
    section = Section("State of the review", ("Track", "State"), tuple(rows))
    trouble: UploaderError | None = None
    heading = outcome.heading
    if REJECTED in states.values():
        trouble = _rejection(package, summary)
        heading = None  # the error says it
    elif not _is_over(states, goal):
        trouble = _pending(goal, states)
        if heading:
            text = f"{heading.text}; {summary}"
            heading = replace(heading, text=text, mark="held")
    elif heading and APPROVED in states.values():
        heading = replace(heading, text=f"{heading.text}; {summary}")
    return replace(
        outcome,
        headline=f"{outcome.headline} Review: {summary}.",
        sections=(*outcome.sections, section),
        trouble=trouble,
        heading=heading,
    )


def _summary(states: Mapping[str, str]) -> str:
    """Return the states of all tracks in words."""
    if not states:
        return "it could not be looked up"
    tracks = [f"{track}: {words(state)}" for track, state in states.items()]
    return ", ".join(tracks)


def _is_over(states: Mapping[str, str], goal: ReviewGoal) -> bool:
    """Return whether the release is rejected on one track, or has reached the goal on all."""
    if REJECTED in states.values():
        return True
    enough = {PUBLISHED}
    if goal.state != "published":
        enough.add(APPROVED)
    return bool(states) and enough.issuperset(states.values())


def _rejection(package: str, summary: str) -> ReleaseTrouble:
    return ReleaseTrouble(
        f"Google Play's review rejected the release of {package} ({summary}).",
        cause="It breaks a policy, or a declaration is missing or untrue.",
        hint=WHY_REJECTED,
        code="review-rejected",
    )


def _pending(goal: ReviewGoal, states: Mapping[str, str]) -> TemporaryError:
    cause = (
        "A review takes hours or days; what is not sent for review, or not published, waits for "
        "someone in the Play Console."
    )
    if states and {APPROVED, PUBLISHED}.issuperset(states.values()):
        cause = (
            "The review is over. With managed publishing, the release waits until someone "
            f"publishes it, under Publishing overview in the Play Console: {CONSOLE}"
        )
    return TemporaryError(
        f"The release is not {goal.state} after {goal.seconds:g} s ({_summary(states)}).",
        cause=cause,
        hint="Check again with `target: play-status` and `wait-for`, or run again: nothing is "
        "committed twice.",
        code="review-pending",
    )


def _states(
    package: str,
    tracks: tuple[str, ...],
    codes: tuple[str, ...],
    context: Context,
) -> dict[str, str]:
    """Look up the state on each track, and publish the least advanced one.

    An empty dict is returned if Google Play can't be asked at present: the next look may succeed.
    """
    states = {}
    try:
        for track in tracks:
            releases = list_releases(context, package, track)
            version_codes = codes
            if releases and not codes:
                version_codes = newest(releases).codes
            states[track] = state_of(releases, version_codes)
    except TemporaryError as error:
        context.warning(f"The review could not be looked up: {error.what}")
        return {}
    least = min(states.values(), key=_rank_known_first, default="")
    context.publish({"lifecycle": least})
    return states


def _rank_known_first(state: str) -> int:
    """Return how advanced a state is. An unknown one ranks with the least advanced."""
    if state not in WORDS:
        return 0
    return _ORDER.index(state)
