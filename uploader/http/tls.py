"""Connections over TLS, which share the certificates that they trust: reading the usual file of them takes 13 ms."""

from __future__ import annotations

import ssl
from collections.abc import Iterable
from functools import lru_cache
from http.client import HTTPConnection

from uploader.errors import InputError, Problem
from uploader.http.connection import WatchedConnection
from uploader.http.tls_socket import TLSSocket


class WatchedTLSConnection(WatchedConnection):
    """A `WatchedConnection` over TLS."""

    default_port = 443

    def __init__(self, host: str, port: int, context: ssl.SSLContext) -> None:
        super().__init__(host, port)
        self._context = context

    def connect(self) -> None:
        """Opens it; see `WatchedConnection`."""
        HTTPConnection.connect(self)
        self.sock = TLSSocket(self.sock, self._context, self.host)
        self.sock.settimeout(0)


def context(file: str | None, folder: str | None, certificate: tuple[str, str] | None = None) -> ssl.SSLContext:
    """What a client trusts, and the `certificate` (its file and that of its key) by which it proves itself.

    Raises `InputError` when there are no certificates to trust in the file, or no folder, and OSError when the client's
    own can't be read.
    """
    if certificate is None:
        return _shared(file, folder)
    own = _trusting(file, folder)  # which nobody shares: nothing of a login's certificate is shown elsewhere
    own.load_cert_chain(*certificate)
    return own


def _trusting(file: str | None, folder: str | None) -> ssl.SSLContext:
    try:
        trusting = ssl.create_default_context(cafile=file, capath=folder)
    except OSError:
        what = f"no certificates can be read from {file or folder}."
        accepted = "a file of certificates in PEM form."
        raise InputError(Problem("REQUESTS_CA_BUNDLE or CURL_CA_BUNDLE", what, accepted)) from None
    trusting.set_alpn_protocols(["http/1.1"])
    trusting.set_alpn_protocols = _leave  # type: ignore[method-assign]  # of this one context, see there
    return trusting


_shared = lru_cache(_trusting)


def _leave(alpn_protocols: Iterable[str]) -> None:
    """Leaves the protocols as they are: urllib3 sets them again for each connection through a proxy.

    That would free memory which the handshake of another connection, in another thread, may be reading.
    """
    del alpn_protocols
