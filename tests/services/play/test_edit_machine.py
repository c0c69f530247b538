"""The table of the edit machine by itself, and the record of its state in the journal."""

from __future__ import annotations

import json

import pytest

from tests.support.fake_play import PACKAGE, artifact, release
from tests.support.play_driver import release_job
from tests.support.recording_context import RecordingContext
from uploader.services.play.client import Edit
from uploader.services.play.edit_lifecycle import (
    CommitKnowledge,
    EditRecord,
    EditState,
    Event,
    JobBeginning,
    PreviousEdit,
    ReleaseEdit,
    Stage,
    recall_edit,
)
from uploader.services.play.model import Release

FIRST = (EditState(), EditState(False, Stage.CHANGED))


def reachable() -> set[EditState]:
    """Every state that some order of events leads to."""
    found, todo = set[EditState](), list(FIRST)
    while todo:
        state = todo.pop()
        if state not in found:
            found.add(state)
            todo += [state.after(event) for event in Event if state.allows(event)]
    return found


STATES = sorted(reachable(), key=str)


@pytest.mark.parametrize(
    "state",
    [state for state in STATES if state.own and state.allows(Event.RECALL)],
    ids=lambda state: f"{state.stage.value}, commit: {state.commit.value}",
)
def test_the_journal_keeps_the_state(state: EditState) -> None:
    """What is recalled is what was remembered, as a later run has to see it."""
    job = release_job(artifact(2))
    context = RecordingContext()
    edit = ReleaseEdit(
        job,
        context,
        Edit(context, PACKAGE, "7"),
        state,
        EditRecord(
            changes={"artifact:2": "digest"},
            before={"internal": (Release(release(1)),)},
            wrote={"internal": (Release(release(2)),)},
            wish="digest",
            by_hand=True,
        ),
        JobBeginning(Release(release(2)), {"internal": Release(release(1))}),
        PreviousEdit(surely_committed=True),
    )
    edit.remember()
    found = recall_edit(job, context)
    assert found is not None
    assert (found.id, found.state) == ("7", state.after(Event.RECALL))
    assert found.record == edit.record
    assert found.begun == edit.begun
    assert found.previous == edit.previous


def test_a_refusal_says_nothing_of_an_earlier_commit() -> None:
    """The first commit's answer was lost: if the edit is gone later, that commit may have arrived
    after all.
    """
    state = EditState()
    events = (
        Event.CHANGE,
        Event.SEND_COMMIT,
        Event.RESPONSE_LOST,
        Event.FOUND_OPEN,
        Event.SEND_COMMIT,
    )
    for event in (
        *events,
        Event.COMMIT_REFUSED,
        Event.RECALL,
        Event.CLOSED,
        Event.REPLACE,
    ):
        state = state.after(event)
    assert (state.stage, state.commit) == (Stage.CLEAN, CommitKnowledge.UNKNOWN)


@pytest.mark.parametrize(
    "wrong",
    [
        {"stage": "strange"},
        {"commit": "perhaps"},
        {"stage": "committed", "commit": "none"},
        {"stage": "left open"},
        {"changes": []},
        {"before": {"internal": 5}},
        {"wrote": {"internal": 5}},
        {"promotion": []},
        {"promotion": {"wish": "", "release": {"versionCodes": "2"}}},
    ],
    ids=str,
)
def test_a_record_that_can_t_be_is_no_record(wrong: dict[str, object]) -> None:
    """Unknown words, pairs that the machine does not have, or other forms."""
    right = {
        "edit": "7",
        "stage": "changed",
        "commit": "none",
        "changes": {},
        "before": {},
    }
    old = {"edit": "7", "sent": {}, "before": {}, "listing": False, "doubt": False}
    job = release_job(artifact(2))
    for record, sane in ((right, True), ({**right, **wrong}, False), (old, False)):
        found = recall_edit(job, RecordingContext({job.memory: json.dumps(record)}))
        assert (found is not None) == sane
