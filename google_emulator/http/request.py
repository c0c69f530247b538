"""One request on its way through the emulator: its contents, who sent it, and the names by which
faults select it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.message import Message
from urllib.parse import parse_qsl

from google_emulator.http.response import ApiError, Json, Response
from google_emulator.http.wire import Body

PAYLOAD_LIMIT = 10 * 1024 * 1024  # bytes


@dataclass
class Request:
    """A request, and what the emulator finds out about it.

    `server_url` is the root URL that the client uses, `query` has the last value of each name,
    `raw_query` is the query as it was sent. The router sets `operations` (the names by which faults
    select the request) and `params` (those of the path, decoded). The check of the token sets
    `account` and `subject`, the user for whom it acts. `payload` is the body of a request that is
    not an upload.
    """

    server_url: str
    method: str
    path: str
    query: Mapping[str, str]
    headers: Message
    body: Body
    operations: frozenset[str] = frozenset()
    params: dict[str, str] = field(default_factory=dict)
    account: str = ""
    subject: str = ""
    payload: bytes = b""
    raw_query: str = ""

    @property
    def upload_id(self) -> str:
        """The upload session that the query names; empty outside of a session."""
        return self.query.get("upload_id", "")

    def header(self, name: str) -> str:
        """Return a header of the request, stripped; empty if there is none."""
        return str(self.headers.get(name, "")).strip()

    def number(self, name: str) -> int | None:
        """Return a header that is a whole number; None if there is none. Raises `ApiError` 400 for
        any other value.
        """
        text = self.header(name)
        if not text:
            return None
        if not re.fullmatch("[0-9]{1,18}", text):
            raise ApiError(400, f"Invalid {name}: {text!r}.")
        return int(text)

    def read_payload(self) -> None:
        """Read the whole body into `payload`. Raises `ApiError` 413 if it is larger than
        `PAYLOAD_LIMIT`.
        """
        self.payload = self.body.read_all(PAYLOAD_LIMIT)

    def take_form(self) -> None:
        """Add the fields of a form in the payload to the query.

        Google's Ruby client (google-apis-core, in fastlane) sends the query of each POST without a
        body as a form.
        """
        if self.headers.get_content_type() == "application/x-www-form-urlencoded":
            fields = self.payload.decode("utf-8", "replace")
            self.query = {
                **self.query,
                **dict(parse_qsl(fields, keep_blank_values=True)),
            }
            self.raw_query = "&".join(filter(None, (self.raw_query, fields)))
            self.payload = b""

    def json(self) -> dict[str, Json]:
        """Return the payload as a JSON object; {} if it is empty. Raises `ApiError` 400 for
        anything else.
        """
        return json_object(self.payload)

    def flag(self, name: str) -> bool:
        """Return a boolean query parameter; False if it is absent. Raises `ApiError` 400 for any
        value but true and false.
        """
        value = self.query.get(name, "false").lower()
        if value not in ("true", "false"):
            raise ApiError(400, f"Invalid value at '{name}' (TYPE_BOOL), \"{value}\"")
        return value == "true"


def json_object(text: bytes) -> dict[str, Json]:
    """Return the JSON object in a request; {} if the text is empty or `null`, which Google's Go
    client sends for no object.

    Raises `ApiError` 400, worded as Google does, for anything else.
    """
    if text.strip() in (b"", b"null"):
        return {}
    try:
        value = json.loads(text)
        # Neither half a surrogate pair nor an infinite number could be returned as JSON.
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError):
        raise ApiError(
            400, "Invalid JSON payload received. Unexpected token.", "parseError"
        ) from None
    if not isinstance(value, dict):
        raise ApiError(
            400, "Invalid JSON payload received. An object is expected.", "parseError"
        )
    return value


def not_found(request: Request) -> Response:
    """Raise `ApiError` 404 for a path that no service has."""
    raise ApiError(
        404, f"The requested URL {request.path} was not found on this server."
    )
