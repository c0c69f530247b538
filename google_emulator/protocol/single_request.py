"""Uploads in one request: the bytes alone, or metadata and bytes in a multipart body."""

from __future__ import annotations

from collections.abc import Callable

from google_emulator.http.errors import ApiError
from google_emulator.http.request import Request
from google_emulator.http.response import Json, Response, json_response
from google_emulator.protocol.blobs import Blob, store_body
from google_emulator.protocol.multipart import MultipartReader
from google_emulator.protocol.upload_method import UNKNOWN_TYPE, Media, UploadMethod
from google_emulator.protocol.upload_store import UploadStore


def require_length(request: Request) -> None:
    """Refuses (411) a request that does not say how long its body is."""
    if "Content-Length" not in request.headers and "Transfer-Encoding" not in request.headers:
        raise ApiError(411, "POST requests require a Content-length header.", "lengthRequired")


def simple_upload(
    uploads: UploadStore, request: Request, method: UploadMethod, content_type: str = "", protocol: str = "simple"
) -> Response:
    """The body is the media, and there is no metadata. Raises `ApiError` where the method refuses it.

    `content_type` is the media type where another header than Content-Type says it.
    """
    require_length(request)
    content_type = content_type or request.header("Content-Type") or UNKNOWN_TYPE

    def receive(blob: Blob) -> None:
        store_body(request.body, blob.write)

    method.check_media(content_type, request.body.length)
    return _upload(uploads, request, method, receive, content_type=content_type, metadata={}, protocol=protocol)


def multipart_upload(uploads: UploadStore, request: Request, method: UploadMethod) -> Response:
    """One request with metadata and media, the same in both dialects. Raises `ApiError` where its form is broken."""
    require_length(request)
    reader = MultipartReader(request.body, request.header("Content-Type"))
    metadata = reader.metadata()
    content_type = reader.media_type()
    method.check_agreement(content_type, metadata)

    def receive(blob: Blob) -> None:
        reader.media(blob.write)

    method.check_media(content_type, None)
    kind = content_type or UNKNOWN_TYPE
    return _upload(uploads, request, method, receive, content_type=kind, metadata=metadata, protocol="multipart")


def _upload(
    uploads: UploadStore,
    request: Request,
    method: UploadMethod,
    receive: Callable[[Blob], None],
    *,
    content_type: str,
    metadata: dict[str, Json],
    protocol: str,
) -> Response:
    method.check(request, metadata)
    blob = uploads.blobs.new(method.algorithms)
    try:
        receive(blob)
        method.check_media(content_type, blob.size)
        media = Media(blob, content_type, metadata)
        resource = uploads.complete(request, method, media, protocol=protocol, received=request.body.received)
    except BaseException:
        blob.remove()
        raise
    return Response() if method.empty else json_response(resource)


def read_metadata(request: Request) -> None:
    """Reads the metadata of a session's start into the payload: an empty body, or JSON that says so."""
    request.read_payload()
    if request.payload and not request.header("Content-Type").lower().startswith("application/json"):
        raise ApiError(400, "The metadata must be application/json; charset=UTF-8.", "badContent")
