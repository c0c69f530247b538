"""Reads a zip's directory and a few small entries from it; every number in the file is a claim, checked before use.

Only the directory at the end and the entries asked for are read, so a bundle of many gigabytes costs as much as a small
one. Layout: PKWARE APPNOTE.TXT 6.3.10, sections 4.3.6 to 4.3.16 and 4.5.3 (zip64).
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import BinaryIO

MAX_DIRECTORY = 64 * 1024 * 1024  # bytes: about half a million entries, far beyond any app
PIECE = 1024 * 1024  # bytes of an entry that is too large to hold
MAX_WANTED = 10_000  # entries: several times the native libraries of the largest apps
MAX_ENTRY = 4 * 1024 * 1024  # bytes: many times what any manifest needs, little enough to hold and to walk through

_END_MAGIC = re.compile(rb"PK\x05\x06")
_END = struct.Struct("<4s4H2IH")
_END64_LOCATOR = struct.Struct("<4sIQI")
_END64 = struct.Struct("<4sQ2H2I4Q")
_CENTRAL = struct.Struct("<4s6H3I5H2I")
_LOCAL = struct.Struct("<4s5H3I2H")
_FULL16, _FULL32 = 0xFFFF, 0xFFFFFFFF
LONGEST_TAIL = _END.size + _FULL16  # bytes from the end record to the end of the file, with the longest comment
_ENCRYPTED = 0x2041  # flag bits 0 (encrypted), 6 (strong encryption) and 13 (masked headers)


class MalformedFile(Exception):
    """A file is not what it should be. `what` continues a sentence that begins with its name; `hint` is a sentence."""

    def __init__(self, what: str, hint: str = "Build the artifact again.") -> None:
        super().__init__(f"{what} {hint}")


@dataclass(frozen=True)
class ZipEntry:
    """One line of the directory; sizes and the offset of the local header are in bytes."""

    name: str
    flags: int
    method: int
    crc: int
    packed: int
    size: int
    offset: int


class ZipReader:
    """The directory of an open zip of `size` bytes, with the entries that `wanted` accepts. Raises MalformedFile."""

    def __init__(self, file: BinaryIO, size: int, wanted: Callable[[str], bool]) -> None:
        self._file = file
        self._size = size
        self.directory, length = self._find_directory()
        self.entries: dict[str, ZipEntry] = {}
        for entry in _entries(self._read_at(self.directory, length)):
            if not wanted(entry.name):
                continue
            if entry.name in self.entries:
                raise MalformedFile(f"contains {entry.name} twice, so readers may disagree about what it says.")
            self.entries[entry.name] = entry
            if len(self.entries) > MAX_WANTED:
                raise MalformedFile(f"has more native libraries than are plausible: over {MAX_WANTED:,}.")

    def read(self, name: str) -> bytes:
        """The whole entry, checked against its declared size and checksum. Raises MalformedFile."""
        entry = self.entries[name]
        if max(entry.size, entry.packed) > MAX_ENTRY:
            raise MalformedFile(f"declares {entry.size:,} bytes for {name}; no more than {MAX_ENTRY:,} are plausible.")
        data, _ = self.head(name, entry.size + 1, packed=entry.packed)
        if len(data) != entry.size or zlib.crc32(data) != entry.crc:
            raise MalformedFile(f"is damaged: {name} differs from its checksum.")
        return data

    def head(self, name: str, length: int, *, packed: int | None = None) -> tuple[bytes, int]:
        """The first `length` bytes of an entry, or fewer, unchecked, and where in the file its data begins.

        They are taken from its first `packed` bytes in the file, which are `length` unless given.
        Raises MalformedFile.
        """
        entry = self.entries[name]
        at = self._data_of(entry)
        return _unpack(self._read_at(at, min(entry.packed, packed or length)), entry, length), at

    def pieces(self, name: str) -> Iterator[bytes]:
        """The entry's bytes from its beginning, unchecked, at most PIECE at a time. Raises MalformedFile."""
        entry = self.entries[name]
        begin = self._data_of(entry)
        inflate = zlib.decompressobj(-zlib.MAX_WBITS)
        for at in range(begin, begin + entry.packed, PIECE):
            data = self._read_at(at, min(PIECE, begin + entry.packed - at))
            if entry.method == 0:
                yield data
                continue
            while data:
                try:
                    yield inflate.decompress(data, PIECE)
                except zlib.error:
                    raise MalformedFile(f"is damaged: {name} can't be decompressed.") from None
                data = inflate.unconsumed_tail

    def _data_of(self, entry: ZipEntry) -> int:
        """Where in the file the entry's data begins."""
        if entry.flags & _ENCRYPTED:
            raise MalformedFile(
                f"has an encrypted {entry.name}.",
                "Play does not accept encrypted archives; build it without a password.",
            )
        magic, *_, name_length, extra_length = _LOCAL.unpack(self._read_at(entry.offset, _LOCAL.size))
        if magic != b"PK\3\4":
            raise MalformedFile(f"is damaged: no entry begins where the directory says {entry.name} does.")
        return int(entry.offset + _LOCAL.size + name_length + extra_length)

    def bytes_before_directory(self, back: int, length: int) -> bytes:
        """`length` bytes that begin `back` bytes before the directory; empty when there is no room for them."""
        return self._read_at(self.directory - back, length) if length <= back <= self.directory else b""

    def _read_at(self, offset: int, length: int) -> bytes:
        if not 0 <= offset <= self._size - length:
            raise MalformedFile("is cut short or damaged: parts of it lie beyond its end.")
        self._file.seek(offset)
        data = self._file.read(length)
        if len(data) != length:
            raise MalformedFile("became shorter while it was read.")
        return data

    def _find_directory(self) -> tuple[int, int]:
        if self._size == 0:
            raise MalformedFile("is empty (0 bytes).")
        tail_at = max(0, self._size - LONGEST_TAIL)
        tail = self._read_at(tail_at, self._size - tail_at)
        at = end_record(tail)
        if at < 0:
            raise self._no_end()
        *_, count, _, length, offset, _ = _END.unpack_from(tail, at)
        if count == _FULL16 or _FULL32 in (length, offset):
            offset, length = self._find_directory64(tail_at + at, offset, length)
        if length > MAX_DIRECTORY:
            raise MalformedFile(
                f"declares a directory of {length:,} bytes; no more than {MAX_DIRECTORY:,} are plausible."
            )
        return offset, length

    def _find_directory64(self, end_at: int, offset: int, length: int) -> tuple[int, int]:
        if end_at < _END64_LOCATOR.size:
            return offset, length
        magic, _, record_at, _ = _END64_LOCATOR.unpack(self._read_at(end_at - _END64_LOCATOR.size, _END64_LOCATOR.size))
        if magic != b"PK\6\7":
            return offset, length  # exactly 65,535 entries, in an ordinary zip
        magic, *_, length64, offset64 = _END64.unpack(self._read_at(record_at, _END64.size))
        if magic != b"PK\6\6":
            raise MalformedFile("is damaged: its zip64 record is not where it should be.")
        return offset64, length64

    def _no_end(self) -> MalformedFile:
        if self._read_at(0, min(4, self._size)) == b"PK\3\4":
            return MalformedFile(
                "is cut short: the directory at the end of the zip is missing.", "Download or build it again."
            )
        return MalformedFile(
            "is not a zip archive, so it can't be an APK or an Android App Bundle.", "Check what the pattern matched."
        )


def end_record(tail: bytes) -> int:
    """Where the end record is: the last one whose comment ends exactly with the file; -1 when there is none."""
    for found in reversed([*_END_MAGIC.finditer(tail)]):
        at = found.start()
        if at + _END.size <= len(tail) and at + _END.size + _END.unpack_from(tail, at)[-1] == len(tail):
            return at
    return -1


def _entries(directory: bytes) -> Iterator[ZipEntry]:
    at = 0
    while at < len(directory):
        if len(directory) - at < _CENTRAL.size or directory[at : at + 4] != b"PK\1\2":
            raise MalformedFile("is damaged: its directory can't be read.")
        fields = _CENTRAL.unpack_from(directory, at)
        flags, method, offset = fields[3], fields[4], fields[16]
        crc, packed, size, name_length, extra_length, comment_length = fields[7:13]
        at += _CENTRAL.size
        name = directory[at : at + name_length].decode("utf-8", "replace")
        at += name_length
        if _FULL32 in (packed, size, offset):
            extra = directory[at : at + extra_length]
            size, packed, offset = _wide(extra, size, packed, offset)
        at += extra_length + comment_length
        yield ZipEntry(name, flags, method, crc, packed, size, offset)


def _wide(extra: bytes, *fields: int) -> list[int]:
    """The fields that are full in 32 bits, taken in their order from the zip64 extra field (id 1)."""
    at = 0
    while at + 4 <= len(extra):
        kind, length = struct.unpack_from("<2H", extra, at)
        if kind == 1:
            found = extra[at + 4 : at + 4 + length]  # it may be cut short
            values = iter(struct.unpack_from(f"<{len(found) // 8}Q", found))
            return [next(values, field) if field == _FULL32 else field for field in fields]
        at += 4 + length
    return list(fields)


def _unpack(data: bytes, entry: ZipEntry, length: int) -> bytes:
    if entry.method == 0:
        return data[:length]
    if entry.method != 8:
        raise MalformedFile(f"has {entry.name} compressed with method {entry.method}; Android supports only deflate.")
    try:
        return zlib.decompressobj(-zlib.MAX_WBITS).decompress(data, length)
    except zlib.error:
        raise MalformedFile(f"is damaged: {entry.name} can't be decompressed.") from None
