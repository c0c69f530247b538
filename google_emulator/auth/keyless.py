"""Logins without a key: a CI system's identity token, its exchange for a federated token, and impersonation.

References: docs.github.com, OpenID Connect; RFC 8693; cloud.google.com/iam/docs/reference/sts and credentials/rest.
"""

from __future__ import annotations

import json
import re
import secrets
from datetime import datetime, timezone

from google_emulator.auth.authority import CLOUD_PLATFORM, SERVICE_ACCOUNT, Authority, InvalidJwt, bearer_token
from google_emulator.auth.oauth import OAuthError, read_form
from google_emulator.config import Config
from google_emulator.http.request import Request
from google_emulator.http.response import ApiError, Json, Response, insufficient_scopes, json_response
from google_emulator.http.routes import Route
from google_emulator.protocol.uploads import Service

ISSUER = "https://token.actions.githubusercontent.com"
DEFAULT_AUDIENCE = "https://github.com/octo-org"
PROVIDER = "projects/123456789/locations/global/workloadIdentityPools/emulator/providers/ci"
EXCHANGE_GRANT = "urn:ietf:params:oauth:grant-type:token-exchange"
ACCESS_TOKEN_TYPE = "urn:ietf:params:oauth:token-type:access_token"  # noqa: S105 - the name of a type, not a token
SUBJECT_TYPES = ("urn:ietf:params:oauth:token-type:jwt", "urn:ietf:params:oauth:token-type:id_token")
IAM_SCOPES = (CLOUD_PLATFORM, "https://www.googleapis.com/auth/iam")
MAX_LIFETIME = 3600  # seconds
_AUDIENCE = re.compile(
    r"//iam\.googleapis\.com/projects/\d+/locations/global/workloadIdentityPools/[\w-]+/providers/[\w-]+"
)
_ID = "iamcredentials.projects.serviceAccounts."
_PATH = "/v1/projects/-/serviceAccounts/{email}:"


class KeylessLogins(Service):
    """What a job without a key asks for, one after the other.

    GitHub's endpoint gives identity tokens, the Security Token Service exchanges them, IAM Credentials gives the
    service account's access tokens and signatures to whoever may act as it.
    """

    def __init__(self, authority: Authority, config: Config) -> None:
        self._authority = authority
        self._config = config
        self.routes = [
            Route("oidc.token", "GET", "/oidc/token", self._github, scopes=None),
            Route("sts.token", "POST", "/v1/token", self._exchange, scopes=None),
            Route(_ID + "generateAccessToken", "POST", _PATH + "generateAccessToken", self._generate, scopes=None),
            Route(_ID + "signJwt", "POST", _PATH + "signJwt", self._sign, scopes=None),
        ]

    def identity_token(self, audience: str) -> str:
        """An identity token for one job, valid for as long as the configuration says."""
        now = self._authority.now()
        claims = {
            "iss": ISSUER,
            "aud": audience,
            "sub": "repo:octo-org/octo-repo:ref:refs/tags/v1.0.0",
            "repository": "octo-org/octo-repo",
            "jti": secrets.token_hex(16),
            "iat": int(now),
            "nbf": int(now),
            "exp": int(now + self._config.oidc_lifetime),
        }
        return self._authority.key.sign_jwt(claims)

    def _github(self, request: Request) -> Response:
        """GitHub's own errors are plain, not Google's."""
        token = bearer_token(request.header("Authorization"))
        if not secrets.compare_digest(token, self._authority.request_token):
            return json_response({"message": "unauthorized"}, 401)
        value = self.identity_token(request.query.get("audience") or DEFAULT_AUDIENCE)
        return json_response({"count": len(value), "value": value})

    def _exchange(self, request: Request) -> Response:
        form = read_form(request)
        _check_form(form)
        claims = self._claims(form.get("subject_token", ""), form["audience"])
        token = self._authority.issue(str(claims["sub"]), tuple(form["scope"].split()), federated=True)
        return json_response(
            {
                "access_token": token,
                "issued_token_type": ACCESS_TOKEN_TYPE,
                "token_type": "Bearer",
                "expires_in": int(self._config.token_lifetime),
            }
        )

    def _claims(self, token: str, audience: str) -> dict[str, Json]:
        """The claims of an identity token of the CI system, for this provider and still valid."""
        try:
            claims = self._authority.key.verify_jwt(token)
        except InvalidJwt as error:
            raise OAuthError("invalid_grant", f"The subject token is not valid. {error}") from None
        if claims.get("iss") != ISSUER:
            raise OAuthError("invalid_grant", "The issuer in ID Token does not match the expected one.")
        if claims.get("aud") not in (audience, f"https:{audience}"):
            raise OAuthError("invalid_grant", "The audience in ID Token does not match the expected audience.")
        if float(claims.get("exp", 0)) <= self._authority.now():
            raise OAuthError("invalid_grant", "ID Token is stale to sign-in.")
        return claims

    def _generate(self, request: Request) -> Response:
        self._check_caller(request)
        wanted = request.json()
        scopes = wanted.get("scope")
        if not isinstance(scopes, list) or not scopes:
            raise ApiError(400, "Request must include at least one scope.")
        text = str(wanted.get("lifetime", "3600s"))
        if not re.fullmatch(r"\d{1,6}s", text) or not 0 < int(text[:-1]) <= MAX_LIFETIME:
            message = f"Invalid value at 'lifetime' (type.googleapis.com/google.protobuf.Duration), \"{text}\""
            raise ApiError(400, message)
        lifetime = min(int(text[:-1]), self._config.token_lifetime)
        token = self._authority.issue(SERVICE_ACCOUNT, tuple(map(str, scopes)), lifetime=lifetime)
        expires = datetime.fromtimestamp(self._authority.tokens[token].expires, timezone.utc)
        return json_response({"accessToken": token, "expireTime": expires.strftime("%Y-%m-%dT%H:%M:%SZ")})

    def _sign(self, request: Request) -> Response:
        """Claims signed as the service account would, which the token endpoint then judges."""
        self._check_caller(request)
        try:
            claims = json.loads(str(request.json().get("payload", "")))
        except ValueError:
            claims = None
        if not isinstance(claims, dict):
            raise ApiError(400, "The payload must be the JSON of a claim set.")
        key = self._authority.key
        return json_response({"keyId": key.id, "signedJwt": key.sign_jwt(claims)})

    def _check_caller(self, request: Request) -> None:
        """Only a federated login or a token for IAM may act as the account. Raises `ApiError`."""
        caller = self._authority.authenticate(request)
        if not caller.federated and not set(caller.scopes) & set(IAM_SCOPES):
            raise insufficient_scopes()
        if request.params["email"] != SERVICE_ACCOUNT:
            raise ApiError(404, "Not found; Gaia id not found for email " + request.params["email"])


def _check_form(form: dict[str, str]) -> None:
    """Refuses an exchange whose grant, types, audience or scope are not those of the documents."""
    if form.get("grant_type") != EXCHANGE_GRANT:
        raise OAuthError("unsupported_grant_type", "Unsupported grant type.")
    if form.get("requested_token_type", ACCESS_TOKEN_TYPE) != ACCESS_TOKEN_TYPE:
        raise OAuthError("invalid_request", "Invalid requested token type.")
    if form.get("subject_token_type") not in SUBJECT_TYPES:
        raise OAuthError("invalid_request", "Invalid subject token type.")
    if not _AUDIENCE.fullmatch(form.get("audience", "")):
        message = 'Invalid value for "audience". This value should be the full resource name.'
        raise OAuthError("invalid_request", message)
    if not form.get("scope", "").strip():
        raise OAuthError("invalid_scope", "A scope is required.")
