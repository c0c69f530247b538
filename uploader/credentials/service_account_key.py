"""A service account's login by its own key: the key is checked, an assertion signed and exchanged for a token.

google-auth does the same, but its class loads asyncio and X.509 for other kinds of login, a fifth of the time until the
first request; and cryptography's own reader of keys loads OpenSSH's formats and every cipher. What is sent:
developers.google.com/identity/protocols/oauth2/service-account, "HTTP/REST".
"""

from __future__ import annotations

import json
import time
from base64 import b64decode, urlsafe_b64encode
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta, timezone
from typing import Any
from urllib.parse import urlencode

from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, RSAPrivateNumbers, RSAPublicNumbers
from cryptography.hazmat.primitives.hashes import SHA256

from uploader.credentials.configuration_checks import RSA
from uploader.der import INTEGER, OCTETS, SEQUENCE, DerValue, sequence

SHORTEST = 1024  # bits
AUDIENCE = "https://oauth2.googleapis.com/token"  # whatever the address of the token endpoint is
LIFETIME = 3600  # seconds; Google's longest
_NULL = b"\5\0"  # the parameters that the algorithm does not have
GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer"  # RFC 7523


class ServiceAccount:
    """What google-auth's credentials of this kind are to a run: `refresh` fetches a `token` that lasts until `expiry`.

    Raises ValueError or LookupError for a key that is damaged, or is no RSA key, and for a configuration without one.
    """

    def __init__(self, info: Mapping[str, Any], scopes: Sequence[str], subject: str | None) -> None:
        self._key = sound_key(info["private_key"])
        self._token_uri = info["token_uri"]
        self._header = {"typ": "JWT", "alg": "RS256"}
        if info.get("private_key_id"):
            self._header["kid"] = info["private_key_id"]
        self._claims = {"iss": info["client_email"], "scope": " ".join(scopes), "aud": AUDIENCE}
        if subject:
            self._claims["sub"] = subject
        self.token: object = None
        self.expiry: datetime | None = None

    def refresh(self, request: Callable[..., Any]) -> None:
        """Sends one request, by google-auth's interface. Raises LookupError, TypeError or ValueError for its answer."""
        form = urlencode({"assertion": self._assertion(int(time.time())), "grant_type": GRANT})
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        response = json.loads(request(url=self._token_uri, method="POST", headers=headers, body=form.encode()).data)
        self.token, lifetime = response["access_token"], response.get("expires_in")
        known = lifetime is not None
        self.expiry = datetime.now(timezone.utc) + timedelta(seconds=int(lifetime)) if known else None

    def _assertion(self, now: int) -> str:
        """A JSON web token (RFC 7519) in compact form."""
        claims = {**self._claims, "iat": now, "exp": now + LIFETIME}
        signed = b".".join(_encoded(json.dumps(part).encode()) for part in (self._header, claims))
        return b".".join((signed, _encoded(self._key.sign(signed, PKCS1v15(), SHA256())))).decode()


def sound_key(pem: str) -> RSAPrivateKey:
    """The key in PEM form. Raises ValueError or LookupError for one that is damaged, or is no RSA key.

    The library's own validation proves both primes prime again, 25 ms at each start. Damage is what happens to a key on
    its way here, and damage breaks the equations between its numbers (RFC 8017, section 3.2) whatever it hits.
    """
    numbers = _numbers(b64decode("".join(line for line in pem.splitlines() if not line.startswith("-"))))
    if numbers.public_numbers.n.bit_length() < SHORTEST or not _sound(numbers):
        raise ValueError("no sound RSA key")
    return numbers.private_key(unsafe_skip_rsa_key_validation=True)


def _numbers(der: bytes) -> RSAPrivateNumbers:
    """Those of a key in PKCS #8 (RFC 5208, section 5), or of the PKCS #1 (RFC 8017, appendix A.1.2) that is in it."""
    version, *values = sequence(der)
    if values[0].tag == SEQUENCE:
        algorithm, key = values[:2]
        if not _is_zero(version) or algorithm.content not in (RSA, RSA + _NULL) or key.tag != OCTETS:
            raise ValueError("no RSA key")
        version, *values = sequence(key.content)
    if not _is_zero(version) or any(value.tag != INTEGER for value in values):
        raise ValueError("no RSA key with two primes")
    n, e, d, p, q, dmp1, dmq1, iqmp = (int.from_bytes(value.content, "big", signed=True) for value in values)
    return RSAPrivateNumbers(p, q, d, dmp1, dmq1, iqmp, RSAPublicNumbers(e, n))


def _is_zero(value: DerValue) -> bool:
    return (value.tag, value.content) == (INTEGER, b"\0")


def _encoded(part: bytes) -> bytes:
    return urlsafe_b64encode(part).rstrip(b"=")


def _sound(held: RSAPrivateNumbers) -> bool:
    """Whether the eight numbers of the key belong together."""
    n, e, d, p, q = held.public_numbers.n, held.public_numbers.e, held.d, held.p, held.q
    return (
        p * q == n
        and p & q & 1 == 1
        and min(p, q) > 1
        and e * d % (p - 1) == 1
        and e * d % (q - 1) == 1
        and (held.dmp1, held.dmq1) == (d % (p - 1), d % (q - 1))
        and held.iqmp < p
        and held.iqmp * q % p == 1
    )
