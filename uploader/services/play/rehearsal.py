"""What a rehearsal begins with: an app that is live in the embedded emulator, so that it can go
beyond a first release.

Every standard track has a completed release with lower version codes than those of the run, or with
those that the run retains. Where the run changes or promotes what is there, the track concerned has
a release in progress as well, with healthy days for a rollout.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from uploader.inputs.parsers import LAST_RELEASE
from uploader.inputs.records import ReleaseInputs
from uploader.services.base import Prepared
from uploader.services.play.model import Release
from uploader.services.play.tracks import STANDARD, describe, form_factor, meant

SHARE = 0.1  # of users who have the release in progress


def live_app(
    inputs: ReleaseInputs, min_users: int, prepared: Prepared
) -> tuple[dict[str, Any], str]:
    """The emulator's configuration, and the line that tells of it; both empty where there is no
    app, or none before.

    `inputs` may be those of any target; `min_users` is `gate-min-users`.
    """
    if inputs.common.target != "play":  # which alone reads them
        inputs = replace(
            inputs, promote_from="", promote_version_codes=(), version_codes_to_retain=()
        )
    found = {package: _releases(inputs, versions) for package, versions in prepared.apps.items()}
    told = "; ".join(f"{package} live: {one[1]}" for package, one in found.items() if one)
    if not told:
        return {}, ""
    retained = [
        {"versionCode": int(code)}
        for code in inputs.version_codes_to_retain
        if code != LAST_RELEASE
    ]
    apps = {
        package: {"tracks": one[0], "artifacts": retained} for package, one in found.items() if one
    }
    config: dict[str, Any] = {"apps": apps}
    if inputs.common.target == "play-rollout":
        users = 1000 + 100 * min_users
        healthy = {"users": users, "userPerceivedCrashRate": 0.0001, "userPerceivedAnrRate": 0.0001}
        config["vitals"] = {
            package: {"versions": dict.fromkeys(("1", "2"), healthy)} for package in apps
        }
        told += ", with measurements of healthy days"
    return config, f"The emulator begins with {told}."


def _releases(
    inputs: ReleaseInputs, versions: tuple[int, ...]
) -> tuple[dict[str, list[dict[str, Any]]], str] | None:
    """Return what is on an app's tracks before the release of these versions, and the words that
    tell of it; None where no lower version is possible.
    """
    retained = [int(code) for code in inputs.version_codes_to_retain if code != LAST_RELEASE]
    before = _versions_before(inputs, versions, retained)
    if before[0] < 1:
        return None
    completed = Release.of(map(str, before), "completed")
    done = completed.to_json()
    on_tracks: dict[str, list[dict[str, Any]]] = {track: [done] for track in STANDARD}
    words = f"{describe(completed)} on {', '.join(STANDARD)}"
    if not _needs_rollout(inputs, versions, retained):
        return on_tracks, words
    share = min(SHARE, (inputs.user_fraction or 1) / 2)  # what the run asks for must be more
    codes = inputs.promote_version_codes or (str(before[-1] + 1),)
    staged = Release.of(codes, "inProgress", share)
    rollout = staged.to_json()
    tracks = _tracks_with_rollout(inputs)
    on_tracks |= {track: [rollout, done] for track in tracks}
    if tracks:
        words += f"; {describe(staged)} on {', '.join(tracks)}"
    return on_tracks, words


def _versions_before(
    inputs: ReleaseInputs, versions: tuple[int, ...], retained: Sequence[int]
) -> list[int]:
    """Return the version codes that everybody has before the run, in ascending order.

    They are those that the run retains beside newer ones, else one that is lower than all others.
    """
    new = versions or tuple(map(int, inputs.promote_version_codes))
    comes = bool(versions or inputs.promote_from)
    if retained and comes and (not new or max(retained) < min(new)):
        return sorted(set(retained))
    return [min((*new, *retained), default=2) - 1]


def _needs_rollout(
    inputs: ReleaseInputs, versions: tuple[int, ...], retained: Sequence[int]
) -> bool:
    """Return whether the run changes or promotes a release that is there already."""
    if inputs.common.target == "play-rollout":
        return True
    if inputs.common.target != "play" or versions:
        return False
    return bool(inputs.promote_from or not retained)


def _tracks_with_rollout(inputs: ReleaseInputs) -> list[str]:
    """Return the tracks whose release the run changes or promotes.

    A name that is almost a standard one is a misspelling, which the rehearsal is to find.
    """
    names = [inputs.promote_from] if inputs.promote_from else inputs.tracks
    tracks = []
    for name in names:
        is_misspelt = form_factor(name) or meant(name, STANDARD)
        if name.rpartition(":")[2] in STANDARD or not is_misspelt:
            tracks.append(name)
    return tracks
