"""What requests, urllib3, ssl and the sockets raise, in this program's words: foreign ones may hold session URIs."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Mapping
from http.client import RemoteDisconnected

import requests

from uploader.errors import ForeignHost
from uploader.http.connection import AnswerTimeout, AnswerTooLarge

_WORDS: Mapping[type[BaseException], str] = {
    AnswerTooLarge: "the answer was too large",
    ConnectionRefusedError: "the connection was refused",
    RemoteDisconnected: "the connection was closed before an answer",
    ConnectionResetError: "the connection was reset",
    BrokenPipeError: "the connection was closed while sending",
    socket.gaierror: "the host name could not be resolved",
    AnswerTimeout: "the answer did not arrive in time",
    TimeoutError: "no byte moved within the time limit",
    ssl.SSLError: "the TLS connection failed",
    requests.exceptions.ProxyError: "the proxy refused to open a connection",
}


def words(error: BaseException) -> str:
    """What broke, as the middle of a sentence."""
    found = causes(error)
    told = (text for kind, text in _WORDS.items() if any(isinstance(cause, kind) for cause in found))
    return next(told, "the connection ended without a complete answer")


def untrusted(error: BaseException, host: str) -> ForeignHost | None:
    """The error for a certificate that is not trusted, where that is what broke: trying again does not help."""
    found = causes(error)
    refused = next((cause for cause in found if isinstance(cause, ssl.SSLCertVerificationError)), None)
    if refused is None:
        return None
    whose = "the proxy" if any(isinstance(cause, requests.exceptions.ProxyError) for cause in found) else host
    return ForeignHost(
        f"The certificate of {whose} is not trusted: {refused.verify_message.rstrip('.')}.",
        cause="Most often a proxy inspects TLS with a certificate authority of its own.",
        cure="Set REQUESTS_CA_BUNDLE to a file that holds the authority's certificate.",
        code="certificate-not-trusted",
    )


def causes(error: BaseException) -> list[BaseException]:
    """The error and everything wrapped inside it, outermost first; requests, urllib3 and ssl use the arguments, too."""
    seen: list[BaseException] = []
    queue: list[object] = [error]
    while queue and len(seen) < 20:
        item = queue.pop(0)
        if isinstance(item, BaseException) and item not in seen:
            seen.append(item)
            queue += [item.__cause__, item.__context__, getattr(item, "reason", None), *item.args]
    return seen
