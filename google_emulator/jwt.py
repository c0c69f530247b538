"""JSON Web Tokens (RFC 7515, RFC 7519) signed with RS256: made, taken apart, never believed without the signature."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping

from google_emulator.answers import Json
from google_emulator.rsa import RsaKey


class BadToken(ValueError):
    """The token is malformed, or its signature is not the key's; the text is what a server would say."""


def sign(key: RsaKey, key_id: str, claims: Mapping[str, Json]) -> str:
    """A signed token with these claims."""
    header = {"alg": "RS256", "typ": "JWT", "kid": key_id}
    text = ".".join(_encode(json.dumps(part).encode()) for part in (header, dict(claims)))
    return f"{text}.{_encode(key.sign(text.encode()))}"


def verify(key: RsaKey, key_id: str, token: str) -> dict[str, Json]:
    """The claims of a token, once its signature has been verified. Raises `BadToken`."""
    parts = token.split(".")
    if len(parts) != 3:
        raise BadToken("Invalid JWT: a token has three parts.")
    header, claims = _object(parts[0]), _object(parts[1])
    if header.get("alg") != "RS256":
        raise BadToken("Invalid JWT: the algorithm must be RS256.")
    if header.get("kid", key_id) != key_id:
        raise BadToken("Invalid JWT Signature: no such key.")
    if not key.verifies(f"{parts[0]}.{parts[1]}".encode(), _decode(parts[2])):
        raise BadToken("Invalid JWT Signature.")
    return claims


def _encode(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _decode(text: str) -> bytes:
    try:
        return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except (binascii.Error, ValueError):
        raise BadToken("Invalid JWT: a part is not base64url.") from None


def _object(text: str) -> dict[str, Json]:
    try:
        value = json.loads(_decode(text))
    except ValueError:
        raise BadToken("Invalid JWT: a part is not JSON.") from None
    if not isinstance(value, dict):
        raise BadToken("Invalid JWT: a part is not a JSON object.")
    return value
