"""edits: insert, get, delete, validate, commit; with the rules of review by which Google refuses a
commit.

Reference: developers.google.com/android-publisher/api-ref/rest/v3/edits.
"""

from __future__ import annotations

import copy

from google_emulator.http.request import Request
from google_emulator.http.response import ApiError, Json, Response, failed_precondition
from google_emulator.http.routes import Route
from google_emulator.protocol.uploads import Service
from google_emulator.services.payload_rules import read_message, text
from google_emulator.services.play import permissions
from google_emulator.services.play.lifecycle import ReleaseLifecycle
from google_emulator.services.play.listings import SCREENSHOTS
from google_emulator.services.play.store import EDIT, EDITS, App, Edit, PlayStore
from google_emulator.services.play.tracks import check_upgrade

MUST_BE_SET = (
    "Changes cannot be sent for review automatically. Please set the query parameter "
    "changesNotSentForReview to true. Once committed, the changes in this edit can be sent for "
    "review from the Google Play Console UI."
)
MUST_NOT_BE_SET = (
    "Changes are sent for review automatically. The query parameter changesNotSentForReview must "
    "not be set."
)
_APP_EDIT = {"id": text, "expiryTimeSeconds": text}
BEHAVIORS = (
    "",
    "CHANGES_IN_REVIEW_BEHAVIOR_TYPE_UNSPECIFIED",
    "CANCEL_IN_REVIEW_AND_SUBMIT",
    "ERROR_IF_IN_REVIEW",
)


class EditsApi(Service):
    """The life of an edit."""

    def __init__(self, store: PlayStore, lifecycle: ReleaseLifecycle) -> None:
        self._store = store
        self._lifecycle = lifecycle
        self.routes = [
            Route("androidpublisher.edits.insert", "POST", EDITS, self._insert),
            Route(
                "androidpublisher.edits.commit", "POST", EDIT + ":commit", self._commit
            ),
            Route(
                "androidpublisher.edits.validate",
                "POST",
                EDIT + ":validate",
                self._validate,
            ),
            Route(
                "androidpublisher.edits.get",
                "GET",
                EDIT,
                lambda request: store.open_edit(request).resource(),
            ),
            Route("androidpublisher.edits.delete", "DELETE", EDIT, self._delete),
        ]

    def _insert(self, request: Request) -> Json:
        read_message(request.json(), _APP_EDIT, "app_edit")
        permissions.require(
            self._store.config, request.params["package"], *permissions.EDITING
        )
        return self._store.insert_edit(request.params["package"]).resource()

    def _delete(self, request: Request) -> Response:
        self._store.open_edit(request).state = "deleted"
        return Response(204)

    def _checked(self, request: Request) -> Edit:
        """Return the edit, after the checks that validation and commit have in common. Raises
        `ApiError`.
        """
        edit = self._store.open_edit(request)
        if request.payload.strip():
            raise ApiError(400, "The request body must be empty.")
        statuses = {
            release["status"]
            for releases in edit.content.tracks.values()
            for release in releases
        }
        if self._store.config.draft_app and statuses - {"draft"}:
            raise ApiError(
                400, "Only releases with status draft may be created on draft app."
            )
        self._check_screenshots(edit)
        for track, before in self._store.app(edit.package).live.tracks.items():
            check_upgrade(before, edit.content.tracks.get(track, []))
        return edit

    def _check_screenshots(self, edit: Edit) -> None:
        """Raise `ApiError` 400 for a language with too few screenshots, those of all devices
        counted together.

        Play Console Help, "Add preview assets". A language without any is not published yet. No
        document has Google's words.
        """
        least, images = self._store.config.min_screenshots, edit.content.images
        if images == self._store.app(edit.package).live.images:
            return
        for language in {language for language, _ in images}:
            count = sum(len(images.get((language, kind), [])) for kind in SCREENSHOTS)
            if 0 < count < least:
                raise ApiError(
                    400, f"At least {least} screenshots are required for {language}."
                )

    def _validate(self, request: Request) -> Json:
        """Validate an edit. An app whose changes are sent for review by hand is refused, too:
        bitrise-steplib/steps-google-play-deploy#119.
        """
        edit = self._checked(request)
        if self._store.config.review == "manual":
            raise ApiError(400, MUST_BE_SET)
        return edit.resource()

    def _check_review(self, request: Request, app: App) -> None:
        """Raise `ApiError` if the parameters of a commit don't fit the way in which this app's
        changes are sent for review.
        """
        behavior = request.query.get("changesInReviewBehavior", "")
        if behavior not in BEHAVIORS:
            raise ApiError(
                400,
                f"Invalid value at 'changes_in_review_behavior' (TYPE_ENUM), \"{behavior}\"",
            )
        not_sent = request.flag("changesNotSentForReview")
        if self._store.config.review == "manual" and not not_sent:
            raise ApiError(400, MUST_BE_SET)
        if self._store.config.review == "automatic" and not_sent:
            raise ApiError(400, MUST_NOT_BE_SET)
        in_review = self._store.config.in_review or self._lifecycle.in_review(app)
        if in_review and behavior == "ERROR_IF_IN_REVIEW":
            raise failed_precondition("Changes are already in review.")

    def _commit(self, request: Request) -> Json:
        edit = self._checked(request)
        app, before = (
            self._store.app(edit.package),
            self._store.app(edit.package).live.tracks,
        )
        for needed in permissions.needed_to_commit(app.live, edit.content):
            permissions.require(self._store.config, edit.package, *needed)
        self._check_review(request, app)
        app.live = copy.deepcopy(edit.content)
        app.used.update(edit.content.artifacts)
        app.revision += 1
        self._lifecycle.committed(
            app, before, sent=not request.flag("changesNotSentForReview")
        )
        edit.state = "committed"
        edit.commit_query = dict(request.query)
        return edit.resource()
