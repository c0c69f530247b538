"""Which hosts are trusted, decided in this one place: Google's own, this machine, and whoever
answers at the endpoint.

A URL about whose host parsers could disagree (a user name, a backslash, control characters, no
ASCII) points nowhere.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import unquote, urlsplit

_GOOGLE = re.compile(r"(?:[a-z0-9-]+\.)*googleapis\.com")
_IMAGES = re.compile(r"(?:[a-z0-9-]+\.)+(?:googleusercontent|ggpht)\.com")
_AWS_METADATA = ("169.254.169.254", "fd00:ec2::254")
_GOOGLE_METADATA = ("metadata.google.internal", "169.254.169.254", "fd20:ce::254")
_GITHUB_OIDC = re.compile(r"(?:[a-z0-9-]+\.)+actions\.githubusercontent\.com")
_GHE = re.compile(r"(?:[a-z0-9-]+\.)+ghe\.com")
# The hosts of one Google service as Google's libraries and pages name them: global, mutual TLS, two
# older regional forms and a third, regional endpoints, and Private Service Connect. A region has a
# dash and a number, so that `sts.storage.googleapis.com`, which is somebody's bucket, is none.
_REGION = r"[a-z]+-[a-z]+-?[0-9]{1,2}"
_SERVICE = (
    r"{service}\.googleapis\.com",
    r"{service}\.mtls\.googleapis\.com",
    r"{service}\.{region}\.googleapis\.com",
    r"{region}[.-]{service}\.googleapis\.com",
    r"{service}\.(?:{region}|us|eu)\.rep\.googleapis\.com",
    r"{service}-[a-z0-9-]+\.p\.googleapis\.com",
)
_SESSIONS = ("/upload/", "/resumable/upload/")
_DEFAULT_PORTS = {"https": 443, "http": 80}


@dataclass(frozen=True)
class Origin:
    """Where a URL points to: its scheme and host in lower case, its port even where the URL leaves
    it out.
    """

    scheme: str
    host: str
    port: int


NOWHERE = Origin("", "", 0)


def origin(url: str) -> Origin:
    """The origin of an http or https URL; `NOWHERE` for anything else, and where parsers could
    disagree about it.
    """
    if not url.isascii() or any(
        not character.isprintable() or character in " \\" for character in url
    ):
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
    return (found.scheme, found.port) == ("https", 443) and _GOOGLE.fullmatch(
        found.host
    ) is not None


def is_google_service(url: str, service: str) -> bool:
    """Whether the URL is https on a host of this Google service, such as `sts`, at the usual
    port.
    """
    found = origin(url)
    if (found.scheme, found.port) != ("https", 443):
        return False
    forms = "|".join(_SERVICE).replace("{service}", service).replace("{region}", _REGION)
    return re.fullmatch(forms, found.host) is not None


def is_github_oidc(url: str, server: str) -> bool:
    """Whether the URL is https on a host where GitHub, or the CI system at `server`, hands out
    identity tokens.

    `server` is the runner's GITHUB_SERVER_URL, empty where no runner has surely set it. Its own
    host counts where it is not github.com: GitHub Enterprise Server and Forgejo hand out tokens
    there. GitHub Enterprise Cloud has hosts of its own below ghe.com.
    """
    found, own = origin(url), origin(server)
    if (found.scheme, found.port) == ("https", 443):
        if _GITHUB_OIDC.fullmatch(found.host):
            return True
        if _GHE.fullmatch(found.host) and _GHE.fullmatch(own.host):
            return True
    return found == own != NOWHERE and own.scheme == "https" and own.host != "github.com"


def is_aws_metadata(url: str) -> bool:
    """Whether the URL points to the metadata server of an AWS machine, over http at the usual
    port.
    """
    found = origin(url)
    return (found.scheme, found.port) == ("http", 80) and found.host in _AWS_METADATA


def is_azure_metadata(url: str) -> bool:
    """Whether the URL points to the metadata server of an Azure machine, over http at the usual
    port.
    """
    return origin(url) == Origin("http", "169.254.169.254", 80)


def is_google_metadata(url: str) -> bool:
    """Whether the URL points to the metadata server of a Google machine, over http at the usual
    port.
    """
    found = origin(url)
    return (found.scheme, found.port) == ("http", 80) and found.host in _GOOGLE_METADATA


def image_host(url: str) -> str:
    """The root of a URL on the hosts from which Google serves pictures to everybody; empty for any
    other URL.
    """
    found = origin(url)
    public = (found.scheme, found.port) == ("https", 443) and _IMAGES.fullmatch(found.host)
    return f"https://{found.host}" if public else ""


def is_secure(url: str) -> bool:
    """Whether the URL is https, or http on loopback: nobody on the way reads what is sent there."""
    return origin(url).scheme == "https" or on_loopback(url)


def may_use_proxy(url: str) -> bool:
    """Whether a proxy may stand between: only where TLS keeps it out of what is said, and never on
    this machine.

    What travels in clear goes to this machine or its metadata server alone, and holds tokens.
    """
    return origin(url).scheme == "https" and not on_loopback(url)


def trusted(uri: str, endpoint: str) -> bool:
    """Whether the token may follow a session URI named by `endpoint`: an upload path of Google's
    hosts, or its origin.

    Every upload method of Google's discovery documents is below `/upload/`, where the services'
    sessions are too; some documents name `/resumable/upload/` for the resumable ones, and services
    once answered with sessions there. What else is on these hosts could be changed or deleted with
    the token. Where `api-endpoint` names a host that is not Google's, its sessions may be anywhere
    below it.
    """
    if not is_google(uri):
        return origin(uri) == origin(endpoint) != NOWHERE
    path = urlsplit(uri).path
    return path.startswith(_SESSIONS) and not {".", ".."}.intersection(
        re.split(r"[/\\]", unquote(unquote(path)))
    )
