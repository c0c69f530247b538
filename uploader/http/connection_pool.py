"""How each server is reached, directly or through a proxy, and its connections that wait for the next request."""

from __future__ import annotations

import os
import sys
import weakref
from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from http.client import InvalidURL
from pathlib import Path

from uploader.http.connection import WatchedConnection
from uploader.http.hosts import NOWHERE, Origin, may_use_proxy, origin
from uploader.http.tls import WatchedTLSConnection, context

Certificate = tuple[str, str] | None  # the files of a client's own certificate and of its key, in PEM form


class Server:
    """One server: the `proxy` in front of it (empty for none), and up to `kept` open connections that nobody uses."""

    def __init__(self, kept: int, proxy: str, connection: Callable[[], WatchedConnection]) -> None:
        self.proxy = proxy
        self._kept = kept
        self._new = connection
        self._unused: deque[WatchedConnection] = deque()
        weakref.finalize(self, _close, self._unused)

    def take(self) -> WatchedConnection:
        """The connection that was used last and is still open, or one that has to be opened yet."""
        while self._unused:
            try:
                connection = self._unused.pop()
            except IndexError:  # another thread was quicker
                break
            if connection.is_usable:
                return connection
            connection.close()
        return self._new()

    def give_back(self, connection: WatchedConnection, *, reusable: bool) -> None:
        """Keeps a connection for the next request if it can serve one, unless there are enough."""
        if reusable and connection.is_open and len(self._unused) < self._kept:
            self._unused.append(connection)
        else:
            connection.close()


def _close(connections: Iterable[WatchedConnection]) -> None:
    for connection in connections:
        connection.close()


class ConnectionPool:
    """Every server of a run. The environment is asked once for each, since that reads all of it.

    `kept` is how many connections are kept open to each server; `direct` leaves the system's settings aside.
    """

    def __init__(self, kept: int, *, direct: bool) -> None:
        self._kept = kept
        self._direct = direct
        self._servers: dict[tuple[str, Certificate], Server] = {}

    def server(self, url: str, certificate: Certificate = None) -> Server:
        """The server of a URL, for a client with such a certificate.

        Raises `InvalidURL` for a URL that leads nowhere, `InputError` when the trusted certificates can't be read.
        """
        root = "/".join(url.split("/", 3)[:3]), certificate
        if root not in self._servers:
            self._servers[root] = self._reach(url, origin(url), certificate)
        return self._servers[root]

    def _reach(self, url: str, place: Origin, certificate: Certificate) -> Server:
        if place == NOWHERE:
            raise InvalidURL
        if place.scheme == "http":  # this machine and its metadata server alone, which no proxy stands before
            return Server(self._kept, "", partial(WatchedConnection, place.host, place.port))
        trust = context(*self._trusted(), certificate)
        proxy = "" if self._direct or not may_use_proxy(url) else _proxy(url)
        if not proxy:
            return Server(self._kept, "", partial(WatchedTLSConnection, place.host, place.port, context=trust))
        from uploader.http.proxy import ProxiedConnection  # 25 ms, see `_proxy` below

        # The proxy is judged by the same authorities, and learns nothing of the client's own certificate.
        to_proxy = context(*self._trusted()) if certificate else trust
        return Server(self._kept, proxy, partial(ProxiedConnection, proxy, place.host, place.port, to_proxy, trust))

    def _trusted(self) -> tuple[str | None, str | None]:
        """The file or the folder of trusted certificates: that of the environment, else the one that is installed."""
        named = () if self._direct else ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
        trusted = next(filter(None, map(os.environ.get, named)), None)
        if not trusted:
            import certifi  # 4 ms that a run without TLS is spared

            trusted = certifi.where()
        trusted = os.path.expanduser(trusted)  # noqa: PTH111  # a path object raises where there is no home
        return (None, trusted) if Path(trusted).is_dir() else (trusted, None)


def _proxy(url: str) -> str:
    """The URL of the proxy for a URL that the environment, or the settings of the system, name; empty for none."""
    named = (name.lower() for name, value in os.environ.items() if value)
    if sys.platform == "linux" and not any(name.endswith("_proxy") for name in named):
        return ""
    from uploader.http.proxy import proxy_for  # requests and urllib3: 25 ms that only a proxy is worth

    return proxy_for(url)
