"""Which hosts are trusted, decided in this one place: Google's own, this machine, and whoever
answers at the endpoint.

A URL whose host two parsers could read differently (it has a user name, a backslash, control
characters, or characters beyond ASCII) is taken to point nowhere.
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
# the printable characters of ASCII except the space and the backslash
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
    """Return the origin of an http or https URL; `NOWHERE` for anything else, and if parsers could
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
    if "@" in parts.netloc:
        return NOWHERE
    if not parts.hostname:
        return NOWHERE
    if port is None:
        port = _DEFAULT_PORTS[parts.scheme]
    if port == 0:
        return NOWHERE
    return Origin(parts.scheme, parts.hostname, port)


def is_loopback(host: str) -> bool:
    """Return whether a host name or address, without brackets, can only be this machine."""
    if host.lower() == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def on_loopback(url: str) -> bool:
    """Return whether the URL points to this machine."""
    return is_loopback(origin(url).host)


def is_google(url: str) -> bool:
    """Return whether the URL is https on googleapis.com or a host below it, at the usual port."""
    url_origin = origin(url)
    if not _is_usual_https(url_origin):
        return False
    return _GOOGLE.fullmatch(url_origin.host) is not None


def _is_usual_https(url_origin: Origin) -> bool:
    """Return whether an origin is https at the usual port."""
    if url_origin.scheme != "https":
        return False
    return url_origin.port == _DEFAULT_PORTS["https"]


def _is_usual_http(url_origin: Origin) -> bool:
    """Return whether an origin is http at the usual port."""
    if url_origin.scheme != "http":
        return False
    return url_origin.port == _DEFAULT_PORTS["http"]


def is_google_service(url: str, service: str) -> bool:
    """Return whether the URL is https on a host of this Google service, such as `sts`, at the usual
    port.
    """
    url_origin = origin(url)
    if not _is_usual_https(url_origin):
        return False
    forms = "|".join(_SERVICE)
    forms = forms.replace("{service}", service)
    forms = forms.replace("{region}", _REGION)
    return re.fullmatch(forms, url_origin.host) is not None


def is_github_oidc(url: str, server: str) -> bool:
    """Return whether the URL is https on a host where GitHub, or the CI system at `server`, hands
    out identity tokens.

    `server` is the runner's GITHUB_SERVER_URL, empty unless a runner has surely set it. Its own
    host counts if that is not github.com: GitHub Enterprise Server and Forgejo hand out tokens
    there. GitHub Enterprise Cloud has hosts of its own below ghe.com.
    """
    url_origin = origin(url)
    own = origin(server)
    if _is_usual_https(url_origin):
        if _GITHUB_OIDC.fullmatch(url_origin.host):
            return True
        if _GHE.fullmatch(url_origin.host) and _GHE.fullmatch(own.host):
            return True
    if own.scheme != "https":
        return False
    if own.host == "github.com":
        return False
    return url_origin == own


def is_aws_metadata(url: str) -> bool:
    """Return whether the URL points to the metadata server of an AWS machine, over http at the
    usual port.
    """
    url_origin = origin(url)
    if not _is_usual_http(url_origin):
        return False
    return url_origin.host in _AWS_METADATA


def is_azure_metadata(url: str) -> bool:
    """Return whether the URL points to the metadata server of an Azure machine, over http at the
    usual port.
    """
    return origin(url) == Origin("http", "169.254.169.254", 80)


def is_google_metadata(url: str) -> bool:
    """Return whether the URL points to the metadata server of a Google machine, over http at the
    usual port.
    """
    url_origin = origin(url)
    if not _is_usual_http(url_origin):
        return False
    return url_origin.host in _GOOGLE_METADATA


def image_host(url: str) -> str:
    """Return the root of a URL on the hosts from which Google serves pictures to everybody; empty
    for any other URL.
    """
    url_origin = origin(url)
    if not _is_usual_https(url_origin):
        return ""
    if not _IMAGES.fullmatch(url_origin.host):
        return ""
    return f"https://{url_origin.host}"


def is_secure(url: str) -> bool:
    """Return whether the URL is https, or http on loopback, so that nobody on the way can read what
    is sent.
    """
    if origin(url).scheme == "https":
        return True
    return on_loopback(url)


def may_use_proxy(url: str) -> bool:
    """Return whether requests to the URL may go through a proxy: only over https, which the proxy
    can't read, and never to this machine.

    Requests in clear text go only to this machine or its metadata server, and they exchange tokens.
    """
    if origin(url).scheme != "https":
        return False
    return not on_loopback(url)


def trusted(uri: str, endpoint: str) -> bool:
    """Return whether the access token may be sent to a session URI that `endpoint` returned: an
    upload path on Google's hosts, or any path on the origin of the endpoint.

    Every upload method of Google's discovery documents is below `/upload/`, where the services'
    sessions are too; some documents name `/resumable/upload/` for the resumable ones, and services
    once answered with sessions there. A request to any other path of these hosts could change or
    delete something with the token. If `api-endpoint` names a host that is not Google's, its
    sessions may be anywhere on it.
    """
    if not is_google(uri):
        uri_origin = origin(uri)
        if uri_origin == NOWHERE:
            return False
        return uri_origin == origin(endpoint)
    path = urlsplit(uri).path
    if not path.startswith(_SESSIONS):
        return False
    # as a server would read it that decodes it once more than it should
    decoded = unquote(unquote(path))
    segments = re.split(r"[/\\]", decoded)
    return "." not in segments and ".." not in segments
