"""edits.testers and edits.countryavailability: who gets the releases of a track, and where.

Reference: developers.google.com/android-publisher/api-ref/rest/v3/edits.testers and edits.countryavailability.
"""

from __future__ import annotations

from google_emulator.config import Config
from google_emulator.http.request import Request
from google_emulator.http.response import Json, Response, json_response
from google_emulator.http.routes import Route
from google_emulator.services.payload_rules import ListRule, MessageRule, read_message, text
from google_emulator.services.play.countries import COUNTRIES
from google_emulator.services.play.model import AppContent
from google_emulator.services.play.paths import EDIT, check_track
from google_emulator.services.play.store import PlayStore

_TESTERS = EDIT + "/testers/{track}"
_COUNTRIES = EDIT + "/countryAvailability/{track}"
_RULE = MessageRule({"googleGroups": ListRule(text)})


class TrackAudienceApi:
    """The testers and the countries of the tracks in an edit."""

    def __init__(self, store: PlayStore, config: Config) -> None:
        self._store = store
        self._config = config

    def routes(self) -> list[Route]:
        """The calls that this API serves."""
        return [
            Route("androidpublisher.edits.testers.get", "GET", _TESTERS, self._get_testers),
            Route("androidpublisher.edits.testers.update", "PUT", _TESTERS, self._set_testers),
            Route("androidpublisher.edits.testers.patch", "PATCH", _TESTERS, self._set_testers),
            Route("androidpublisher.edits.countryavailability.get", "GET", _COUNTRIES, self._get_countries),
        ]

    def _find(self, request: Request) -> tuple[AppContent, str]:
        """The content of the edit and the name of the track in the path. Raises `ApiError` 404 for an unknown one."""
        content, name = self._store.open_edit(request).content, request.params["track"]
        check_track(name, content, self._config)
        return content, name

    def _get_testers(self, request: Request) -> Response:
        content, name = self._find(request)
        groups = content.testers.get(name)
        return json_response({"googleGroups": groups} if groups else {})

    def _set_testers(self, request: Request) -> Response:
        content, name = self._find(request)
        wanted = read_message(request.json(), _RULE, "testers")
        if request.method == "PUT" or "googleGroups" in wanted:
            content.testers[name] = wanted.get("googleGroups", [])
        return self._get_testers(request)

    def _get_countries(self, request: Request) -> Response:
        """A track without countries of its own has those of production, which has all unless it was configured."""
        content, name = self._find(request)
        own = content.countries.get(name)
        found = own or content.countries.get("production")
        answer: dict[str, Json] = {} if own or name == "production" else {"syncWithProduction": True}
        answer["countries"] = [{"countryCode": code} for code in sorted(found or COUNTRIES)]
        return json_response(answer if found else {**answer, "restOfWorld": True})
