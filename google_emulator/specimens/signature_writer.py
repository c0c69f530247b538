"""Writes what says who signed a file: certificates, the files of a JAR signature, the values of an
APK Signing Block.

The signatures of `signed_apk` are valid; its keys are derived from the signers' names. In JAR
signatures and in `scheme_value`, the certificates and digests are real, but the signatures are
zeros: this is enough for a reader that only looks at who signed. From RFC 5280 (certificates), RFC
5652 (PKCS #7) and source.android.com (APK Signature Scheme v2 and v3).
"""

from __future__ import annotations

import base64
import hashlib
import struct
from collections.abc import Mapping, Sequence

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

RELEASE, DEBUG = (
    "Specimen Release",
    "Android Debug",
)  # common names of the two kinds of keys
V2, V3, V3_1 = 0x7109871A, 0xF05368C0, 0x1B93AD61
_ROTATION, _ECDSA_SHA256, _CHUNK = 0x3BA06F8C, 0x0201, 1 << 20

_SEQUENCE, _SET, _INTEGER, _BITS, _OCTETS, _NULL, _UTF8, _TIME = (
    0x30,
    0x31,
    0x02,
    0x03,
    0x04,
    0x05,
    0x0C,
    0x17,
)
_OID = 0x06
_COMMON_NAME, _ORGANIZATION, _COUNTRY = (
    b"\x55\x04\x03",
    b"\x55\x04\x0a",
    b"\x55\x04\x06",
)
_RSA, _RSA_SHA256 = (
    b"\x2a\x86\x48\x86\xf7\x0d\x01\x01\x01",
    b"\x2a\x86\x48\x86\xf7\x0d\x01\x01\x0b",
)
_DATA, _SIGNED_DATA = (
    b"\x2a\x86\x48\x86\xf7\x0d\x01\x07\x01",
    b"\x2a\x86\x48\x86\xf7\x0d\x01\x07\x02",
)
_SHA256 = b"\x60\x86\x48\x01\x65\x03\x04\x02\x01"
_SIGNATURE = bytes(64)  # as long as one by RSA with 512 bits, to keep the files short


def der(tag: int, *contents: bytes) -> bytes:
    """Return one DER value."""
    content = b"".join(contents)
    if len(content) < 0x80:
        return bytes([tag, len(content)]) + content
    length = len(content).to_bytes((len(content).bit_length() + 7) // 8, "big")
    return bytes([tag, 0x80 | len(length)]) + length + content


def certificate(
    common_name: str = RELEASE, *, serial: int = 1, issuer: str = ""
) -> bytes:
    """Return an X.509 certificate, self-issued unless an issuer is named."""
    tbs = der(
        _SEQUENCE,
        der(0xA0, der(_INTEGER, b"\2")),
        der(_INTEGER, bytes([serial])),
        _algorithm(_RSA_SHA256),
        _name(issuer or common_name),
        der(_SEQUENCE, der(_TIME, b"240101000000Z"), der(_TIME, b"490101000000Z")),
        _name(common_name),
        _public_key(common_name),
    )
    return der(_SEQUENCE, tbs, _algorithm(_RSA_SHA256), der(_BITS, b"\0", _SIGNATURE))


def pkcs7(*chain: bytes, issuer: str = RELEASE, serial: int = 1) -> bytes:
    """Return a PKCS #7 block with these certificates. The signer is the certificate with this
    issuer and serial number.
    """
    signer = der(
        _SEQUENCE,
        der(_INTEGER, b"\1"),
        der(_SEQUENCE, _name(issuer), der(_INTEGER, bytes([serial]))),
        _algorithm(_SHA256),
        _algorithm(_RSA),
        der(_OCTETS, _SIGNATURE),
    )
    signed = der(
        _SEQUENCE,
        der(_INTEGER, b"\1"),
        der(_SET, _algorithm(_SHA256)),
        der(_SEQUENCE, der(_OID, _DATA)),
        der(0xA0, *chain),
        der(_SET, signer),
    )
    return der(_SEQUENCE, der(_OID, _SIGNED_DATA), der(0xA0, signed))


def jar_signature(
    files: Sequence[tuple[str, bytes]], signer: str = RELEASE
) -> list[tuple[str, bytes]]:
    """Return the files of a JAR signature in META-INF. `signer` is the common name."""
    lines = [b"Manifest-Version: 1.0\r\n\r\n"]
    for name, data in files:
        digest = base64.b64encode(hashlib.sha256(data).digest())
        lines.append(
            b"Name: %b\r\nSHA-256-Digest: %b\r\n\r\n" % (name.encode(), digest)
        )
    manifest = b"".join(lines)
    digest = base64.b64encode(hashlib.sha256(manifest).digest())
    signature = (
        b"Signature-Version: 1.0\r\nSHA-256-Digest-Manifest: %b\r\n\r\n" % digest
    )
    block = pkcs7(certificate(signer), issuer=signer)
    return [
        ("META-INF/MANIFEST.MF", manifest),
        ("META-INF/CERT.SF", signature),
        ("META-INF/CERT.RSA", block),
    ]


def scheme_value(*signers: Sequence[bytes], scheme: int = V2) -> bytes:
    """Return the value of a signature scheme in the APK Signing Block. Each signer is a chain of
    certificates.
    """
    return _prefixed(*(_prefixed(_block_signer(chain, scheme)) for chain in signers))


def with_signing_block(
    apk: bytes, *pairs: tuple[int, bytes], size: int | None = None
) -> bytes:
    """Return the APK with an APK Signing Block of these ids and values in front of the zip's
    directory. `size` is the size that the block claims, in bytes; its real one unless given.
    """
    (directory,) = struct.unpack_from("<I", apk, len(apk) - 6)
    content = b"".join(
        struct.pack("<QI", 4 + len(value), scheme) + value for scheme, value in pairs
    )
    length = struct.pack("<Q", len(content) + 24 if size is None else size)
    block = length + content + length + b"APK Sig Block 42"
    end = bytearray(apk[directory:])
    struct.pack_into("<I", end, len(end) - 6, directory + len(block))
    return apk[:directory] + block + end


def signed_apk(
    apk: bytes, schemes: Mapping[int, str], lineage: Sequence[str] = ()
) -> bytes:
    """Return an APK with valid signatures. `schemes` has the signer's common name for each scheme.

    The newest scheme has a proof of rotation of `lineage`: the common names from the oldest to its
    own.
    """
    (directory,) = struct.unpack_from("<I", apk, len(apk) - 6)
    end = len(apk) - 22
    sections = (apk[:directory], apk[directory:end], apk[end:])
    digest = _content_digest(sections)
    newest = max(schemes, key=(V2, V3, V3_1).index)
    pairs = []
    for scheme, name in schemes.items():
        attributes = b""
        if lineage and scheme == newest:
            attributes = _prefixed(struct.pack("<I", _ROTATION) + _rotation(lineage))
        pairs.append(
            (
                scheme,
                _prefixed(_prefixed(_real_signer(name, scheme, digest, attributes))),
            )
        )
    return with_signing_block(apk, *pairs)


def _real_signer(name: str, scheme: int, digest: bytes, attributes: bytes) -> bytes:
    levels = {V2: (), V3: (24, 32), V3_1: (33, 0x7FFFFFFF)}[scheme]
    sdks = b"".join(struct.pack("<I", level) for level in levels)
    digests = _prefixed(_prefixed(struct.pack("<I", _ECDSA_SHA256), _prefixed(digest)))
    signed = (
        digests + _prefixed(_prefixed(certificate(name))) + sdks + _prefixed(attributes)
    )
    signature = _key(name).sign(signed, ec.ECDSA(SHA256()))
    signatures = _prefixed(
        _prefixed(struct.pack("<I", _ECDSA_SHA256), _prefixed(signature))
    )
    return _prefixed(signed) + sdks + signatures + _prefixed(_public_key(name))


def _rotation(lineage: Sequence[str]) -> bytes:
    """Return a proof of rotation: each certificate, signed by the one before it."""
    nodes, parent = b"", ""
    for name in lineage:
        signed = _prefixed(certificate(name)) + struct.pack(
            "<I", _ECDSA_SHA256 if parent else 0
        )
        signature = _key(parent).sign(signed, ec.ECDSA(SHA256())) if parent else b""
        nodes += _prefixed(
            _prefixed(signed)
            + struct.pack("<2I", 0x17, _ECDSA_SHA256)
            + _prefixed(signature)
        )
        parent = name
    return struct.pack("<I", 1) + nodes


def _content_digest(sections: Sequence[bytes]) -> bytes:
    """Return the SHA-256 of the digests of all chunks of the sections."""
    chunks = [
        section[at : at + _CHUNK]
        for section in sections
        for at in range(0, len(section), _CHUNK)
    ]
    top = hashlib.sha256(b"\x5a" + struct.pack("<I", len(chunks)))
    for chunk in chunks:
        top.update(
            hashlib.sha256(b"\xa5" + struct.pack("<I", len(chunk)) + chunk).digest()
        )
    return top.digest()


def _key(common_name: str) -> ec.EllipticCurvePrivateKey:
    """Return the key of a common name. It is always the same one, and not secret."""
    number = int.from_bytes(hashlib.sha256(common_name.encode()).digest()[1:], "big")
    return ec.derive_private_key(number, ec.SECP256R1())


def _public_key(common_name: str) -> bytes:
    return (
        _key(common_name)
        .public_key()
        .public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    )


def _block_signer(chain: Sequence[bytes], scheme: int) -> bytes:
    digests = _prefixed(_prefixed(struct.pack("<I", 0x0103), _prefixed(bytes(32))))
    levels = b"" if scheme == V2 else struct.pack("<2I", 24, 0x7FFFFFFF)
    signed = digests + _prefixed(*map(_prefixed, chain)) + levels + _prefixed()
    signatures = _prefixed(_prefixed(struct.pack("<I", 0x0103), _prefixed(_SIGNATURE)))
    return _prefixed(signed) + levels + signatures + _prefixed(b"key")


def _prefixed(*contents: bytes) -> bytes:
    content = b"".join(contents)
    return struct.pack("<I", len(content)) + content


def _algorithm(oid: bytes) -> bytes:
    return der(_SEQUENCE, der(_OID, oid), der(_NULL))


def _name(common_name: str) -> bytes:
    parts = (
        (_COUNTRY, b"US"),
        (_ORGANIZATION, b"Android"),
        (_COMMON_NAME, common_name.encode()),
    )
    return der(
        _SEQUENCE,
        *(
            der(_SET, der(_SEQUENCE, der(_OID, oid), der(_UTF8, text)))
            for oid, text in parts
        ),
    )
