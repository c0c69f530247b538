"""What a rollout does after a look at it: one step further, nothing, hold still, or halt. Pure.

A share never falls, and what was halted, by whomever, is never resumed.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Literal

from uploader.services.play import tracks
from uploader.services.play.edit_api import CONSOLE, Release, Releases
from uploader.services.play.gate import Gate, Judgement
from uploader.services.play.job import ReleaseJob
from uploader.services.play.lifecycle import PUBLISHED, REJECTED, words

Kind = Literal["stepped", "completed", "held", "halted", "nothing"]
NO_STEP = 1e-6  # shares that differ by less are the same: Play may keep them with fewer digits


@dataclass(frozen=True)
class RolloutJob:
    """One look at a rollout: the shares that it goes through, ascending, and the gate before each step."""

    release: ReleaseJob
    shares: tuple[float, ...]
    gate: Gate


@dataclass(frozen=True)
class Decision:
    """What a run makes of its look. `release` is what the release becomes, None where it stays as it is."""

    kind: Kind
    why: str
    release: Release | None = None
    trouble: str = ""


@dataclass(frozen=True)
class Look:
    """What a run saw: the releases of the track, how far the review of the rollout is, and the gate's judgement."""

    releases: Releases
    review: str = PUBLISHED
    judgement: Judgement = Judgement("pass")


@dataclass(frozen=True)
class FirstLook:
    """The release in progress at the first look of a run, or of a killed one before it: what a step shows against."""

    codes: tuple[str, ...]
    share: float

    @classmethod
    def of(cls, release: Release) -> FirstLook:
        """The look at a release in progress."""
        return cls(tracks.codes(release), release.get("userFraction", 0.0))

    @classmethod
    def recalled(cls, text: str) -> FirstLook | None:
        """The look that `text` holds; what can't be read is none."""
        try:
            codes, share = json.loads(text)
            return cls(tuple(map(str, codes)), float(share))
        except (ValueError, TypeError, OverflowError, RecursionError):
            return None

    @property
    def text(self) -> str:
        """For the journal."""
        return json.dumps([self.codes, self.share])

    def passed_in(self, releases: Releases) -> bool:
        """Whether the release has reached more users since."""
        same = [one for one in releases if tracks.codes(one) == self.codes]
        return any(
            one.get("status") == "completed"
            or (one.get("status") == "inProgress" and one.get("userFraction", 0) > self.share + NO_STEP)
            for one in same
        )


def in_progress(releases: Releases) -> Release | None:
    """The release that is being rolled out."""
    return next((one for one in releases if one.get("status") == "inProgress"), None)


def halted(releases: Releases) -> Release | None:
    """The halted release, unless everybody has got a later one since."""
    latest = max((tracks.highest(one) for one in releases if one.get("status") == "completed"), default=-1)
    stopped = (one for one in releases if one.get("status") == "halted")
    return next((one for one in stopped if tracks.highest(one) > latest), None)


def decide(job: RolloutJob, look: Look) -> Decision:
    """What is to be done after a look. Pure; a share never falls, and what was halted is never resumed."""
    release, stopped = in_progress(look.releases), halted(look.releases)
    if release is None and stopped is not None:
        return Decision("halted", _version(stopped), trouble="halted")
    if release is None:
        return Decision("nothing", "nothing is in progress")
    name, share, why = _version(release), release.get("userFraction"), look.judgement.why
    if look.judgement.ruling == "halt" and job.gate.halts:
        return Decision("halted", why, {**release, "status": "halted"}, trouble="halted")
    if look.review == REJECTED:
        return Decision("held", f"the review rejected {name}", trouble="rejected")
    if look.review != PUBLISHED:
        return Decision("held", f"{name} is {words(look.review)}")
    if look.judgement.ruling != "pass" and job.gate.halts:
        return Decision("held", f"{name} stays: {why}")
    if share is None:
        return Decision("held", f"Google Play does not say how many users {name} is for")
    return _step(job, release, share)


def _version(release: Release) -> str:
    """A release by its version codes and its share: `42+43 at 5 %`."""
    return " at ".join(filter(None, ("+".join(tracks.codes(release)), tracks.share(release))))


def _step(job: RolloutJob, release: Release, share: float) -> Decision:
    name = _version(release)
    following = next((one for one in job.shares if one > share + NO_STEP), None)
    if following is None:
        return Decision("nothing", f"{name} has reached the last of `rollout-steps`")
    if following < 1:
        return Decision("stepped", f"{name} goes to {following * 100:g} %", {**release, "userFraction": following})
    if release.get("countryTargeting"):
        what = "is limited to some countries, and completing it would release it in all of them: that is left to you"
        return Decision("held", f"{name} {what}: {CONSOLE}")
    rest = {key: value for key, value in release.items() if key != "userFraction"}
    return Decision("completed", f"{name} goes to all users", {**rest, "status": "completed"})
