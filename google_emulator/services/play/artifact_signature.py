"""Whether an artifact may be released as it was built and signed; the words are those that Google Play refuses with.

They stand in public issues: Triple-T/gradle-play-publisher#803 (a bundle that is not signed) and #613 (an APK),
fastlane/fastlane#8651 (a debuggable one), flutter/flutter#116846 (signed in debug mode). Of a signature is seen that it
is there and for whom its certificate was made; nothing is verified.
"""

from __future__ import annotations

import re
import struct
import zipfile
from pathlib import Path

from google_emulator.http.errors import ApiError
from google_emulator.services.play.artifact_identity import MALFORMED, ArtifactIdentity
from google_emulator.services.play.model import ArtifactKind

SIGNATURE_LIMIT = 16 * 1024 * 1024  # bytes of certificates and signatures that are looked at
UNSIGNED: dict[ArtifactKind, str] = {
    "bundle": "The Android App Bundle was not signed. Please sign the bundle using jarsigner.",
    "apk": "APK signature is invalid or does not exist. Error from apksigner: ERROR: JAR_SIG_NO_MANIFEST: Missing "
    "META-INF/MANIFEST.MF",
}
DEBUGGABLE = "APK is marked as debuggable."
DEBUG_SIGNED = (
    "You uploaded an APK or Android App Bundle that was signed in debug mode. You need to sign your APK or Android App "
    "Bundle in release mode."
)
_BLOCK_OF_JAR = re.compile(r"META-INF/[^/]+\.(RSA|DSA|EC)", re.IGNORECASE)
_MAGIC = b"APK Sig Block 42"
_DEBUG_KEY = b"Android Debug"  # the common name that every Android SDK gives its debug certificate


def check_build(path: Path, kind: ArtifactKind, identity: ArtifactIdentity) -> None:
    """Refuses (403) what is a debug build, was signed as one, or was not signed at all."""
    try:
        signature = _signature(path, kind)
    except MALFORMED:
        signature = b""
    if not signature:
        raise ApiError(403, UNSIGNED[kind])
    if identity.debuggable:
        raise ApiError(403, DEBUGGABLE)
    if _DEBUG_KEY in signature:
        raise ApiError(403, DEBUG_SIGNED)


def _signature(path: Path, kind: ArtifactKind) -> bytes:
    """Every signature with its certificates, as bytes to be searched; empty without one."""
    with zipfile.ZipFile(path) as archive:
        blocks = [one for one in archive.infolist() if _BLOCK_OF_JAR.fullmatch(one.filename)]
        found = b"".join(archive.read(one) for one in blocks if one.file_size <= SIGNATURE_LIMIT)
        return found + _signing_block(path, archive.start_dir) if kind == "apk" else found


def _signing_block(path: Path, directory: int) -> bytes:
    """The APK Signing Block, which ends where the zip's directory begins (source.android.com, APK Signature Scheme)."""
    with path.open("rb") as file:
        file.seek(max(0, directory - 24))
        size, magic = struct.unpack("<Q16s", file.read(24))
        if magic != _MAGIC or not 24 <= size <= min(directory - 8, SIGNATURE_LIMIT):
            return b""
        file.seek(directory - size - 8)
        return file.read(size + 8)
