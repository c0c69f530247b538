"""One release from the first call to the last, as a story: edit, artifacts, listing, tracks, commit."""

from __future__ import annotations

from itertools import count

from uploader.errors import Refused, ServiceError
from uploader.services.base import Flow, Note, Publish, Steps
from uploader.services.play import tracks
from uploader.services.play.artifact_uploads import all_known, upload_all
from uploader.services.play.edit import Work, opened, remember, reopened, settle
from uploader.services.play.finish import end
from uploader.services.play.job import ReleaseJob
from uploader.services.play.known_errors import EDIT_GONE, explained, find
from uploader.services.play.listing_sync import synchronise
from uploader.services.play.track_update import TrackUpdate, all_settled, foresee, put_on_track

REPLAYS = 2  # fresh edits after the first, where another job or the console keeps closing ours


def flow(asked: ReleaseJob) -> Flow:
    """Does what was asked; every refusal leaves with its cause and its cure."""
    try:
        return (yield from _story(asked))
    except Refused as refused:
        raise explained(refused) from refused


def _story(asked: ReleaseJob) -> Flow:
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
    yield from foresee(work)
    yield from upload_all(work)
    if work.asked.codes:
        yield _version_codes(work.asked.codes)
    if work.asked.listing:
        work.listing = True
        yield from remember(work)
        yield from synchronise(work, work.asked.listing)
    codes, placed = work.asked.codes, list[TrackUpdate]()
    for track in work.asked.tracks:
        placed.append((yield from put_on_track(work, track)))
        codes = codes or tracks.codes(placed[-1].release)
    yield _version_codes(codes)
    return (yield from end(work, codes, placed))


def _resolve_doubt(work: Work) -> Steps[None]:
    """A commit of this very job may have happened. If a fresh edit shows its effect, nothing is left to be done."""
    visible = work.asked.artifacts or work.asked.tracks  # else there is nothing by which its effect could be known
    if visible and (yield from all_known(work)) and (yield from all_settled(work)):
        return
    if work.borrowed:
        known = "what this run put into it is not live" if visible else "this run can't see whether it was committed"
        raise ServiceError(
            f"Edit {work.asked.existing_edit} is gone, and {known}.",
            cause="The answer to its commit was lost, and somebody else closed the edit.",
            cure="Run all jobs that share the edit again.",
        )
    work.sent.clear()  # it was lost with the edit


def _version_codes(codes: tuple[str, ...]) -> Publish:
    """The outputs about versions; a version code is also the id of its artifact."""
    if not codes:
        return Publish({})
    return Publish({"version-code": max(codes, key=int), "version-codes": ",".join(codes)}, ids=codes)
