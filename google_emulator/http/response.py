"""What the emulator answers: a status, headers and a body, with what faults make of them."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, TypeAlias

Json: TypeAlias = Any
Headers: TypeAlias = "list[tuple[str, str]]"


@dataclass(slots=True)
class Response:
    """One HTTP response. `filler` is a number of bytes sent after `body`; `drip` seconds pass after each byte sent.

    `cut` is how many bytes of the body are sent before the connection ends, `pause` how many seconds pass before that.
    """

    status: int = 200
    body: bytes = b""
    headers: Headers = field(default_factory=list)
    filler: int = 0
    drip: float = 0.0
    cut: int | None = None
    pause: float = 0.0

    def header(self, name: str) -> str:
        """The value of the named header, or an empty string."""
        return next((value for key, value in self.headers if key.lower() == name.lower()), "")

    def remove_header(self, name: str) -> None:
        """Removes every header of that name."""
        self.headers = [(key, value) for key, value in self.headers if key.lower() != name.lower()]

    def set_header(self, name: str, value: str) -> None:
        """Sets a header, in place of any of the same name."""
        self.remove_header(name)
        self.headers.append((name, value))


def json_response(value: Json, status: int = 200) -> Response:
    """A JSON response as Google's servers send it."""
    body = json.dumps(value, indent=2, ensure_ascii=False).encode("utf-8", "replace")
    return Response(status, body, [("Content-Type", "application/json; charset=UTF-8")])


def reason_phrase(status: int) -> str:
    """The reason phrase of a status; 308 is `Resume Incomplete` in Google's use."""
    if status == 308:
        return "Resume Incomplete"
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Client Closed Request" if status == 499 else "Unknown"
