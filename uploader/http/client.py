"""The only way out: one seam, `HttpClient.send(request, …) -> Response`, for the login's requests
and the transfer's.

requests sends, through its adapter and not through a session: no redirect is followed, nothing is
sent again by itself, no cookie is parsed and no .netrc is read. Foreign exceptions end at this
border.

A response that ends too early is none. http.client takes the end of the connection for the end of
the headers, and a TLS connection can be ended by anybody on the way; so the head is looked at here
before it is parsed, and the body has to say where it ends.
"""

from __future__ import annotations

import io
import re
import select
import socket
import ssl
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse
from typing import Any, cast

from requests import PreparedRequest
from requests import Response as RequestsResponse
from requests.adapters import HTTPAdapter
from requests.exceptions import InvalidURL
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import (
    HTTPError,
)
from urllib3.util.wait import wait_for_read

from uploader import __version__
from uploader.hosts import NOWHERE, origin
from uploader.http.environment import authorities, proxy_for
from uploader.http.failures import BrokenAnswer, as_failure
from uploader.http.messages import Block, Headers, Request, Response

# bytes of a response's body; no resource that these methods return comes near it
MAX_BODY = 4 * 1024 * 1024
# bytes for the head of a response, for interim ones, and for what frames its chunks
_AROUND_A_BODY = 256 * 1024
MAX_HEAD = 64 * 1024  # bytes of the status line and the headers; Google's have less than 4 KiB
_PIECE = 64 * 1024  # bytes that are received at once
_TLS_RECORD = 16 * 1024  # bytes (RFC 8446, section 5.1)
# what may become an interim response
_UNDECIDED = re.compile(rb"HTTP/1\.[01] 1|.{0,9}\Z", re.DOTALL)
_INTERIM = re.compile(rb"\A(?:HTTP/1\.[01] 1\d\d[^\n]*\n(?:[^\r\n][^\n]*\n)*\r?\n)+")
_END_OF_HEAD = re.compile(rb"\n\r?\n")
_FIELD = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+:[^\r\0]*\r?")  # RFC 9112, section 5
_LENGTH = re.compile(r"[0-9]{1,19}", re.ASCII)
_NO_BYTES_NOW = (ssl.SSLWantReadError, ssl.SSLWantWriteError, BlockingIOError)
# Nothing compressed is asked for: responses are small, and one could unpack to far more than fits
# in memory.
_HEADERS = {"Accept": "*/*", "Accept-Encoding": "identity", "Connection": "keep-alive"}


@dataclass(frozen=True)
class Timeouts:
    """Seconds: to `connect`; without a byte moved in a body (`stall`); for the whole response after
    the last byte.

    `max_size` is how many bytes of the response's body are kept.
    """

    connect: float = 30.0
    stall: float = 60.0
    response: float = 60.0
    max_size: int = MAX_BODY


class HttpClient:
    """The transport of every real run: pooled connections, the system's proxies and certificates,
    for all threads.
    """

    def __init__(self, *, connections: int = 4) -> None:
        """`connections` is how many are kept open for each host."""
        self._adapter = _Adapter(pool_maxsize=connections)
        self._under_way: set[_Exchange] = set()
        self._aborted = False

    def send(
        self, request: Request, blocks: Iterable[Block], token: str, timeouts: Timeouts
    ) -> Response:
        """Sends `request` with `blocks` (as many bytes as it says) and returns the response.

        `token` is the bearer token, empty for none. A body longer than `timeouts.max_size` is cut
        there. Raises `TransportError` when there is no response, or not all of one that
        `request.receive` takes, and `UntrustedHost` for a certificate that is not trusted. What
        reading the blocks raises comes through as it is, unless it is an OSError or a ValueError,
        and what the receiver raises likewise.
        """
        proxy = proxy_for(request.url)
        exchange = _current.exchange = _Exchange(request, blocks, timeouts)
        self._under_way.add(exchange)
        try:
            if (
                origin(request.url) == NOWHERE
                or " " in proxy
                or (self._aborted and not request.closing)
            ):
                raise InvalidURL
            answer = self._adapter.send(
                exchange.prepared(token),
                stream=True,
                timeout=(timeouts.connect, timeouts.response),
                verify=authorities() or True,
                cert=request.client_certificate,
                proxies={"https": proxy} if proxy else {},
            )
            with closing(answer.raw):
                return exchange.received(answer.raw)
        # a chunk of a negative size is a ValueError
        except (OSError, HTTPException, HTTPError, ValueError) as error:
            raise as_failure(error, request.url, proxy, sent_whole=exchange.sent_whole) from None
        finally:
            self._under_way.discard(exchange)

    def abort(self) -> None:
        """Breaks every connection at once, from any thread; after it only a `closing` request is
        sent.
        """
        self._aborted = True
        for exchange in tuple(self._under_way):
            exchange.aborted = True
            sock: Any = exchange.connection and exchange.connection.sock
            with suppress(OSError, TypeError):  # it is closed already, or not there
                # The plain socket's own: that of `ssl` first drops the cipher, and another thread
                # may be writing. TLS inside a proxy's TLS is no socket, but holds one.
                socket.socket.shutdown(getattr(sock, "socket", sock), socket.SHUT_RDWR)


class _Exchange:
    """One request on its way, which requests takes as the body of it."""

    def __init__(self, request: Request, blocks: Iterable[Block], timeouts: Timeouts) -> None:
        self._request, self._blocks, self.timeouts = request, blocks, timeouts
        # while the response is received
        self.stall = timeouts.stall if request.receive else timeouts.response
        self.connection: _Connection | None = None
        self.sent_whole = self.aborted = False

    def prepared(self, token: str) -> PreparedRequest:
        """The request as it is given: a session URI is not quoted anew, and a body of no bytes has
        a length, too.
        """
        prepared, headers = PreparedRequest(), {**_HEADERS, **dict(self._request.headers)}
        headers |= {
            "User-Agent": f"uploader/{__version__}",
            "Content-Length": str(self._request.size),
        }
        prepared.prepare_headers(
            {**headers, "Authorization": f"Bearer {token}"} if token else headers
        )
        prepared.method, prepared.url, prepared.body = (
            self._request.method,
            self._request.url,
            cast(Any, self),
        )
        return prepared

    def __iter__(self) -> Iterator[Block]:
        connection = cast(Any, self.connection)
        connection.incoming = _Incoming(connection.sock, self)
        # TLS inside a proxy's TLS can't write a part of a record and be asked again.
        connection.sock.settimeout(
            0 if isinstance(connection.sock, socket.socket) else self.timeouts.stall
        )
        yield from self._blocks
        self.sent_whole = True

    def received(self, raw: Any) -> Response:
        """The response with its body, unless there is a receiver for it. A longer one is cut, and
        fails as JSON.
        """
        if raw.status < 200 or not self._says_where_it_ends(raw):
            raise HTTPException("an end that is open (RFC 9112, section 6.3)")
        headers = Headers((name, " ".join(value.split())) for name, value in raw.headers.items())
        receiver = self._request.receive and self._request.receive(raw.status, headers)
        kept = bytearray()
        left = self.timeouts.max_size if receiver else min(self.timeouts.max_size, MAX_BODY)
        for block in raw.stream(_PIECE, decode_content=False):
            (receiver or kept.extend)(block[:left])
            left -= len(block)
            if left <= 0:
                break
        return Response(raw.status, headers, bytes(kept), self.sent_whole)

    def _says_where_it_ends(self, raw: Any) -> bool:
        """Whether the body has a length or comes in chunks. One that ends with the connection may
        have been cut.
        """
        if raw.status in (204, 304) or self._request.method == "HEAD":
            return True
        coding, length = raw.headers.get("Transfer-Encoding"), raw.headers.get("Content-Length")
        if coding is not None:
            return coding.strip().lower() == "chunked" and length is None
        # the same may be said twice
        lengths = {value.strip() for value in (length or "").split(",")}
        return len(lengths) == 1 and _LENGTH.fullmatch(lengths.pop()) is not None


_current = threading.local()  # its `exchange` is the one for which this thread connects


class _Connection(HTTPConnection):
    """urllib3's connection, which sends a body until a response comes, and limits what it receives.

    A response that comes while the body is on its way stops the body at once (RFC 9110, section
    7.5), an interim one (1xx) does not. Nothing is looked for before the body: a tunnel and its TLS
    stand by then, and no proxy forges any.
    """

    sock: Any
    _exchange: _Exchange
    incoming: _Incoming | None = None  # from the beginning of a body on

    def connect(self) -> None:
        self._exchange = _current.exchange
        self._exchange.connection = self
        # behind a proxy, too: no waiting until a packet is full
        self.socket_options = self.default_socket_options
        super().connect()

    @property
    def is_connected(self) -> bool:
        # the rest of a body would be the next request
        return self._exchange.sent_whole and super().is_connected

    def request(self, method: str, url: str, body: Any = None, *args: Any, **options: Any) -> None:
        self._exchange = body
        self._exchange.connection = self
        if self.sock is None:
            self.connect()
        if self._exchange.aborted:
            raise ConnectionAbortedError
        super().request(method, url, body, *args, **options)

    def send(self, data: Any) -> None:
        if not self.incoming:
            super().send(data)
            return
        rest, nested = memoryview(data), bool(self.sock.gettimeout())
        most = _TLS_RECORD if nested else len(data)
        poll = select.poll()  # `select.select` refuses descriptors from 1024 on
        poll.register(self.sock, select.POLLIN | select.POLLOUT)
        stall = self._exchange.timeouts.stall
        deadline = time.monotonic() + stall
        while rest:
            found = poll.poll(max(deadline - time.monotonic(), 0) * 1000)
            if not found:
                raise BrokenAnswer("no data was transferred within the time limit")
            # TLS inside a proxy's TLS may hold a response that it received behind the end of its
            # handshake.
            if (nested or found[0][1] & ~select.POLLOUT) and self.incoming.has_begun():
                raise BrokenPipeError("answered before the body was sent")
            if found[0][1] & ~select.POLLIN:
                with suppress(*_NO_BYTES_NOW):
                    rest = rest[self.sock.send(rest[:most]) :]
                deadline = time.monotonic() + stall

    def response_class(self, sock: Any, *args: Any, **options: Any) -> HTTPResponse:  # type: ignore[override]  # a class
        incoming, self.incoming = self.incoming or _Incoming(sock, self._exchange), None
        # to connect, for what a proxy says to CONNECT
        incoming.deadline = time.monotonic() + sock.gettimeout()
        return HTTPResponse(cast(Any, incoming), *args, **options)


class _TLSConnection(_Connection, HTTPSConnection): ...


class _Incoming(io.RawIOBase):
    """What a connection receives as one response, without interim ones, limited in size and time as
    a whole.
    """

    def __init__(self, sock: Any, exchange: _Exchange) -> None:
        self._sock, self._stall = sock, exchange.stall
        self._open: Any = None
        self._left = _AROUND_A_BODY + exchange.timeouts.max_size
        self._head, self._begun = b"", False
        self._head_is_whole = False
        self.deadline = 0.0

    def makefile(self, *_: Any) -> io.BufferedReader:
        """What http.client reads from; it keeps the socket open until the response is read."""
        self._open = self._sock.makefile("rb", 0)
        return io.BufferedReader(self, _PIECE)

    def readable(self) -> bool:
        return True

    def has_begun(self) -> bool:
        """Whether the response itself has begun, or the end. Under TLS a readable socket may hold a
        ticket only.
        """
        while not self._begun and (received := self._receive()) is not None:
            self._head = _INTERIM.sub(b"", self._head + received)
            self._begun = not (
                received and len(self._head) <= _PIECE and _UNDECIDED.match(self._head)
            )
        return self._begun

    def _has_head(self) -> bool:
        """Whether all of the response's head is there, or nothing will come any more.

        Raises `BrokenAnswer` for one that is cut, too large, or malformed in a way that a parser
        would pass over.
        """
        while not self._head_is_whole and self.has_begun():
            end = _END_OF_HEAD.search(self._head)
            # what is no HTTP at all has no head either
            if end or not b"HTTP/".startswith(self._head[:5]):
                _check_head(self._head[: end.end()] if end else b"")
                self._head_is_whole = True
                break
            if len(self._head) > MAX_HEAD:
                raise BrokenAnswer("the headers of the answer were too large")
            received = self._receive()
            if received is None:
                break
            if not received and self._head:
                raise BrokenAnswer("the connection ended inside the headers of the answer")
            self._head_is_whole = not received
            self._head += received
        return self._head_is_whole

    def _receive(self) -> bytes | None:
        """The bytes that are there, none at the end; None where nothing has come."""
        if self._left <= 0:
            raise BrokenAnswer("the answer was too large")
        timeout = self._sock.gettimeout()
        self._sock.settimeout(0)
        try:
            # TLS in TLS ends with a 0
            received: bytes = self._sock.recv(min(_PIECE, self._left)) or b""
        except _NO_BYTES_NOW:
            return None
        finally:
            self._sock.settimeout(timeout)
        self._left -= len(received)
        return received

    def readinto(self, buffer: Any) -> int:
        while (seconds := min(self.deadline - time.monotonic(), self._stall)) > 0:
            received = (self._head or self._receive()) if self._has_head() else None
            if received is not None:
                count = min(len(received), len(buffer))
                buffer[:count], self._head = received[:count], received[count:]
                return count
            if not wait_for_read(self._sock, seconds):
                break
        raise BrokenAnswer("the answer did not arrive in time")

    def close(self) -> None:
        if self._open:
            self._open.close()
        super().close()


def _check_head(head: bytes) -> None:
    """Raises `BrokenAnswer` for headers that parsers read in different ways: folded ones, and lines
    that are no header.
    """
    if len(head) > MAX_HEAD:
        raise BrokenAnswer("the headers of the answer were too large")
    for line in head.split(b"\n")[1:-2]:
        if not _FIELD.fullmatch(line):
            folded = line[:1] in (b" ", b"\t")
            raise BrokenAnswer(f"the answer has a {'folded' if folded else 'malformed'} header")


class _Adapter(HTTPAdapter):
    """requests' adapter over such connections."""

    def build_response(self, req: PreparedRequest, resp: Any) -> RequestsResponse:
        """What came, as it is: requests would look for cookies in it."""
        del req
        response = RequestsResponse()
        response.raw = resp
        return response

    def get_connection_with_tls_context(self, *args: Any, **options: Any) -> Any:
        pool: Any = super().get_connection_with_tls_context(*args, **options)
        pool.ConnectionCls = _TLSConnection if pool.scheme == "https" else _Connection
        return pool
