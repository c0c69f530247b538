"""What an uploaded APK or bundle says of itself: package name and version code, read from the zip that arrived."""

from __future__ import annotations

import struct
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path

from google_emulator.http.errors import ApiError
from google_emulator.services.play.binary_xml import binary_attributes
from google_emulator.services.play.model import ArtifactKind
from google_emulator.services.play.proto_xml import proto_attributes

MANIFEST_LIMIT = 16 * 1024 * 1024  # bytes
_ENTRIES: dict[ArtifactKind, str] = {"apk": "AndroidManifest.xml", "bundle": "base/manifest/AndroidManifest.xml"}
_MALFORMED = (zipfile.BadZipFile, KeyError, ValueError, TypeError, IndexError, struct.error, zlib.error, EOFError)


@dataclass(frozen=True, slots=True)
class ArtifactIdentity:
    """Package name and version code of an artifact."""

    package: str
    code: int


def read_identity(path: Path, kind: ArtifactKind) -> ArtifactIdentity:
    """Reads an artifact. Raises `ApiError` 400 when it is not what the method takes."""
    try:
        with zipfile.ZipFile(path) as archive, archive.open(_ENTRIES[kind]) as file:
            data = file.read(MANIFEST_LIMIT)
        found = binary_attributes(data) if kind == "apk" else proto_attributes(data)
        code = int(found["versionCode"]) | int(found.get("versionCodeMajor", 0)) << 32
        return ArtifactIdentity(str(found["package"]), code)
    except _MALFORMED as error:
        name = "APK" if kind == "apk" else "Android App Bundle"
        raise ApiError(400, f"The {name} is not valid: {error}.", f"{kind}Invalid") from None


def check_identity(path: Path, kind: ArtifactKind, package: str) -> ArtifactIdentity:
    """Reads an artifact. Raises `ApiError` 400 when it can't be read, 403 when it is another package's."""
    identity = read_identity(path, kind)
    if identity.package != package:
        message = f"The package name of the {kind} is {identity.package}, but it was uploaded for {package}."
        raise ApiError(403, message, "apkInvalidPackageName")
    return identity
