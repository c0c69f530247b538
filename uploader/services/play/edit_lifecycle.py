"""The edit that a release is made in: its states, its record in the journal, and its requests.

What Google Play does:

- An edit begins as a copy of what is live.
- An account has one open edit of an app. Opening another, committing one, or a change in the Play
  Console closes it, and what was uploaded into it is lost.
- A commit is atomic and happens once. A refused one leaves the edit open.
- Nothing says which edit made a release live.

An edit goes from CLEAN through CHANGED and COMMITTING to COMMITTED, if nothing goes wrong. Beside
its stage, its state has what is known of the job's commit. That is about every commit of the job:
it outlives the edit, which another may replace, and the run.

A commit whose response is lost is looked up before it is repeated, and so is one that is answered
with 404 or 410:

- The edit says that it was committed: the commit happened.
- The edit is open: it is committed again, which can't have two effects. The lost commit may still
  arrive, so it is not known to have failed (STILL_OPEN, which is weaker than NONE). If the edit
  is gone later, the commit is in doubt again. Until then, nothing says that it did not happen.
- The edit is gone: nobody knows (UNKNOWN). A fresh edit takes its place and shows what is live. If
  the artifacts and tracks that the lost edit changed are live, the commit happened, even if a
  person has widened, completed or halted the release since, or has changed the testers or the store
  listing. If it changed neither, it happened if all that the job asks for is live.

What the journal keeps of an edit of our own (`ReleaseEdit.remember`) lets a later run continue:

- Changes and commits are written down before they are sent. The record of a killed run may claim
  too much, never too little.
- A later run continues in the edit only if it asks for all that was changed there. It would only
  add to some changes (the store listing, testers): their purpose has a digest of what was wished,
  which has to be the same. A track is written again unless it was written exactly like that.
- Other bytes under a version code that only our own edit has can't be replaced: that edit is
  deleted.
- A promotion stays with the versions that it was begun with: in the same run, in the same edit, and
  while a commit of it is in doubt.
- A job without files changes the release that it was begun with, and no other. If a person or
  another job has changed that release since, it is refused.

Weak spots:

- Nobody knows the id of an edit whose opening was never answered. Opening the next one closes it.
- If a lost edit changed only supplementary files of a version that was there already, nothing shows
  whether its commit happened. They are sent and committed once more, with the same content.
- Somebody may release the same artifact by hand after a commit that did not happen, before its
  effect is looked at. That release is taken for the job's, and a mapping that only the lost edit
  had is not sent again: a warning says so, and the next run sends it. If testers or the store
  listing are missing, they are committed again, and the mapping with them; only the results of the
  lost uploads then say that these succeeded.
- Somebody may put another release on the track after a commit whose edit is gone, before its effect
  is looked at. Then the job's release comes to the track again.
- A shared edit is in no journal. If its run is killed during the commit, the next run can only say
  that the edit is closed.
- A fresh edit lacks what other jobs put into a shared one, and only shows whether the commit of the
  shared one happened. Opening it closes an edit that another job of the account has opened for the
  app meanwhile.
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
from typing import Any, TypeVar

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
    STORE_PRESENCE,
    TESTERS,
    TO_PRODUCTION,
    TO_TESTING,
    explain,
    find,
    needs_new_build,
)
from uploader.services.play.model import (
    ArtifactKind,
    ListedArtifact,
    Release,
    Releases,
    TrackName,
)
from uploader.services.play.release_job import WHAT, ReleaseJob
from uploader.text import sentence

CHANGED_OUTSIDE = re.compile(
    r"change was made to the application outside of this edit", re.IGNORECASE
)
"""Google's words for an edit that others' changes have invalidated: it was not committed."""
COMMITTED = re.compile(
    r"edit has already been (successfully )?committed", re.IGNORECASE
)
MAX_TURNS = 2  # commits the other way about the review, after the first
# raised on what is no record
_UNREADABLE = (ValueError, LookupError, TypeError, AttributeError, ProtocolError)
ListedArtifacts = Mapping[int, ListedArtifact]  # by version code
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
    # Its response was lost, and the edit was found open afterwards: it most likely did not happen,
    # but may still arrive.
    STILL_OPEN = "did not happen"
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
    CLOSED_UNCOMMITTED = (
        "others changed the app, which closed the edit before it was committed"
    )
    SEEN_LIVE = "what the replaced edit changed is live"
    NOT_SEEN = "what the replaced edit changed is not live"
    DELETE = "the edit is about to be deleted"
    RECALL = "a later run finds its record"
    REPLACE = "a fresh edit takes its place"


Position = tuple[Stage, CommitKnowledge]


@dataclass(frozen=True)
class _Rule:
    """What some events lead to in one stage, if what is known of the commit is among `commits`.

    `commit` is what is known of it afterwards; None if that stays the same.
    """

    commits: tuple[CommitKnowledge, ...]
    events: tuple[Event, ...]
    stage: Stage
    commit: CommitKnowledge | None = None


_NONE = CommitKnowledge.NONE
_UNKNOWN = CommitKnowledge.UNKNOWN
_STILL_OPEN = CommitKnowledge.STILL_OPEN
_HAPPENED = CommitKnowledge.HAPPENED
_RULES: Mapping[Stage, tuple[_Rule, ...]] = {
    Stage.CLEAN: (
        _Rule((_NONE, _UNKNOWN), (Event.FOUND_OPEN, Event.RECALL), Stage.CLEAN),
        # HAPPENED: somebody else changed something since, and the job asks for it again, as every
        # later run of it would.
        _Rule((_NONE, _HAPPENED), (Event.CHANGE,), Stage.CHANGED, _NONE),
        _Rule((_UNKNOWN,), (Event.SEEN_LIVE,), Stage.CLEAN, _HAPPENED),
        _Rule((_UNKNOWN,), (Event.NOT_SEEN,), Stage.CLEAN, _NONE),
        _Rule((_NONE, _UNKNOWN), (Event.FOUND_COMMITTED, Event.CLOSED), Stage.GONE),
        _Rule((_HAPPENED,), (Event.CLOSED,), Stage.GONE, _UNKNOWN),
        _Rule((_NONE, _UNKNOWN, _HAPPENED), (Event.CLOSED_UNCOMMITTED,), Stage.GONE),
        _Rule((_NONE, _UNKNOWN, _HAPPENED), (Event.DELETE,), Stage.DELETED),
    ),
    Stage.CHANGED: (
        _Rule(
            (_NONE, _STILL_OPEN),
            (Event.CHANGE, Event.FOUND_OPEN, Event.RECALL),
            Stage.CHANGED,
        ),
        _Rule((_NONE, _STILL_OPEN), (Event.SEND_COMMIT,), Stage.COMMITTING),
        _Rule((_NONE, _STILL_OPEN), (Event.FOUND_COMMITTED,), Stage.GONE, _UNKNOWN),
        _Rule((_NONE, _STILL_OPEN), (Event.CLOSED_UNCOMMITTED,), Stage.GONE, _NONE),
        _Rule((_NONE,), (Event.CLOSED,), Stage.GONE, _NONE),
        _Rule((_STILL_OPEN,), (Event.CLOSED,), Stage.GONE, _UNKNOWN),
        _Rule((_NONE, _STILL_OPEN), (Event.DELETE,), Stage.DELETED, _NONE),
    ),
    Stage.COMMITTING: (
        _Rule(
            (_NONE, _STILL_OPEN), (Event.COMMIT_ACCEPTED,), Stage.COMMITTED, _HAPPENED
        ),
        # STILL_OPEN: what is refused is this commit. The first one, whose response was lost, may
        # still arrive.
        _Rule((_NONE, _STILL_OPEN), (Event.COMMIT_REFUSED,), Stage.REFUSED),
        _Rule((_NONE, _STILL_OPEN), (Event.RESPONSE_LOST,), Stage.COMMITTING, _UNKNOWN),
        _Rule(
            (_NONE, _STILL_OPEN, _UNKNOWN), (Event.RECALL,), Stage.COMMITTING, _UNKNOWN
        ),
        _Rule((_UNKNOWN,), (Event.FOUND_OPEN,), Stage.CHANGED, _STILL_OPEN),
        _Rule((_UNKNOWN,), (Event.FOUND_COMMITTED,), Stage.COMMITTED, _HAPPENED),
        _Rule(
            (_NONE, _STILL_OPEN, _UNKNOWN),
            (Event.CLOSED_UNCOMMITTED,),
            Stage.GONE,
            _NONE,
        ),
        _Rule((_NONE,), (Event.CLOSED,), Stage.GONE, _NONE),
        _Rule((_STILL_OPEN, _UNKNOWN), (Event.CLOSED,), Stage.GONE, _UNKNOWN),
    ),
    Stage.REFUSED: (
        # Sent again the other way about the review, as Google's refusal demands.
        _Rule((_NONE, _STILL_OPEN), (Event.SEND_COMMIT,), Stage.COMMITTING),
        _Rule((_NONE, _STILL_OPEN), (Event.RECALL,), Stage.CHANGED),
    ),
    Stage.COMMITTED: (
        # By a later run: whether it asks for the same is to be seen.
        _Rule((_HAPPENED,), (Event.REPLACE,), Stage.CLEAN, _UNKNOWN),
    ),
    Stage.GONE: (
        _Rule((_NONE, _UNKNOWN), (Event.REPLACE,), Stage.CLEAN),
        _Rule((_NONE, _UNKNOWN), (Event.RECALL,), Stage.GONE),
    ),
    Stage.DELETED: (
        _Rule((_UNKNOWN,), (Event.REPLACE,), Stage.CLEAN, _UNKNOWN),
        # HAPPENED: after a later failure, a later run may ask for something else.
        _Rule((_UNKNOWN, _HAPPENED), (Event.RECALL,), Stage.DELETED, _UNKNOWN),
    ),
}


def _transitions() -> dict[tuple[Position, Event], Position]:
    """Return what follows each position and event, as the rules have it."""
    transitions = {}
    for stage, rules in _RULES.items():
        for rule in rules:
            for commit in rule.commits:
                after = (rule.stage, rule.commit or commit)
                for event in rule.events:
                    transitions[(stage, commit), event] = after
    return transitions


TRANSITIONS: Mapping[tuple[Position, Event], Position] = _transitions()
"""Every event that may come in every position. What is not in the table can't happen, and asking
for it is a bug.

From HAPPENED no commit can be sent, and from COMMITTING or UNKNOWN no edit with changes in it can
be deleted.
"""

NEVER_SHARED = frozenset(
    {
        Event.DELETE,
        Event.RECALL,
        Event.SEEN_LIVE,
        Event.NOT_SEEN,
    }
)
"""What never happens to an edit that `existing-edit-id` names: others work in it, and only they can
do it again.
"""


@dataclass(frozen=True)
class EditState:
    """What is known of one edit at one moment; `after(event)` gives the next state.

    An edit of our `own` was opened for the job, by this run or an earlier one: it may be kept,
    resumed, deleted and replaced.
    """

    own: bool = True
    stage: Stage = Stage.CLEAN
    commit: CommitKnowledge = CommitKnowledge.NONE

    @property
    def open(self) -> bool:
        """Whether the edit may be open, as far as anybody knows."""
        return self.stage in (
            Stage.CLEAN,
            Stage.CHANGED,
            Stage.COMMITTING,
            Stage.REFUSED,
        )

    @property
    def shows_earlier_commit(self) -> bool:
        """Whether it took the place of an edit whose commit may have happened: what is live shows
        whether it did.
        """
        if self.stage is not Stage.CLEAN:
            return False
        return self.commit is CommitKnowledge.UNKNOWN

    @property
    def in_doubt(self) -> bool:
        """Whether a commit of the job may have happened without this program knowing it, or may
        still happen.
        """
        if self.stage is Stage.COMMITTING:
            return True
        return self.commit in (CommitKnowledge.UNKNOWN, CommitKnowledge.STILL_OPEN)

    @property
    def may_be_live(self) -> bool:
        """Whether the changes in the record were committed, or may have been."""
        return self.commit in (CommitKnowledge.UNKNOWN, CommitKnowledge.HAPPENED)

    def allows(self, event: Event) -> bool:
        """Return whether the event may come now."""
        if event in NEVER_SHARED and not self.own:
            return False
        position = (self.stage, self.commit)
        return (position, event) in TRANSITIONS

    def after(self, event: Event) -> EditState:
        """Return the state after an event. Raises LookupError for one that can't come now."""
        if not self.allows(event):
            raise LookupError(f"{event.name} can't happen to {self}")
        position = (self.stage, self.commit)
        stage, commit = TRANSITIONS[position, event]
        own = self.own or event is Event.REPLACE
        return EditState(own, stage, commit)


@dataclass
class EditRecord:
    """What a job has changed in an edit. While a commit is in doubt it is about the edit that the
    present one has replaced.

    - `changes`: the purposes of the job (`ReleaseJob.purposes`) for which something was changed,
      each with the digest of what Google Play accepted, empty while that is not known.
    - `before`: the tracks that were changed, as they were before.
    - `wrote`: what was sent to these tracks.
    - `wish`: the digest of what was wished there (`ReleaseJob.wish`).
    - `by_hand`: whether the last commit leaves it to people to send the changes for review; None
      if that is not known.
    """

    changes: dict[str, str] = field(default_factory=dict)
    before: dict[str, Releases] = field(default_factory=dict)
    wrote: dict[str, Releases] = field(default_factory=dict)
    wish: str = ""
    by_hand: bool | None = None


@dataclass
class JobBeginning:
    """What a job found on the tracks when it began. It stays with that in every edit.

    - `promotion_source`: the release that a promotion takes.
    - `releases`: the release that a job without files changes, by track.
    - `rollouts`: the version codes that were in progress, by track.
    """

    promotion_source: Release | None = None
    releases: dict[str, Release] = field(default_factory=dict)
    rollouts: dict[str, frozenset[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class PreviousEdit:
    """What is known of the edit of the job in whose place the present one was opened.

    - `shared_id`: its id, if it is a shared one. The present one only shows whether its commit
      happened.
    - `overtaken`: others closed it while it held changes of the job. It is certain that these were
      not committed, unless it was the job's own commit that found the edit closed.
    - `surely_committed`: the edit itself has said that it is committed.
    """

    shared_id: str = ""
    overtaken: bool = False
    surely_committed: bool = False


@dataclass
class ReleaseEdit:
    """The edit that a job works in, and what is known of it and of the edits before it.

    What was read in the edit is asked for once: `seen` are the tracks as they were last read or
    written, `language` is the app's default one. `missing` are the closed tracks that are to be
    created in the edit.
    """

    job: ReleaseJob
    context: Context
    api: Edit
    state: EditState = EditState()
    record: EditRecord = field(default_factory=EditRecord)
    begun: JobBeginning = field(default_factory=JobBeginning)
    previous: PreviousEdit = PreviousEdit()
    seen: dict[str, Releases] = field(default_factory=dict)
    language: str = ""
    missing: set[str] = field(default_factory=set)
    # guards the record: parts of a release write to it at the same time
    _lock: threading.RLock = field(
        default_factory=threading.RLock,
        repr=False,
        compare=False,
    )

    @property
    def id(self) -> str:
        """The id that Google Play gave it."""
        return self.api.id

    @property
    def changes(self) -> Mapping[str, str]:
        """The purposes for which something was changed, as the record has them."""
        return self.record.changes

    @property
    def uncommitted(self) -> Collection[str]:
        """The purposes for which this very edit holds a change; none while the record is about
        changes that may be live.
        """
        if self.state.may_be_live:
            return ()
        return self.changes.keys()

    @property
    def may_be_resumed(self) -> bool:
        """Whether the journal keeps the edit: not one that `existing-edit-id` names, nor the one
        that takes its place.
        """
        return self.state.own and not self.previous.shared_id

    def apply(self, event: Event) -> None:
        """Take the state one step further. Raises LookupError for an event that can't come now."""
        self.state = self.state.after(event)

    def is_new(self, track: str) -> bool:
        """Return whether this edit creates the track."""
        if track in self.missing:
            return True
        return self.job.new_track_purpose(track) in self.uncommitted

    def base(self, track: str, now: Releases) -> Releases:
        """Return what the track held before this very edit was touched; `now` is what it holds."""
        if self.job.track_purpose(track) not in self.uncommitted:
            return now
        return self.record.before.get(track, now)

    def wrote_otherwise(self, track: str, after: Releases) -> bool:
        """Return whether this edit may hold something on the track that is not asked for any more.

        Google Play's list does not show it, since Google Play adds to releases by itself (countries
        for example). A record of an earlier version of this program does not say what was written.
        """
        if self.job.track_purpose(track) not in self.uncommitted:
            return False
        return self.record.wrote.get(track) != after

    def note_earlier_commit(self, *, is_live: bool) -> None:
        """Note whether the commit of the edit before this one happened; `is_live` says whether what
        it changed is live.

        A commit that was only about supplementary files can't be seen: it counts as one that did
        not happen. What was uploaded for such a commit is lost, and the record begins anew.

        Raises ReleaseRefused if a shared edit is lost, or may be, since other jobs would have to
        make their part of it again.
        """
        shows = _any_shown(self.changes)
        shared_id = self.previous.shared_id
        if shared_id and not shows:
            raise edit_gone_error(shared_id)
        if is_live and shows:
            self.apply(Event.SEEN_LIVE)
            return
        self.apply(Event.NOT_SEEN)
        self._tell_missing(self.changes)
        if shared_id:
            raise edit_gone_error(shared_id, "what this run put into it is not live")
        # It reads what the record says is not committed, so that comes before the new record.
        _take_back(
            self, "Uploaded, then lost with the edit, whose commit did not happen."
        )
        self.record = EditRecord()

    def begin_change(self, purpose: str) -> None:
        """Write to the journal that something is about to change."""
        with self._lock:
            if self._note_change(purpose):
                self.remember()

    def begin_track_change(
        self,
        track: str,
        before: Releases,
        after: Releases,
    ) -> None:
        """Write to the journal what a track held and is to hold, before the track is written."""
        with self._lock:
            self._note_change(self.job.track_purpose(track))
            self.record.before[track] = before
            self.record.wrote[track] = after
            self.record.wish = self.job.wish
            self.remember()

    def _note_change(self, purpose: str) -> bool:
        """Note that something is about to change, and return whether that is news for the journal.

        If it is, what it changes is not live, and the output `committed` says so. Raises
        LookupError in a state from which nothing can be changed.
        """
        before = self.state
        self.apply(Event.CHANGE)
        if before.commit is CommitKnowledge.HAPPENED:
            # The changes recorded so far are live. From here on, only new ones are recorded.
            self.record = EditRecord()
        has_moved = before != self.state
        new = has_moved or purpose not in self.changes
        self.record.changes.setdefault(purpose, "")
        if new:
            self._tell_missing((purpose,))
        return new

    def tell_uncommitted(self) -> None:
        """Set the output `committed`, as far as it follows from what this edit holds."""
        self._tell_missing(self.uncommitted)

    def _tell_missing(self, purposes: Iterable[str]) -> None:
        """Set the output `committed` to false, since what these purposes change is not live.

        While a commit may still arrive, it is set to empty. It stays as it is if the purposes are
        all about supplementary files: Google Play does not show whether these are live.
        """
        if not _any_shown(purposes):
            return
        if self.state.in_doubt:
            self.tell_committed(None)
        else:
            self.tell_committed(False)

    def tell_committed(self, committed: bool | None) -> None:
        """Set the output `committed`; None, if nobody knows, makes it empty.

        In a run that publishes nothing it is always false.
        """
        if not self.job.commits:
            committed = False
        words = {True: "true", False: "false", None: ""}
        self.context.publish({"committed": words[committed]})

    def warn_about_app(self, text: str) -> None:
        """Log a warning under the app's name. In a run about several apps every line has it."""
        if not self.job.one_of_several:
            text = f"{self.job.package}: {text}"
        self.context.warning(text)

    def finish_change(self, purpose: str, digest: str) -> None:
        """Write to the journal what Google Play accepted, or the note that `track_merge.put` keeps
        of a track before it writes it.
        """
        with self._lock:
            self.record.changes[purpose] = digest
            self.remember()

    def remember(self) -> None:
        """Write to the journal what the next run of the job needs to continue in the edit."""
        if not self.may_be_resumed:
            return
        record: dict[str, object] = {
            "edit": self.id,
            "stage": self.state.stage.value,
            "commit": self.state.commit.value,
            "changes": self.record.changes,
            "before": _tracks_as_json(self.record.before),
            "wrote": _tracks_as_json(self.record.wrote),
            "wish": self.record.wish,
            "by_hand": self.record.by_hand,
        }
        if self.begun.releases:
            begun = {}
            for track, release in self.begun.releases.items():
                begun[track] = release.to_json()
            record["begun"] = {
                "wish": self.job.wish,
                "releases": begun,
            }
        if self.job.replace_rollout:
            rollouts = {}
            for track, codes in self.begun.rollouts.items():
                rollouts[track] = sorted(codes)
            record["rollouts"] = {
                "wish": self.job.wish,
                "version codes": rollouts,
            }
        if self.previous.surely_committed:
            record["surely committed"] = True
        if self.begun.promotion_source:
            promoted = self.begun.promotion_source.to_json()
            record["promotion"] = {
                "wish": self.job.promotion,
                "release": promoted,
            }
        self.context.remember(self.job.memory, json.dumps(record))

    def forget(self) -> None:
        """Note in the journal that there is nothing to continue.

        Uploads are remembered while a shared edit stays open, in which other jobs work on.
        """
        if self.may_be_resumed:
            self.context.remember(self.job.memory, None)
        if self.state.own or self.state.stage is Stage.COMMITTED:
            self.context.forget_uploads(client.uploads(self.job.package))


def is_shown(purpose: str) -> bool:
    """Return whether Google Play lists what is changed for a purpose.

    It lists everything but the files that go with an artifact.
    """
    kind = purpose.partition(":")[0]
    return kind not in WHAT


def _any_shown(purposes: Iterable[str]) -> bool:
    """Return whether Google Play lists what is changed for any of the purposes."""
    return any(map(is_shown, purposes))


def recall_edit(job: ReleaseJob, context: Context) -> ReleaseEdit | None:
    """Return the edit that the journal holds, None if it holds none that can be read."""
    try:
        kept = context.recall(job.memory) or "{}"
        record = json.loads(kept)
        api = Edit(context, job.package, str(record["edit"]))
        begun = JobBeginning(
            promotion_source=_recall_source(job, record),
            releases=_recall_releases(job, record),
            rollouts=_recall_rollouts(job, record),
        )
        surely_committed = record.get("surely committed") is True
        return ReleaseEdit(
            job,
            context,
            api,
            _recall_state(record),
            _recall_changes(record),
            begun,
            PreviousEdit(surely_committed=surely_committed),
        )
    except _UNREADABLE:
        return None


def _recall_changes(record: Mapping[str, Any]) -> EditRecord:
    changes = {
        str(purpose): str(digest) for purpose, digest in record["changes"].items()
    }
    return EditRecord(
        changes=changes,
        before=_tracks(record["before"]),
        wrote=_tracks(record.get("wrote", {})),
        wish=str(record.get("wish", "")),
        by_hand=_flag(record.get("by_hand")),
    )


def _recall_source(job: ReleaseJob, record: Mapping[str, Any]) -> Release | None:
    """Return the release that the promotion has begun with; None if the job promotes another."""
    begun = record.get("promotion", {})
    if begun.get("wish") != job.promotion:
        return None
    return _recorded_release(begun["release"])


def _flag(value: object) -> bool | None:
    """Return a recorded truth value, None for anything else."""
    if isinstance(value, bool):
        return value
    return None


def _recall_releases(job: ReleaseJob, record: Mapping[str, Any]) -> dict[str, Release]:
    """Return the releases that the job began to change, if it was for the same wish."""
    begun = record.get("begun", {})
    if begun.get("wish") != job.wish:
        return {}
    by_track = {}
    for track, release in begun["releases"].items():
        by_track[str(track)] = _recorded_release(release)
    return by_track


def _recorded_release(recorded: object) -> Release:
    """Return a release from the journal. Raises one of `_UNREADABLE` if it is not one."""
    only_release = {"releases": [recorded]}
    return releases(only_release)[0]


def _recall_rollouts(
    job: ReleaseJob, record: Mapping[str, Any]
) -> dict[str, frozenset[str]]:
    """Return the rollouts that the job may replace, if it was for the same wish."""
    begun = record.get("rollouts", {})
    if begun.get("wish") != job.wish:
        return {}
    by_track = {}
    for track, codes in begun["version codes"].items():
        version_codes = frozenset(map(str, codes))
        by_track[str(track)] = version_codes
    return by_track


def _recall_state(record: Mapping[str, Any]) -> EditState:
    """Return the state of a recorded edit, as a later run has to see it. Raises one of
    `_UNREADABLE` for a record that can't be.
    """
    stage = Stage(record["stage"])
    commit = CommitKnowledge(record["commit"])
    recorded = EditState(True, stage, commit)
    return recorded.after(Event.RECALL)


def perhaps_committed(
    jobs: Sequence[ReleaseJob], recall: Callable[[str], str | None]
) -> str:
    """Return a sentence about the apps that a commit of an earlier run may have published; empty
    if there are none.

    It is for a run that can't look, because it can't log in.
    """
    packages = []
    for job in jobs:
        if not job.commits:
            continue
        with suppress(*_UNREADABLE):
            kept = recall(job.memory) or "{}"
            record = json.loads(kept)
            if _recall_state(record).in_doubt:
                packages.append(job.package)
    if not packages:
        return ""
    return f"Perhaps committed, by an earlier run: {', '.join(packages)}. The next run checks."


def _tracks_as_json(tracks: Mapping[str, Releases]) -> dict[str, list[dict[str, Any]]]:
    record = {}
    for track, on_track in tracks.items():
        record[track] = [release.to_json() for release in on_track]
    return record


def _tracks(record: Mapping[str, Any]) -> dict[str, Releases]:
    by_track = {}
    for track, entry in record.items():
        by_track[str(track)] = releases({"releases": entry})
    return by_track


def open_edit(job: ReleaseJob, context: Context) -> ReleaseEdit:
    """Return the edit to work in: the one that `existing-edit-id` names, the one that an earlier
    run of the job left, or a fresh one.
    """
    if job.existing_edit and not job.dry_run:
        return _open_shared(job, context)
    if not job.commits:
        context.publish({"committed": "false"})
    kept = recall_edit(job, context)
    if kept is None:
        return insert_edit(job, context)
    try:
        return _take_up(kept)
    except UploaderError as error:
        if kept.state.in_doubt:
            perhaps = perhaps_committed((job,), context.recall)
            raise error.with_advice(also=perhaps) from error
        raise


def _open_shared(job: ReleaseJob, context: Context) -> ReleaseEdit:
    """Return the edit that `existing-edit-id` names. Raises ApiError if it is not open."""
    api = Edit(context, job.package, job.existing_edit)
    shared = EditState(False, Stage.CHANGED)
    edit = ReleaseEdit(job, context, api, shared)
    try:
        edit.api.get()
    except ApiError as refused:
        if find(refused) in (EDIT_GONE, OTHER):
            raise blame_input(refused) from refused
        raise
    context.info(f"Working in edit {edit.id}.")
    context.publish({"edit-id": edit.id, "committed": "false"})
    return edit


def _take_up(kept: ReleaseEdit) -> ReleaseEdit:
    """Return the edit of an earlier run if it is open and this run asks for all that is in it,
    otherwise a fresh one, which takes its place if this run asks for the same.
    """
    job = kept.job
    context = kept.context
    # The outputs come before anything can fail: the edit is ours and may be open, and its commit
    # may have happened.
    if kept.state.open:
        context.publish({"edit-id": kept.id})
    if kept.state.in_doubt:
        kept.tell_committed(None)
    was_sent = kept.state.commit is not CommitKnowledge.NONE
    if kept.state.stage is Stage.CLEAN and not was_sent:
        # It is a copy of what was live then, and people may have changed that since.
        context.info(f"Edit {kept.id} of an earlier run has no changes in it.")
        discard(kept)
        return insert_edit(job, context)
    if kept.state.open:
        look(kept)
    purposes = job.purposes(context.sha256)
    serves = kept.changes.keys() <= purposes
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
    if not was_sent:
        # None of the promoted versions can have come to users.
        kept.begun.promotion_source = None
    if serves:
        return insert_edit(job, context, kept)
    return insert_edit(job, context)


def blame_input(refused: ApiError) -> ApiError:
    """Return the refusal with the advice to correct `existing-edit-id`, which names no open edit.

    Running again would not change that.
    """
    return refused.with_advice(
        cause="`existing-edit-id` names no open edit: it is misspelt, or it is committed, deleted "
        "or expired.",
        hint="Correct `existing-edit-id`, or leave it out for a fresh edit.",
    )


def insert_edit(
    job: ReleaseJob, context: Context, lost: ReleaseEdit | None = None
) -> ReleaseEdit:
    """Open a fresh edit, in place of a `lost` one if there is one.

    The changes of the lost edit are remembered only while its commit is in doubt.
    """
    if lost is None and (job.dry_run or job.rollout):
        _warn_of_closing(job.package, context)
    api = client.insert(context, job.package)
    edit = ReleaseEdit(job, context, api)
    if lost:
        _take_over(edit, lost)
    edit.remember()
    # Google Play has closed the edit that was open, and what was uploaded into it is lost.
    context.forget_uploads(client.uploads(job.package))
    context.info(f"Opened edit {edit.id} for {job.package}.")
    context.publish({"edit-id": edit.id})
    _tell_promotion(edit)
    if edit.state.in_doubt:
        edit.tell_committed(None)
    return edit


def _take_over(edit: ReleaseEdit, lost: ReleaseEdit) -> None:
    """Copy what is known of a lost edit into the fresh one that takes its place."""
    edit.state = lost.state.after(Event.REPLACE)
    if edit.state.in_doubt:
        edit.record = lost.record
    elif edit.job.rollout:
        # A rollout needs them for its first look at the release.
        edit.record.changes = lost.record.changes
    edit.begun = lost.begun
    shared_id = lost.previous.shared_id
    if not lost.state.own:
        shared_id = lost.id
    surely_committed = lost.previous.surely_committed
    if lost.state.stage is Stage.COMMITTED:
        surely_committed = True
    edit.previous = PreviousEdit(shared_id, surely_committed=surely_committed)


def _warn_of_closing(package: str, context: Context) -> None:
    """Warn that the edit to be opened closes that of a release which an earlier run did not
    finish.
    """
    kept = find_unfinished_edit(package, context)
    if kept:
        context.warning(
            f"Edit {kept} of an unfinished release of {package} is closed by the edit of this run, "
            "because an account can have only one open edit for an app. The next run of the "
            "release begins in a fresh one, and uploads again."
        )


def _tell_promotion(edit: ReleaseEdit) -> None:
    """Log the versions of a promotion that was begun in an earlier edit or run."""
    promoted = edit.begun.promotion_source
    if not promoted:
        return
    source = edit.job.promote_from
    version_codes = "+".join(promoted.version_codes)
    edit.context.info(
        f"The promotion from {source} was begun with {version_codes} and continues with that, "
        f"whatever is on {source} by now."
    )


def look(edit: ReleaseEdit) -> None:
    """Ask the edit itself whether it is open, committed or gone, and note it.

    Raises UploaderError if the answer says none of it.
    """
    try:
        edit.api.get()
    except ApiError as refused:
        _note_closed(edit, refused)
    else:
        edit.apply(Event.FOUND_OPEN)


def _note_closed(edit: ReleaseEdit, refused: ApiError) -> None:
    """Note that the edit was committed or is gone, as the refusal says. Raises any other one."""
    says_committed = refused.reason == "editAlreadyCommitted"
    if says_committed or COMMITTED.search(refused.message):
        edit.apply(Event.FOUND_COMMITTED)
    elif CHANGED_OUTSIDE.search(refused.message):
        edit.apply(Event.CLOSED_UNCOMMITTED)
    elif _is_not_found(refused) or find(refused) is EDIT_GONE:
        edit.apply(Event.CLOSED)
    else:
        raise refused


def _is_not_found(refused: ApiError) -> bool:
    """Return whether the status says that there is no such edit: 404 Not Found or 410 Gone."""
    return refused.status in (404, 410)


def list_artifacts(
    edit: ReleaseEdit, kinds: Sequence[ArtifactKind] = ("bundles", "apks")
) -> ListedArtifacts:
    """Return the artifacts of these kinds that the edit has, by version code.

    A version code belongs to one artifact, be it a bundle or an APK.
    """
    by_version_code = {}
    reads = [partial(edit.api.artifacts, kind) for kind in kinds]
    for artifacts in edit.context.together(reads):
        for artifact in artifacts:
            by_version_code[artifact.version_code] = artifact
    return by_version_code


def settle(edit: ReleaseEdit, error: Exception, *, keep: bool = False) -> Exception:
    """Keep, delete or forget the edit after a failure, and log what becomes of it.

    Returns the failure; an ApiError about a shared edit that is closed has advice about
    `existing-edit-id`. A failure that passes by itself, or a signal, keeps the edit. With `keep` an
    edit that has changes in it stays open after every failure, since other apps of the run are
    committed.
    """
    job = edit.job
    context = edit.context
    state = edit.state
    if state.stage is Stage.DELETED:
        return error  # its deletion said what became of it
    stays = keep and state.stage is Stage.CHANGED
    if isinstance(error, (TemporaryError, Interrupted)):
        stays = state.stage is not Stage.GONE
    if stays:
        context.info(_why_kept(edit))
    elif state.open:
        _settle_open(edit, error)
    else:
        error = _settle_closed(edit, error)
    if edit.state.may_be_live and not edit.state.open:
        edit.remember()  # that there was a commit, so that the next run does not send it again
    if edit.state.in_doubt and job.commits:
        edit.tell_committed(None)
        # If the commit was just sent, the reason for keeping the edit has said so.
        if state.stage is not Stage.COMMITTING:
            subject = job.package
            if job.one_of_several:
                subject = "It"  # the line of the log names the app
            who_checks = _who_checks(edit)
            context.warning(f"{subject} is perhaps committed: {who_checks}.")
    return error


def _settle_open(edit: ReleaseEdit, error: BaseException) -> None:
    """Keep an open edit, or delete it if nobody will continue in it."""
    state = edit.state
    context = edit.context
    if state.stage is Stage.COMMITTING:
        context.warning(_why_kept(edit))
    elif not state.own:
        context.info(f"Edit {edit.id} was not opened by this run and stays open.")
    elif state.stage is Stage.REFUSED:
        context.info(f"Edit {edit.id} is kept with everything in it.")
    else:
        if state.commit is not CommitKnowledge.UNKNOWN:
            _mark_uploads_discarded(
                edit, "Uploaded, then discarded with the edit", error
            )
        with suppress(Interrupted):  # the first error is the one that counts
            discard(edit)


def _settle_closed(edit: ReleaseEdit, error: Exception) -> Exception:
    """Take back what is lost with a closed edit, and return the failure, with other advice if
    `existing-edit-id` is to blame.
    """
    state = edit.state
    if not state.in_doubt:
        mark_uploads_lost(edit, error)
    if not state.own and isinstance(error, ApiError):
        return blame_input(error)
    if state.stage is Stage.GONE:
        edit.context.publish({"edit-id": ""})
    edit.forget()
    return error


def mark_uploads_lost(edit: ReleaseEdit, error: BaseException) -> None:
    """Mark this run's uploads as discarded if their edit is gone.

    The output `committed` is taken back as well: whoever closed the edit may have released the
    same.
    """
    if edit.state.stage is not Stage.GONE:
        return
    what = "Uploaded, then lost with the edit, which is gone"
    if edit.job.commits:
        _mark_uploads_discarded(edit, what, error, "committed")
    else:
        _mark_uploads_discarded(edit, what, error)


def _mark_uploads_discarded(
    edit: ReleaseEdit, what: str, error: BaseException, *outputs: str
) -> None:
    """Mark this run's uploads as discarded because of an error, and take back these outputs and the
    version codes.
    """
    why = "the program itself failed."
    if isinstance(error, UploaderError):
        why = error.what
    _take_back(edit, f"{what}: {why}", *outputs)


def _take_back(edit: ReleaseEdit, why: str, *outputs: str) -> None:
    """Make `why` the error of every upload of this run, and of every artifact that an earlier one
    uploaded into the edit. Take back these outputs and the version codes.
    """
    uploaded = set()
    job = edit.job
    for artifact, code in zip(job.artifacts, job.codes, strict=True):
        purpose = job.artifact_purpose(code)
        if purpose in edit.uncommitted:
            uploaded.add(artifact.name)
    taken_back = ("version-code", "version-codes", *outputs)
    edit.context.mark_discarded(why, frozenset(uploaded), taken_back)


def _why_kept(edit: ReleaseEdit) -> str:
    """Return a sentence about an edit that a failure left open: who continues in it, and how.

    The next run continues in it only if the journal keeps it.
    """
    remembered = _is_remembered(edit)
    if edit.previous.shared_id:
        return f"Edit {edit.id} holds no changes."
    if edit.state.stage is Stage.COMMITTING:
        who_checks = _who_checks(edit)
        return f"The commit of edit {edit.id} may have happened: {who_checks}."
    if edit.job.rollout and not remembered:
        return f"Edit {edit.id} is left behind: the next run opens a fresh one."
    if remembered and edit.job.lasting_state:
        return f"Edit {edit.id} is kept: the next run continues in it."
    alone = ""
    if edit.job.one_of_several:
        alone = "in a run of this app alone "
    by_id = f"set `existing-edit-id: {edit.id}` {alone}to continue in it"
    if not remembered:
        return f"Edit {edit.id} is kept: {by_id}."
    advice = "Keep `state-dir`"
    if not edit.job.rollout:
        advice += f", or {by_id}"
    return (
        f"Edit {edit.id} is kept: a run that finds the state of this one continues in it, any "
        f"other opens a fresh edit. {advice}."
    )


def _is_remembered(edit: ReleaseEdit) -> bool:
    """Return whether the journal has the edit."""
    if not edit.may_be_resumed:
        return False  # what the journal has under the job's name is another one
    return edit.context.recall(edit.job.memory) is not None


def _who_checks(edit: ReleaseEdit) -> str:
    """Return the clause that says who finds out whether a commit in doubt happened."""
    if not _is_remembered(edit):
        return "check in the Play Console"
    if edit.job.lasting_state:
        return "the next run checks"
    return "a run that finds the state of this one checks; otherwise look in the Play Console"


def discard(edit: ReleaseEdit) -> None:
    """Delete an edit of our own. If that fails, only warn: an edit that nobody commits changes
    nothing.

    Raises Interrupted, which ends the run here as anywhere.
    """
    before = edit.state
    edit.apply(Event.DELETE)
    # The journal stays as it is until the edit is deleted: if the run is stopped before, the next
    # one finds the edit in it.
    edit.context.publish({"edit-id": ""})
    failure = _delete(edit.api, edit.context)
    if before.stage is Stage.CHANGED:
        if _may_be_live_after(edit, before, failure):
            edit.tell_committed(None)
        else:
            edit.tell_committed(False)
    edit.forget()


def _may_be_live_after(
    edit: ReleaseEdit, before: EditState, failure: UploaderError | None
) -> bool:
    """Return whether the changes of an edit may be live after its deletion.

    `before` is the state from which it was deleted, `failure` what the deletion failed with.
    """
    if failure is not None and before.in_doubt:
        return True
    if isinstance(failure, ApiError) and find(failure) in (EDIT_GONE, OTHER):
        return True  # it was closed before, perhaps by a commit
    # If only files of a version that is live already were changed, nothing shows whether they are
    # live.
    return not _any_shown(edit.changes)


def _delete(
    edit: Edit, context: Context, *, closing: bool = False
) -> UploaderError | None:
    """Delete an edit, and return what the deletion failed with, None if it did not fail.

    Raises Interrupted. With `closing` it does not, and the request is sent even after a signal.
    """
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
    """Log what became of an edit whose deletion was refused."""
    if COMMITTED.search(refused.message):
        context.warning(
            f"Edit {edit.id} is not deleted: it is committed, by another job."
        )
    elif find(refused) is EDIT_GONE:
        context.info(f"Edit {edit.id} is gone.")
    elif _is_not_found(refused):
        # The words are not about an edit, so the response need not be Google Play's.
        context.info(
            f"Edit {edit.id} can't be found any more ({refused.what}); if it is there, it "
            "expires by itself."
        )
    else:
        context.warning(
            f"Edit {edit.id} could not be deleted ({refused.what}); it expires by itself."
        )


def commit(edit: ReleaseEdit) -> bool:
    """Commit the edit, and return whether the changes still have to be sent for review by hand.

    If Google demands the opposite about the review, the same edit is committed again the other way.
    A commit whose response is lost is looked up before it is repeated, and so is one whose response
    says that there is nothing to commit (404, 410). Raises UploaderError: either the edit is gone,
    or its commit was refused and everything is still in it.
    """
    by_hand = edit.job.not_sent_for_review == "true"
    refusals = 0
    denied = False
    waits = edit.context.backoff()
    while True:
        error = _send_commit(edit, by_hand=by_hand)
        if error is None:
            edit.apply(Event.COMMIT_ACCEPTED)
            return by_hand
        looks = not isinstance(error, (ApiError, CredentialsError))
        if _denies(error) and not denied:
            denied = True  # the second denial is believed
            looks = True
        if looks:
            if _has_happened(edit, error, waits):
                return bool(edit.record.by_hand)
            continue
        if isinstance(error, ApiError) and find(error) is EDIT_GONE:
            _settle_gone(edit, error)
            return bool(edit.record.by_hand)
        edit.apply(Event.COMMIT_REFUSED)
        edit.remember()
        refusals += 1
        turns = _asks_for_opposite(edit.job, error, by_hand=by_hand)
        if refusals > MAX_TURNS or not turns:
            raise _with_edit(edit, error)
        by_hand = not by_hand
        what = error.what.rstrip(".")
        edit.context.info(
            f"{what}. Committing edit {edit.id} again with the opposite review setting."
        )


def _asks_for_opposite(
    job: ReleaseJob, refused: UploaderError, *, by_hand: bool
) -> bool:
    """Return whether Google demands the opposite review setting, and the job leaves that open."""
    if job.not_sent_for_review != "auto" or not isinstance(refused, ApiError):
        return False
    if by_hand:
        return find(refused) is REVIEW_AUTOMATIC
    return find(refused) is REVIEW_BY_HAND


def _send_commit(
    edit: ReleaseEdit, *, by_hand: bool
) -> OutcomeUnknown | ProtocolError | ApiError | CredentialsError | None:
    """Write the commit to the journal, send it, and return what went wrong, None if nothing did.

    A response that is not Google's is a ProtocolError.
    """
    leaves_review = by_hand
    # The earlier commit may still arrive, and it leaves the review to people.
    may_still_arrive = edit.state.commit is CommitKnowledge.STILL_OPEN
    if may_still_arrive and edit.record.by_hand:
        leaves_review = True
    edit.record.by_hand = leaves_review
    edit.apply(Event.SEND_COMMIT)
    edit.remember()
    try:
        edit.api.commit(
            review_by_hand=by_hand,
            cancel_review=edit.job.cancel_review,
        )
    except (OutcomeUnknown, ProtocolError, ApiError, CredentialsError) as error:
        return error
    return None


def _denies(error: UploaderError) -> bool:
    """Return whether the error is a 404 or 410 whose words are not about an edit."""
    if not isinstance(error, ApiError):
        return False
    return _is_not_found(error) and find(error) is OTHER


def _has_happened(edit: ReleaseEdit, lost: UploaderError, waits: Backoff) -> bool:
    """Wait, then return whether the edit says that it is committed; if not, it is open.

    Raises ReleaseRefused if it is gone.
    """
    edit.apply(Event.RESPONSE_LOST)
    edit.context.warning(
        f"{sentence(lost.what)} Checking whether edit {edit.id} is committed."
    )
    waits.wait(f"the commit of edit {edit.id} was not answered")
    look(edit)
    if edit.state.stage is Stage.GONE:
        raise _gone_after_commit_error(edit) from lost
    return edit.state.stage is Stage.COMMITTED


def _settle_gone(edit: ReleaseEdit, refused: ApiError) -> None:
    """Note what became of an edit whose commit was answered that the edit is gone.

    Returns if the answer says that an earlier commit of the job, whose own answer was lost, has
    committed it. Raises ReleaseRefused if that is possible and nobody knows, and the refusal if
    there was no earlier commit, or the answer proves that none happened.
    """
    if CHANGED_OUTSIDE.search(refused.message):
        edit.apply(Event.CLOSED_UNCOMMITTED)
        raise refused
    if edit.state.commit is CommitKnowledge.STILL_OPEN:
        # The earlier commit may have arrived late.
        edit.apply(Event.RESPONSE_LOST)
        _note_closed(edit, refused)
        if edit.state.stage is Stage.COMMITTED:
            return
        raise edit_gone_error(edit.id) from None
    if edit.state.own:
        # Nobody but this program works in it, so it may be gone because of this commit.
        edit.apply(Event.RESPONSE_LOST)
    edit.apply(Event.CLOSED)
    raise refused


def _with_edit(edit: ReleaseEdit, refused: UploaderError) -> UploaderError:
    """Return the refusal of a commit with its cause, its hint, and what becomes of the edit."""
    job = edit.job
    error = refused
    if isinstance(refused, ApiError):
        error = explain(refused)
    if error.code == "permission-denied":
        permissions = _permissions_to_commit(job)
        error = error.with_advice(hint=permissions)
    kept = f"Edit {edit.id}"
    if job.one_of_several:
        kept += f" of {job.package}"
    kept += " is kept with everything in it"
    if needs_new_build(error.code):
        return error.with_advice(also=f"{kept}.")
    by_id = not (job.rollout or job.one_of_several)
    says_run_again = "run again" in error.hint
    if by_id and says_run_again:
        kept += f": set `existing-edit-id: {edit.id}` to go on in it"
    elif by_id:
        kept += f": set `existing-edit-id: {edit.id}`, or run again"
    elif not says_run_again:
        kept += ": run again once that is done"
    return error.with_advice(also=f"{kept}.")


def _permissions_to_commit(job: ReleaseJob) -> str:
    """Return a sentence about the permissions that the commit of a job needs, and where they are
    granted.
    """
    testing = []
    production = []
    for track in job.tracks:
        if TrackName(track).base == "production":
            production.append(track)
        else:
            testing.append(track)
    needed = []
    if production:
        tracks = ", ".join(production)
        needed.append(f"\u201c{TO_PRODUCTION}\u201d for {tracks}")
    if testing:
        tracks = ", ".join(testing)
        needed.append(f"\u201c{TO_TESTING}\u201d for {tracks}")
    if job.listing:
        needed.append(f"\u201c{STORE_PRESENCE}\u201d for the store listing")
    if job.testers or job.create_tracks:
        needed.append(f"\u201c{TESTERS}\u201d for testers and new tracks")
    if not needed:
        needed.append(f"\u201c{TO_TESTING}\u201d or \u201c{TO_PRODUCTION}\u201d")
    permissions = " and ".join(needed)
    return (
        "Under Users and permissions in the Play Console, give the account "
        f"{permissions} in this app."
    )


def edit_gone_error(
    name: str, outcome: str = "it is not known whether it was committed"
) -> ReleaseRefused:
    """Return the error for an edit that is gone after its commit was not answered.

    `outcome` says what is known about that commit.
    """
    return ReleaseRefused(
        f"Edit {name} is gone, and {outcome}.",
        cause="The answer to its commit was lost, and the edit can't be found.",
        hint="Check in the Play Console, or run again. If jobs share the edit, run all of them "
        "again.",
        code="edit-gone",
    )


def _gone_after_commit_error(edit: ReleaseEdit) -> ReleaseRefused:
    """Return the refusal for an edit that is gone after a commit whose answer was lost."""
    if edit.state.commit is CommitKnowledge.NONE:
        return edit_gone_error(
            edit.id, "it was not committed: the app was changed outside of it"
        )
    return edit_gone_error(edit.id)


def close(edit: ReleaseEdit, error: ApiError) -> None:
    """Note that others closed the edit, and whether the refusal proves that it was not
    committed.
    """
    if CHANGED_OUTSIDE.search(error.message):
        edit.apply(Event.CLOSED_UNCOMMITTED)
    else:
        edit.apply(Event.CLOSED)


def find_unfinished_edit(package: str, context: Context) -> str:
    """Return the id of the open edit of a release that an earlier run did not finish; empty if
    there is none.

    Opening another edit would close it.
    """
    job = ReleaseJob(package)
    kept = recall_edit(job, context)
    if kept is None or not kept.state.open:
        return ""
    return kept.id


def read_and_delete(edit: Edit, read: Callable[[Edit], T], context: Context) -> T:
    """Return what is read in the edit, and delete it, also after a failure or a signal."""
    try:
        content = read(edit)
    except UploaderError:
        _delete(edit, context, closing=True)
        raise
    _delete(edit, context, closing=True)
    return content
