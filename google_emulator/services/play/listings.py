"""edits.listings, edits.details and edits.images: the store's texts and pictures, and the app's
contacts.
"""

from __future__ import annotations

import itertools
from pathlib import Path

from google_emulator.http.request import Request
from google_emulator.http.response import ApiError, Json, Response, json_response
from google_emulator.http.routes import Route
from google_emulator.protocol.uploads import Media, Service, UploadMethod
from google_emulator.services.payload_rules import read_message, text
from google_emulator.services.play.locales import check_language
from google_emulator.services.play.store import (
    EDIT,
    LISTING,
    LISTINGS,
    PlayStore,
    language_of,
)

TEXT_LIMITS = {
    "title": 30,
    "shortDescription": 80,
    "fullDescription": 4000,
}  # characters
_DETAILS = EDIT + "/details"
_LISTING_RULE = dict.fromkeys((*TEXT_LIMITS, "video", "language"), text)
_CONTACTS = ("contactEmail", "contactPhone", "contactWebsite")
_DETAILS_RULE = dict.fromkeys(("defaultLanguage", *_CONTACTS), text)
SCREENSHOTS = (
    "phoneScreenshots",
    "sevenInchScreenshots",
    "tenInchScreenshots",
    "tvScreenshots",
    "wearScreenshots",
)
SINGLE = ("icon", "featureGraphic", "tvBanner")
MAX_SCREENSHOTS = 8
IMAGE_LIMIT = 15 << 20  # bytes
_PNG = b"\x89PNG\r\n\x1a\n"
_COLOR_TYPE = 25  # offset of the byte in a PNG's first chunk
_WITH_ALPHA = (4, 6)  # colour types: grey or true colour, each with an alpha channel
# with an `api-endpoint` on loopback, the program sends requests for this host there, too
HOST = "https://play-lh.googleusercontent.com"
_PUBLIC = "/emulated-images/{image}"
_IMAGES = LISTING + "/{type}"


class ListingsApi(Service):
    """The texts of an edit."""

    def __init__(self, store: PlayStore) -> None:
        self._store = store
        self.routes = [
            Route("androidpublisher.edits.listings.list", "GET", LISTINGS, self._list),
            Route(
                "androidpublisher.edits.listings.deleteall",
                "DELETE",
                LISTINGS,
                self._delete_all,
            ),
            Route("androidpublisher.edits.listings.get", "GET", LISTING, self._get),
            Route(
                "androidpublisher.edits.listings.update", "PUT", LISTING, self._update
            ),
            Route(
                "androidpublisher.edits.listings.patch", "PATCH", LISTING, self._patch
            ),
            Route(
                "androidpublisher.edits.listings.delete",
                "DELETE",
                LISTING,
                self._delete,
            ),
            Route("androidpublisher.edits.details.get", "GET", _DETAILS, self._details),
            Route(
                "androidpublisher.edits.details.update",
                "PUT",
                _DETAILS,
                self._set_details,
            ),
            Route(
                "androidpublisher.edits.details.patch",
                "PATCH",
                _DETAILS,
                self._set_details,
            ),
        ]

    def _details(self, request: Request) -> Json:
        return self._store.open_edit(request).content.details

    def _listings(self, request: Request) -> dict[str, dict[str, Json]]:
        return self._store.open_edit(request).content.listings

    def _list(self, request: Request) -> Response:
        found = list(self._listings(request).values())
        return json_response(
            {"kind": "androidpublisher#listingsListResponse", "listings": found}
        )

    def _get(self, request: Request) -> Response:
        return json_response(self._found(request))

    def _found(self, request: Request) -> dict[str, Json]:
        listing = self._listings(request).get(language_of(request))
        if listing is None:
            raise ApiError(
                404,
                "No listing was found for this language.",
                "listingNotFound",
                domain="androidpublisher",
            )
        return listing

    def _update(self, request: Request) -> Response:
        """Create or replace a listing. Fields that the request does not have are removed."""
        return self._set(request, {})

    def _patch(self, request: Request) -> Response:
        """Change the fields that the request has. Raises `ApiError` 404 for a new language: the
        documents say only of `update` that it creates a listing.
        """
        return self._set(request, self._found(request))

    def _set(self, request: Request, before: dict[str, Json]) -> Response:
        language = language_of(request)
        wanted = read_message(request.json(), _LISTING_RULE, "listing")
        listing = {
            name: text
            for name, text in {**before, **wanted, "language": language}.items()
            if text
        }
        for name, limit in TEXT_LIMITS.items():
            if len(listing.get(name, "")) > limit:
                raise ApiError(
                    400,
                    f"The {name} is too long; the limit is {limit} characters.",
                    "listingTextTooLong",
                )
        self._listings(request)[language] = listing
        return json_response(listing)

    def _delete(self, request: Request) -> Response:
        self._listings(request).pop(language_of(request), None)
        return Response(204)

    def _delete_all(self, request: Request) -> Response:
        self._listings(request).clear()
        return Response(204)

    def _set_details(self, request: Request) -> Json:
        content = self._store.open_edit(request).content
        wanted = read_message(request.json(), _DETAILS_RULE, "app_details")
        language = check_language(
            wanted.get("defaultLanguage") or content.details["defaultLanguage"]
        )
        kept = content.details if request.method == "PATCH" else {}
        content.details = {
            name: text
            for name, text in {**kept, **wanted, "defaultLanguage": language}.items()
            if text
        }
        return content.details


class ImagesApi(Service):
    """The pictures of an edit."""

    def __init__(self, store: PlayStore) -> None:
        self._store = store
        self._numbers = itertools.count(1)
        self._files: dict[str, Path] = {}
        self.routes = [
            Route("androidpublisher.edits.images.list", "GET", _IMAGES, self._list),
            Route(
                "androidpublisher.edits.images.upload", "POST", _IMAGES, self._newest
            ),
            Route(
                "androidpublisher.edits.images.deleteall",
                "DELETE",
                _IMAGES,
                self._delete_all,
            ),
            Route(
                "androidpublisher.edits.images.delete",
                "DELETE",
                _IMAGES + "/{image}",
                self._delete,
            ),
            Route("googleusercontent.images", "GET", _PUBLIC, self._serve, scopes=None),
        ]
        self.uploads = [
            UploadMethod(
                "androidpublisher.edits.images.upload",
                "/upload" + _IMAGES,
                self._add,
                lambda request, _: self._with_room(request),
                accept=("image/*",),
                limit=IMAGE_LIMIT,
                algorithms=("sha1",),
            )
        ]

    def _images(self, request: Request) -> list[dict[str, Json]]:
        """Return the images of one language and type in the edit, as a list that may be changed."""
        if request.params["type"] not in (*SCREENSHOTS, *SINGLE):
            raise ApiError(
                400,
                f"Invalid value at 'image_type' (TYPE_ENUM), \"{request.params['type']}\"",
            )
        images = self._store.open_edit(request).content.images
        return images.setdefault((language_of(request), request.params["type"]), [])

    def _list(self, request: Request) -> Response:
        found = self._images(request)
        return json_response({"images": found} if found else {})

    def _newest(self, request: Request) -> dict[str, Json]:
        """Return the last image of the place, for a request with metadata alone, which changes no
        picture.
        """
        if not (images := self._images(request)):
            raise ApiError(
                404, "No such image.", "imageNotFound", domain="androidpublisher"
            )
        return {"image": images[-1]}

    def _with_room(self, request: Request) -> list[dict[str, Json]]:
        images = self._images(request)
        if len(images) >= MAX_SCREENSHOTS and request.params["type"] in SCREENSHOTS:
            raise ApiError(
                403,
                f"At most {MAX_SCREENSHOTS} images of this type are allowed.",
                "tooManyImages",
            )
        return images

    def _add(self, request: Request, media: Media) -> dict[str, Json]:
        images = self._with_room(request)
        if request.params["type"] == "featureGraphic" and _has_alpha(media.blob.path):
            # Play Console Help, "Add preview assets": JPEG or 24-bit PNG (no alpha)
            raise ApiError(400, "The feature graphic must not have an alpha channel.")
        number = str(next(self._numbers))
        image = {
            "id": number,
            "url": f"{HOST}{_PUBLIC.format(image=number)}",
            "sha1": media.blob.hex("sha1"),
            "sha256": media.blob.hex("sha256"),
        }
        self._files[number] = media.blob.path
        if request.params["type"] in SINGLE:
            images.clear()
        images.append(image)
        return {"image": image}

    def _serve(self, request: Request) -> Response:
        """Return the picture, without a login. Raises `ApiError` 403 for a request with a token,
        which must not reach this host.
        """
        number, _, size = request.params["image"].partition("=")
        if request.header("Authorization"):
            raise ApiError(
                403,
                "An access token was sent to a host that serves pictures to everybody.",
                "forbidden",
            )
        if number not in self._files:
            raise ApiError(404, "No such image.", "imageNotFound")
        data = self._files[number].read_bytes()
        # Without `=s0`, Google serves a smaller picture, not the bytes that were uploaded.
        return Response(
            200, data if size == "s0" else data[:100], [("Content-Type", "image/png")]
        )

    def _delete(self, request: Request) -> Response:
        images = self._images(request)
        kept = [image for image in images if image["id"] != request.params["image"]]
        if len(kept) == len(images):
            raise ApiError(
                404, "No such image.", "imageNotFound", domain="androidpublisher"
            )
        images[:] = kept
        return Response(204)

    def _delete_all(self, request: Request) -> Response:
        images = self._images(request)
        deleted = list(images)
        images.clear()
        return json_response({"deleted": deleted} if deleted else {})


def _has_alpha(path: Path) -> bool:
    """Return whether a file is a PNG with an alpha channel."""
    with path.open("rb") as file:
        head = file.read(_COLOR_TYPE + 1)
    return (
        head.startswith(_PNG)
        and head[_COLOR_TYPE:] != b""
        and head[_COLOR_TYPE] in _WITH_ALPHA
    )
