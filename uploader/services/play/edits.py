"""The life of one edit as a state machine: who owns the edit, what stage it is in, and what is known of the commit.

Theory of operation
===================

Google's rules. An edit begins as a copy of what is live. One account has one open edit for an app: opening another,
committing one, or a change in the Play Console closes it, and what was uploaded into it is lost. A commit is atomic:
all of an edit goes live, or nothing. An edit can be committed once. A refused commit leaves the edit open and usable.
Nothing says which edit made a release live: there is no list of edits, and no id in what is live.

Who owns an edit. One that this program opened is its own to keep or to delete: OPENED by this run, or RESUMED when an
earlier run of the job left it. One named by `existing-edit-id` is SHARED: other jobs work in it, so it is never
deleted and never replaced by a fresh one, which could not hold their part. A STAND_IN is a fresh edit in place of a
shared one that vanished during its commit. It serves to look at what is live, and nothing is ever changed or
committed in it.

A commit whose answer is lost is looked up, not repeated. The edit is asked first. If it is open, the same edit is
committed again, which can't have two effects. If it says that it was committed, the job is done. If it is merely
gone, the question stays open (GONE, UNKNOWN), and a fresh edit takes its place (CLEAN, UNKNOWN). The evidence there
is the artifacts and tracks that the lost edit changed: since a commit is atomic, seeing them live proves that it
happened. Knowledge is about every commit of the job, in this edit or in the one that it replaced, so it survives the
replacement, the deletion of the replacement, and the process. DID_NOT is weaker than NONE: the edit was found open
after a commit whose answer was lost. If that edit is gone later, the commit may have arrived late, and the doubt is
back.

What the journal keeps. It keeps the stage and the knowledge of an edit of our own, with its id, every change by
purpose (and the digest of what Google Play accepted), and the tracks as they were before. A change and a commit are
written down before they are sent. A killed run thus leaves a record that may claim too much, never too little, and a
record with a commit under way is recalled as one whose answer was lost. A later run continues in a recorded edit only
if it asks for all that the record says was changed; otherwise the edit is deleted, once it is known to be open.

What follows from the table. From HAPPENED no commit can be sent, and from COMMITTING or UNKNOWN no edit with changes
in it can be deleted: the pairs are not in the table. An edit in stage CLEAN needs no commit, so a run that is killed
again while it looks up a commit does not commit a second time.

Weak spots. An edit whose opening was never answered has an id that nobody knows; opening the next one closes it.
Where a lost edit changed neither artifacts nor tracks (only a mapping, symbols or an expansion file for a version
that was there already), nothing shows whether its commit happened: these files are sent and committed once more, with
the same content. The same happens to a mapping where another job ran between a lost commit and the re-run of its job:
there is one record for an app, and it took the place. If somebody else puts another release on the same track between
a commit whose edit is gone and the look at its effect, the look takes it for one that did not happen, and the job's
release comes to the track again. A shared edit is in no journal: if its run is killed during the commit, the next one
can only say that the edit is closed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, TypeVar

from uploader.errors import (
    ApiError,
    CredentialsError,
    Interrupted,
    OutcomeUnknown,
    ProtocolError,
    TemporaryError,
    UploaderError,
)
from uploader.services.base import Discarded, ForgetUploads, Note, Publish, Recall, Remember, Sleep, Steps
from uploader.services.play import edit_api
from uploader.services.play.edit_api import Edit, Releases, entries, releases
from uploader.services.play.job import ReleaseJob
from uploader.services.play.known_errors import (
    EDIT_GONE,
    OTHER,
    REVIEW_AUTOMATIC,
    REVIEW_BY_HAND,
    already_committed,
    explained,
    find,
)
from uploader.text import sentence


class Ownership(Enum):
    """Whose edit it is."""

    OPENED = "opened by this run"
    RESUMED = "opened by an earlier run of the job"
    SHARED = "named by existing-edit-id"
    STAND_IN = "in place of a shared edit that is gone"


class Stage(Enum):
    """What became of the edit. The values are those of the journal."""

    CLEAN = "clean"  # open, and a copy of what is live
    CHANGED = "changed"  # open, with changes of this job, or perhaps of others in a shared one
    COMMITTING = "committing"  # a commit was sent and has not been answered
    REFUSED = "refused"  # open, and its commit was refused with everything in place
    COMMITTED = "committed"
    GONE = "gone"  # closed by others, or by a commit that nobody heard of
    DELETED = "deleted"
    LEFT_OPEN = "left open"  # as `commit: false` asks


class CommitKnowledge(Enum):
    """What is known of the job's commit, in this edit or in the one that it replaced. The values are the journal's."""

    NONE = "none"  # not sent, or refused
    UNKNOWN = "unknown"  # sent, and it may have happened
    DID_NOT = "did not happen"  # its answer was lost, and the edit was found open afterwards
    HAPPENED = "happened"


class Event(Enum):
    """What a run does to the edit (raised before the request is sent), or learns of it."""

    CHANGE = "something in it is about to change"
    SEND_COMMIT = "the commit is about to be sent"
    COMMIT_ACCEPTED = "the commit was answered well"
    COMMIT_REFUSED = "the commit was refused"
    ANSWER_LOST = "the answer to the commit is lost"
    FOUND_OPEN = "the edit says that it is open"
    FOUND_COMMITTED = "the edit says that it was committed"
    CLOSED = "the edit is gone"
    SEEN_LIVE = "what the replaced edit changed is live"
    NOT_SEEN = "what the replaced edit changed is not live"
    DELETE = "the edit is about to be deleted"
    LEAVE_OPEN = "the edit is left to other jobs"
    RECALL = "a later run finds its record"
    REPLACE = "a fresh edit takes its place"


_S, _C = Stage, CommitKnowledge
Position = tuple[Stage, CommitKnowledge]

# The three positions of a commit under way differ in what is known of an earlier one.
_COMMITTING: Mapping[Event, Position] = {
    Event.COMMIT_ACCEPTED: (_S.COMMITTED, _C.HAPPENED),
    Event.COMMIT_REFUSED: (_S.REFUSED, _C.NONE),
    Event.ANSWER_LOST: (_S.COMMITTING, _C.UNKNOWN),
    Event.CLOSED: (_S.GONE, _C.UNKNOWN),
    Event.RECALL: (_S.COMMITTING, _C.UNKNOWN),
}

TRANSITIONS: Mapping[Position, Mapping[Event, Position]] = {
    (_S.CLEAN, _C.NONE): {
        Event.CHANGE: (_S.CHANGED, _C.NONE),
        Event.FOUND_OPEN: (_S.CLEAN, _C.NONE),
        Event.FOUND_COMMITTED: (_S.GONE, _C.NONE),
        Event.CLOSED: (_S.GONE, _C.NONE),
        Event.DELETE: (_S.DELETED, _C.NONE),
        Event.LEAVE_OPEN: (_S.LEFT_OPEN, _C.NONE),
        Event.RECALL: (_S.CLEAN, _C.NONE),
    },
    (_S.CLEAN, _C.UNKNOWN): {
        Event.SEEN_LIVE: (_S.CLEAN, _C.HAPPENED),
        Event.NOT_SEEN: (_S.CLEAN, _C.NONE),
        Event.FOUND_OPEN: (_S.CLEAN, _C.UNKNOWN),
        Event.FOUND_COMMITTED: (_S.GONE, _C.UNKNOWN),
        Event.CLOSED: (_S.GONE, _C.UNKNOWN),
        Event.DELETE: (_S.DELETED, _C.UNKNOWN),
        Event.RECALL: (_S.CLEAN, _C.UNKNOWN),
    },
    (_S.CLEAN, _C.HAPPENED): {
        # Somebody else changed something since: the job asks for it again, as every later run of it would.
        Event.CHANGE: (_S.CHANGED, _C.NONE),
        Event.CLOSED: (_S.GONE, _C.UNKNOWN),
        Event.DELETE: (_S.DELETED, _C.HAPPENED),
        Event.LEAVE_OPEN: (_S.LEFT_OPEN, _C.HAPPENED),
    },
    (_S.CHANGED, _C.NONE): {
        Event.CHANGE: (_S.CHANGED, _C.NONE),
        Event.SEND_COMMIT: (_S.COMMITTING, _C.NONE),
        Event.FOUND_OPEN: (_S.CHANGED, _C.NONE),
        Event.FOUND_COMMITTED: (_S.GONE, _C.UNKNOWN),
        Event.CLOSED: (_S.GONE, _C.NONE),
        Event.DELETE: (_S.DELETED, _C.NONE),
        Event.LEAVE_OPEN: (_S.LEFT_OPEN, _C.NONE),
        Event.RECALL: (_S.CHANGED, _C.NONE),
    },
    (_S.CHANGED, _C.DID_NOT): {
        Event.CHANGE: (_S.CHANGED, _C.DID_NOT),
        Event.SEND_COMMIT: (_S.COMMITTING, _C.DID_NOT),
        Event.FOUND_OPEN: (_S.CHANGED, _C.DID_NOT),
        Event.FOUND_COMMITTED: (_S.GONE, _C.UNKNOWN),
        Event.CLOSED: (_S.GONE, _C.UNKNOWN),
        Event.DELETE: (_S.DELETED, _C.NONE),
        Event.LEAVE_OPEN: (_S.LEFT_OPEN, _C.DID_NOT),
        Event.RECALL: (_S.CHANGED, _C.DID_NOT),
    },
    (_S.COMMITTING, _C.NONE): {**_COMMITTING, Event.CLOSED: (_S.GONE, _C.NONE)},
    # What is refused is this commit; the first one, whose answer was lost, may still arrive.
    (_S.COMMITTING, _C.DID_NOT): {**_COMMITTING, Event.COMMIT_REFUSED: (_S.REFUSED, _C.DID_NOT)},
    (_S.COMMITTING, _C.UNKNOWN): {
        Event.FOUND_OPEN: (_S.CHANGED, _C.DID_NOT),
        Event.FOUND_COMMITTED: (_S.COMMITTED, _C.HAPPENED),
        Event.CLOSED: (_S.GONE, _C.UNKNOWN),
        Event.RECALL: (_S.COMMITTING, _C.UNKNOWN),
    },
    (_S.REFUSED, _C.NONE): {
        Event.SEND_COMMIT: (_S.COMMITTING, _C.NONE),  # the other way, as Google's refusal demands
        Event.RECALL: (_S.CHANGED, _C.NONE),
    },
    (_S.REFUSED, _C.DID_NOT): {
        Event.SEND_COMMIT: (_S.COMMITTING, _C.DID_NOT),
        Event.RECALL: (_S.CHANGED, _C.DID_NOT),
    },
    (_S.COMMITTED, _C.HAPPENED): {
        Event.REPLACE: (_S.CLEAN, _C.UNKNOWN),  # by a later run: whether it asks for the same is to be seen
    },
    (_S.GONE, _C.NONE): {
        Event.REPLACE: (_S.CLEAN, _C.NONE),
        Event.RECALL: (_S.GONE, _C.NONE),
    },
    (_S.GONE, _C.UNKNOWN): {
        Event.REPLACE: (_S.CLEAN, _C.UNKNOWN),
        Event.RECALL: (_S.GONE, _C.UNKNOWN),
    },
    (_S.DELETED, _C.UNKNOWN): {
        Event.REPLACE: (_S.CLEAN, _C.UNKNOWN),
        Event.RECALL: (_S.DELETED, _C.UNKNOWN),
    },
    (_S.DELETED, _C.HAPPENED): {
        Event.RECALL: (_S.DELETED, _C.UNKNOWN),  # after a failure behind it: a later run may ask for something else
    },
}
"""Every event that may come in every position. What is not in the table can't happen, and asking for it is a bug."""

FORBIDDEN: Mapping[Ownership, frozenset[Event]] = {
    Ownership.SHARED: frozenset({Event.DELETE, Event.RECALL, Event.SEEN_LIVE, Event.NOT_SEEN}),
    Ownership.STAND_IN: frozenset({Event.CHANGE, Event.SEND_COMMIT, Event.LEAVE_OPEN, Event.RECALL, Event.NOT_SEEN}),
}
"""What never happens to an edit because of who owns it, whatever the table says."""

_OWNERS: Mapping[Event, Mapping[Ownership, Ownership]] = {
    Event.RECALL: {Ownership.OPENED: Ownership.RESUMED},
    Event.REPLACE: {Ownership.RESUMED: Ownership.OPENED, Ownership.SHARED: Ownership.STAND_IN},
}


@dataclass(frozen=True)
class EditState:
    """One edit as it stands. Frozen: `after(event)` gives the next one."""

    ownership: Ownership = Ownership.OPENED
    stage: Stage = Stage.CLEAN
    commit: CommitKnowledge = CommitKnowledge.NONE

    @property
    def own(self) -> bool:
        """Whether this program opened the edit for the job, so that it may be kept, resumed or deleted."""
        return self.ownership in (Ownership.OPENED, Ownership.RESUMED)

    @property
    def open(self) -> bool:
        """Whether the edit may be open, as far as anybody knows."""
        return self.stage in (Stage.CLEAN, Stage.CHANGED, Stage.COMMITTING, Stage.REFUSED)

    @property
    def in_doubt(self) -> bool:
        """Whether a commit of the job may have happened without this program knowing it."""
        return self.commit is CommitKnowledge.UNKNOWN or self.stage is Stage.COMMITTING

    @property
    def replaceable(self) -> bool:
        """Whether the run can start over in a fresh edit; for a shared one only to look whether its commit happened."""
        return self.stage is Stage.GONE and (self.ownership is not Ownership.SHARED or self.in_doubt)

    def allows(self, event: Event) -> bool:
        """Whether the event may come now."""
        moves = TRANSITIONS.get((self.stage, self.commit), {})
        return event in moves and event not in FORBIDDEN.get(self.ownership, ())

    def after(self, event: Event) -> EditState:
        """The edit after an event. Raises `LookupError` for one that can't come now."""
        if not self.allows(event):
            raise LookupError(f"{event.name} can't happen to an edit that is {self}")
        stage, commit = TRANSITIONS[self.stage, self.commit][event]
        return EditState(_OWNERS.get(event, {}).get(self.ownership, self.ownership), stage, commit)

    def __str__(self) -> str:
        return f"{self.ownership.value}, {self.stage.value}, its commit: {self.commit.value}"


class ReleaseEdit:
    """An edit, and what is known of it.

    `changes` are the purposes of the job (`ReleaseJob.purposes`) for which something was changed, each with the digest
    of what Google Play accepted. While a commit is in doubt they are those of the edit that this one replaced. `before`
    are the tracks that were changed, as they were before; `seen` the tracks as they were last read or written;
    `checked` the empty ones whose names were looked at; `expansions` the versions whose expansion files the last APK
    uses, `language` the app's default one, as far as they were asked for.
    """

    def __init__(
        self,
        job: ReleaseJob,
        api: edit_api.Edit,
        state: EditState,
        changes: dict[str, str] | None = None,
        before: dict[str, Releases] | None = None,
    ) -> None:
        self.job = job
        self.api = api
        self.state = state
        self.changes = changes or {}
        self.before = before or {}
        self.seen: dict[str, Releases] = {}
        self.checked: set[str] = set()
        self.expansions: dict[str, int] = {}
        self.language = ""

    @property
    def id(self) -> str:
        """The id that Google Play gave it."""
        return self.api.id

    @property
    def uncommitted(self) -> Collection[str]:
        """The purposes for which something in this very edit was changed."""
        return () if self.state.commit in (CommitKnowledge.UNKNOWN, CommitKnowledge.HAPPENED) else self.changes.keys()

    def apply(self, event: Event) -> None:
        """Takes the machine one step further. Raises `LookupError` for an event that can't come now."""
        self.state = self.state.after(event)

    def changing(self, purpose: str) -> Steps[None]:
        """Writes a change down before it is made."""
        before = self.state
        self.apply(Event.CHANGE)
        if before.commit is CommitKnowledge.HAPPENED:
            self.changes.clear()  # they are live; from here on it is about what this edit changes
        if before != self.state or purpose not in self.changes:
            self.changes.setdefault(purpose, "")
            yield from self.remember()

    def changed(self, purpose: str, digest: str) -> Steps[None]:
        """Writes down what Google Play accepted."""
        self.changes[purpose] = digest
        yield from self.remember()

    def remember(self) -> Steps[None]:
        """Tells the journal where the next run of the job can go on; edits of others are not ours to remember."""
        if self.state.own:
            record = {
                "edit": self.id,
                "stage": self.state.stage.value,
                "commit": self.state.commit.value,
                "changes": self.changes,
                "before": self.before,
            }
            yield Remember(self.job.memory, json.dumps(record))

    def forget(self) -> Steps[None]:
        """Tells the journal that nothing is left to go on with. In a shared edit that stays open, other jobs go on."""
        if self.state.own:
            yield Remember(self.job.memory, None)
        if self.state.own or self.state.stage is Stage.COMMITTED:
            yield ForgetUploads(edit_api.uploads(self.job.package))


def recalled(job: ReleaseJob, text: object) -> ReleaseEdit | None:
    """The edit that the journal holds, if any."""
    try:
        record = json.loads(text) if isinstance(text, str) else {}
        state = EditState(Ownership.OPENED, Stage(record["stage"]), CommitKnowledge(record["commit"]))
        return ReleaseEdit(
            job,
            edit_api.Edit(job.package, str(record["edit"])),
            state.after(Event.RECALL),
            changes={str(purpose): str(digest) for purpose, digest in record["changes"].items()},
            before={str(track): releases({"releases": found}) for track, found in record["before"].items()},
        )
    except (ValueError, LookupError, TypeError, AttributeError, ProtocolError):
        return None


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


MOST_TURNS = 2  # commits the other way about the review, after the first


def commit(edit: ReleaseEdit) -> Steps[bool]:
    """Commits the edit; the answer is whether the changes still have to be sent for review by hand.

    Where Google demands the opposite about the review, the same edit is committed again the other way. A commit whose
    answer is lost is looked up before it is repeated. Raises Refused with the edit gone, or refused with all in it.
    """
    by_hand = edit.job.not_sent_for_review == "true"
    turns, losses = 0, 0
    while True:
        error = yield from _attempt(edit, by_hand)
        if isinstance(error, (OutcomeUnknown, ProtocolError)):
            losses += 1
            yield from _look_up(edit, losses, error)
        elif error is not None:
            turns += 1
            if turns > MOST_TURNS or not _demands_other_way(edit.job, error, by_hand):
                raise _refusal(edit, error)
            by_hand = not by_hand
            what = error.what.rstrip(".")
            yield Note(f"{what}. Committing edit {edit.id} again with the opposite review setting.")
        if edit.state.stage is Stage.COMMITTED:
            return by_hand


def _attempt(edit: ReleaseEdit, by_hand: bool) -> Steps[UploaderError | None]:
    """One commit; what is worth thinking about is handed back, anything else is raised."""
    edit.apply(Event.SEND_COMMIT)
    yield from edit.remember()
    try:
        yield edit.api.commit(_query(edit.job, by_hand))
    except (OutcomeUnknown, ProtocolError) as error:
        edit.apply(Event.ANSWER_LOST)
        return error
    except (ApiError, CredentialsError) as error:
        yield from _answered_no(edit, gone=isinstance(error, ApiError) and find(error) is EDIT_GONE)
        return error
    edit.apply(Event.COMMIT_ACCEPTED)
    return None


def _answered_no(edit: ReleaseEdit, *, gone: bool) -> Steps[None]:
    if not gone:
        edit.apply(Event.COMMIT_REFUSED)
        yield from edit.remember()
        return
    if edit.state.own:
        # Nobody but this program works in it, so it may be gone because of this commit. One of others, they committed.
        edit.apply(Event.ANSWER_LOST)
    edit.apply(Event.CLOSED)


def _look_up(edit: ReleaseEdit, losses: int, error: UploaderError) -> Steps[None]:
    """Finds out what became of a commit whose answer is lost. Raises Refused when the edit is gone."""
    yield Note(f"{sentence(error.what)} Checking whether edit {edit.id} is committed.", "warning")
    yield Sleep(losses, f"the commit of edit {edit.id} was not answered")
    yield from look(edit)
    if edit.state.stage is Stage.GONE:
        raise ApiError(
            f"Edit {edit.id} is gone after a commit whose answer was lost.",
            status=404,
            reason="editNotFound",
            message="Edit not found.",
        ) from error


def _refusal(edit: ReleaseEdit, error: UploaderError) -> UploaderError:
    """The refusal of a commit, with the way back to the edit unless that is gone."""
    if edit.state.stage is Stage.GONE:
        return error
    known = explained(error) if isinstance(error, ApiError) else error
    named = f"set `existing-edit-id: {edit.id}`, or " if edit.job.reads_edit_id else ""
    kept = f"Edit {edit.id} is kept with everything in it: {named}run again."
    known.hint = f"{known.hint} {kept}".strip()
    return known


def _demands_other_way(job: ReleaseJob, error: UploaderError, by_hand: bool) -> bool:
    wanted = REVIEW_AUTOMATIC if by_hand else REVIEW_BY_HAND
    return job.not_sent_for_review == "auto" and isinstance(error, ApiError) and find(error) is wanted


def _query(job: ReleaseJob, by_hand: bool) -> tuple[tuple[str, str], ...]:
    behavior = "CANCEL_IN_REVIEW_AND_SUBMIT" if job.cancel_review else "ERROR_IF_IN_REVIEW"
    # Left out rather than false: Google's refusal says that it "must not be set".
    flag = (("changesNotSentForReview", "true"),) if by_hand else ()
    return (("changesInReviewBehavior", behavior), *flag)


# Version code to what Play says of the artifact, its SHA-256 among it.
ListedArtifacts = Mapping[int, Mapping[str, Any]]
T = TypeVar("T")


def unfinished(package: str) -> Steps[str]:
    """The open edit of a release that an earlier run did not finish; empty where there is none."""
    job = ReleaseJob(package)
    kept = recalled(job, (yield Recall(job.memory)))
    return kept.id if kept and kept.state.open else ""


def read_and_deleted(edit: Edit, read: Callable[[Edit], Steps[T]]) -> Steps[T]:
    """What is read in the edit, which is deleted then, after a failure or a signal, too."""
    try:
        content = yield from read(edit)
    except UploaderError:
        yield from _deleted(edit)
        raise
    yield from _deleted(edit)
    return content


def _deleted(edit: Edit) -> Steps[None]:
    try:
        yield replace(edit.delete(), closing=True)
    except UploaderError as error:  # an edit that nobody commits changes nothing
        yield Note(f"Edit {edit.id} could not be deleted ({error.what}); it expires by itself.", "warning")
    else:
        yield Note(f"Edit {edit.id} is deleted.")


def listed_artifacts(edit: ReleaseEdit) -> Steps[ListedArtifacts]:
    """Everything that the edit knows: a version code belongs to one artifact, be it a bundle or an APK."""
    bundles = yield edit.api.listed("bundles")
    apks = yield edit.api.listed("apks")
    found = [*entries(bundles, "bundles"), *entries(apks, "apks")]
    return {entry["versionCode"]: entry for entry in found if isinstance(entry.get("versionCode"), int)}
