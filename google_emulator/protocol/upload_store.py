"""Where uploads live: the open sessions, and a record of every upload that was completed."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from google_emulator.http.errors import ApiError
from google_emulator.http.request import Request
from google_emulator.http.response import Json, Response, json_response
from google_emulator.protocol.blobs import Blob, BlobStore
from google_emulator.protocol.sessions import Session
from google_emulator.protocol.upload_method import UNKNOWN_TYPE, Media, UploadMethod


@dataclass(frozen=True, slots=True)
class CompletedUpload:
    """One upload that was completed: how it came, what it is, and where its bytes are. `received` is in bytes."""

    method: str
    http_method: str
    path: str
    protocol: str
    media_type: str
    metadata: dict[str, Json]
    blob: Blob
    resource: dict[str, Json]
    account: str
    received: int
    requests: int


class UploadStore:
    """All sessions and completed uploads. `lock` is held while a method makes its resource."""

    def __init__(
        self, blobs: BlobStore, lock: threading.RLock, clock: Callable[[], float], session_lifetime: float
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
        *,
        dialect: Literal["resumable", "goog"],
        content_type: str,
        total: int | None,
    ) -> Session:
        """A new session for the request's method, its metadata taken from the payload.

        `content_type` may be empty: nobody has said; `total` is in bytes.
        """
        metadata = request.json()
        method.check_agreement(content_type, metadata)
        method.check_media(content_type, total)
        method.check(request, metadata)
        session = Session(
            id=secrets.token_urlsafe(48),
            method=method,
            params=request.params,
            http_method=request.method,
            path=request.path,
            query=dict(request.query),
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
        """The session that the request's URI names, ready for a new request.

        Raises `ApiError` 404 when it is unknown, expired or another path's.
        """
        session = self.sessions.get(request.upload_id)
        if session is None or session.path != request.path or session.expires <= self._clock():
            raise ApiError(404, "Requested entity was not found.")
        session.supersede()
        return session

    def finish_session(self, session: Session, request: Request) -> Response:
        """Makes the resource of what is stored, once; afterwards every response is the same one."""
        with session.lock:
            if session.result is None:
                started = replace(request, params=session.params, query=session.query)
                try:
                    session.result = self._finish(session, started)
                    session.state = "done"
                except ApiError as error:
                    session.result, session.state = error.response(), "failed"
            return replace(session.result, headers=list(session.result.headers))

    def _finish(self, session: Session, request: Request) -> Response:
        method = session.method
        method.check_media(session.content_type, session.blob.size)
        media = Media(session.blob, session.content_type, session.metadata)
        resource = self.complete(
            replace(request, method=session.http_method),
            method,
            media,
            protocol=session.dialect,
            received=session.received,
            requests=session.requests,
        )
        status = method.created if session.dialect == "resumable" and session.http_method == "POST" else 200
        return Response(status) if method.empty else json_response(resource, status)

    def complete(
        self, request: Request, method: UploadMethod, media: Media, *, protocol: str, received: int, requests: int = 1
    ) -> dict[str, Json]:
        """Carries out the method's effect with complete media and records it; returns the resource."""
        with self._lock:
            resource = method.finish(request, media)
            self.completed.append(
                CompletedUpload(
                    method=method.id,
                    http_method=request.method,
                    path=request.path,
                    protocol=protocol,
                    media_type=media.content_type,
                    metadata=media.metadata,
                    blob=media.blob,
                    resource=resource,
                    account=request.account,
                    received=received,
                    requests=requests,
                )
            )
        return resource
