"""Connections through a proxy: a tunnel, also where the proxy speaks TLS itself. requests says which proxy it is."""

from __future__ import annotations

import ssl
from http.client import HTTPException

from requests.adapters import HTTPAdapter
from requests.utils import get_environ_proxies, select_proxy
from urllib3.connection import HTTPSConnection, ProxyConfig, port_by_scheme
from urllib3.exceptions import HTTPError
from urllib3.util import parse_url

from uploader.http.connection import WatchedConnection
from uploader.http.failures import ProxyFailed, ProxyURLMalformed


def proxy_for(url: str) -> str:
    """The URL of the proxy that the environment or the system names for a URL, as requests finds it; empty for none."""
    return select_proxy(url, get_environ_proxies(url)) or ""


class ProxiedConnection(WatchedConnection, HTTPSConnection):
    """A connection over TLS to `host` and `port` inside the tunnel of a proxy. It is opened once."""

    def __init__(self, proxy: str, host: str, port: int, to_proxy: ssl.SSLContext, to_host: ssl.SSLContext) -> None:
        """Raises `ProxyURLMalformed`. The contexts tell whom to trust, each on its way."""
        url = proxy if "://" in proxy else f"http://{proxy}"
        try:
            parts = parse_url(url)
        except HTTPError:
            raise ProxyURLMalformed from None
        if not parts.host or parts.scheme not in ("http", "https"):
            raise ProxyURLMalformed
        config = ProxyConfig(to_proxy, use_forwarding_for_https=False, assert_hostname=None, assert_fingerprint=None)
        place = parts.host, parts.port or port_by_scheme[parts.scheme]
        super().__init__(*place, proxy=parts, proxy_config=config, ssl_context=to_host)
        self.set_tunnel(host, port, HTTPAdapter().proxy_headers(url), scheme=parts.scheme)

    def connect(self) -> None:
        """Opens the tunnel. Raises `ProxyFailed` for what goes wrong before it stands."""
        try:
            super().connect()
        except (HTTPError, HTTPException, OSError) as error:
            raise (OSError if self.has_connected_to_proxy else ProxyFailed) from error

    def _tunnel(self) -> None:
        """Asks for the tunnel as `WatchedConnection` asks for all: no call to the socket waits."""
        self.sock.settimeout(0)
        super()._tunnel()
        self.sock.settimeout(self.timeout)  # for the handshake inside it
