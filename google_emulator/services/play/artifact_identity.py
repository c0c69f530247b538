"""What an uploaded APK or bundle says of itself: package and version, and whether it is a debug build."""

from __future__ import annotations

import lzma
import struct
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from google_emulator.http.errors import ApiError
from google_emulator.services.play.binary_xml import binary_elements
from google_emulator.services.play.model import ArtifactKind
from google_emulator.services.play.proto_xml import proto_elements

MANIFEST_LIMIT = 16 * 1024 * 1024  # bytes
_ENTRIES: dict[ArtifactKind, str] = {"apk": "AndroidManifest.xml", "bundle": "base/manifest/AndroidManifest.xml"}
MALFORMED = (
    *(zipfile.BadZipFile, KeyError, ValueError, TypeError, IndexError, struct.error, zlib.error, EOFError),
    *(RecursionError, NotImplementedError, RuntimeError),  # a compression that nobody knows, an encrypted entry
    *(OSError, lzma.LZMAError),  # an entry outside the file, one of bzip2 or of LZMA
)
UNREADABLE: dict[ArtifactKind, str] = {
    "bundle": "We have failed to run 'bundletool build-apks' on this Android App Bundle. Please ensure your bundle is "
    "valid by running 'bundletool build-apks' locally and try again.",
    "apk": "APK cannot be analyzed using aapt dump badging.",
}
Attributes = Mapping[str, "str | int"]


@dataclass(frozen=True, slots=True)
class ArtifactIdentity:
    """Package name, version code and version name of an artifact."""

    package: str
    code: int
    name: str = ""
    debuggable: bool = False


def read_identity(path: Path, kind: ArtifactKind) -> ArtifactIdentity:
    """Reads an artifact. Raises `ApiError` 403 when it is not what the method takes.

    Google's words stand in Triple-T/gradle-play-publisher#900 and kiwix/kiwix-android#3296.
    """
    try:
        with zipfile.ZipFile(path) as archive, archive.open(_ENTRIES[kind]) as file:
            data = file.read(MANIFEST_LIMIT)
        return _identity(list(binary_elements(data) if kind == "apk" else proto_elements(data)))
    except MALFORMED as error:
        raise ApiError(403, UNREADABLE[kind]) from error


def _identity(elements: list[tuple[str, dict[str, str | int]]]) -> ArtifactIdentity:
    root, manifest = elements[0]
    if root != "manifest":
        raise ValueError("the first element is not the manifest")
    application: Attributes = next((attributes for name, attributes in elements if name == "application"), {})
    code = int(manifest["versionCode"]) | int(manifest.get("versionCodeMajor", 0)) << 32
    debuggable = application.get("debuggable", 0) not in (0, "false")
    return ArtifactIdentity(str(manifest["package"]), code, str(manifest.get("versionName", "")), debuggable)


def check_identity(path: Path, kind: ArtifactKind, package: str) -> ArtifactIdentity:
    """Reads an artifact. Raises `ApiError` 403 when it can't be read or is another package's."""
    identity = read_identity(path, kind)
    if identity.package != package:
        message = f"The package name of the {kind} is {identity.package}, but it was uploaded for {package}."
        raise ApiError(403, message, "apkInvalidPackageName")
    return identity
