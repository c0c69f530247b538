"""The CI system's own OIDC token for a keyless login, fetched again for each exchange: GitHub's lives five minutes."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from google.auth.identity_pool import SubjectTokenSupplier

from uploader.errors import CredentialsError, ProtocolError
from uploader.http.hosts import is_secure
from uploader.http.messages import Response
from uploader.inputs import Inputs

GITHUB_HINT = (
    "Give the job `permissions: id-token: write` "
    "(and `contents: read`, which is no longer granted by default once `permissions` is set)."
)
GITLAB_HINT = (
    "Give the job an id token named UPLOADER_ID_TOKEN (`id_tokens:`) "
    "whose `aud` is https://iam.googleapis.com/ followed by the provider's name."
)


class JobToken(SubjectTokenSupplier):
    """Asks GitHub for a token whose audience is the provider, or hands on what GitLab put into the environment.

    Raises CredentialsError, before anything is sent, for a job that has neither.
    """

    def __init__(self, inputs: Inputs) -> None:
        platform = inputs.platform
        self._bearer = platform.oidc_request_token
        self._url = platform.oidc_request_url if self._bearer else ""
        self._given = "" if self._url else platform.id_token
        if self._url and not is_secure(self._url):
            raise CredentialsError("ACTIONS_ID_TOKEN_REQUEST_URL is neither https nor on loopback.", hint=GITHUB_HINT)
        if self._url:
            # The full name with https:, one of the two audiences that a provider accepts unless it is told otherwise.
            audience = quote(f"https://iam.googleapis.com/{inputs.workload_identity_provider}", safe="")
            self._url += f"{'&' if '?' in self._url else '?'}audience={audience}"
        elif not self._given and platform.kind == "github":
            what = "GitHub gives this job no OIDC token: ACTIONS_ID_TOKEN_REQUEST_URL is not set."
            why = "The job has no permission `id-token: write`."
            raise CredentialsError(what, cause=why, hint=GITHUB_HINT, code="no-id-token")
        elif not self._given:
            what = "There is no OIDC token for the keyless login: UPLOADER_ID_TOKEN is not set."
            raise CredentialsError(what, hint=GITLAB_HINT, code="no-id-token")

    def get_subject_token(self, context: Any, request: Any) -> str:  # noqa: ARG002  # google-auth's signature
        """A fresh token. Raises CredentialsError when GitHub refuses, ProtocolError when its response holds none."""
        if self._given:
            return self._given
        headers = {"Authorization": f"Bearer {self._bearer}", "Accept": "application/json"}
        try:
            response = request(self._url, headers=headers)
        except CredentialsError as caught:
            why = "GitHub did not permit the job's request for an OIDC token, or the job has ended."
            raise CredentialsError(caught.what, cause=why, hint=GITHUB_HINT, code="id-token-refused") from None
        token = (Response(200, body=response.data).json() or {}).get("value")
        if not isinstance(token, str) or not token:
            raise ProtocolError("GitHub's OIDC endpoint answered without a token.")
        return token
