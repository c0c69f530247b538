"""Checks that the JAR signature (scheme v1) of an APK holds nothing but a signature.

A signature consists of `META-INF/MANIFEST.MF`, which lists every entry with a digest, of a
signature file (`.SF`) with digests of that list, and of a block (`.RSA`, `.EC`) with certificates.
Whether the block signs the list is not checked, since Android relies on the newer schemes.

Sources: JAR File Specification, "Signed JAR File"; apksig's V1SchemeSigner, with which bundletool
signs; RFC 5652 (SignedData).
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
import warnings
from collections.abc import Collection, Mapping
from typing import TypeAlias

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import Encoding, pkcs7

from uploader.files.android.archive import JAR_SIGNATURE
from uploader.files.android.served_files import Members

JAR_LIST = "META-INF/MANIFEST.MF"
_MAX_LIST = 8 << 20  # bytes: some hundred for each entry
# the list, and two files for each of as many signers as Android accepts
_MAX_PARTS = 21
_MAX_BLOCK = 1 << 16  # bytes
_MAX_REST = 2048  # bytes of a block beside its certificates: names, and a signature of 4,096 bits
_SECTION_END = b"\r\n\r\n"
_WRITER = re.compile(r"[\w.+() -]{1,60}", re.ASCII)
_DIGESTS: Mapping[str, str] = {
    "SHA1-Digest": "sha1",
    "SHA-256-Digest": "sha256",
}
_UNREADABLE = (ValueError, TypeError, UnsupportedAlgorithm)

_Section: TypeAlias = dict[str, str]
"""The attributes of a section by their names."""


def is_jar_part(name: str) -> bool:
    """Return whether an entry has the name of a part of a JAR signature."""
    if name == JAR_LIST:
        return True
    return JAR_SIGNATURE.fullmatch(name) is not None


class JarSignature:
    """The JAR signature of one APK. `certificates` are the SHA-256 of the certificate that signed
    the APK by a newer scheme, and of those before it in the proof of rotation.
    """

    def __init__(self, members: Members, certificates: Collection[str]) -> None:
        self._members = members
        self._certificates = certificates
        self._parts_left = _MAX_PARTS

    def is_expected(self, name: str) -> bool:
        """Return whether a part of the signature holds nothing but what a signature holds.

        Raises MalformedFile.
        """
        self._parts_left -= 1
        if self._parts_left < 0:
            return False
        if name == JAR_LIST:
            return self._is_list(name)
        if name.upper().endswith(".SF"):
            return self._is_signature_file(name)
        return self._is_block(name)

    def _is_list(self, name: str) -> bool:
        """Return whether the list has each entry once, with its digest, and nothing more."""
        data = self._read(name, _MAX_LIST)
        main, sections = _sections(data)
        if not _is_main(main, {"Manifest-Version": "1.0"}):
            return False
        listed = set()
        for section in sections:
            entry = section.pop("Name", "")
            if entry in listed:
                return False
            if entry not in self._members or is_jar_part(entry):
                return False
            listed.add(entry)
            if not self._has_digests(section, entry):
                return False
        return True

    def _has_digests(self, section: _Section, entry: str) -> bool:
        """Return whether a section of the list has digests of an entry, and nothing more."""
        for key, value in section.items():
            algorithm = _DIGESTS.get(key)
            if algorithm is None:
                return False
            if algorithm == "sha256":
                expected = self._members.sha256(entry)
            else:
                expected = self._members.digest(entry, algorithm)
            if _decode(value) != expected:
                return False
        return bool(section)

    def _is_signature_file(self, name: str) -> bool:
        """Return whether a signature file has digests of the list and of its sections, and nothing
        more.
        """
        if JAR_LIST not in self._members:
            return False
        listed = self._read(JAR_LIST, _MAX_LIST)
        data = self._read(name, _MAX_LIST)
        main, sections = _sections(data)
        for key, algorithm in _DIGESTS.items():
            digest = main.pop(f"{key}-Manifest", None)
            if digest is None:
                continue
            expected = hashlib.new(algorithm, listed).digest()
            if _decode(digest) != expected:
                return False
        schemes = main.pop("X-Android-APK-Signed", "2")
        if not re.fullmatch(r"(2|3|31)(, (2|3|31)){0,2}", schemes):
            return False
        if not _is_main(main, {"Signature-Version": "1.0"}):
            return False
        of_list = _raw_sections(listed)
        names = set()
        for section in sections:
            entry = section.pop("Name", "")
            if entry in names or entry not in of_list:
                return False
            names.add(entry)
            if not _has_digests_of(section, of_list[entry]):
                return False
        return True

    def _is_block(self, name: str) -> bool:
        """Return whether a block has one of the certificates, and little more."""
        signer, _, _ = name.rpartition(".")
        if f"{signer}.SF" not in self._members:
            return False
        data = self._read(name, _MAX_BLOCK)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                certificates = pkcs7.load_der_pkcs7_certificates(data)
            except _UNREADABLE:
                return False
        if len(certificates) != 1:
            return False
        certificate = certificates[0].public_bytes(Encoding.DER)
        rest = len(data) - len(certificate)
        if rest > _MAX_REST:
            return False
        fingerprint = hashlib.sha256(certificate).hexdigest()
        return fingerprint in self._certificates

    def _read(self, name: str, max_bytes: int) -> bytes:
        """Return a part; nothing if it is larger than any, or has more sections than there are
        entries.
        """
        if self._members.size(name) > max_bytes:
            return b""
        data = self._members.archive.read(name, max_bytes)
        section_count = data.count(_SECTION_END)
        entry_count = len(self._members.archive.members)
        if section_count > entry_count + 1:
            return b""
        return data


def _has_digests_of(section: _Section, listed: bytes) -> bool:
    """Return whether a section of a signature file has digests of a section of the list, and
    nothing more.
    """
    for key, value in section.items():
        algorithm = _DIGESTS.get(key)
        if algorithm is None:
            return False
        expected = hashlib.new(algorithm, listed).digest()
        if _decode(value) != expected:
            return False
    return True


def _is_main(section: _Section, version: Mapping[str, str]) -> bool:
    """Return whether a main section has its version and who wrote it, and nothing more."""
    others = dict(section)
    for key, value in version.items():
        if others.pop(key, None) != value:
            return False
    for key in ("Created-By", "Built-By"):
        writer = others.pop(key, "-")
        if not _WRITER.fullmatch(writer):
            return False
    return not others


def _sections(data: bytes) -> tuple[_Section, list[_Section]]:
    """Return the main section and the others. What is no list of attributes gives a main section
    that no signature has.
    """
    sections = []
    for block in _blocks(data):
        section = _section(block)
        if section is None:
            return {}, []
        sections.append(section)
    if not sections:
        return {}, []
    main, *others = sections
    return main, others


def _blocks(data: bytes) -> list[bytes]:
    """Return the sections, each with the empty line behind it. A line ends with CR and LF, as all
    known tools write it.
    """
    *complete, rest = data.split(_SECTION_END)
    blocks = [block + _SECTION_END for block in complete]
    if rest:
        blocks.append(rest)
    return blocks


def _section(block: bytes) -> _Section | None:
    """Return the attributes of a section; None if it is no list of attributes, or has one twice."""
    # A long line goes on behind a space, also within a character of several bytes.
    unfolded = block.removesuffix(_SECTION_END).replace(b"\r\n ", b"")
    try:
        text = unfolded.decode("utf-8")
    except UnicodeDecodeError:
        return None
    section: _Section = {}
    for line in text.split("\r\n"):
        key, colon, value = line.partition(": ")
        if not colon or key in section:
            return None
        section[key] = value
    return section


def _raw_sections(data: bytes) -> dict[str, bytes]:
    """Return the sections of the list as they are, by the name of the entry."""
    sections = {}
    for block in _blocks(data)[1:]:
        section = _section(block) or {}
        entry = section.get("Name", "")
        sections[entry] = block
    return sections


def _decode(value: str) -> bytes:
    """Decode base64; nothing for anything else."""
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        return b""
