"""The only way out: one seam, `send(request, …) -> Response`, for the login's requests as well as the transfer's.

Redirects, retries and token refresh are all off: a 308 is no redirect here, and whether to send again is decided where
the offset is known. Foreign exceptions end at this border.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, Protocol, cast
from urllib.parse import urlsplit

import requests
from urllib3.exceptions import HTTPError

from uploader import __version__
from uploader.http.connection import LARGEST_ANSWER, Outgoing
from uploader.http.failures import code, untrusted, words
from uploader.http.hosts import may_use_proxy
from uploader.http.messages import Block, ConnectionBroke, Headers, Request, Response
from uploader.http.pools import PooledAdapter

_BLOCK = 64 * 1024  # bytes of a body that are taken at once: what a broken connection loses at most
_EVERY: Mapping[str, str] = {
    "User-Agent": f"uploader/{__version__}",
    "Accept": "*/*",
    "Accept-Encoding": "identity",  # answers are small, and a compressed one could be a bomb
    "Connection": "keep-alive",
}


class Limits(NamedTuple):
    """Seconds: to `connect`; without a byte moved in a body (`stall`); for the whole answer after the last byte.

    `size` is how many bytes of the answer's body are kept.
    """

    connect: float = 30.0
    stall: float = 60.0
    answer: float = 60.0
    size: int = LARGEST_ANSWER


class Transport(Protocol):
    """What the program needs from a network: one request out, one response back."""

    def send(self, request: Request, blocks: Iterable[Block], token: str, limits: Limits) -> Response:
        """Sends `request` with `blocks` (as many bytes as its body says) and returns the answer.

        `token` is the bearer token, empty for none. A body longer than `limits.size` is cut there. Raises
        `ConnectionBroke` when there is no answer, or not all of one that `request.receive` takes; what reading the
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
        self._adapter = PooledAdapter(pool_maxsize=connections, max_retries=0)
        self._session = requests.Session()
        self._session.trust_env = not direct
        self._under_way: set[Outgoing] = set()
        self._aborted = False
        self._found: dict[str, dict[str, Any]] = {}

    def send(self, request: Request, blocks: Iterable[Block], token: str, limits: Limits) -> Response:
        """See `Transport.send`. A server whose certificate is not trusted raises `ServiceError`."""
        outgoing = Outgoing(blocks, limits.stall, limits.size, watched=request.receive is not None)
        self._under_way.add(outgoing)
        if self._aborted and not request.closing:
            outgoing.aborted = True
        try:
            return self._exchange(request, outgoing, token, limits)
        except (requests.RequestException, HTTPError, OSError, UnicodeError) as error:
            refused = untrusted(error, urlsplit(request.url).hostname or "the server")
            what = (error, request.url, self._found.get(_root(request.url), {}).get("proxies", {}))
            raise refused or ConnectionBroke(words(*what), sent_whole=outgoing.sent_whole, code=code(*what)) from None
        finally:
            self._under_way.discard(outgoing)

    def _exchange(self, request: Request, outgoing: Outgoing, token: str, limits: Limits) -> Response:
        # Prepared step by step: a session would add cookies and a login from a .netrc, and takes three times as long.
        bearer = {"Authorization": f"Bearer {token}"} if token else {}
        headers = {**_EVERY, **dict(request.headers), **bearer}
        prepared = requests.PreparedRequest()
        prepared.prepare_method(request.method)
        prepared.prepare_url(request.url, None)
        prepared.prepare_headers(headers)
        # Set by hand: requests would send an empty body of unknown length as chunked transfer coding.
        prepared.body = cast(Any, outgoing)
        prepared.headers["Content-Length"] = str(request.body.size)
        options = {**self._settings(request.url), "cert": request.client_certificate}
        # The adapter and not the session: session.send would read the whole body of a redirect, and keep cookies.
        answer = self._adapter.send(prepared, timeout=(limits.connect, limits.answer), **options)
        headers_received = Headers(answer.headers)
        try:
            body = _body(answer.raw, request.receive and request.receive(answer.status_code, headers_received), limits)
        finally:
            answer.close()
        return Response(answer.status_code, headers_received, body, outgoing.sent_whole)

    def _settings(self, url: str) -> dict[str, Any]:
        """Proxies and certificates as the environment has them: asked once a root URL, since that reads all of it."""
        root = _root(url)
        if root not in self._found:
            found = cast(Any, self._session.merge_environment_settings(url, {}, True, None, None))
            self._found[root] = found if may_use_proxy(url) else {**found, "proxies": {}}
        return self._found[root]

    def abort(self) -> None:
        """See `Transport.abort`."""
        self._aborted = True
        for outgoing in tuple(self._under_way):
            outgoing.abort()


def _body(raw: Any, receiver: Callable[[bytes], object] | None, limits: Limits) -> bytes:
    """The body, unless there is a receiver for it. What is longer is cut, and then fails as JSON."""
    if receiver is None:
        return cast(bytes, raw.read(min(limits.size, LARGEST_ANSWER), decode_content=False))
    left = limits.size
    while left and (block := raw.read(min(_BLOCK, left), decode_content=False)):
        receiver(block)
        left -= len(block)
    return b""


def _root(url: str) -> str:
    """The URL's scheme, host and port."""
    return "/".join(url.split("/", 3)[:3])
