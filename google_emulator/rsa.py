"""RSA as the emulator needs it: one key pair made on the spot, signatures made and verified with SHA-256.

PKCS#1 v1.5 (RFC 8017, sections 8.2 and 9.2) in integers alone. Good for a rehearsal on loopback and for nothing else.
"""

from __future__ import annotations

import hashlib
import hmac
import math
import secrets
from dataclasses import dataclass
from functools import lru_cache

from google_emulator import der

BITS = 2048
EXPONENT = 65537
# DigestInfo of SHA-256 up to the digest itself (RFC 8017, section 9.2, note 1).
_DIGEST_INFO = bytes.fromhex("3031300d060960864801650304020105000420")
_SMALL_PRIMES = [n for n in range(3, 2000, 2) if all(n % d for d in range(3, math.isqrt(n) + 1, 2))]


@dataclass(frozen=True, slots=True)
class RsaKey:
    """A key pair: modulus, private exponent and the two primes."""

    n: int
    d: int
    p: int
    q: int

    def sign(self, message: bytes) -> bytes:
        """The RSASSA-PKCS1-v1_5 signature over the SHA-256 of `message`."""
        size = (self.n.bit_length() + 7) // 8
        return pow(int.from_bytes(_padded(message, size), "big"), self.d, self.n).to_bytes(size, "big")

    def verifies(self, message: bytes, signature: bytes) -> bool:
        """Whether the signature is this key's and for exactly this message."""
        size = (self.n.bit_length() + 7) // 8
        number = int.from_bytes(signature, "big")
        if len(signature) != size or number >= self.n:
            return False
        recovered = pow(number, EXPONENT, self.n).to_bytes(size, "big")
        return hmac.compare_digest(recovered, _padded(message, size))

    def pkcs8(self) -> str:
        """The private key as PEM in PKCS#8 (RFC 5208), the form found in service-account keys."""
        p, q, d = self.p, self.q, self.d
        numbers = (0, self.n, EXPONENT, d, p, q, d % (p - 1), d % (q - 1), pow(q, -1, p))
        inner = der.sequence(*(der.integer(number) for number in numbers))
        algorithm = der.sequence(der.RSA_ENCRYPTION, der.NULL)
        return der.pem(der.sequence(der.integer(0), algorithm, der.octets(inner)), "PRIVATE KEY")


def _padded(message: bytes, size: int) -> bytes:
    """EMSA-PKCS1-v1_5: 00 01 FF… 00, then what was hashed and how."""
    tail = _DIGEST_INFO + hashlib.sha256(message).digest()
    return b"\x00\x01" + b"\xff" * (size - len(tail) - 3) + b"\x00" + tail


@lru_cache(maxsize=1)
def process_key() -> RsaKey:
    """The key pair of this process; making it takes about half a second, so it is made once."""
    while True:
        p, q = _prime(BITS // 2), _prime(BITS // 2)
        phi = math.lcm(p - 1, q - 1)
        if p != q and (p * q).bit_length() == BITS and math.gcd(EXPONENT, phi) == 1:
            return RsaKey(p * q, pow(EXPONENT, -1, phi), max(p, q), min(p, q))


def _prime(bits: int) -> int:
    """A random prime with its two top bits set, so that the product of two has the full length."""
    while True:
        candidate = secrets.randbits(bits) | (3 << (bits - 2)) | 1
        if all(candidate % prime for prime in _SMALL_PRIMES) and _is_prime(candidate):
            return candidate


def _is_prime(number: int, rounds: int = 5) -> bool:
    """Miller and Rabin's test; five rounds are far beyond enough for random numbers of 1024 bits."""
    odd, power = number - 1, 0
    while odd % 2 == 0:
        odd, power = odd // 2, power + 1
    return all(_passes(number, secrets.randbelow(number - 3) + 2, odd, power) for _ in range(rounds))


def _passes(number: int, base: int, odd: int, power: int) -> bool:
    value = pow(base, odd, number)
    if value in (1, number - 1):
        return True
    for _ in range(power - 1):
        value = value * value % number
        if value == number - 1:
            return True
    return False
