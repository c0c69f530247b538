"""A certificate for Google's hosts, signed by an authority that is made for it and whose key nobody keeps."""

from __future__ import annotations

import ipaddress
import ssl
import tempfile
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, NoEncryption, PrivateFormat
from cryptography.hazmat.primitives.serialization.pkcs12 import PKCS12Certificate, serialize_java_truststore
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

HOSTS = (
    "googleapis.com", "*.googleapis.com", "*.storage.googleapis.com", "accounts.google.com", "*.googleusercontent.com",
)  # fmt: skip
TRUSTSTORE_PASSWORD = "changeit"  # noqa: S105  # what Java expects of a truststore; nothing in it is secret
LIFETIME = timedelta(days=30)
_SKEW = timedelta(hours=1)


class Certificates(NamedTuple):
    """What a server and its clients need.

    `authority` is what clients must trust, as PEM; `truststore` the same for Java, as PKCS #12; `context` is the
    server's, with the certificate in it.
    """

    authority: bytes
    truststore: bytes
    context: ssl.SSLContext


def make_certificates() -> Certificates:
    """A new authority, and the server's certificate for `HOSTS` and 127.0.0.1."""
    authority_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "google_emulator (no authority of Google's)")])
    authority = (
        _builder(name, name, authority_key.public_key(), authority_key.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs=True), critical=True)
        .sign(authority_key, SHA256())
    )
    leaf = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, HOSTS[1])])
    loopback = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    certificate = (
        _builder(leaf, name, key.public_key(), authority_key.public_key())
        .add_extension(x509.SubjectAlternativeName([*map(x509.DNSName, HOSTS), loopback]), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .sign(authority_key, SHA256())
    )
    chain = certificate.public_bytes(Encoding.PEM) + authority.public_bytes(Encoding.PEM)
    secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return Certificates(authority.public_bytes(Encoding.PEM), _truststore(authority), _context(secret + chain))


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, issuer_key: ec.EllipticCurvePublicKey
) -> x509.CertificateBuilder:
    """What both certificates have: names, keys, a number, a life that began a while ago for clocks that are late."""
    now = datetime.now(timezone.utc)
    return (
        x509.CertificateBuilder(issuer, subject, key, x509.random_serial_number(), now - _SKEW, now + LIFETIME)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key), critical=False)
    )


def _usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs, content_commitment=False, key_encipherment=False, data_encipherment=False,
        key_agreement=False, key_cert_sign=signs, crl_sign=signs, encipher_only=False, decipher_only=False,
    )  # fmt: skip


def _truststore(authority: x509.Certificate) -> bytes:
    entry = PKCS12Certificate(authority, b"google_emulator")
    return serialize_java_truststore([entry], BestAvailableEncryption(TRUSTSTORE_PASSWORD.encode()))


def _context(pem: bytes) -> ssl.SSLContext:
    """The server's side of TLS; the key is in a file for the moment in which it is read, since `ssl` wants one."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.NamedTemporaryFile() as file:  # mode 0600 by its contract
        file.write(pem)
        file.flush()
        context.load_cert_chain(Path(file.name))
    return context
