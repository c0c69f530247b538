"""One release from the first call to the last, as a story: edit, artifacts, listing, tracks, commit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import count

from uploader.errors import ApiError, ReleaseRefused, UploaderError
from uploader.services.base import Flow, Note, Publish, Show, Steps
from uploader.services.play import status, tracks
from uploader.services.play.artifact_uploads import all_listed, upload_all
from uploader.services.play.change_report import lines, sections
from uploader.services.play.changes import Changes
from uploader.services.play.compare import compare, of_tracks
from uploader.services.play.edit import opened, replaced, settle
from uploader.services.play.edit_machine import CommitKnowledge, Event, Ownership
from uploader.services.play.finish import finish
from uploader.services.play.job import ReleaseJob
from uploader.services.play.known_errors import EDIT_GONE, explained, find
from uploader.services.play.listing_sync import synchronise
from uploader.services.play.release_edit import ReleaseEdit
from uploader.services.play.review import awaited
from uploader.services.play.track_update import TrackUpdate, all_up_to_date, update_track

REPLAYS = 2  # fresh edits after the first, where another job or the console keeps closing ours


def flow(job: ReleaseJob) -> Flow:
    """Carries the job out; every refusal leaves with its cause and its cure."""
    try:
        outcome = yield from in_an_edit(job, _release)
        if job.universal_apk and not job.dry_run:
            from uploader.services.play.universal_apk import fetched  # few releases fetch anything

            outcome = yield from fetched(job.package, job.codes, job.universal_apk, outcome)
        if job.review is None or job.dry_run or outcome.trouble:
            return outcome
        return (yield from awaited(job.package, job.tracks, job.codes, job.review, outcome))
    except ApiError as refused:
        raise explained(refused) from None


def in_an_edit(job: ReleaseJob, work: Callable[[ReleaseEdit], Flow]) -> Flow:
    """Does the work in an edit, from the beginning in a fresh one where others close it; settles what becomes of it."""
    edit = yield from opened(job)
    for replay in count():
        try:
            return (yield from work(edit))
        except Exception as error:
            if isinstance(error, ApiError) and find(error) is EDIT_GONE and edit.state.open:
                edit.apply(Event.CLOSED)
            if replay == REPLAYS or not edit.state.replaceable:
                yield from settle(edit, error)
                raise
            what = error.what if isinstance(error, UploaderError) else str(error)
            yield Note(f"{what.rstrip('.')}. Starting over in a fresh edit.", "warning")
        edit = yield from replaced(edit)
    raise AssertionError  # the loop has no other end


def _release(edit: ReleaseEdit) -> Flow:
    job, codes, updates = edit.job, edit.job.codes, list[TrackUpdate]()
    if edit.state.commit is CommitKnowledge.UNKNOWN:
        yield from _resolve_doubt(edit)
    comparison = yield from compare(edit)
    yield from _show(edit, comparison.changes)
    yield from upload_all(edit, comparison.there)
    if codes:
        yield _version_codes(codes)
    if comparison.listing:
        yield from synchronise(edit, comparison.listing)
    if not edit.state.own:
        edit.seen.clear()  # other jobs may have written to its tracks meanwhile
    for track in job.tracks:
        updates.append((yield from update_track(edit, track)))
        codes = codes or tracks.codes(updates[-1].release)
    yield _version_codes(codes)
    if share := "".join(tracks.user_fraction(one.release) for one in updates[-1:]):
        yield Publish({"user-fraction": share})
    changes = replace(comparison.changes, tracks=of_tracks(updates))
    outcome = yield from finish(edit, codes, updates, changes)
    if job.commit and not job.dry_run and updates:
        yield Publish(status.of_releases((one.track, one.after) for one in updates))
    return outcome


def _show(edit: ReleaseEdit, changes: Changes) -> Steps[None]:
    """What is going to change, before it does; in a dry run that is the result."""
    planned = tuple(replace(section, title=f"Planned: {section.title}") for section in sections(changes, "Planned"))
    yield Show(f"Changes: {edit.job.package}", tuple(lines(changes)), planned)
    if edit.job.dry_run:
        from uploader.services.play.plan_output import plan_output  # no other run has this output

        yield Publish({"plan": plan_output(changes)})


def _resolve_doubt(edit: ReleaseEdit) -> Steps[None]:
    """Looks for the effect of a commit in the fresh edit that replaced the committed one."""
    evident = any(purpose.startswith(("artifact:", "track:")) for purpose in edit.changes)
    if evident and (yield from all_listed(edit)) and (yield from all_up_to_date(edit)):
        edit.apply(Event.SEEN_LIVE)
        return
    if edit.state.ownership is Ownership.STAND_IN:
        known = "what this run put into it is not live" if evident else "this run can't see whether it was committed"
        raise ReleaseRefused(
            f"Edit {edit.job.existing_edit} is gone, and {known}.",
            cause="The answer to its commit was lost, and someone else closed the edit.",
            hint="Run all jobs that share the edit again.",
            code="edit-gone",
        )
    edit.apply(Event.NOT_SEEN)
    edit.changes.clear()  # they were lost with the edit


def _version_codes(codes: tuple[str, ...]) -> Publish:
    """The outputs about versions; a version code is also the id of its artifact."""
    if not codes:
        return Publish({})
    return Publish({"version-code": max(codes, key=int), "version-codes": ",".join(codes)}, ids=codes)
