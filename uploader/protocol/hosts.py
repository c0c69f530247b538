"""Which hosts may see the bearer token: the endpoint's own origin, and Google's API hosts over https."""

from __future__ import annotations

from urllib.parse import SplitResult, urljoin, urlsplit

_DEFAULT_PORTS = {"https": 443, "http": 80}


def trusted(uri: str, endpoint: str) -> bool:
    """Whether a session URI may be followed from `endpoint`: same scheme, host and port, or https on googleapis.com.

    A URI with a user name, control characters or a broken port is never trusted: parsers disagree about those.
    """
    if not uri.isascii() or any(not character.isprintable() or character in " \\" for character in uri):
        return False
    try:
        there, here = urlsplit(uri), urlsplit(endpoint)
        origin, own = _origin(there), _origin(here)
    except ValueError:
        return False
    if "@" in there.netloc or not there.hostname:
        return False
    host = there.hostname
    google = origin == ("https", host, 443) and (host == "googleapis.com" or host.endswith(".googleapis.com"))
    return origin == own or google


def absolute(uri: str, endpoint: str) -> str:
    """The session URI as an absolute one; a relative Location is allowed (RFC 9110, section 10.2.2)."""
    try:
        return urljoin(endpoint, uri)
    except ValueError:
        return uri


def _origin(parts: SplitResult) -> tuple[str, str | None, int | None]:
    return parts.scheme, parts.hostname, parts.port or _DEFAULT_PORTS.get(parts.scheme)
