"""The edit that a release is made in: its calls, its state, the facts that go with it, and their record in the journal.

The record is JSON: `edit` (the id), `stage` and `commit` (the values of the machine's enums), `changes` (purpose to the
digest of what Google Play accepted, empty while that is not known) and `before` (track to its releases). Only edits of
our own are recorded, so the owner need not be. Whatever can't be read is no record.
"""

from __future__ import annotations

import json
from collections.abc import Collection

from uploader.errors import ProtocolError
from uploader.services.base import ForgetUploads, Remember, Steps
from uploader.services.play import edit_api
from uploader.services.play.edit_machine import CommitKnowledge, EditState, Event, Ownership, Stage
from uploader.services.play.job import ReleaseJob
from uploader.services.play.tracks import Releases, releases


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
