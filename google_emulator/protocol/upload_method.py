"""A method that takes media, as the dialects see it: its conditions, its limits, and how it makes the resource."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TypeAlias

from google_emulator.http.errors import ApiError
from google_emulator.http.request import Request
from google_emulator.http.response import Json
from google_emulator.http.routes import PLAY_SCOPE
from google_emulator.protocol.blobs import Blob

UNKNOWN_TYPE = "application/octet-stream"
_DISAGREEMENT = (
    "Content-Type specified in the upload ({upload}) does not match Content-Type specified in metadata ({metadata}). "
    "If it was a simple upload (uploadType=media), the Content-Type was specified as a bare header. If it was a "
    "multipart upload (uploadType=multipart), then the Content-Type was specified in the second part of the multipart. "
    "If it was a resumable upload (uploadType=resumable), then the Content-Type was specified with the "
    "X-Upload-Content-Type header with the start of the resumable session."
)


@dataclass(frozen=True, slots=True)
class Media:
    """What an upload has brought: its bytes, their declared type, and the metadata sent with them."""

    blob: Blob
    content_type: str
    metadata: dict[str, Json]


Check: TypeAlias = Callable[[Request, "dict[str, Json]"], object]
Finish: TypeAlias = Callable[[Request, Media], "dict[str, Json]"]


def no_check(request: Request, metadata: dict[str, Json]) -> None:
    """For methods without conditions of their own before the bytes arrive."""
    del request, metadata


@dataclass(frozen=True, slots=True)
class UploadMethod:
    """A method that takes media.

    `check` is given the request and its metadata before bytes are taken and raises `ApiError`; what it returns is
    ignored. `finish` turns complete media into the resource. `accept` are media types (with `*`), `limit` is in bytes,
    `algorithms` the digests that its resource shows. `created` is the status of success; `empty` says that success has
    no body. `upload_type` is false where only the X-Goog-Upload headers are understood. `type_field` is the field of
    the metadata that has to agree with the media type of the upload, where there is one.
    """

    id: str
    template: str
    finish: Finish
    check: Check = no_check
    methods: tuple[str, ...] = ("POST",)
    accept: tuple[str, ...] = ("*/*",)
    limit: int | None = None
    scopes: tuple[str, ...] = (PLAY_SCOPE,)
    algorithms: tuple[str, ...] = ()
    created: int = 201
    empty: bool = False
    upload_type: bool = True
    type_field: str = ""

    def check_agreement(self, content_type: str, metadata: dict[str, Json]) -> None:
        """Refuses (400) a media type of the upload, if it has one, that is another than that of the metadata."""
        meant = metadata.get(self.type_field) if content_type else None
        if meant and meant != content_type:
            raise ApiError(400, _DISAGREEMENT.format(upload=content_type, metadata=meant), "invalid")

    def check_media(self, content_type: str, size: int | None) -> None:
        """Refuses a media type that the method does not take (400) and a size in bytes above its limit (413)."""
        kind = (content_type or UNKNOWN_TYPE).partition(";")[0].strip().lower()
        if not any(fnmatchcase(kind, pattern) for pattern in self.accept):
            accepted = ", ".join(self.accept)
            raise ApiError(400, f"Media type '{kind}' is not supported. Valid media types: [{accepted}]", "badContent")
        if self.limit is not None and size is not None and size > self.limit:
            raise ApiError(413, f"Media size {size} exceeds the limit of {self.limit} bytes.", "uploadTooLarge")
