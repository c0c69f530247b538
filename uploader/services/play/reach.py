"""Find out whether a release reaches the people it is for, before anything of it is sent.

Google Play offers a user the highest version code of all tracks that the user is eligible for (Play
Console Help, "Set up an open, closed, or internal test"), and refuses a release that no user of its
track could be offered ("This release does not allow any existing users to upgrade to the newly
added APKs."). If a fact is not known, nothing is claimed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from uploader.errors import Problems, ReleaseRefused
from uploader.files.android.manifest import Manifest
from uploader.files.artifacts import Artifact
from uploader.services.base import Context
from uploader.services.play.model import (
    Releases,
    TrackName,
    having_status,
    highest_of,
    last_completed,
)
from uploader.services.play.release_job import ReleaseJob
from uploader.services.play.release_words import share
from uploader.services.play.track_names import (
    FORM_FACTORS,
    QA,
    STANDARD,
    FormFactor,
    guess_track,
)

if TYPE_CHECKING:
    from uploader.services.play.track_merge import TrackChange

_MAX_KNOWN = 20  # version codes whose API levels are remembered


def fitting(tracks: Sequence[str], artifacts: Sequence[Artifact]) -> tuple[str, ...]:
    """Return those of the tracks that are for the devices of one app's artifacts; all of them if
    none is.
    """
    manifests = [artifact.manifest for artifact in artifacts if artifact.manifest]
    forms = _forms_of_all(manifests)
    prefixes = {form.prefix for form in forms}
    form_tracks = []
    own_tracks = []
    for track in tracks:
        prefix = TrackName(track).form_factor
        if prefix in prefixes:
            form_tracks.append(track)
        if not prefix or prefix in prefixes:
            own_tracks.append(track)
    if form_tracks and _need_such_devices(manifests, forms):
        return tuple(form_tracks)  # the artifacts run on no other devices
    if own_tracks:
        return tuple(own_tracks)
    return tuple(tracks)


def _forms_of_all(manifests: Sequence[Manifest]) -> list[FormFactor]:
    """Return the form factors that every one of these builds is for."""
    forms = list(FORM_FACTORS.values())
    for manifest in manifests:
        own_forms = _forms(manifest)
        forms = [form for form in forms if form in own_forms]
    return forms


def _need_such_devices(
    manifests: Sequence[Manifest], forms: Sequence[FormFactor]
) -> bool:
    """Return whether one of the builds runs only on devices of one of these form factors."""
    features = {form.feature for form in forms}
    return any(not features.isdisjoint(manifest.features) for manifest in manifests)


def _forms(manifest: Manifest) -> list[FormFactor]:
    """Return the form factors that a build is for, whether it is only for them or not."""
    features = (*manifest.features, *manifest.optional_features)
    return [form for form in FORM_FACTORS.values() if form.feature in features]


def check_form_factors(
    artifacts: Iterable[Artifact], tracks: Sequence[str], problems: Problems
) -> None:
    """Add a problem for each build that is not for the devices of a track, and a warning for each
    build that is only for other devices.
    """
    for artifact in artifacts:
        if artifact.manifest is None:
            continue
        for track in tracks:
            _check_track_of_build(
                artifact.name,
                artifact.manifest,
                track,
                problems,
            )


def _check_track_of_build(
    name: str,
    manifest: Manifest,
    track: str,
    problems: Problems,
) -> None:
    """Compare the devices of a track with those that a build is for."""
    forms = _forms(manifest)
    suggestion = ""
    if ":" in track:
        suggestion = guess_track(track, STANDARD)
    meant = suggestion or track
    prefix, _, base = meant.rpartition(":")
    form_of_track = FORM_FACTORS.get(prefix)
    if form_of_track and form_of_track not in forms:
        devices = form_of_track.devices
        what = (
            f"{track} is for {devices}, but the manifest of {name} has no uses-feature "
            f"{form_of_track.feature}."
        )
        if suggestion:
            what = f"{track}: did you mean `{suggestion}`? {what}"
        names = _names_of_tracks(forms, base)
        accepted = f"{names}, or a build for {devices}"
        problems.add("tracks", what, accepted, code="form-factor-differs")
    if prefix:
        return
    for form in forms:
        if form.feature in manifest.features:
            problems.warn(
                f"{name} is for {form.devices} only; Google Play has the track "
                f"{form.prefix}:{track} for them."
            )


def _names_of_tracks(forms: Sequence[FormFactor], base: str) -> str:
    """Return the tracks that correspond to `base` for builds with these form factors."""
    if forms:
        names = [f"`{form.prefix}:{base}`" for form in forms]
        return " or ".join(names)
    if base == QA:
        return "`internal`"
    return f"`{base}`"


def check_upgrade(change: TrackChange) -> None:
    """Raise ReleaseRefused if every user of the track has a higher version than the release.

    A release that keeps one of those versions is not refused, nor one that is on the track already:
    Google Play has accepted it before. If a completed release has several APKs, its users have
    different ones, and a user with the lowest may be offered the new one.
    """
    new = set(change.release.version_codes)
    completed: list[str] = []
    for release in change.before:
        if release.has_same_versions(change.release):
            return
        if release.status == "completed":
            completed += release.version_codes
    if not new or not completed:
        return
    if not new.isdisjoint(completed):
        return
    if change.release.status == "draft":
        return
    numbers = [int(code) for code in completed]
    if change.release.highest_version_code >= min(numbers):
        return
    everybody_has = "+".join(completed)
    in_release = "+".join(sorted(new, key=int))
    raise ReleaseRefused(
        f"Everybody on {change.track} has {everybody_has}; nobody would be offered {in_release}.",
        cause="Google Play offers a user only a version code that is higher than the one the "
        "user has.",
        hint=f"Give the build a version code above {max(numbers)}.",
        code="no-upgrade-path",
    )


def find_shadowed_tracks(
    changes: Sequence[TrackChange], live: Mapping[str, Releases]
) -> Iterator[str]:
    """Yield a sentence for each track, open to more people, that offers testers the same version as
    the release or a higher one.

    `live` are the releases of all tracks of the app.
    """
    changed_tracks = {change.track: change.after for change in changes}
    on_tracks = {**live, **changed_tracks}
    for change in changes:
        release = change.release
        new = release.highest_version_code
        if new < 0 or release.status in ("draft", "halted"):
            continue
        for track, releases in on_tracks.items():
            if not _is_more_open(track, change.track):
                continue
            completed = last_completed(releases)
            offered = highest_of(completed)
            if offered > new:
                testers = f"testers on {change.track}"
                if not _is_production(track):
                    testers += f" who may get {track}, too,"
                yield f"{testers} get {offered} from {track}, not {new}"
            elif offered == new and track not in changed_tracks:
                yield f"{new} is on {track} already, which reaches more people than {change.track}"


def first_staged(changes: Iterable[TrackChange]) -> Iterator[str]:
    """Yield a sentence for each production track whose first release is to be a staged one."""
    for change in changes:
        if not _is_first_staged(change):
            continue
        yield (
            f"the first release on {change.track} goes to all users, not to "
            f"{share(change.release)}: {change.track} has no completed release, and Google Play "
            "stages only updates; leave out `user-fraction` and `status` for this one, or test it "
            "on another track first"
        )


def as_served(change: TrackChange) -> TrackChange:
    """Return the change as users meet it: a staged first release on production goes to all of
    them.
    """
    if not _is_first_staged(change):
        return change
    staged = change.release
    completed = staged.with_status("completed").without_user_fraction()
    others = [other for other in change.after if not other.has_same_versions(staged)]
    return replace(change, release=completed, after=(completed, *others))


def _is_first_staged(change: TrackChange) -> bool:
    """Return whether a production track gets its first release, and that is a staged one.

    "Staged rollouts can only be used for app updates, not when publishing an app for the first
    time" (Play Console Help, "Release app updates with staged rollouts"). It is not documented
    whether the API refuses one.
    """
    if not _is_production(change.track):
        return False
    if change.release.status != "inProgress":
        return False
    return not having_status(change.before, "completed", "inProgress", "halted")


def _is_production(track: str) -> bool:
    """Return whether a track is the production track of a form factor."""
    return TrackName(track).base == STANDARD[0]


def _is_more_open(track: str, other: str) -> bool:
    """Return whether a track is for the same devices as another one, and for more people."""
    form = TrackName(track).form_factor
    if form != TrackName(other).form_factor:
        return False
    return _openness(track) < _openness(other)


def _openness(track: str) -> int:
    """Return a number that is lower the more people are eligible for a track.

    Every closed track counts like alpha.
    """
    base = TrackName(track).base
    if base not in STANDARD:
        base = "alpha"
    return STANDARD.index(base)


def find_devices_left_behind(
    job: ReleaseJob, changes: Sequence[TrackChange], context: Context
) -> Iterator[str]:
    """Yield a clause for each track whose last completed release runs on older versions of Android
    than the job's artifacts do.

    The minimum API levels of that release are known only if earlier runs recorded them.
    """
    levels = _min_levels(job)
    if not levels or len(levels) < len(job.artifacts):
        return
    lowest = min(levels.values())
    recorded = _recall_levels(job, context)
    for change in changes:
        completed = last_completed(change.before)
        if not completed:
            continue
        if not recorded.keys() >= set(completed):
            continue
        levels_before = [recorded[code] for code in completed]
        lowest_before = min(levels_before)
        if lowest_before >= lowest:
            continue
        below = str(lowest_before)
        highest_below = lowest - 1
        if highest_below > lowest_before:
            below += f" to {highest_below}"
        versions = "+".join(completed)
        yield f"devices with API level {below} stay on {versions} on {change.track}"


def _min_levels(job: ReleaseJob) -> dict[str, int]:
    """Return the minimum API levels of the job's artifacts by version code, as far as known."""
    levels = {}
    for artifact in job.artifacts:
        manifest = artifact.manifest
        if manifest and manifest.min_sdk is not None:
            levels[str(manifest.version_code)] = manifest.min_sdk
    return levels


def remember_levels(job: ReleaseJob, context: Context) -> None:
    """Record the minimum API levels of what was released, for the plan of the next release.

    They are recorded only in a state folder that lasts: any other is to keep nothing of a release
    that is over.
    """
    new_levels = _min_levels(job)
    if not new_levels or not job.lasting_state:
        return
    levels = _recall_levels(job, context)
    levels |= new_levels
    entries = list(levels.items())
    newest = dict(entries[-_MAX_KNOWN:])
    context.remember(_key(job), json.dumps(newest))


def _recall_levels(job: ReleaseJob, context: Context) -> dict[str, int]:
    """Return the recorded API levels by version code; empty if nothing can be read."""
    levels = {}
    text = context.recall(_key(job)) or "{}"
    try:
        record = json.loads(text)
        for code, level in record.items():
            levels[str(code)] = int(level)
    except (ValueError, TypeError, AttributeError):
        return {}
    return levels


def _key(job: ReleaseJob) -> str:
    """Return the key of an app's recorded API levels in the journal."""
    return f"api-levels:{job.package}"
