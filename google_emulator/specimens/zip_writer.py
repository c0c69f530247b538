"""Writes zips of stored entries with a payload of any size, in constant memory. From PKWARE's
APPNOTE.

The same arguments give the same bytes on every machine. Zips of 4 GiB and more are in zip64.
"""

from __future__ import annotations

import functools
import hashlib
import os
import struct
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

_BLOCK = 1024 * 1024
_FULL = 0xFFFFFFFF


def crc32_of_zeros(length: int) -> int:
    """Return the CRC-32 of `length` zero bytes without reading them: one zero bit is a linear map
    of the register.

    The map of n bits is found by squaring, so that a hole of a hundred gigabytes costs some forty
    multiplications.
    """
    register, bits = _FULL, 8 * length
    # where each bit of the register goes for one zero bit
    step = [0xEDB88320, *(1 << bit for bit in range(31))]
    while bits:
        if bits & 1:
            register = _apply(step, register)
        step = [_apply(step, column) for column in step]
        bits >>= 1
    return register ^ _FULL


def _apply(columns: list[int], vector: int) -> int:
    total = 0
    for bit, column in enumerate(columns):
        if vector >> bit & 1:
            total ^= column
    return total


@dataclass(frozen=True)
class StoredEntry:
    """One stored (uncompressed) entry. `data` is None for a payload, which is generated or left as
    a hole.

    `wide` writes the sizes in 64 bits (zip64); only the payload, which is the last entry, can need
    it.
    """

    name: str
    size: int
    crc: int
    data: bytes | None
    wide: bool = False

    def _fields(self) -> tuple[bytes, bytes]:
        """Return what both headers have in common: the fields of fixed size, and the name with the
        extra field.
        """
        extra = struct.pack("<2H2Q", 1, 16, self.size, self.size) if self.wide else b""
        size = _FULL if self.wide else self.size
        # Dated 1 January 1981, as reproducible builds do.
        fixed = (
            45 if self.wide else 20,
            0x0800,
            0,
            0,
            0x0221,
            self.crc,
            size,
            size,
            len(self.name),
            len(extra),
        )
        return struct.pack("<5H3I2H", *fixed), self.name.encode("ascii") + extra

    def local(self) -> bytes:
        """Return the header in front of the entry's bytes."""
        return b"PK\3\4" + b"".join(self._fields())

    def central(self, offset: int) -> bytes:
        """Return the entry's header in the directory."""
        fixed, names = self._fields()
        return (
            b"PK\1\2"
            + struct.pack("<H", 45)
            + fixed
            + struct.pack("<3H2I", 0, 0, 0, 0, offset)
            + names
        )


def write_zip(
    path: Path,
    files: Iterable[tuple[str, bytes]],
    payload: str,
    size_bytes: int,
    *,
    sparse: bool,
) -> None:
    """Write a zip of the files and of a payload that makes it `size_bytes` bytes long, or as short
    as possible if that is more.

    `sparse` leaves the payload as a hole, which takes no space on disk and reads as zeros. Raises
    `OSError`.
    """
    entries = [
        StoredEntry(name, len(data), zlib.crc32(data), data) for name, data in files
    ]
    wide = size_bytes >= _FULL
    empty = [*entries, StoredEntry(payload, 0, 0, None, wide)]
    overhead = sum(len(entry.local()) + entry.size for entry in empty) + len(
        _directory(empty, 0)
    )
    length = max(0, size_bytes - overhead)
    if sparse:
        crc = crc32_of_zeros(length)
    else:
        crc = functools.reduce(
            lambda value, block: zlib.crc32(block, value), _payload(length), 0
        )
    entries.append(StoredEntry(payload, length, crc, None, wide))
    with path.open("wb") as file:
        for entry in entries:
            file.write(entry.local())
            if entry.data is not None:
                file.write(entry.data)
            elif sparse:
                file.seek(entry.size, os.SEEK_CUR)
            else:
                file.writelines(_payload(entry.size))
        file.write(_directory(entries, file.tell()))


def _payload(length: int) -> Iterator[bytes]:
    """Yield bytes that do not compress and are the same on every machine."""
    for index in range(0, length, _BLOCK):
        yield hashlib.shake_128(b"%d" % index).digest(min(_BLOCK, length - index))


def _directory(entries: list[StoredEntry], at: int) -> bytes:
    out, offset = b"", 0
    for entry in entries:
        out += entry.central(offset)
        offset += len(entry.local()) + entry.size
    length, count, wide = len(out), len(entries), entries[-1].wide
    if wide:
        out += struct.pack(
            "<4sQ2H2I4Q", b"PK\6\6", 44, 45, 45, 0, 0, count, count, length, at
        )
        out += struct.pack("<4sIQI", b"PK\6\7", 0, at + length, 1)
    return out + struct.pack(
        "<4s4H2IH", b"PK\5\6", 0, 0, count, count, length, _FULL if wide else at, 0
    )
