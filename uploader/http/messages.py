"""The values that protocol and transport exchange: requests that name their bytes, answers, broken
connections.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from uploader.http.headers import Headers

# bytes on their way; a view is valid only until the next block is asked for
Block: TypeAlias = "bytes | memoryview"


@dataclass(frozen=True)
class Span:
    """The bytes of the file from offset `start` up to, not including, `stop`."""

    start: int
    stop: int

    @property
    def size(self) -> int:
        """The number of these bytes."""
        return self.stop - self.start


@dataclass(frozen=True)
class Request:
    """One HTTP request, to which the transport adds `Content-Length` and the bearer token.

    Its body is `prefix`, the `span` of the file, which is read only while it is sent, and `suffix`.
    `client_certificate` names the client's certificate and its key for TLS, two files in PEM form.
    `closing` marks the last request of a run that was told to end: it is still sent. `receive` is
    called with the status and the headers of the response, and returns the function that takes its
    body block by block. The body is kept in the response if there is no `receive`, or it returns
    None.
    """

    method: str
    url: str
    headers: tuple[tuple[str, str], ...] = ()
    prefix: bytes = b""
    span: Span | None = None
    suffix: bytes = b""
    client_certificate: tuple[str, str] | None = None
    closing: bool = False
    receive: Receive | None = None

    @property
    def size(self) -> int:
        """How many bytes its body has."""
        return (
            len(self.prefix) + (self.span.size if self.span else 0) + len(self.suffix)
        )


def _no_headers() -> Headers:
    from uploader.http.headers import Headers

    return Headers()


@dataclass(frozen=True)
class Response:
    """One HTTP response with its whole body.

    `sent_whole` is false when the server closed the connection before it had the whole request.
    """

    status: int
    headers: Headers = field(default_factory=_no_headers)
    body: bytes = b""
    sent_whole: bool = True

    def json(self) -> dict[str, Any] | None:
        """Return the body as a JSON object; None when it is anything else (an HTML page of a proxy,
        a list, broken text).
        """
        try:
            text = self.body.decode("utf-8-sig")
            value = json.loads(text)
            # half a surrogate pair can't be written anywhere again (RFC 8259, 8.2)
            if "\\ud" in text.lower():
                json.dumps(value, ensure_ascii=False).encode()
        except (ValueError, RecursionError):
            return None
        return value if isinstance(value, dict) else None


Receive: TypeAlias = "Callable[[int, Headers], Callable[[bytes], object] | None]"


class TransportError(Exception):
    """A connection that ended without a response. `why` is the middle of a sentence, `code` the
    output `failure`.

    `sent_whole` is false when the server can't have the whole request.
    """

    def __init__(
        self,
        why: str,
        sent_whole: bool,
        code: str = "",
    ) -> None:
        super().__init__(why)
        self.why = why
        self.sent_whole = sent_whole
        self.code = code
