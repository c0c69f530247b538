"""Who may do what: the service account's key, the access tokens given out, and the check of each request's token."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from google_emulator.auth.keys import SigningKey, process_key
from google_emulator.config import Config
from google_emulator.http.errors import insufficient_scopes, unauthenticated
from google_emulator.http.request import Request

SERVICE_ACCOUNT = "uploader@emulator.iam.gserviceaccount.com"
PROJECT = "emulator"
CLOUD_PLATFORM = "https://www.googleapis.com/auth/cloud-platform"


@dataclass(slots=True)
class AccessToken:
    """An access token that was given out.

    `subject` is the user acted for, `expires` in seconds since the epoch; `federated` tokens only impersonate.
    """

    email: str
    subject: str
    scopes: tuple[str, ...]
    expires: float
    federated: bool = False


class Authority:
    """The key of the one service account, the secrets of the other logins, and the tokens in circulation."""

    def __init__(self, config: Config, clock: Callable[[], float]) -> None:
        self.refresh_token = secrets.token_urlsafe(32)
        self.client_secret = secrets.token_urlsafe(16)
        self.request_token = secrets.token_urlsafe(32)
        self.tokens: dict[str, AccessToken] = {}
        self.now = clock
        self._config = config

    @cached_property
    def key(self) -> SigningKey:
        """The service account's key pair."""
        return process_key()

    @property
    def token_lifetime(self) -> float:
        """The longest life of an access token, in seconds."""
        return self._config.token_lifetime

    def service_account_key(self, server_url: str) -> dict[str, str]:
        """The service-account key file whose `token_uri` points at this server."""
        return {
            "type": "service_account",
            "project_id": PROJECT,
            "private_key_id": self.key.id,
            "private_key": self.key.private_pem(),
            "client_email": SERVICE_ACCOUNT,
            "client_id": "100000000000000000001",
            "auth_uri": f"{server_url}/auth",
            "token_uri": f"{server_url}/token",
            "universe_domain": "googleapis.com",
        }

    def issue(
        self, email: str, scopes: tuple[str, ...], *, subject: str = "", federated: bool = False, lifetime: float = 0
    ) -> str:
        """A new bearer token. `lifetime` is in seconds; the longest that is allowed unless given."""
        text = "ya29." + secrets.token_urlsafe(96)
        expires = self.now() + (lifetime or self.token_lifetime)
        self.tokens[text] = AccessToken(email, subject, scopes, expires, federated)
        return text

    def expire(self, authorization: str) -> bool:
        """Makes the token of this Authorization header expire; tells whether there was one."""
        token = self.tokens.get(bearer_token(authorization))
        if token is None:
            return False
        token.expires = 0.0
        return True

    def authenticate(self, request: Request) -> AccessToken:
        """The request's token, whatever it allows. Raises `ApiError` 401 without a valid one."""
        token = self.tokens.get(bearer_token(request.header("Authorization")))
        if token is None or token.expires <= self.now():
            raise unauthenticated()
        return token

    def authorize(self, request: Request, scopes: tuple[str, ...]) -> None:
        """Sets the account of an API request.

        Raises `ApiError` 401 without a token for APIs, 403 when it lacks every one of `scopes`.
        """
        if self._config.anonymous and not request.header("Authorization"):
            request.account = SERVICE_ACCOUNT
            return
        token = self.authenticate(request)
        if token.federated:
            raise unauthenticated()
        if scopes and not set(scopes) & set(token.scopes):
            raise insufficient_scopes()
        request.account, request.subject = token.email, token.subject


def bearer_token(authorization: str) -> str:
    """The token of an Authorization header; empty when it has another scheme."""
    kind, _, token = authorization.partition(" ")
    return token.strip() if kind.lower() == "bearer" else ""
