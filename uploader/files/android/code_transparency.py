"""Reads the code transparency file of a bundle: a list of its code, signed with a key that Google
does not have.

The file is a JSON Web Signature in its compact form (RFC 7515) with the algorithm RS256, and the
certificate of its key in `x5c`. The list names each dex file and native library with its SHA-256
(bundletool, code_transparency.proto and CodeTransparencyFactory; developer.android.com, "Code
transparency for app bundles"). The certificate alone does not show whose it is: compare it with the
one that the developer published.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.hashes import SHA256

IN_BUNDLE = (
    "BUNDLE-METADATA/com.android.tools.build.bundletool/code_transparency_signed.jwt"
)
IN_APK = "META-INF/code_transparency_signed.jwt"
_VERSION = 1
_SHA256 = re.compile("[0-9a-f]{64}")
_UNREADABLE = (
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    RecursionError,
    binascii.Error,
    x509.InvalidVersion,
)


class InvalidTransparency(Exception):
    """The file can't be relied on. The text continues a sentence that begins with what it is."""


@dataclass(frozen=True)
class Transparency:
    """A list of code whose signature holds: SHA-256 by the path in the bundle, and the SHA-256 of
    the signer's certificate. Hexadecimal digits are in lower case.
    """

    certificate: str
    files: Mapping[str, str]


def read_transparency(data: bytes) -> Transparency:
    """Return the list in a code transparency file, verified. Raises InvalidTransparency."""
    try:
        parts = data.decode("ascii").strip().split(".")
        header, payload, signature = (_decode(part) for part in parts)
        fields = json.loads(header)
        if fields["alg"] != "RS256":
            raise InvalidTransparency("is signed with another algorithm than RS256")
        der = base64.b64decode(fields["x5c"][0], validate=True)
        key = x509.load_der_x509_certificate(der).public_key()
        if not isinstance(key, rsa.RSAPublicKey):
            raise InvalidTransparency("is signed with a key that is not RSA")
        signed = ".".join(parts[:2]).encode()
        key.verify(signature, signed, padding.PKCS1v15(), SHA256())
        files = _files(json.loads(payload))
    except (InvalidSignature, UnsupportedAlgorithm):
        raise InvalidTransparency("has a signature that does not hold") from None
    except _UNREADABLE:
        raise InvalidTransparency("can't be read") from None
    return Transparency(hashlib.sha256(der).hexdigest(), files)


def _decode(part: str) -> bytes:
    """Decode base64url without padding. Raises ValueError for other characters."""
    if not re.fullmatch("[A-Za-z0-9_-]*", part):
        raise ValueError(part[:10])
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))


def _files(payload: Any) -> dict[str, str]:
    """Return the listed files of the bundle. Raises InvalidTransparency, and those in
    _UNREADABLE.
    """
    if payload.get("version", 0) != _VERSION:
        raise InvalidTransparency("has a version that is not known")
    files: dict[str, str] = {}
    for entry in payload.get("codeRelatedFile", []):
        # The code of the archived app is bundletool's and in no bundle.
        if "bundletoolRepoPath" in entry:
            continue
        path = entry["path"]
        sha256 = entry["sha256"]
        if not isinstance(path, str) or not _SHA256.fullmatch(sha256) or path in files:
            raise InvalidTransparency("lists a file twice, or without a SHA-256")
        files[path] = sha256
    return files
