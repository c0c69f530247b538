"""The only way out: one seam, `send(request, …) -> Response`, for the login's requests as well as the transfer's.

Redirects, retries and token refresh are all off: a 308 is no redirect here, and whether to send again is decided where
the offset is known. Foreign exceptions end at this border.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from http.client import HTTPException
from typing import Protocol
from urllib.parse import urlsplit

from uploader import __version__
from uploader.http.connection import Outgoing
from uploader.http.connection_pool import ConnectionPool, Server
from uploader.http.failures import code, untrusted, words
from uploader.http.messages import Block, Headers, Request, Response, TransportError
from uploader.http.response import LARGEST_ANSWER, CheckedResponse

_BLOCK = 64 * 1024  # bytes of a body that are taken at once: what a broken connection loses at most
_EVERY: Mapping[str, str] = {
    "User-Agent": f"uploader/{__version__}",
    "Accept": "*/*",
    "Accept-Encoding": "identity",  # answers are small, and a compressed one could be a bomb
    "Connection": "keep-alive",
}


@dataclass(frozen=True)
class Timeouts:
    """Seconds: to `connect`; without a byte moved in a body (`stall`); for the whole response after the last byte.

    `max_size` is how many bytes of the answer's body are kept.
    """

    connect: float = 30.0
    stall: float = 60.0
    response: float = 60.0
    max_size: int = LARGEST_ANSWER


class Transport(Protocol):
    """What the program needs from a network: one request out, one response back."""

    def send(self, request: Request, blocks: Iterable[Block], token: str, timeouts: Timeouts) -> Response:
        """Sends `request` with `blocks` (as many bytes as its body says) and returns the answer.

        `token` is the bearer token, empty for none. A body longer than `timeouts.max_size` is cut there. Raises
        `TransportError` when there is no answer, or not all of one that `request.receive` takes; what reading the
        blocks raises comes through as it is, unless it is an OSError, and what the receiver raises likewise.
        """

    def abort(self) -> None:
        """Breaks every connection at once, from any thread; after it only a `closing` request is sent."""


class HttpClient:
    """The transport of every real run: pooled connections, the system's proxies and certificates, nothing automatic.

    May be used from several threads.
    """

    def __init__(self, *, connections: int = 4, direct: bool = False) -> None:
        """`connections` is how many are kept open for each host; `direct` leaves the system's proxies aside."""
        self._pool = ConnectionPool(connections, direct=direct)
        self._under_way: set[Outgoing] = set()
        self._aborted = False

    def send(self, request: Request, blocks: Iterable[Block], token: str, timeouts: Timeouts) -> Response:
        """See `Transport.send`. A server whose certificate is not trusted raises `ServiceError`."""
        outgoing = Outgoing(blocks, timeouts.stall, timeouts.max_size, watched=request.receive is not None)
        self._under_way.add(outgoing)
        if self._aborted and not request.closing:
            outgoing.aborted = True
        server: Server | None = None
        try:
            server = self._pool.server(request.url, request.client_certificate)
            return _exchange(server, request, outgoing, token, timeouts)
        except (HTTPException, OSError, UnicodeError) as error:
            refused = untrusted(error, urlsplit(request.url).hostname or "the server")
            proxy = server.proxy if server else ""
            why, known = words(error, request.url, proxy), code(error, proxied=bool(proxy))
            raise refused or TransportError(why, sent_whole=outgoing.sent_whole, code=known) from None
        finally:
            self._under_way.discard(outgoing)

    def abort(self) -> None:
        """See `Transport.abort`."""
        self._aborted = True
        for outgoing in tuple(self._under_way):
            outgoing.abort()


def _exchange(server: Server, request: Request, outgoing: Outgoing, token: str, timeouts: Timeouts) -> Response:
    connection = server.take()
    try:
        connection.begin(outgoing, timeouts.connect)
        bearer = {"Authorization": f"Bearer {token}"} if token else {}
        headers = {**_EVERY, **dict(request.headers), **bearer, "Content-Length": str(request.body.size)}
        connection.send_request(request.method, _target(request.url), headers)
        with connection.receive(timeouts.response) as answer:
            received = Headers(_joined(answer.getheaders()))
            body = _body(answer, request.receive and request.receive(answer.status, received), timeouts)
            whole = answer.isclosed()
    except BaseException:
        connection.close()
        raise
    server.give_back(connection, reusable=whole)
    return Response(answer.status, received, body, outgoing.sent_whole)


def _body(answer: CheckedResponse, receiver: Callable[[bytes], object] | None, timeouts: Timeouts) -> bytes:
    """The body, unless there is a receiver for it. What is longer is cut, and then fails as JSON."""
    kept = bytearray()
    receive, left = (receiver, timeouts.max_size) if receiver else (kept.extend, min(timeouts.max_size, LARGEST_ANSWER))
    while left and (block := answer.take(min(_BLOCK, left))):
        receive(block)
        left -= len(block)
    return bytes(kept)


def _joined(fields: Iterable[tuple[str, str]]) -> Mapping[str, str]:
    """Headers that come several times as one, on one line each (RFC 9110, sections 5.2 and 5.3)."""
    joined: dict[str, str] = {}
    for name, text in fields:
        value = " ".join(text.split()) if "\n" in text else text
        joined[name.lower()] = f"{joined[name.lower()]}, {value}" if name.lower() in joined else value
    return joined


def _target(url: str) -> str:
    """What of a URL stands in the first line of a request (RFC 9112, section 3.2.1)."""
    parts = urlsplit(url)
    return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
