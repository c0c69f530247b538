"""Which hosts are trusted, decided in this one place: Google's own, this machine, and whoever answers at the endpoint.

A URL about whose host parsers could disagree (a user name, a backslash, control characters, no ASCII) points nowhere.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import unquote, urlsplit

_GOOGLE = re.compile(r"(?:[a-z0-9-]+\.)*googleapis\.com")
_IMAGES = re.compile(r"(?:[a-z0-9-]+\.)+(?:googleusercontent|ggpht)\.com")
# Link-local (RFC 3927), Google's name for it, and the address that AWS has for it in IPv6.
_METADATA = re.compile(r"169\.254(\.[0-9]{1,3}){2}|metadata\.google\.internal\.?|fd00:ec2::254")
_SESSIONS = ("/upload/", "/resumable/upload/")
_DEFAULT_PORTS = {"https": 443, "http": 80}


@dataclass(frozen=True)
class Origin:
    """Where a URL points to: its scheme and host in lower case, its port even where the URL leaves it out."""

    scheme: str
    host: str
    port: int


NOWHERE = Origin("", "", 0)


def origin(url: str) -> Origin:
    """The origin of an http or https URL; `NOWHERE` for anything else, and where parsers could disagree about it."""
    if not url.isascii() or any(not character.isprintable() or character in " \\" for character in url):
        return NOWHERE
    try:
        parts = urlsplit(url)
        port = _DEFAULT_PORTS.get(parts.scheme, 0) if parts.port is None else parts.port
    except ValueError:
        return NOWHERE
    if "@" in parts.netloc or not parts.hostname or parts.scheme not in _DEFAULT_PORTS or not port:
        return NOWHERE
    return Origin(parts.scheme, parts.hostname, port)


def is_loopback(host: str) -> bool:
    """Whether a host name or address, without brackets, can only be this machine."""
    try:
        return host.lower() == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def on_loopback(url: str) -> bool:
    """Whether the URL points to this machine."""
    return is_loopback(origin(url).host)


def is_google(url: str) -> bool:
    """Whether the URL is https on googleapis.com or a host below it, at the usual port."""
    found = origin(url)
    return (found.scheme, found.port) == ("https", 443) and _GOOGLE.fullmatch(found.host) is not None


def image_host(url: str) -> str:
    """The root of a URL on the hosts from which Google serves pictures to everybody; empty for any other URL."""
    found = origin(url)
    public = (found.scheme, found.port) == ("https", 443) and _IMAGES.fullmatch(found.host)
    return f"https://{found.host}" if public else ""


def is_secure(url: str) -> bool:
    """Whether the URL is https, or http on loopback: nobody on the way reads what is sent there."""
    return origin(url).scheme == "https" or on_loopback(url)


def may_use_proxy(url: str) -> bool:
    """Whether a proxy may stand between: only where TLS keeps it out of what is said, and never on this machine.

    What travels in clear goes to this machine or its metadata server alone, and holds tokens.
    """
    return origin(url).scheme == "https" and not on_loopback(url)


def is_metadata_server(url: str) -> bool:
    """Whether the URL points to the metadata server that a cloud machine asks about itself, on a link-local address."""
    return _METADATA.fullmatch(origin(url).host) is not None


def trusted(uri: str, endpoint: str) -> bool:
    """Whether the token may follow a session URI named by `endpoint`: an upload path of Google's hosts, or its origin.

    Every upload method of Google's discovery documents is below `/upload/`, where the services' sessions are too; some
    documents name `/resumable/upload/` for the resumable ones, and services once answered with sessions there. What
    else is on these hosts could be changed or deleted with the token. Where `api-endpoint` names a host that is not
    Google's, its sessions may be anywhere below it.
    """
    if not is_google(uri):
        return origin(uri) == origin(endpoint) != NOWHERE
    path = urlsplit(uri).path
    return path.startswith(_SESSIONS) and not {".", ".."}.intersection(re.split(r"[/\\]", unquote(unquote(path))))
