"""The IAM Credentials API: whoever may act as the service account gets its access tokens and signatures.

Reference: cloud.google.com/iam/docs/reference/credentials/rest.
"""

from __future__ import annotations

import json
import re
from datetime import datetime, timezone

from google_emulator.auth import jwt
from google_emulator.auth.authorization import CLOUD_PLATFORM, SERVICE_ACCOUNT, Authority
from google_emulator.http.errors import ApiError, insufficient_scopes
from google_emulator.http.request import Request
from google_emulator.http.response import Response, json_response
from google_emulator.http.routes import Route

IAM_SCOPES = (CLOUD_PLATFORM, "https://www.googleapis.com/auth/iam")
LONGEST_LIFETIME = 3600  # seconds
_ID = "iamcredentials.projects.serviceAccounts."
_PATH = "/v1/projects/-/serviceAccounts/{email}:"


class Impersonation:
    """`generateAccessToken` and `signJwt` of the service account."""

    def __init__(self, authority: Authority) -> None:
        self._authority = authority

    def routes(self) -> list[Route]:
        """What this API serves."""
        return [
            Route(_ID + "generateAccessToken", "POST", _PATH + "generateAccessToken", self._generate, scopes=None),
            Route(_ID + "signJwt", "POST", _PATH + "signJwt", self._sign, scopes=None),
        ]

    def _generate(self, request: Request) -> Response:
        self._check_caller(request)
        wanted = request.json()
        scopes = wanted.get("scope")
        if not isinstance(scopes, list) or not scopes:
            raise ApiError(400, "Request must include at least one scope.")
        lifetime = min(_lifetime(str(wanted.get("lifetime", "3600s"))), self._authority.token_lifetime)
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
        return json_response({"keyId": key.id, "signedJwt": jwt.sign(key, claims)})

    def _check_caller(self, request: Request) -> None:
        """Only a federated login or a token for IAM may act as the account. Raises `ApiError`."""
        caller = self._authority.authenticate(request)
        if not caller.federated and not set(caller.scopes) & set(IAM_SCOPES):
            raise insufficient_scopes()
        if request.params["email"] != SERVICE_ACCOUNT:
            raise ApiError(404, "Not found; Gaia id not found for email " + request.params["email"])


def _lifetime(text: str) -> int:
    """`3600s` in seconds. Raises `ApiError` 400 for anything else, or more than an hour."""
    if not re.fullmatch(r"\d{1,6}s", text) or not 0 < int(text[:-1]) <= LONGEST_LIFETIME:
        raise ApiError(400, f"Invalid value at 'lifetime' (type.googleapis.com/google.protobuf.Duration), \"{text}\"")
    return int(text[:-1])
