"""The CI system's own OIDC token for a keyless login, fetched anew for each exchange, since
GitHub's is valid for five minutes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import quote

from uploader.auth.web_token import describe_claims, is_web_token
from uploader.errors import CredentialsError, ProtocolError
from uploader.hosts import is_github_oidc, on_loopback
from uploader.http.messages import Response
from uploader.inputs.platform import ID_TOKEN, Kind
from uploader.inputs.records import LoginInputs

# With the provider's name behind it, this is an audience that the provider accepts by default.
AUDIENCE = "https://iam.googleapis.com/"
GITHUB_HINT = (
    "Give the job `permissions: id-token: write` (and `contents: read`, which is then no longer "
    "granted)."
)


class _Missing(NamedTuple):
    """The error for a job that has no OIDC token."""

    what: str
    cause: str
    hint: str


# By the place where the program runs.
_NO_TOKEN: Mapping[Kind, _Missing] = {
    "github": _Missing(
        "GitHub gives this job no OIDC token: ACTIONS_ID_TOKEN_REQUEST_URL is not set.",
        "The job has no permission `id-token: write`.",
        GITHUB_HINT,
    ),
    "gitlab": _Missing(
        f"There is no OIDC token for the keyless login: {ID_TOKEN} is not set.",
        "",
        f"Give the job an id token named {ID_TOKEN} (`id_tokens:`) whose `aud` is {AUDIENCE} and "
        "the provider's name.",
    ),
    "console": _Missing(
        f"There is no OIDC token: this is neither a GitHub nor a GitLab job, and {ID_TOKEN} is not "
        "set either.",
        "Other systems issue none that a keyless login could use on its own.",
        "Set `credentials` here instead of `workload-identity-provider`.",
    ),
}


class JobToken:
    """Asks GitHub for a token whose audience is the provider, or hands on the one that GitLab put
    into the environment.

    It is what google-auth calls a SubjectTokenSupplier, without the module of that class, which
    takes long to import.

    `facts` says for whom the last token was issued, in a sentence; it is empty before that. Raises
    CredentialsError, before anything is sent, if the job has neither, if the URL that is asked is
    not the CI system's, or if the environment's token is none.
    """

    def __init__(self, inputs: LoginInputs) -> None:
        platform = inputs.platform
        self._bearer = platform.oidc_request_token
        self._url = ""
        self._token = ""
        if self._bearer:
            self._url = platform.oidc_request_url
        if not self._url:
            self._token = platform.id_token
        if self._url:
            if not self._is_issuer(inputs):
                raise CredentialsError(
                    "ACTIONS_ID_TOKEN_REQUEST_URL is not https on a host below "
                    "actions.githubusercontent.com, nor on this job's own server "
                    "(GITHUB_SERVER_URL, where GitHub's runner has set it).",
                    cause="An earlier step or job has set this variable.",
                    hint=GITHUB_HINT,
                )
            audience = quote(f"{AUDIENCE}{inputs.workload_identity_provider}", safe="")
            separator = "&" if "?" in self._url else "?"
            self._url += f"{separator}audience={audience}"
        elif not self._token:
            missing = _NO_TOKEN[platform.kind]
            raise CredentialsError(
                missing.what,
                cause=missing.cause,
                hint=missing.hint,
                code="no-id-token",
            )
        elif not is_web_token(self._token):
            raise CredentialsError(
                f"{ID_TOKEN} is not a JSON Web Token: it has {len(self._token)} characters, and "
                "not three parts with dots between them.",
                cause="The variable was set by hand, or the reference in it was not expanded.",
                hint=f"Declare it under `id_tokens:` of the job, with `aud` {AUDIENCE} and the "
                "provider's name.",
                code="no-id-token",
            )
        self.facts = describe_claims(self._token)

    def _is_issuer(self, inputs: LoginInputs) -> bool:
        """Return whether the request for a token goes to the CI system, or stays on this machine as
        the endpoint does.
        """
        if on_loopback(self._url):
            return on_loopback(inputs.api_endpoint)
        return is_github_oidc(self._url, inputs.platform.server_url)

    @property
    def url(self) -> str:
        """The URL that is asked for the token; empty if the environment holds it."""
        return self._url

    def get_subject_token(
        self,
        context: Any,  # noqa: ARG002  # google-auth's signature
        request: Any,  # the same
    ) -> str:
        """Return a fresh token. Raises CredentialsError when GitHub refuses, ProtocolError when its
        response holds none.
        """
        if self._token:
            return self._token
        headers = {
            "Authorization": f"Bearer {self._bearer}",
            "Accept": "application/json",
        }
        try:
            response = request(self._url, headers=headers)
        except CredentialsError as refusal:
            why = "GitHub did not permit the job's request for an OIDC token, or the job has ended."
            raise CredentialsError(
                refusal.what,
                cause=why,
                hint=GITHUB_HINT,
                code="id-token-refused",
            ) from None
        answer = Response(200, body=response.data).json() or {}
        token = answer.get("value")
        if not isinstance(token, str) or not token:
            raise ProtocolError("GitHub's OIDC endpoint answered without a token.")
        self.facts = describe_claims(token)
        return token
