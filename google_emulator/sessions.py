"""An upload session as the server sees it: what was promised, what is stored, and how it ended.

Both dialects work on the same sessions. A newer request to a session lets an older one finish what has already arrived,
then supersedes it, so a client that gave up a connection is not held up by it.
"""

from __future__ import annotations

import secrets
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from google_emulator.answers import Answer, Json, Refusal, Vanished, as_json
from google_emulator.blobs import Blob, pour
from google_emulator.media import check_media, store
from google_emulator.router import Media, UploadMethod

if TYPE_CHECKING:
    from google_emulator.exchange import Exchange


PATIENCE = 0.25  # seconds


@dataclass(slots=True)
class Session:
    """One upload in progress. Sizes are in bytes; `total` is None while unknown; `repeated` counts bytes sent again."""

    id: str
    method: UploadMethod
    params: dict[str, str]
    http_method: str
    path: str
    query: dict[str, str]
    metadata: dict[str, Json]
    content_type: str
    total: int | None
    blob: Blob
    account: str
    expires: float
    dialect: Literal["resumable", "goog"]
    state: Literal["open", "done", "failed", "cancelled"] = "open"
    result: Answer | None = None
    received: int = 0
    repeated: int = 0
    requests: int = 0
    turn: int = 0
    lock: threading.Condition = field(default_factory=threading.Condition)
    taking: bool = False

    @property
    def finished(self) -> bool:
        """Whether nothing more can be stored."""
        return self.state != "open"

    def supersede(self) -> None:
        """Begins a new request: an older one gets a moment to store what is in the network, and no more after it."""
        with self.lock:
            self.lock.wait_for(lambda: not self.taking, timeout=PATIENCE)
            self.turn += 1
            self.taking = False

    def take(self, x: Exchange, *, skip: int = 0) -> None:
        """Stores the request's body behind what is there, after passing over `skip` bytes that are there already."""
        with self.lock:
            mine, start = self.turn, self.blob.size
            self.requests += 1
            self.taking = True
        counted = 0

        def count() -> None:
            nonlocal counted
            self.received += x.body.received - counted
            counted = x.body.received

        def write(data: memoryview) -> None:
            with self.lock:
                count()  # at once: a request may stand still for ever
                if self.turn != mine or self.finished:
                    raise Vanished("superseded by a newer request")
                self.blob.write(data)

        try:
            pour(x.body, write, skip=skip, stored=start)
        finally:
            with self.lock:
                count()
                self.repeated += min(skip, x.body.received)
                if self.turn == mine:
                    self.taking = False
                self.lock.notify_all()

    def finish(self, x: Exchange) -> Answer:
        """Makes the resource of what is stored, once; afterwards every answer is the same one."""
        with self.lock:
            if self.result is None:
                x.params, x.query = self.params, self.query
                media = Media(self.blob, self.content_type, self.metadata)
                try:
                    self.result = self._finish(x, media)
                    self.state = "done"
                except Refusal as refusal:
                    self.result, self.state = refusal.answer(), "failed"
            return Answer(self.result.status, self.result.body, list(self.result.headers))

    def _finish(self, x: Exchange, media: Media) -> Answer:
        check_media(self.method, media.content_type, media.blob.size)
        resource = store(x, self.method, media, self.dialect, self.http_method, self.received, self.requests)
        status = self.method.created if self.dialect == "resumable" and self.http_method == "POST" else 200
        return as_json(resource, status) if not self.method.empty else Answer(status)


def open_session(
    x: Exchange, method: UploadMethod, *, dialect: Literal["resumable", "goog"], content_type: str, total: int | None
) -> Session:
    """A new session for the request's method, its metadata taken from the request's body."""
    check_media(method, content_type, total)
    method.check(x)
    session = Session(
        id=secrets.token_urlsafe(48),
        method=method,
        params=x.params,
        http_method=x.method,
        path=x.path,
        query=dict(x.query),
        metadata=x.json(),
        content_type=content_type,
        total=total,
        blob=x.world.new_blob(method.algorithms),
        account=x.token.email if x.token else "",
        expires=x.world.clock() + x.world.config.session_lifetime,
        dialect=dialect,
    )
    x.world.sessions[session.id] = session
    return session


def find_session(x: Exchange) -> Session:
    """The session that the request's URI names. Raises `Refusal` 404 when it is unknown, expired or another path's."""
    session = x.world.sessions.get(x.query.get("upload_id", ""))
    if session is None or session.path != x.path or session.expires <= x.world.clock():
        raise Refusal(404, "Requested entity was not found.")
    session.supersede()
    x.session = session
    return session
