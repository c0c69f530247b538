"""JSON Web Tokens (RFC 7515, RFC 7519) signed with RS256: made, and read only once the signature is verified."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping

from google_emulator.auth.keys import SigningKey
from google_emulator.http.response import Json


class InvalidJwt(ValueError):
    """The token is malformed, or its signature is not the key's; the text is what a server would say."""


def sign(key: SigningKey, claims: Mapping[str, Json]) -> str:
    """A signed token with these claims."""
    header = {"alg": "RS256", "typ": "JWT", "kid": key.id}
    text = ".".join(_encode(json.dumps(part).encode()) for part in (header, dict(claims)))
    return f"{text}.{_encode(key.sign(text.encode()))}"


def verify(key: SigningKey, token: str) -> dict[str, Json]:
    """The claims of a token, once its signature has been verified. Raises `InvalidJwt`."""
    parts = token.split(".")
    if len(parts) != 3:
        raise InvalidJwt("Invalid JWT: a token has three parts.")
    header, claims = _object(parts[0]), _object(parts[1])
    if header.get("alg") != "RS256":
        raise InvalidJwt("Invalid JWT: the algorithm must be RS256.")
    if header.get("kid", key.id) != key.id:
        raise InvalidJwt("Invalid JWT Signature: no such key.")
    if not key.verifies(f"{parts[0]}.{parts[1]}".encode(), _decode(parts[2])):
        raise InvalidJwt("Invalid JWT Signature.")
    return claims


def _encode(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _decode(text: str) -> bytes:
    try:
        return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except (binascii.Error, ValueError):
        raise InvalidJwt("Invalid JWT: a part is not base64url.") from None


def _object(text: str) -> dict[str, Json]:
    try:
        value = json.loads(_decode(text))
    except ValueError:
        raise InvalidJwt("Invalid JWT: a part is not JSON.") from None
    if not isinstance(value, dict):
        raise InvalidJwt("Invalid JWT: a part is not a JSON object.")
    return value
