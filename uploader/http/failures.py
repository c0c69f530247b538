"""What http.client, urllib3, ssl and the sockets raise, in this program's words: foreign ones may hold session URIs."""

from __future__ import annotations

import os
import re
import socket
import ssl
from collections.abc import Mapping
from http.client import RemoteDisconnected
from urllib.parse import urlsplit

from uploader.errors import UntrustedHost
from uploader.http.response import AnswerTimeout, AnswerTooLarge


class ProxyFailed(OSError):
    """There is no way through the proxy."""


class ProxyURLMalformed(OSError):
    """What is given as the URL of a proxy is none."""


_WORDS: Mapping[type[BaseException], str] = {
    AnswerTooLarge: "the answer was too large",
    ConnectionRefusedError: "the connection to {peer} was refused",
    RemoteDisconnected: "the connection was closed before an answer",
    ConnectionResetError: "the connection was reset",
    BrokenPipeError: "the connection was closed while sending",
    socket.gaierror: "the address of {peer} could not be found (DNS)",
    AnswerTimeout: "the answer did not arrive in time",
    TimeoutError: "no data was transferred within the time limit",
    ssl.SSLError: "the TLS connection failed",
    ProxyURLMalformed: "the URL of {peer} is malformed",
    ProxyFailed: "{peer} did not open a connection to {host}{status}",
}
# What tells why there is no way to the server, alone and where a proxy is on the way; `retrier.ADVICE` has the advice.
_CODES: Mapping[type[BaseException], tuple[str, str]] = {
    ConnectionRefusedError: ("", "proxy-unreachable"),
    socket.gaierror: ("host-not-found", "proxy-unreachable"),
    ProxyURLMalformed: ("", "proxy-unreachable"),
    ProxyFailed: ("", "proxy-refused"),
}
_TUNNEL = re.compile(r"Tunnel connection failed: ([0-9]{3})")  # http.client's words; what follows is the proxy's


def words(error: BaseException, url: str, proxy: str) -> str:
    """What broke on the way to a URL, as the middle of a sentence; `proxy` is the URL of the one in between, if any."""
    found = causes(error)
    told = (text for kind, text in _WORDS.items() if any(isinstance(cause, kind) for cause in found))
    text = next(told, "the connection ended without a complete answer")
    host = urlsplit(url).hostname or "the server"
    refused = next(filter(None, (_TUNNEL.search(str(cause)) for cause in found)), None)
    status = f" (HTTP {refused[1]})" if refused else ""
    return text.format(peer=_named(proxy, url) if proxy else host, host=host, status=status)


def code(error: BaseException, *, proxied: bool) -> str:
    """The output `failure` for what broke on the way, directly or through a proxy; empty where it has no code."""
    found = causes(error)
    told = (both[proxied] for kind, both in _CODES.items() if any(isinstance(cause, kind) for cause in found))
    return next(told, "")


def _named(proxy: str, url: str) -> str:
    """The proxy by its host and port, without the password in its URL, and the variable that it comes from."""
    place = proxy.rpartition("://")[2].rpartition("@")[2].partition("/")[0]
    names = (f"{urlsplit(url).scheme}_proxy", "all_proxy")  # the lower case takes precedence, as with urllib
    variable = next((name for each in names for name in (each, each.upper()) if os.environ.get(name)), "")
    return f"the proxy {place}" + (f" (from {variable})" if variable else "")


def untrusted(error: BaseException, host: str) -> UntrustedHost | None:
    """The error for a certificate that is not trusted, where that is what broke: trying again does not help."""
    found = causes(error)
    refused = next((cause for cause in found if isinstance(cause, ssl.SSLCertVerificationError)), None)
    if refused is None:
        return None
    whose = "the proxy" if any(isinstance(cause, ProxyFailed) for cause in found) else host
    return UntrustedHost(
        f"The certificate of {whose} is not trusted: {refused.verify_message.rstrip('.')}.",
        cause="Usually a proxy is inspecting TLS traffic with a certificate authority of its own.",
        hint="Set REQUESTS_CA_BUNDLE to a file that holds the authority's certificate.",
        code="certificate-not-trusted",
    )


def causes(error: BaseException) -> list[BaseException]:
    """The error and everything wrapped inside it, outermost first; urllib3 and ssl use the arguments, too."""
    seen: list[BaseException] = []
    queue: list[object] = [error]
    while queue and len(seen) < 20:
        item = queue.pop(0)
        if isinstance(item, BaseException) and item not in seen:
            seen.append(item)
            queue += [item.__cause__, item.__context__, getattr(item, "reason", None), *item.args]
    return seen
