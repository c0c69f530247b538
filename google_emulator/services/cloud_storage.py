"""Cloud Storage: objects are inserted into buckets, with preconditions and digests.

Reference: cloud.google.com/storage/docs/json_api/v1/objects.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

from google_emulator.http.errors import ApiError
from google_emulator.http.request import Request
from google_emulator.http.response import Json, Response, json_response
from google_emulator.http.routes import Route
from google_emulator.protocol.upload_method import Media, UploadMethod
from google_emulator.services.timestamps import timestamp

_SCOPE_NAMES = ("devstorage.read_write", "devstorage.full_control", "cloud-platform")
SCOPES = tuple(f"https://www.googleapis.com/auth/{name}" for name in _SCOPE_NAMES)


class CloudStorage:
    """The objects of every bucket, by `b/BUCKET/o/NAME`; every bucket exists."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.objects: dict[str, dict[str, Json]] = {}
        self._clock = clock
        self._numbers = itertools.count(1)

    def routes(self) -> list[Route]:
        """The calls that this API serves."""
        return [Route("storage.objects.get", "GET", "/storage/v1/b/{bucket}/o/{name}", self._get, SCOPES)]

    def uploads(self) -> list[UploadMethod]:
        """The upload methods of this API."""
        return [
            UploadMethod(
                "storage.objects.insert",
                "/upload/storage/v1/b/{bucket}/o",
                self._insert,
                _check_announced_type,
                scopes=SCOPES,
                algorithms=("md5", "crc32c"),
                created=200,
            )
        ]

    def _get(self, request: Request) -> Response:
        bucket, name = request.params["bucket"], request.params["name"]
        found = self.objects.get(f"b/{bucket}/o/{name}")
        if found is None:
            raise ApiError(404, f"No such object: {bucket}/{name}")
        return json_response(found)

    def _insert(self, request: Request, media: Media) -> dict[str, Json]:
        name = request.query.get("name") or media.metadata.get("name")
        if not name:
            raise ApiError(400, "Required object name.", "required")
        if request.header("Content-Type").lower().startswith("multipart/"):
            _check_type(media.content_type, media.metadata)
        key = f"b/{request.params['bucket']}/o/{name}"
        self._check_generation(request, key)
        _check_md5(media)
        self.objects[key] = self._resource(request.params["bucket"], str(name), media)
        return self.objects[key]

    def _check_generation(self, request: Request, key: str) -> None:
        """`ifGenerationMatch`: 0 means that the object must not exist yet."""
        present = self.objects.get(key, {})
        for name, field in (("ifGenerationMatch", "generation"), ("ifMetagenerationMatch", "metageneration")):
            if request.query.get(name, present.get(field, "0")) != present.get(field, "0"):
                raise ApiError(412, "At least one of the pre-conditions you specified did not hold.", "conditionNotMet")

    def _resource(self, bucket: str, name: str, media: Media) -> dict[str, Json]:
        now = self._clock()
        generation = str(int(now * 1_000_000) + next(self._numbers))
        return {
            "kind": "storage#object",
            "id": f"{bucket}/{name}/{generation}",
            "name": name,
            "bucket": bucket,
            "generation": generation,
            "metageneration": "1",
            "contentType": media.metadata.get("contentType") or media.content_type,
            "storageClass": "STANDARD",
            "size": str(media.blob.size),
            "md5Hash": media.blob.base64("md5"),
            "crc32c": media.blob.base64("crc32c"),
            "metadata": media.metadata.get("metadata", {}),
            "timeCreated": timestamp(now),
            "updated": timestamp(now),
        }


def _check_announced_type(request: Request, metadata: dict[str, Json]) -> None:
    """The type that the start of a session announces, if it does."""
    _check_type(request.header("X-Upload-Content-Type"), metadata)


def _check_type(uploaded: str, metadata: dict[str, Json]) -> None:
    """Refuses media of another type than the metadata says, as Google has since 2016; the words are Google's."""
    stated = metadata.get("contentType")
    if uploaded and stated and uploaded != stated:
        raise ApiError(
            400,
            f"Content-Type specified in the upload ({uploaded}) does not match Content-Type specified in metadata "
            f"({stated}). If it was a simple upload (uploadType=media), the Content-Type was specified as a bare "
            "header. If it was a multipart upload (uploadType=multipart), then the Content-Type was specified in the "
            "second part of the multipart. If it was a resumable upload (uploadType=resumable), then the Content-Type "
            "was specified with the X-Upload-Content-Type header with the start of the resumable session. For more "
            "information, see https://cloud.google.com/storage/docs/json_api/v1/how-tos/upload.",
            "invalid",
        )


def _check_md5(media: Media) -> None:
    claimed, md5 = media.metadata.get("md5Hash"), media.blob.base64("md5")
    if claimed is not None and claimed != md5:
        raise ApiError(400, f"Provided MD5 hash {claimed!r} doesn't match calculated MD5 hash {md5!r}.", "invalid")
