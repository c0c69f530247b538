"""How the work in an edit ends well: validated and thrown away, left open, not needed at all, or committed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from uploader.errors import ApiError
from uploader.services.base import Flow, Note, Outcome, Publish, Section, Steps
from uploader.services.play.change_report import on_review, published, sections
from uploader.services.play.changes import Changes
from uploader.services.play.commit import commit
from uploader.services.play.compare import others
from uploader.services.play.edit import discard
from uploader.services.play.edit_machine import Event, Stage
from uploader.services.play.job import ReleaseJob
from uploader.services.play.known_errors import REVIEW_BY_HAND, find
from uploader.services.play.release_edit import ReleaseEdit
from uploader.services.play.track_update import TrackUpdate
from uploader.services.play.tracks import Release, share

CONSOLE = "https://play.google.com/console/"  # it knows apps by numbers of its own and has no address by package name
STORE = "https://play.google.com/store/apps/details?id="

SENT = "sent for review"
DRAFT = "saved as a draft; roll it out in the Play Console"
BY_HAND = "must still be sent for review in the Play Console, under Publishing overview"
OPEN = "not committed: the edit is open"
REHEARSED = "nothing was published: this was a dry run"
ALREADY = "Google Play already had all of it; nothing was committed"


def finish(edit: ReleaseEdit, codes: tuple[str, ...], updates: Sequence[TrackUpdate], changes: Changes) -> Flow:
    """The last steps of a run in which everything is in place."""
    what = f"{edit.job.package} {'+'.join(codes)}".strip()
    if edit.job.dry_run:
        yield from _rehearsed(edit)
        return _outcome(edit, f"{what} passed Google Play's validation; nothing was published.", REHEARSED, changes)
    if not edit.job.commit:
        edit.apply(Event.LEAVE_OPEN)
        yield from edit.forget()
        return _outcome(edit, f"{what} is in edit {edit.id}, which is left open.", OPEN, changes)
    if edit.state.stage is Stage.CLEAN:
        yield Note(f"Nothing had to be changed, so edit {edit.id} is not needed and `edit-id` stays empty.")
        yield from _not_needed(edit)
        yield Publish({"committed": "true"})
        return _outcome(edit, f"{what} is on Google Play already.", ALREADY, changes)
    changes = yield from _with_others(edit, changes)
    by_hand = yield from commit(edit)
    yield from edit.forget()
    yield Publish({"committed": "true"})
    yield Note(f"Committed edit {edit.id}.")
    if by_hand:
        yield Note(f"{edit.job.package}: the committed changes {BY_HAND}: {CONSOLE}", "warning")
    review = BY_HAND if by_hand else DRAFT if edit.job.options.status == "draft" else SENT
    return _outcome(edit, _headline(edit, what, updates), review, changes)


def _with_others(edit: ReleaseEdit, changes: Changes) -> Steps[Changes]:
    """With what other jobs have put into a shared edit by now, told before it is committed."""
    if edit.state.own:
        return changes
    # A job that only commits has just looked.
    changes = replace(changes, others=(yield from others(edit, changes.others))) if edit.job.purposes else changes
    yield Note(f"The commit of edit {edit.id} publishes: {published(changes) or 'no release'}.")
    return changes


def _headline(edit: ReleaseEdit, what: str, updates: Sequence[TrackUpdate]) -> str:
    """What happened, in one sentence: tracks that met the same are named together."""
    if not updates:
        return f"{'The store listing' if edit.state.own else f'Edit {edit.id}'} of {what} is committed."
    fates: dict[str, list[str]] = {}
    for one in updates:
        fates.setdefault(_fate(edit.job, one.release), []).append(one.track)
    told = " and ".join(f"{fate} {', '.join(names)}" for fate, names in fates.items())
    return f"{what} {told}."


def _fate(job: ReleaseJob, release: Release) -> str:
    """What became of a release, up to the name of its track."""
    status, new = str(release.get("status")), job.codes or job.retained
    if job.promote_from:
        how = {"inProgress": f", at {share(release)},", "draft": ", as a draft,"}.get(status, "")
        return f"is promoted from {job.promote_from}{how} to"
    if not (new or job.options.status):
        return "is updated on"
    fates = {"inProgress": f"is now at {share(release)} on", "halted": "is halted on", "draft": "is a draft on"}
    return fates.get(status, "is released on" if new else "is rolled out to all users on")


def _rehearsed(edit: ReleaseEdit) -> Steps[None]:
    try:
        yield edit.api.validate()
    except ApiError as refused:
        # Only a commit can carry the parameter that Google asks for here.
        if find(refused) is not REVIEW_BY_HAND:
            raise
        yield Note(f"Google Play says: {refused.message}")
    yield from _not_needed(edit)


def _not_needed(edit: ReleaseEdit) -> Steps[None]:
    yield from discard(edit)
    yield from edit.forget()


def _outcome(edit: ReleaseEdit, headline: str, review: str, changes: Changes) -> Outcome:
    behaviour = tuple(("With a commit", line) for line in on_review(changes)) if edit.job.dry_run else ()
    state = Section("Review", ("Changes", "State"), ((edit.job.package, review), *behaviour))
    links = (("Play Console", CONSOLE), ("Store page", STORE + edit.job.package))
    return Outcome(headline, links, (*sections(changes, edit.job.tense.capitalize()), state))
