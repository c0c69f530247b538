"""Uploads as the server sees them: the methods that take media, open sessions, and a record of
completed uploads.

Both dialects work on the same sessions. A newer request to a session waits a moment while an older
one stores what has arrived, then supersedes it. So a client that gave up a connection is not held
up by it.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Literal, TypeAlias

from google_emulator.http.partial_response import Fields, read_fields, selected
from google_emulator.http.request import Request
from google_emulator.http.response import ApiError, Json, Response, json_response
from google_emulator.http.routes import PLAY_SCOPE, Route
from google_emulator.http.wire import Body
from google_emulator.protocol.blobs import Blob, BlobStore, store_body

UNKNOWN_TYPE = "application/octet-stream"
# seconds for an older request to store what has arrived
SETTLING_TIME = 0.25
_DISAGREEMENT = (
    "Content-Type specified in the upload ({upload}) does not match Content-Type specified in "
    "metadata ({metadata}). If it was a simple upload (uploadType=media), the Content-Type was "
    "specified as a bare header. If it was a multipart upload (uploadType=multipart), then the "
    "Content-Type was specified in the second part of the multipart. If it was a resumable upload "
    "(uploadType=resumable), then the Content-Type was specified with the X-Upload-Content-Type "
    "header with the start of the resumable session."
)


@dataclass(frozen=True)
class Media:
    """The contents of an upload: its bytes, their declared type, and the metadata sent with
    them.
    """

    blob: Blob
    content_type: str
    metadata: dict[str, Json]


Check: TypeAlias = Callable[[Request, "dict[str, Json]"], object]
Finish: TypeAlias = Callable[[Request, Media], "dict[str, Json]"]


@dataclass(frozen=True)
class UploadMethod:
    """A method that takes media.

    `check` is called with the request and its metadata before bytes are read, and raises
    `ApiError`; what it returns is ignored. `finish` turns complete media into the resource.
    `accept` are media types (with `*`), `limit` is in bytes, `algorithms` are the digests that the
    resource shows. `created` is the status of success at the end of a session of the `uploadType`
    dialect; `empty` says that success has no body. `upload_type` is false if the method understands
    only the X-Goog-Upload headers. `type_field` is the field of the metadata that has to agree with
    the media type of the upload, if there is one. `fields` are those of the resource that are
    answered if the request does not ask for any; empty means all.
    """

    id: str
    template: str
    finish: Finish
    check: Check = lambda _request, _metadata: None
    methods: tuple[str, ...] = ("POST",)
    accept: tuple[str, ...] = ("*/*",)
    limit: int | None = None
    scopes: tuple[str, ...] = (PLAY_SCOPE,)
    algorithms: tuple[str, ...] = ()
    created: int = 201
    empty: bool = False
    upload_type: bool = True
    type_field: str = ""
    fields: str = ""

    def check_start(self, request: Request, metadata: dict[str, Json]) -> None:
        """Raise `ApiError` for what can be refused before bytes arrive."""
        self.check(request, metadata)
        self.asked(request)

    def asked(self, request: Request) -> Fields:
        """Return the fields of the resource that the response has. Raises `ApiError` 400 if
        `fields` is malformed.
        """
        return read_fields(request.query.get("fields") or self.fields)

    def response(self, resource: dict[str, Json], status: int = 200) -> Response:
        """Return the response of success, with the resource unless success has no body."""
        return Response(status) if self.empty else json_response(resource, status)

    def check_agreement(self, content_type: str, metadata: dict[str, Json]) -> None:
        """Raise `ApiError` 400 if the upload and its metadata have different media types."""
        meant = metadata.get(self.type_field) if content_type else None
        if meant and meant != content_type:
            raise ApiError(
                400,
                _DISAGREEMENT.format(upload=content_type, metadata=meant),
                "invalid",
            )

    def check_media(self, content_type: str, size: int | None) -> None:
        """Raise `ApiError` 400 for a media type that the method does not take, 413 for more bytes
        than its limit.
        """
        kind = (content_type or UNKNOWN_TYPE).partition(";")[0].strip().lower()
        if not any(fnmatchcase(kind, pattern) for pattern in self.accept):
            accepted = ", ".join(self.accept)
            raise ApiError(
                400,
                f"Media type '{kind}' is not supported. Valid media types: [{accepted}]",
                "badContent",
            )
        if self.limit is not None and size is not None and size > self.limit:
            raise ApiError(
                413,
                f"Media size {size} exceeds the limit of {self.limit} bytes.",
                "uploadTooLarge",
            )


class Service:
    """A service under paths of its own: plain calls, and methods that take media."""

    routes: Sequence[Route] = ()
    uploads: Sequence[UploadMethod] = ()


@dataclass
class Session:
    """One upload in progress.

    Sizes are in bytes. `total` is None while it is unknown; `received` counts every byte that came,
    `repeated` those that were stored already; `uneven_chunks` counts chunks before the last that
    were no multiple of the granularity. `expires` is in seconds since the epoch. `started` is the
    request that opened the session. `result` is the response to every request once the session is
    over. `lock` guards all of it.
    """

    id: str
    method: UploadMethod
    started: Request
    metadata: dict[str, Json]
    content_type: str
    total: int | None
    blob: Blob
    expires: float
    dialect: Literal["resumable", "goog"]
    state: Literal["open", "done", "failed", "cancelled"] = "open"
    result: Response | None = None
    received: int = 0
    repeated: int = 0
    requests: int = 0
    uneven_chunks: int = 0
    lock: threading.Condition = field(default_factory=threading.Condition)
    _turn: int = 0
    _storing: bool = False

    @property
    def finished(self) -> bool:
        """Whether nothing more can be stored."""
        return self.state != "open"

    def supersede(self) -> None:
        """Begin a new request: an older one has `SETTLING_TIME` to store what has arrived, and can
        store nothing afterwards.
        """
        with self.lock:
            self.lock.wait_for(lambda: not self._storing, timeout=SETTLING_TIME)
            self._turn += 1
            self._storing = False

    def store(
        self, body: Body, *, skip: int = 0, max_stored: int | None = None
    ) -> None:
        """Append a body without its first `skip` bytes, which are stored already.

        Everything after its first `max_stored` bytes is lost. Raises `Disconnected` if the client
        goes away, `ApiError` if a newer request has superseded this one.
        """
        with self.lock:
            turn, start = self._turn, self.blob.size
            self.requests += 1
            self._storing = True
        counted = 0

        def count() -> None:
            nonlocal counted
            self.received += body.received - counted
            counted = body.received

        def write(data: memoryview) -> None:
            with self.lock:
                count()  # now, since the request may never go on
                if self._turn != turn or self.finished:
                    raise ApiError(503, "A newer request has taken the upload over.")
                self.blob.write(data)

        try:
            store_body(body, write, skip=skip, stored=start, max_stored=max_stored)
        finally:
            with self.lock:
                count()
                self.repeated += min(skip, body.received)
                if self._turn == turn:
                    self._storing = False
                self.lock.notify_all()

    def lose(self, size: int) -> None:
        """Remove the stored bytes from offset `size` on."""
        with self.lock:
            self.blob.truncate(size)

    def cancel(self, result: Response | None = None) -> None:
        """End an open session and delete its bytes. `result` is the response to later requests, if
        any.
        """
        with self.lock:
            if self.state == "open":
                self.state, self.result = "cancelled", result
                self.blob.remove()


@dataclass(frozen=True)
class CompletedUpload:
    """One completed upload. `request` is the only one, or the one that opened the session;
    `received` is in bytes, `requests` counts those that carried media.
    """

    method: UploadMethod
    request: Request
    protocol: str
    media: Media
    resource: dict[str, Json]
    received: int
    requests: int


class UploadStore:
    """All sessions and completed uploads. `lock` is held while a method makes its resource."""

    def __init__(
        self,
        blobs: BlobStore,
        lock: threading.RLock,
        clock: Callable[[], float],
        session_lifetime: float,
    ) -> None:
        self.blobs = blobs
        self.sessions: dict[str, Session] = {}
        self.completed: list[CompletedUpload] = []
        self._lock = lock
        self._clock = clock
        self._session_lifetime = session_lifetime

    def open_session(
        self,
        request: Request,
        method: UploadMethod,
        dialect: Literal["resumable", "goog"],
        content_type: str,
        total: int | None,
    ) -> Session:
        """Open a session for the request's method, with the metadata of its payload.

        `content_type` is empty if the client did not declare one; `total` is in bytes. Raises
        `ApiError` if the method refuses the upload.
        """
        metadata = request.json()
        method.check_agreement(content_type, metadata)
        method.check_media(content_type, total)
        method.check_start(request, metadata)
        session = Session(
            id=secrets.token_urlsafe(48),
            method=method,
            started=request,
            metadata=metadata,
            content_type=content_type or UNKNOWN_TYPE,
            total=total,
            blob=self.blobs.new(method.algorithms),
            expires=self._clock() + self._session_lifetime,
            dialect=dialect,
        )
        self.sessions[session.id] = session
        return session

    def continue_session(self, request: Request) -> Session:
        """Return the session that the request's URI names, ready for a new request.

        Raises `ApiError` 404 if it is unknown, expired or belongs to another path.
        """
        session = self.sessions.get(request.upload_id)
        if (
            session is None
            or session.started.path != request.path
            or session.expires <= self._clock()
        ):
            raise ApiError(404, "Requested entity was not found.")
        session.supersede()
        return session

    def finish_session(self, session: Session, request: Request) -> Response:
        """Make the resource of what is stored, and return the response. Every later call returns
        the same one.
        """
        with session.lock:
            if session.result is None:
                method, started = (
                    session.method,
                    replace(session.started, headers=request.headers),
                )
                media = Media(session.blob, session.content_type, session.metadata)
                status = (
                    method.created
                    if session.dialect == "resumable" and started.method == "POST"
                    else 200
                )
                try:
                    method.check_media(media.content_type, media.blob.size)
                    resource = self.complete(
                        started,
                        method,
                        media,
                        session.dialect,
                        session.received,
                        session.requests,
                    )
                    session.result = method.response(resource, status)
                    session.state = "done"
                except ApiError as error:
                    session.result, session.state = error.response(), "failed"
            return replace(session.result, headers=list(session.result.headers))

    def complete(
        self,
        request: Request,
        method: UploadMethod,
        media: Media,
        protocol: str,
        received: int,
        requests: int = 1,
    ) -> dict[str, Json]:
        """Carry out the method with complete media and record the upload. Return the fields of the
        resource that the response has.
        """
        with self._lock:
            resource = selected(method.finish(request, media), method.asked(request))
            self.completed.append(
                CompletedUpload(
                    method, request, protocol, media, resource, received, requests
                )
            )
        return dict(resource)
