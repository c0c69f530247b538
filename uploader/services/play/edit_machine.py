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

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum


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
