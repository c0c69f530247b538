"""Who may do what: the token endpoint, the tokens it gave out, and the check of each API request.

An assertion (RFC 7523) is believed only when its RS256 signature, issuer, audience, times and scopes are right.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

from google_emulator import jwt
from google_emulator.answers import Answer, Json, Refusal, as_json
from google_emulator.router import Route
from google_emulator.rsa import RsaKey, process_key

if TYPE_CHECKING:
    from google_emulator.config import Config
    from google_emulator.exchange import Exchange

ACCOUNT = "uploader@emulator.iam.gserviceaccount.com"
PROJECT = "emulator"
# google-auth names Google's own endpoint as the audience, whatever `token_uri` says.
GOOGLE_AUDIENCE = "https://oauth2.googleapis.com/token"
ASSERTION_GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer"
CLOUD = "https://www.googleapis.com/auth/cloud-platform"
SKEW = 10
LONGEST = 3600


@dataclass(slots=True)
class Token:
    """An access token that was given out. `subject` is the user acted for; `federated` tokens only impersonate."""

    email: str
    subject: str
    scopes: tuple[str, ...]
    expires: float
    federated: bool = False


class OAuthError(Exception):
    """The token endpoint's own way to say no (RFC 6749, section 5.2)."""

    def __init__(self, error: str, description: str, status: int = 400) -> None:
        super().__init__(description)
        self.error, self.description, self.status = error, description, status

    def answer(self) -> Answer:
        """The refusal as it goes over the wire."""
        return as_json({"error": self.error, "error_description": self.description}, self.status)


class Authority:
    """The key of the one service account, and the tokens in circulation."""

    def __init__(self, config: Config) -> None:
        self.key: RsaKey = process_key()
        self.key_id = secrets.token_hex(20)
        self.refresh_token = secrets.token_urlsafe(32)
        self.client_secret = secrets.token_urlsafe(16)
        self.request_token = secrets.token_urlsafe(32)
        self.tokens: dict[str, Token] = {}
        self._config = config

    def service_account(self, base: str) -> dict[str, str]:
        """The service-account key file whose `token_uri` points here."""
        return {
            "type": "service_account",
            "project_id": PROJECT,
            "private_key_id": self.key_id,
            "private_key": self.key.pkcs8(),
            "client_email": ACCOUNT,
            "client_id": "100000000000000000001",
            "auth_uri": f"{base}/auth",
            "token_uri": f"{base}/token",
            "universe_domain": "googleapis.com",
        }

    def issue(self, token: Token) -> str:
        """A new bearer token."""
        text = "ya29." + secrets.token_urlsafe(96)
        self.tokens[text] = token
        return text

    def expire(self, authorization: str) -> bool:
        """Makes the token of this Authorization header expire; tells whether there was one."""
        token = self.tokens.get(_bearer(authorization))
        if token is None:
            return False
        token.expires = 0.0
        return True

    def caller(self, x: Exchange) -> Token:
        """The request's token, whatever it may do. Raises `Refusal` 401 without a valid one."""
        token = self.tokens.get(_bearer(x.header("Authorization")))
        if token is None or token.expires <= x.world.clock():
            raise self.unauthenticated()
        return token

    def authorize(self, x: Exchange, scopes: tuple[str, ...]) -> Token:
        """The token of an API request. Raises `Refusal` 401 without one, 403 when it lacks every one of `scopes`."""
        token = self.caller(x)
        if token.federated:
            raise self.unauthenticated()
        if scopes and not set(scopes) & set(token.scopes):
            raise Refusal(403, "Request had insufficient authentication scopes.", "insufficientPermissions")
        return token

    @staticmethod
    def unauthenticated() -> Refusal:
        """Google's words for a missing or expired token."""
        return Refusal(
            401,
            "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other "
            "valid authentication credential. See https://developers.google.com/identity/sign-in/web/devconsole-project.",
            "authError",
        )

    def grant(self, form: Mapping[str, str], base: str, now: float) -> dict[str, Json]:
        """The answer of the token endpoint to a form. Raises `OAuthError`."""
        kind = form.get("grant_type", "")
        if kind == ASSERTION_GRANT:
            token = self._from_assertion(form.get("assertion", ""), base, now)
        elif kind == "refresh_token":
            token = self._from_refresh_token(form, now)
        else:
            raise OAuthError("unsupported_grant_type", f"Invalid grant_type: {kind}")
        lifetime = int(self._config.token_lifetime)
        answer = {"access_token": self.issue(token), "expires_in": lifetime, "token_type": "Bearer"}
        return {**answer, "scope": " ".join(token.scopes)} if kind == "refresh_token" else answer

    def _from_assertion(self, assertion: str, base: str, now: float) -> Token:
        try:
            claims = jwt.verify(self.key, self.key_id, assertion)
        except jwt.BadToken as error:
            raise OAuthError("invalid_grant", str(error)) from None
        check_times(claims, now)
        if claims.get("iss") != ACCOUNT:
            raise OAuthError("invalid_grant", "Invalid grant: account not found")
        if claims.get("aud") not in (f"{base}/token", GOOGLE_AUDIENCE):
            raise OAuthError("invalid_grant", "Invalid JWT: Failed audience check.")
        scopes = tuple(str(claims.get("scope", "")).split())
        if not scopes:
            raise OAuthError("invalid_scope", "Invalid OAuth scope or ID token audience provided.")
        subject = str(claims.get("sub") or "")
        if subject and subject != ACCOUNT and not self._config.delegation:
            raise OAuthError(
                "unauthorized_client",
                "Client is unauthorized to retrieve access tokens using this method, or client not authorized for any "
                "of the scopes requested.",
                401,
            )
        return Token(ACCOUNT, subject, scopes, now + self._config.token_lifetime)

    def _from_refresh_token(self, form: Mapping[str, str], now: float) -> Token:
        if not secrets.compare_digest(form.get("refresh_token", ""), self.refresh_token):
            raise OAuthError("invalid_grant", "Token has been expired or revoked.")
        if not secrets.compare_digest(form.get("client_secret", ""), self.client_secret):
            raise OAuthError("invalid_client", "Unauthorized", 401)
        scopes = tuple(form.get("scope", CLOUD).split())
        return Token("user@example.com", "", scopes, now + self._config.token_lifetime)


def check_times(claims: Mapping[str, Json], now: float) -> None:
    """Refuses an assertion that is not valid yet, no longer, or for more than an hour. Raises `OAuthError`."""
    issued, expires = claims.get("iat"), claims.get("exp")
    if not isinstance(issued, (int, float)) or not isinstance(expires, (int, float)):
        raise OAuthError("invalid_grant", "Invalid JWT: iat and exp are required.")
    if issued > now + SKEW or expires <= now - SKEW or not 0 < expires - issued <= LONGEST:
        raise OAuthError(
            "invalid_grant",
            "Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe. Check your iat "
            "and exp values in the JWT claim.",
        )


def read_form(x: Exchange) -> dict[str, str]:
    """The request's body as a form, or as JSON (google-auth sends both). Raises `OAuthError`."""
    text = x.payload.decode("utf-8", "replace")
    if x.header("Content-Type").startswith("application/json"):
        try:
            value = json.loads(text)
        except ValueError:
            value = None
        if not isinstance(value, dict):
            raise OAuthError("invalid_request", "The body is no JSON object.")
        return {name: str(one) for name, one in value.items()}
    return dict(parse_qsl(text, keep_blank_values=True))


def _token(x: Exchange) -> Answer:
    try:
        return as_json(x.world.authority.grant(read_form(x), x.world.base, x.world.clock()))
    except OAuthError as error:
        return error.answer()


def _bearer(authorization: str) -> str:
    kind, _, token = authorization.partition(" ")
    return token.strip() if kind.lower() == "bearer" else ""


ROUTES = (Route("oauth.token", "POST", "/token", _token, scopes=None),)
