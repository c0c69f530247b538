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
# the printed characters of ASCII but the blank and the backslash
_URL = re.compile(r"[!-\[\]-~]*")


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
    if not _URL.fullmatch(url):
        return NOWHERE
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return NOWHERE
    if parts.scheme not in _DEFAULT_PORTS:
        return NOWHERE
    if "@" in parts.netloc or not parts.hostname:
        return NOWHERE
    if port is None:
        port = _DEFAULT_PORTS[parts.scheme]
    if port == 0:
        return NOWHERE
    return Origin(parts.scheme, parts.hostname, port)


def is_loopback(host: str) -> bool:
    """Whether a host name or address, without brackets, can only be this machine."""
    if host.lower() == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def on_loopback(url: str) -> bool:
    """Whether the URL points to this machine."""
    return is_loopback(origin(url).host)


def is_google(url: str) -> bool:
    """Whether the URL is https on googleapis.com or a host below it, at the usual port."""
    found = origin(url)
    if not _is_usual_https(found):
        return False
    return _GOOGLE.fullmatch(found.host) is not None


def _is_usual_https(found: Origin) -> bool:
    """Whether an origin is https at the usual port."""
    return found.scheme == "https" and found.port == _DEFAULT_PORTS["https"]


def _is_usual_http(found: Origin) -> bool:
    """Whether an origin is http at the usual port."""
    return found.scheme == "http" and found.port == _DEFAULT_PORTS["http"]


def is_google_service(url: str, service: str) -> bool:
    """Whether the URL is https on a host of this Google service, such as `sts`, at the usual
    port.
    """
    found = origin(url)
    if not _is_usual_https(found):
        return False
    forms = "|".join(_SERVICE)
    forms = forms.replace("{service}", service)
    forms = forms.replace("{region}", _REGION)
    return re.fullmatch(forms, found.host) is not None


def is_github_oidc(url: str, server: str) -> bool:
    """Whether the URL is https on a host where GitHub, or the CI system at `server`, hands out
    identity tokens.

    `server` is the runner's GITHUB_SERVER_URL, empty where no runner has surely set it. Its own
    host counts where it is not github.com: GitHub Enterprise Server and Forgejo hand out tokens
    there. GitHub Enterprise Cloud has hosts of its own below ghe.com.
    """
    found = origin(url)
    own = origin(server)
    if _is_usual_https(found):
        if _GITHUB_OIDC.fullmatch(found.host):
            return True
        if _GHE.fullmatch(found.host) and _GHE.fullmatch(own.host):
            return True
    if own.scheme != "https" or own.host == "github.com":
        return False
    return found == own


def is_aws_metadata(url: str) -> bool:
    """Whether the URL points to the metadata server of an AWS machine, over http at the usual
    port.
    """
    found = origin(url)
    return _is_usual_http(found) and found.host in _AWS_METADATA


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
    return _is_usual_http(found) and found.host in _GOOGLE_METADATA


def image_host(url: str) -> str:
    """The root of a URL on the hosts from which Google serves pictures to everybody; empty for any
    other URL.
    """
    found = origin(url)
    if not _is_usual_https(found):
        return ""
    if not _IMAGES.fullmatch(found.host):
        return ""
    return f"https://{found.host}"


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
        found = origin(uri)
        return found != NOWHERE and found == origin(endpoint)
    path = urlsplit(uri).path
    if not path.startswith(_SESSIONS):
        return False
    # as a server may read it that decodes it once more
    decoded = unquote(unquote(path))
    segments = re.split(r"[/\\]", decoded)
    return "." not in segments and ".." not in segments
