"""The life of an edit: opened or found again, looked up, replaced, and in the end kept or deleted.

What may happen to an edit and when, the table in `edit_machine` says; here are the requests that go with it.
"""

from __future__ import annotations

from contextlib import suppress

from uploader.errors import ApiError, Interrupted, TemporaryError, UploaderError
from uploader.services.base import Discarded, ForgetUploads, Note, Publish, Recall, Steps
from uploader.services.play import edit_api
from uploader.services.play.edit_machine import CommitKnowledge, EditState, Event, Ownership, Stage
from uploader.services.play.job import ReleaseJob
from uploader.services.play.known_errors import EDIT_GONE, OTHER, already_committed, find
from uploader.services.play.release_edit import ReleaseEdit, recalled


def opened(job: ReleaseJob) -> Steps[ReleaseEdit]:
    """The edit to work in: the one that was named, the one an earlier run of the job left, or a fresh one."""
    if job.existing_edit and not job.dry_run:
        return (yield from _shared(job))
    kept = recalled(job, (yield Recall(job.memory)))
    if kept is None:
        return (yield from _inserted(job, EditState()))
    if kept.state.open:
        yield _open_edit(kept)  # before anything can go wrong: it is ours, and it may be open
        yield from look(kept)
    serves = kept.changes.keys() <= job.purposes
    if kept.state.open and serves:
        yield Note(f"Continuing in edit {kept.id} of an earlier run.")
        return kept
    if kept.state.open:
        yield Note(f"Edit {kept.id} of an earlier run contains changes that this run does not make.")
        yield from discard(kept)
    else:
        yield Note(f"Edit {kept.id} of an earlier run is closed.")
        yield Publish({"edit-id": ""})
    return (yield from (replaced(kept) if serves else _inserted(job, EditState())))


def _shared(job: ReleaseJob) -> Steps[ReleaseEdit]:
    """The edit that `existing-edit-id` names. If it is not there, running again would not help."""
    edit = ReleaseEdit(job, edit_api.Edit(job.package, job.existing_edit), EditState(Ownership.SHARED, Stage.CHANGED))
    try:
        yield edit.api.get()
    except ApiError as refused:
        if find(refused) in (EDIT_GONE, OTHER):
            blame_the_input(refused)
        raise
    yield Note(f"Working in edit {edit.id}.")
    yield _open_edit(edit)
    return edit


def blame_the_input(refused: ApiError) -> None:
    """Says that the edit which `existing-edit-id` names is not there, which running again would not change."""
    refused.cause = (
        "`existing-edit-id` names no open edit: it is misspelt, or the edit is committed, deleted or expired."
    )
    refused.hint = "Correct `existing-edit-id`, or leave it out for a fresh edit."


def replaced(lost: ReleaseEdit) -> Steps[ReleaseEdit]:
    """A fresh edit in place of one that is gone. What was changed is remembered only while a commit is in doubt."""
    state = lost.state.after(Event.REPLACE)
    return (yield from _inserted(lost.job, state, lost.changes if state.in_doubt else {}))


def _inserted(job: ReleaseJob, state: EditState, changes: dict[str, str] | None = None) -> Steps[ReleaseEdit]:
    opened_edit = edit_api.inserted(job.package, (yield edit_api.insert(job.package)))
    edit = ReleaseEdit(job, opened_edit, state, dict(changes or {}))
    yield from edit.remember()
    yield ForgetUploads(edit_api.uploads(job.package))  # Google Play closes the edit that was open
    yield Note(f"Opened edit {edit.id} for {job.package}.")
    yield _open_edit(edit)
    return edit


def _open_edit(edit: ReleaseEdit) -> Publish:
    return Publish({"edit-id": edit.id, "committed": "false"})


def look(edit: ReleaseEdit) -> Steps[None]:
    """Asks the edit itself whether it is open, committed or gone."""
    try:
        yield edit.api.get()
    except ApiError as refused:
        if already_committed(refused):
            edit.apply(Event.FOUND_COMMITTED)
        elif refused.status in (404, 410) or find(refused) is EDIT_GONE:
            edit.apply(Event.CLOSED)
        else:
            raise
    else:
        edit.apply(Event.FOUND_OPEN)


def settle(edit: ReleaseEdit, error: BaseException) -> Steps[None]:
    """Decides the edit's fate after a failure, does it, and says which; never hides the failure itself."""
    name, state = f"Edit {edit.id}", edit.state
    if state.stage is Stage.DELETED:
        return  # its deletion said what became of it
    if isinstance(error, (TemporaryError, Interrupted)):
        yield Note((yield from _why_kept(edit)))
    elif not state.open:
        if state.stage is Stage.GONE and not state.in_doubt:
            yield _lost(edit, "Uploaded, then lost with the edit, which is gone", error)
        yield from _closed(edit, error)
    elif state.ownership is Ownership.SHARED:
        yield Note(f"{name} was not opened by this run and stays open.")
    elif state.stage is Stage.REFUSED:
        yield Note(f"{name} is kept with everything in it.")
    elif state.stage is Stage.COMMITTING:
        yield Note((yield from _why_kept(edit)), "warning")
    else:
        yield _lost(edit, "Uploaded, then discarded with the edit", error)
        with suppress(Interrupted):  # the first error is the one that counts
            yield from discard(edit)


def _lost(edit: ReleaseEdit, what: str, error: BaseException) -> Discarded:
    """Nothing that this run uploaded is of any use without the edit, and the outputs must not claim otherwise."""
    why = error.what if isinstance(error, UploaderError) else "the program itself failed."
    artifacts = zip(edit.job.artifacts, edit.job.codes, strict=True)
    ours = frozenset(artifact.name for artifact, code in artifacts if f"artifact:{code}" in edit.uncommitted)
    return Discarded(f"{what}: {why}", ours, ("version-code", "version-codes"))


def _closed(edit: ReleaseEdit, error: BaseException) -> Steps[None]:
    """What is left to do about an edit that is gone."""
    if edit.state.ownership is Ownership.SHARED and isinstance(error, ApiError):
        blame_the_input(error)
    elif edit.state.stage is Stage.GONE:
        yield Publish({"edit-id": ""})
        yield from _put_away(edit)
    else:
        yield from edit.forget()


def discard(edit: ReleaseEdit) -> Steps[None]:
    """Deletes an edit of our own. A failure to do so is only a warning: an edit that nobody commits changes nothing.

    Raises Interrupted, which ends the run here as anywhere.
    """
    edit.apply(Event.DELETE)
    try:
        yield edit.api.delete()
    except UploaderError as error:
        yield Note(f"Edit {edit.id} could not be deleted ({error.what}); it expires by itself.", "warning")
        if isinstance(error, Interrupted):
            yield Publish({"edit-id": ""})  # it may be deleted by now; its record stays for the next run to find out
            raise
    else:
        yield Note(f"Edit {edit.id} is deleted.")
        yield Publish({"edit-id": ""})
    yield from _put_away(edit)


def _why_kept(edit: ReleaseEdit) -> Steps[str]:
    """What becomes of an edit that a failure left open; the next run finds it only where the journal keeps it."""
    if edit.state.ownership is Ownership.STAND_IN:
        return f"Edit {edit.id} holds no changes."
    # The record under the job's name is that of an edit of its own, never that of a shared one.
    resumes = edit.state.own and (yield Recall(edit.job.memory)) is not None
    commit_sent = edit.state.stage is Stage.COMMITTING
    if commit_sent:
        yield Publish({"committed": ""})  # neither is known
        how = "the next run checks" if resumes else "check in the Play Console"
        return f"The commit of edit {edit.id} may have happened: {how}."
    if not (resumes or edit.job.reads_edit_id):
        return f"Edit {edit.id} is left behind: the next run opens a fresh one."
    how = "the next run continues in it" if resumes else f"set `existing-edit-id: {edit.id}` to continue in it"
    return f"Edit {edit.id} is kept: {how}."


def _put_away(edit: ReleaseEdit) -> Steps[None]:
    """The record of an edit that is over: kept if it tells of a commit, so that a next run does not send it again."""
    commit_may_have_happened = edit.state.commit in (CommitKnowledge.UNKNOWN, CommitKnowledge.HAPPENED)
    yield from edit.forget()
    if commit_may_have_happened:
        yield from edit.remember()
