"""The service account's RSA key pair: signatures made and verified with SHA-256 (RSASSA-PKCS1-v1_5, RFC 8017)."""

from __future__ import annotations

import hashlib
from functools import lru_cache

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

KEY_SIZE = 2048  # bits, as in the keys that Google makes


class SigningKey:
    """A key pair. `id` is 40 hexadecimal digits derived from the public key, so that equal keys have equal ids."""

    def __init__(self) -> None:
        self._private = rsa.generate_private_key(public_exponent=65537, key_size=KEY_SIZE)
        public = self._private.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        self.id = hashlib.sha256(public).hexdigest()[:40]

    def sign(self, message: bytes) -> bytes:
        """The signature over the SHA-256 of `message`."""
        return self._private.sign(message, padding.PKCS1v15(), hashes.SHA256())

    def verifies(self, message: bytes, signature: bytes) -> bool:
        """Whether the signature is this key's and for exactly this message."""
        try:
            self._private.public_key().verify(signature, message, padding.PKCS1v15(), hashes.SHA256())
        except InvalidSignature:
            return False
        return True

    def private_pem(self) -> str:
        """The private key as PEM in PKCS#8 (RFC 5208), the form found in service-account keys."""
        return self._private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


@lru_cache(maxsize=1)
def process_key() -> SigningKey:
    """The key pair of this process, shared by all its emulators; making one takes some 30 ms, so it is made once."""
    return SigningKey()
