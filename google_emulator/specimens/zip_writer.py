"""Writes zips of stored entries, with a payload as large as is wanted, in constant memory: from
PKWARE's APPNOTE.

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
    """CRC-32 of so many zero bytes, without touching them: one zero bit is a linear map of the
    register.

    The map of n bits is found by squaring, so a hole of a hundred gigabytes costs some forty
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
    """One stored (uncompressed) entry; `data` is None for a payload that is generated, or left a
    hole.

    `wide` writes its sizes in 64 bits (zip64); the payload is the last entry and the only one that
    can need it.
    """

    name: str
    size: int
    crc: int
    data: bytes | None
    wide: bool = False

    def _fields(self) -> tuple[bytes, bytes]:
        """What its two headers have in common: fields of fixed size, and name and extra field."""
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
        """The header in front of its bytes."""
        return b"PK\3\4" + b"".join(self._fields())

    def central(self, offset: int) -> bytes:
        """The header in the directory."""
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
    """Writes the files and a payload of this name that makes the zip `size_bytes` bytes long, or as
    short as it can be.

    `sparse` leaves the payload a hole, which takes no room on disk and reads as zeros. Raises
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
    """Bytes that do not compress and are the same on every machine."""
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
