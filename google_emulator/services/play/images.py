"""edits.images: the store's pictures, by language and type."""

from __future__ import annotations

import itertools
from pathlib import Path

from google_emulator.http.errors import ApiError
from google_emulator.http.request import Request
from google_emulator.http.response import Json, Response, json_response
from google_emulator.http.routes import Route
from google_emulator.protocol.upload_method import Media, UploadMethod
from google_emulator.services.play.paths import LISTING, language_of
from google_emulator.services.play.store import PlayStore

SCREENSHOTS = ("phoneScreenshots", "sevenInchScreenshots", "tenInchScreenshots", "tvScreenshots", "wearScreenshots")
SINGLE = ("icon", "featureGraphic", "tvBanner")
MOST_SCREENSHOTS = 8
IMAGE_LIMIT = 15 << 20  # bytes
HOST = "https://play-lh.googleusercontent.com"  # whose requests an `api-endpoint` on this machine takes, too
_PUBLIC = "/emulated-images/{image}"
_IMAGES = LISTING + "/{type}"


class ImagesApi:
    """The pictures of an edit."""

    def __init__(self, store: PlayStore) -> None:
        self._store = store
        self._numbers = itertools.count(1)
        self._files: dict[str, Path] = {}

    def routes(self) -> list[Route]:
        """The calls that this API serves."""
        return [
            Route("androidpublisher.edits.images.list", "GET", _IMAGES, self._list),
            Route("androidpublisher.edits.images.deleteall", "DELETE", _IMAGES, self._delete_all),
            Route("androidpublisher.edits.images.delete", "DELETE", _IMAGES + "/{image}", self._delete),
            Route("googleusercontent.images", "GET", _PUBLIC, self._serve, scopes=None),
        ]

    def uploads(self) -> list[UploadMethod]:
        """The upload methods of this API."""
        return [
            UploadMethod(
                "androidpublisher.edits.images.upload",
                "/upload" + _IMAGES,
                self._add,
                self._check_room,
                accept=("image/*",),
                limit=IMAGE_LIMIT,
                algorithms=("sha1",),
            )
        ]

    def _images(self, request: Request) -> list[dict[str, Json]]:
        """The images of one language and type in the edit, as a list that may be changed."""
        if request.params["type"] not in (*SCREENSHOTS, *SINGLE):
            raise ApiError(400, f"Invalid value at 'image_type' (TYPE_ENUM), \"{request.params['type']}\"")
        images = self._store.open_edit(request).content.images
        return images.setdefault((language_of(request), request.params["type"]), [])

    def _list(self, request: Request) -> Response:
        found = self._images(request)
        return json_response({"images": found} if found else {})

    def _check_room(self, request: Request, metadata: dict[str, Json]) -> None:
        del metadata
        if len(self._images(request)) >= MOST_SCREENSHOTS and request.params["type"] in SCREENSHOTS:
            raise ApiError(403, f"At most {MOST_SCREENSHOTS} images of this type are allowed.", "tooManyImages")

    def _add(self, request: Request, media: Media) -> dict[str, Json]:
        self._check_room(request, media.metadata)
        images = self._images(request)
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
        """The picture itself, to everybody. A token has no business at the host that serves it."""
        number, _, size = request.params["image"].partition("=")
        if request.header("Authorization"):
            raise ApiError(403, "An access token was sent to a host that serves pictures to everybody.", "forbidden")
        if number not in self._files:
            raise ApiError(404, "No such image.", "imageNotFound")
        data = self._files[number].read_bytes()
        # Without `=s0` what is served is made smaller: other bytes than those that were uploaded.
        return Response(200, data if size == "s0" else data[:100], [("Content-Type", "image/png")])

    def _delete(self, request: Request) -> Response:
        images = self._images(request)
        kept = [image for image in images if image["id"] != request.params["image"]]
        if len(kept) == len(images):
            raise ApiError(404, "No such image.", "imageNotFound", domain="androidpublisher")
        images[:] = kept
        return Response(204)

    def _delete_all(self, request: Request) -> Response:
        images = self._images(request)
        deleted = list(images)
        images.clear()
        return json_response({"deleted": deleted} if deleted else {})
