"""Make the app that is live in the embedded emulator when a rehearsal begins, so that it is not
limited to first releases.

Every standard track has a completed release with lower version codes than those of the run, or with
those that the run retains. If the run changes or promotes what is there, that track has a release
in progress as well, with measurements of healthy days for a rollout.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from uploader.inputs.parsers import LAST_RELEASE
from uploader.inputs.records import ReleaseInputs
from uploader.services.base import Prepared
from uploader.services.play.model import Release, TrackName
from uploader.services.play.release_words import describe
from uploader.services.play.track_names import STANDARD, form_factor, guess_track

SHARE = 0.1  # of users who have the release in progress
# Users of a day at most: `gate-min-users` above that shows how a rollout is held.
MAX_USERS = 1_000_000


@dataclass(frozen=True)
class _LiveApp:
    """One app of the emulator: its releases by track, and the words that describe them."""

    tracks: Mapping[str, Sequence[Release]]
    words: str


def live_app(
    inputs: ReleaseInputs, min_users: int, prepared: Prepared
) -> tuple[dict[str, Any], str]:
    """Return the emulator's configuration, and the log line that describes it; both empty if there
    is no app.

    `inputs` may be those of any target; `min_users` is the input `gate-min-users`.
    """
    if inputs.common.target != "play":  # the only target that reads these inputs
        inputs = replace(
            inputs,
            promote_from="",
            promote_version_codes=(),
            version_codes_to_retain=(),
        )
    retained = _codes_to_retain(inputs)
    artifacts = [{"versionCode": version_code} for version_code in retained]
    apps: dict[str, Any] = {}
    sentences: list[str] = []
    for package, version_codes in prepared.apps.items():
        live = _live_before(inputs, version_codes, retained)
        if live is None:
            sentences.append(
                f"nothing on the tracks of {package}: no version code is below 1"
            )
            continue
        tracks = {track: _to_json(releases) for track, releases in live.tracks.items()}
        apps[package] = {"tracks": tracks, "artifacts": artifacts}
        sentences.append(f"{package} live: {live.words}")
    if not sentences:
        return {}, ""
    config: dict[str, Any] = {}
    words = "; ".join(sentences)
    if apps:
        config["apps"] = apps
        if inputs.common.target == "play-rollout":
            days = _healthy_days(min_users)
            config["vitals"] = dict.fromkeys(apps, days)
            words += ", with measurements of healthy days"
    return config, f"The emulator begins with {words}."


def _codes_to_retain(inputs: ReleaseInputs) -> list[int]:
    """Return the version codes that the run names in `version-codes-to-retain`."""
    codes = inputs.version_codes_to_retain
    return [int(code) for code in codes if code != LAST_RELEASE]


def _to_json(releases: Sequence[Release]) -> list[dict[str, Any]]:
    return [release.to_json() for release in releases]


def _healthy_days(min_users: int) -> dict[str, Any]:
    """Return measurements of both releases of an app, with more than so many users unless that is
    `MAX_USERS` or more.
    """
    rates = {
        "users": min(1000 + 100 * min_users, MAX_USERS),
        "userPerceivedCrashRate": 0.0001,
        "userPerceivedAnrRate": 0.0001,
    }
    return {"versions": {"1": rates, "2": rates}}


def _live_before(
    inputs: ReleaseInputs,
    versions: tuple[int, ...],
    retained: Sequence[int],
) -> _LiveApp | None:
    """Return what is on an app's tracks before the release of these versions; None if no lower
    version is possible.
    """
    before = _versions_before(inputs, versions, retained)
    if before[0] < 1:
        return None
    completed = Release.of(map(str, before), "completed")
    tracks: dict[str, Sequence[Release]] = {}
    for track in STANDARD:
        tracks[track] = [completed]
    track_names = ", ".join(STANDARD)
    words = f"{describe(completed)} on {track_names}"
    rollout_tracks: list[str] = []
    if _needs_rollout(inputs, versions, retained):
        rollout_tracks = _tracks_with_rollout(inputs)
    if not rollout_tracks:
        return _LiveApp(tracks, words)
    rollout = _rollout(inputs, before)
    for track in rollout_tracks:
        tracks[track] = [rollout, completed]
    places = ", ".join(rollout_tracks)
    words += f"; {describe(rollout)} on {places}"
    return _LiveApp(tracks, words)


def _rollout(inputs: ReleaseInputs, before: Sequence[int]) -> Release:
    """Return the release in progress that the run changes or promotes; `before` are the version
    codes of the completed one.
    """
    # The share that the run asks for must be larger.
    asked_share = inputs.user_fraction or 1
    share = min(SHARE, asked_share / 2)
    codes = inputs.promote_version_codes
    if not codes:
        newer = before[-1] + 1
        codes = (str(newer),)
    return Release.of(codes, "inProgress", share)


def _versions_before(
    inputs: ReleaseInputs,
    versions: tuple[int, ...],
    retained: Sequence[int],
) -> list[int]:
    """Return the version codes that everybody has before the run, in ascending order.

    They are those that the run retains beside newer ones, or else one that is lower than all
    others.
    """
    new = versions
    if not new:
        new = tuple(map(int, inputs.promote_version_codes))
    if retained and (versions or inputs.promote_from):
        highest_retained = max(retained)
        if not new or highest_retained < min(new):
            return sorted(set(retained))
    given = (*new, *retained)
    lowest = min(given, default=2)
    return [lowest - 1]


def _needs_rollout(
    inputs: ReleaseInputs,
    versions: tuple[int, ...],
    retained: Sequence[int],
) -> bool:
    """Return whether the run changes or promotes a release that is there already."""
    if inputs.common.target == "play-rollout":
        return True
    if inputs.common.target != "play" or versions:
        return False
    if inputs.promote_from:
        return True
    return not retained


def _tracks_with_rollout(inputs: ReleaseInputs) -> list[str]:
    """Return the tracks whose release the run changes or promotes.

    A name that is almost a standard one is left out: it is a misspelling, which the rehearsal is to
    find.
    """
    names = inputs.tracks
    if inputs.promote_from:
        names = (inputs.promote_from,)
    tracks = []
    for name in names:
        base = TrackName(name).base
        is_misspelt = form_factor(name) or guess_track(name, STANDARD)
        if base in STANDARD or not is_misspelt:
            tracks.append(name)
    return tracks
