"""The CI system's own OIDC token for a keyless login, fetched anew for each exchange: GitHub's lives five minutes."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from google.auth.identity_pool import SubjectTokenSupplier

from uploader.credentials.token_request import TokenRequest
from uploader.errors import CredentialsError, ProtocolError
from uploader.http.hosts import is_secure
from uploader.http.messages import Response
from uploader.inputs import Inputs
from uploader.inputs.ci_platform import Platform

GITHUB_CURE = (
    "Give the job `permissions: id-token: write` "
    "(and `contents: read`, which is no longer granted by default once `permissions` is set)."
)
GITLAB_CURE = (
    "Give the job an id token named UPLOADER_ID_TOKEN (`id_tokens:`) "
    "whose `aud` is https://iam.googleapis.com/ followed by the provider's name."
)


class GitHubToken(SubjectTokenSupplier):
    """Asks GitHub's token service for a token whose audience is the provider, as google-github-actions/auth does."""

    def __init__(self, url: str, bearer: str, audience: str) -> None:
        self._url = f"{url}{'&' if '?' in url else '?'}audience={quote(audience, safe='')}"
        self._bearer = bearer

    def get_subject_token(self, context: object, request: TokenRequest) -> str:  # noqa: ARG002  # google-auth's signature
        """A fresh token. Raises CredentialsError when GitHub refuses, ProtocolError when its answer holds none."""
        headers = {"Authorization": f"Bearer {self._bearer}", "Accept": "application/json"}
        try:
            response = request(self._url, headers=headers)
        except CredentialsError as caught:
            why = "GitHub did not permit the job's request for an OIDC token, or the job has ended."
            raise CredentialsError(caught.what, cause=why, hint=GITHUB_CURE, code="id-token-refused") from None
        token = (Response(200, body=response.data).json() or {}).get("value")
        if not isinstance(token, str) or not token:
            raise ProtocolError("GitHub's OIDC endpoint answered without a token.")
        return token


class GivenToken(SubjectTokenSupplier):
    """A token that the CI system put into the environment for the whole job, as GitLab does."""

    def __init__(self, token: str) -> None:
        self._token = token

    def get_subject_token(self, context: Any, request: TokenRequest) -> str:  # noqa: ARG002  # google-auth calls it so
        """The token as it was given."""
        return self._token


def supplier(inputs: Inputs) -> SubjectTokenSupplier:
    """Where this job's OIDC token comes from. Raises CredentialsError, before anything is sent, when there is none."""
    platform = inputs.platform
    if platform.oidc_request_url and platform.oidc_request_token:
        if not is_secure(platform.oidc_request_url):
            raise CredentialsError("ACTIONS_ID_TOKEN_REQUEST_URL is neither https nor on loopback.", hint=GITHUB_CURE)
        # The full name with https:, one of the two audiences that a provider accepts unless it is told otherwise.
        audience = f"https://iam.googleapis.com/{inputs.workload_identity_provider}"
        return GitHubToken(platform.oidc_request_url, platform.oidc_request_token, audience)
    if platform.id_token:
        return GivenToken(platform.id_token)
    raise _no_token(platform)


def _no_token(platform: Platform) -> CredentialsError:
    if platform.kind == "github":
        what = "GitHub gives this job no OIDC token: ACTIONS_ID_TOKEN_REQUEST_URL is not set."
        why = "The job has no permission `id-token: write`."
        return CredentialsError(what, cause=why, hint=GITHUB_CURE, code="no-id-token")
    what = "There is no OIDC token for the keyless login: UPLOADER_ID_TOKEN is not set."
    return CredentialsError(what, hint=GITLAB_CURE, code="no-id-token")
