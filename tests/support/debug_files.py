"""What R8 and the Android Gradle plugin leave beside and in an artifact: mappings, dex files, a
bundle's metadata.
"""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Mapping
from pathlib import Path

OWN_MAPPING = "BUNDLE-METADATA/com.android.tools.build.obfuscation/proguard.map"
OWN_SYMBOLS = (
    "BUNDLE-METADATA/com.android.tools.build.debugsymbols/arm64-v8a/libapp.so.sym"
)


def r8_mapping(build: str) -> str:
    """A mapping as R8 heads it: the id is the beginning of the hash."""
    digest = map_hash(build)
    return (
        "# compiler: R8\n# compiler_version: 8.13.17\n# min_api: 24\n# common_typos_disable\n"
        '# {"id":"com.android.tools.r8.mapping","version":"2.2"}\n'
        f"# pg_map_id: {digest[:7]}\n# pg_map_hash: SHA-256 {digest}\n"
        f"com.example.{build}.Main -> a.a:\n"
    )


def map_hash(build: str) -> str:
    """The hash of a build's mapping."""
    return hashlib.sha256(build.encode()).hexdigest()


def marker(map_id: str, backend: str = "dex") -> bytes:
    """The string that R8 leaves in a dex file."""
    head = f'~~R8{{"backend":"{backend}","compilation-mode":"release",'
    head += '"has-checksums":false,"min-api":24,'
    return (
        f'{head}"pg-map-id":"{map_id}","r8-mode":"full","version":"8.13.17"}}'.encode()
    )


def r8_dex(build: str, before: int = 100) -> bytes:
    """Bytes in the place of a dex file, with the marker behind `before` bytes that do not compress
    to nothing.
    """
    filling = b"".join(
        hashlib.sha256(number.to_bytes(8, "big")).digest()
        for number in range(before // 32 + 1)
    )
    return (
        b"dex\n035\0"
        + filling[:before]
        + b"\x80"
        + marker(map_hash(build)[:7])
        + b"\0more"
    )


def add_entries(
    path: Path, entries: Mapping[str, bytes], *, stored: bool = False
) -> None:
    """Puts entries into an artifact that is there."""
    with zipfile.ZipFile(
        path, "a", zipfile.ZIP_STORED if stored else zipfile.ZIP_DEFLATED
    ) as archive:
        for name, data in entries.items():
            archive.writestr(name, data)
