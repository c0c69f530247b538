"""How far Google Play's review of a release is, and the wait until it is through.

`applications.tracks.releases.list` tells it, the one look that needs no edit; it has 20 releases at
most, and no obsolete ones. The states are Google's, without their prefix.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

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
from uploader.services.play.known_errors import OTHER, TRACK_MISSING, find
from uploader.text import capitalised

REJECTED, APPROVED, PUBLISHED = "NOT_APPROVED", "APPROVED_NOT_PUBLISHED", "PUBLISHED"
WORDS = {  # in their order
    REJECTED: "rejected by the review",
    "DRAFT": "a draft",
    "NOT_SENT_FOR_REVIEW": "not sent for review",
    "IN_REVIEW": "in review",
    "": "not listed by Google Play",
    APPROVED: "approved, not published",
    PUBLISHED: "published",
}
WHY_REJECTED = (
    f"Read why under Publishing overview and Policy status in the Play Console: {CONSOLE}"
)
_ORDER = list(WORDS)
_PATH = "/androidpublisher/v3/applications/{package}/tracks/{track}/releases"
_PREFIX = "RELEASE_LIFECYCLE_STATE_"


@dataclass(frozen=True)
class Listed:
    """One release of the list: its version codes, its name, and its state."""

    codes: tuple[str, ...]
    name: str
    state: str


@dataclass(frozen=True)
class ReviewGoal:
    """What is waited for, and for how many seconds at most (0: one look); in a `rehearsal` in the
    emulator alone.
    """

    state: str  # approved or published
    seconds: float
    rehearsal: bool = False


def goal_of(
    inputs: ReleaseInputs | StatusInputs, tracks: Sequence[str], problems: Problems
) -> ReviewGoal:
    """What the inputs say is waited for; `tracks` are those that get a release."""
    if isinstance(inputs, ReleaseInputs) and not (inputs.commit and tracks):
        what = "no release is committed, so there is nothing to wait for."
        problems.add(
            "wait-for", what, "with `tracks` and `commit: true`, or with `target: play-status`"
        )
    if isinstance(inputs, ReleaseInputs) and inputs.changes_not_sent_for_review == "true":
        what = "what is not sent for review is not reviewed."
        problems.add(
            "wait-for",
            what,
            "with `changes-not-sent-for-review: auto`; or later, with `target: play-status`",
        )
    if inputs.status == "draft":
        problems.add("wait-for", "a draft is not reviewed.", "with another `status`")
    return ReviewGoal(inputs.wait_for, inputs.wait_deadline, inputs.common.rehearsal)


def listed(context: Context, package: str, track: str) -> tuple[Listed, ...]:
    """The releases of a track; one that was never used may be answered with 404, and has none."""
    try:
        return _list(context, package, track)
    except ApiError as refused:
        if refused.status != 404 or find(refused) not in (TRACK_MISSING, OTHER):
            raise
        return ()


def live_versions(context: Context, package: str, track: str) -> frozenset[str] | None:
    """The version codes that are published on the track; None where Play does not tell, which ends
    no run.
    """
    try:
        found = _list(context, package, track)
    except (ProtocolError, ApiError, TemporaryError):
        return None
    return frozenset(code for one in found if one.state == PUBLISHED for code in one.codes)


def _list(context: Context, package: str, track: str) -> tuple[Listed, ...]:
    path = expand(_PATH, {"package": package, "track": track})
    found = []
    response = context.call(
        Call("GET", ROOT, path, what=f"the releases of track {track}", ask_twice=True)
    )
    for entry in entries(response, "releases"):
        codes = tuple(
            str(artifact.get("versionCode")) for artifact in entries(entry, "activeArtifacts")
        )
        name, state = entry.get("releaseName", ""), entry.get("releaseLifecycleState", "")
        digits = all(code.isascii() and code.isdigit() for code in codes)
        if not (isinstance(name, str) and isinstance(state, str) and digits):
            raise ProtocolError(
                f"Google Play returned a release of track {track} in an undocumented format."
            )
        found.append(Listed(codes, name, state.removeprefix(_PREFIX)))
    return tuple(found)


def state_of(found: Iterable[Listed], codes: Iterable[str]) -> str:
    """How far a release is, by its version codes: the least advanced state that any entry with one
    of them has.
    """
    states = [one.state for one in found if set(one.codes) & set(codes)]
    return min(states, key=lambda state: _ORDER.index(state if state in WORDS else ""), default="")


def state_of_release(found: Sequence[Listed], codes: Collection[str]) -> str:
    """How far the release with just these version codes is; as `state_of` where none is listed with
    just these.

    Another release, which is still in review, may retain some of them.
    """
    exact = [one for one in found if set(one.codes) == set(codes)]
    return state_of(exact or found, codes)


def words(state: str) -> str:
    """A state for people."""
    return WORDS.get(state, state)


def awaited(
    package: str,
    tracks: tuple[str, ...],
    codes: tuple[str, ...],
    goal: ReviewGoal,
    outcome: Outcome,
    context: Context,
) -> Outcome:
    """The outcome once the review is through. It has `trouble` where the release was rejected, or
    time is up.

    Without `codes` the newest release on each track is meant.
    """
    poll = context.poll(goal.seconds)
    while True:
        states = _states(package, tracks, codes, context)
        told = (
            ", ".join(f"{track}: {words(state)}" for track, state in states.items())
            or "it could not be looked up"
        )
        enough = {PUBLISHED} if goal.state == "published" else {APPROVED, PUBLISHED}
        through = bool(states) and enough.issuperset(states.values())
        rejected = REJECTED in states.values()
        if through or rejected:
            break
        if not poll.wait(f"the review has not finished ({told})"):
            break
    context.info(f"Review{' in the emulator' if goal.rehearsal else ''}: {told}.")
    rows = tuple((track, capitalised(words(state))) for track, state in states.items())
    sections = (*outcome.sections, Section("State of the review", ("Track", "State"), rows))
    trouble: UploaderError | None = None
    if rejected:
        trouble = ReleaseTrouble(
            f"Google Play's review rejected the release of {package} ({told}).",
            cause="It breaks a policy, or a declaration is missing or untrue.",
            hint=WHY_REJECTED,
            code="review-rejected",
        )
    elif not through:
        trouble = TemporaryError(
            f"The release is not {goal.state} after {goal.seconds:g} s ({told}).",
            cause="A review takes hours or days; what is not sent for review, or not published, "
            "waits for someone in the Play Console.",
            hint="Check again with `target: play-status` and `wait-for`, or run again: nothing is "
            "committed twice.",
            code="review-pending",
        )
    heading = outcome.heading
    if heading and trouble:
        # A rejection is told by the error.
        heading = (
            None if rejected else replace(heading, text=f"{heading.text}; {told}", mark="held")
        )
    return replace(
        outcome,
        headline=f"{outcome.headline} Review: {told}.",
        sections=sections,
        trouble=trouble,
        heading=heading,
    )


def _states(
    package: str, tracks: tuple[str, ...], codes: tuple[str, ...], context: Context
) -> dict[str, str]:
    """The state on each track; nothing where Play can't be asked at present, since there is time to
    ask again.
    """
    states = {}
    try:
        for track in tracks:
            found = listed(context, package, track)
            newest = max(
                (one.codes for one in found),
                key=lambda each: max(map(int, each), default=0),
                default=(),
            )
            states[track] = state_of(found, codes or newest)
    except TemporaryError as error:
        context.warning(f"The review could not be looked up: {error.what}")
        return {}
    least = min(
        states.values(), key=lambda state: _ORDER.index(state) if state in WORDS else 0, default=""
    )
    context.publish({"lifecycle": least})
    return states
