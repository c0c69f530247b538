"""Opens zips that anybody made, with `zipfile`: an APK, a bundle, native symbols. Every number in
one is a claim.

Sizes and counts are checked before anything is unpacked, and a member is read no further than it
declares and than its reader needs: a bundle of many gigabytes costs as much as a small one.
"""

from __future__ import annotations

import io
import re
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, BinaryIO, cast

from uploader.errors import InputError, Problem
from uploader.files.workspace import reason

MAX_DIRECTORY = 32 << 20  # bytes: as many members as may be, with names of three hundred characters
MAX_MEMBERS = 100_000  # several times those of the largest apps
# members that are looked into: several times the native libraries of the largest apps
MAX_WANTED = 10_000
# bytes: many times what any manifest needs, little enough to hold and to walk through
MAX_MEMBER = 4 << 20
PIECE = 1 << 20  # bytes of a member that is too large to hold

# All that zipfile is known to raise for a damaged, encrypted or hostile zip, and OSError where one
# leads it outside.
ZIP_ERRORS = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    ArithmeticError,
    RuntimeError,
    ValueError,
)

_ENCRYPTED = 0x2041  # flag bits 0 (encrypted), 6 (strong encryption) and 13 (masked headers)
_DIRECTORY_LINE = b"PK\1\2"
# bytes of the extra fields of one member, of all: tools write some tens each
_MAX_EXTRA, _MAX_EXTRAS = 4096, 4 << 20
_END_RECORD = 22  # bytes, the last two of which are the length of the comment behind it
# bytes, the last four of which are the lengths of the name and of the extra field behind it
_LOCAL_HEADER = 30


class MalformedFile(Exception):
    """A file is not what it should be. `what` continues a sentence that begins with its name;
    `hint` is a sentence.
    """

    def __init__(self, what: str, hint: str = "Build the artifact again.") -> None:
        super().__init__(f"{what} {hint}")


@contextmanager
def input_errors(name: str) -> Iterator[None]:
    """Turns what is wrong with an artifact, called `name` in messages, into one InputError (problem
    `files`).
    """
    try:
        yield
    except MalformedFile as error:
        raise InputError(Problem("files", f"{name} {error}")) from None
    except OSError as error:
        raise InputError(Problem("files", f"{name} can't be read: {reason(error)}.")) from None


class Archive:
    """The members of an open zip whose names `wanted` accepts. Raises MalformedFile."""

    def __init__(self, file: BinaryIO, wanted: Callable[[str], bool]) -> None:
        self._file, self._size = file, file.seek(0, io.SEEK_END)
        self._zip = open_zip(file)
        self.members: dict[str, zipfile.ZipInfo] = {}
        for member in self._zip.infolist():
            name = member.filename
            if not wanted(name):
                continue
            if name in self.members:
                raise MalformedFile(
                    f"contains {name} twice, so readers may disagree about what it says."
                )
            self.members[name] = member
            if len(self.members) > MAX_WANTED:
                raise MalformedFile(
                    f"has more native libraries than are plausible: over {MAX_WANTED:,}."
                )

    def read(self, name: str) -> bytes:
        """The whole member, checked against its declared size and checksum. Raises
        MalformedFile.
        """
        size = max(self.members[name].file_size, self.members[name].compress_size)
        if size > MAX_MEMBER:
            raise MalformedFile(
                f"declares {size:,} bytes for {name}; no more than {MAX_MEMBER:,} are plausible."
            )
        return b"".join(self.pieces(name))

    def pieces(self, name: str, max_bytes: int = MAX_MEMBER) -> Iterator[bytes]:
        """A member from its beginning, PIECE by PIECE, and so many bytes at most. Raises
        MalformedFile.
        """
        member = self.members[name]
        if member.flag_bits & _ENCRYPTED:
            hint = "Play does not accept encrypted archives; build it without a password."
            raise MalformedFile(f"has an encrypted {name}.", hint)
        # `zipfile` would take more
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            what = (
                f"has {name} compressed with method {member.compress_type}; Android supports only "
                "deflate."
            )
            raise MalformedFile(what)
        left = min(member.file_size, max_bytes)
        try:
            with self._zip.open(member) as opened:
                while piece := opened.read(min(left, PIECE)):
                    left -= len(piece)
                    yield piece
        except (OSError, *ZIP_ERRORS) as error:
            what = "differs from its checksum" if "CRC" in str(error) else "can't be decompressed"
            raise MalformedFile(f"is damaged: {name} {what}.") from None
        if left:
            raise MalformedFile(f"is damaged: {name} is shorter than declared.")

    def offset(self, name: str) -> int:
        """Where the content of a member begins in the file. Raises MalformedFile."""
        header = self.members[name].header_offset
        of_name, of_extra = struct.unpack("<2H", self.at(header + _LOCAL_HEADER - 4, 4))
        return header + _LOCAL_HEADER + int(of_name) + int(of_extra)

    @property
    def directory(self) -> int:
        """Where the directory begins in the file, as `zipfile` found it."""
        return self._zip.start_dir

    def before_directory(self, back: int, length: int) -> bytes:
        """`length` bytes that begin `back` bytes before the directory; empty when there is no room
        for them.
        """
        directory = self._zip.start_dir
        return self.at(directory - back, length) if length <= back <= directory else b""

    def at(self, offset: int, length: int) -> bytes:
        """So many bytes of the file. Raises MalformedFile where it has no such."""
        if 0 <= offset <= self._size - length:
            self._file.seek(offset)
            if len(data := self._file.read(length)) == length:
                return data
        raise MalformedFile("is cut short or damaged: parts of it lie beyond its end.")


def open_zip(file: BinaryIO) -> zipfile.ZipFile:
    """The zip in an open file, its directory checked and nothing unpacked. Raises MalformedFile."""
    size = file.seek(0, io.SEEK_END)
    if size == 0:
        raise MalformedFile("is empty (0 bytes).")
    if not is_zip(file):
        file.seek(0)
        if file.read(4) == b"PK\3\4":
            what, hint = (
                "is cut short: the directory at the end of the zip is missing.",
                "Download or build it again.",
            )
        else:
            what = "is not a zip archive, so it can't be an APK or an Android App Bundle."
            hint = "Check what the pattern matched."
        raise MalformedFile(what, hint)
    try:
        found = zipfile.ZipFile(cast(IO[bytes], _BoundedFile(file)))
    except (OSError, *ZIP_ERRORS):
        raise MalformedFile("is damaged: its directory can't be read.") from None
    if sum(member.compress_size for member in found.infolist()) > size:
        raise MalformedFile("is damaged: its members take more room than it has.")
    return found


def is_zip(file: BinaryIO) -> bool:
    """Whether a zip's end record and its comment end the file: `zipfile` takes more behind them,
    Android does not.
    """
    file.seek(max(0, file.seek(0, io.SEEK_END) - _END_RECORD - 0xFFFF))
    tail = file.read()
    ends = [found.start() + _END_RECORD for found in re.finditer(b"PK\5\6", tail)]
    return any(
        at + int.from_bytes(tail[at - 2 : at], "little") == len(tail)
        for at in ends
        if at <= len(tail)
    )


class _BoundedFile:
    """A zip's file as `zipfile` reads it, without a directory beyond that of any app."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self.seek, self.tell, self.seekable = file, file.seek, file.tell, file.seekable

    def read(self, size: int = -1) -> bytes:
        if size > MAX_DIRECTORY:  # no member is read so far at once
            what = (
                f"declares a directory of {size:,} bytes; no more than {MAX_DIRECTORY:,} are "
                "plausible."
            )
            raise MalformedFile(what)
        data = self._file.read(size)
        at = members = extras = 0
        while data.startswith(_DIRECTORY_LINE, at) and at + 46 <= len(data):
            name, extra, comment = struct.unpack_from("<3H", data, at + 28)
            at, members, extras = at + 46 + name + extra + comment, members + 1, extras + extra
            if members > MAX_MEMBERS:
                raise MalformedFile(
                    f"contains more files than are plausible: over {MAX_MEMBERS:,}."
                )
            if extra > _MAX_EXTRA or extras > _MAX_EXTRAS:  # more than `zipfile` goes over quickly
                raise zipfile.BadZipFile
        return data
