"""Cloud Storage: objects are inserted into buckets, with preconditions and digests.

Reference: cloud.google.com/storage/docs/json_api/v1/objects.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

from google_emulator.http.errors import ApiError
from google_emulator.http.request import Request
from google_emulator.http.response import Json
from google_emulator.http.routes import Route
from google_emulator.protocol.blobs import Blob
from google_emulator.protocol.upload_method import Media, UploadMethod
from google_emulator.services.bucket_contents import SETTABLE, WRITE, BucketContents, names_of
from google_emulator.services.timestamps import timestamp


class CloudStorage:
    """The objects of every bucket, by `b/BUCKET/o/NAME`; every bucket exists."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.objects: dict[str, dict[str, Json]] = {}
        self._blobs: dict[str, Blob] = {}
        self._clock = clock
        self._numbers = itertools.count(1)

    def routes(self) -> list[Route]:
        """The calls that this API serves."""
        return BucketContents(self.objects, self._blobs).routes()

    def uploads(self) -> list[UploadMethod]:
        """The upload methods of this API."""
        return [
            UploadMethod(
                "storage.objects.insert",
                "/upload/storage/v1/b/{bucket}/o",
                self._insert,
                scopes=WRITE,
                algorithms=("md5", "crc32c"),
                created=200,
                type_field="contentType",
            )
        ]

    def _insert(self, request: Request, media: Media) -> dict[str, Json]:
        name = request.query.get("name") or media.metadata.get("name")
        if not name:
            raise ApiError(400, "Required object name.", "required")
        key = f"b/{request.params['bucket']}/o/{name}"
        self._check_generation(request, key)
        _check_md5(media)
        self.objects[key], self._blobs[key] = self._resource(request, str(name), media), media.blob
        return self.objects[key]

    def _check_generation(self, request: Request, key: str) -> None:
        """`ifGenerationMatch`: 0 means that the object must not exist yet."""
        present = self.objects.get(key, {})
        for name, field in (("ifGenerationMatch", "generation"), ("ifMetagenerationMatch", "metageneration")):
            if request.query.get(name, present.get(field, "0")) != present.get(field, "0"):
                raise ApiError(412, "At least one of the pre-conditions you specified did not hold.", "conditionNotMet")

    def _resource(self, request: Request, name: str, media: Media) -> dict[str, Json]:
        now = self._clock()
        generation = str(int(now * 1_000_000) + next(self._numbers))
        encoding = request.query.get("contentEncoding")
        return {
            "kind": "storage#object",
            **names_of(request.server_url, request.params["bucket"], name, generation),
            "metageneration": "1",
            "contentType": media.metadata.get("contentType") or media.content_type,
            "storageClass": "STANDARD",
            **({"contentEncoding": encoding} if encoding else {}),
            **{name: media.metadata[name] for name in SETTABLE if media.metadata.get(name)},
            "size": str(media.blob.size),
            "md5Hash": media.blob.base64("md5"),
            "crc32c": media.blob.base64("crc32c"),
            "metadata": media.metadata.get("metadata") or {},
            "timeCreated": timestamp(now),
            "updated": timestamp(now),
        }


def _check_md5(media: Media) -> None:
    claimed, md5 = media.metadata.get("md5Hash"), media.blob.base64("md5")
    if claimed is not None and claimed != md5:
        raise ApiError(400, f"Provided MD5 hash {claimed!r} doesn't match calculated MD5 hash {md5!r}.", "invalid")
