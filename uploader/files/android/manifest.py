"""Says what an APK or an Android App Bundle is: package, version code, version name, whether it is signed.

Only the zip's directory and the manifest are read. Whatever is wrong with the file, the answer is one InputError with a
sentence for people; no byte of it is trusted.
"""

from __future__ import annotations

import re
import struct
from pathlib import PurePath
from typing import BinaryIO, Literal, NamedTuple

from uploader.errors import InputError, Problem
from uploader.files.android import binary_xml, proto_xml
from uploader.files.android.manifest_attributes import Value, flag, number
from uploader.files.android.zip_reader import MalformedFile, ZipReader
from uploader.files.workspace import reason

Kind = Literal["bundle", "apk"]

_BUNDLE_CONFIG = "BundleConfig.pb"
_BUNDLE_MANIFEST = "base/manifest/AndroidManifest.xml"
_APK_MANIFEST = "AndroidManifest.xml"
_JAR_SIGNATURE = re.compile(r"META-INF/[^/]+\.(RSA|DSA|EC)", re.IGNORECASE)
_PACKAGE = re.compile(r"[A-Za-z]\w*(\.[A-Za-z]\w*)+", re.ASCII)
_SUFFIXES: dict[str, Kind] = {".aab": "bundle", ".apk": "apk"}
_NAMES: dict[Kind, str] = {"bundle": "an Android App Bundle (.aab)", "apk": "an APK"}

_CARRIED = re.compile(
    r"BUNDLE-METADATA/com\.android\.tools\.build\.(obfuscation/proguard\.map|debugsymbols/.+[^/])", re.DOTALL
)

_BLOCK_MAGIC = b"APK Sig Block 42"
_SCHEMES = {0x7109871A: "v2", 0xF05368C0: "v3", 0x1B93AD61: "v3.1"}
_MAX_PAIRS = 64  # signers, rotation, dependency info, padding: real files have fewer than ten


class Manifest(NamedTuple):
    """What an APK or a bundle says of itself. `version_code` is the number that Play keys artifacts by (64 bits).

    `version_name` is "" when the manifest has none, or takes it from a resource. `signed` says that a signature is
    there (v1 for a bundle; v1, v2 or v3 for an APK), not that it is good. `kind` is what the file is, by its content.
    `debuggable` marks a debug build. `carries` says which files for Play's crash reports a bundle brings itself, in its
    BUNDLE-METADATA: `mapping`, `symbols`.
    """

    package: str
    version_code: int
    version_name: str = ""
    signed: bool = True
    kind: Kind = "bundle"
    debuggable: bool = False
    carries: frozenset[str] = frozenset()


def read(file: BinaryIO, name: str) -> Manifest:
    """The manifest of an open file, called `name` in messages. Raises InputError (problem `files`)."""
    try:
        manifest = _read(file)
    except MalformedFile as error:
        raise InputError(Problem("files", f"{name} {error}")) from None
    except OSError as error:
        raise InputError(Problem("files", f"{name} can't be read: {reason(error)}.")) from None
    claimed = _SUFFIXES.get(PurePath(name).suffix.lower())
    if claimed not in (None, manifest.kind):
        what = f"{name} is named like {_NAMES[claimed]} but is {_NAMES[manifest.kind]}."
        raise InputError(Problem("files", f"{what} Rename it, or point `files` at the other build output."))
    return manifest


def _wanted(entry: str) -> bool:
    if entry.startswith("BUNDLE-METADATA/"):
        return _CARRIED.fullmatch(entry) is not None
    return entry in (_BUNDLE_CONFIG, _BUNDLE_MANIFEST, _APK_MANIFEST) or _JAR_SIGNATURE.fullmatch(entry) is not None


def _read(file: BinaryIO) -> Manifest:
    archive = ZipReader(file, file.seek(0, 2), _wanted)
    kind = _kind(archive)
    attributes = (
        proto_xml.root(archive.read(_BUNDLE_MANIFEST))
        if kind == "bundle"
        else binary_xml.root(archive.read(_APK_MANIFEST))
    )
    return _manifest(kind, attributes, _signed(archive, kind))._replace(carries=_carried(archive, kind))


def _kind(archive: ZipReader) -> Kind:
    if _BUNDLE_CONFIG in archive.entries:
        if _BUNDLE_MANIFEST not in archive.entries:
            raise MalformedFile(f"is a bundle without {_BUNDLE_MANIFEST}: it has no base module.")
        return "bundle"
    if _APK_MANIFEST in archive.entries:
        return "apk"
    if _BUNDLE_MANIFEST in archive.entries:
        raise MalformedFile(f"has a bundle's manifest but no {_BUNDLE_CONFIG}.", "Build it with bundletool or Gradle.")
    raise MalformedFile("is a zip, but neither an APK nor an Android App Bundle.", "Check what the pattern matched.")


def _manifest(kind: Kind, attributes: dict[str, Value], signed: bool) -> Manifest:
    package, version_name = attributes.get("package"), attributes.get("versionName", "")
    if not (isinstance(package, str) and len(package) <= 255 and _PACKAGE.fullmatch(package)):
        raise MalformedFile("has a manifest without a valid package name.")
    # Test builds have none; Android then counts 0, and only internal app sharing takes such an artifact.
    missing = attributes.get("versionCode") in (None, "")
    code = 0 if missing else number(attributes, "versionCodeMajor") << 32 | number(attributes, "versionCode")
    # No honest name is longer; a reference can't be resolved.
    name = str(version_name)[:255] if isinstance(version_name, (str, int)) else ""
    return Manifest(package, code, name, signed, kind, flag(attributes, "debuggable"))


def _carried(archive: ZipReader, kind: Kind) -> frozenset[str]:
    """What the Android Gradle plugin packs into a bundle for Play to decode crashes with."""
    found = [_CARRIED.fullmatch(entry) for entry in archive.entries] if kind == "bundle" else []
    return frozenset("mapping" if each[1].startswith("obfuscation") else "symbols" for each in found if each)


def _signed(archive: ZipReader, kind: Kind) -> bool:
    if any(_JAR_SIGNATURE.fullmatch(entry) for entry in archive.entries):
        return True
    return kind == "apk" and any(scheme in _SCHEMES for scheme in _block_ids(archive))


def _block_ids(archive: ZipReader) -> list[int]:
    """The ids in the APK Signing Block, which lies right before the directory (source.android.com, APK Signature v2).

    From its end backwards: 16 bytes of magic, then 8 bytes of size; its pairs are length (8), id (4), value.
    """
    footer = archive.bytes_before_directory(24, 24)
    if footer[8:] != _BLOCK_MAGIC:
        return []
    remaining = struct.unpack_from("<Q", footer)[0]  # counted from the first pair to the end of the magic
    ids: list[int] = []
    while remaining >= 24 + 12 and len(ids) < _MAX_PAIRS:
        pair = archive.bytes_before_directory(remaining, 12)
        if not pair:
            break
        length, scheme = struct.unpack("<QI", pair)
        ids.append(scheme)
        remaining -= 8 + length
    return ids
