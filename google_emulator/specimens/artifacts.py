"""Android App Bundles, APKs and images: readable by everyone, of any size, and with the same bytes
each time.

Their certificates say who signed them, but the signatures themselves are zeros
(`signature_writer`).
"""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

from google_emulator.specimens.manifests import (
    RELEASE_BUILD,
    Build,
    field,
    manifest_axml,
    manifest_proto,
)
from google_emulator.specimens.signature_writer import jar_signature
from google_emulator.specimens.zip_writer import write_zip

MAX_PIXELS = 1 << 14  # a side; far beyond what any store takes
GREY = (128, 128, 128)
_PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_TRUECOLOR, _TRUECOLOR_ALPHA = 2, 6


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
    """Write an Android App Bundle (.aab).

    `version_code` is below 2**64; from 2**32 on, the manifest has a versionCodeMajor. The file has
    exactly `size_bytes` bytes, or as few as possible (about 2 KiB) if that is more; the payload
    that fills it does not compress. `sparse` makes the payload a hole, so that 10 GiB take no space
    on disk. `signed` adds the files of a JAR signature; `build` says the rest.

    Raises `ValueError` for a version code out of range, `OSError` if the file can't be written.
    """
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
    """Write an APK. The arguments are those of `make_bundle`.

    Raises `ValueError` for a version code out of range, `OSError` if the file can't be written.
    """
    manifest = manifest_axml(package, version_code, version_name, build)
    files = [("AndroidManifest.xml", manifest), *build.libraries.items()]
    files += jar_signature(files, build.signer) if signed else []
    write_zip(path, files, "assets/payload.bin", size_bytes, sparse=sparse)


def make_image(
    path: Path,
    width: int,
    height: int,
    *,
    color: tuple[int, int, int] = GREY,
    alpha: bool = False,
) -> None:
    """Write a PNG of `width` times `height` pixels in one color (red, green and blue, 0 to 255
    each).

    It has 24 bits a pixel, as Play wants screenshots and feature graphics, or with `alpha` 32, as
    Play wants icons; the image is opaque in both. Different colors give images with different
    digests.

    Raises `ValueError` for a side that is not between 1 and 16384 pixels or a color out of range,
    `OSError` if the file can't be written.
    """
    if not 1 <= min(width, height) <= max(width, height) <= MAX_PIXELS:
        raise ValueError(
            f"an image is 1 to {MAX_PIXELS} pixels wide and high, not {width} x {height}"
        )
    pixel = bytes(color) + (b"\xff" if alpha else b"")
    kind = _TRUECOLOR_ALPHA if alpha else _TRUECOLOR
    header = struct.pack(">2I5B", width, height, 8, kind, 0, 0, 0)
    # 0: a row without a filter
    pixels = zlib.compress((b"\0" + pixel * width) * height, 1)
    path.write_bytes(
        _PNG_SIGNATURE
        + _chunk(b"IHDR", header)
        + _chunk(b"IDAT", pixels)
        + _chunk(b"IEND", b"")
    )


def _chunk(kind: bytes, data: bytes) -> bytes:
    return (
        struct.pack(">I", len(data))
        + kind
        + data
        + struct.pack(">I", zlib.crc32(kind + data))
    )
