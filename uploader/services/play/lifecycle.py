"""How far Play's review of a release is, as `applications.tracks.releases.list` tells it: the one look without an edit.

The states are Google's, without their prefix. Obsolete releases are left out of the list, which has 20 at most.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from uploader.errors import ApiError, ProtocolError, TemporaryError
from uploader.input_problems import Problems
from uploader.inputs import Inputs
from uploader.services.base import Call, Steps
from uploader.services.play.edit_api import ROOT, entries
from uploader.services.play.known_errors import OTHER, TRACK_MISSING, find
from uploader.services.uri_template import expand

REJECTED, APPROVED, PUBLISHED = "NOT_APPROVED", "APPROVED_NOT_PUBLISHED", "PUBLISHED"
WORDS = {
    REJECTED: "rejected by the review",
    "DRAFT": "a draft",
    "NOT_SENT_FOR_REVIEW": "not sent for review",
    "IN_REVIEW": "in review",
    "": "not listed by Google Play",
    APPROVED: "approved, not published",
    PUBLISHED: "published",
}
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
    """What is waited for, and for how many seconds at most (0: one look)."""

    state: Literal["approved", "published"]
    seconds: float

    @property
    def enough(self) -> tuple[str, ...]:
        """The states in which the waiting is over."""
        return (PUBLISHED,) if self.state == "published" else (APPROVED, PUBLISHED)


def goal_of(inputs: Inputs, problems: Problems) -> ReviewGoal | None:
    """What the inputs say is waited for, if anything."""
    if inputs.wait_for and inputs.target == "play" and not (inputs.commit and inputs.tracks):
        what = "no release is committed, so there is nothing to wait for."
        problems.add("wait-for", what, "with `tracks` and `commit: true`, or with `target: play-status`")
    if inputs.wait_for and inputs.target == "play" and inputs.changes_not_sent_for_review == "true":
        what = "what is not sent for review is not reviewed."
        problems.add("wait-for", what, "with `changes-not-sent-for-review: auto`; or later, with `target: play-status`")
    if inputs.wait_for and inputs.status == "draft":
        problems.add("wait-for", "a draft is not reviewed.", "with another `status`")
    return ReviewGoal(inputs.wait_for, inputs.wait_deadline) if inputs.wait_for else None


def listed(package: str, track: str) -> Steps[tuple[Listed, ...]]:
    """The releases of a track; one that was never used may be answered with 404, and has none."""
    try:
        return (yield from _list(package, track))
    except ApiError as refused:
        if refused.status != 404 or find(refused) not in (TRACK_MISSING, OTHER):
            raise
        return ()


def live_versions(package: str, track: str) -> Steps[frozenset[str] | None]:
    """The version codes that are published on the track; None where Play does not tell, which ends no run."""
    try:
        found = yield from _list(package, track)
    except (ProtocolError, ApiError, TemporaryError):
        return None
    return frozenset(code for one in found if one.state == PUBLISHED for code in one.codes)


def _list(package: str, track: str) -> Steps[tuple[Listed, ...]]:
    path = expand(_PATH, {"package": package, "track": track})
    response = yield Call("GET", ROOT, path, what=f"the releases of track {track}")
    return tuple(_listed(track, entry) for entry in entries(response, "releases"))


def state_of(found: Iterable[Listed], codes: Iterable[str]) -> str:
    """How far a release is, by its version codes: the least advanced state that any entry with one of them has."""
    states = [one.state for one in found if set(one.codes) & set(codes)]
    order = list(WORDS)
    return min(states, key=lambda state: order.index(state) if state in order else order.index(""), default="")


def words(state: str) -> str:
    """A state for people."""
    return WORDS.get(state, state)


def _listed(track: str, entry: object) -> Listed:
    values = dict(entry) if isinstance(entry, dict) else {}
    codes = tuple(str(artifact.get("versionCode")) for artifact in entries(values, "activeArtifacts"))
    name, state = values.get("releaseName", ""), values.get("releaseLifecycleState", "")
    if not (
        isinstance(name, str) and isinstance(state, str) and all(code.isascii() and code.isdigit() for code in codes)
    ):
        raise ProtocolError(f"Google Play returned a release of track {track} in an undocumented format.")
    return Listed(codes, name, state.removeprefix(_PREFIX))
