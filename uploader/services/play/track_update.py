"""How the release comes to its tracks: foreseen before the first byte is uploaded, put there after the last."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from uploader.errors import ProtocolError, Refused, ServiceError, TemporaryError
from uploader.services.base import Note, Steps
from uploader.services.play import tracks
from uploader.services.play.edit import Work, remember
from uploader.services.play.edit_api import entries
from uploader.services.play.job import ReleaseJob
from uploader.services.play.known_errors import EDIT_GONE, OTHER, TRACK_MISSING, find
from uploader.services.play.tracks import Release, Releases

STANDARD = ("production", "beta", "alpha", "internal")


@dataclass(frozen=True, slots=True)
class TrackUpdate:
    """A release on its track: what the track holds now, held before the edit was touched, and is to hold."""

    track: str
    now: Releases
    before: Releases
    release: Release
    after: Releases


def foresee(work: Work) -> Steps[None]:
    """Raises before the upload what would end the run after it, and warns of what is odd about the tracks."""
    for track in work.asked.tracks:
        placed = yield from planned(work, track)
        for oddity in _oddities(work.asked, placed):
            yield Note(f"Track {track}: {oddity}", "warning")


def put_on_track(work: Work, track: str) -> Steps[TrackUpdate]:
    """Makes the track hold the release. What it holds already is not written again."""
    placed = yield from planned(work, track)
    before, after = tracks.describe_all(placed.before), tracks.describe_all(placed.after)
    yield Note(f"Track {track}: before: {before}; {work.asked.tense}: {after}.")
    if not tracks.settled(placed.now, placed.after):
        work.changed = True
        work.before[track] = placed.before
        yield from remember(work)
        yield work.edit.update_track(track, placed.after)
        work.seen[track] = placed.after
    return placed


def all_settled(work: Work) -> Steps[bool]:
    """Whether every track holds already what this run would put there."""
    for track in work.asked.tracks:
        placed = yield from planned(work, track)
        if not tracks.settled(placed.now, placed.after):
            return False
    return True


def planned(work: Work, track: str) -> Steps[TrackUpdate]:
    """The release that comes to the track, and all that it will hold then.

    What counts is what the track held before the edit was touched: an earlier run may have left its own release there.
    """
    found = yield from now(work, track)
    before = work.before.get(track, found)
    release = yield from _wanted(work, track, before)
    after = tracks.merged(track, before, release, replace_rollout=work.asked.replace_rollout)
    return TrackUpdate(track, found, before, release, after)


def now(work: Work, track: str) -> Steps[Releases]:
    """The releases on a track; one that was never used may be answered with 404, and is empty.

    An edit of our own is changed by nobody else, so it is asked once; in a shared one other jobs are at work.
    """
    if work.own and track in work.seen:
        return work.seen[track]
    found: Releases = ()
    missing = False
    try:
        found = tracks.releases((yield work.edit.track(track)))
    except Refused as refused:
        if refused.status != 404 or find(refused) not in (TRACK_MISSING, OTHER):
            raise
        missing = True
    if not found and track not in work.seen:
        yield from _unused(work, track, missing=missing)
    work.seen[track] = found
    return found


def listed(work: Work) -> Steps[dict[str, Releases] | None]:
    """All tracks of the edit with their releases; None where the list is not to be had, which ends no run."""
    try:
        answer = yield work.edit.tracks()
        return {str(entry.get("track", "")): tracks.releases(entry) for entry in entries(answer, "tracks")}
    except Refused as refused:
        if find(refused) is EDIT_GONE:
            raise
    except (ProtocolError, TemporaryError):
        pass
    return None


def _unused(work: Work, track: str, *, missing: bool) -> Steps[None]:
    """A track that Play does not list is a slip when its name is almost another's; one that is missing is only told.

    It stays possible: whether an unused closed track is answered with 404 is nowhere documented.
    """
    form_factor, _, base = track.rpartition(":")
    if base in STANDARD:
        return
    known = dict.fromkeys((*STANDARD, *((yield from listed(work)) or ())))
    if track in known:
        return
    meant = _meant(track, (*known, *(f"{form_factor.lower()}:{name}" for name in STANDARD if form_factor)))
    if meant:
        raise ServiceError(
            f"The app has no track {track}.",
            cause=f"It is probably a slip for {meant}.",
            cure=f"Write `{meant}`, or create the closed track {track} in the Play Console.",
        )
    if missing:
        text = f"Google Play does not list it, only {', '.join(known)}; it may refuse it."
        yield Note(f"Track {track}: {text}", "warning")


def _meant(track: str, known: Iterable[str]) -> str:
    """The name that was probably meant. Another number is another track, not a slip."""
    from difflib import get_close_matches  # only for a track that Play does not know

    number = re.sub(r"[^0-9]", "", track)
    names = {name.lower(): name for name in known if re.sub(r"[^0-9]", "", name) == number}
    return next((names[name] for name in get_close_matches(track.lower(), names, 1, 0.8)), "")


def _wanted(work: Work, track: str, live: Releases) -> Steps[Release]:
    asked = work.asked
    wish = replace(asked.wish, notes=_notes(asked, track, live))
    if asked.promote_from:
        source = tracks.to_promote(asked.promote_from, (yield from now(work, asked.promote_from)))
        name = wish.name or ("" if source.get("name") else asked.default_name)
        return tracks.promoted(replace(wish, name=name), source, asked.retained)
    if asked.codes or asked.retained:
        codes = tuple(dict.fromkeys((*asked.codes, *asked.retained)))
        return tracks.new(replace(wish, name=wish.name or asked.default_name), codes)
    return tracks.changed(wish, tracks.to_change(track, live))


def _notes(asked: ReleaseJob, track: str, live: Releases) -> tracks.Notes:
    if asked.copy_notes:
        return tracks.notes_of(tracks.newest(live)) if live else ()
    return asked.notes.get(track, asked.notes.get(None, ()))


def _oddities(asked: ReleaseJob, placed: TrackUpdate) -> Iterator[str]:
    if asked.copy_notes and not placed.release.get("releaseNotes"):
        yield "there are no release notes of a last release to take over."
    released = [tracks.highest(other) for other in placed.before if other.get("status") != "draft"]
    ours = tracks.highest(placed.release)
    if ours < max(released, default=-1):
        yield f"version {max(released)} was released on it, and {ours} is lower: whoever has that one gets no update."
