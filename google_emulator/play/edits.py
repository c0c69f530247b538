"""edits: insert, get, delete, validate, commit; with the review rules that make Google refuse a commit.

Reference: developers.google.com/android-publisher/api-ref/rest/v3/edits.
"""

from __future__ import annotations

import copy

from google_emulator.answers import Answer, Refusal, as_json
from google_emulator.exchange import Exchange
from google_emulator.play.model import Edit
from google_emulator.router import Route

BASE = "/androidpublisher/v3/applications/{package}/edits"
MUST_BE_SET = (
    "Changes cannot be sent for review automatically. Please set the query parameter changesNotSentForReview to true. "
    "Once committed, the changes in this edit can be sent for review from the Google Play Console UI."
)
MUST_NOT_BE_SET = (
    "Changes are sent for review automatically. The query parameter changesNotSentForReview must not be set."
)
BEHAVIORS = ("", "CHANGES_IN_REVIEW_BEHAVIOR_TYPE_UNSPECIFIED", "CANCEL_IN_REVIEW_AND_SUBMIT", "ERROR_IF_IN_REVIEW")


def open_edit(x: Exchange) -> Edit:
    """The edit of the request's path. Raises `Refusal` when it can't be worked in."""
    return x.world.play.edit(x.params["package"], x.params["edit"])


def _insert(x: Exchange) -> Answer:
    x.json()
    return as_json(x.world.play.insert(x.params["package"]).resource())


def _get(x: Exchange) -> Answer:
    return as_json(open_edit(x).resource())


def _delete(x: Exchange) -> Answer:
    open_edit(x).state = "deleted"
    return Answer(204)


def _check(x: Exchange, edit: Edit) -> None:
    """What validation and commit have in common."""
    statuses = {release["status"] for releases in edit.content.tracks.values() for release in releases}
    if x.world.config.draft_app and statuses - {"draft"}:
        raise Refusal(400, "Only releases with status draft may be created on draft app.")


def _validate(x: Exchange) -> Answer:
    edit = open_edit(x)
    _check(x, edit)
    return as_json(edit.resource())


def _check_review(x: Exchange) -> None:
    """Refuses a commit whose parameters don't fit how this app's changes get into review."""
    behavior = x.query.get("changesInReviewBehavior", "")
    if behavior not in BEHAVIORS:
        raise Refusal(400, f"Invalid value at 'changes_in_review_behavior' (TYPE_ENUM), \"{behavior}\"")
    config = x.world.config
    not_sent = x.flag("changesNotSentForReview")
    if config.review == "manual" and not not_sent:
        raise Refusal(400, MUST_BE_SET)
    if config.review == "automatic" and not_sent:
        raise Refusal(400, MUST_NOT_BE_SET)
    if config.in_review and behavior == "ERROR_IF_IN_REVIEW":
        raise Refusal(400, "Changes are already in review.", "failedPrecondition", state="FAILED_PRECONDITION")


def _commit(x: Exchange) -> Answer:
    edit = open_edit(x)
    if x.payload.strip():
        raise Refusal(400, "The request body must be empty.")
    _check(x, edit)
    _check_review(x)
    app = x.world.play.app(edit.package)
    app.live = copy.deepcopy(edit.content)
    app.used.update(edit.content.artifacts)
    app.revision += 1
    edit.state = "committed"
    edit.commit_query = dict(x.query)
    return as_json(edit.resource())


ROUTES = (
    Route("androidpublisher.edits.insert", "POST", BASE, _insert),
    Route("androidpublisher.edits.commit", "POST", BASE + "/{edit}:commit", _commit),
    Route("androidpublisher.edits.validate", "POST", BASE + "/{edit}:validate", _validate),
    Route("androidpublisher.edits.get", "GET", BASE + "/{edit}", _get),
    Route("androidpublisher.edits.delete", "DELETE", BASE + "/{edit}", _delete),
)
