"""What has passed through the emulator: counters, and the API requests as they were sent.

A test compares the requests with Google's discovery documents.
"""

from __future__ import annotations

import threading
from collections import Counter, deque
from dataclasses import dataclass

from google_emulator.http.request import Request

MAX_LOGGED = 100_000  # requests; older ones are forgotten
MAX_LOGGED_BYTES = 64 * 1024 * 1024  # of all their bodies
_LOGINS = {"oauth.token", "oidc.token", "sts.token"}  # their requests carry credentials


@dataclass(frozen=True)
class LoggedRequest:
    """A request without its headers.

    `query` is undecoded. `body` is that of a plain call, or the metadata of a session; None if it
    was media, or was not read because of a fault.
    """

    method: str
    path: str
    query: str
    content_type: str
    body: bytes | None


class Traffic:
    """Counters and the log, which can be used from several threads.

    `requests` counts a request under each of its names; `bytes_discarded` counts bytes that came
    after an early response.
    """

    def __init__(self) -> None:
        self.requests: Counter[str] = Counter()
        self.connections = 0
        self.bytes_received = 0
        self.bytes_discarded = 0
        self._log: deque[LoggedRequest] = deque()
        self._logged_bytes = 0
        self._lock = threading.Lock()

    def connected(self) -> None:
        """Count a connection."""
        with self._lock:
            self.connections += 1

    def discarded(self, count: int) -> None:
        """Count bytes that a client sent after an early response."""
        with self._lock:
            self.bytes_discarded += count

    def finished(self, request: Request) -> None:
        """Count a request under each of its names, and the bytes of its body. Log it unless it is a
        login.
        """
        plain = "api" in request.operations or "resumable.start" in request.operations
        body = request.payload if plain and request.body.ended else None
        content_type = request.header("Content-Type")
        with self._lock:
            self.requests.update(request.operations)
            self.bytes_received += request.body.received
            if request.operations & _LOGINS:
                return
            self._log.append(
                LoggedRequest(
                    request.method, request.path, request.raw_query, content_type, body
                )
            )
            self._logged_bytes += len(body or b"")
            while self._logged_bytes > MAX_LOGGED_BYTES or len(self._log) > MAX_LOGGED:
                self._logged_bytes -= len(self._log.popleft().body or b"")

    def logged(self) -> list[LoggedRequest]:
        """Return the API requests in the order in which they were finished."""
        with self._lock:
            return list(self._log)
