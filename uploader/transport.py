"""The only sockets: one seam, `send(request, …) -> Response`, over requests; its foreign exceptions end at this border.

Redirects, retries and token refresh are all off: a 308 is no redirect here, and whether to send again is decided where
the offset is known. What requests lacks is added on its connections: a write that blocks is noticed, an answer that
comes while the body is on its way stops the body at once (RFC 9110, section 7.5), and reading an answer has an end.
"""

from __future__ import annotations

import select
import socket
import ssl
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from http.client import HTTPResponse, RemoteDisconnected
from io import BufferedReader, RawIOBase
from typing import Any, Protocol, cast

import requests
from requests.adapters import HTTPAdapter
from urllib3 import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import HTTPError

from uploader import __version__
from uploader.errors import ServiceError
from uploader.protocol.messages import Block, ConnectionBroke, Headers, Request, Response

LARGEST_ANSWER = 4 * 1024 * 1024  # bytes; no resource that these methods return comes near it


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds: to `connect`; without a byte moved in a body (`stall`); for the whole answer after the last byte."""

    connect: float = 30.0
    stall: float = 60.0
    answer: float = 60.0


class Transport(Protocol):
    """What the transfer needs from a network: one request out, one response back."""

    def send(self, request: Request, blocks: Iterable[Block], token: str, limits: Limits) -> Response:
        """Sends `request` with `blocks` (as many bytes as its body says) and returns the answer.

        Raises `ConnectionBroke` when there is none; what reading the blocks raises comes through as it is.
        """

    def abort(self) -> None:
        """Breaks every connection at once, from any thread."""


class Requests:
    """The transport of every real run: pooled connections, the system's proxies and certificates, nothing automatic."""

    def __init__(self, *, connections: int = 4, direct: bool = False) -> None:
        """`connections` is how many are kept open; `direct` leaves the system's proxies aside (embedded emulator)."""
        self._session = requests.Session()
        self._session.trust_env = not direct
        adapter = _Adapter(pool_connections=connections, pool_maxsize=connections, max_retries=0)
        for scheme in ("https://", "http://"):
            self._session.mount(scheme, adapter)
        self._under_way: set[_Outgoing] = set()

    def send(self, request: Request, blocks: Iterable[Block], token: str, limits: Limits) -> Response:
        """See `Transport.send`. A server whose certificate is not trusted raises `ServiceError`."""
        outgoing = _Outgoing(blocks, limits)
        self._under_way.add(outgoing)
        try:
            return self._exchange(request, outgoing, token)
        except (requests.RequestException, HTTPError, OSError, UnicodeError) as error:
            _refuse_untrusted(error)
            raise ConnectionBroke(_words(error), sent_whole=outgoing.sent_whole) from None
        finally:
            self._under_way.discard(outgoing)

    def _exchange(self, request: Request, outgoing: _Outgoing, token: str) -> Response:
        prepared = self._session.prepare_request(
            requests.Request(request.method, request.url, dict(request.headers), auth=_Bearer(token))
        )
        # Set by hand: requests would send an empty body of unknown length as chunked transfer coding.
        prepared.body = cast(Any, outgoing)
        prepared.headers["Content-Length"] = str(len(request.body))
        settings = self._session.merge_environment_settings(prepared.url, {}, True, None, None)
        timeout = (outgoing.limits.connect, outgoing.limits.answer)
        # The adapter and not the session: session.send would read the whole body of a redirect, and keep cookies.
        adapter = self._session.get_adapter(prepared.url or "")
        answer = adapter.send(prepared, timeout=timeout, **cast(Any, settings))
        try:
            body = _read_capped(answer)
        finally:
            answer.close()
        return Response(answer.status_code, Headers(answer.headers), body, outgoing.sent_whole)

    def abort(self) -> None:
        """See `Transport.abort`."""
        for outgoing in tuple(self._under_way):
            outgoing.abort()


class _Bearer(requests.auth.AuthBase):
    """The bearer token as requests' own kind of login, which also keeps a stray .netrc from replacing it."""

    def __init__(self, token: str) -> None:
        self._token = token

    def __call__(self, prepared: requests.PreparedRequest) -> requests.PreparedRequest:
        if self._token:
            prepared.headers["Authorization"] = f"Bearer {self._token}"
        prepared.headers["User-Agent"] = f"uploader/{__version__}"
        prepared.headers["Accept-Encoding"] = "identity"  # answers are small, and a compressed one could be a bomb
        return prepared


class _Outgoing:
    """One request on its way: its blocks and limits going down to the connection, what became of it coming back."""

    def __init__(self, blocks: Iterable[Block], limits: Limits) -> None:
        self._blocks = blocks
        self.limits = limits
        self.sent_whole = False
        self.aborted = False
        self.connection: _Careful | None = None

    def __iter__(self) -> Iterator[Block]:
        return iter(self._blocks)

    def abort(self) -> None:
        self.aborted = True
        sock = self.connection.sock if self.connection else None
        if sock is not None:
            with suppress(OSError):  # closed already, which is what was wanted
                # The plain socket's own: ssl's shutdown first drops the cipher, and another thread may be writing.
                # TLS inside a proxy's own TLS is no socket, but holds one.
                socket.socket.shutdown(getattr(sock, "socket", sock), socket.SHUT_RDWR)


class _Careful(HTTPConnection):
    """A connection that watches its writes and its answers: see the head of this file."""

    _outgoing: _Outgoing = _Outgoing((), Limits())
    _early: bytes = b""
    _out_of_step = False

    def request(self, method: str, url: str, body: Any = None, headers: Any = None, **options: Any) -> None:
        """Sends one request; a body that the server cuts short with its answer ends in BrokenPipeError (see send)."""
        self._outgoing, self._early = body, b""
        body.connection = self
        super().request(method, url, body=body, headers=headers, **options)
        body.sent_whole = True

    def send(self, data: Any) -> None:
        """Sends all of `data`, unless the server has begun to answer or no byte moves for the stall limit."""
        if self.sock is None:
            self.connect()
        view = memoryview(data)
        while view:
            if self._outgoing.aborted:
                raise ConnectionAbortedError("the run was asked to end while connecting")
            self._await_room()
            try:
                view = view[self.sock.send(view) :]
            except (ssl.SSLWantWriteError, BlockingIOError):
                continue  # TLS took a part, and goes on from there when it is given the same bytes again

    def _await_room(self) -> None:
        """Waits until bytes can move, which is seen even in the middle of a large TLS write, or the answer begins."""
        stall = self._outgoing.limits.stall
        readable, writable, _ = select.select([self.sock], [self.sock], [], stall)
        if readable and self._has_answer():
            self._out_of_step = True
            raise BrokenPipeError("answered before the body was sent")  # urllib3 goes on to read the answer
        if not (readable or writable):
            raise TimeoutError("no byte moved")
        # Only TLS inside a proxy's own TLS is no real socket: it has to wait for room by itself.
        self.sock.settimeout(0 if isinstance(self.sock, socket.socket) else stall)

    def _has_answer(self) -> bool:
        """Whether an answer has begun. Under TLS a readable socket may hold a session ticket only: reading tells."""
        self.sock.settimeout(0)
        try:
            self._early = self.sock.recv(65536)
        except (ssl.SSLWantReadError, BlockingIOError):
            return False
        return True

    def response_class(  # type: ignore[override]  # a class there; http.client does nothing but call it
        self, sock: Any, *args: Any, **options: Any
    ) -> HTTPResponse:
        """http.client's response, over a reader with the early bytes in front and a deadline for the whole."""
        response = HTTPResponse(sock, *args, **options)
        raw: Any = response.fp.detach()
        response.fp = BufferedReader(_Answer(raw, sock, self._early, self._outgoing.limits.answer))
        return response

    @property
    def is_connected(self) -> bool:
        """False after a body was cut short too: what is left of it would be read as the next request."""
        return not self._out_of_step and super().is_connected

    def close(self) -> None:
        """Closes the socket; the connection may be opened again."""
        self._out_of_step = False
        super().close()


class _CarefulTLS(_Careful, HTTPSConnection):
    """The same over TLS."""


class _Answer(RawIOBase):
    """The reading side of a connection, bounded in time as a whole: a server that drips bytes can't hold a run."""

    def __init__(self, raw: Any, sock: socket.socket, early: bytes, seconds: float) -> None:
        self._raw, self._sock, self._early = raw, sock, early
        self._deadline = time.monotonic() + seconds

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if self._early:
            count = min(len(self._early), len(buffer))
            buffer[:count], self._early = self._early[:count], self._early[count:]
            return count
        remaining = self._deadline - time.monotonic()
        if remaining <= 0:
            raise TimeoutError("the answer took too long")
        self._sock.settimeout(remaining)
        return cast(int, self._raw.readinto(buffer))

    def close(self) -> None:
        self._raw.close()
        super().close()


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Careful


class _PoolTLS(HTTPSConnectionPool):
    ConnectionCls = _CarefulTLS


_POOLS = {"http": _Pool, "https": _PoolTLS}


class _Adapter(HTTPAdapter):
    """requests' adapter with careful connections, direct and through a proxy."""

    def init_poolmanager(self, *args: Any, **options: Any) -> None:
        super().init_poolmanager(*args, **options)
        self.poolmanager.pool_classes_by_scheme = _POOLS

    def proxy_manager_for(self, proxy: str, **options: Any) -> Any:
        manager = super().proxy_manager_for(proxy, **options)
        manager.pool_classes_by_scheme = _POOLS
        return manager


def _read_capped(answer: requests.Response) -> bytes:
    """The body up to the cap. What is longer is cut, and then fails as JSON: no method returns so much."""
    parts: list[bytes] = []
    left = LARGEST_ANSWER
    while left > 0:
        part = answer.raw.read(min(left, 65536), decode_content=False)
        if not part:
            break
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The error and everything wrapped inside it, outermost first."""
    seen: list[BaseException] = []
    queue: list[object] = [error]
    while queue and len(seen) < 20:
        item = queue.pop(0)
        if isinstance(item, BaseException) and item not in seen:
            seen.append(item)
            queue += [item.__cause__, item.__context__, getattr(item, "reason", None), *item.args]
    return iter(seen)


def _refuse_untrusted(error: BaseException) -> None:
    for cause in _causes(error):
        if isinstance(cause, ssl.SSLCertVerificationError):
            raise ServiceError(
                f"The server's certificate is not trusted: {cause.verify_message}.",
                cause="Most often a proxy that inspects TLS with a certificate authority of its own.",
                cure="Set REQUESTS_CA_BUNDLE to a file that holds the authority's certificate.",
            ) from None


_WORDS: Mapping[type[BaseException], str] = {
    ConnectionRefusedError: "the connection was refused",
    RemoteDisconnected: "the connection was closed before an answer",
    ConnectionResetError: "the connection was reset",
    BrokenPipeError: "the connection was closed while sending",
    socket.gaierror: "the host name could not be resolved",
    TimeoutError: "no byte moved within the time limit",
    ssl.SSLError: "the TLS connection failed",
}


def _words(error: BaseException) -> str:
    """What broke, in a few words of our own: foreign messages may hold session URIs and object addresses."""
    causes = list(_causes(error))
    for kind, words in _WORDS.items():
        if any(isinstance(cause, kind) for cause in causes):
            return words
    if any(isinstance(cause, requests.exceptions.ProxyError) for cause in causes):
        return "the proxy did not connect us"
    return "the connection ended without a complete answer"
