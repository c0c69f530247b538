"""The only way to the network: `HttpClient.send(request, …) -> Response`, for the requests of the
login and of the transfer.

requests sends, through its adapter and not through a session: no redirect is followed, nothing is
sent again by itself, no cookie is parsed and no .netrc is read. Added to it are

- a limit on the time of a response as a whole, where requests limits each read alone: one timer for
  each request, which shuts the connection down as `HttpClient.abort` does;
- a limit on the size of a response, with its headers and what frames its chunks;
- a check of the headers before they are parsed, since http.client takes the end of the connection
  for the end of the headers, and a check that the response states where its body ends: anybody on
  the way can end a connection, over TLS as well;
- whether all of the request was sent (`sent_whole`).

Nothing is read while a body is sent. If a server answers early and closes the connection, urllib3
still reads the answer if it has arrived; otherwise the connection counts as broken.
"""

from __future__ import annotations

import io
import os
import re
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse
from typing import Any, cast

from requests import PreparedRequest
from requests import Response as RequestsResponse
from requests.adapters import HTTPAdapter
from requests.exceptions import InvalidURL
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import HTTPError

from uploader import __version__
from uploader.hosts import NOWHERE, origin
from uploader.http.answer_clock import AnswerClock
from uploader.http.environment import authorities, proxy_for
from uploader.http.failures import BrokenAnswer, as_failure
from uploader.http.headers import Headers
from uploader.http.messages import Block, Request, Response

# bytes of a response's body; no resource that these methods return comes near it
MAX_BODY = 4 * 1024 * 1024
# bytes of the status line and the headers; Google's have less than 4 KiB
MAX_HEAD = 64 * 1024
# bytes of a response beside its body: for the headers, and for what frames the chunks
_AROUND_A_BODY = 256 * 1024
_PIECE = 64 * 1024  # bytes of one read, and of one write at first
_LARGEST_PIECE = 1024 * 1024  # bytes of one write
_HEADER = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+:[^\r\0]*\r?")  # RFC 9112, section 5
_CONTINUE = re.compile(rb"HTTP/1\.[01] 100\b")
_LENGTH = re.compile(r"[0-9]{1,19}", re.ASCII)
# the value of `SO_LINGER` with which closing a connection resets it
_RESET = struct.pack("ii", 1, 0)
# Nothing compressed is asked for: responses are small, and one could unpack to far more than fits
# in memory.
_HEADERS = {"Accept": "*/*", "Accept-Encoding": "identity", "Connection": "keep-alive"}


@dataclass(frozen=True)
class Timeouts:
    """The limits on one request. In seconds: to `connect`; without a byte moved in a body
    (`stall`); for the whole response after the last byte of the request.

    `max_size` is how many bytes of the response's body are kept. `min_bytes` is how many of a
    response have to come in each `stall` seconds from its first byte on.
    """

    connect: float = 30.0
    stall: float = 60.0
    response: float = 60.0
    max_size: int = MAX_BODY
    min_bytes: int = 0


class HttpClient:
    """The transport of every real run: pooled connections, the system's proxies and certificates,
    for all threads.
    """

    def __init__(self, *, connections: int = 4) -> None:
        """Create the client; it keeps up to `connections` open for each host."""
        self.answer_clock = AnswerClock()
        self._adapter = _Adapter(pool_maxsize=connections)
        self._under_way: set[_Exchange] = set()
        self._aborted = False

    def send(
        self,
        request: Request,
        blocks: Iterable[Block],
        token: str,
        timeouts: Timeouts,
    ) -> Response:
        """Send `request` with `blocks` as its body, `request.size` bytes in all, and return the
        response.

        `token` is the bearer token, empty for none. A body longer than `timeouts.max_size` is cut
        there. Raises `TransportError` when there is no complete response, `UntrustedHost` for a
        certificate that is not trusted, and `InputError` for a proxy or certificate authorities
        that can't be used. Errors raised while the blocks are read, or by the receiver, pass
        through unless they are an OSError or a ValueError.
        """
        proxy = proxy_for(request.url)
        # Any other response is limited by the timer alone, as a whole.
        read_timeout = timeouts.stall if request.receive else None
        exchange = _Exchange(blocks, timeouts, self.answer_clock)
        self._under_way.add(exchange)
        try:
            # Checked after the exchange was added: an abort that comes later finds it there.
            if self._aborted and not request.closing:
                raise ConnectionAbortedError
            if origin(request.url) == NOWHERE or " " in proxy:
                raise InvalidURL
            _current.exchange = exchange
            answer = self._adapter.send(
                _prepare(request, token, exchange),
                stream=True,
                timeout=cast(Any, (timeouts.connect, read_timeout)),
                verify=authorities() or True,
                cert=request.client_certificate,
                proxies={"https": proxy} if proxy else {},
            )
            with closing(answer.raw):
                return _read_response(answer.raw, request, exchange)
        # a chunk of a negative size is a ValueError
        except (OSError, HTTPException, HTTPError, ValueError) as error:
            raise as_failure(
                error,
                request.url,
                proxy,
                sent_whole=exchange.sent_whole,
                why=exchange.timed_out,
            ) from None
        finally:
            self._under_way.discard(exchange)
            exchange.close()

    def abort(self) -> None:
        """Break every connection now; after that only a `closing` request is sent.

        It may be called from any thread, and inside a signal handler: it waits for no lock.
        """
        self._aborted = True
        for exchange in tuple(self._under_way):
            exchange.shut_down()


class _Exchange:
    """One request under way: its body, as urllib3 takes it, and its hold on the connection.

    `sent_whole` is whether all of the body was handed to the system. `is_shut` is whether this
    program ended the connection. `timed_out` says what did not happen in time if the timer ended
    it, and is empty otherwise. `answer_is_partial` is whether some of the response was read, but
    not all.
    """

    def __init__(
        self,
        blocks: Iterable[Block],
        timeouts: Timeouts,
        answer_clock: AnswerClock,
    ) -> None:
        self.timeouts = timeouts
        self._answer_clock = answer_clock
        self.sent_whole = False
        self.timed_out = ""
        self.is_shut = False
        self.answer_is_partial = False
        self._blocks = blocks
        self._socket: socket.socket | None = None
        self._timer: threading.Timer | None = None

    def __iter__(self) -> Iterator[Block]:
        """Yield the body in pieces, each of which is one write.

        The time limit of a write holds for all of it. So a slow connection gets small pieces, and
        is not taken for a stalled one; a quick one gets large pieces, which take less work.
        """
        size = _PIECE
        for block in self._blocks:
            rest = memoryview(block)
            while rest:
                began = time.monotonic()
                yield rest[:size]
                rest = rest[size:]
                is_quick = time.monotonic() - began < self.timeouts.stall / 16
                size = min(2 * size, _LARGEST_PIECE) if is_quick else _PIECE
        if not self.sent_whole:
            self.sent_whole = True
            self._answer_clock.start()

    def take_connection(self, sock: Any) -> None:
        """Enable `shut_down` to end a connection, in whatever state it is.

        It gets a descriptor of its own for that: while TLS is set up, no attribute of a connection
        holds its socket; and `SSLSocket.shutdown` drops the cipher, which another thread may be
        using.
        """
        self._socket = socket.socket(fileno=os.dup(sock.fileno()))
        # It was called before there was a connection.
        if self.is_shut:
            self.shut_down()

    def shut_down(self) -> None:
        """End the connection, from any thread: what reads or writes there returns at once."""
        self.is_shut = True
        if self._socket:
            # The connection may have ended already.
            with suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)

    def start_timer(self, seconds: float, reason: str) -> None:
        """End the connection after so many seconds, unless the timer is stopped before."""
        self.stop_timer()
        self._timer = threading.Timer(seconds, self._expire, [reason])
        # The process does not wait for it at its end.
        self._timer.daemon = True
        self._timer.start()

    def stop_timer(self) -> None:
        """Remove the time limit."""
        if self._timer:
            self._timer.cancel()

    def _expire(self, reason: str) -> None:
        self.timed_out = reason
        self.shut_down()

    def close(self) -> None:
        """Let go of the connection, which stays open for the next request if all went well."""
        self.stop_timer()
        if self.sent_whole:
            self._answer_clock.stop()
        if not self._socket:
            return
        if self.answer_is_partial:
            # After an orderly close, a server that has more to send could wait for minutes until it
            # may send it. A reset ends that. macOS refuses the option if the connection is shut
            # down.
            with suppress(OSError):
                self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        self._socket.close()


def _prepare(request: Request, token: str, exchange: _Exchange) -> PreparedRequest:
    """Return the request as requests takes it, with its URL and headers unchanged.

    `PreparedRequest.prepare` would quote a session URI anew, and leave out the length of a body of
    no bytes.
    """
    headers = {
        **_HEADERS,
        **dict(request.headers),
        "User-Agent": f"uploader/{__version__}",
        "Content-Length": str(request.size),
    }
    if token:
        headers["Authorization"] = f"Bearer {token}"
    prepared = PreparedRequest()
    prepared.method = request.method
    prepared.url = request.url
    prepared.prepare_headers(headers)
    prepared.body = cast(Any, exchange)
    return prepared


def _read_response(raw: Any, request: Request, exchange: _Exchange) -> Response:
    """Read a response with its body, which goes to the receiver of the request, if there is one.

    A body that is longer than the limit is cut there, and fails as JSON. Raises `HTTPException` for
    an interim response (1xx), and for a body whose end is not stated.
    """
    if raw.status < 200:
        raise HTTPException("an interim response in place of one")
    if not _says_where_it_ends(raw, request.method):
        raise HTTPException("a body with an open end (RFC 9112, section 6.3)")
    headers = Headers(
        (name, " ".join(value.split())) for name, value in raw.headers.items()
    )
    kept = bytearray()
    take: Callable[[bytes], object] = kept.extend
    left = min(exchange.timeouts.max_size, MAX_BODY)
    if request.receive:
        receiver = request.receive(raw.status, headers)
        if receiver:
            take = receiver
            left = exchange.timeouts.max_size
    for block in raw.stream(_PIECE, decode_content=False):
        take(block[:left])
        left -= len(block)
        if left <= 0:
            break
    exchange.answer_is_partial = left <= 0
    return Response(raw.status, headers, bytes(kept), exchange.sent_whole)


def _says_where_it_ends(raw: Any, method: str) -> bool:
    """Return whether the body has a length or comes in chunks.

    A body that ends with the connection may have been cut.
    """
    if raw.status in (204, 304) or method == "HEAD":
        return True
    coding = raw.headers.get("Transfer-Encoding")
    length = raw.headers.get("Content-Length")
    if coding is not None:
        return coding.strip().lower() == "chunked" and length is None
    if length is None:
        return False
    # The same length may be stated twice.
    lengths = {value.strip() for value in length.split(",")}
    if len(lengths) != 1:
        return False
    return _LENGTH.fullmatch(lengths.pop()) is not None


# Its `exchange` is the one for which the thread connects.
_current = threading.local()


class _Connection(HTTPConnection):
    """urllib3's connection, under the limits of the request that uses it."""

    sock: Any
    _exchange: _Exchange

    def _new_conn(self) -> socket.socket:
        """Connect over TCP. The tunnel of a proxy and TLS, which follow, have a limit in time."""
        # Behind a proxy urllib3 leaves Nagle's algorithm on: a body would wait until the headers
        # before it are acknowledged.
        self.socket_options = self.default_socket_options
        sock = super()._new_conn()
        self._exchange = _current.exchange
        self._exchange.take_connection(sock)
        self._exchange.start_timer(
            self._exchange.timeouts.connect,
            "the connection was not made within the time limit",
        )
        return sock

    def request(
        self, method: str, url: str, body: Any = None, *args: Any, **options: Any
    ) -> None:
        """Send a request; `body` is its exchange."""
        if self.sock is None:
            self.connect()
        elif self._exchange is not body:
            # An earlier request has left the connection open.
            self._exchange = body
            self._exchange.take_connection(self.sock)
        self._exchange.stop_timer()
        # What was read until now was a proxy's response to CONNECT.
        self._exchange.answer_is_partial = False
        # Otherwise urllib3 would send with the time limit for connecting.
        self.timeout = self._exchange.timeouts.stall
        try:
            super().request(method, url, body, *args, **options)
        except ssl.SSLEOFError:
            # The ssl module raises this if the other side has closed the connection. On a
            # BrokenPipeError, as it comes without TLS, urllib3 still looks for a response.
            raise BrokenPipeError from None

    def getresponse(self) -> Any:
        """Start the time limit for the whole response, and read its head."""
        self._exchange.start_timer(
            self._exchange.timeouts.response, "the answer did not arrive in time"
        )
        return super().getresponse()

    def response_class(  # type: ignore[override]  # a class there
        self, sock: Any, *args: Any, **options: Any
    ) -> HTTPResponse:
        """Return the reader of a response, which may also be a proxy's to CONNECT."""
        return _CheckedResponse(sock, self._exchange, *args, **options)


class _TLSConnection(_Connection, HTTPSConnection):
    """The same over TLS; TLS inside the TLS of a proxy is urllib3's own work."""


class _CheckedResponse(HTTPResponse):
    """http.client's response, limited in size, with a check of its head before that is parsed."""

    fp: Any

    def __init__(
        self, sock: Any, exchange: _Exchange, *args: Any, **options: Any
    ) -> None:
        super().__init__(sock, *args, **options)
        limited = _LimitedReader(self.fp.detach(), exchange)
        self.fp = io.BufferedReader(limited, _PIECE)

    def begin(self, *args: Any, **options: Any) -> None:
        """Read and parse the head. Python 3.15 passes a limit on the number of headers."""
        stream = self.fp
        head = _read_head(stream)
        while _CONTINUE.match(head):
            head = _read_head(stream)
        self.fp = io.BytesIO(head)
        try:
            super().begin(*args, **options)
        finally:
            self.fp = stream


class _LimitedReader(io.RawIOBase):
    """The bytes of one response, with a limit on their number and a minimum rate."""

    def __init__(self, stream: io.RawIOBase, exchange: _Exchange) -> None:
        self._stream = stream
        self._exchange = exchange
        self._left = exchange.timeouts.max_size + _AROUND_A_BODY
        self._window_began: float | None = None
        self._window_bytes = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        """Read into a buffer. Raises `BrokenAnswer` if the response is longer than the limit allows
        or comes too slowly, and ConnectionAbortedError once the connection was shut down.
        """
        # Reading what has already arrived could still take seconds.
        if self._exchange.is_shut:
            raise ConnectionAbortedError
        if self._left <= 0:
            raise BrokenAnswer("the answer was too large")
        count = self._stream.readinto(memoryview(buffer)[: self._left])
        if count:
            self._left -= count
            self._exchange.answer_is_partial = True
            self._check_rate(count)
        return count

    def _check_rate(self, count: int) -> None:
        """Count bytes that have arrived. Raises `BrokenAnswer` if a server only keeps the
        connection alive with a few of them.
        """
        timeouts = self._exchange.timeouts
        now = time.monotonic()
        if self._window_began is None:
            self._window_began = now
        self._window_bytes += count
        if now - self._window_began < timeouts.stall:
            return
        if self._window_bytes < timeouts.min_bytes:
            raise BrokenAnswer("the answer came too slowly")
        self._window_began = now
        self._window_bytes = 0

    def close(self) -> None:
        self._stream.close()
        super().close()


def _read_head(stream: io.BufferedReader) -> bytes:
    """Return the head of a response with its empty line; no bytes if the connection has ended.

    Raises `BrokenAnswer` for a head that is cut or too large, and for headers that parsers read in
    different ways: folded ones, and lines that are no header.
    """
    head = stream.readline(MAX_HEAD + 1)
    if not b"HTTP/".startswith(head[:5]):
        # Not HTTP, as http.client will report: nothing more is read.
        return head
    line = head
    while head and line not in (b"\r\n", b"\n"):
        if len(head) > MAX_HEAD:
            raise BrokenAnswer("the headers of the answer were too large")
        if not line.endswith(b"\n"):
            raise BrokenAnswer("the connection ended inside the headers of the answer")
        line = stream.readline(MAX_HEAD + 1 - len(head))
        head += line
    for header in head.split(b"\n")[1:-2]:
        _check_header(header)
    return head


def _check_header(header: bytes) -> None:
    if header.startswith((b" ", b"\t")):
        raise BrokenAnswer("the answer has a folded header")
    if not _HEADER.fullmatch(header):
        raise BrokenAnswer("the answer has a malformed header")


class _Adapter(HTTPAdapter):
    """requests' adapter, which uses the connections of this module."""

    def build_response(self, req: PreparedRequest, resp: Any) -> RequestsResponse:
        """Return the response as urllib3 has it: requests would look for cookies in it."""
        del req
        response = RequestsResponse()
        response.raw = resp
        return response

    def get_connection_with_tls_context(self, *args: Any, **options: Any) -> Any:
        """Return the pool for a request, which makes connections of this module."""
        pool: Any = super().get_connection_with_tls_context(*args, **options)
        pool.ConnectionCls = _TLSConnection if pool.scheme == "https" else _Connection
        return pool
