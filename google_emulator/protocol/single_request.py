"""Uploads in one request: the bytes alone, or metadata and bytes in a multipart body."""

from __future__ import annotations

from collections.abc import Callable
from email.message import Message
from email.parser import BytesParser
from functools import partial
from typing import TypeAlias

from google_emulator.http.request import Request, json_object
from google_emulator.http.response import ApiError, Json, Response
from google_emulator.http.wire import BLOCK, Body
from google_emulator.protocol.blobs import store_body
from google_emulator.protocol.uploads import (
    UNKNOWN_TYPE,
    Media,
    UploadMethod,
    UploadStore,
)

HEAD_LIMIT = 1024 * 1024
Write: TypeAlias = Callable[["bytes | memoryview"], None]


def _malformed(what: str) -> ApiError:
    return ApiError(400, f"Malformed multipart body. {what}", "badContent")


class MultipartReader:
    """A parser of one multipart body. Its methods are called in order; they raise `ApiError` 400 if
    the form is wrong.
    """

    def __init__(self, body: Body, content_type: str) -> None:
        message = Message()
        message["Content-Type"] = content_type
        boundary = message.get_param("boundary")
        if (
            message.get_content_type() != "multipart/related"
            or not isinstance(boundary, str)
            or not boundary
        ):
            raise ApiError(
                400,
                "Content-Type must be multipart/related with a boundary.",
                "badContent",
            )
        self._body = body
        self._dashes = b"--" + boundary.encode("latin-1", "replace")
        self._eol = b"\r\n"
        self._buffer = b""
        self._block = bytearray(BLOCK)

    def metadata(self) -> dict[str, Json]:
        """Return the first part, a JSON object."""
        line = self._until(b"\n")
        while line in (b"", b"\r"):
            line = self._until(b"\n")
        begun = line.removesuffix(b"\r")
        if begun != self._dashes and begun != b"--" + self._dashes[2:].strip(b"'"):
            raise _malformed("It does not begin with its boundary.")
        self._dashes = begun
        self._eol = b"\r\n" if line.endswith(b"\r") else b"\n"
        head = self._head()
        if head.get("Content-Type") and head.get_content_type() != "application/json":
            raise _malformed(
                "The first part must be the metadata, as application/json."
            )
        return json_object(self._until(self._eol + self._dashes))

    def media_type(self) -> str:
        """Return the Content-Type of the second part; empty if it has none."""
        if self._until(self._eol).strip():
            raise _malformed("There must be exactly two parts.")
        head = self._head()
        if head.get("Content-Transfer-Encoding", "binary").lower() not in (
            "binary",
            "8bit",
            "7bit",
        ):
            raise _malformed("The media part must not be encoded.")
        return str(head.get("Content-Type", ""))

    def media(self, write: Write) -> None:
        """Pass the bytes of the second part to `write`, then check that the body ends properly."""
        delimiter = self._eol + self._dashes
        while (at := self._buffer.find(delimiter)) < 0:
            safe = max(0, len(self._buffer) - len(delimiter) + 1)
            if safe:
                write(self._buffer[:safe])
                self._buffer = self._buffer[safe:]
            if not self._more():
                raise _malformed("The closing boundary is missing.")
        write(self._buffer[:at])
        self._buffer = self._buffer[at + len(delimiter) :]
        while self._more():
            if len(self._buffer) > HEAD_LIMIT:
                break
        if not self._buffer.startswith(b"--"):
            raise _malformed("There must be exactly two parts.")
        if self._buffer[2:].strip():
            raise _malformed("Something follows the closing boundary.")

    def _more(self) -> bool:
        count = self._body.readinto(memoryview(self._block))
        self._buffer += self._block[:count]
        return count > 0

    def _until(self, end: bytes) -> bytes:
        while (at := self._buffer.find(end)) < 0:
            if len(self._buffer) > HEAD_LIMIT or not self._more():
                raise _malformed("A part does not end.")
        taken, self._buffer = self._buffer[:at], self._buffer[at + len(end) :]
        return taken

    def _head(self) -> Message:
        # A part without headers begins with the empty line itself, so the search for it starts one
        # line end earlier.
        self._buffer = self._eol + self._buffer
        return BytesParser().parsebytes(
            self._until(self._eol * 2).lstrip() + self._eol, headersonly=True
        )


def require_length(request: Request) -> None:
    """Raise `ApiError` 411 if a request does not say how long its body is."""
    if (
        "Content-Length" not in request.headers
        and "Transfer-Encoding" not in request.headers
    ):
        raise ApiError(
            411, "POST requests require a Content-length header.", "lengthRequired"
        )


def simple_upload(
    uploads: UploadStore,
    request: Request,
    method: UploadMethod,
    content_type: str = "",
    protocol: str = "simple",
) -> Response:
    """Carry out an upload whose body is the media, without metadata. Raises `ApiError` if the
    method refuses it.

    `content_type` is the media type if another header than Content-Type has it.
    """
    require_length(request)
    content_type = content_type or request.header("Content-Type") or UNKNOWN_TYPE
    method.check_media(content_type, request.body.length)
    media = Media(uploads.blobs.new(method.algorithms), content_type, {})
    return _upload(
        uploads, request, method, media, partial(store_body, request.body), protocol
    )


def multipart_upload(
    uploads: UploadStore, request: Request, method: UploadMethod
) -> Response:
    """Carry out an upload of metadata and media in one request, which is the same in both dialects.
    Raises `ApiError` if its form is wrong or the method refuses it.
    """
    require_length(request)
    reader = MultipartReader(request.body, request.header("Content-Type"))
    metadata = reader.metadata()
    content_type = reader.media_type()
    method.check_agreement(content_type, metadata)
    method.check_media(content_type, None)
    media = Media(
        uploads.blobs.new(method.algorithms), content_type or UNKNOWN_TYPE, metadata
    )
    return _upload(uploads, request, method, media, reader.media, "multipart")


def _upload(
    uploads: UploadStore,
    request: Request,
    method: UploadMethod,
    media: Media,
    receive: Callable[[Write], None],
    protocol: str,
) -> Response:
    """Carry out the method with media whose bytes `receive` still has to write."""
    try:
        method.check_start(request, media.metadata)
        receive(media.blob.write)
        method.check_media(media.content_type, media.blob.size)
        resource = uploads.complete(
            request, method, media, protocol, request.body.received
        )
    except BaseException:
        media.blob.remove()
        raise
    return method.response(resource)


def read_metadata(request: Request) -> None:
    """Read the metadata at the start of a session into the payload. Raises `ApiError` 400 for a
    body that is not declared as JSON.
    """
    request.read_payload()
    if request.payload and not request.header("Content-Type").lower().startswith(
        "application/json"
    ):
        raise ApiError(
            400, "The metadata must be application/json; charset=UTF-8.", "badContent"
        )
