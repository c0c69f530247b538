"""The life of an edit: opened or found again, kept or deleted, committed exactly once.

Google's rules that shape it: an edit starts as a copy of what is live; opening another one for the same app and
account, committing one, or a change in the Play Console makes it invalid; what was uploaded into a deleted one is lost.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Literal

from uploader.errors import (
    AnswerLost,
    CredentialsError,
    Interrupted,
    ProtocolError,
    Refused,
    TemporaryError,
    UploaderError,
)
from uploader.services.base import Backoff, Note, Publish, Recall, Remember, Steps
from uploader.services.play import edit_api
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
from uploader.services.play.tracks import Releases, releases

State = Literal["open", "gone", "committed"]


@dataclass
class Work:
    """An edit and what is known of it.

    `own`: this program opened it. `fresh`: it holds nothing but what is live and what this run did. `changed`: this run
    did something. `sent`: digests of what Play accepted into it, by purpose. `before`: the tracks that were changed in
    it, as they were before. `seen`: the tracks as they were read. `listing`: texts or images may have been changed in
    it. `doubt`: a commit was sent whose effect is unknown. `keep`: its commit was refused with everything in place.
    `borrowed`: it stands in for an edit of somebody else that is gone, only to see whether its commit happened.
    """

    asked: ReleaseJob
    edit: edit_api.Edit
    own: bool = True
    fresh: bool = True
    changed: bool = False
    sent: dict[str, str] = field(default_factory=dict)
    before: dict[str, Releases] = field(default_factory=dict)
    seen: dict[str, Releases] = field(default_factory=dict)
    listing: bool = False
    doubt: bool = False
    keep: bool = False
    borrowed: bool = False


def opened(asked: ReleaseJob) -> Steps[Work]:
    """The edit to work in: the one that was named, the one an earlier run of the job left, or a fresh one."""
    if asked.existing_edit and not asked.dry_run:
        work = Work(asked, edit_api.Edit(asked.package, asked.existing_edit), own=False, fresh=False)
        yield from _found(work)
        yield from _announce(work, f"Working in edit {work.edit.id}.")
        return work
    kept = _recalled(asked, (yield Recall(asked.memory)))
    if kept is None:
        return (yield from _inserted(asked))
    if not _serves(kept):
        yield Note(f"Edit {kept.edit.id} of an earlier run holds changes that this run did not ask for.")
        yield from discard(kept)
        return (yield from _inserted(asked))
    if (yield from look(kept)) == "open":
        yield from _announce(kept, f"Going on in edit {kept.edit.id} of an earlier run.")
        return kept
    yield Note(f"Edit {kept.edit.id} of an earlier run is closed.")
    return (yield from reopened(kept))


def _found(work: Work) -> Steps[None]:
    """Makes sure that the edit of others is there: if it is not, running again would not help."""
    try:
        yield work.edit.get()
    except Refused as refused:
        if find(refused) in (EDIT_GONE, OTHER):
            _blame_the_input(refused)
        raise


def _blame_the_input(refused: Refused) -> None:
    """Explains a refusal that means an edit of others, which this program can't open again."""
    refused.cause = "`existing-edit-id` names no open edit: misspelt, committed, deleted or expired."
    refused.cure = "Correct `existing-edit-id`, or leave it out for a fresh edit."


def reopened(lost: Work) -> Steps[Work]:
    """A fresh edit in place of one that is gone. What was sent is remembered only while a commit may have kept it."""
    work = yield from _inserted(lost.asked, lost.sent if lost.doubt else {}, lost.doubt)
    work.borrowed = not lost.own
    return work


def remember(work: Work) -> Steps[None]:
    """Tells the journal where the next run of the job can go on; edits of others are not ours to remember."""
    if work.own:
        kept = {
            "edit": work.edit.id,
            "sent": work.sent,
            "before": work.before,
            "listing": work.listing,
            "doubt": work.doubt,
        }
        yield Remember(work.asked.memory, json.dumps(kept))


def forget(work: Work) -> Steps[None]:
    """Tells the journal that nothing is left to go on with."""
    if work.own:
        yield Remember(work.asked.memory, None)


def look(work: Work) -> Steps[State]:
    """Whether the edit is still there."""
    try:
        yield work.edit.get()
    except Refused as refused:
        if already_committed(refused):
            return "committed"
        if refused.status in (404, 410) or find(refused) is EDIT_GONE:
            return "gone"
        raise
    return "open"


def settle(work: Work, error: BaseException) -> Steps[None]:
    """Decides the edit's fate after a failure, does it, and says which; never hides the failure itself."""
    name = f"Edit {work.edit.id}"
    if isinstance(error, (TemporaryError, Interrupted)):
        kept: str | None = yield Recall(work.asked.memory)
        how = "the next run continues in it" if kept else f"`existing-edit-id: {work.edit.id}` continues in it"
        yield Note(f"{name} is kept: {how}.")
    elif not work.own and isinstance(error, Refused) and find(error) is EDIT_GONE:
        _blame_the_input(error)
    elif not work.own:
        yield Note(f"{name} was not opened here and stays open.")
    elif work.keep:
        yield Note(f"{name} is kept with everything in it.")
    else:
        yield from discard(work)


def discard(work: Work) -> Steps[None]:
    """Deletes an edit of our own. A failure to do so is only a warning: an edit that nobody commits changes nothing."""
    try:
        yield work.edit.delete()
    except UploaderError as error:
        yield Note(f"Edit {work.edit.id} could not be deleted ({error.what}); it expires by itself.", "warning")
    else:
        yield Note(f"Edit {work.edit.id} is deleted.")
        yield Publish({"edit-id": ""})
    yield from forget(work)


def commit(work: Work) -> Steps[bool]:
    """Commits the edit; the answer is whether the changes still have to be sent for review by hand.

    Where Google demands the opposite about the review, the same edit is committed again the other way. A commit whose
    answer is lost is looked up before it is repeated. Raises Refused with the edit gone, or marked to be kept.
    """
    by_hand = work.asked.not_sent_for_review == "true"
    turns, losses = 0, 0
    work.doubt = True
    yield from remember(work)
    while True:
        error = yield from _attempt(work, by_hand)
        if error is None:
            return by_hand
        if isinstance(error, (AnswerLost, ProtocolError)):
            losses += 1
            if (yield from _committed_after_all(work, losses, error)):
                return by_hand
            continue
        turns += 1
        if turns > 2 or not _demands_other_way(work.asked, error, by_hand):
            raise (yield from _refused(work, error, losses))
        by_hand = not by_hand
        yield Note(f"Google Play says: {error.what} Committing again in the same edit.")


def _attempt(work: Work, by_hand: bool) -> Steps[UploaderError | None]:
    """One commit; what is worth thinking about is handed back, anything else is raised."""
    try:
        yield work.edit.commit(_query(work.asked, by_hand))
    except (Refused, CredentialsError, AnswerLost, ProtocolError) as error:
        return error
    return None


def _committed_after_all(work: Work, losses: int, error: UploaderError) -> Steps[bool]:
    """Looks an ambiguous commit up. False: the edit is still open, so it did not happen."""
    yield Note(f"The answer to the commit is lost ({error.what}); looking up what happened.", "warning")
    yield Backoff(losses, "the commit may still be under way")
    state = yield from look(work)
    if state == "gone":
        raise Refused(
            f"Edit {work.edit.id} is gone after a commit whose answer was lost.",
            status=404,
            reason="editNotFound",
            message="Edit not found.",
        ) from error
    if state == "open" and losses > work.asked.tries:
        raise TemporaryError(
            f"The commit of edit {work.edit.id} was not answered {losses} times, and the edit is still open.",
            cause="Google Play is not well.",
            cure="Run again: nothing is uploaded twice.",
        ) from error
    return state == "committed"


def _refused(work: Work, error: UploaderError, losses: int) -> Steps[UploaderError]:
    """The refusal of a commit, with the way back to the edit, which is kept unless it is gone."""
    if isinstance(error, Refused) and find(error) is EDIT_GONE:
        work.doubt = work.own or losses > 0  # others may have committed an edit of theirs: that was not this run
        return error
    work.doubt, work.keep = False, True
    yield from remember(work)
    known = explained(error) if isinstance(error, Refused) else error
    kept = f"Edit {work.edit.id} is kept with everything in it: set `existing-edit-id: {work.edit.id}`, or run again."
    known.cure = f"{known.cure} {kept}".strip()
    return known


def _demands_other_way(asked: ReleaseJob, error: UploaderError, by_hand: bool) -> bool:
    wanted = REVIEW_AUTOMATIC if by_hand else REVIEW_BY_HAND
    return asked.not_sent_for_review == "auto" and isinstance(error, Refused) and find(error) is wanted


def _query(asked: ReleaseJob, by_hand: bool) -> tuple[tuple[str, str], ...]:
    behavior = "CANCEL_IN_REVIEW_AND_SUBMIT" if asked.cancel_review else "ERROR_IF_IN_REVIEW"
    # Left out rather than false: Google's refusal says that it "must not be set".
    flag = (("changesNotSentForReview", "true"),) if by_hand else ()
    return (("changesInReviewBehavior", behavior), *flag)


def _inserted(asked: ReleaseJob, sent: dict[str, str] | None = None, doubt: bool = False) -> Steps[Work]:
    answer = yield edit_api.insert(asked.package)
    name = answer.get("id") if isinstance(answer, dict) else None
    if not isinstance(name, str) or not name.strip("."):
        raise ProtocolError("Google Play opened an edit without telling its id.")
    work = Work(asked, edit_api.Edit(asked.package, name), sent=dict(sent or {}), doubt=doubt)
    yield from remember(work)
    yield from _announce(work, f"Opened edit {name} of {asked.package}.")
    return work


def _announce(work: Work, text: str) -> Steps[None]:
    yield Note(text)
    yield Publish({"edit-id": work.edit.id, "committed": "false"})


def _recalled(asked: ReleaseJob, text: object) -> Work | None:
    """The edit that the journal holds, if any; a damaged record is no record."""
    try:
        kept = json.loads(text) if isinstance(text, str) else {}
        return Work(
            asked,
            edit_api.Edit(asked.package, str(kept["edit"])),
            fresh=False,
            sent={str(purpose): str(digest) for purpose, digest in kept["sent"].items()},
            before={str(track): releases({"releases": found}) for track, found in kept["before"].items()},
            listing=bool(kept["listing"]),
            doubt=bool(kept["doubt"]),
        )
    except (ValueError, KeyError, TypeError, AttributeError, ProtocolError):
        return None


def _serves(kept: Work) -> bool:
    """Whether this run makes anew all that an earlier one changed in the edit, so that it may be committed.

    An edit that holds a release on another track never goes live by accident.
    """
    return kept.before.keys() <= set(kept.asked.tracks) and (kept.asked.listing is not None or not kept.listing)
