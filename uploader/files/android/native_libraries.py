"""What the native libraries of an APK or bundle are built for: their ABIs, and whether they fit pages of 16 KB.

Of each 64-bit library only the ELF header and the program headers are read, as far as they lie in its first bytes.
Sources: System V ABI, "Object Files" and "Program Header" (ELF-64); config.proto of bundletool (BundleConfig.pb).
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass

from uploader.files.android.protobuf import message, pick
from uploader.files.android.zip_reader import MalformedFile, ZipReader

BUNDLE_CONFIG = "BundleConfig.pb"
LIBRARY = re.compile(r"(?:\w{1,100}/)?lib/(armeabi|armeabi-v7a|arm64-v8a|x86|x86_64|riscv64)/([^/]{1,200}\.so)")
PAGE = 16384  # bytes
_64_BIT = frozenset({"arm64-v8a", "x86_64", "riscv64"})
_HEAD = 4096  # bytes: linkers write the program headers right behind the header, at most some twenty of 56 bytes
_ELF64 = b"\x7fELF\x02\x01"  # 64 bits, little-endian
_LOAD = 1
_OPTIMIZATIONS, _UNCOMPRESS_NATIVE_LIBRARIES, _ENABLED, _ALIGNMENT = 2, 2, 1, 2
_ALIGNMENT_4K = 1


@dataclass(frozen=True)
class NativeCode:
    """The ABIs that there is code for, and the 64-bit libraries that do not fit pages of 16 KB, by their paths.

    `narrow` have segments that are aligned to less; `misplaced` lie uncompressed in an APK where no such page begins.
    `packed_narrow` says that a bundle aligns its libraries to 4 KB pages in the APKs made from it.
    """

    abis: tuple[str, ...] = ()
    narrow: tuple[str, ...] = ()
    misplaced: tuple[str, ...] = ()
    packed_narrow: bool = False


def native_code(archive: ZipReader, *, apk: bool) -> NativeCode:
    """What the entries that LIBRARY accepts are. Raises MalformedFile."""
    found = {name: match[1] for name in archive.entries if (match := LIBRARY.fullmatch(name))}
    narrow, misplaced = [], []
    for name in (name for name, abi in found.items() if abi in _64_BIT):
        head, at = archive.head(name, _HEAD)
        alignment = segment_alignment(head)
        if alignment is not None and alignment < PAGE:
            narrow.append(name)
        if apk and not archive.entries[name].method and at % PAGE:
            misplaced.append(name)
    abis = tuple(sorted(set(found.values())))
    return NativeCode(abis, tuple(narrow), tuple(misplaced), bool(abis) and not apk and _packed_narrow(archive))


def segment_alignment(head: bytes) -> int | None:
    """The least alignment of the LOAD segments of a 64-bit library, in bytes; None when its beginning does not tell."""
    if len(head) < 64 or not head.startswith(_ELF64):
        return None
    (table,) = struct.unpack_from("<Q", head, 32)
    size, count = struct.unpack_from("<2H", head, 54)
    if size < 56 or table + size * count > len(head):
        return None
    headers = range(table, table + size * count, size)
    loaded = [at for at in headers if struct.unpack_from("<I", head, at) == (_LOAD,)]
    return min((struct.unpack_from("<Q", head, at + 48)[0] for at in loaded), default=None)


def _packed_narrow(bundle: ZipReader) -> bool:
    try:
        found = pick(
            message(bundle.read(BUNDLE_CONFIG), _OPTIMIZATIONS, _UNCOMPRESS_NATIVE_LIBRARIES), _ENABLED, _ALIGNMENT
        )
    except (IndexError, ValueError):
        raise MalformedFile("has a BundleConfig.pb that is not a protobuf.") from None
    return bool(found[_ENABLED].number) and found[_ALIGNMENT].number == _ALIGNMENT_4K
