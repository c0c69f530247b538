"""Android App Bundles and APKs: valid zips and manifests, any size, the same bytes each time.

The signature files have the right names and digests but hold no real signature: they pass for signed where, as in the
Play Console, only a server would verify.
"""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path

from google_emulator.specimens.axml_writer import manifest_axml
from google_emulator.specimens.proto_writer import field, manifest_proto
from google_emulator.specimens.zip_writer import write_zip

MOST_VERSION_CODE = 2**64 - 1


def make_bundle(
    path: Path,
    package: str,
    version_code: int,
    version_name: str,
    size_bytes: int = 0,
    *,
    sparse: bool = False,
    signed: bool = True,
    debuggable: bool = False,
) -> None:
    """Writes an Android App Bundle (.aab).

    `version_code` is below 2**64; from 2**32 on the manifest has a versionCodeMajor. The file is exactly `size_bytes`
    bytes long, or as short as it can be (less than 2 KiB) when that is more; what fills it does not compress. `sparse`
    leaves the filling a hole, so that 10 GiB take no room on disk. `signed` adds the files of a JAR signature,
    `debuggable` makes it a debug build.

    Raises `ValueError` for a version code out of range, `OSError` when the file can't be written.
    """
    _check(version_code)
    files = [
        ("BundleConfig.pb", field(1, field(2, b"1.15.6"))),  # bundletool { version }
        (
            "base/manifest/AndroidManifest.xml",
            manifest_proto(package, version_code, version_name, debuggable=debuggable),
        ),
    ]
    files += _signature_files(files) if signed else []
    write_zip(path, files, "base/assets/payload.bin", size_bytes, sparse=sparse)


def make_apk(
    path: Path,
    package: str,
    version_code: int,
    version_name: str,
    size_bytes: int = 0,
    *,
    sparse: bool = False,
    signed: bool = True,
    debuggable: bool = False,
) -> None:
    """Writes an APK; the arguments mean what they mean for `make_bundle`.

    Raises `ValueError` for a version code out of range, `OSError` when the file can't be written.
    """
    _check(version_code)
    files = [("AndroidManifest.xml", manifest_axml(package, version_code, version_name, debuggable=debuggable))]
    files += _signature_files(files) if signed else []
    write_zip(path, files, "assets/payload.bin", size_bytes, sparse=sparse)


def _check(version_code: int) -> None:
    if not 0 <= version_code <= MOST_VERSION_CODE:
        raise ValueError(f"a version code is between 0 and {MOST_VERSION_CODE}, not {version_code}")


def _signature_files(files: list[tuple[str, bytes]]) -> list[tuple[str, bytes]]:
    lines = [b"Manifest-Version: 1.0\r\n\r\n"]
    for name, data in files:
        digest = base64.b64encode(hashlib.sha256(data).digest())
        lines.append(b"Name: %b\r\nSHA-256-Digest: %b\r\n\r\n" % (name.encode(), digest))
    manifest = b"".join(lines)
    digest = base64.b64encode(hashlib.sha256(manifest).digest())
    signature = b"Signature-Version: 1.0\r\nSHA-256-Digest-Manifest: %b\r\n\r\n" % digest
    block = b"\x30\x82\x01\x00" + bytes(256)  # a DER SEQUENCE, as long as the smallest PKCS#7 block, without content
    return [("META-INF/MANIFEST.MF", manifest), ("META-INF/CERT.SF", signature), ("META-INF/CERT.RSA", block)]
