"""Where a login may send a request: what each field of a credential configuration may name, and the
addresses that follow from it.

A configuration may come from the checkout or from an earlier job. What it makes the program read
must go to Google's token service alone, so every address in it is compared with those that Google,
GitHub, Azure and AWS document.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from uploader.hosts import (
    NOWHERE,
    Origin,
    is_aws_metadata,
    is_azure_metadata,
    is_github_oidc,
    is_google_metadata,
    is_google_service,
    on_loopback,
    origin,
)

# a federated token, and a workforce user's refresh token
TOKEN_PATHS = ("/v1/token", "/v1/oauthtoken")
TOKEN_URIS = (
    "https://oauth2.googleapis.com/token",
    "https://oauth2.mtls.googleapis.com/token",
    "https://accounts.google.com/o/oauth2/token",
    "https://www.googleapis.com/oauth2/v3/token",
    "https://www.googleapis.com/oauth2/v4/token",
)
GOOGLE_TOKEN_URI = TOKEN_URIS[0]
IAM = "https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts"
IDENTITY = "/computeMetadata/v1/instance/service-accounts/default/identity"
AZURE_IDENTITY = "/metadata/identity/oauth2/token"
METADATA = "/computeMetadata/v1/"
# An e-mail address or a unique id (iam.googleapis.com, projects.serviceAccounts).
_ACCOUNT = r"([A-Za-z0-9._-]+@[A-Za-z0-9.-]+|[0-9]{1,30})"
_IMPERSONATION = re.compile(
    rf"/v1/projects/-/serviceAccounts/{_ACCOUNT}:generateAccessToken"
)
AWS_PATHS: Mapping[str, tuple[str, ...]] = {
    "region_url": ("/latest/meta-data/placement/availability-zone",),
    "url": (
        "/latest/meta-data/iam/security-credentials",
        "/latest/meta-data/iam/security-credentials/",
    ),
    "imdsv2_session_token_url": ("/latest/api/token",),
}
AWS_REGION = re.compile(r"[a-z]{2}(?:-[a-z]+){1,3}-[0-9]{1,2}")
_AWS_STS = re.compile(
    r"https://sts\.(.+?)\.amazonaws\.com/?\?Action=GetCallerIdentity&Version=2011-06-15"
)
HEADERS = ("accept", "authorization", "metadata", "metadata-flavor")


@dataclass(frozen=True)
class Destinations:
    """The addresses that one login may ask, by origin and path; `below` are paths with anything
    after them.
    """

    addresses: frozenset[tuple[Origin, str]] = frozenset()
    below: frozenset[tuple[Origin, str]] = frozenset()

    @classmethod
    def of(cls, urls: Iterable[str], below: Iterable[str] = ()) -> Destinations:
        """Return the destinations that these URLs name; their queries do not count."""
        exact = frozenset(map(_address, urls))
        return cls(exact, frozenset(map(_address, below)))

    def allow(self, url: str) -> bool:
        """Return whether a request may go to this URL."""
        place, path = _address(url)
        if place == NOWHERE or "#" in url:
            return False
        if (place, path) in self.addresses:
            return True
        if re.search(r"\.\.|%|//|\\", path):
            return False
        return any(
            place == root and path.startswith(start) for root, start in self.below
        )


def _address(url: str) -> tuple[Origin, str]:
    """Return the origin and the path of a URL; `NOWHERE` and no path if it has no origin."""
    place = origin(url)
    if place == NOWHERE:
        return NOWHERE, ""
    return place, urlsplit(url).path or "/"


@dataclass(frozen=True)
class Rules:
    """What the configuration is checked against: the run's `api-endpoint`, and the URL of the CI
    system's server.
    """

    endpoint: str = ""
    server: str = ""

    def local(self, url: str) -> bool:
        """Return whether the URL and the endpoint are both on this machine, where emulators and
        tests are.
        """
        return on_loopback(url) and on_loopback(self.endpoint)

    def token_url(self, url: str) -> bool:
        """Return whether Google's security token service exchanges tokens there."""
        if self.local(url):
            return True
        return is_google_service(url, "sts") and _has_path(url, TOKEN_PATHS)

    def token_uri(self, url: str) -> bool:
        """Return whether Google's OAuth service, or a host that stands in for Google, hands out
        tokens there.
        """
        if self.local(url) or url in TOKEN_URIS:
            return True
        if is_google_service(url, "oauth2") and _has_path(url, ("/token",)):
            return True
        place = origin(url)
        return (
            place == origin(self.endpoint)
            and place.scheme == "https"
            and _is_plain(url)
        )

    def impersonation(self, url: str) -> bool:
        """Return whether the IAM credentials API hands out a service account's tokens there."""
        if not principal(url):
            return False
        return self.local(url) or is_google_service(url, "iamcredentials")

    def identity(self, url: str) -> bool:
        """Return whether a CI system, or the machine's own cloud, hands out an identity token
        there.
        """
        if "#" in url:
            return False
        if self.local(url) or is_github_oidc(url, self.server):
            return True
        _, path = _address(url)
        if is_azure_metadata(url):
            return path == AZURE_IDENTITY
        return is_google_metadata(url) and path == IDENTITY


def principal(url: str) -> str:
    """Return the service account in an impersonation URL, empty when there is none."""
    if not _is_plain(url):
        return ""
    match = _IMPERSONATION.fullmatch(urlsplit(url).path)
    if not match:
        return ""
    return match[1]


def _is_plain(url: str) -> bool:
    """Return whether the URL has a host and a path and nothing else."""
    return origin(url) != NOWHERE and "?" not in url and "#" not in url


def _has_path(url: str, paths: Iterable[str]) -> bool:
    return _is_plain(url) and urlsplit(url).path in paths


def wrong_aws(source: Mapping[str, Any], rules: Rules) -> Iterator[str]:
    """Yield what is wrong with an AWS source: metadata is asked at one link-local host, and AWS
    signs for its own STS.
    """
    if source.get("environment_id") != "aws1":
        yield "the field `environment_id` of `credential_source` must be `aws1`."
    hosts = set()
    for name, paths in AWS_PATHS.items():
        url = source.get(name)
        if url is None:
            continue
        text = url if isinstance(url, str) else ""
        hosts.add(origin(text))
        allowed = is_aws_metadata(text) or rules.local(text)
        if not allowed or not _has_path(text, paths):
            yield (
                f"the URL in `{name}` of `credential_source` must be "
                f"`http://169.254.169.254{paths[0]}`, or the same on [fd00:ec2::254]."
            )
    if len(hosts) > 1:
        yield "the URLs of `credential_source` must be on one metadata server."
    if not _is_aws_sts(source.get("regional_cred_verification_url")):
        yield (
            "the URL in `regional_cred_verification_url` of `credential_source` must be "
            "`https://sts.{region}.amazonaws.com?Action=GetCallerIdentity&Version=2011-06-15`."
        )


def _is_aws_sts(url: object) -> bool:
    """Return whether this is the security token service of AWS, in one region or with a placeholder
    for it.
    """
    if not isinstance(url, str):
        return False
    match = _AWS_STS.fullmatch(url)
    if not match:
        return False
    region = match[1]
    return region == "{region}" or AWS_REGION.fullmatch(region) is not None


def wrong_headers(headers: object) -> Iterator[str]:
    """Yield what is wrong with the headers that a token source is asked with; `Host` would choose
    another server.
    """
    if headers is None:
        return
    if not isinstance(headers, Mapping):
        yield "the field `headers` of `credential_source` must be an object of strings."
        return
    for name, value in headers.items():
        is_one_line = isinstance(value, str) and value.isascii() and value.isprintable()
        if name.lower() not in HEADERS or not is_one_line:
            yield (
                "the field `headers` of `credential_source` may contain only `Authorization`, "
                "`Accept`, `Metadata` and `Metadata-Flavor`, each as one line of text."
            )
            return
