"""Reads who signed an APK or a bundle: the certificates that its APK Signing Block or its JAR
signature names.

The signatures of uploads are not verified, since Google Play does that; `apk_signature` verifies
what comes back. A signature that can't be read counts as none.

Sources: source.android.com, "APK Signature Scheme v2", "v3"; JAR File Specification, "Signed JAR
File"; RFC 5652, section 5.3 (SignerInfo).
"""

from __future__ import annotations

import hashlib
import struct
import warnings
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import Encoding, pkcs7
from cryptography.x509.oid import NameOID

from uploader.files.android.archive import JAR_SIGNATURE, Archive, MalformedFile

_BLOCK_MAGIC = b"APK Sig Block 42"
# the schemes' ids in the block
V2 = 0x7109871A
V3 = 0xF05368C0
V3_1 = 0x1B93AD61
_SCHEMES = (V3_1, V3, V2)  # a device uses the newest that it knows
# pairs in the signing block: signatures, dependency info, padding; real files have fewer than ten
_MAX_PAIRS = 64
# bytes: with a long chain of certificates it has a sixth of that
_MAX_SIGNATURE = 1 << 16
_MAX_SIGNERS = 10  # as many as Android's own verifier accepts
_MAX_SUBJECT = 200  # characters of a name that people are shown
# Everything that cryptography is known to raise for a damaged signature.
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
    """The certificate of one signer: its SHA-256 in lower-case hex. `debug` says what it is when it
    is not for releases.
    """

    sha256: str
    debug: str = ""


def signers(archive: Archive, *, apk: bool) -> tuple[SigningCertificate, ...]:
    """Return every signer once: for an APK by its newest scheme, for a bundle, or an APK without a
    newer scheme, by its JAR signature. Raises MalformedFile.
    """
    if apk:
        values = _values_by_scheme(archive)
        for scheme in _SCHEMES:
            if scheme in values:
                return _read(_signers_of_block(values[scheme]))
    return _read(_signers_of_jar(archive))


def jar_signers(archive: Archive) -> tuple[str, ...]:
    """Return the SHA-256 of the certificate of each signer of the JAR signature, which is not
    verified. Raises MalformedFile for one that can't be read.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            certificates = list(_signers_of_jar(archive))
        except _UNREADABLE:
            raise MalformedFile(
                "has a JAR signature that can't be read.", "Build and sign it again."
            ) from None
    digests = [hashlib.sha256(certificate).hexdigest() for certificate in certificates]
    return tuple(dict.fromkeys(digests))


def _read(certificates: Iterable[bytes]) -> tuple[SigningCertificate, ...]:
    """Read the certificates; none of them if one can't be read."""
    # cryptography warns about what old tools wrote into certificates, which no user can change.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            read = map(_signing_certificate, certificates)
            return tuple(dict.fromkeys(read))
        except _UNREADABLE:
            return ()


def _signing_certificate(der: bytes) -> SigningCertificate:
    """Read a certificate. One that cryptography can't read, such as the DSA certificates of some
    JDKs, is known by its SHA-256 alone; Play decides whether to take it.
    """
    sha256 = hashlib.sha256(der).hexdigest()
    debug = ""
    with suppress(*_UNREADABLE):
        certificate = x509.load_der_x509_certificate(der)
        subject = certificate.subject
        names = subject.get_attributes_for_oid(NameOID.COMMON_NAME)
        # Android's build tools make a key of this name if they are given none.
        if any(name.value == "Android Debug" for name in names):
            shown_subject = subject.rfc4514_string()[:_MAX_SUBJECT]
            debug = f"the debug certificate of Android's build tools ({shown_subject})"
    if sha256 == _TEST_KEY:
        debug = "the Android Open Source Project's test key, which is public"
    return SigningCertificate(sha256, debug)


def _signers_of_jar(archive: Archive) -> Iterator[bytes]:
    """Yield the certificates of the signers by the scheme v1, from a PKCS #7 block beside each
    signature file of the same name.

    A block holds whole chains in any order. A signer's own certificate is the one whose issuer and
    serial number stand side by side in the block, as a SignerInfo names it. In a certificate they
    do not.
    """
    for name in _signature_blocks(archive)[:_MAX_SIGNERS]:
        if archive.members[name].file_size > _MAX_SIGNATURE:
            continue
        block = archive.read(name)
        for certificate in pkcs7.load_der_pkcs7_certificates(block):
            issuer = certificate.issuer.public_bytes()
            serial = _integer_in_der(certificate.serial_number)
            if issuer + serial in block:
                yield certificate.public_bytes(Encoding.DER)


def _integer_in_der(number: int) -> bytes:
    """Return a number as an INTEGER in DER (X.690, 8.3)."""
    # It has a sign, which may need a byte of its own.
    length = number.bit_length() // 8 + 1
    header = bytes([2, length])
    content = number.to_bytes(length, "big", signed=True)
    return header + content


def _signature_blocks(archive: Archive) -> list[str]:
    """Return the names of the PKCS #7 blocks that have a signature file of the same name, sorted;
    upper and lower case do not count.
    """
    names = {
        name.upper(): name for name in archive.members if JAR_SIGNATURE.fullmatch(name)
    }
    blocks: list[str] = []
    for upper_name in sorted(names):
        stem, _, ending = upper_name.rpartition(".")
        signature_file = f"{stem}.SF"
        if ending != "SF" and signature_file in names:
            blocks.append(names[upper_name])
    return blocks


def _signers_of_block(value: bytes) -> Iterator[bytes]:
    """Yield the certificates of the signers by a scheme of the APK Signing Block. A signer's own
    certificate is the first of its chain.
    """
    (signer_list,) = _read_prefixed(value, 1)
    for signer in _read_prefixed(signer_list, _MAX_SIGNERS):
        (signed,) = _read_prefixed(signer, 1)
        _digests, chain = _read_prefixed(signed, 2)
        (certificate,) = _read_prefixed(chain, 1)
        yield certificate


def _read_prefixed(data: bytes, count: int) -> list[bytes]:
    """Return the first `count` values that follow one another, each behind its length in 32 bits,
    or fewer at the end.
    """
    values: list[bytes] = []
    offset = 0
    while offset < len(data) and len(values) < count:
        (length,) = struct.unpack_from("<I", data, offset)
        start = offset + 4
        offset = start + length
        if offset > len(data):
            raise IndexError(offset)
        values.append(data[start:offset])
    return values


def _values_by_scheme(archive: Archive) -> dict[int, bytes]:
    """Return the signatures in the APK Signing Block, which lies right before the directory, by
    scheme. If there are two of one scheme, the first one counts.

    The block ends with 16 bytes of magic, and before them 8 bytes with its size. Its pairs are
    length (8), id (4), value.
    """
    values: dict[int, bytes] = {}
    footer = archive.before_directory(24, 24)
    if footer[8:] != _BLOCK_MAGIC:
        return values
    # The size counts from the first pair to the end of the magic.
    (remaining,) = struct.unpack_from("<Q", footer)
    for _ in range(_MAX_PAIRS):
        if remaining < 24 + 12:
            break
        pair = archive.before_directory(remaining, 12)
        if not pair:
            break
        length, scheme = struct.unpack("<QI", pair)
        if scheme in _SCHEMES and scheme not in values:
            # An empty value can't be read, so that the file counts as not signed.
            values[scheme] = b""
            if 4 <= length <= _MAX_SIGNATURE:
                distance = remaining - 12
                values[scheme] = archive.before_directory(distance, length - 4)
        remaining -= 8 + length
    return values
