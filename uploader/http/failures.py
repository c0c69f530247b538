"""Turns what requests, urllib3, http.client and ssl raise into the errors of this program."""

from __future__ import annotations

import re
import socket
import ssl
from collections.abc import Sequence
from http.client import RemoteDisconnected
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

from requests.exceptions import InvalidURL
from urllib3.exceptions import (
    ConnectTimeoutError,
    LocationValueError,
    NewConnectionError,
    ProxyError,
)

from uploader.errors import InputError, Problem, UntrustedHost
from uploader.http.environment import authorities, describe_proxy
from uploader.http.messages import TransportError


class BrokenAnswer(OSError):
    """A response that is refused here; its text says why, as the middle of a sentence."""


Kinds = tuple[type[BaseException], ...]
_Error = TypeVar("_Error", bound=BaseException)

_MALFORMED: Kinds = (InvalidURL, LocationValueError)
_UNREACHABLE: Kinds = (NewConnectionError, ConnectTimeoutError, *_MALFORMED)
# what OpenSSL says of a response in plain HTTP
_NO_TLS = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE")
# The first row that fits any of the causes counts. `peer` is the proxy or the host.
_REASONS: tuple[tuple[Kinds, str], ...] = (
    ((ConnectionRefusedError,), "the connection to {peer} was refused"),
    ((RemoteDisconnected,), "the connection was closed before an answer"),
    ((ConnectionResetError,), "the connection was reset"),
    ((socket.gaierror,), "the address of {peer} could not be found (DNS)"),
    ((TimeoutError,), "no data was transferred within the time limit"),
    ((ssl.SSLError,), "the TLS connection failed"),
    (_MALFORMED, "the URL of {peer} is malformed"),
    ((NewConnectionError,), "{peer} could not be reached"),
    ((ProxyError,), "{peer} did not open a connection to {host}{status}"),
)
_INCOMPLETE = "the connection ended without a complete answer"


def as_failure(
    error: BaseException,
    url: str,
    proxy: str,
    *,
    sent_whole: bool,
    why: str = "",
) -> Exception:
    """Return the error of this program for one that broke a request to `url`.

    `proxy` is the URL of the proxy on the way, empty for none. `why` is the reason if the client
    itself ended the connection, for instance at a time limit.
    """
    causes = _causes(error)
    refused = _first(causes, ssl.SSLCertVerificationError)
    if refused:
        by_proxy = _first(causes, ProxyError) is not None
        peer = "the proxy" if by_proxy else _host(url)
        return _untrusted_error(refused, peer)
    unreadable = _unreadable_authorities(url)
    if unreadable:
        return unreadable
    reason = why or _reason(causes, url, proxy)
    return TransportError(reason, sent_whole, _code(causes, proxy))


def _causes(error: BaseException) -> list[BaseException]:
    """Return the error and everything that led to it, outermost first."""
    causes = [error]
    for cause in causes:
        # urllib3 passes some of them as arguments of its own errors.
        for inner in (cause.__cause__, cause.__context__, *cause.args):
            if isinstance(inner, BaseException) and inner not in causes:
                causes.append(inner)
    return causes


def _first(
    causes: Sequence[BaseException], kind: type[_Error] | tuple[type[_Error], ...]
) -> _Error | None:
    """Return the outermost cause of this kind, None if there is none."""
    for cause in causes:
        if isinstance(cause, kind):
            return cause
    return None


def _host(url: str) -> str:
    return urlsplit(url).hostname or "the server"


def _untrusted_error(error: ssl.SSLCertVerificationError, peer: str) -> UntrustedHost:
    return UntrustedHost(
        f"The certificate of {peer} is not trusted: {error.verify_message.rstrip('.')}.",
        cause="Usually a proxy is inspecting TLS traffic with a certificate authority of its own.",
        hint="Set REQUESTS_CA_BUNDLE (in GitLab's component its input ca-file) to a file that "
        "holds the authority's certificate.",
        code="certificate-not-trusted",
    )


def _unreadable_authorities(url: str) -> InputError | None:
    """Return the error for a file of certificate authorities that can't be read, which no retry
    would change; None if it can be read or is not used.
    """
    path = authorities()
    if not path or not url.startswith("https:") or Path(path).is_dir():
        return None
    try:
        ssl.create_default_context(cafile=path)
    except OSError:
        name = "REQUESTS_CA_BUNDLE or CURL_CA_BUNDLE"
        what = f"no certificates can be read from {path}."
        return InputError(Problem(name, what, "a file of certificates in PEM form."))
    return None


def _reason(causes: Sequence[BaseException], url: str, proxy: str) -> str:
    """Return what happened, as the middle of a sentence."""
    broken = _first(causes, BrokenAnswer)
    if broken:
        return str(broken)
    host = _host(url)
    peer = describe_proxy(proxy) if proxy else host
    for kinds, words in _REASONS:
        if _first(causes, kinds):
            return words.format(
                peer=peer,
                host=host,
                status=_status_of_tunnel(causes),
            )
    return _INCOMPLETE


def _status_of_tunnel(causes: Sequence[BaseException]) -> str:
    """Return the status with which a proxy refused to open a tunnel, in brackets.

    The words before the number are http.client's; what follows it is the proxy's, and not shown.
    """
    words = " ".join(str(cause) for cause in causes)
    status = re.search(r"Tunnel connection failed: ([0-9]{3})", words)
    if not status:
        return ""
    return f" (HTTP {status[1]})"


def _code(causes: Sequence[BaseException], proxy: str) -> str:
    """Return the stable code of a failure, the output `failure`; empty for one that has none."""
    if proxy and _first(causes, _UNREACHABLE):
        return "proxy-unreachable"
    if proxy and _first(causes, ProxyError):
        return "proxy-refused"
    if proxy:
        return ""
    tls = _first(causes, ssl.SSLError)
    if getattr(tls, "reason", "") in _NO_TLS:
        return "no-tls"
    if _first(causes, ConnectionRefusedError):
        return "connection-refused"
    if _first(causes, socket.gaierror):
        return "host-not-found"
    return ""
