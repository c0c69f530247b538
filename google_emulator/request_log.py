"""The API requests that arrived, as they were sent: what a test holds against Google's discovery documents."""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass

from google_emulator.http.request import Request

LONGEST = 100_000  # requests; older ones are forgotten
LARGEST = 64 * 1024 * 1024  # bytes of all their bodies
# Their requests carry credentials.
_LOGINS = {"oauth.token", "oidc.token", "sts.token"}


@dataclass(frozen=True, slots=True)
class LoggedRequest:
    """A request without its headers. `query` is undecoded; `body` is that of a plain call or a session's metadata.

    `body` is None where it was media, or not read because a fault came before.
    """

    method: str
    path: str
    query: str
    content_type: str
    body: bytes | None


class RequestLog:
    """The requests in the order in which they were answered."""

    def __init__(self) -> None:
        self._requests: deque[LoggedRequest] = deque()
        self._size = 0  # bytes of their bodies
        self._lock = threading.Lock()

    def add(self, request: Request) -> None:
        """Takes a request down, unless it is a login."""
        if request.operations & _LOGINS:
            return
        plain = "api" in request.operations or "resumable.start" in request.operations
        body = request.payload if plain and request.body.ended else None
        content_type = request.header("Content-Type")
        taken = LoggedRequest(request.method, request.path, request.raw_query, content_type, body)
        with self._lock:
            self._requests.append(taken)
            self._size += len(body or b"")
            while self._size > LARGEST or len(self._requests) > LONGEST:
                self._size -= len(self._requests.popleft().body or b"")

    def requests(self) -> list[LoggedRequest]:
        """The requests so far."""
        with self._lock:
            return list(self._requests)
