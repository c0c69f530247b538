"""What a rehearsal begins with: an app that is live in the embedded emulator, so that it can go
beyond a first release.

Every standard track has a completed release with lower version codes than those of the run. Where
the run changes or promotes what is there, the track concerned has a release in progress as well,
with healthy days for a rollout.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from uploader.inputs.parsers import LAST_RELEASE
from uploader.inputs.records import ReleaseInputs
from uploader.services.base import Prepared
from uploader.services.play.tracks import STANDARD, describe, meant

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
    """What is on an app's tracks before the release of these versions, and the words that tell of
    it.
    """
    retained = [int(code) for code in inputs.version_codes_to_retain if code != LAST_RELEASE]
    latest = min((*versions, *map(int, inputs.promote_version_codes), *retained), default=2) - 1
    if latest < 1:
        return None
    done = {"versionCodes": [str(latest)], "status": "completed"}
    found: dict[str, list[dict[str, Any]]] = {track: [done] for track in STANDARD}
    told = f"{describe(done)} on {', '.join(STANDARD)}"
    changes = (
        inputs.common.target == "play" and not versions and (inputs.promote_from or not retained)
    )
    if inputs.common.target == "play-rollout" or changes:
        codes = inputs.promote_version_codes or (str(latest + 1),)
        share = min(SHARE, (inputs.user_fraction or 1) / 2)  # what the run asks for must be more
        rollout = {"versionCodes": list(codes), "status": "inProgress", "userFraction": share}
        concerned = [inputs.promote_from] if inputs.promote_from else inputs.tracks
        # A name that is almost a standard one is a misspelling, which the rehearsal is to find.
        concerned = [
            one
            for one in concerned
            if one.rpartition(":")[2] in STANDARD or not meant(one, STANDARD)
        ]
        found |= {track: [rollout, done] for track in concerned}
        told += f"; {describe(rollout)} on {', '.join(concerned)}" if concerned else ""
    return found, told
