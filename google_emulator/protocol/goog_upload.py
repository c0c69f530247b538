"""Uploads in the dialect of the `X-Goog-Upload-*` headers: raw, multipart, and sessions with the
commands start, upload, finalize, query and cancel.

Every request is a POST. Every response says in X-Goog-Upload-Status whether the session is active,
final or cancelled.
"""

from __future__ import annotations

from urllib.parse import urlencode

from google_emulator.config import Config
from google_emulator.http.request import Request
from google_emulator.http.response import ApiError, Response
from google_emulator.http.routes import STEPS
from google_emulator.protocol.single_request import (
    multipart_upload,
    read_metadata,
    simple_upload,
)
from google_emulator.protocol.uploads import Session, UploadMethod, UploadStore

PREFIX = "X-Goog-Upload-"
_STATUS_WORDS = {"open": "active", "cancelled": "cancelled"}


def is_goog_upload(request: Request) -> bool:
    """Return whether a request is of this dialect."""
    return bool(
        request.header(PREFIX + "Protocol") or request.header(PREFIX + "Command")
    )


def _commands(request: Request) -> list[str]:
    return [
        word.strip().lower()
        for word in request.header(PREFIX + "Command").split(",")
        if word.strip()
    ]


def protocol_steps(request: Request) -> set[str]:
    """Return the protocol steps of a request, from its headers alone; `upload, finalize` is two of
    them.
    """
    protocol = request.header(PREFIX + "Protocol").lower()
    if protocol in ("raw", "multipart") and "upload_id" not in request.query:
        return {f"goog.{protocol}"}
    return {f"goog.{command}" for command in _commands(request)} & set(STEPS)


class GoogUploadDialect:
    """Upload requests of this dialect."""

    def __init__(self, uploads: UploadStore, config: Config) -> None:
        self._uploads = uploads
        self._config = config

    def upload(self, request: Request, method: UploadMethod) -> Response:
        """Return the response to one upload request. Raises `ApiError`, `Disconnected`."""
        if request.method != "POST":
            raise ApiError(405, "Every command is a POST.", "httpMethodNotAllowed")
        if "upload_id" in request.query:
            session = self._uploads.continue_session(request)
            if session.dialect != "goog":
                raise ApiError(400, "The session speaks the other protocol.")
            try:
                response = self._execute(request, session, _commands(request))
            except ApiError as error:
                response = error.response()
            return self._with_status(session, response)
        protocol = request.header(PREFIX + "Protocol").lower()
        if protocol == "resumable" and _commands(request) == ["start"]:
            return self._start(request, method)
        if protocol == "raw":
            content_type = request.header(PREFIX + "Content-Type")
            response = simple_upload(
                self._uploads, request, method, content_type, protocol="raw"
            )
        elif protocol == "multipart":
            response = multipart_upload(self._uploads, request, method)
        else:
            raise ApiError(
                400,
                "X-Goog-Upload-Protocol must be raw, multipart, or resumable with "
                "the command start.",
            )
        response.set_header(PREFIX + "Status", "final")
        return response

    def _start(self, request: Request, method: UploadMethod) -> Response:
        read_metadata(request)
        content_type = request.header(PREFIX + "Header-Content-Type")
        total = request.number(PREFIX + "Header-Content-Length")
        try:
            session = self._uploads.open_session(
                request, method, "goog", content_type, total
            )
        except ApiError as error:
            response = error.response()
            response.set_header(PREFIX + "Status", "final")
            return response
        root = (
            request.server_url
            if self._config.upload_url_scheme
            else request.server_url.partition("://")[2]
        )
        url = f"{root}{request.path}?" + urlencode(
            {"upload_id": session.id, "upload_protocol": "resumable"}
        )
        response = self._with_status(session, Response())
        response.remove_header(PREFIX + "Size-Received")
        response.set_header(PREFIX + "URL", url)
        response.set_header(PREFIX + "Control-URL", url)
        return response

    def _with_status(self, session: Session, response: Response) -> Response:
        """Set the headers with the state of the session, and return the response."""
        response.set_header(
            PREFIX + "Status", _STATUS_WORDS.get(session.state, "final")
        )
        if session.state == "open":
            response.set_header(PREFIX + "Size-Received", str(session.blob.size))
            response.set_header(
                PREFIX + "Chunk-Granularity", str(self._config.granularity)
            )
        return response

    def _execute(
        self, request: Request, session: Session, commands: list[str]
    ) -> Response:
        if commands == ["query"]:
            with session.lock:
                ended = session.state not in ("open", "cancelled")
                return (
                    self._uploads.finish_session(session, request)
                    if ended
                    else Response()
                )
        if commands == ["cancel"]:
            session.cancel()
            return Response()
        if commands not in (["upload"], ["finalize"], ["upload", "finalize"]):
            raise ApiError(
                400,
                f"Unknown X-Goog-Upload-Command: {request.header(PREFIX + 'Command')!r}.",
            )
        if session.state == "cancelled":
            raise ApiError(400, "The upload was cancelled.")
        if session.result is not None:
            return self._uploads.finish_session(session, request)
        self._check_chunk(request, session, commands)
        session.store(request.body)
        # After a fault that dropped bytes, the upload stays active, so that the client can send
        # them again.
        if "finalize" not in commands or request.body.dropped:
            return Response()
        if session.total is not None and session.blob.size != session.total:
            raise ApiError(
                400,
                f"{session.total} bytes were announced, {session.blob.size} received.",
            )
        return self._uploads.finish_session(session, request)

    def _check_chunk(
        self, request: Request, session: Session, commands: list[str]
    ) -> None:
        """Raise `ApiError` unless the offset is the number of stored bytes, the length fits, and
        every chunk but the last consists of whole granules.
        """
        length = request.body.length
        if length is None:
            raise ApiError(411, "A Content-Length is required.", "lengthRequired")
        if "upload" not in commands:
            if length:
                raise ApiError(400, "A finalize without upload has no body.")
            return
        offset, granularity = (
            request.number(PREFIX + "Offset"),
            self._config.granularity,
        )
        if offset is None:
            raise ApiError(400, "X-Goog-Upload-Offset is required.")
        if offset != session.blob.size:
            raise ApiError(
                409,
                f"X-Goog-Upload-Offset is {offset}, but {session.blob.size} bytes were received.",
            )
        if "finalize" not in commands and (length == 0 or length % granularity):
            session.uneven_chunks += 1
            raise ApiError(
                400, f"A chunk of {length} bytes is no multiple of {granularity}."
            )
        if session.total is not None and offset + length > session.total:
            raise ApiError(
                400, f"More bytes than the {session.total} that were announced."
            )
