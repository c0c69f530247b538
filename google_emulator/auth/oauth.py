"""The OAuth 2.0 token endpoint: a signed assertion (RFC 7523) or a refresh token becomes an access token.

An assertion is believed only when its RS256 signature, issuer, audience, times and scopes are right.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from urllib.parse import parse_qsl

from google_emulator.auth.authority import CLOUD_PLATFORM, SERVICE_ACCOUNT, Authority, InvalidJwt
from google_emulator.config import Config
from google_emulator.http.request import Request
from google_emulator.http.response import ApiError, Json, Response, json_response
from google_emulator.http.routes import Route
from google_emulator.protocol.uploads import Service

# google-auth names Google's own endpoint as the audience, whatever `token_uri` says.
GOOGLE_AUDIENCE = "https://oauth2.googleapis.com/token"
# Older libraries (signet, gtoken 7, oauth2client) know the endpoint by the name that it had in their day.
OLDER_AUDIENCES = ("https://www.googleapis.com/oauth2/v4/token", "https://accounts.google.com/o/oauth2/token")
PATHS = ("/token", "/oauth2/v4/token", "/o/oauth2/token")
ASSERTION_GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer"
USER = "user@example.com"
CLOCK_SKEW = 10  # seconds
MAX_ASSERTION = 3600  # seconds


class OAuthError(ApiError):
    """The token endpoint's own form of an error (RFC 6749, section 5.2)."""

    def __init__(self, error: str, description: str, status: int = 400) -> None:
        super().__init__(status, description)
        self.error = error

    def response(self) -> Response:
        """The error as it is sent."""
        return json_response({"error": self.error, "error_description": self.message}, self.status)


class TokenEndpoint(Service):
    """`POST /token`."""

    def __init__(self, authority: Authority, config: Config) -> None:
        self._authority = authority
        self._config = config
        self.routes = [Route("oauth.token", "POST", path, self._token, scopes=None) for path in PATHS]

    def _token(self, request: Request) -> Response:
        form = read_form(request)
        grant_type = form.get("grant_type", "")
        issued: dict[str, Json] = {"expires_in": int(self._config.token_lifetime), "token_type": "Bearer"}
        if grant_type == ASSERTION_GRANT:
            token = self._from_assertion(form.get("assertion", ""), request.server_url)
        elif grant_type == "refresh_token":
            scopes = tuple(form.get("scope", CLOUD_PLATFORM).split())
            token, issued["scope"] = self._from_refresh_token(form, scopes), " ".join(scopes)
        else:
            raise OAuthError("unsupported_grant_type", f"Invalid grant_type: {grant_type}")
        return json_response({"access_token": token, **issued})

    def _from_assertion(self, assertion: str, server_url: str) -> str:
        try:
            claims = self._authority.key.verify_jwt(assertion)
        except InvalidJwt as error:
            raise OAuthError("invalid_grant", str(error)) from None
        _check_times(claims, self._authority.now())
        if claims.get("iss") != SERVICE_ACCOUNT:
            raise OAuthError("invalid_grant", "Invalid grant: account not found")
        if claims.get("aud") not in (f"{server_url}/token", GOOGLE_AUDIENCE, *OLDER_AUDIENCES):
            raise OAuthError("invalid_grant", "Invalid JWT: Failed audience check.")
        scopes = tuple(str(claims.get("scope", "")).split())
        if not scopes:
            raise OAuthError("invalid_scope", "Invalid OAuth scope or ID token audience provided.")
        return self._authority.issue(SERVICE_ACCOUNT, scopes, subject=self._subject(claims))

    def _subject(self, claims: Mapping[str, Json]) -> str:
        """The user that the assertion acts for, if any. Raises `OAuthError` where that is not allowed."""
        subject = str(claims.get("sub") or "")
        if subject and subject != SERVICE_ACCOUNT and not self._config.delegation:
            raise OAuthError(
                "unauthorized_client",
                "Client is unauthorized to retrieve access tokens using this method, or client not authorized for any "
                "of the scopes requested.",
                401,
            )
        return subject

    def _from_refresh_token(self, form: Mapping[str, str], scopes: tuple[str, ...]) -> str:
        if not secrets.compare_digest(form.get("refresh_token", ""), self._authority.refresh_token):
            raise OAuthError("invalid_grant", "Token has been expired or revoked.")
        if not secrets.compare_digest(form.get("client_secret", ""), self._authority.client_secret):
            raise OAuthError("invalid_client", "Unauthorized", 401)
        return self._authority.issue(USER, scopes)


def _check_times(claims: Mapping[str, Json], now: float) -> None:
    """Refuses an assertion that is not valid yet, no longer, or for more than an hour. Raises `OAuthError`."""
    issued, expires = claims.get("iat"), claims.get("exp")
    if not isinstance(issued, (int, float)) or not isinstance(expires, (int, float)):
        raise OAuthError("invalid_grant", "Invalid JWT: iat and exp are required.")
    too_long = not 0 < expires - issued <= MAX_ASSERTION
    if issued > now + CLOCK_SKEW or expires <= now - CLOCK_SKEW or too_long:
        raise OAuthError(
            "invalid_grant",
            "Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe. Check your iat "
            "and exp values in the JWT claim.",
        )


def read_form(request: Request) -> dict[str, str]:
    """The request's body as a form, or as JSON (google-auth sends both). Raises `OAuthError`."""
    text = request.payload.decode("utf-8", "replace")
    if request.header("Content-Type").startswith("application/json"):
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            raise OAuthError("invalid_request", "The body is no JSON object.")
        return {name: str(one) for name, one in value.items()}
    return dict(parse_qsl(text, keep_blank_values=True))
