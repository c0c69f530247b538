"""What the emulator says: answers, and the refusals and breaks that end an exchange in another way.

The error bodies have the shape that Google's APIs share: `{"error": {"code", "message", "status", "errors": [...]}}`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, TypeAlias

Json: TypeAlias = Any
Headers: TypeAlias = "list[tuple[str, str]]"

STATUS_NAMES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    408: "DEADLINE_EXCEEDED",
    409: "ABORTED",
    410: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    499: "CANCELLED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}
REASONS = {
    400: "badRequest",
    401: "authError",
    403: "forbidden",
    404: "notFound",
    409: "conflict",
    429: "rateLimitExceeded",
    500: "backendError",
    503: "backendError",
}


@dataclass(slots=True)
class Answer:
    """One HTTP answer. `filler` is a number of bytes sent after `body`; `drip` seconds pass after each byte sent."""

    status: int = 200
    body: bytes = b""
    headers: Headers = field(default_factory=list)
    filler: int = 0
    drip: float = 0.0

    def header(self, name: str) -> str:
        """The value of the named header, or an empty string."""
        return next((value for key, value in self.headers if key.lower() == name.lower()), "")

    def drop(self, name: str) -> None:
        """Takes every header of that name away."""
        self.headers = [(key, value) for key, value in self.headers if key.lower() != name.lower()]

    def put(self, name: str, value: str) -> None:
        """Sets a header, in place of any of the same name."""
        self.drop(name)
        self.headers.append((name, value))


class Refusal(Exception):
    """The service says no, in Google's words; it becomes an answer with an error body."""

    def __init__(self, status: int, message: str, reason: str = "", *, state: str = "", domain: str = "global") -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.reason = reason or REASONS.get(status, "unknown")
        self.state = state or STATUS_NAMES.get(status, "UNKNOWN")
        self.domain = domain

    def answer(self) -> Answer:
        """The refusal as it goes over the wire."""
        detail = {"message": self.message, "domain": self.domain, "reason": self.reason}
        error = {"code": self.status, "message": self.message, "status": self.state, "errors": [detail]}
        return as_json({"error": error}, self.status)


class Cut(Exception):
    """A fault ends the exchange here: with this answer, or without one by closing (or resetting) the connection."""

    def __init__(self, answer: Answer | None = None, *, reset: bool = False) -> None:
        super().__init__("cut by a fault")
        self.answer = answer
        self.reset = reset


class Vanished(ConnectionError):
    """The other side broke the connection in the middle of a request."""


def as_json(value: Json, status: int = 200) -> Answer:
    """A JSON answer as Google's servers send it."""
    body = json.dumps(value, indent=2, ensure_ascii=False).encode()
    return Answer(status, body, [("Content-Type", "application/json; charset=UTF-8")])


def phrase(status: int) -> str:
    """The reason phrase of a status; 308 is `Resume Incomplete` in Google's use."""
    if status == 308:
        return "Resume Incomplete"
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Client Closed Request" if status == 499 else "Unknown"
