"""How the release comes to its tracks: foreseen before the first byte is uploaded, put there after the last."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from uploader.errors import ProtocolError, Refused, ServiceError, TemporaryError
from uploader.services.base import Note, Steps
from uploader.services.play import tracks
from uploader.services.play.edit_api import entries
from uploader.services.play.job import ReleaseJob
from uploader.services.play.known_errors import EDIT_GONE, OTHER, TRACK_MISSING, find
from uploader.services.play.release_edit import ReleaseEdit
from uploader.services.play.tracks import Release, Releases

STANDARD = ("production", "beta", "alpha", "internal")


class TrackUpdate(NamedTuple):
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
        for oddity in _oddities(edit.job, update):
            yield Note(f"Track {track}: {oddity}", "warning")
        updates.append(update)
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
    except Refused as refused:
        if refused.status != 404 or find(refused) not in (TRACK_MISSING, OTHER):
            raise
        found, missing = (), True
    if not found and track not in edit.checked:
        edit.checked.add(track)
        yield from _unused(edit, track, missing=missing)
    edit.seen[track] = found
    return found


def all_tracks(edit: ReleaseEdit) -> Steps[dict[str, Releases] | None]:
    """All tracks of the edit with their releases; None where the list is not to be had, which ends no run."""
    try:
        answer = yield edit.api.listed("tracks")
        return {str(entry.get("track", "")): tracks.releases(entry) for entry in entries(answer, "tracks")}
    except Refused as refused:
        if find(refused) is EDIT_GONE:
            raise
    except (ProtocolError, TemporaryError):
        pass
    return None


def _unused(edit: ReleaseEdit, track: str, *, missing: bool) -> Steps[None]:
    """A track that Play does not list is a misspelling if its name is almost another's; else it is only warned about.

    It stays possible: whether an unused closed track is answered with 404 is nowhere documented.
    """
    form_factor, _, base = track.rpartition(":")
    if base in STANDARD:
        return
    known = dict.fromkeys((*STANDARD, *((yield from all_tracks(edit)) or ())))
    if track in known:
        return
    meant = _meant(track, (*known, *(f"{form_factor.lower()}:{name}" for name in STANDARD if form_factor)))
    if meant:
        raise ServiceError(
            f"The app has no track {track}.",
            cause=f"It is probably a misspelling of {meant}.",
            cure=f"Write `{meant}`, or create the closed track {track} in the Play Console.",
        )
    if missing:
        text = f"Google Play does not list it, only {', '.join(known)}, and may refuse it."
        yield Note(f"Track {track}: {text}", "warning")


def _meant(track: str, known: Iterable[str]) -> str:
    """The name that was probably meant. Another number is another track, not a misspelling."""
    from difflib import get_close_matches  # only for a track that Play does not know

    number = re.sub(r"[^0-9]", "", track)
    names = {name.lower(): name for name in known if re.sub(r"[^0-9]", "", name) == number}
    return next((names[name] for name in get_close_matches(track.lower(), names, 1, 0.8)), "")


def _wanted(edit: ReleaseEdit, track: str, live: Releases) -> Steps[Release]:
    job = edit.job
    options = job.options._replace(notes=_notes(job, track, live))
    if job.promote_from:
        source = tracks.to_promote(job.promote_from, (yield from current_releases(edit, job.promote_from)))
        name = options.name or ("" if source.get("name") else job.default_name)
        return tracks.promoted(options._replace(name=name), source, job.retained)
    if job.codes or job.retained:
        codes = tuple(dict.fromkeys((*job.codes, *job.retained)))
        return tracks.new(options._replace(name=options.name or job.default_name), codes)
    return tracks.changed(options, tracks.to_change(track, live))


def _notes(job: ReleaseJob, track: str, live: Releases) -> tracks.Notes:
    if job.copy_notes:
        return tracks.notes_of(tracks.newest(live)) if live else ()
    return job.notes.get(track, job.notes.get(None, ()))


def _oddities(job: ReleaseJob, update: TrackUpdate) -> Iterator[str]:
    if job.copy_notes and not update.release.get("releaseNotes"):
        yield "there are no release notes to copy from the last release."
    released = [tracks.highest(other) for other in update.before if other.get("status") != "draft"]
    ours = tracks.highest(update.release)
    if ours < max(released, default=-1):
        yield (
            f"version {max(released)} has been released on it, and {ours} is lower: users who have it get no update."
        )
