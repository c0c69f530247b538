"""What the emulator responds with: a status, headers and a body, and errors that become a response.

The error bodies have the form that Google's APIs share: `{"error": {"code", "message", "status",
"errors": [...]}}`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, TypeAlias

Json: TypeAlias = Any
Headers: TypeAlias = "list[tuple[str, str]]"


@dataclass
class Response:
    """One HTTP response. `drip` is the number of seconds between two bytes.

    `cut` is how many bytes of the body are sent before the connection ends, `pause` how many
    seconds pass in between. `cut_head` is the same for the head, whose final empty line is then
    never sent.
    """

    status: int = 200
    body: bytes = b""
    headers: Headers = field(default_factory=list)
    drip: float = 0.0
    cut: int | None = None
    pause: float = 0.0
    cut_head: int | None = None

    def header(self, name: str) -> str:
        """Return the value of a header; empty if there is none."""
        return next(
            (value for key, value in self.headers if key.lower() == name.lower()), ""
        )

    def remove_header(self, name: str) -> None:
        """Remove every header of that name."""
        self.headers = [
            (key, value) for key, value in self.headers if key.lower() != name.lower()
        ]

    def set_header(self, name: str, value: str) -> None:
        """Set a header, in place of any of the same name."""
        self.remove_header(name)
        self.headers.append((name, value))


def json_response(value: Json, status: int = 200) -> Response:
    """Return a JSON response as Google's servers send it."""
    body = json.dumps(value, indent=2, ensure_ascii=False).encode("utf-8", "replace")
    return Response(status, body, [("Content-Type", "application/json; charset=UTF-8")])


def reason_phrase(status: int) -> str:
    """Return the reason phrase of a status. For 308, Google uses `Resume Incomplete`."""
    if status == 308:
        return "Resume Incomplete"
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Client Closed Request" if status == 499 else "Unknown"


# The canonical name of each status, and its reason in the older list of errors.
STATUSES = {
    400: ("INVALID_ARGUMENT", "badRequest"),
    401: ("UNAUTHENTICATED", "authError"),
    403: ("PERMISSION_DENIED", "forbidden"),
    404: ("NOT_FOUND", "notFound"),
    408: ("DEADLINE_EXCEEDED", "unknown"),
    409: ("ABORTED", "conflict"),
    410: ("NOT_FOUND", "unknown"),
    429: ("RESOURCE_EXHAUSTED", "rateLimitExceeded"),
    499: ("CANCELLED", "unknown"),
    500: ("INTERNAL", "backendError"),
    503: ("UNAVAILABLE", "backendError"),
    504: ("DEADLINE_EXCEEDED", "unknown"),
}


class ApiError(Exception):
    """A refusal by the service, in Google's words, which becomes a response with an error body.

    `reason` and `domain` are those of the older `errors` list, `status_name` is the canonical name
    of the code; those usual for the status unless given. `details` are what newer APIs add
    (google.rpc.ErrorInfo, BadRequest).
    """

    def __init__(
        self,
        status: int,
        message: str,
        reason: str = "",
        *,
        status_name: str = "",
        domain: str = "global",
        details: Sequence[Json] = (),
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        usual_name, usual_reason = STATUSES.get(status, ("UNKNOWN", "unknown"))
        self.reason = reason or usual_reason
        self.status_name = status_name or usual_name
        self.domain = domain
        self.details = list(details)

    def response(self) -> Response:
        """Return the error as it is sent."""
        detail = {"message": self.message, "domain": self.domain, "reason": self.reason}
        error = {
            "code": self.status,
            "message": self.message,
            "status": self.status_name,
            "errors": [detail],
        }
        if self.details:
            error["details"] = self.details
        return json_response({"error": error}, self.status)


class PlainError(ApiError):
    """A refusal by Google's upload servers themselves, in front of any service: plain text, not
    JSON.
    """

    def response(self) -> Response:
        """Return the error as it is sent."""
        return Response(
            self.status,
            self.message.encode(),
            [("Content-Type", "text/plain; charset=utf-8")],
        )


class Interrupted(Exception):
    """A fault ends the request here: with this response, or without one, by closing or resetting
    the connection.
    """

    def __init__(
        self, response: Response | None = None, *, reset: bool = False
    ) -> None:
        super().__init__("interrupted by a fault")
        self.response = response
        self.reset = reset


class Disconnected(ConnectionError):
    """The client closed the connection, or its half of it, in the middle of a request."""


def unauthenticated() -> ApiError:
    """Return the 401 with Google's words for a missing or expired token."""
    return ApiError(
        401,
        "Request had invalid authentication credentials. Expected OAuth 2 access token, login "
        "cookie or other valid authentication credential. See "
        "https://developers.google.com/identity/sign-in/web/devconsole-project.",
    )


def insufficient_scopes() -> ApiError:
    """Return the 403 with Google's words for a token without the scope."""
    info = {
        "@type": "type.googleapis.com/google.rpc.ErrorInfo",
        "reason": "ACCESS_TOKEN_SCOPE_INSUFFICIENT",
        "domain": "googleapis.com",
    }
    message = "Request had insufficient authentication scopes."
    return ApiError(403, message, "insufficientPermissions", details=[info])


def permission_denied() -> ApiError:
    """Return the 403 with Google's words for an account without the permission."""
    return ApiError(403, "The caller does not have permission", "forbidden")


_API_TITLES = {
    "androidpublisher.googleapis.com": "Google Play Android Developer API",
    "playdeveloperreporting.googleapis.com": "Google Play Developer Reporting API",
}


def api_disabled(host: str) -> ApiError:
    """Return the 403 with Google's words for an API that is not enabled in the account's
    project.
    """
    info = {
        "@type": "type.googleapis.com/google.rpc.ErrorInfo",
        "reason": "SERVICE_DISABLED",
        "domain": "googleapis.com",
        "metadata": {"service": host, "consumer": "projects/123456789"},
    }
    title = _API_TITLES.get(host, host)
    message = (
        f"{title} has not been used in project 123456789 before or it is disabled. Enable it by "
        f"visiting https://console.developers.google.com/apis/api/{host}/overview?"
        "project=123456789 then retry."
    )
    return ApiError(403, message, "accessNotConfigured", details=[info])


def invalid_argument(message: str, field: str = "") -> ApiError:
    """Return the 400 INVALID_ARGUMENT of newer APIs, which names the wrong field if it is known."""
    violation = (
        {"field": field, "description": message} if field else {"description": message}
    )
    bad_request = {
        "@type": "type.googleapis.com/google.rpc.BadRequest",
        "fieldViolations": [violation],
    }
    return ApiError(400, message, details=[bad_request])


def failed_precondition(message: str, reason: str = "failedPrecondition") -> ApiError:
    """Return the 400 FAILED_PRECONDITION for a request that the state of the resource does not
    allow.
    """
    return ApiError(400, message, reason, status_name="FAILED_PRECONDITION")
