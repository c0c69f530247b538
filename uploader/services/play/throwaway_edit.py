"""An edit that is opened only to be read, and deleted whatever happens.

Google Play has one edit of an app for each account, so that opening one closes another job's: whoever opens one asks
first whether an earlier run of the same job has left one that is to be gone on with.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from uploader.errors import UploaderError
from uploader.services.base import Note, Recall, Steps
from uploader.services.play.edit_api import Edit
from uploader.services.play.job import ReleaseJob
from uploader.services.play.release_edit import recalled

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
