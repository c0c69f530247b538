"""Who signed an APK or a bundle: the certificates that its APK Signing Block or its JAR signature
names.

Reads which certificate each signer presents; does not verify the signatures of uploads. Google Play
does, and `apk_signature` verifies what comes back. A signature that can't be read counts as none.

Sources: source.android.com, "APK Signature Scheme v2", "v3"; JAR File Specification, "Signed JAR
File"; RFC 5652, section 5.3 (SignerInfo).
"""

from __future__ import annotations

import hashlib
import re
import struct
import warnings
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import Encoding, pkcs7
from cryptography.x509.oid import NameOID

from uploader.files.android.archive import Archive, MalformedFile

JAR_SIGNATURE = re.compile(r"META-INF/[^/]{1,200}\.(RSA|DSA|EC|SF)", re.IGNORECASE)

_BLOCK_MAGIC = b"APK Sig Block 42"
V2, V3, V3_1 = 0x7109871A, 0xF05368C0, 0x1B93AD61  # their ids in the block
_SCHEMES = (V3_1, V3, V2)  # a device goes by the newest that it knows
_MAX_PAIRS = 64  # signers, rotation, dependency info, padding: real files have fewer than ten
_MAX_SIGNATURE = 1 << 16  # bytes: with a long chain of certificates it has a sixth of that
_MAX_SIGNERS = 10  # as many as Android's own verifier accepts
_MAX_SUBJECT = 200  # characters of a name that people are shown
# What cryptography is known to raise is among these.
_UNREADABLE = (
    struct.error,
    ValueError,
    TypeError,
    IndexError,
    UnsupportedAlgorithm,
    x509.InvalidVersion,
)

# the certificate's SHA-256
_TEST_KEY = "a40da80a59d170caa950cf15c18c454d47a39b26989d8b640ecd745ba71bf5dc"


@dataclass(frozen=True)
class SigningCertificate:
    """The certificate of one signer: its SHA-256 in lower-case hex, and what it is when it is for
    no release.
    """

    sha256: str
    debug: str = ""


def signers(archive: Archive, *, apk: bool) -> tuple[SigningCertificate, ...]:
    """Every signer once: of an APK by its newest scheme, of a bundle by its JAR signature. Raises
    MalformedFile.
    """
    values = _values_by_scheme(archive) if apk else {}
    newest = next((values[scheme] for scheme in _SCHEMES if scheme in values), None)
    return _read(_signers_of_jar(archive) if newest is None else _signers_of_block(newest))


def jar_signers(archive: Archive) -> tuple[str, ...]:
    """SHA-256 of the certificate of each signer of the JAR signature. Raises MalformedFile for one
    that can't be read.

    Whether it holds is not verified.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return tuple(
                dict.fromkeys(hashlib.sha256(one).hexdigest() for one in _signers_of_jar(archive))
            )
        except _UNREADABLE:
            raise MalformedFile(
                "has a JAR signature that can't be read.", "Build and sign it again."
            ) from None


def _read(certificates: Iterable[bytes]) -> tuple[SigningCertificate, ...]:
    # about what old tools wrote into certificates, which is nobody's fault here
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return tuple(dict.fromkeys(map(_signing_certificate, certificates)))
        except _UNREADABLE:
            return ()


def _signing_certificate(der: bytes) -> SigningCertificate:
    sha256, debug = hashlib.sha256(der).hexdigest(), ""
    # as the DSA certificates of some JDKs: it is Play that takes or refuses them
    with suppress(*_UNREADABLE):
        subject = x509.load_der_x509_certificate(der).subject
        # Android's build tools make a key of this name where they are given none.
        if any(
            name.value == "Android Debug"
            for name in subject.get_attributes_for_oid(NameOID.COMMON_NAME)
        ):
            debug = (
                "the debug certificate of Android's build tools "
                f"({subject.rfc4514_string()[:_MAX_SUBJECT]})"
            )
    if sha256 == _TEST_KEY:
        debug = "the Android Open Source Project's test key, which is public"
    return SigningCertificate(sha256, debug)


def _signers_of_jar(archive: Archive) -> Iterator[bytes]:
    """The signers of the scheme v1: a PKCS #7 block beside each signature file of the same name.

    A block holds whole chains in any order; a signer's own certificate is the one whose issuer and
    serial number stand side by side in the block, as a SignerInfo names it. In a certificate they
    do not.
    """
    names = {name.upper(): name for name in archive.members if JAR_SIGNATURE.fullmatch(name)}
    pairs = [
        name
        for name in sorted(names)
        if not name.endswith(".SF") and f"{name.rpartition('.')[0]}.SF" in names
    ]
    for name in (names[pair] for pair in pairs[:_MAX_SIGNERS]):
        if archive.members[name].file_size > _MAX_SIGNATURE:
            continue
        block = archive.read(name)
        for certificate in pkcs7.load_der_pkcs7_certificates(block):
            number = certificate.serial_number
            length = number.bit_length() // 8 + 1  # DER's INTEGER has a sign
            serial = bytes([2, length]) + number.to_bytes(length, "big", signed=True)
            if certificate.issuer.public_bytes() + serial in block:
                yield certificate.public_bytes(Encoding.DER)


def _signers_of_block(value: bytes) -> Iterator[bytes]:
    """The signers of a scheme of the APK Signing Block: each one's own certificate is the first of
    its chain.
    """
    (every,) = _prefixed(value, 1)
    for signer in _prefixed(every, _MAX_SIGNERS):
        (signed,) = _prefixed(signer, 1)
        _digests, chain = _prefixed(signed, 2)
        (certificate,) = _prefixed(chain, 1)
        yield certificate


def _prefixed(data: bytes, count: int) -> list[bytes]:
    """The first `count` values that follow one another, each behind its length in 32 bits, or fewer
    at the end.
    """
    found: list[bytes] = []
    at = 0
    while at < len(data) and len(found) < count:
        (length,) = struct.unpack_from("<I", data, at)
        at += 4 + length
        if at > len(data):
            raise IndexError(at)
        found.append(data[at - length : at])
    return found


def _values_by_scheme(archive: Archive) -> dict[int, bytes]:
    """The signatures in the APK Signing Block, which lies right before the directory: by scheme, of
    two the first.

    From its end backwards: 16 bytes of magic, then 8 bytes of size; its pairs are length (8), id
    (4), value.
    """
    found: dict[int, bytes] = {}
    footer = archive.before_directory(24, 24)
    if footer[8:] != _BLOCK_MAGIC:
        return found
    # counted from the first pair to the end of the magic
    (remaining,) = struct.unpack_from("<Q", footer)
    for _ in range(_MAX_PAIRS):
        pair = archive.before_directory(remaining, 12) if remaining >= 24 + 12 else b""
        if not pair:
            break
        length, scheme = struct.unpack("<QI", pair)
        if scheme in _SCHEMES:
            fits = 4 <= length <= _MAX_SIGNATURE
            found.setdefault(
                scheme, archive.before_directory(remaining - 12, length - 4) if fits else b""
            )
        remaining -= 8 + length
    return found
