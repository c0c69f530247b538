"""How the release comes to its tracks: foreseen before the first byte is uploaded, put there after the last."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from uploader.errors import ApiError, ProtocolError, ReleaseRefused, TemporaryError
from uploader.services.base import Note, Steps
from uploader.services.play import tracks
from uploader.services.play.app_details import default_language
from uploader.services.play.artifact_uploads import listed_artifacts
from uploader.services.play.changes import countries
from uploader.services.play.edit_api import entries
from uploader.services.play.job import ReleaseJob
from uploader.services.play.known_errors import EDIT_GONE, OTHER, TRACK_MISSING, find
from uploader.services.play.release_edit import ReleaseEdit
from uploader.services.play.tracks import Release, Releases

STANDARD = ("production", "beta", "alpha", "internal")
SHORTEST_CUT = 3  # characters of a standard track's name that tell which one is meant: `prod`, `int`


@dataclass(frozen=True)
class TrackUpdate:
    """A release on its track: what the track holds now, held before the edit was touched, and is to hold."""

    track: str
    now: Releases
    before: Releases
    release: Release
    after: Releases


def foresee(edit: ReleaseEdit) -> Steps[tuple[TrackUpdate, ...]]:
    """What becomes of each track. Raises what would end the run after the upload, and warns of what is odd."""
    updates = []
    for track in edit.job.tracks:
        update = yield from plan_update(edit, track)
        _check_countries(edit.job, update)
        _check_completed(update)
        for oddity in _oddities(edit.job, update):
            yield Note(f"Track {track}: {oddity}", "warning")
        updates.append(update)
    if updates:
        yield from _check_retained(edit)
    return tuple(updates)


def update_track(edit: ReleaseEdit, track: str) -> Steps[TrackUpdate]:
    """Makes the track hold the release. What it holds already is not written again."""
    update = yield from plan_update(edit, track)
    if not tracks.settled(update.now, update.after):
        edit.before[track] = update.before
        yield from edit.changing(f"track:{track}")
        yield edit.api.update_track(track, update.after)
        edit.seen[track] = update.after
        yield Note(f"Track {track} in edit {edit.id}: {tracks.describe_all(update.after)}.")
    return update


def read_tracks(edit: ReleaseEdit) -> Steps[dict[str, Releases]]:
    """All tracks that Play lists in the edit, in one request; empty where the list is not to be had."""
    found = (yield from all_tracks(edit)) or {}
    edit.seen.update(found)
    return found


def all_up_to_date(edit: ReleaseEdit) -> Steps[bool]:
    """Whether every track holds already what this run would put there."""
    for track in edit.job.tracks:
        update = yield from plan_update(edit, track)
        if not tracks.settled(update.now, update.after):
            return False
    return True


def plan_update(edit: ReleaseEdit, track: str) -> Steps[TrackUpdate]:
    """The release that comes to the track, and all that it will hold then.

    What counts is what the track held before the edit was touched: an earlier run may have left its own release there.
    """
    found = yield from current_releases(edit, track)
    before = edit.before.get(track, found)
    release = yield from _wanted(edit, track, before)
    after = tracks.merged(track, before, release, replace_rollout=edit.job.replace_rollout)
    return TrackUpdate(track, found, before, release, after)


def current_releases(edit: ReleaseEdit, track: str) -> Steps[Releases]:
    """The releases on a track; one that was never used may be answered with 404, and is empty.

    An edit is asked once: before a shared one is written to, what was seen of it is forgotten, as others work in it.
    """
    if track in edit.seen:
        return edit.seen[track]
    try:
        found, missing = tracks.releases((yield edit.api.track(track))), False
    except ApiError as refused:
        if refused.status != 404 or find(refused) not in (TRACK_MISSING, OTHER):
            raise
        found, missing = (), refused.reason != "trackEmpty"
    if not found and track not in edit.checked:
        edit.checked.add(track)
        yield from _unused(edit, track, missing=missing)
    edit.seen[track] = found
    return found


def all_tracks(edit: ReleaseEdit) -> Steps[dict[str, Releases] | None]:
    """All tracks of the edit with their releases; None where the list is not to be had, which ends no run."""
    try:
        response = yield edit.api.listed("tracks")
        return {str(entry.get("track", "")): tracks.releases(entry) for entry in entries(response, "tracks")}
    except ApiError as refused:
        if find(refused) is EDIT_GONE:
            raise
    except (ProtocolError, TemporaryError):
        pass
    return None


def _unused(edit: ReleaseEdit, track: str, *, missing: bool) -> Steps[None]:
    """A track that Play does not list is none if Play says so, or if its name is almost another's.

    A standard track may be answered with 404 until it is used; whether a form factor has it is told when it is written.
    """
    form_factor, _, base = track.rpartition(":")
    if base in STANDARD:
        return
    known = dict.fromkeys((*STANDARD, *((yield from all_tracks(edit)) or ())))
    if track in known:
        return
    meant = _meant(track, (*known, *(f"{form_factor.lower()}:{name}" for name in STANDARD if form_factor)))
    if meant or missing:
        instead = f"Write `{meant}`" if meant else "Correct the name"
        raise ReleaseRefused(
            f"The app has no track {track}.",
            cause=f"It is probably a misspelling of {meant}." if meant else f"Google Play lists {', '.join(known)}.",
            hint=f"{instead}, or create the closed track {track} in the Play Console.",
            code="track-not-found",
        )


def _meant(track: str, known: Iterable[str]) -> str:
    """The name that was probably meant, misspelt or cut short. Another number is another track, not a misspelling."""
    from difflib import get_close_matches  # only for a track that Play does not know

    number, written = re.sub(r"[^0-9]", "", track), track.lower()
    names = {name.lower(): name for name in known if re.sub(r"[^0-9]", "", name) == number}
    cut = [name for name in names if name.startswith(written) and len(written.rpartition(":")[2]) >= SHORTEST_CUT]
    return next((names[name] for name in (*get_close_matches(written, names, 1, 0.8), *cut)), "")


def _check_countries(job: ReleaseJob, update: TrackUpdate) -> None:
    """Which release a change is about, only the track tells; that it is production was seen offline."""
    if job.options.countries and update.release.get("status") != "inProgress":
        raise ReleaseRefused(
            f"`countries`: the release {tracks.describe(update.release)} on track {update.track} "
            "is not a staged rollout.",
            cause="Google Play accepts countries only for a rollout in progress on production.",
            hint="Give `user-fraction` as well, or choose the countries in the Play Console.",
            code="countries-not-allowed",
        )


def _check_completed(update: TrackUpdate) -> None:
    """A rollout that is limited to countries can't be completed as it is, nor is it widened to all unasked."""
    release = update.release
    rollouts = [one for one in update.before if one.get("status") in tracks.STAGED and countries(one)]
    if release.get("status") == "completed" and tracks.codes(release) in map(tracks.codes, rollouts):
        raise ReleaseRefused(
            f"The rollout of {'+'.join(tracks.codes(release))} on track {update.track} is limited to countries: "
            f"{', '.join(countries(release))}.",
            cause="Google Play accepts countries only while a rollout is in progress.",
            hint="Complete this rollout in the Play Console.",
            code="countries-not-allowed",
        )


def _check_retained(edit: ReleaseEdit) -> Steps[None]:
    """Raises for a version code to retain that no track of the run has, nor Play's lists of bundles and APKs."""
    on_tracks = {code for found in edit.seen.values() for release in found for code in tracks.codes(release)}
    rest = [code for code in edit.job.retained if code not in on_tracks.union(edit.job.codes)]
    known = (yield from listed_artifacts(edit)) if rest else {}
    unknown = [code for code in rest if int(code) not in known]
    if unknown:
        raise ReleaseRefused(
            f"`version-codes-to-retain`: Google Play has no version {', '.join(unknown)} of this app.",
            cause="Neither the track nor the app's bundles and APKs have it.",
            hint="Correct the version codes, or leave them out.",
            code="retained-version-unknown",
        )


def _wanted(edit: ReleaseEdit, track: str, live: Releases) -> Steps[Release]:
    job = edit.job
    name = job.options.name or job.names.get(track, job.names.get(None, ""))
    options = replace(job.options, name=name, notes=(yield from _notes(edit, track, live)))
    retained = (*job.retained, *(tracks.last_completed(live) if job.retain_last else ()))
    if job.promote_from:
        offered = yield from current_releases(edit, job.promote_from)
        source = (
            tracks.chosen(job.promote_from, offered, job.promoted)
            if job.promoted
            else tracks.to_promote(job.promote_from, offered)
        )
        name = options.name or ("" if source.get("name") else job.default_name)
        return tracks.promoted(replace(options, name=name), source, retained)
    if job.codes or job.retained:
        codes = tuple(dict.fromkeys((*job.codes, *retained)))
        return tracks.new(replace(options, name=options.name or job.default_name), codes)
    return tracks.changed(options, tracks.to_change(track, live))


def _notes(edit: ReleaseEdit, track: str, live: Releases) -> Steps[tracks.Notes]:
    job = edit.job
    if job.copy_notes:
        return tracks.notes_of(tracks.newest(live)) if live else ()
    notes = []
    for language, text in job.notes.get(track, job.notes.get(None, ())):
        notes.append((language or (yield from default_language(edit)), text))
    return tuple(notes)


def _oddities(job: ReleaseJob, update: TrackUpdate) -> Iterator[str]:
    if job.retain_last and not tracks.last_completed(update.before):
        yield "there is no completed release whose versions could be retained."
    if job.copy_notes and not update.release.get("releaseNotes"):
        yield "there are no release notes to copy from the last release."
    released = [tracks.highest(other) for other in update.before if other.get("status") != "draft"]
    ours = tracks.highest(update.release)
    if ours < max(released, default=-1):
        yield (
            f"version {max(released)} has been released on it, and {ours} is lower: users who have it get no update."
        )
