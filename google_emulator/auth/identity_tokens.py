"""GitHub's OIDC provider: a job asks for an identity token for an audience, and bears a token of its own to do so.

Reference: docs.github.com, OpenID Connect.
"""

from __future__ import annotations

import secrets

from google_emulator.auth import jwt
from google_emulator.auth.authorization import Authority, bearer_token
from google_emulator.config import Config
from google_emulator.http.request import Request
from google_emulator.http.response import Response, json_response
from google_emulator.http.routes import Route

ISSUER = "https://token.actions.githubusercontent.com"
DEFAULT_AUDIENCE = "https://github.com/octo-org"


class IdentityTokens:
    """Identity tokens of a CI system, and the endpoint at which GitHub's jobs ask for one."""

    def __init__(self, authority: Authority, config: Config) -> None:
        self._authority = authority
        self._config = config

    def routes(self) -> list[Route]:
        """What this endpoint serves."""
        return [Route("oidc.token", "GET", "/oidc/token", self._github, scopes=None)]

    def issue(self, audience: str) -> str:
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
        return jwt.sign(self._authority.key, claims)

    def _github(self, request: Request) -> Response:
        """GitHub's own errors are plain, not Google's."""
        token = bearer_token(request.header("Authorization"))
        if not secrets.compare_digest(token, self._authority.request_token):
            return json_response({"message": "unauthorized"}, 401)
        value = self.issue(request.query.get("audience") or DEFAULT_AUDIENCE)
        return json_response({"count": len(value), "value": value})
