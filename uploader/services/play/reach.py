"""Whether a release reaches the people it is for, before anything of it is sent.

Google Play offers a user the highest version code of all tracks that the user is eligible for (Play
Console Help, "Set up an open, closed, or internal test"), and refuses a release that no user of its
track could be offered ("This release does not allow any existing users to upgrade to the newly
added APKs."). Nothing is claimed where a fact is not known.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence

from uploader.errors import Problems, ReleaseRefused
from uploader.files.android.manifest import Manifest
from uploader.files.artifacts import Artifact
from uploader.services.base import Context
from uploader.services.play.model import Release, Releases
from uploader.services.play.release_job import ReleaseJob
from uploader.services.play.track_merge import TrackChange, last_completed
from uploader.services.play.tracks import QA, STANDARD, meant

# A form factor has tracks of its own: their prefix, the feature by which a manifest asks for such
# devices, and their name (developers.google.com/android-publisher/tracks#ff-track-name).
_FORM_FACTORS: Mapping[str, tuple[str, str]] = {
    "wear": ("android.hardware.type.watch", "watches"),
    "tv": ("android.software.leanback", "televisions"),
    "automotive": ("android.hardware.type.automotive", "cars"),
}
_MAX_KNOWN = 20  # version codes whose API levels are remembered


def fitting(tracks: Sequence[str], artifacts: Sequence[Artifact]) -> tuple[str, ...]:
    """Those of the tracks that are for the devices of one of several apps; all of them where none
    is.
    """
    manifests = [artifact.manifest for artifact in artifacts if artifact.manifest]
    own = [form for form in _FORM_FACTORS if all(form in _forms(one) for one in manifests)]
    for_them = tuple(track for track in tracks if track.rpartition(":")[0] in own)
    if for_them and any(
        _FORM_FACTORS[form][0] in one.features for form in own for one in manifests
    ):
        return for_them  # they are for no other devices
    return tuple(track for track in tracks if track.rpartition(":")[0] in ("", *own)) or tuple(
        tracks
    )


def _forms(manifest: Manifest) -> list[str]:
    """The form factors that a build is for, alone or among others, by the prefixes of their
    tracks.
    """
    wanted = (*manifest.features, *manifest.optional_features)
    return [prefix for prefix, (feature, _) in _FORM_FACTORS.items() if feature in wanted]


def check_form_factors(
    artifacts: Iterable[Artifact], tracks: Sequence[str], problems: Problems
) -> None:
    """Adds a problem for a build that is not for the devices of a track, a warning for one that is
    for others.
    """
    for artifact in artifacts:
        if (manifest := artifact.manifest) is None:
            continue
        forms = _forms(manifest)
        for track in tracks:
            other = meant(track, STANDARD) if ":" in track else ""
            prefix, _, base = (other or track).rpartition(":")
            if prefix in _FORM_FACTORS and prefix not in forms:
                feature, devices = _FORM_FACTORS[prefix]
                what = (
                    f"{track} is for {devices}, but the manifest of {artifact.name} has no "
                    f"uses-feature {feature}."
                )
                if other:
                    what = f"{track}: did you mean `{other}`? " + what
                base = "internal" if base == QA and not forms else base
                fits = " or ".join(f"`{form}:{base}`" for form in forms) or f"`{base}`"
                problems.add(
                    "tracks", what, f"{fits}, or a build for {devices}", code="form-factor-differs"
                )
            for form in forms if not prefix else ():
                feature, devices = _FORM_FACTORS[form]
                if feature in manifest.features:
                    what = (
                        f"{artifact.name} is for {devices} only; Google Play has the track "
                        f"{form}:{track} for them."
                    )
                    problems.warn(what)


def check_upgrade(change: TrackChange) -> None:
    """Raises ReleaseRefused where every user of the track has a higher version, which is not kept
    in the release.

    What is on the track already was accepted by Google Play before. Of a release of several APKs
    some users may have a lower version than others, and would be offered the new one.
    """
    ours = set(change.release.version_codes)
    before = [set(release.version_codes) for release in change.before]
    complete = [
        code for one in change.before if one.status == "completed" for code in one.version_codes
    ]
    if not complete or not ours or ours in before or not ours.isdisjoint(complete):
        return
    if change.release.status != "draft" and change.release.highest_version_code < min(
        map(int, complete)
    ):
        raise ReleaseRefused(
            f"Everybody on {change.track} has {'+'.join(complete)}; nobody would be offered "
            f"{'+'.join(sorted(ours))}.",
            cause="Google Play offers a user only a version code that is higher than the one the "
            "user has.",
            hint=f"Give the build a version code above {max(map(int, complete))}.",
            code="no-upgrade-path",
        )


def shadowed(changes: Sequence[TrackChange], live: Mapping[str, Releases]) -> Iterator[str]:
    """For each track of the run whose users get as high a version from a more open one: which, in a
    sentence.
    """
    held = {**live, **{change.track: change.after for change in changes}}
    for change in changes:
        ours, rank = change.release.highest_version_code, _openness(change.track)
        if change.release.status in ("draft", "halted") or ours < 0:
            continue
        for track, releases in held.items():
            theirs = Release.of(last_completed(releases)).highest_version_code
            if not _same_form(track, change.track) or _openness(track) >= rank or theirs < ours:
                continue
            if theirs > ours:
                also = (
                    "" if track.rpartition(":")[2] == STANDARD[0] else f" who may get {track}, too,"
                )
                yield f"testers on {change.track}{also} get {theirs} from {track}, not {ours}"
            elif track not in {one.track for one in changes}:
                yield f"{ours} is on {track} already, which reaches more people than {change.track}"


def _openness(track: str) -> int:
    """The lower, the more people are eligible for a track; closed tracks stand beside alpha."""
    base = track.rpartition(":")[2]
    return STANDARD.index(base if base in STANDARD else "alpha")


def _same_form(track: str, other: str) -> bool:
    return track.rpartition(":")[0] == other.rpartition(":")[0]


def left_behind(job: ReleaseJob, changes: Sequence[TrackChange], context: Context) -> Iterator[str]:
    """For each track whose release needs a newer Android than the one before, as far as an earlier
    run told it.
    """
    ours = [
        one.manifest.min_sdk
        for one in job.artifacts
        if one.manifest and one.manifest.min_sdk is not None
    ]
    if not ours or len(ours) < len(job.artifacts):
        return
    known = _remembered(job, context)
    for change in changes:
        complete = last_completed(change.before)
        levels = [known[code] for code in complete if code in known]
        if levels and len(levels) == len(complete) and min(levels) < min(ours):
            below = (
                f"{min(levels)}"
                if min(ours) - min(levels) == 1
                else f"{min(levels)} to {min(ours) - 1}"
            )
            yield f"devices with API level {below} stay on {'+'.join(complete)} on {change.track}"


def remember_levels(job: ReleaseJob, context: Context) -> None:
    """Notes the minimum API levels of what was released, for the plan of the next release.

    Only in a folder that the next run finds again: in any other nothing stays of a release that is
    over.
    """
    manifests = [one.manifest for one in job.artifacts if one.manifest]
    new = {str(one.version_code): one.min_sdk for one in manifests if one.min_sdk is not None}
    if new and job.lasting_state:
        levels = {**_remembered(job, context), **new}
        context.remember(_key(job), json.dumps(dict(list(levels.items())[-_MAX_KNOWN:])))


def _remembered(job: ReleaseJob, context: Context) -> dict[str, int]:
    try:
        found = json.loads(context.recall(_key(job)) or "{}")
        return {str(code): int(level) for code, level in found.items()}
    except (ValueError, TypeError, AttributeError):
        return {}


def _key(job: ReleaseJob) -> str:
    return f"api-levels:{job.package}"
