"""Commits an edit: with the opposite review setting where Google demands it, looked up where the answer is lost."""

from __future__ import annotations

from uploader.errors import ApiError, CredentialsError, OutcomeUnknown, ProtocolError, UploaderError
from uploader.services.base import Backoff, Note, Steps
from uploader.services.play.edit import look
from uploader.services.play.edit_machine import Event, Stage
from uploader.services.play.job import ReleaseJob
from uploader.services.play.known_errors import EDIT_GONE, REVIEW_AUTOMATIC, REVIEW_BY_HAND, explained, find
from uploader.services.play.release_edit import ReleaseEdit
from uploader.text import sentence

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
    yield Backoff(losses, f"the commit of edit {edit.id} was not answered")
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
