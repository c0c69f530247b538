"""edits.listings and edits.details: the store's texts, language by language, and the app's contact details."""

from __future__ import annotations

from google_emulator.http.errors import ApiError
from google_emulator.http.request import Request
from google_emulator.http.response import Json, Response, json_response
from google_emulator.http.routes import Route
from google_emulator.services.payload_rules import MessageRule, read_message, text
from google_emulator.services.play.languages import check_language
from google_emulator.services.play.paths import EDIT, LISTING, LISTINGS, language_of
from google_emulator.services.play.store import PlayStore

TEXT_LIMITS = {"title": 30, "shortDescription": 80, "fullDescription": 4000}  # characters
_DETAILS = EDIT + "/details"
_LISTING_RULE = MessageRule(dict.fromkeys((*TEXT_LIMITS, "video", "language"), text))
_CONTACTS = ("contactEmail", "contactPhone", "contactWebsite")
_DETAILS_RULE = MessageRule(dict.fromkeys(("defaultLanguage", *_CONTACTS), text))


class ListingsApi:
    """The texts of an edit."""

    def __init__(self, store: PlayStore) -> None:
        self._store = store

    def routes(self) -> list[Route]:
        """The calls that this API serves."""
        return [
            Route("androidpublisher.edits.listings.list", "GET", LISTINGS, self._list),
            Route("androidpublisher.edits.listings.deleteall", "DELETE", LISTINGS, self._delete_all),
            Route("androidpublisher.edits.listings.get", "GET", LISTING, self._get),
            Route("androidpublisher.edits.listings.update", "PUT", LISTING, self._update),
            Route("androidpublisher.edits.listings.patch", "PATCH", LISTING, self._patch),
            Route("androidpublisher.edits.listings.delete", "DELETE", LISTING, self._delete),
            Route("androidpublisher.edits.details.get", "GET", _DETAILS, self._get_details),
            Route("androidpublisher.edits.details.update", "PUT", _DETAILS, self._set_details),
            Route("androidpublisher.edits.details.patch", "PATCH", _DETAILS, self._set_details),
        ]

    def _listings(self, request: Request) -> dict[str, dict[str, Json]]:
        return self._store.open_edit(request).content.listings

    def _list(self, request: Request) -> Response:
        found = list(self._listings(request).values())
        return json_response({"kind": "androidpublisher#listingsListResponse", "listings": found})

    def _get(self, request: Request) -> Response:
        listing = self._listings(request).get(language_of(request))
        if listing is None:
            raise ApiError(404, "No listing was found for this language.", "listingNotFound", domain="androidpublisher")
        return json_response(listing)

    def _set(self, request: Request, before: dict[str, Json]) -> Response:
        language = language_of(request)
        wanted = read_message(request.json(), _LISTING_RULE, "listing")
        listing = {name: text for name, text in {**before, **wanted, "language": language}.items() if text}
        for name, limit in TEXT_LIMITS.items():
            if len(listing.get(name, "")) > limit:
                raise ApiError(400, f"The {name} is too long; the limit is {limit} characters.", "listingTextTooLong")
        self._listings(request)[language] = listing
        return json_response(listing)

    def _update(self, request: Request) -> Response:
        return self._set(request, {})

    def _patch(self, request: Request) -> Response:
        return self._set(request, self._listings(request).get(language_of(request), {}))

    def _delete(self, request: Request) -> Response:
        self._listings(request).pop(language_of(request), None)
        return Response(204)

    def _delete_all(self, request: Request) -> Response:
        self._listings(request).clear()
        return Response(204)

    def _get_details(self, request: Request) -> Response:
        return json_response(self._store.open_edit(request).content.details)

    def _set_details(self, request: Request) -> Response:
        content = self._store.open_edit(request).content
        wanted = read_message(request.json(), _DETAILS_RULE, "app_details")
        language = wanted.get("defaultLanguage") or content.details["defaultLanguage"]
        check_language(language)
        kept = content.details if request.method == "PATCH" else {}
        content.details = {name: text for name, text in {**kept, **wanted, "defaultLanguage": language}.items() if text}
        return json_response(content.details)
