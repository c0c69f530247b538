"""Requests as they arrive on a socket: the head, the framing and compression of the body, and the
body itself.

Every malformed head or body gets a response (RFC 9112). Nothing is read before it is wanted, so
that a body can have any size, and a server that stops reading really does.
"""

from __future__ import annotations

import gzip
import http.client
import io
import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from email.message import Message
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import SplitResult, urlsplit

from google_emulator.http.response import ApiError, Disconnected

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

BLOCK = 256 * 1024  # bytes
LINE_LIMIT = 64 * 1024  # bytes
HEADERS_LIMIT = 256 * 1024  # bytes
MAX_HEADERS = 100
MAX_TRAILERS = 100
_TLS_HANDSHAKE = b"\x16"
_METHOD = re.compile(r"[!#$%&'*+.^_`|~\w-]+", re.ASCII)
_FIELD = re.compile(rb"(?:[!#$%&'*+.^_`|~\w-]+:|[ \t])[^\r\0]*\r?\n")
_LENGTH = re.compile(r"[0-9]{1,18}")
_CHUNK_SIZE = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;[^\r\n]*)?\r?\n")

# Fills a view with the next bytes and returns their number; 0 at the end of the body. Raises
# `Disconnected` if the body ends early.
Source: TypeAlias = Callable[[memoryview], int]


@dataclass(frozen=True)
class Head:
    """A head that was parsed. `keeps_open` says whether the client wants to keep the connection
    open.
    """

    method: str
    url: SplitResult
    headers: Message
    keeps_open: bool


def read_head(stream: io.BufferedReader) -> Head | None:
    """Return the head of the next request; None if the client has closed the connection.

    Raises `ApiError` 400 if it is malformed, 414 or 431 if it is too long.
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
    if (
        len(words) != 3
        or not re.fullmatch(r"HTTP/1\.[0-9]", words[2])
        or not _METHOD.fullmatch(words[0])
    ):
        raise _malformed("It does not begin with a method, a target and HTTP/1.1.")
    headers = _headers(stream)
    connection = headers.get("Connection", "").strip().lower()
    keeps_open = (
        connection != "close" if words[2] != "HTTP/1.0" else connection == "keep-alive"
    )
    try:
        return Head(words[0], urlsplit(words[1]), headers, keeps_open)
    except ValueError:
        raise _malformed("Its target is no URL.") from None


def _malformed(what: str) -> ApiError:
    return ApiError(
        400, f"Your client has issued a malformed or illegal request. {what}"
    )


def _headers(stream: io.BufferedReader) -> Message:
    lines: list[bytes] = []
    size = 0
    while (line := stream.readline(LINE_LIMIT)) not in (b"\r\n", b"\n"):
        size += len(line)
        if len(line) == LINE_LIMIT or size > HEADERS_LIMIT or len(lines) == MAX_HEADERS:
            raise ApiError(431, "Request header fields too large.")
        if not _FIELD.fullmatch(line):
            raise _malformed("A header line is not of the form `name: value`.")
        lines.append(line)
    return http.client.parse_headers(io.BytesIO(b"".join([*lines, b"\r\n"])))


def framed(stream: io.BufferedReader, headers: Message) -> tuple[Source, int | None]:
    """Return the source of the body that these headers announce, and its length in bytes; None if
    the length is unknown.

    Raises `ApiError` 400 if the headers contradict each other or are malformed, 501 for any
    transfer coding but chunked.
    """
    coding = headers.get("Transfer-Encoding")
    lengths = set(headers.get_all("Content-Length", ["0"] if coding is None else []))
    if coding is not None:
        if lengths:
            raise ApiError(
                400, "A request has a Content-Length or a Transfer-Encoding, not both."
            )
        if coding.strip().lower() != "chunked":
            raise ApiError(501, "The only transfer coding is chunked.")
        return _chunked(stream), None
    length = lengths.pop().strip()
    if lengths or not _LENGTH.fullmatch(length):
        raise ApiError(400, "Invalid Content-Length.")
    return _sized(stream, int(length)), int(length)


def _read_some(stream: io.BufferedReader, view: memoryview) -> int:
    count = stream.readinto1(view)
    if count == 0:
        raise Disconnected("the body ended early")
    return count


def _sized(stream: io.BufferedReader, length: int) -> Source:
    left = length

    def fill(view: memoryview) -> int:
        nonlocal left
        if left == 0:
            return 0
        count = _read_some(stream, view[: min(left, len(view))])
        left -= count
        return count

    return fill


def _chunked(stream: io.BufferedReader) -> Source:
    """Return the source of a body in chunked transfer coding (RFC 9112, section 7.1)."""
    left: int | None = 0

    def fill(view: memoryview) -> int:
        nonlocal left
        if left == 0:
            left = _chunk_size(stream)
        if left is None:
            return 0
        count = _read_some(stream, view[: min(left, len(view))])
        left -= count
        if left == 0 and stream.readline(3) != b"\r\n":
            raise ApiError(400, "A chunk does not end where it said it would.")
        return count

    return fill


def _chunk_size(stream: io.BufferedReader) -> int | None:
    """Return the size of the next chunk in bytes; None after the last chunk, once the trailer has
    been read.
    """
    line = stream.readline(LINE_LIMIT)
    if not line:
        raise Disconnected("the body ended early")
    found = _CHUNK_SIZE.fullmatch(line)
    if found is None:
        raise ApiError(400, "A chunk begins without its size.")
    if size := int(found[1], 16):
        return size
    for _ in range(MAX_TRAILERS):
        if stream.readline(LINE_LIMIT) in (b"\r\n", b"\n", b""):
            return None
    raise ApiError(400, "There are too many lines behind the last chunk.")


def decompressed(source: Source) -> Source:
    """Return the source of a body within gzip (`Content-Encoding: gzip`), which ends with the last
    member.

    Google's Java client compresses JSON and media, gsutil -J media; Google stores the decompressed
    bytes. Raises `ApiError` 400 if it is not gzip.
    """
    stream = gzip.GzipFile(fileobj=io.BufferedReader(_Raw(source)))

    def fill(view: memoryview) -> int:
        try:
            data = stream.read1(len(view))
        except (gzip.BadGzipFile, EOFError, zlib.error):
            message = "The request body is not compressed with gzip, as its Content-Encoding says."
            raise ApiError(400, message) from None
        view[: len(data)] = data
        return len(data)

    return fill


class _Raw(io.RawIOBase):
    """A source as a read-only file."""

    def __init__(self, source: Source) -> None:
        self._source = source

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        return self._source(memoryview(buffer))


class Body:
    """The body of a request: counted, slowed down if configured, and with a place where faults act.

    `length` is in bytes, None if it is not known beforehand; `received` is how many bytes came so
    far. `keep` limits how many bytes the reader gets: the rest is read, thrown away and counted in
    `dropped`. `pace` is called with the size of every block that was read.
    """

    def __init__(
        self, source: Source, length: int | None, pace: Callable[[int], None]
    ) -> None:
        self.length = length
        self.received = 0
        self.ended = length == 0
        self.keep: int | None = None
        self.dropped = 0
        self._source = source
        self._pace = pace
        self._action: Callable[[], None] | None = None
        self._action_at = 0

    @property
    def exact(self) -> bool:
        """Whether a body that breaks off is kept to its very last byte, not only in whole granules.

        This is so if a fault has said how many bytes to keep, or if the body had come to its end.
        """
        return self.keep is not None or self.ended

    def call_after(self, count: int | None, action: Callable[[], None]) -> None:
        """Call `action` once `count` bytes have come, or at the end of the body (None: only
        there).
        """
        self._action = action
        self._action_at = -1 if count is None else count

    def readinto(self, view: memoryview) -> int:
        """Fill `view` with the next bytes and return their number; 0 at the end of the body. Raises
        `Disconnected`.
        """
        while True:
            count = self._next(view)
            if count == 0 or self.keep is None:
                return count
            seen = self.received - count - self.dropped
            visible = max(0, min(count, self.keep - seen))
            self.dropped += count - visible
            if visible:
                return visible

    def _next(self, view: memoryview) -> int:
        if self._action is not None and self.received == self._action_at:
            self._act()
        if self._action is not None and self._action_at > self.received:
            view = view[: self._action_at - self.received]
        try:
            count = self._source(view)
        except OSError as error:
            raise Disconnected("the client broke the connection") from error
        if count == 0:
            self.ended = True
            self._act()
            return 0
        self.received += count
        self._pace(count)
        return count

    def _act(self) -> None:
        action, self._action = self._action, None
        if action is not None:
            action()

    def read_all(self, limit: int) -> bytes:
        """Return the whole body of a request that is small by nature. Raises `ApiError` 413 for
        more than `limit` bytes.
        """
        parts: list[bytes] = []
        block = bytearray(min(BLOCK, (self.length or BLOCK) + 1))
        while count := self.readinto(memoryview(block)):
            parts.append(bytes(block[:count]))
            if self.received > limit:
                raise ApiError(
                    413, "Request payload size exceeds the limit.", "requestTooLarge"
                )
        return b"".join(parts)

    def drain(self) -> None:
        """Read the rest of the body and throw it away. No fault acts any more."""
        self._action = None
        block = memoryview(bytearray(BLOCK))
        while self._next(block):
            pass
