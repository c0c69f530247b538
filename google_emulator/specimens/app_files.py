"""Android App Bundles and APKs: valid zips and manifests, any size, the same bytes each time.

Who signed them can be read, but the signature is none (`signature_writer`).
"""

from __future__ import annotations

from pathlib import Path

from google_emulator.specimens.manifests import RELEASE_BUILD, Build, field, manifest_axml, manifest_proto
from google_emulator.specimens.signature_writer import jar_signature
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
    build: Build = RELEASE_BUILD,
) -> None:
    """Writes an Android App Bundle (.aab).

    `version_code` is below 2**64; from 2**32 on the manifest has a versionCodeMajor. The file is exactly `size_bytes`
    bytes long, or as short as it can be (about 2 KiB) when that is more; what fills it does not compress. `sparse`
    leaves the filling a hole, so that 10 GiB take no room on disk. `signed` adds the files of a JAR signature;
    `build` says the rest.

    Raises `ValueError` for a version code out of range, `OSError` when the file can't be written.
    """
    _check(version_code)
    manifest = manifest_proto(package, version_code, version_name, build)
    files = [
        ("BundleConfig.pb", field(1, field(2, b"1.15.6"))),  # bundletool { version }
        ("base/manifest/AndroidManifest.xml", manifest),
        *build.libraries.items(),
    ]
    files += jar_signature(files, build.signer) if signed else []
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
    build: Build = RELEASE_BUILD,
) -> None:
    """Writes an APK; the arguments mean what they mean for `make_bundle`.

    Raises `ValueError` for a version code out of range, `OSError` when the file can't be written.
    """
    _check(version_code)
    manifest = manifest_axml(package, version_code, version_name, build)
    files = [("AndroidManifest.xml", manifest), *build.libraries.items()]
    files += jar_signature(files, build.signer) if signed else []
    write_zip(path, files, "assets/payload.bin", size_bytes, sparse=sparse)


def _check(version_code: int) -> None:
    if not 0 <= version_code <= MOST_VERSION_CODE:
        raise ValueError(f"a version code is between 0 and {MOST_VERSION_CODE}, not {version_code}")
