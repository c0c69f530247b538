"""What the environment says about the way to a server: the proxy, and the authorities for TLS."""

from __future__ import annotations

import os

from requests.utils import get_environ_proxies, select_proxy

from uploader.errors import InputError, Problem
from uploader.hosts import may_use_proxy

# in the order of precedence, as with urllib
_PROXY_VARIABLES = ("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY")


def proxy_for(url: str) -> str:
    """Return the URL of the proxy on the way to another URL; empty if there is none.

    Raises `InputError` for a SOCKS proxy: trying again would not help.
    """
    if not may_use_proxy(url):
        return ""
    proxies = get_environ_proxies(url)
    proxy = select_proxy(url, proxies)
    if not proxy:
        return ""
    if proxy.lower().startswith("socks"):
        what = f"{describe_proxy(proxy)} is a SOCKS proxy, which can't be used."
        accepted = (
            "an http:// or https:// proxy, or the hosts that need none in NO_PROXY."
        )
        raise InputError(Problem("proxy", what, accepted))
    return proxy


def describe_proxy(proxy: str) -> str:
    """Return a proxy's host and port, and the variable that its URL comes from.

    The user and the password in the URL are left out.
    """
    _, _, without_scheme = proxy.rpartition("://")
    _, _, without_user = without_scheme.rpartition("@")
    address, _, _ = without_user.partition("/")
    for variable in _PROXY_VARIABLES:
        if os.environ.get(variable):
            return f"the proxy {address} (from {variable})"
    return f"the proxy {address}"


def authorities() -> str:
    """Return the path of the file or folder with the certificate authorities that are trusted.

    It is empty if they are those that come with requests.
    """
    path = os.environ.get("REQUESTS_CA_BUNDLE")
    if not path:
        path = os.environ.get("CURL_CA_BUNDLE", "")
    # not `Path.expanduser`, which raises for a home that it can't find
    return os.path.expanduser(path)  # noqa: PTH111
