"""Which hosts may see the bearer token (the endpoint's own, Google's API hosts), and what of a session is secret."""

from __future__ import annotations

import re
from urllib.parse import SplitResult, parse_qsl, urljoin, urlsplit

_GOOGLE = re.compile(r"(?:[a-z0-9-]+\.)*googleapis\.com")  # and no character about which parsers could disagree
_SHORTEST = 6  # characters; less is no secret, and could be a word of the service's own
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
    google = origin == ("https", there.hostname, 443) and _GOOGLE.fullmatch(there.hostname) is not None
    return origin == own or google


def absolute(uri: str, endpoint: str) -> str:
    """The session URI as an absolute one; a relative Location is allowed (RFC 9110, section 10.2.2)."""
    try:
        return urljoin(endpoint, uri)
    except ValueError:
        return uri


def secrets_of(uri: str, endpoint: str) -> tuple[str, ...]:
    """What of a session URI lets others write into the session: all of it, and the parts that the endpoint lacks."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return (uri,)
    values = [value for _, value in parse_qsl(parts.query)]
    found = [piece for piece in (*parts.path.split("/"), *values) if len(piece) >= _SHORTEST and piece not in endpoint]
    return (uri, f"{parts.path}?{parts.query}", *found)


def _origin(parts: SplitResult) -> tuple[str, str | None, int | None]:
    port = _DEFAULT_PORTS.get(parts.scheme) if parts.port is None else parts.port
    return parts.scheme, parts.hostname, port
