"""The only way out: one seam, `send(request, …) -> Response`, over requests; its foreign exceptions end at this border.

Redirects, retries and token refresh are all off: a 308 is no redirect here, and whether to send again is decided where
the offset is known. How the sockets behave stands in `connections`.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from http.client import RemoteDisconnected
from typing import Any, Protocol, cast

import requests
from urllib3.exceptions import HTTPError

from uploader import __version__
from uploader.errors import ServiceError
from uploader.http.connection import Outgoing, session
from uploader.http.messages import Block, ConnectionBroke, Headers, Request, Response

_EVERY: Mapping[str, str] = {
    "User-Agent": f"uploader/{__version__}",
    "Accept": "*/*",
    "Accept-Encoding": "identity",  # answers are small, and a compressed one could be a bomb
    "Connection": "keep-alive",
}
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


class HttpClient:
    """The transport of every real run: pooled connections, the system's proxies and certificates, nothing automatic."""

    def __init__(self, *, connections: int = 4, direct: bool = False) -> None:
        """`connections` is how many are kept open; `direct` leaves the system's proxies aside (embedded emulator)."""
        self._session = session(connections, direct=direct)
        self._under_way: set[Outgoing] = set()
        self._found: dict[str, dict[str, Any]] = {}

    def send(self, request: Request, blocks: Iterable[Block], token: str, limits: Limits) -> Response:
        """See `Transport.send`. A server whose certificate is not trusted raises `ServiceError`."""
        outgoing = Outgoing(blocks, limits.stall)
        self._under_way.add(outgoing)
        try:
            return self._exchange(request, outgoing, token, limits)
        except (requests.RequestException, HTTPError, OSError, UnicodeError) as error:
            _refuse_untrusted(error)
            raise ConnectionBroke(_words(error), sent_whole=outgoing.sent_whole) from None
        finally:
            self._under_way.discard(outgoing)

    def _exchange(self, request: Request, outgoing: Outgoing, token: str, limits: Limits) -> Response:
        # Prepared without the session, which would add cookies and a login from a .netrc, and takes twice as long.
        headers = {**_EVERY, **dict(request.headers)}
        prepared = requests.Request(request.method, request.url, headers, auth=_Bearer(token)).prepare()
        # Set by hand: requests would send an empty body of unknown length as chunked transfer coding.
        prepared.body = cast(Any, outgoing)
        prepared.headers["Content-Length"] = str(len(request.body))
        timeout = (limits.connect, limits.answer)
        # The adapter and not the session: session.send would read the whole body of a redirect, and keep cookies.
        adapter = self._session.get_adapter(request.url)
        answer = adapter.send(prepared, timeout=timeout, **self._settings(request.url))
        try:
            body = _read_capped(answer)
        finally:
            answer.close()
        return Response(answer.status_code, Headers(answer.headers), body, outgoing.sent_whole)

    def _settings(self, url: str) -> dict[str, Any]:
        """Proxies and certificates as the environment has them: asked once a host, since that reads all of it."""
        host = url.partition("://")[2].partition("/")[0]
        if host not in self._found:
            self._found[host] = cast(Any, self._session.merge_environment_settings(url, {}, True, None, None))
        return self._found[host]

    def abort(self) -> None:
        """See `Transport.abort`."""
        for outgoing in tuple(self._under_way):
            outgoing.abort()


class _Bearer(requests.auth.AuthBase):
    """The bearer token as requests' own kind of login, which leaves no room for one in the URL."""

    def __init__(self, token: str) -> None:
        self._token = token

    def __call__(self, prepared: requests.PreparedRequest) -> requests.PreparedRequest:
        if self._token:
            prepared.headers["Authorization"] = f"Bearer {self._token}"
        return prepared


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
                f"The server's certificate is not trusted: {cause.verify_message.rstrip('.')}.",
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
