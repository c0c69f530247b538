"""Who signed an APK or a bundle: the certificates that its APK Signing Block or its JAR signature names.

Read is which certificate each signer presents as its own; whether the signatures hold is not verified: that takes every
byte of the file, and Google Play does it. A signature that can't be read counts as none.
Sources: source.android.com, "APK Signature Scheme v2" and "v3"; JAR File Specification, "Signed JAR File".
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import BinaryIO

from uploader.files.android.archive import ZipReader
from uploader.files.android.pkcs7 import signer_certificates, subject_of

JAR_SIGNATURE = re.compile(r"META-INF/[^/]{1,200}\.(RSA|DSA|EC|SF)", re.IGNORECASE)

_BLOCK_MAGIC = b"APK Sig Block 42"
_SCHEMES = (0x1B93AD61, 0xF05368C0, 0x7109871A)  # v3.1, v3, v2: a device goes by the newest that it knows
_MAX_PAIRS = 64  # signers, rotation, dependency info, padding: real files have fewer than ten
_MAX_SIGNATURE = 1 << 16  # bytes: with a long chain of certificates it has a sixth of that
_MAX_SIGNERS = 10  # as many as Android's own verifier accepts
_DEBUG_NAME = ("CN", "Android Debug")  # of the key that Android's build tools make where they are given none
_LONGEST_SUBJECT = 200  # characters of a name that people are shown

_PUBLIC_KEYS = {  # by the certificate's SHA-256
    "a40da80a59d170caa950cf15c18c454d47a39b26989d8b640ecd745ba71bf5dc": (
        "the Android Open Source Project's test key, which is public"
    ),
}


@dataclass(frozen=True)
class SigningCertificate:
    """The certificate of one signer: its SHA-256 in lower-case hex, and what it is when it is for no release."""

    sha256: str
    debug: str = ""


def signers(archive: ZipReader, *, apk: bool) -> tuple[SigningCertificate, ...]:
    """Every signer once: of an APK by its newest scheme, of a bundle by its JAR signature. Raises MalformedFile."""
    values = _by_scheme(archive) if apk else {}
    newest = next((values[scheme] for scheme in _SCHEMES if scheme in values), None)
    return _certificates(lambda: _of_jar(archive) if newest is None else _of_block(newest))


def signers_by_any_scheme(file: BinaryIO) -> tuple[SigningCertificate, ...]:
    """The signers that the APK Signing Block names for any device: after a rotation, old devices go by the old key.

    Raises MalformedFile.
    """
    archive = ZipReader(file, file.seek(0, 2), lambda _: False)
    values = _by_scheme(archive).values()
    return tuple(one for value in values for one in _certificates(partial(_of_block, value)))


def _certificates(read: Callable[[], list[bytes]]) -> tuple[SigningCertificate, ...]:
    try:
        return tuple(dict.fromkeys(map(_certificate, read())))
    except (struct.error, ValueError, IndexError, KeyError):
        return ()


def _of_jar(archive: ZipReader) -> list[bytes]:
    """The signers' certificates of the scheme v1: a block beside each signature file of the same name."""
    names = {name.upper(): name for name in archive.entries if JAR_SIGNATURE.fullmatch(name)}
    pairs = [name for name in sorted(names) if not name.endswith(".SF") and f"{name.rpartition('.')[0]}.SF" in names]
    blocks = [names[name] for name in pairs[:_MAX_SIGNERS] if archive.entries[names[name]].size <= _MAX_SIGNATURE]
    return [certificate for block in blocks for certificate in signer_certificates(archive.read(block))]


def _of_block(value: bytes) -> list[bytes]:
    """The signers' certificates of a scheme of the APK Signing Block: each signer's own is the first of its chain."""
    found: list[bytes] = []
    every = _Prefixed(value).next()
    while every.more and len(found) < _MAX_SIGNERS:
        signed = every.next().next()
        signed.next()  # the digests of the file
        found.append(signed.next().next().data)
    return found


def _certificate(der: bytes) -> SigningCertificate:
    import hashlib  # OpenSSL, 2 ms that a refusal of the inputs does without

    subject, digest = subject_of(der), hashlib.sha256(der).hexdigest()
    named = ", ".join(f"{key}={value}" for key, value in subject)[:_LONGEST_SUBJECT]
    debug = f"the debug certificate of Android's build tools ({named})" if _DEBUG_NAME in subject else ""
    return SigningCertificate(digest, _PUBLIC_KEYS.get(digest, debug))


def _by_scheme(archive: ZipReader) -> dict[int, bytes]:
    """The signatures by scheme: of two with one id Android reads the first."""
    return dict(reversed(list(_block_pairs(archive))))


def _block_pairs(archive: ZipReader) -> Iterator[tuple[int, bytes]]:
    """The signatures in the APK Signing Block, by id; it lies right before the directory.

    From its end backwards: 16 bytes of magic, then 8 bytes of size; its pairs are length (8), id (4), value.
    """
    footer = archive.bytes_before_directory(24, 24)
    if footer[8:] != _BLOCK_MAGIC:
        return
    remaining = struct.unpack_from("<Q", footer)[0]  # counted from the first pair to the end of the magic
    for _ in range(_MAX_PAIRS):
        pair = archive.bytes_before_directory(remaining, 12) if remaining >= 24 + 12 else b""
        if not pair:
            return
        length, scheme = struct.unpack("<QI", pair)
        if scheme in _SCHEMES:
            value = archive.bytes_before_directory(remaining - 12, length - 4) if 4 <= length <= _MAX_SIGNATURE else b""
            yield scheme, value
        remaining -= 8 + length


class _Prefixed:
    """Values that follow one another, each behind its length in 32 bits."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self._at = 0

    @property
    def more(self) -> bool:
        """Whether another value follows."""
        return self._at < len(self.data)

    def next(self) -> _Prefixed:
        """The next value, to be taken apart in its turn. Raises struct.error or IndexError."""
        (length,) = struct.unpack_from("<I", self.data, self._at)
        begin, self._at = self._at + 4, self._at + 4 + length
        if self._at > len(self.data):
            raise IndexError(self._at)
        return _Prefixed(self.data[begin : self._at])
