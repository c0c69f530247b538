"""An upload session as the server sees it: what was promised, what is stored, and how it ended.

Both dialects work on the same sessions. A newer request to a session lets an older one finish what has already arrived,
then supersedes it, so a client that gave up a connection is not held up by it.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Literal

from google_emulator.http.body import Body
from google_emulator.http.errors import ApiError
from google_emulator.http.response import Json, Response
from google_emulator.protocol.blobs import Blob, store_body
from google_emulator.protocol.upload_method import UploadMethod

SETTLING_TIME = 0.25  # seconds that an older request is given to store what is in the network


@dataclass(slots=True)
class Session:
    """One upload in progress.

    Sizes are in bytes; `total` is None while unknown; `received` counts every byte that came, `repeated` those stored
    already; `uneven_chunks` are those that were no multiple of the granularity and not the last. `expires` is in
    seconds since the epoch. `params` and `query` are those of the start. `result` is the response that every request
    gets once the session is over. `lock` guards all of it.
    """

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
        """Begins a new request: an older one gets a moment to store what is in the network, and no more after it."""
        with self.lock:
            self.lock.wait_for(lambda: not self._storing, timeout=SETTLING_TIME)
            self._turn += 1
            self._storing = False

    def store(self, body: Body, *, skip: int = 0, most: int | None = None) -> None:
        """Stores a body behind what is there, after passing over `skip` bytes that are there already.

        Behind its first `most` bytes the rest of the body is lost. Raises `Disconnected` when the client goes away,
        `ApiError` when a newer request has superseded this one.
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
                count()  # at once: a request may stand still for ever
                if self._turn != turn or self.finished:
                    raise ApiError(503, "A newer request has taken the upload over.")
                self.blob.write(data)

        try:
            store_body(body, write, skip=skip, stored=start, most=most)
        finally:
            with self.lock:
                count()
                self.repeated += min(skip, body.received)
                if self._turn == turn:
                    self._storing = False
                self.lock.notify_all()

    def lose(self, size: int) -> None:
        """Forgets the stored bytes from offset `size` on."""
        with self.lock:
            self.blob.truncate(size)

    def cancel(self, result: Response | None = None) -> None:
        """Ends an open session and drops its bytes; `result` is what later requests are answered, if anything."""
        with self.lock:
            if self.state == "open":
                self.state, self.result = "cancelled", result
                self.blob.remove()
