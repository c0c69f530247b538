"""Watched connections as an adapter of requests, direct and through a proxy; some are kept open for each host."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from requests.adapters import HTTPAdapter
from requests.utils import DEFAULT_CA_BUNDLE_PATH
from urllib3 import HTTPConnectionPool, HTTPSConnectionPool

from uploader.http.connection import WatchedConnection
from uploader.http.tls import WatchedTLSConnection


class WatchedPool(HTTPConnectionPool):
    """Connections to one host."""

    ConnectionCls = WatchedConnection


class WatchedTLSPool(HTTPSConnectionPool):
    """Connections to one host over TLS."""

    ConnectionCls = WatchedTLSConnection


_POOLS = {"http": WatchedPool, "https": WatchedTLSPool}


class PooledAdapter(HTTPAdapter):
    """An adapter that pools watched connections; `pool_maxsize` is how many it keeps open for each host."""

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
