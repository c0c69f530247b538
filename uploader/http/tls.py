"""Connections over TLS, which share the certificates that they trust: urllib3 would read them for each connection."""

from __future__ import annotations

import ssl
from collections.abc import Iterable
from functools import lru_cache

from urllib3.connection import HTTPSConnection
from urllib3.util.ssl_ import ALPN_PROTOCOLS, create_urllib3_context

from uploader.errors import InputError, Problem
from uploader.http.connection import WatchedConnection


class WatchedTLSConnection(WatchedConnection, HTTPSConnection):
    """A `WatchedConnection` over TLS."""

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
    del alpn_protocols
