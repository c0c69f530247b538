"""The ways to an access token: an assertion signed with the key, a refresh token, and the keyless
login.

In a keyless login, the CI system's identity token is exchanged for a federated token, which
impersonates the service account. References: RFC 6749, 7523 and 8693; docs.github.com, OpenID
Connect; cloud.google.com/iam/docs/reference.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Mapping
from datetime import datetime, timezone
from urllib.parse import parse_qsl

from google_emulator.auth.authority import (
    CLOUD_PLATFORM,
    SERVICE_ACCOUNT,
    Authority,
    InvalidJwt,
    bearer_token,
)
from google_emulator.config import Config
from google_emulator.http.request import Request
from google_emulator.http.response import (
    ApiError,
    Json,
    Response,
    insufficient_scopes,
    json_response,
)
from google_emulator.http.routes import Route
from google_emulator.protocol.uploads import Service

# google-auth names Google's own endpoint as the audience, whatever `token_uri` says.
GOOGLE_AUDIENCE = "https://oauth2.googleapis.com/token"
# Older libraries (signet, gtoken 7, oauth2client) use the names that the endpoint had in their day.
OLDER_AUDIENCES = (
    "https://www.googleapis.com/oauth2/v4/token",
    "https://accounts.google.com/o/oauth2/token",
)
PATHS = ("/token", "/oauth2/v4/token", "/o/oauth2/token")
ASSERTION_GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer"
USER = "user@example.com"
CLOCK_SKEW = 10  # seconds
MAX_ASSERTION = 3600  # seconds
ISSUER = "https://token.actions.githubusercontent.com"
DEFAULT_AUDIENCE = "https://github.com/octo-org"
PROVIDER = (
    "projects/123456789/locations/global/workloadIdentityPools/emulator/providers/ci"
)
EXCHANGE_GRANT = "urn:ietf:params:oauth:grant-type:token-exchange"
ACCESS_TOKEN_TYPE = "urn:ietf:params:oauth:token-type:access_token"  # noqa: S105 - the name of a type, not a token
SUBJECT_TYPES = (
    "urn:ietf:params:oauth:token-type:jwt",
    "urn:ietf:params:oauth:token-type:id_token",
)
IAM_SCOPES = (CLOUD_PLATFORM, "https://www.googleapis.com/auth/iam")
MAX_LIFETIME = 3600  # seconds
_AUDIENCE = re.compile(
    r"//iam\.googleapis\.com/projects/\d+/locations/global/workloadIdentityPools/[\w-]+/providers/[\w-]+"
)
_ID = "iamcredentials.projects.serviceAccounts."
_PATH = "/v1/projects/-/serviceAccounts/{email}:"


class OAuthError(ApiError):
    """An error in the form of the token endpoint (RFC 6749, section 5.2)."""

    def __init__(self, error: str, description: str, status: int = 400) -> None:
        super().__init__(status, description)
        self.error = error

    def response(self) -> Response:
        """Return the error as it is sent."""
        return json_response(
            {"error": self.error, "error_description": self.message}, self.status
        )


class Logins(Service):
    """The token endpoint, and the endpoints that a keyless login calls one after the other.

    GitHub's endpoint issues identity tokens, the Security Token Service exchanges them, and IAM
    Credentials gives access tokens and signatures of the service account to those who may
    impersonate it.
    """

    def __init__(self, authority: Authority, config: Config) -> None:
        self._authority = authority
        self._config = config
        self.routes = [
            *(
                Route("oauth.token", "POST", path, self._token, scopes=None)
                for path in PATHS
            ),
            Route("oidc.token", "GET", "/oidc/token", self._github, scopes=None),
            Route("sts.token", "POST", "/v1/token", self._exchange, scopes=None),
            Route(
                _ID + "generateAccessToken",
                "POST",
                _PATH + "generateAccessToken",
                self._generate,
                scopes=None,
            ),
            Route(_ID + "signJwt", "POST", _PATH + "signJwt", self._sign, scopes=None),
        ]

    def _token(self, request: Request) -> Json:
        form = read_form(request)
        grant_type = form.get("grant_type", "")
        issued: dict[str, Json] = {
            "expires_in": int(self._config.token_lifetime),
            "token_type": "Bearer",
        }
        if grant_type == ASSERTION_GRANT:
            token = self._from_assertion(form.get("assertion", ""), request.server_url)
        elif grant_type == "refresh_token":
            scopes = tuple(form.get("scope", CLOUD_PLATFORM).split())
            token, issued["scope"] = (
                self._from_refresh_token(form, scopes),
                " ".join(scopes),
            )
        else:
            raise OAuthError(
                "unsupported_grant_type", f"Invalid grant_type: {grant_type}"
            )
        return {"access_token": token, **issued}

    def _from_assertion(self, assertion: str, server_url: str) -> str:
        try:
            claims = self._authority.key.verify_jwt(assertion)
        except InvalidJwt as error:
            raise OAuthError("invalid_grant", str(error)) from None
        _check_times(claims, self._authority.now())
        if claims.get("iss") != SERVICE_ACCOUNT:
            raise OAuthError("invalid_grant", "Invalid grant: account not found")
        if claims.get("aud") not in (
            f"{server_url}/token",
            GOOGLE_AUDIENCE,
            *OLDER_AUDIENCES,
        ):
            raise OAuthError("invalid_grant", "Invalid JWT: Failed audience check.")
        scopes = tuple(str(claims.get("scope", "")).split())
        if not scopes:
            raise OAuthError(
                "invalid_scope", "Invalid OAuth scope or ID token audience provided."
            )
        subject = str(claims.get("sub") or "")
        if subject and subject != SERVICE_ACCOUNT and not self._config.delegation:
            raise OAuthError(
                "unauthorized_client",
                "Client is unauthorized to retrieve access tokens using this method, or client not "
                "authorized for any of the scopes requested.",
                401,
            )
        return self._authority.issue(SERVICE_ACCOUNT, scopes, subject=subject)

    def _from_refresh_token(
        self, form: Mapping[str, str], scopes: tuple[str, ...]
    ) -> str:
        if not secrets.compare_digest(
            form.get("refresh_token", ""), self._authority.refresh_token
        ):
            raise OAuthError("invalid_grant", "Token has been expired or revoked.")
        if not secrets.compare_digest(
            form.get("client_secret", ""), self._authority.client_secret
        ):
            raise OAuthError("invalid_client", "Unauthorized", 401)
        return self._authority.issue(USER, scopes)

    def identity_token(self, audience: str) -> str:
        """Return an identity token for one job, valid for the `oidc_lifetime` of the
        configuration.
        """
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
        token = bearer_token(request.header("Authorization"))
        if not secrets.compare_digest(token, self._authority.request_token):
            return json_response({"message": "unauthorized"}, 401)
        value = self.identity_token(request.query.get("audience") or DEFAULT_AUDIENCE)
        return json_response({"count": len(value), "value": value})

    def _exchange(self, request: Request) -> Json:
        form = read_form(request)
        _check_form(form)
        claims = self._claims(form.get("subject_token", ""), form["audience"])
        token = self._authority.issue(
            str(claims["sub"]), tuple(form["scope"].split()), federated=True
        )
        return {
            "access_token": token,
            "issued_token_type": ACCESS_TOKEN_TYPE,
            "token_type": "Bearer",
            "expires_in": int(self._config.token_lifetime),
        }

    def _claims(self, token: str, audience: str) -> dict[str, Json]:
        """Return the claims of the CI system's identity token. Raises `OAuthError` if it is
        invalid, expired or not for this audience.
        """
        try:
            claims = self._authority.key.verify_jwt(token)
        except InvalidJwt as error:
            raise OAuthError(
                "invalid_grant", f"The subject token is not valid. {error}"
            ) from None
        if claims.get("iss") != ISSUER:
            raise OAuthError(
                "invalid_grant",
                "The issuer in ID Token does not match the expected one.",
            )
        if claims.get("aud") not in (audience, f"https:{audience}"):
            raise OAuthError(
                "invalid_grant",
                "The audience in ID Token does not match the expected audience.",
            )
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
        if (
            not re.fullmatch(r"\d{1,6}s", text)
            or not 0 < int(text[:-1]) <= MAX_LIFETIME
        ):
            message = (
                "Invalid value at 'lifetime' (type.googleapis.com/google.protobuf.Duration), "
                f'"{text}"'
            )
            raise ApiError(400, message)
        lifetime = min(int(text[:-1]), self._config.token_lifetime)
        token = self._authority.issue(
            SERVICE_ACCOUNT, tuple(map(str, scopes)), lifetime=lifetime
        )
        expires = datetime.fromtimestamp(
            self._authority.tokens[token].expires, timezone.utc
        )
        return json_response(
            {"accessToken": token, "expireTime": expires.strftime("%Y-%m-%dT%H:%M:%SZ")}
        )

    def _sign(self, request: Request) -> Json:
        """Return a JWT of the given claims, signed with the service account's key. The token
        endpoint checks the claims later.
        """
        self._check_caller(request)
        try:
            claims = json.loads(str(request.json().get("payload", "")))
        except ValueError:
            claims = None
        if not isinstance(claims, dict):
            raise ApiError(400, "The payload must be the JSON of a claim set.")
        key = self._authority.key
        return {"keyId": key.id, "signedJwt": key.sign_jwt(claims)}

    def _check_caller(self, request: Request) -> None:
        """Raise `ApiError` unless the caller has a federated token or one for IAM, and names the
        account.
        """
        caller = self._authority.authenticate(request)
        if not caller.federated and not set(caller.scopes) & set(IAM_SCOPES):
            raise insufficient_scopes()
        if request.params["email"] != SERVICE_ACCOUNT:
            raise ApiError(
                404, "Not found; Gaia id not found for email " + request.params["email"]
            )


def _check_times(claims: Mapping[str, Json], now: float) -> None:
    """Raise `OAuthError` for an assertion that is not valid yet, has expired, or is valid for more
    than an hour.
    """
    issued, expires = claims.get("iat"), claims.get("exp")
    if not isinstance(issued, (int, float)) or not isinstance(expires, (int, float)):
        raise OAuthError("invalid_grant", "Invalid JWT: iat and exp are required.")
    too_long = not 0 < expires - issued <= MAX_ASSERTION
    if issued > now + CLOCK_SKEW or expires <= now - CLOCK_SKEW or too_long:
        raise OAuthError(
            "invalid_grant",
            "Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable "
            "timeframe. Check your iat and exp values in the JWT claim.",
        )


def read_form(request: Request) -> dict[str, str]:
    """Return the fields of a body that is a form or JSON (google-auth sends both). Raises
    `OAuthError` if JSON is no object.
    """
    text = request.payload.decode("utf-8", "replace")
    if request.header("Content-Type").startswith("application/json"):
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            raise OAuthError("invalid_request", "The body is no JSON object.")
        return {name: str(field) for name, field in value.items()}
    return dict(parse_qsl(text, keep_blank_values=True))


def _check_form(form: dict[str, str]) -> None:
    if form.get("grant_type") != EXCHANGE_GRANT:
        raise OAuthError("unsupported_grant_type", "Unsupported grant type.")
    if form.get("requested_token_type", ACCESS_TOKEN_TYPE) != ACCESS_TOKEN_TYPE:
        raise OAuthError("invalid_request", "Invalid requested token type.")
    if form.get("subject_token_type") not in SUBJECT_TYPES:
        raise OAuthError("invalid_request", "Invalid subject token type.")
    if not _AUDIENCE.fullmatch(form.get("audience", "")):
        message = (
            'Invalid value for "audience". This value should be the full resource name.'
        )
        raise OAuthError("invalid_request", message)
    if not form.get("scope", "").strip():
        raise OAuthError("invalid_scope", "A scope is required.")
