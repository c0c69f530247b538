"""The only way out: one seam, `send(request, …) -> Response`, for the login's requests as well as the transfer's.

requests sends, through its adapter and not through a session: no redirect is followed, nothing is sent again by itself,
no cookie is kept and no .netrc is read. Foreign exceptions end at this border.
"""

from __future__ import annotations

import io
import os
import re
import select
import socket
import ssl
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse, RemoteDisconnected
from pathlib import Path
from typing import Any, Protocol, cast
from urllib.parse import urlsplit

from requests import PreparedRequest
from requests.adapters import HTTPAdapter
from requests.exceptions import InvalidProxyURL, InvalidURL
from requests.utils import get_environ_proxies, select_proxy
from urllib3 import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import ConnectTimeoutError, HTTPError, LocationParseError, NewConnectionError, ProxyError
from urllib3.util.wait import wait_for_read

from uploader import __version__
from uploader.errors import InputError, Problem, UntrustedHost
from uploader.http.hosts import NOWHERE, may_use_proxy, origin
from uploader.http.messages import Block, Headers, Request, Response, TransportError

MAX_BODY = 4 * 1024 * 1024  # bytes of a response's body; no resource that these methods return comes near it
_AROUND_A_BODY = 256 * 1024  # bytes for the head of a response and for what frames its chunks
_PIECE = 64 * 1024  # bytes that are sent or read at once
_INTERIM = re.compile(rb"\A(?:HTTP/1\.[01] 1\d\d[^\n]*\n(?:[^\r\n][^\n]*\n)*\r?\n)+")
_NO_BYTES_NOW = (ssl.SSLWantReadError, ssl.SSLWantWriteError, BlockingIOError)
_HEADERS = {
    "User-Agent": f"uploader/{__version__}",
    "Accept": "*/*",
    "Accept-Encoding": "identity",  # responses are small, and a compressed one could be a bomb
    "Connection": "keep-alive",
}


@dataclass(frozen=True)
class Timeouts:
    """Seconds: to `connect`; without a byte moved in a body (`stall`); for the whole response after the last byte.

    `max_size` is how many bytes of the response's body are kept.
    """

    connect: float = 30.0
    stall: float = 60.0
    response: float = 60.0
    max_size: int = MAX_BODY


class Transport(Protocol):
    """What the program needs from a network: one request out, one response back."""

    def send(self, request: Request, blocks: Iterable[Block], token: str, timeouts: Timeouts) -> Response:
        """Sends `request` with `blocks` (as many bytes as its body says) and returns the response.

        `token` is the bearer token, empty for none. A body longer than `timeouts.max_size` is cut there. Raises
        `TransportError` when there is no response, or not all of one that `request.receive` takes; what reading the
        blocks raises comes through as it is, unless it is an OSError, and what the receiver raises likewise.
        """

    def abort(self) -> None:
        """Breaks every connection at once, from any thread; after it only a `closing` request is sent."""


class HttpClient:
    """The transport of every real run: pooled connections, the system's proxies and certificates, for all threads."""

    def __init__(self, *, connections: int = 4, direct: bool = False) -> None:
        """`connections` is how many are kept open for each host; `direct` leaves the system's settings aside."""
        self._connections, self._direct = connections, direct
        self._adapters: dict[object, _Adapter] = {}  # by the client's certificate, which is shown nowhere else
        self._under_way: set[_Exchange] = set()
        self._aborted = False

    def send(self, request: Request, blocks: Iterable[Block], token: str, timeouts: Timeouts) -> Response:
        """See `Transport.send`. A server whose certificate is not trusted raises `UntrustedHost`."""
        outer = getattr(_current, "exchange", None)  # whose blocks may come from requests of their own
        _current.exchange = exchange = _Exchange(request, blocks, timeouts)
        self._under_way.add(exchange)
        proxies, authorities, certificate = {}, "", request.client_certificate
        try:
            if origin(request.url) == NOWHERE or (self._aborted and not request.closing):
                raise InvalidURL
            if not self._direct:
                proxies = get_environ_proxies(request.url) if may_use_proxy(request.url) else {}
                authorities = os.environ.get("REQUESTS_CA_BUNDLE") or os.environ.get("CURL_CA_BUNDLE") or ""
                authorities = os.path.expanduser(authorities)  # noqa: PTH111  # which a path object may refuse
            adapter = self._adapters.get(certificate) or _Adapter(pool_maxsize=self._connections)
            self._adapters[certificate] = adapter
            prepared, seconds = exchange.prepared(token), (timeouts.connect, timeouts.response)
            with closing(adapter.send(prepared, True, seconds, authorities or True, certificate, proxies).raw) as raw:
                return exchange.received(raw)
        except (OSError, HTTPException, HTTPError, UnicodeError) as error:
            if authorities and origin(request.url).scheme == "https":
                _check(authorities)
            raise _failure(error, request.url, select_proxy(request.url, proxies) or "", exchange.sent_whole) from None
        finally:
            self._under_way.discard(exchange)
            _current.exchange = outer

    def abort(self) -> None:
        """See `Transport.abort`."""
        self._aborted = True
        for exchange in tuple(self._under_way):
            exchange.abort()


class _Exchange:
    """One request on its way, which requests takes as the body of it.

    A response that comes while the body is on its way stops the body at once (RFC 9110, section 7.5), an interim one
    (1xx) does not. Nothing is looked for before the body: a tunnel and its TLS stand by then, and no proxy forges any.
    """

    def __init__(self, request: Request, blocks: Iterable[Block], timeouts: Timeouts) -> None:
        self._request, self._blocks, self.timeouts = request, blocks, timeouts
        self.response_stall = timeouts.stall if request.receive else timeouts.response
        self.connection: _Connection | None = None
        self.sent_whole = self.aborted = False
        self.early = b""

    def prepared(self, token: str) -> PreparedRequest:
        """The request as it is given: a session URI is not quoted anew, and a body of no bytes has a length, too."""
        prepared, length = PreparedRequest(), str(self._request.body.size)
        bearer = {"Authorization": f"Bearer {token}"} if token else {}
        prepared.method, prepared.url, prepared.body = self._request.method, self._request.url, cast(Any, self)
        prepared.prepare_headers({**_HEADERS, **dict(self._request.headers), **bearer, "Content-Length": length})
        return prepared

    def __iter__(self) -> Iterator[memoryview]:
        sock: Any = self.connection and self.connection.sock
        sock.settimeout(self.timeouts.stall)
        poll = select.poll()  # `select.select` refuses descriptors from 1024 on
        poll.register(sock, select.POLLIN | select.POLLOUT)
        for block in self._blocks:
            for start in range(0, len(block), _PIECE):
                deadline, happened = time.monotonic() + self.timeouts.stall, 0
                while not happened & select.POLLOUT:
                    found = poll.poll(max(deadline - time.monotonic(), 0) * 1000)
                    if not found:
                        raise TimeoutError("no byte moved")
                    happened = found[0][1]
                    if happened & ~select.POLLOUT and self._has_response(sock):
                        raise BrokenPipeError("answered before the body was sent")
                yield memoryview(block)[start : start + _PIECE]
        self.sent_whole = True

    def _has_response(self, sock: Any) -> bool:
        """Whether the response itself has begun, or the end. Under TLS a readable socket may hold a ticket only."""
        sock.settimeout(0)
        try:
            while received := sock.recv(_PIECE):
                self.early += received
                rest = _INTERIM.sub(b"", self.early)
                known = len(rest) >= len(b"HTTP/1.1 1") and not re.match(rb"HTTP/1\.[01] 1", rest)
                if known or len(self.early) > _PIECE:
                    break
        except _NO_BYTES_NOW:
            sock.settimeout(self.timeouts.stall)
            return False
        return True

    def received(self, raw: Any) -> Response:
        """The response with its body, unless there is a receiver for it. A longer one is cut, and fails as JSON."""
        fields = raw.headers.itermerged()
        headers = Headers((name, " ".join(value.split()) if "\n" in value else value) for name, value in fields)
        receiver = self._request.receive and self._request.receive(raw.status, headers)
        kept = bytearray()
        left = self.timeouts.max_size if receiver else min(self.timeouts.max_size, MAX_BODY)
        for block in _blocks(raw):
            (receiver or kept.extend)(block[:left])
            left -= len(block)
            if left <= 0:
                break
        return Response(raw.status, headers, bytes(kept), self.sent_whole)

    def abort(self) -> None:
        """Breaks the connection that the request is on, from any thread."""
        self.aborted = True
        sock: Any = self.connection and self.connection.sock
        with suppress(OSError, TypeError):  # it is closed already, or not there
            # The plain socket's own: that of `ssl` first drops the cipher, and another thread may be writing. TLS
            # inside a proxy's TLS is no socket, but holds one.
            socket.socket.shutdown(getattr(sock, "socket", sock), socket.SHUT_RDWR)


def _blocks(raw: Any) -> Iterator[bytes]:
    try:
        yield from raw.stream(_PIECE, decode_content=False)
    except ValueError as error:
        raise HTTPException("a chunk of a negative size") from error


_current = threading.local()  # its `exchange` is the one that this thread is about


class _Connection(HTTPConnection):
    """urllib3's connection, which reads a response behind the early bytes of it, limited as a whole."""

    sock: Any

    def connect(self) -> None:
        _current.exchange.connection = self
        super().connect()

    def request(self, *args: Any, **options: Any) -> None:
        _current.exchange.connection = self
        if self.sock is None:
            self.connect()
        if _current.exchange.aborted:
            raise ConnectionAbortedError
        try:
            super().request(*args, **options)
        except ConnectionResetError as error:
            raise BrokenPipeError("reset, perhaps behind a response") from error

    def response_class(self, sock: Any, *args: Any, **options: Any) -> HTTPResponse:  # type: ignore[override]  # a class
        response = _Response(sock, *args, **options)
        response.fp = io.BufferedReader(_Reader(cast(Any, response.fp).detach(), sock), _PIECE)
        return response


class _TLSConnection(_Connection, HTTPSConnection): ...


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Connection


class _TLSPool(HTTPSConnectionPool):
    ConnectionCls = _TLSConnection


class _Response(HTTPResponse):
    def begin(self) -> None:
        """Reads the head behind interim ones. Raises HTTPException when it leaves open where the response ends."""
        super().begin()
        for _ in range(100):  # a "still processing" every few seconds is the most known
            if self.status >= 200:
                break
            self.headers = cast(Any, None)  # so it begins again
            super().begin()
        codings = [coding.strip().lower() for coding in self.headers.get_all("Transfer-Encoding", ())]
        if self.status < 200 or (codings and (codings != ["chunked"] or "Content-Length" in self.headers)):
            raise HTTPException("endless interim responses, or an end that is open (RFC 9112, section 6.3)")
        self.will_close |= not _current.exchange.sent_whole  # what is left of the body would be the next request


class _Reader(io.RawIOBase):
    """The receiving side of a connection for one response, limited as a whole, whatever that says about its length."""

    def __init__(self, raw: Any, sock: Any) -> None:
        self._raw, self._socket, self._exchange = raw, sock, _current.exchange
        self._timeout = sock.gettimeout()  # that of the response, or to connect, for what a proxy says to CONNECT
        self._deadline = time.monotonic() + self._timeout
        self._left = _AROUND_A_BODY + self._exchange.timeouts.max_size

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer)[: self._left]
        if not view:
            raise _ResponseTooLarge
        early = self._exchange.early[: len(view)]
        view[: len(early)], self._exchange.early = early, self._exchange.early[len(early) :]
        count = len(early) or self._receive(view)
        self._left -= count
        return count

    def _receive(self, view: memoryview) -> int:
        self._socket.settimeout(0)
        while (seconds := min(self._deadline - time.monotonic(), self._exchange.response_stall)) > 0:
            with suppress(*_NO_BYTES_NOW):
                return int(self._socket.recv_into(view))
            if not wait_for_read(self._socket, seconds):
                break
        raise _ResponseTimeout

    def close(self) -> None:
        if not self.closed:
            with suppress(OSError):
                self._socket.settimeout(self._timeout)  # the handshake of TLS in a tunnel comes next
            self._raw.close()
        super().close()


class _Adapter(HTTPAdapter):
    """requests' adapter over such connections."""

    def init_poolmanager(self, *args: Any, **options: Any) -> None:
        super().init_poolmanager(*args, **options)
        self.poolmanager.pool_classes_by_scheme = {"http": _Pool, "https": _TLSPool}

    def proxy_manager_for(self, proxy: str, **options: Any) -> Any:
        if proxy.lower().startswith("socks"):  # no other try would find another one
            what = f"{_named(proxy)} is a SOCKS proxy, which can't be used."
            accepted = "an http:// or https:// proxy, or the hosts that need none in NO_PROXY."
            raise InputError(Problem("proxy", what, accepted))
        if not proxy.lower().startswith(("http://", "https://")):
            raise InvalidProxyURL
        options["socket_options"] = HTTPConnection.default_socket_options  # no waiting until a packet is full
        manager = super().proxy_manager_for(proxy, **options)
        manager.pool_classes_by_scheme = self.poolmanager.pool_classes_by_scheme
        return manager


# --- failures: foreign words may hold session URIs --------------------------------------------------------------------


class _ResponseTooLarge(OSError): ...


class _ResponseTimeout(TimeoutError): ...


_MALFORMED = (InvalidProxyURL, LocationParseError)
_WORDS: tuple[tuple[Any, str], ...] = (
    (_ResponseTooLarge, "the answer was too large"),
    (ConnectionRefusedError, "the connection to {peer} was refused"),
    (RemoteDisconnected, "the connection was closed before an answer"),
    (ConnectionResetError, "the connection was reset"),
    (BrokenPipeError, "the connection was closed while sending"),
    (socket.gaierror, "the address of {peer} could not be found (DNS)"),
    (_ResponseTimeout, "the answer did not arrive in time"),
    (TimeoutError, "no data was transferred within the time limit"),
    (ssl.SSLError, "the TLS connection failed"),
    (_MALFORMED, "the URL of {peer} is malformed"),
    (NewConnectionError, "{peer} could not be reached"),
    (ProxyError, "{peer} did not open a connection to {host}{status}"),
    (BaseException, "the connection ended without a complete answer"),
)


def _check(authorities: str) -> None:
    """Raises `InputError` when there are no certificates in the file or the folder: no other try would find any."""
    try:
        ssl.create_default_context(**{"capath" if Path(authorities).is_dir() else "cafile": authorities})  # type: ignore[arg-type]  # it has more arguments
    except OSError:
        what, accepted = f"no certificates can be read from {authorities}.", "a file of certificates in PEM form."
        raise InputError(Problem("REQUESTS_CA_BUNDLE or CURL_CA_BUNDLE", what, accepted)) from None


def _failure(error: BaseException, url: str, proxy: str, sent_whole: bool) -> TransportError | UntrustedHost:
    """What broke on the way to a URL; `proxy` is the URL of the one in between, if any."""
    causes = [error]
    for cause in causes:  # outermost first; urllib3 wraps some in the arguments
        inner = (cause.__cause__, cause.__context__, *cause.args)
        causes += [each for each in inner if isinstance(each, BaseException) and each not in causes]

    def found(kind: Any) -> Any:
        return next((cause for cause in causes if isinstance(cause, kind)), None)

    peer = host = urlsplit(url).hostname or "the server"
    if refused := found(ssl.SSLCertVerificationError):
        return UntrustedHost(
            f"The certificate of {'the proxy' if found(ProxyError) else host} is not trusted: "
            f"{refused.verify_message.rstrip('.')}.",
            cause="Usually a proxy is inspecting TLS traffic with a certificate authority of its own.",
            hint="Set REQUESTS_CA_BUNDLE to a file that holds the authority's certificate.",
            code="certificate-not-trusted",
        )
    code = "host-not-found" if found(socket.gaierror) else ""
    code = "connection-refused" if found(ConnectionRefusedError) else code
    if proxy:
        unreachable = found((NewConnectionError, ConnectTimeoutError, *_MALFORMED))
        code = "proxy-unreachable" if unreachable else "proxy-refused" if found(ProxyError) else ""
        peer = _named(proxy)
    # http.client's words; what follows is the proxy's
    tunnel = re.search(r"Tunnel connection failed: ([0-9]{3})", " ".join(map(str, causes)))
    words = next(words for kind, words in _WORDS if found(kind))
    status = f" (HTTP {tunnel[1]})" if tunnel else ""
    return TransportError(words.format(peer=peer, host=host, status=status), sent_whole, code)


def proxy_for(url: str) -> str:
    """The proxy on the way to a URL, as the log may name it; empty where there is none."""
    proxy = select_proxy(url, get_environ_proxies(url)) if may_use_proxy(url) else ""
    return _named(proxy) if proxy else ""


def _named(proxy: str) -> str:
    """The proxy by its host and port, without the password in its URL, and the variable that it comes from."""
    place = proxy.rpartition("://")[2].rpartition("@")[2].partition("/")[0]
    names = ("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY")  # in the order of precedence, as with urllib
    variable = next((name for name in names if os.environ.get(name)), "")
    return f"the proxy {place}" + (f" (from {variable})" if variable else "")
