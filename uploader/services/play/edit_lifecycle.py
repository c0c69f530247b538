"""The life of an edit, from its opening to its commit or its deletion: a state machine, and the
requests of each step.

Google's rules. An edit begins as a copy of what is live. An account has one open edit of an app:
opening another, committing one, or a change in the Play Console closes it, and what was uploaded
into it is lost. A commit is atomic and happens once; a refused one leaves the edit open. Nothing
says which edit made a release live.

A commit whose response is lost is looked up, not repeated. An edit that is open is committed again,
which can't have two effects; one that says that it was committed is done. If it is merely gone, the
question stays open (GONE, UNKNOWN), and a fresh edit takes its place (CLEAN, UNKNOWN): if the
artifacts and tracks that the lost edit changed are live, the commit happened, also where a person
has widened, completed or halted the release since. This knowledge is about every commit of the job
and survives the replacement, its deletion, and the process. DID_NOT is weaker than NONE: a commit
may still arrive when its edit was found open, so an edit that is gone later is in doubt again, and
nobody says until then that it is not committed. 404 and 410 to a commit are no refusals before the
edit was asked.

The journal keeps an edit of our own with its stage, the knowledge, every change by purpose, the
tracks as they were before and as they were written, and who has to send its commit for review.
Changes and commits are written down before they are sent, so a killed run leaves a record that may
claim too much, never too little. A later run continues in a recorded edit only if it asks for all
that was changed there. What it would not replace for certain, it has to wish in the same words: the
purpose of the store listing and of testers has a digest of them. A track is written again unless it
was written just so. Other bytes under a version code that only our own edit has can't be replaced
there: it is deleted. A promotion stays with the versions that it was begun with, in the same run,
the same edit, and while a commit of it is in doubt. A job without files changes the release that it
was begun with, and no other: where that was changed since, by a person or another job, it is
refused.

Weak spots. Nobody knows the id of an edit whose opening was never answered; opening the next one
closes it. Where a lost edit changed only supplementary files of a version that was there already,
nothing shows whether its commit happened: they are sent and committed once more, with the same
content. If somebody releases the same artifact by hand between a commit that did not happen and the
look at its effect, the release is taken for the job's, and a mapping that only the lost edit had is
not sent again: a warning says so, and the next run sends it. If somebody else puts another release
on the track between a commit whose edit is gone and the look at its effect, the job's release comes
to the track again. A shared edit is in no journal: if its run is killed during the commit, the next
can only say that the edit is closed. A fresh edit lacks what other jobs put into a shared one: in
its place it only shows whether the commit happened, and to open it closes an edit that another job
of the account has opened for the app meanwhile.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from typing import Any, Literal, TypeVar

from uploader.errors import (
    ApiError,
    CredentialsError,
    Interrupted,
    OutcomeUnknown,
    ProtocolError,
    ReleaseRefused,
    TemporaryError,
    UploaderError,
)
from uploader.services.base import Backoff, Context
from uploader.services.play import client
from uploader.services.play.client import Edit, releases
from uploader.services.play.known_errors import (
    EDIT_GONE,
    OTHER,
    REVIEW_AUTOMATIC,
    REVIEW_BY_HAND,
    explained,
    find,
    needs_new_build,
)
from uploader.services.play.model import Release, Releases
from uploader.services.play.release_job import WHAT, ReleaseJob
from uploader.text import sentence

CHANGED_OUTSIDE = re.compile(
    r"change was made to the application outside of this edit", re.IGNORECASE
)
"""Google's words for an edit that others' changes have invalidated: it was not committed."""
COMMITTED = re.compile(r"edit has already been (successfully )?committed", re.IGNORECASE)
MAX_TURNS = 2  # commits the other way about the review, after the first
# raised on what is no record
_UNREADABLE = (ValueError, LookupError, TypeError, AttributeError, ProtocolError)
# version code to what Play says of the artifact, its SHA-256 too
ListedArtifacts = Mapping[int, Mapping[str, Any]]
ArtifactKind = Literal["bundles", "apks"]  # whose lists an edit has
T = TypeVar("T")


class Stage(Enum):
    """What became of the edit. The values are those of the journal."""

    CLEAN = "clean"  # open, and a copy of what is live: it needs no commit
    CHANGED = "changed"  # open, with changes of this job, or perhaps of others in a shared one
    COMMITTING = "committing"  # a commit was sent and has not been answered
    REFUSED = "refused"  # open, and its commit was refused with everything in place
    COMMITTED = "committed"
    GONE = "gone"  # closed by others, or by a commit that nobody heard of
    DELETED = "deleted"


class CommitKnowledge(Enum):
    """What is known of the job's commit, in this edit or in the one that it replaced. The values
    are the journal's.
    """

    NONE = "none"  # not sent, or refused
    UNKNOWN = "unknown"  # sent, and it may have happened
    DID_NOT = "did not happen"  # its response was lost, and the edit was found open afterwards
    HAPPENED = "happened"


class Event(Enum):
    """What a run does to the edit (raised before the request is sent), or learns of it."""

    CHANGE = "something in it is about to change"
    SEND_COMMIT = "the commit is about to be sent"
    COMMIT_ACCEPTED = "the commit was answered well"
    COMMIT_REFUSED = "the commit was refused"
    RESPONSE_LOST = "the response to the commit is lost"
    FOUND_OPEN = "the edit says that it is open"
    FOUND_COMMITTED = "the edit says that it was committed"
    CLOSED = "the edit is gone"
    CLOSED_UNCOMMITTED = "others changed the app, which closed the edit before it was committed"
    SEEN_LIVE = "what the replaced edit changed is live"
    NOT_SEEN = "what the replaced edit changed is not live"
    DELETE = "the edit is about to be deleted"
    RECALL = "a later run finds its record"
    REPLACE = "a fresh edit takes its place"


Position = tuple[Stage, CommitKnowledge]
_S, _C, _E = Stage, CommitKnowledge, Event

# What is known of the commit before, and after it; None where that stays as it is.
_ROWS: tuple[
    tuple[Stage, tuple[CommitKnowledge, ...], tuple[Event, ...], Stage, CommitKnowledge | None], ...
] = (
    (_S.CLEAN, (_C.NONE, _C.UNKNOWN), (_E.FOUND_OPEN, _E.RECALL), _S.CLEAN, None),
    # HAPPENED: somebody else changed something since, and the job asks for it again, as every later
    # run of it would.
    (_S.CLEAN, (_C.NONE, _C.HAPPENED), (_E.CHANGE,), _S.CHANGED, _C.NONE),
    (_S.CLEAN, (_C.UNKNOWN,), (_E.SEEN_LIVE,), _S.CLEAN, _C.HAPPENED),
    (_S.CLEAN, (_C.UNKNOWN,), (_E.NOT_SEEN,), _S.CLEAN, _C.NONE),
    (_S.CLEAN, (_C.NONE, _C.UNKNOWN), (_E.FOUND_COMMITTED, _E.CLOSED), _S.GONE, None),
    (_S.CLEAN, (_C.HAPPENED,), (_E.CLOSED,), _S.GONE, _C.UNKNOWN),
    (_S.CLEAN, (_C.NONE, _C.UNKNOWN, _C.HAPPENED), (_E.DELETE,), _S.DELETED, None),
    (_S.CHANGED, (_C.NONE, _C.DID_NOT), (_E.CHANGE, _E.FOUND_OPEN, _E.RECALL), _S.CHANGED, None),
    (_S.CHANGED, (_C.NONE, _C.DID_NOT), (_E.SEND_COMMIT,), _S.COMMITTING, None),
    (_S.CHANGED, (_C.NONE, _C.DID_NOT), (_E.FOUND_COMMITTED,), _S.GONE, _C.UNKNOWN),
    (_S.CLEAN, (_C.NONE, _C.UNKNOWN, _C.HAPPENED), (_E.CLOSED_UNCOMMITTED,), _S.GONE, None),
    (_S.CHANGED, (_C.NONE, _C.DID_NOT), (_E.CLOSED_UNCOMMITTED,), _S.GONE, _C.NONE),
    (_S.CHANGED, (_C.NONE,), (_E.CLOSED,), _S.GONE, _C.NONE),
    (_S.CHANGED, (_C.DID_NOT,), (_E.CLOSED,), _S.GONE, _C.UNKNOWN),
    (_S.CHANGED, (_C.NONE, _C.DID_NOT), (_E.DELETE,), _S.DELETED, _C.NONE),
    (_S.COMMITTING, (_C.NONE, _C.DID_NOT), (_E.COMMIT_ACCEPTED,), _S.COMMITTED, _C.HAPPENED),
    # DID_NOT: what is refused is this commit; the first one, whose response was lost, may still
    # arrive.
    (_S.COMMITTING, (_C.NONE, _C.DID_NOT), (_E.COMMIT_REFUSED,), _S.REFUSED, None),
    (_S.COMMITTING, (_C.NONE, _C.DID_NOT), (_E.RESPONSE_LOST,), _S.COMMITTING, _C.UNKNOWN),
    (_S.COMMITTING, (_C.NONE, _C.DID_NOT, _C.UNKNOWN), (_E.RECALL,), _S.COMMITTING, _C.UNKNOWN),
    (_S.COMMITTING, (_C.UNKNOWN,), (_E.FOUND_OPEN,), _S.CHANGED, _C.DID_NOT),
    (_S.COMMITTING, (_C.UNKNOWN,), (_E.FOUND_COMMITTED,), _S.COMMITTED, _C.HAPPENED),
    (_S.COMMITTING, (_C.NONE, _C.DID_NOT, _C.UNKNOWN), (_E.CLOSED_UNCOMMITTED,), _S.GONE, _C.NONE),
    (_S.COMMITTING, (_C.NONE,), (_E.CLOSED,), _S.GONE, _C.NONE),
    (_S.COMMITTING, (_C.DID_NOT, _C.UNKNOWN), (_E.CLOSED,), _S.GONE, _C.UNKNOWN),
    # Sent again the other way about the review, as Google's refusal demands.
    (_S.REFUSED, (_C.NONE, _C.DID_NOT), (_E.SEND_COMMIT,), _S.COMMITTING, None),
    (_S.REFUSED, (_C.NONE, _C.DID_NOT), (_E.RECALL,), _S.CHANGED, None),
    # By a later run: whether it asks for the same is to be seen.
    (_S.COMMITTED, (_C.HAPPENED,), (_E.REPLACE,), _S.CLEAN, _C.UNKNOWN),
    (_S.GONE, (_C.NONE, _C.UNKNOWN), (_E.REPLACE,), _S.CLEAN, None),
    (_S.GONE, (_C.NONE, _C.UNKNOWN), (_E.RECALL,), _S.GONE, None),
    (_S.DELETED, (_C.UNKNOWN,), (_E.REPLACE,), _S.CLEAN, _C.UNKNOWN),
    # HAPPENED: after a failure behind it, a later run may ask for something else.
    (_S.DELETED, (_C.UNKNOWN, _C.HAPPENED), (_E.RECALL,), _S.DELETED, _C.UNKNOWN),
)
TRANSITIONS: Mapping[tuple[Position, Event], Position] = {
    ((stage, commit), event): (stage_after, commit_after or commit)
    for stage, commits, events, stage_after, commit_after in _ROWS
    for commit in commits
    for event in events
}
"""Every event that may come in every position. What is not in the table can't happen, and asking
for it is a bug.

From HAPPENED no commit can be sent, and from COMMITTING or UNKNOWN no edit with changes in it can
be deleted.
"""

NEVER_SHARED = frozenset({Event.DELETE, Event.RECALL, Event.SEEN_LIVE, Event.NOT_SEEN})
"""What never happens to an edit that `existing-edit-id` names: others work in it, and only they can
do it again.
"""


@dataclass(frozen=True)
class EditState:
    """One edit as it stands. Frozen: `after(event)` gives the next one.

    An `own` one was opened for the job, by this run or an earlier one: it may be kept, resumed,
    deleted and replaced.
    """

    own: bool = True
    stage: Stage = Stage.CLEAN
    commit: CommitKnowledge = CommitKnowledge.NONE

    @property
    def open(self) -> bool:
        """Whether the edit may be open, as far as anybody knows."""
        return self.stage in (Stage.CLEAN, Stage.CHANGED, Stage.COMMITTING, Stage.REFUSED)

    @property
    def in_doubt(self) -> bool:
        """Whether a commit of the job may have happened without this program knowing it, or may
        still happen.
        """
        return (
            self.commit in (CommitKnowledge.UNKNOWN, CommitKnowledge.DID_NOT)
            or self.stage is Stage.COMMITTING
        )

    def allows(self, event: Event) -> bool:
        """Whether the event may come now."""
        return ((self.stage, self.commit), event) in TRANSITIONS and (
            self.own or event not in NEVER_SHARED
        )

    def after(self, event: Event) -> EditState:
        """The edit after an event. Raises `LookupError` for one that can't come now."""
        if not self.allows(event):
            raise LookupError(f"{event.name} can't happen to {self}")
        return EditState(
            self.own or event is Event.REPLACE, *TRANSITIONS[(self.stage, self.commit), event]
        )


@dataclass
class ReleaseEdit:
    """The edit that a job works in, and what is known of it.

    `changes` are the purposes of the job (`ReleaseJob.purposes`) for which something was changed,
    each with the digest of what Google Play accepted, empty while that is not known. `before` are
    the tracks that were changed, as they were before, `wrote` what was sent to them, and `wish` the
    digest of what was wished there (`ReleaseJob.wish`). `by_hand` says whether the last commit
    leaves it to people to send the changes for review, None where that is not known. While a commit
    is in doubt these five are about the edit that this one replaced. `promoted` is the release that
    the job's promotion was begun with. `seen` are the tracks as they were last read or written;
    `language` is the app's default one. `replaces` is the id of the shared edit in whose place this
    one was opened to see whether its commit happened. `overtaken` says that others closed the edit
    before this one, with changes of the job in it. They were certainly not committed, unless it was
    the job's commit that found the edit closed. `begun` are the releases that a job without files
    changes, as they were when it began, by track, and `rollouts` the version codes that were in
    progress there. `missing` are the closed tracks that the job has to create in the edit.
    `surely_committed` says that the edit before this one has told that it is committed.
    """

    job: ReleaseJob
    context: Context
    api: Edit
    state: EditState = EditState()
    changes: dict[str, str] = field(default_factory=dict)
    before: dict[str, Releases] = field(default_factory=dict)
    wrote: dict[str, Releases] = field(default_factory=dict)
    wish: str = ""
    by_hand: bool | None = None
    promoted: Release | None = None
    seen: dict[str, Releases] = field(default_factory=dict)
    language: str = ""
    replaces: str = ""
    overtaken: bool = False
    begun: dict[str, Release] = field(default_factory=dict)
    rollouts: dict[str, frozenset[str]] = field(default_factory=dict)
    missing: set[str] = field(default_factory=set)
    surely_committed: bool = False
    # guards the record: parts of a release write to it at the same time
    _lock: threading.RLock = field(default_factory=threading.RLock, repr=False, compare=False)

    @property
    def id(self) -> str:
        """The id that Google Play gave it."""
        return self.api.id

    @property
    def uncommitted(self) -> Collection[str]:
        """The purposes for which something in this very edit was changed."""
        return (
            ()
            if self.state.commit in (CommitKnowledge.UNKNOWN, CommitKnowledge.HAPPENED)
            else self.changes.keys()
        )

    def apply(self, event: Event) -> None:
        """Takes the machine one step further. Raises `LookupError` for an event that can't come
        now.
        """
        self.state = self.state.after(event)

    def is_new(self, track: str) -> bool:
        """Whether the app gets the track by this edit."""
        created = self.job.new_track_purpose(track) in self.uncommitted
        return created or track in self.missing

    def base(self, track: str, found: Releases) -> Releases:
        """What the track held before this very edit was touched; `found` is what it holds now."""
        return self.before.get(track, found) if f"track:{track}" in self.uncommitted else found

    def wrote_otherwise(self, track: str, after: Releases) -> bool:
        """Whether this edit may hold something else on the track, such as countries, that is not
        wished any more.

        What Google Play lists does not show it, since it adds to releases by itself. A record of an
        earlier version does not say what was written.
        """
        return f"track:{track}" in self.uncommitted and self.wrote.get(track) != after

    def found_live(self, settled: bool) -> None:
        """Takes down whether what the edit before this one changed is live; what is not was lost
        with it.

        All but supplementary files shows it, by being `settled`. Raises ReleaseRefused where a
        shared edit may be lost, since other jobs would have to make their part of it again.
        """
        shows = any(map(is_shown, self.changes))
        if self.replaces and not shows:
            raise gone(self.replaces)
        self.apply(Event.SEEN_LIVE if settled and shows else Event.NOT_SEEN)
        if self.state.commit is CommitKnowledge.NONE:
            self._tell_missing(self.changes)
            if self.replaces:
                raise gone(self.replaces, "what this run put into it is not live")
            _take_back(self, "Uploaded, then lost with the edit, whose commit did not happen.")
            self._begin_anew()

    def changing(self, purpose: str) -> None:
        """Writes a change down before it is made."""
        with self._lock:
            if self._note_change(purpose):
                self.remember()

    def writing(self, track: str, before: Releases, after: Releases) -> None:
        """Writes down what a track held and is to hold, before it is written."""
        with self._lock:
            self._note_change(f"track:{track}")
            self.before[track], self.wrote[track], self.wish = before, after, self.job.wish
            self.remember()

    def _note_change(self, purpose: str) -> bool:
        """Note that something is about to change, and return whether that is new."""
        before = self.state
        self.apply(Event.CHANGE)
        # they are live; from here on it is about what this edit changes
        if before.commit is CommitKnowledge.HAPPENED:
            self._begin_anew()
        new = before != self.state or purpose not in self.changes
        self.changes.setdefault(purpose, "")
        if new:
            self._tell_missing((purpose,))
        return new

    def tell_uncommitted(self) -> None:
        """Sets the output `committed`, as far as it follows from what this edit holds."""
        self._tell_missing(self.uncommitted)

    def _tell_missing(self, purposes: Iterable[str]) -> None:
        """Sets the output `committed` where something was seen not to be live, for each of these
        purposes.

        A commit that may still arrive leaves it open, and of supplementary files Google Play tells
        nothing.
        """
        if any(map(is_shown, purposes)):
            self.tell_committed(None if self.state.in_doubt else False)

    def tell_committed(self, committed: bool | None) -> None:
        """Sets the output `committed`, None where nobody knows; of a run that publishes nothing it
        is always false.
        """
        words = {True: "true", False: "false", None: ""}
        self.context.publish({"committed": words[committed if self.job.commits else False]})

    def changed(self, purpose: str, digest: str) -> None:
        """Writes down what Google Play accepted."""
        with self._lock:
            self.changes[purpose] = digest
            self.remember()

    def _begin_anew(self) -> None:
        """Forgets what the edit before this one changed."""
        for about in (self.changes, self.before, self.wrote):
            about.clear()
        self.wish, self.by_hand = "", None

    def remember(self) -> None:
        """Tells the journal where the next run of the job can go on; edits of others are not ours
        to remember.
        """
        if self.state.own and not self.replaces:
            state = {"stage": self.state.stage.value, "commit": self.state.commit.value}
            tracks = {
                "before": _tracks_as_json(self.before),
                "wrote": _tracks_as_json(self.wrote),
                "wish": self.wish,
            }
            record = {
                "edit": self.id,
                **state,
                "changes": self.changes,
                **tracks,
                "by_hand": self.by_hand,
            }
            if self.begun:
                begun = {track: release.to_json() for track, release in self.begun.items()}
                record["begun"] = {"wish": self.job.wish, "releases": begun}
            if self.surely_committed:
                record["surely committed"] = True
            if self.promoted:
                promoted = self.promoted.to_json()
                record["promotion"] = {"wish": self.job.promotion, "release": promoted}
            self.context.remember(self.job.memory, json.dumps(record))

    def forget(self) -> None:
        """Tells the journal that nothing is left to go on with. In a shared edit that stays open,
        other jobs go on.
        """
        if self.state.own and not self.replaces:
            self.context.remember(self.job.memory, None)
        if self.state.own or self.state.stage is Stage.COMMITTED:
            self.context.forget_uploads(client.uploads(self.job.package))


def is_shown(purpose: str) -> bool:
    """Whether Google Play lists what is changed for it, as it does all but the files that go with
    an artifact.
    """
    return purpose.partition(":")[0] not in WHAT


def recalled(job: ReleaseJob, context: Context) -> ReleaseEdit | None:
    """The edit that the journal holds, if any. Whatever can't be read is no record."""
    try:
        record = json.loads(context.recall(job.memory) or "{}")
        return ReleaseEdit(
            job,
            context,
            Edit(context, job.package, str(record["edit"])),
            _recalled_state(record),
            changes={str(purpose): str(digest) for purpose, digest in record["changes"].items()},
            before=_tracks(record["before"]),
            wrote=_tracks(record.get("wrote", {})),
            wish=str(record.get("wish", "")),
            by_hand={True: True, False: False}.get(record.get("by_hand")),
            promoted=_promoted(job, record),
            begun=_begun(job, record),
            surely_committed=record.get("surely committed") is True,
        )
    except _UNREADABLE:
        return None


def _promoted(job: ReleaseJob, record: Mapping[str, Any]) -> Release | None:
    """The release that the promotion was begun with, if it is the same promotion; else none."""
    begun = record.get("promotion", {})
    found = [begun["release"]] if begun.get("wish") == job.promotion else []
    return next(iter(releases({"releases": found})), None)


def _begun(job: ReleaseJob, record: Mapping[str, Any]) -> dict[str, Release]:
    """Return the releases that the job began to change, if it was for the same wish."""
    begun = record.get("begun", {})
    if begun.get("wish") != job.wish:
        return {}
    found = {}
    for track, release in begun["releases"].items():
        found[str(track)] = releases({"releases": [release]})[0]
    return found


def _recalled_state(record: Mapping[str, Any]) -> EditState:
    return EditState(True, Stage(record["stage"]), CommitKnowledge(record["commit"])).after(
        Event.RECALL
    )


def perhaps_committed(jobs: Sequence[ReleaseJob], recall: Callable[[str], str | None]) -> str:
    """Says of which of the apps a commit of an earlier run may have happened; empty where there is
    none.

    It is for a run that can't log in, and so can't look.
    """
    packages = []
    for job in (one for one in jobs if one.commits):
        with suppress(*_UNREADABLE):
            if _recalled_state(json.loads(recall(job.memory) or "{}")).in_doubt:
                packages.append(job.package)
    return (
        f"Perhaps committed, by an earlier run: {', '.join(packages)}. The next run checks."
        if packages
        else ""
    )


def _tracks_as_json(tracks: Mapping[str, Releases]) -> dict[str, list[dict[str, Any]]]:
    record = {}
    for track, on_track in tracks.items():
        record[track] = [release.to_json() for release in on_track]
    return record


def _tracks(record: Mapping[str, Any]) -> dict[str, Releases]:
    return {str(track): releases({"releases": found}) for track, found in record.items()}


def opened(job: ReleaseJob, context: Context) -> ReleaseEdit:
    """The edit to work in: the one that was named, the one an earlier run of the job left, or a
    fresh one.
    """
    if job.existing_edit and not job.dry_run:
        edit = ReleaseEdit(
            job,
            context,
            Edit(context, job.package, job.existing_edit),
            EditState(False, Stage.CHANGED),
        )
        try:
            edit.api.get()
        except ApiError as refused:
            if find(refused) in (EDIT_GONE, OTHER):
                raise blaming_the_input(refused) from refused
            raise
        context.info(f"Working in edit {edit.id}.")
        context.publish({"edit-id": edit.id, "committed": "false"})
        return edit
    if not job.commits:
        context.publish({"committed": "false"})
    kept = recalled(job, context)
    if kept is None:
        return inserted(job, context)
    try:
        return _taken_up(kept)
    except UploaderError as error:
        if kept.state.in_doubt:
            perhaps = perhaps_committed((job,), context.recall)
            raise error.with_advice(also=perhaps) from error
        raise


def _taken_up(kept: ReleaseEdit) -> ReleaseEdit:
    """The edit of an earlier run where it is open and asked for, else a fresh one, perhaps in its
    place.
    """
    job, context = kept.job, kept.context
    # Before anything can go wrong: it is ours, and it may be open; its commit may have happened.
    context.publish({"edit-id": kept.id} if kept.state.open else {})
    if kept.state.in_doubt:
        kept.tell_committed(None)
    if kept.state.stage is Stage.CLEAN and kept.state.commit is CommitKnowledge.NONE:
        # It is a copy of what was live then, and people may have changed that since.
        context.info(f"Edit {kept.id} of an earlier run has no changes in it.")
        discard(kept)
        return inserted(job, context)
    was_sent = kept.state.commit is not CommitKnowledge.NONE
    if kept.state.open:
        look(kept)
    serves = kept.changes.keys() <= job.purposes(context.sha256)
    if kept.state.open and serves:
        context.info(f"Continuing in edit {kept.id} of an earlier run.")
        kept.tell_uncommitted()
        _tell_promotion(kept)
        return kept
    if kept.state.open:
        context.info(
            f"Edit {kept.id} of an earlier run contains changes that this run does not make."
        )
        discard(kept)
    else:
        context.info(f"Edit {kept.id} of an earlier run is closed.")
        context.publish({"edit-id": ""})
    if not was_sent:  # nothing of it can have come to users
        kept.promoted = None
    return inserted(job, context, kept if serves else None)


def blaming_the_input(refused: ApiError) -> ApiError:
    """The refusal, with the advice that the edit which `existing-edit-id` names is not there, which
    running again would not change.
    """
    return refused.with_advice(
        cause="`existing-edit-id` names no open edit: it is misspelt, or it is committed, deleted "
        "or expired.",
        hint="Correct `existing-edit-id`, or leave it out for a fresh edit.",
    )


def inserted(job: ReleaseJob, context: Context, lost: ReleaseEdit | None = None) -> ReleaseEdit:
    """A fresh edit, perhaps in place of a lost one, whose changes are remembered only while a
    commit is in doubt.
    """
    if lost is None and (job.dry_run or job.rollout):
        _warn_of_closing(job.package, context)
    edit = ReleaseEdit(job, context, client.insert(context, job.package))
    if lost:
        edit.state = lost.state.after(Event.REPLACE)
        if edit.state.in_doubt or job.rollout:
            edit.changes = dict(lost.changes)  # of a rollout with the first look at it
        if edit.state.in_doubt:
            edit.before, edit.wrote = dict(lost.before), dict(lost.wrote)
            edit.wish, edit.by_hand = lost.wish, lost.by_hand
        edit.replaces = lost.replaces if lost.state.own else lost.id
        edit.promoted = lost.promoted
        edit.begun, edit.rollouts = dict(lost.begun), dict(lost.rollouts)
        edit.surely_committed = lost.surely_committed or lost.state.stage is Stage.COMMITTED
    edit.remember()
    # Google Play closes the edit that was open
    context.forget_uploads(client.uploads(job.package))
    context.info(f"Opened edit {edit.id} for {job.package}.")
    context.publish({"edit-id": edit.id})
    _tell_promotion(edit)
    if edit.state.in_doubt:
        edit.tell_committed(None)
    return edit


def _warn_of_closing(package: str, context: Context) -> None:
    """Says that the edit which is about to be opened closes that of a release which an earlier run
    did not finish.
    """
    if kept := unfinished(package, context):
        context.warning(
            f"Edit {kept} of an unfinished release of {package} is closed by the edit of this run, "
            "because an account has one open edit of an app. The next run of the release begins in "
            "a fresh one, and uploads again."
        )


def _tell_promotion(edit: ReleaseEdit) -> None:
    """Says which versions a promotion takes that was begun before, in another edit or by another
    run.
    """
    if edit.promoted:
        source = edit.job.promote_from
        version_codes = "+".join(edit.promoted.version_codes)
        edit.context.info(
            f"The promotion from {source} was begun with {version_codes} and stays so, whatever is "
            f"on {source} by now."
        )


def look(edit: ReleaseEdit) -> None:
    """Asks the edit itself whether it is open, committed or gone."""
    try:
        edit.api.get()
    except ApiError as refused:
        _closed(edit, refused)
    else:
        edit.apply(Event.FOUND_OPEN)


def _closed(edit: ReleaseEdit, refused: ApiError) -> None:
    """Takes down whether the edit was committed or is gone, as the refusal has it; raises one that
    has neither.
    """
    if COMMITTED.search(refused.message) or refused.reason == "editAlreadyCommitted":
        edit.apply(Event.FOUND_COMMITTED)
    elif CHANGED_OUTSIDE.search(refused.message):
        edit.apply(Event.CLOSED_UNCOMMITTED)
    elif refused.status in (404, 410) or find(refused) is EDIT_GONE:
        edit.apply(Event.CLOSED)
    else:
        raise refused


def listed_artifacts(
    edit: ReleaseEdit, kinds: Sequence[ArtifactKind] = ("bundles", "apks")
) -> ListedArtifacts:
    """Return the artifacts of these kinds that the edit has, by version code.

    A version code belongs to one artifact, be it a bundle or an APK.
    """
    artifacts: dict[int, Mapping[str, Any]] = {}
    for entries in edit.context.together([partial(edit.api.listed, kind) for kind in kinds]):
        for entry in entries:
            code = entry.get("versionCode")
            if isinstance(code, int):
                artifacts[code] = entry
    return artifacts


def settle(edit: ReleaseEdit, error: Exception, *, keep: bool = False) -> Exception:
    """Decide the edit's fate after a failure, do it, and say which; never hide the failure itself.

    Return the failure, with other advice where `existing-edit-id` is to blame. With `keep` an edit
    that has changes in it stays open after every failure, since other apps of the run are
    committed.
    """
    job, context, state = edit.job, edit.context, edit.state
    if state.stage is Stage.DELETED:
        return error  # its deletion said what became of it
    passes = isinstance(error, (TemporaryError, Interrupted)) and state.stage is not Stage.GONE
    if passes or (keep and state.stage is Stage.CHANGED):
        context.info(_why_kept(edit))
    elif state.open:
        _settle_open(edit, error)
    else:
        error = _settle_closed(edit, error)
    if not edit.state.open and edit.state.commit in (
        CommitKnowledge.UNKNOWN,
        CommitKnowledge.HAPPENED,
    ):
        edit.remember()  # that there was a commit, so that the next run does not send it again
    if edit.state.in_doubt and job.commits:
        edit.tell_committed(None)
        if state.stage is not Stage.COMMITTING:  # of which it was said
            context.warning(f"{job.package} is perhaps committed: {_who_checks(edit)}.")
    return error


def _settle_open(edit: ReleaseEdit, error: BaseException) -> None:
    state, context = edit.state, edit.context
    if not state.own:
        context.info(f"Edit {edit.id} was not opened by this run and stays open.")
    elif state.stage is Stage.REFUSED:
        context.info(f"Edit {edit.id} is kept with everything in it.")
    elif state.stage is Stage.COMMITTING:
        context.warning(_why_kept(edit))
    else:
        if state.commit is not CommitKnowledge.UNKNOWN:
            _discarded(edit, "Uploaded, then discarded with the edit", error)
        with suppress(Interrupted):  # the first error is the one that counts
            discard(edit)


def _settle_closed(edit: ReleaseEdit, error: Exception) -> Exception:
    state = edit.state
    if not state.in_doubt:
        lost(edit, error)
    if not state.own and isinstance(error, ApiError):
        return blaming_the_input(error)
    edit.context.publish({"edit-id": ""} if state.stage is Stage.GONE else {})
    edit.forget()
    return error


def lost(edit: ReleaseEdit, error: BaseException) -> None:
    """Takes back what this run brought into an edit that is gone. Whoever closed it may have
    released the same.
    """
    if edit.state.stage is Stage.GONE:
        outputs = ("committed",) if edit.job.commits else ()
        _discarded(edit, "Uploaded, then lost with the edit, which is gone", error, *outputs)


def _discarded(edit: ReleaseEdit, what: str, error: BaseException, *outputs: str) -> None:
    """Nothing that this run uploaded is of any use without the edit, and the outputs must not claim
    otherwise.
    """
    why = error.what if isinstance(error, UploaderError) else "the program itself failed."
    _take_back(edit, f"{what}: {why}", *outputs)


def _take_back(edit: ReleaseEdit, why: str, *outputs: str) -> None:
    """Makes `why` the error of what was uploaded into the edit, and takes the outputs back that say
    otherwise.
    """
    artifacts = zip(edit.job.artifacts, edit.job.codes, strict=True)
    ours = frozenset(
        artifact.name for artifact, code in artifacts if f"artifact:{code}" in edit.uncommitted
    )
    edit.context.discarded(why, ours, ("version-code", "version-codes", *outputs))


def _why_kept(edit: ReleaseEdit) -> str:
    """What becomes of an edit that a failure left open; the next run finds it only where the
    journal keeps it.
    """
    remembered = _is_remembered(edit)
    if edit.replaces:
        return f"Edit {edit.id} holds no changes."
    if edit.state.stage is Stage.COMMITTING:
        return f"The commit of edit {edit.id} may have happened: {_who_checks(edit)}."
    if edit.job.rollout and not remembered:
        return f"Edit {edit.id} is left behind: the next run opens a fresh one."
    if remembered and edit.job.lasting_state:
        return f"Edit {edit.id} is kept: the next run continues in it."
    alone = "in a run of this app alone " if edit.job.one_of_several else ""
    by_id = f"set `existing-edit-id: {edit.id}` {alone}to continue in it"
    if not remembered:
        return f"Edit {edit.id} is kept: {by_id}."
    return (
        f"Edit {edit.id} is kept: a run that finds the state of this one continues in it, any "
        f"other opens a fresh edit. Keep `state-dir`{'' if edit.job.rollout else f', or {by_id}'}."
    )


def _is_remembered(edit: ReleaseEdit) -> bool:
    """Whether the state folder has the edit. Under the job's name there is one of its own, never a
    shared one.
    """
    return edit.state.own and not edit.replaces and edit.context.recall(edit.job.memory) is not None


def _who_checks(edit: ReleaseEdit) -> str:
    if not _is_remembered(edit):
        return "check in the Play Console"
    if edit.job.lasting_state:
        return "the next run checks"
    return "a run that finds the state of this one checks; else look in the Play Console"


def discard(edit: ReleaseEdit) -> None:
    """Deletes an edit of our own. A failure to do so is only a warning: an edit that nobody commits
    changes nothing.

    Raises Interrupted, which ends the run here as anywhere.
    """
    before = edit.state
    edit.apply(Event.DELETE)
    # a run that is stopped now leaves its record: the next one finds out
    edit.context.publish({"edit-id": ""})
    failure = _delete(edit.api, edit.context)
    if before.stage is Stage.CHANGED:
        # by a commit, for all we know
        closed = isinstance(failure, ApiError) and find(failure) in (EDIT_GONE, OTHER)
        unknown = closed or (failure is not None and before.in_doubt)
        # Of files that go with a version that is live already, nothing shows whether they are.
        unknown = unknown or not any(map(is_shown, edit.changes))
        edit.tell_committed(None if unknown else False)
    edit.forget()


def _delete(edit: Edit, context: Context, *, closing: bool = False) -> UploaderError | None:
    """What the deletion failed with."""
    try:
        edit.delete(closing=closing)
    except ApiError as refused:
        _tell_undeleted(edit, refused, context)
        return refused
    except UploaderError as error:
        context.warning(
            f"Edit {edit.id} could not be deleted ({error.what}); it expires by itself."
        )
        if isinstance(error, Interrupted) and not closing:
            raise
        return error
    context.info(f"Edit {edit.id} is deleted.")
    return None


def _tell_undeleted(edit: Edit, refused: ApiError, context: Context) -> None:
    """Says what became of an edit whose deletion was refused."""
    if COMMITTED.search(refused.message):
        context.warning(f"Edit {edit.id} is not deleted: it is committed, by another job.")
    elif find(refused) is EDIT_GONE:
        context.info(f"Edit {edit.id} is gone.")
    # in words that are not about an edit: it need not be Google Play's answer
    elif refused.status in (404, 410):
        context.info(
            f"Edit {edit.id} is not found any more ({refused.what}); if it is there, it "
            "expires by itself."
        )
    else:
        context.warning(
            f"Edit {edit.id} could not be deleted ({refused.what}); it expires by itself."
        )


def commit(edit: ReleaseEdit) -> bool:
    """Commits the edit; the result is whether the changes still have to be sent for review by hand.

    Where Google demands the opposite about the review, the same edit is committed again the other
    way. A commit whose response is lost is looked up before it is repeated, and so is one that is
    answered as if there were nothing to commit (404, 410). Raises with the edit gone, or refused
    with all in it.
    """
    job = edit.job
    by_hand = job.not_sent_for_review == "true"
    turns = 0
    denied = False
    waits = edit.context.backoff()
    while True:
        error = _send_commit(edit, by_hand=by_hand)
        if error is None:
            edit.apply(Event.COMMIT_ACCEPTED)
            return by_hand
        if not isinstance(error, (ApiError, CredentialsError)) or (_denies(error) and not denied):
            denied = denied or _denies(error)
            if _has_happened(edit, error, waits):
                return bool(edit.by_hand)
            continue
        turns += 1
        known = find(error) if isinstance(error, ApiError) else None
        if isinstance(error, ApiError) and known is EDIT_GONE:
            _gone_at_commit(edit, error)
            return bool(edit.by_hand)
        edit.apply(Event.COMMIT_REFUSED)
        edit.remember()
        turned = known is (REVIEW_AUTOMATIC if by_hand else REVIEW_BY_HAND)
        if turns > MAX_TURNS or job.not_sent_for_review != "auto" or not turned:
            raise _with_edit(edit, error)
        by_hand = not by_hand
        what = error.what.rstrip(".")
        edit.context.info(
            f"{what}. Committing edit {edit.id} again with the opposite review setting."
        )


def _send_commit(
    edit: ReleaseEdit, *, by_hand: bool
) -> OutcomeUnknown | ProtocolError | ApiError | CredentialsError | None:
    """Sends one commit, once it is written down: what went wrong with it. What is no answer is a
    ProtocolError.
    """
    # One that was sent the other way before, and may still arrive, leaves it to people as well.
    edit.by_hand = by_hand or (edit.state.commit is CommitKnowledge.DID_NOT and bool(edit.by_hand))
    edit.apply(Event.SEND_COMMIT)
    edit.remember()
    try:
        edit.api.commit(review_by_hand=by_hand, cancel_review=edit.job.cancel_review)
    except (OutcomeUnknown, ProtocolError, ApiError, CredentialsError) as error:
        return error
    return None


def _denies(error: UploaderError) -> bool:
    """Whether it says that there is nothing to commit, in words that are not about an edit."""
    return isinstance(error, ApiError) and error.status in (404, 410) and find(error) is OTHER


def _has_happened(edit: ReleaseEdit, lost: UploaderError, waits: Backoff) -> bool:
    """Waits, then asks the edit whether it is committed. Raises ReleaseRefused where it is gone."""
    edit.apply(Event.RESPONSE_LOST)
    edit.context.warning(f"{sentence(lost.what)} Checking whether edit {edit.id} is committed.")
    waits.wait(f"the commit of edit {edit.id} was not answered")
    look(edit)
    if edit.state.stage is Stage.GONE:
        raise _gone_after_commit(edit) from lost
    return edit.state.stage is Stage.COMMITTED


def _gone_at_commit(edit: ReleaseEdit, refused: ApiError) -> None:
    """Takes down what a refusal says that has no edit to commit any more. Raises unless it says:
    committed before.
    """
    if CHANGED_OUTSIDE.search(refused.message):
        edit.apply(Event.CLOSED_UNCOMMITTED)
        raise refused
    # perhaps by the commit before, which took its time
    if edit.state.commit is CommitKnowledge.DID_NOT:
        edit.apply(Event.RESPONSE_LOST)
        _closed(edit, refused)
        if edit.state.stage is Stage.COMMITTED:
            return
        raise gone(edit.id) from None
    if edit.state.own:
        # Nobody but this program works in it, so it may be gone because of this commit.
        edit.apply(Event.RESPONSE_LOST)
    edit.apply(Event.CLOSED)
    raise refused


def _with_edit(edit: ReleaseEdit, refused: ApiError | CredentialsError) -> UploaderError:
    """The refusal of a commit, explained, with what becomes of the edit."""
    error = explained(refused) if isinstance(refused, ApiError) else refused
    named = (
        ""
        if edit.job.rollout or edit.job.one_of_several
        else f"set `existing-edit-id: {edit.id}`, or "
    )
    if needs_new_build(error.code):
        return error.with_advice(also=f"Edit {edit.id} is kept with everything in it.")
    return error.with_advice(
        also=f"Edit {edit.id} is kept with everything in it: {named}run again."
    )


def gone(name: str, known: str = "it is not known whether it was committed") -> ReleaseRefused:
    """The end of a job whose edit is gone after a commit that was not answered, with what is
    `known` of that.
    """
    return ReleaseRefused(
        f"Edit {name} is gone, and {known}.",
        cause="The answer to its commit was lost, and the edit is not to be found.",
        hint="Check in the Play Console, or run again: every job that shares the edit, where it is "
        "shared.",
        code="edit-gone",
    )


def _gone_after_commit(edit: ReleaseEdit) -> ReleaseRefused:
    """Return the refusal for an edit that is gone after a commit whose answer was lost."""
    if edit.state.commit is CommitKnowledge.NONE:
        return gone(edit.id, "it was not committed: the app was changed outside of it")
    return gone(edit.id)


def close(edit: ReleaseEdit, error: ApiError) -> None:
    """Note that others closed the edit. The refusal may prove that it was not committed."""
    proof = CHANGED_OUTSIDE.search(error.message)
    edit.apply(Event.CLOSED_UNCOMMITTED if proof else Event.CLOSED)


def unfinished(package: str, context: Context) -> str:
    """The open edit of a release that an earlier run did not finish, if any: to open another would
    close it.
    """
    kept = recalled(ReleaseJob(package), context)
    return kept.id if kept and kept.state.open else ""


def read_and_deleted(edit: Edit, read: Callable[[Edit], T], context: Context) -> T:
    """What is read in the edit, which is deleted then, after a failure or a signal, too."""
    try:
        content = read(edit)
    except UploaderError:
        _delete(edit, context, closing=True)
        raise
    _delete(edit, context, closing=True)
    return content
