"""What is uploaded and to where, in the protocol's own terms: the one value that every dialect builds requests from."""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import urlencode

from uploader.http.messages import Request

JSON_TYPE = "application/json; charset=UTF-8"


class Media(NamedTuple):
    """One media upload: `url` is the upload URI without `uploadType`, `size` is in bytes (None for a stream).

    `metadata` is the JSON document that goes with it, already encoded; None when there is none. `empty_answer` is true
    when the service documents success without a body.
    """

    method: str
    url: str
    query: tuple[tuple[str, str], ...]
    media_type: str
    size: int | None
    metadata: bytes | None = None
    empty_answer: bool = False

    def with_query(self, *extra: tuple[str, str]) -> str:
        """The upload URI with the method's own query and `extra` behind it."""
        query = urlencode(self.query + extra)
        return f"{self.url}?{query}" if query else self.url


def bare(method: str, url: str, *headers: tuple[str, str]) -> Request:
    """A request without a body."""
    return Request(method, url, headers)
