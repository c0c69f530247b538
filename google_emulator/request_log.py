"""The API requests that arrived, as they were sent: what a test holds against Google's discovery documents."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from google_emulator.http.request import Request

LONGEST = 100_000  # requests; older ones are forgotten
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
        self._requests: deque[LoggedRequest] = deque(maxlen=LONGEST)

    def add(self, request: Request) -> None:
        """Takes a request down, unless it is a login."""
        if request.operations & _LOGINS:
            return
        plain = "api" in request.operations or "resumable.start" in request.operations
        body = request.payload if plain and request.body.ended else None
        content_type = request.header("Content-Type")
        self._requests.append(LoggedRequest(request.method, request.path, request.raw_query, content_type, body))

    def requests(self) -> list[LoggedRequest]:
        """The requests so far."""
        return list(self._requests)
