"""One release from the first call to the last, as a story: edit, artifacts, listing, tracks, commit."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from typing import TypeAlias

from uploader.errors import Refused, ServiceError
from uploader.services.base import Flow, Note, Publish
from uploader.services.play import tracks
from uploader.services.play.asked import Asked
from uploader.services.play.edit import Work, opened, remember, reopened, settle
from uploader.services.play.ending import Row, end
from uploader.services.play.listing import synchronise
from uploader.services.play.patience import Steps, patiently
from uploader.services.play.troubles import EDIT_GONE, OTHER, TRACK_MISSING, explained, find
from uploader.services.play.uploads import all_known, upload_all

REPLAYS = 2  # fresh edits after the first, where another job or the console keeps closing ours

Releases: TypeAlias = tuple[tracks.Release, ...]


def flow(asked: Asked) -> Flow:
    """Does what was asked; every refusal leaves with its cause and its cure."""
    try:
        return (yield from _story(asked))
    except Refused as refused:
        raise explained(refused) from refused


def _story(asked: Asked) -> Flow:
    work = yield from opened(asked)
    for replay in count():
        try:
            return (yield from _release(work))
        except Exception as error:
            if replay == REPLAYS or not _may_begin_again(work, error):
                yield from settle(work, error)
                raise
            yield Note(f"Edit {work.edit.id} is gone ({error}) Beginning again in a fresh one.", "warning")
        work = yield from reopened(work)
    raise AssertionError  # the loop has no other end


def _may_begin_again(work: Work, error: Exception) -> bool:
    """An edit of others can't be made again; but whether its commit happened can be seen in a fresh one."""
    return isinstance(error, Refused) and find(error) is EDIT_GONE and (work.own or work.doubt)


def _release(work: Work) -> Flow:
    if work.doubt:
        yield from _resolve_doubt(work)
    yield from upload_all(work)
    if work.asked.codes:
        yield Publish(_version_codes(work.asked.codes))
    if work.asked.listing:
        work.listing = True
        yield from remember(work)
        yield from synchronise(work, work.asked.listing)
    codes, rows = work.asked.codes, []
    for track in work.asked.tracks:
        row, release = yield from _put_on_track(work, track)
        rows.append(row)
        codes = codes or tracks.codes(release)
    yield Publish(_version_codes(codes))
    return (yield from end(work, codes, rows))


def _resolve_doubt(work: Work) -> Steps[None]:
    """A commit of this very job may have happened. If a fresh edit shows its effect, nothing is left to be done."""
    if (yield from all_known(work)) and (yield from _all_settled(work)):
        return
    if work.borrowed:
        raise ServiceError(
            f"Edit {work.asked.existing_edit} is gone, and what this run put into it is not live.",
            cause="The answer to its commit was lost, and somebody else closed the edit.",
            cure="Run all jobs that share the edit again.",
        )
    work.sent.clear()  # it was lost with the edit


def _all_settled(work: Work) -> Steps[bool]:
    for track in work.asked.tracks:
        now = yield from _now(work, track)
        _, after = yield from _planned(work, track, now)
        if not tracks.settled(now, after):
            return False
    return True


def _put_on_track(work: Work, track: str) -> Steps[tuple[Row, tracks.Release]]:
    now = yield from _now(work, track)
    release, after = yield from _planned(work, track, now)
    live = work.before.get(track, now)
    row = (track, tracks.describe_all(live), tracks.describe_all(after))
    yield Note(f"Track {track}: before: {row[1]}; after: {row[2]}.")
    if not tracks.settled(now, after):
        work.changed = True
        work.before[track] = live
        yield from remember(work)
        yield from patiently(work.edit.update_track(track, after), work.asked.tries)
    return row, release


def _planned(work: Work, track: str, now: Releases) -> Steps[tuple[tracks.Release, Releases]]:
    """The release that comes to the track, and all that it will hold then.

    What counts is what the track held before the edit was touched: an earlier run may have left its own release there.
    """
    live = work.before.get(track, now)
    release = yield from _wanted(work, track, live)
    return release, tracks.merged(track, live, release, replace_rollout=work.asked.replace_rollout)


def _wanted(work: Work, track: str, live: Releases) -> Steps[tracks.Release]:
    asked = work.asked
    wish = replace(asked.wish, notes=_notes(asked, track, live))
    if asked.promote_from:
        source = tracks.to_promote(asked.promote_from, (yield from _now(work, asked.promote_from)))
        name = wish.name or ("" if source.get("name") else asked.default_name)
        return tracks.promoted(replace(wish, name=name), source, asked.retained)
    if asked.codes or asked.retained:
        codes = tuple(dict.fromkeys((*asked.codes, *asked.retained)))
        return tracks.new(replace(wish, name=wish.name or asked.default_name), codes)
    return tracks.changed(wish, tracks.to_change(track, live))


def _notes(asked: Asked, track: str, live: Releases) -> tracks.Notes:
    if asked.copy_notes:
        return tracks.notes_of(tracks.newest(live)) if live else ()
    return asked.notes.get(track, asked.notes.get(None, ()))


def _now(work: Work, track: str) -> Steps[Releases]:
    """The releases on a track; one that was never used may be answered with 404, and is empty."""
    try:
        return tracks.releases((yield from patiently(work.edit.track(track), work.asked.tries)))
    except Refused as refused:
        if refused.status == 404 and find(refused) in (TRACK_MISSING, OTHER):
            return ()
        raise


def _version_codes(codes: tuple[str, ...]) -> dict[str, str]:
    """The outputs about versions; a version code is also the id of its artifact."""
    if not codes:
        return {}
    listed = ",".join(codes)
    return {"version-code": max(codes, key=int), "version-codes": listed, "id": codes[0], "ids": listed}
