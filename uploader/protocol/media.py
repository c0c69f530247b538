"""What is uploaded and to where, in the protocol's own terms: the one value that every dialect
builds requests from.
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlencode

from uploader.http.messages import Request, Response
from uploader.protocol.resources import identifier

JSON_TYPE = "application/json; charset=UTF-8"


@dataclass(frozen=True)
class Media:
    """One media upload: `url` is the upload URI without `uploadType`, `size` is in bytes (None for
    a stream).

    `metadata` is the JSON document that goes with it, already encoded; None when there is none.
    `empty_response` is true when the service documents success without a body. `promised_id` has
    dotted paths, one of which must hold the identifier in the resource of a success; it is empty if
    the service promises none. `file_name` is what a raw upload calls the file. `partial` is true
    when the request chose the fields of the resource, so that it may have none.
    """

    method: str
    url: str
    query: tuple[tuple[str, str], ...]
    media_type: str
    size: int | None
    metadata: bytes | None = None
    empty_response: bool = False
    promised_id: tuple[str, ...] = ()
    file_name: str = ""
    partial: bool = False

    def is_resource(self, response: Response) -> bool:
        """Return whether the body of a success is what the method returns, with the identifier that
        it promises.

        A page is never that, nor an object without any member where the method documents some.
        """
        resource = response.json()
        if resource is None:
            is_page = response.body.lstrip().startswith(b"<")
            return self.empty_response and not is_page
        if self.promised_id:
            found = identifier(resource, self.promised_id)
            return bool(found)
        if resource:
            return True
        return self.empty_response or self.partial

    def start(self, url: str, *headers: tuple[str, str]) -> Request:
        """Return the request that opens a session in either dialect: the metadata is its body."""
        if self.metadata is None:
            return Request(self.method, url, headers)
        content_type = ("Content-Type", JSON_TYPE)
        return Request(
            self.method,
            url,
            headers=(*headers, content_type),
            prefix=self.metadata,
        )

    def with_query(self, *extra: tuple[str, str]) -> str:
        """Return the upload URI with the method's own query and `extra` behind it."""
        query = urlencode(self.query + extra)
        if not query:
            return self.url
        return f"{self.url}?{query}"
