"""Who may do what: the service account's key, signed tokens (JWT), access tokens, and their
checks.
"""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import ClassVar

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

from google_emulator.config import Config
from google_emulator.http.request import Request
from google_emulator.http.response import Json, insufficient_scopes, unauthenticated

SERVICE_ACCOUNT = "uploader@emulator.iam.gserviceaccount.com"
PROJECT = "emulator"
CLOUD_PLATFORM = "https://www.googleapis.com/auth/cloud-platform"
KEY_SIZE = 2048  # bits, as in the keys that Google makes


class InvalidJwt(ValueError):
    """A token is malformed, or its signature is not the key's. The text is what a server would
    answer.
    """


class SigningKey:
    """The service account's RSA key pair, which signs JSON Web Tokens (RFC 7515, RFC 7519) with
    RS256.

    `id` is 40 hexadecimal digits derived from the public key, so that equal keys have equal ids.
    `size` is the size in bits of keys made from now on. Each login checks the primes of its key,
    which takes 40 ms for 2048 bits and 8 ms for 1024, so tests with thousands of logins use smaller
    keys.
    """

    size: ClassVar[int] = KEY_SIZE

    def __init__(self) -> None:
        self._private = rsa.generate_private_key(
            public_exponent=65537, key_size=self.size
        )
        public = self._private.public_key().public_bytes(
            Encoding.DER, PublicFormat.SubjectPublicKeyInfo
        )
        self.id = hashlib.sha256(public).hexdigest()[:40]

    def private_pem(self) -> str:
        """Return the private key as PEM in PKCS#8 (RFC 5208), the form found in service-account
        keys.
        """
        return self._private.private_bytes(
            Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()
        ).decode()

    def sign_jwt(self, claims: Mapping[str, Json]) -> str:
        """Return a signed token with these claims."""
        header = {"alg": "RS256", "typ": "JWT", "kid": self.id}
        text = ".".join(
            _encode(json.dumps(part).encode()) for part in (header, dict(claims))
        )
        signature = self._private.sign(
            text.encode(), padding.PKCS1v15(), hashes.SHA256()
        )
        return f"{text}.{_encode(signature)}"

    def verify_jwt(self, token: str) -> dict[str, Json]:
        """Return the claims of a token, once its signature has been verified. Raises
        `InvalidJwt`.
        """
        parts = token.split(".")
        if len(parts) != 3:
            raise InvalidJwt("Invalid JWT: a token has three parts.")
        header, claims = _object(parts[0]), _object(parts[1])
        if header.get("alg") != "RS256":
            raise InvalidJwt("Invalid JWT: the algorithm must be RS256.")
        if header.get("kid", self.id) != self.id:
            raise InvalidJwt("Invalid JWT Signature: no such key.")
        signature, signed = _decode(parts[2]), f"{parts[0]}.{parts[1]}".encode()
        try:
            self._private.public_key().verify(
                signature, signed, padding.PKCS1v15(), hashes.SHA256()
            )
        except InvalidSignature:
            raise InvalidJwt("Invalid JWT Signature.") from None
        return claims


def _encode(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _decode(text: str) -> bytes:
    try:
        return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except ValueError:
        raise InvalidJwt("Invalid JWT: a part is not base64url.") from None


def _object(text: str) -> dict[str, Json]:
    try:
        value = json.loads(_decode(text))
    except ValueError as error:
        raise (
            error
            if isinstance(error, InvalidJwt)
            else InvalidJwt("Invalid JWT: a part is not JSON.")
        ) from None
    if not isinstance(value, dict):
        raise InvalidJwt("Invalid JWT: a part is not a JSON object.")
    return value


@cache
def process_key() -> SigningKey:
    """Return the key pair of this process, which all its emulators share, since making one takes
    some 30 ms.
    """
    return SigningKey()


@dataclass
class AccessToken:
    """An access token that was issued.

    `subject` is the user for whom it acts, if any; `expires` is in seconds since the epoch. A
    `federated` token can only impersonate the service account.
    """

    email: str
    subject: str
    scopes: tuple[str, ...]
    expires: float
    federated: bool = False


class Authority:
    """The key of the one service account, the secrets of the other logins, and the tokens that were
    issued.
    """

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

    def service_account_key(self, server_url: str) -> dict[str, str]:
        """Return the contents of the service-account key file; its `token_uri` points to this
        server.
        """
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
        self,
        email: str,
        scopes: tuple[str, ...],
        *,
        subject: str = "",
        federated: bool = False,
        lifetime: float = 0,
    ) -> str:
        """Issue an access token and return it. `lifetime` is in seconds; 0 means the longest that
        is allowed.
        """
        text = "ya29." + secrets.token_urlsafe(96)
        expires = self.now() + (lifetime or self._config.token_lifetime)
        self.tokens[text] = AccessToken(email, subject, scopes, expires, federated)
        return text

    def expire(self, authorization: str) -> bool:
        """Expire the token of an Authorization header. Return whether there was such a token."""
        token = self.tokens.get(bearer_token(authorization))
        if token is None:
            return False
        token.expires = 0.0
        return True

    def authenticate(self, request: Request) -> AccessToken:
        """Return the request's token, whatever its scopes. Raises `ApiError` 401 if there is no
        valid one.
        """
        token = self.tokens.get(bearer_token(request.header("Authorization")))
        if token is None or token.expires <= self.now():
            raise unauthenticated()
        return token

    def authorize(self, request: Request, scopes: tuple[str, ...]) -> None:
        """Check the token of an API request, and set the request's account and subject.

        Raises `ApiError` 401 if there is no valid token for APIs, 403 if the token has none of
        `scopes`. Empty `scopes` accept any token.
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
    """Return the token of an Authorization header; empty if the header has another scheme."""
    kind, _, token = authorization.partition(" ")
    return token.strip() if kind.lower() == "bearer" else ""
