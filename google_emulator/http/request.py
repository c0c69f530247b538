"""One request on its way through the emulator: what was asked, by whom, and under which names
faults find it.
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
    """A request and what is found out about it on the way.

    `server_url` is the root that the client was given, `query` has the last value of each name,
    `raw_query` is as it was sent. The router sets `operations` (the names by which faults select
    it) and `params` (of the path, decoded); the check of the token sets `account` and `subject`,
    the user it acts for; `payload` is the body of a request that is no upload.
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
        """The upload session that the query names; empty outside a session."""
        return self.query.get("upload_id", "")

    def header(self, name: str) -> str:
        """A request header, stripped; an empty string when there is none."""
        return str(self.headers.get(name, "")).strip()

    def number(self, name: str) -> int | None:
        """A header that is a whole number; None when there is none. Raises `ApiError` 400 for
        anything else.
        """
        text = self.header(name)
        if not text:
            return None
        if not re.fullmatch("[0-9]{1,18}", text):
            raise ApiError(400, f"Invalid {name}: {text!r}.")
        return int(text)

    def read_payload(self) -> None:
        """Takes the whole body in. Raises `ApiError` 413 when it is larger than a plain call may
        be.
        """
        self.payload = self.body.read_all(PAYLOAD_LIMIT)

    def take_form(self) -> None:
        """Reads a form in place of JSON as more of the query.

        Google's Ruby client (google-apis-core, in fastlane) puts the query of each POST without a
        body into one.
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
        """The payload as a JSON object; {} when it is empty. Raises `ApiError` 400 for anything
        else.
        """
        return json_object(self.payload)

    def flag(self, name: str) -> bool:
        """A boolean query parameter; absent is false. Raises `ApiError` 400 for anything but true
        and false.
        """
        value = self.query.get(name, "false").lower()
        if value not in ("true", "false"):
            raise ApiError(400, f"Invalid value at '{name}' (TYPE_BOOL), \"{value}\"")
        return value == "true"


def json_object(text: bytes) -> dict[str, Json]:
    """A JSON object from a request; {} for nothing and for null, which Google's Go client sends for
    no object.

    Raises `ApiError` 400, worded as Google does, when it is none.
    """
    if text.strip() in (b"", b"null"):
        return {}
    try:
        value = json.loads(text)
        # Half a surrogate pair is no text, and an infinite number none, that could be given back.
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
    """Refuses (404) a path that nobody serves."""
    raise ApiError(
        404, f"The requested URL {request.path} was not found on this server."
    )
