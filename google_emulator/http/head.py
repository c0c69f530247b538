"""The head of a request, its first line and its headers: whatever is wrong with it has an answer (RFC 9112)."""

from __future__ import annotations

import http.client
import io
import re
from email.message import Message
from typing import NamedTuple
from urllib.parse import SplitResult, urlsplit

from google_emulator.http.errors import ApiError
from google_emulator.http.framing import LINE_LIMIT, Stream

HEADERS_LIMIT = 256 * 1024  # bytes
MOST_HEADERS = 100
_TLS_HANDSHAKE = b"\x16"
_METHOD = re.compile(r"[!#$%&'*+.^_`|~\w-]+", re.ASCII)
_FIELD = re.compile(rb"(?:[!#$%&'*+.^_`|~\w-]+:|[ \t])[^\r\0]*\r?\n")


class Head(NamedTuple):
    """A head that was understood. `keeps_open` says whether the client wants the connection to stay open."""

    method: str
    url: SplitResult
    headers: Message
    keeps_open: bool


def read_head(stream: Stream) -> Head | None:
    """The head of the next request; None when the client has ended the connection.

    Raises `ApiError` 400, 414 or 431 when it is malformed, or longer than anybody's.
    """
    if stream.peek(1)[:1] == _TLS_HANDSHAKE:
        raise _malformed("It begins a TLS connection, and this port speaks plain HTTP.")
    line = stream.readline(LINE_LIMIT)
    while line in (b"\r\n", b"\n"):  # RFC 9112, section 2.2
        line = stream.readline(LINE_LIMIT)
    if not line:
        return None
    if not line.endswith(b"\n") and len(line) == LINE_LIMIT:
        raise ApiError(414, "The requested URL is too large to process.")
    words = line.decode("latin-1").split()
    if len(words) != 3 or not re.fullmatch(r"HTTP/1\.[0-9]", words[2]) or not _METHOD.fullmatch(words[0]):
        raise _malformed("It does not begin with a method, a target and HTTP/1.1.")
    headers = _headers(stream)
    connection = headers.get("Connection", "").strip().lower()
    keeps_open = connection != "close" if words[2] != "HTTP/1.0" else connection == "keep-alive"
    return Head(words[0], _target(words[1]), headers, keeps_open)


def _malformed(what: str) -> ApiError:
    return ApiError(400, f"Your client has issued a malformed or illegal request. {what}")


def _target(text: str) -> SplitResult:
    try:
        return urlsplit(text)
    except ValueError:
        raise _malformed("Its target is no URL.") from None


def _headers(stream: Stream) -> Message:
    lines: list[bytes] = []
    size = 0
    while (line := stream.readline(LINE_LIMIT)) not in (b"\r\n", b"\n"):
        size += len(line)
        if len(line) == LINE_LIMIT or size > HEADERS_LIMIT or len(lines) == MOST_HEADERS:
            raise ApiError(431, "Request header fields too large.")
        if not _FIELD.fullmatch(line):
            raise _malformed("A header line is not of the form `name: value`.")
        lines.append(line)
    return http.client.parse_headers(io.BytesIO(b"".join([*lines, b"\r\n"])))
