"""applications.tracks.releases: what Play tells of a track's releases without an edit.

Reference: developers.google.com/android-publisher/api-ref/rest/v3/applications.tracks.releases.
"""

from __future__ import annotations

from google_emulator.config import Config
from google_emulator.http.request import Request
from google_emulator.http.response import Response, json_response
from google_emulator.http.routes import Route
from google_emulator.services.play.lifecycle import ReleaseLifecycle
from google_emulator.services.play.paths import APPLICATIONS, check_track
from google_emulator.services.play.store import PlayStore


class ReleaseSummariesApi:
    """The releases of a track with the state of their review."""

    def __init__(self, store: PlayStore, config: Config, lifecycle: ReleaseLifecycle) -> None:
        self._store = store
        self._config = config
        self._lifecycle = lifecycle

    def routes(self) -> list[Route]:
        """The call that this API serves."""
        path = APPLICATIONS + "/{package}/tracks/{track}/releases"
        return [Route("androidpublisher.applications.tracks.releases.list", "GET", path, self._list)]

    def _list(self, request: Request) -> Response:
        app, track = self._store.app(request.params["package"]), request.params["track"]
        check_track(track, app.live, self._config)
        releases = self._lifecycle.summaries(app, track)
        return json_response({"releases": releases} if releases else {})
