"""A service account's RSA key, ready to sign: read quickly, and still refused here when a single bit of it is wrong."""

from __future__ import annotations

from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from google.auth.crypt import RSASigner

SHORTEST = 1024  # bits


def rsa_signer(pem: str, key_id: str | None) -> RSASigner:
    """The signer for a key in PEM form. Raises ValueError for one that is damaged, or is no RSA key.

    The library's own validation proves both primes prime again, 25 ms at each start. Damage is what happens to a key on
    its way here, and damage breaks the equations between its numbers (RFC 8017, section 3.2) whatever it hits.
    """
    key = load_pem_private_key(pem.encode(), None, unsafe_skip_rsa_key_validation=True)
    if not (isinstance(key, RSAPrivateKey) and key.key_size >= SHORTEST and _sound(key)):
        raise ValueError("no sound RSA key")
    return RSASigner(key, key_id)  # type: ignore[no-untyped-call]  # google-auth has no types here


def _sound(key: RSAPrivateKey) -> bool:
    """Whether the eight numbers of the key belong together."""
    held = key.private_numbers()
    n, e, d, p, q = held.public_numbers.n, held.public_numbers.e, held.d, held.p, held.q
    return (
        p * q == n
        and p & q & 1 == 1
        and min(p, q) > 1
        and e * d % (p - 1) == 1
        and e * d % (q - 1) == 1
        and (held.dmp1, held.dmq1) == (d % (p - 1), d % (q - 1))
        and held.iqmp * q % p == 1
    )
