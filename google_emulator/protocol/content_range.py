"""Uploads in the dialect of `uploadType`: media, multipart, and resumable with Content-Range and
308.

This is as strict as Google's servers: it refuses chunks that are too small, gaps, lengths that
contradict each other, and any number of parts but two. A chunk that is no multiple of 256 KiB is
stored up to the last multiple, as recordings of Google's answers show.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from google_emulator.http.request import Request
from google_emulator.http.response import ApiError, PlainError, Response
from google_emulator.http.routes import STEPS
from google_emulator.protocol.blobs import GRANULE
from google_emulator.protocol.single_request import (
    multipart_upload,
    read_metadata,
    require_length,
    simple_upload,
)
from google_emulator.protocol.uploads import Session, UploadMethod, UploadStore

_CONTENT_RANGE = re.compile(r"bytes (?:(\d{1,18})-(\d{1,18}|\*)|\*)/(\d{1,18}|\*)")


@dataclass(frozen=True)
class ContentRange:
    """The Content-Range of a request: the offset of its first byte, the offset after its last byte,
    and the total.

    Without a start, the request is a query. Without an end (`bytes 0-*/*`, as @google-cloud/storage
    sends it), it has the rest of the file.
    """

    start: int | None
    end: int | None
    total: int | None


def parse_content_range(text: str) -> ContentRange:
    """Parse a Content-Range header. Raises `ApiError` 400 if it is malformed or contradicts
    itself.
    """
    match = _CONTENT_RANGE.fullmatch(text)
    if match is None:
        raise ApiError(400, f"Failed to parse Content-Range header: {text!r}.")
    start, last, total = (
        None if part in (None, "*") else int(part) for part in match.groups()
    )
    if start is not None and total is not None and start > total:
        raise ApiError(400, f"Invalid Content-Range header: {text!r}.")
    end = None if last is None else last + 1
    if (
        start is not None
        and end is not None
        and (end <= start or (total is not None and end > total))
    ):
        raise ApiError(400, f"Invalid Content-Range header: {text!r}.")
    return ContentRange(start, end, total)


def protocol_steps(request: Request) -> set[str]:
    """Return the protocol steps of a request, from its query and headers alone; the last chunk is
    two of them.
    """
    if "upload_id" not in request.query:
        upload_type = request.query.get("uploadType", "")
        return {
            {"media": "simple", "resumable": "resumable.start"}.get(
                upload_type, upload_type
            )
        } & set(STEPS)
    if request.method == "DELETE":
        return {"resumable.cancel"}
    text = request.header("Content-Range")
    if text.startswith("bytes */"):
        return {"resumable.query"} | (
            {"resumable.final"} if text == "bytes */0" else set()
        )
    match = _CONTENT_RANGE.fullmatch(text)
    last = text == "" or (
        match is not None and (match[2] == "*" or match[3] == str(int(match[2]) + 1))
    )
    return {"resumable.put"} | ({"resumable.final"} if last else set())


class ContentRangeDialect:
    """Upload requests of this dialect."""

    def __init__(self, uploads: UploadStore) -> None:
        self._uploads = uploads

    def upload(self, request: Request, method: UploadMethod) -> Response:
        """Return the response to one upload request. Raises `ApiError`, `Disconnected`."""
        if "upload_id" in request.query:
            return self._session_request(
                request, self._uploads.continue_session(request)
            )
        upload_type = request.query.get("uploadType", "")
        if upload_type == "resumable":
            return self._start(request, method)
        if upload_type == "media":
            return simple_upload(self._uploads, request, method)
        if upload_type == "multipart":
            return multipart_upload(self._uploads, request, method)
        raise ApiError(
            400, "uploadType must be media, multipart or resumable.", "invalidParameter"
        )

    def _start(self, request: Request, method: UploadMethod) -> Response:
        require_length(request)
        read_metadata(request)
        content_type = request.header("X-Upload-Content-Type")
        total = request.number("X-Upload-Content-Length")
        session = self._uploads.open_session(
            request, method, "resumable", content_type, total
        )
        location = f"{request.server_url}{request.path}?uploadType=resumable&upload_id={session.id}"
        return Response(
            200, b"", [("Location", location), ("X-GUploader-UploadID", session.id)]
        )

    def _session_request(self, request: Request, session: Session) -> Response:
        if session.dialect != "resumable":
            raise ApiError(400, "The session speaks the other protocol.")
        if request.method == "DELETE":
            session.cancel(ApiError(499, "The upload was cancelled.").response())
            return Response(499)
        if request.method not in ("PUT", "POST"):
            raise ApiError(
                405,
                "Bytes are sent to a session with PUT or POST.",
                "httpMethodNotAllowed",
            )
        text = request.header("Content-Range")
        span = (
            parse_content_range(text)
            if text
            else ContentRange(0, request.body.length, request.body.length)
        )
        return (
            self._query(request, session, span)
            if span.start is None
            else self._put(request, session, span)
        )

    def _query(
        self, request: Request, session: Session, span: ContentRange
    ) -> Response:
        """Return how much is stored, or the resource if the total is known and everything is
        there.
        """
        if request.body.length != 0:
            raise ApiError(400, "A request for the offset has no body.")
        with session.lock:
            if session.result is not None:
                return self._uploads.finish_session(session, request)
            if span.total is None or span.total >= session.blob.size:
                _check_total(session, span.total)
            return self._progress(
                session, request, session.total if span.total is None else span.total
            )

    def _put(self, request: Request, session: Session, span: ContentRange) -> Response:
        if session.result is not None:
            return self._uploads.finish_session(session, request)
        max_stored = _check_chunk(request, session, span)
        start, before = span.start or 0, session.blob.size
        session.uneven_chunks += max_stored is not None
        session.store(request.body, skip=before - start, max_stored=max_stored)
        if span.end is not None and request.body.received != span.end - start:
            session.lose(before)
            raise _contradiction(span, request.body.received)
        with session.lock:
            if span.total is not None:
                session.total = span.total
            elif span.end is None:
                # Without an end, the range reaches to the end of the file, which is then the end of
                # this body.
                session.total = start + request.body.received
            return self._progress(session, request, session.total)

    def _progress(
        self, session: Session, request: Request, total: int | None
    ) -> Response:
        """Return the resource if everything is stored, otherwise how much is."""
        if session.blob.size == total:
            return self._uploads.finish_session(session, request)
        response = Response(308, b"", [("X-GUploader-UploadID", session.id)])
        if session.blob.size:
            response.set_header("Range", f"bytes=0-{session.blob.size - 1}")
            if md5 := session.blob.digests().get("md5"):
                response.set_header("X-Range-MD5", md5)
        return response


def _check_total(session: Session, total: int | None) -> None:
    if total is not None and session.total is not None and total != session.total:
        raise ApiError(
            400,
            f"The total size {total} differs from {session.total}, which was said before.",
        )


def _contradiction(span: ContentRange, received: int) -> ApiError:
    return ApiError(
        400,
        f"Content-Range has {(span.end or 0) - (span.start or 0)} bytes, the body {received}.",
    )


def _check_chunk(request: Request, session: Session, span: ContentRange) -> int | None:
    """Return how many bytes of a chunk are stored; None for all of them.

    Raises `ApiError` for a chunk that contradicts its headers, leaves a gap or is too small.
    """
    require_length(request)
    start, end = span.start or 0, span.end
    if (
        end is not None
        and request.body.length is not None
        and end - start != request.body.length
    ):
        raise _contradiction(span, request.body.length)
    _check_total(session, span.total)
    if start > session.blob.size:
        raise PlainError(
            503,
            "Invalid request.  According to the Content-Range header, the upload offset is "
            f"{start} byte(s), which exceeds already uploaded size of {session.blob.size} byte(s).",
        )
    if (
        end is None
        or end in (span.total, session.total)
        or (end - start) % GRANULE == 0
    ):
        return None
    if end - start < GRANULE:
        raise PlainError(
            400,
            "Invalid request.  The number of bytes uploaded is required to be equal or greater "
            f"than {GRANULE}, except for the final request (it's recommended to be the exact "
            f"multiple of {GRANULE}).  The received request contained {end - start} bytes, which "
            "does not meet this requirement.",
        )
    return (end - start) // GRANULE * GRANULE
