"""The bytes of an APK that Google Play makes: assembled, altered as the settings say, and
signed.
"""

from __future__ import annotations

import contextlib
import copy
import hashlib
import io
import posixpath
import zipfile
from dataclasses import dataclass
from pathlib import Path

from google_emulator.services.play.artifact_files import MALFORMED
from google_emulator.services.play.binary_table import (
    Record,
    changed_record,
    write_binary_table,
)
from google_emulator.services.play.binary_xml import (
    Attribute,
    android,
    read_proto_xml,
    write_binary_xml,
)
from google_emulator.services.play.bundle_splits import PlannedApk
from google_emulator.specimens.manifests import ANDROID
from google_emulator.specimens.signature_writer import (
    V2,
    V3,
    V3_1,
    jar_signature,
    signed_apk,
)

PROTECTION_LIBRARY = "libpairipcore.so"
PROTECTION_CLASS = "com.pairip.application.Application"
_NAME, _VERSION_CODE = 0x01010003, 0x0101021B
_PADDING = "assets/padding.bin"
_DATE = (1981, 1, 1, 1, 1, 2)  # the date of every entry, as bundletool writes it


@dataclass(frozen=True)
class Alterations:
    """How an APK differs from what the bundle says.

    `stripped` and `changed` are paths in the bundle, or `resources.pb#type/name` for a resource;
    `package` and `code` replace those of the manifest; `size` is the least size before the APK
    Signing Block, in bytes.
    """

    protected: bool = False
    stripped: str = ""
    changed: str = ""
    package: str = ""
    code: int = 0
    size: int = 0


@dataclass(frozen=True)
class Signing:
    """The common name of the certificate that signs, and that of a newer one for v3.1."""

    signer: str
    rotated: str = ""


def make_generated_apk(
    bundle: Path, apk: PlannedApk, alterations: Alterations, signing: Signing
) -> bytes:
    """Return the bytes of an APK, signed. Raises one of `artifact_files.MALFORMED`."""
    files = {"AndroidManifest.xml": _manifest(apk, alterations), **apk.made}
    with zipfile.ZipFile(bundle) as archive:
        for path, source in apk.files.items():
            if source != alterations.stripped:
                data = archive.read(source)
                files[path] = _altered(path, source, data, alterations)
    values = [
        altered
        for value in apk.values
        for altered in _altered_value(value, alterations)
    ]
    if values:
        files["resources.arsc"] = write_binary_table(values)
    if alterations.protected:
        files |= _wrapper(apk, files)
    files |= dict(jar_signature(list(files.items()), signing.signer))
    if alterations.size:
        files[_PADDING] = b""
        missing = alterations.size - len(_zipped(files, are_libraries_stored=False))
        files[_PADDING] = hashlib.shake_128(b"padding").digest(max(0, missing))
    return _signed(_zipped(files, are_libraries_stored=apk.variant > 1), signing)


def _manifest(apk: PlannedApk, alterations: Alterations) -> bytes:
    manifest = copy.deepcopy(apk.manifest)
    if alterations.package:
        manifest.set(Attribute("package", alterations.package))
    if alterations.code:
        manifest.set(android("versionCode", _VERSION_CODE, alterations.code))
    application = manifest.below("application")
    if alterations.protected and apk.has_code and application:
        application.remove("name", ANDROID)
        application.set(android("name", _NAME, PROTECTION_CLASS))
    return write_binary_xml(manifest)


def _altered(path: str, source: str, data: bytes, alterations: Alterations) -> bytes:
    """Return a file of the bundle as an APK has it."""
    if (
        path.startswith("res/")
        and path.endswith(".xml")
        and not path.startswith("res/raw")
    ):
        # a specimen's file that is no XML stays what it is
        with contextlib.suppress(*MALFORMED):
            data = write_binary_xml(read_proto_xml(data))
    if alterations.protected and path.endswith(".dex"):
        data = hashlib.shake_128(data).digest(len(data))
    if source == alterations.changed and data:
        middle = len(data) // 2
        data = data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]
    return data


def _altered_value(record: Record, alterations: Alterations) -> list[Record]:
    """Return the value of a resource as an APK has it; an empty list if it is left out."""
    resource = f"resources.pb#{record.type}/{record.name}"
    if resource == alterations.stripped:
        return []
    return [changed_record(record) if resource == alterations.changed else record]


def _wrapper(apk: PlannedApk, files: dict[str, bytes]) -> dict[str, bytes]:
    """Return the files that automatic protection adds: a library for each ABI, and code that starts
    it.
    """
    added = {
        f"lib/{abi}/{PROTECTION_LIBRARY}": b"\x7fELF protection" for abi in apk.abis
    }
    if apk.has_code or apk.kind in ("standalone", "universal"):
        count = sum(posixpath.splitext(path)[1] == ".dex" for path in files)
        name = f"classes{count + 1}.dex" if count else "classes.dex"
        added[name] = b"dex\n035\0 protection"
    return added


def _zipped(files: dict[str, bytes], *, are_libraries_stored: bool) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        for path, data in files.items():
            info = zipfile.ZipInfo(path, _DATE)
            is_stored = path in ("resources.arsc", _PADDING)
            if path.startswith("lib/"):
                is_stored = are_libraries_stored
            info.compress_type = (
                zipfile.ZIP_STORED if is_stored else zipfile.ZIP_DEFLATED
            )
            archive.writestr(info, data, compresslevel=1)
    return target.getvalue()


def _signed(apk: bytes, signing: Signing) -> bytes:
    schemes = {V2: signing.signer, V3: signing.signer}
    if not signing.rotated:
        return signed_apk(apk, schemes)
    lineage = (signing.signer, signing.rotated)
    return signed_apk(apk, {**schemes, V3_1: signing.rotated}, lineage)
