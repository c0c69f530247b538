"""Says what an APK or an Android App Bundle is: package, version, who signed it, what it asks for, its native code.

Read are the zip's directory, the manifest, the signatures and the heads of native libraries. Whatever is wrong with the
file, the answer is one InputError with a sentence for people; no byte of it is trusted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import BinaryIO, Literal

from uploader.errors import InputError, Problem
from uploader.files.android import binary_xml, proto_xml
from uploader.files.android.manifest_attributes import Attributes, Element, Value, flag, number
from uploader.files.android.native_libraries import BUNDLE_CONFIG, LIBRARY, NativeCode, native_code
from uploader.files.android.signatures import JAR_SIGNATURE, SigningCertificate, signers
from uploader.files.android.zip_reader import MalformedFile, ZipReader
from uploader.files.workspace import reason

Kind = Literal["bundle", "apk"]

_BUNDLE_MANIFEST = "base/manifest/AndroidManifest.xml"
_APK_MANIFEST = "AndroidManifest.xml"
_PACKAGE = re.compile(r"[A-Za-z]\w*(\.[A-Za-z]\w*)+", re.ASCII)
_LONGEST_NAME = 255  # characters: of a version, a permission, a feature; no honest one is longer
_SUFFIXES: dict[str, Kind] = {".aab": "bundle", ".apk": "apk"}
_NAMES: dict[Kind, str] = {"bundle": "an Android App Bundle (.aab)", "apk": "an APK"}

_CARRIED = re.compile(
    r"BUNDLE-METADATA/com\.android\.tools\.build\.(obfuscation/proguard\.map|debugsymbols/.+[^/])", re.DOTALL
)


@dataclass(frozen=True)
class Manifest:
    """What an APK or a bundle says of itself. `version_code` is the number that Play keys artifacts by (64 bits).

    `version_name` is "" when the manifest has none, or takes it from a resource. `kind` is what the file is, by its
    content. `debuggable` marks a debug build, `test_only` one that Android Studio made to be run at once. The SDKs are
    API levels, None for what is not a number. `features` are those that a device must have. `signers` is empty for a
    file that nobody signed. `carries` says which files for Play's crash reports a bundle brings itself, in its
    BUNDLE-METADATA: `mapping`, `symbols`.
    """

    package: str
    version_code: int
    version_name: str = ""
    kind: Kind = "bundle"
    debuggable: bool = False
    test_only: bool = False
    min_sdk: int | None = None
    target_sdk: int | None = None
    permissions: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    signers: tuple[SigningCertificate, ...] = ()
    native: NativeCode = NativeCode()
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
    if entry.endswith(".so"):
        return LIBRARY.fullmatch(entry) is not None
    return entry in (BUNDLE_CONFIG, _BUNDLE_MANIFEST, _APK_MANIFEST) or JAR_SIGNATURE.fullmatch(entry) is not None


def _read(file: BinaryIO) -> Manifest:
    archive = ZipReader(file, file.seek(0, 2), _wanted)
    kind = _kind(archive)
    if kind == "bundle":
        manifest = _manifest(kind, proto_xml.elements(archive.read(_BUNDLE_MANIFEST)))
    else:
        manifest = _manifest(kind, binary_xml.elements(archive.read(_APK_MANIFEST)))
    apk = kind == "apk"
    return replace(
        manifest,
        signers=signers(archive, apk=apk),
        native=native_code(archive, apk=apk),
        carries=frozenset() if apk else _carried(archive),
    )


def _carried(archive: ZipReader) -> frozenset[str]:
    """What the Android Gradle plugin packs into a bundle for Play to decode crashes with."""
    found = [_CARRIED.fullmatch(entry) for entry in archive.entries]
    return frozenset("mapping" if each[1].startswith("obfuscation") else "symbols" for each in found if each)


def _kind(archive: ZipReader) -> Kind:
    if BUNDLE_CONFIG in archive.entries:
        if _BUNDLE_MANIFEST not in archive.entries:
            raise MalformedFile(f"is a bundle without {_BUNDLE_MANIFEST}: it has no base module.")
        return "bundle"
    if _APK_MANIFEST in archive.entries:
        return "apk"
    if _BUNDLE_MANIFEST in archive.entries:
        raise MalformedFile(f"has a bundle's manifest but no {BUNDLE_CONFIG}.", "Build it with bundletool or Gradle.")
    raise MalformedFile("is a zip, but neither an APK nor an Android App Bundle.", "Check what the pattern matched.")


def _manifest(kind: Kind, elements: Iterator[Element]) -> Manifest:
    root = next(elements, None)
    if root is None:
        raise MalformedFile("has an AndroidManifest.xml without any element.")
    if root.name != "manifest":
        raise MalformedFile("has an AndroidManifest.xml whose root is not <manifest>.")
    package, version_name = root.attributes.get("package"), root.attributes.get("versionName", "")
    if not (isinstance(package, str) and len(package) <= 255 and _PACKAGE.fullmatch(package)):
        raise MalformedFile("has a manifest without a valid package name.")
    # Test builds have none; Android then counts 0, and only internal app sharing takes such an artifact.
    missing = root.attributes.get("versionCode") in (None, "")
    code = 0 if missing else number(root.attributes, "versionCodeMajor") << 32 | number(root.attributes, "versionCode")
    name = str(version_name)[:_LONGEST_NAME] if isinstance(version_name, (str, int)) else ""
    return _with_children(Manifest(package, code, name, kind), elements)


def _with_children(manifest: Manifest, elements: Iterable[Element]) -> Manifest:
    """The manifest with what the elements below its root say."""
    application: Attributes = {}
    sdk: Attributes = {}
    permissions: dict[str, None] = {}
    features: dict[str, None] = {}
    for element in elements:
        name, attributes = element.name, element.attributes
        if name == "application":
            application = attributes
        elif name == "uses-sdk":
            sdk = attributes
        elif name != "uses-feature":
            permissions[str(attributes.get("name", ""))[:_LONGEST_NAME]] = None
        elif flag({"required": 1, **attributes}, "required"):
            features[str(attributes.get("name", ""))[:_LONGEST_NAME]] = None
    least = _api_level(sdk.get("minSdkVersion", 1))
    return replace(
        manifest,
        debuggable=flag(application, "debuggable"),
        test_only=flag(application, "testOnly"),
        min_sdk=least,
        target_sdk=_api_level(sdk["targetSdkVersion"]) if "targetSdkVersion" in sdk else least,
        permissions=tuple(permissions),
        features=tuple(features),
    )


def _api_level(value: Value) -> int | None:
    """The number; None for the letter of a preview, and for what stands in a resource."""
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) <= 10:
        return int(value)
    return value if isinstance(value, int) else None
