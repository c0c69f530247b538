"""Google's Security Token Service: a CI system's identity token is exchanged for a federated access token.

The identity token's signature, issuer, audience and age are checked, and the provider's name.
References: RFC 8693; cloud.google.com/iam/docs/reference/sts.
"""

from __future__ import annotations

import re

from google_emulator.auth import jwt
from google_emulator.auth.authorization import Authority
from google_emulator.auth.identity_tokens import ISSUER
from google_emulator.auth.oauth import OAuthError, read_form
from google_emulator.http.request import Request
from google_emulator.http.response import Json, Response, json_response
from google_emulator.http.routes import Route

PROVIDER = "projects/123456789/locations/global/workloadIdentityPools/emulator/providers/ci"
EXCHANGE_GRANT = "urn:ietf:params:oauth:grant-type:token-exchange"
ACCESS_TOKEN_TYPE = "urn:ietf:params:oauth:token-type:access_token"  # noqa: S105 - the name of a type, not a token
SUBJECT_TYPES = ("urn:ietf:params:oauth:token-type:jwt", "urn:ietf:params:oauth:token-type:id_token")
_AUDIENCE = re.compile(
    r"//iam\.googleapis\.com/projects/\d+/locations/global/workloadIdentityPools/[\w-]+/providers/[\w-]+"
)


class SecurityTokenService:
    """`POST /v1/token`."""

    def __init__(self, authority: Authority) -> None:
        self._authority = authority

    def routes(self) -> list[Route]:
        """What this endpoint serves."""
        return [Route("sts.token", "POST", "/v1/token", self._token, scopes=None)]

    def _token(self, request: Request) -> Response:
        try:
            return json_response(self._exchange(read_form(request)))
        except OAuthError as error:
            return error.response()

    def _exchange(self, form: dict[str, str]) -> dict[str, Json]:
        _check_form(form)
        claims = self._claims(form.get("subject_token", ""), form["audience"])
        return {
            "access_token": self._authority.issue(str(claims["sub"]), tuple(form["scope"].split()), federated=True),
            "issued_token_type": ACCESS_TOKEN_TYPE,
            "token_type": "Bearer",
            "expires_in": int(self._authority.token_lifetime),
        }

    def _claims(self, token: str, audience: str) -> dict[str, Json]:
        """The claims of an identity token of the CI system, for this provider and still valid."""
        try:
            claims = jwt.verify(self._authority.key, token)
        except jwt.InvalidJwt as error:
            raise OAuthError("invalid_grant", f"The subject token is not valid. {error}") from None
        if claims.get("iss") != ISSUER:
            raise OAuthError("invalid_grant", "The issuer in ID Token does not match the expected one.")
        if claims.get("aud") not in (audience, f"https:{audience}"):
            raise OAuthError("invalid_grant", "The audience in ID Token does not match the expected audience.")
        if float(claims.get("exp", 0)) <= self._authority.now():
            raise OAuthError("invalid_grant", "ID Token is stale to sign-in.")
        return claims


def _check_form(form: dict[str, str]) -> None:
    """Refuses an exchange whose grant, types, audience or scope are not those of the documents."""
    if form.get("grant_type") != EXCHANGE_GRANT:
        raise OAuthError("unsupported_grant_type", "Unsupported grant type.")
    if form.get("requested_token_type", ACCESS_TOKEN_TYPE) != ACCESS_TOKEN_TYPE:
        raise OAuthError("invalid_request", "Invalid requested token type.")
    if form.get("subject_token_type") not in SUBJECT_TYPES:
        raise OAuthError("invalid_request", "Invalid subject token type.")
    if not _AUDIENCE.fullmatch(form.get("audience", "")):
        raise OAuthError(
            "invalid_request", 'Invalid value for "audience". This value should be the full resource name.'
        )
    if not form.get("scope", "").strip():
        raise OAuthError("invalid_scope", "A scope is required.")
