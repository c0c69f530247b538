"""How sockets behave under requests: a stalled write is noticed, an early answer stops the body, an answer has an end.

They stand under every request of a run, the login's too. An answer that comes while the body is on its way stops the
body at once (RFC 9110, section 7.5); the read timeout is the time for the whole answer, however it drips.
"""

from __future__ import annotations

import select
import socket
import ssl
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import lru_cache
from http.client import HTTPResponse
from io import BufferedReader, RawIOBase
from pathlib import Path
from typing import Any, cast

import requests
from requests.adapters import HTTPAdapter
from requests.utils import DEFAULT_CA_BUNDLE_PATH
from urllib3 import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.util.ssl_ import ALPN_PROTOCOLS, create_urllib3_context

from uploader.errors import InputError, Problem
from uploader.http.messages import Block


class Outgoing:
    """One request on its way: its blocks and limits going down to the connection, what became of it coming back.

    `stall` is how many seconds no byte of it may move.
    """

    def __init__(self, blocks: Iterable[Block], stall: float) -> None:
        self._blocks = blocks
        self.stall = stall
        self.sent_whole = False
        self.aborted = False
        self.connection: WatchedConnection | None = None

    def __iter__(self) -> Iterator[Block]:
        return iter(self._blocks)

    def abort(self) -> None:
        """Breaks the connection that the request is on, from any thread."""
        self.aborted = True
        sock = self.connection.sock if self.connection else None
        if sock is not None:
            with suppress(OSError):  # closed already, which is what was wanted
                # The plain socket's own: ssl's shutdown first drops the cipher, and another thread may be writing.
                # TLS inside a proxy's own TLS is no socket, but holds one.
                socket.socket.shutdown(getattr(sock, "socket", sock), socket.SHUT_RDWR)


class WatchedConnection(HTTPConnection):
    """A connection that watches its writes and its answers: see the head of this file."""

    _outgoing: Outgoing = Outgoing((), 60.0)
    _early: bytes = b""
    _out_of_step = False

    def request(self, method: str, url: str, body: Any = None, headers: Any = None, **options: Any) -> None:
        """Sends one request; a body that the server cuts short with its answer ends in BrokenPipeError (see send)."""
        self._outgoing = body if isinstance(body, Outgoing) else Outgoing((), self._outgoing.stall)
        self._early, self._outgoing.connection = b"", self
        super().request(method, url, body=body, headers=headers, **options)
        self._outgoing.sent_whole = True

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
        stall = self._outgoing.stall
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
        # urllib3 has set `timeout` to the read timeout by now, which here is the time for the whole answer.
        response.fp = BufferedReader(_Answer(raw, sock, self._early, float(self.timeout or 0)))
        return response

    @property
    def is_connected(self) -> bool:
        """False after a body was cut short too: what is left of it would be read as the next request."""
        return not self._out_of_step and super().is_connected

    def close(self) -> None:
        """Closes the socket; the connection may be opened again."""
        self._out_of_step = False
        super().close()


class WatchedTLSConnection(WatchedConnection, HTTPSConnection):
    """The same over TLS, with the trusted certificates read once a process: urllib3 reads them for each connection."""

    def connect(self) -> None:
        """Connects. Raises `InputError` when the file of trusted certificates holds none."""
        if self.ssl_context is None:
            shared = _trusting(self.ca_certs, self.ca_cert_dir)
            # urllib3 would load a client's own certificate into what is shared, and judges a proxy that speaks TLS
            # itself by the authorities of a file only.
            if not self.cert_file and (self.proxy is None or self.proxy.scheme == "http"):
                self.ssl_context = shared
                self.ca_certs = self.ca_cert_dir = None
        super().connect()


@lru_cache
def _trusting(file: str | None, folder: str | None) -> ssl.SSLContext:
    """A context that trusts whom the file or the folder names. To read the usual file takes 13 ms."""
    context = create_urllib3_context()
    try:
        context.load_verify_locations(file, folder)
    except OSError:
        what = f"no certificates can be read from {file or folder}."
        accepted = "a file of certificates in PEM form."
        raise InputError(Problem("REQUESTS_CA_BUNDLE or CURL_CA_BUNDLE", what, accepted)) from None
    context.set_alpn_protocols(ALPN_PROTOCOLS)
    context.set_alpn_protocols = _leave  # type: ignore[method-assign]  # of this one context, see there
    return context


def _leave(alpn_protocols: Iterable[str]) -> None:
    """Leaves the protocols as they are: urllib3 sets them again for each connection.

    That would free memory which the handshake of another connection, in another thread, may be reading.
    """


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
    ConnectionCls = WatchedConnection


class _PoolTLS(HTTPSConnectionPool):
    ConnectionCls = WatchedTLSConnection


_POOLS = {"http": _Pool, "https": _PoolTLS}


def session(connections: int = 1, *, direct: bool = False) -> requests.Session:
    """A session of requests with careful connections, so many of which are kept open for each host.

    `direct` leaves the system's proxies aside.
    """
    made = requests.Session()
    made.trust_env = not direct
    adapter = _Adapter(pool_connections=connections, pool_maxsize=connections, max_retries=0)
    for scheme in ("https://", "http://"):
        made.mount(scheme, adapter)
    return made


class _Adapter(HTTPAdapter):
    """requests' adapter with careful connections, direct and through a proxy."""

    def cert_verify(self, conn: Any, url: str, verify: Any, cert: Any) -> None:
        """See HTTPAdapter, which looks at the file before each request; here it may go once it was read."""
        del url, cert
        trusted = verify if isinstance(verify, str) else DEFAULT_CA_BUNDLE_PATH
        folder = Path(trusted).is_dir()
        conn.cert_reqs = "CERT_REQUIRED"
        conn.ca_certs, conn.ca_cert_dir = (None, trusted) if folder else (trusted, None)

    def init_poolmanager(self, *args: Any, **options: Any) -> None:
        """See HTTPAdapter: the pools for direct connections."""
        super().init_poolmanager(*args, **options)
        self.poolmanager.pool_classes_by_scheme = _POOLS

    def proxy_manager_for(self, proxy: str, **options: Any) -> Any:
        """See HTTPAdapter: the pools behind a proxy."""
        manager = super().proxy_manager_for(proxy, **options)
        manager.pool_classes_by_scheme = _POOLS
        return manager
