"""Opens zips from unknown sources with `zipfile`: an APK, a bundle, native symbols. No number in
them is trusted.

Sizes and counts are checked before anything is unpacked, and a member is read no further than it
declares and than its reader needs, so that a bundle of many gigabytes takes as long as a small one.
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

# bytes: room for MAX_MEMBERS with names of three hundred characters
MAX_DIRECTORY = 32 << 20
MAX_MEMBERS = 100_000  # several times those of the largest apps
# members that a reader wants: several times the native libraries of the largest apps
MAX_WANTED = 10_000
# bytes: many times what any manifest needs, and little enough to keep in memory
MAX_MEMBER = 4 << 20
# All members of a zip may unpack to so many times its size, and to so many bytes in any case. That
# is several times what the best packed real apps have.
MAX_RATIO = 50
MAX_UNPACKED = 256 << 20
PIECE = 1 << 20  # bytes of a member that is too large to hold

# All that zipfile is known to raise for a damaged, encrypted or hostile zip, apart from OSError for
# an offset outside of the file.
ZIP_ERRORS = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    ArithmeticError,
    RuntimeError,
    ValueError,
)

# flag bits 0 (encrypted), 6 (strong encryption) and 13 (masked headers)
_ENCRYPTED = 0x2041
_UTF8_NAME = 0x0800  # flag bit 11
_LOCAL_SIGNATURE = b"PK\3\4"
_DIRECTORY_LINE = b"PK\1\2"
_DIRECTORY_LINE_SIZE = 46  # bytes before the name, the extra fields and the comment
_END_SIGNATURE = b"PK\5\6"
_AMBIGUOUS = "may be read in several ways"
_MAX_EXTRA = 4096  # bytes of the extra fields of one member; tools write some tens
_MAX_EXTRAS = 4 << 20  # bytes of the extra fields of all members
_ZIP64_LOCATOR = b"PK\6\7"
_ZIP64_LOCATOR_SIZE = 20  # bytes; it lies right before the end record
# an extra field of a member that is larger than 4 GiB, or lies beyond the first 4 GiB
_ZIP64_EXTRA = 0x0001
# another name for the member, which only some readers take
_UNICODE_PATH_EXTRA = 0x7075
_END_RECORD = 22  # bytes; the last two are the length of the comment behind it
_LONGEST_END = _END_RECORD + 0xFFFF  # bytes, with the longest comment
# bytes; the last four are the lengths of the name and of the extra field behind it
_LOCAL_HEADER = 30
# A name under which a JAR signature, or the list that it signs, lies in a zip.
JAR_SIGNATURE = re.compile(r"META-INF/[^/]{1,200}\.(RSA|DSA|EC|SF)", re.IGNORECASE)


class MalformedFile(Exception):
    """A file is not what it should be. `what` continues a sentence that begins with the file's
    name; `hint` is a sentence.
    """

    def __init__(self, what: str, hint: str = "Build the artifact again.") -> None:
        super().__init__(f"{what} {hint}")


@contextmanager
def input_errors(name: str, input_name: str = "files") -> Iterator[None]:
    """Turn a MalformedFile or OSError about an artifact, called `name` in messages, into an
    InputError for `input_name`.
    """
    try:
        yield
    except MalformedFile as error:
        problem = Problem(input_name, f"{name} {error}")
        raise InputError(problem) from None
    except OSError as error:
        problem = Problem(input_name, f"{name} can't be read: {reason(error)}.")
        raise InputError(problem) from None


class Archive:
    """The members of an open zip whose names `wanted` accepts, `max_wanted` at most. Raises
    MalformedFile.
    """

    def __init__(
        self,
        file: BinaryIO,
        wanted: Callable[[str], bool],
        max_wanted: int = MAX_WANTED,
    ) -> None:
        self._file = file
        self._size = file.seek(0, io.SEEK_END)
        self._zip = open_zip(file)
        self.members: dict[str, zipfile.ZipInfo] = {}
        for member in self._zip.infolist():
            name = _name(member)
            if not wanted(name):
                continue
            if name in self.members:
                raise MalformedFile(
                    f"contains {name} twice, so readers may disagree about what it says."
                )
            self.members[name] = member
            if len(self.members) > max_wanted:
                raise MalformedFile(
                    f"has more files of one kind than are plausible: over {max_wanted:,}."
                )

    def read(self, name: str, max_bytes: int = MAX_MEMBER) -> bytes:
        """Return the whole member, checked against its declared size and checksum. Raises
        MalformedFile, also for one that is larger than `max_bytes`.
        """
        member = self.members[name]
        size = max(member.file_size, member.compress_size)
        if size > max_bytes:
            raise MalformedFile(
                f"declares {size:,} bytes for {name}; no more than {max_bytes:,} are plausible."
            )
        return b"".join(self.pieces(name, max_bytes))

    def pieces(self, name: str, max_bytes: int = MAX_MEMBER) -> Iterator[bytes]:
        """Read a member from its beginning, PIECE by PIECE, and no more than `max_bytes`. Raises
        MalformedFile.
        """
        member = self.members[name]
        if member.flag_bits & _ENCRYPTED:
            hint = (
                "Play does not accept encrypted archives; build it without a password."
            )
            raise MalformedFile(f"has an encrypted {name}.", hint)
        method = member.compress_type
        # `zipfile` would read other methods as well.
        if method not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise MalformedFile(
                f"has {name} compressed with method {method}; Android supports only deflate."
            )
        left = min(member.file_size, max_bytes)
        try:
            with self._zip.open(member) as content:
                while piece := content.read(min(left, PIECE)):
                    left -= len(piece)
                    yield piece
        except (OSError, *ZIP_ERRORS) as error:
            what = "can't be decompressed"
            if "CRC" in str(error):
                what = "differs from its checksum"
            raise MalformedFile(f"is damaged: {name} {what}.") from None
        if left:
            raise MalformedFile(f"is damaged: {name} is shorter than declared.")

    def check_unpacked_size(self) -> None:
        """Raise MalformedFile if the members declare more bytes than a whole app unpacks to.

        For readers that go through all of them: nothing else bounds what that takes.
        """
        members = self.members.values()
        unpacked = sum(member.file_size for member in members)
        max_unpacked = max(MAX_UNPACKED, MAX_RATIO * self._size)
        if unpacked > max_unpacked:
            raise MalformedFile(
                f"declares {unpacked:,} unpacked bytes, which is not plausible for a file of "
                f"{self._size:,}."
            )

    def offset(self, name: str) -> int:
        """Return where the content of a member begins in the file. Raises MalformedFile."""
        member = self.members[name]
        header_end = member.header_offset + _LOCAL_HEADER
        lengths = self.at(header_end - 4, 4)
        name_length, extra_length = struct.unpack("<2H", lengths)
        return header_end + int(name_length) + int(extra_length)

    @property
    def directory(self) -> int:
        """Where the directory begins in the file, as `zipfile` found it."""
        return self._zip.start_dir

    def before_directory(self, back: int, length: int) -> bytes:
        """Return `length` bytes that begin `back` bytes before the directory; empty when there is
        no room for them.
        """
        directory = self._zip.start_dir
        if not length <= back <= directory:
            return b""
        return self.at(directory - back, length)

    def at(self, offset: int, length: int) -> bytes:
        """Return so many bytes of the file. Raises MalformedFile if they lie beyond its end."""
        last_offset = self._size - length
        if 0 <= offset <= last_offset:
            self._file.seek(offset)
            data = self._file.read(length)
            if len(data) == length:
                return data
        raise MalformedFile("is cut short or damaged: parts of it lie beyond its end.")


def open_zip(file: BinaryIO) -> zipfile.ZipFile:
    """Open a zip and check its directory, without unpacking anything. Raises MalformedFile."""
    size = file.seek(0, io.SEEK_END)
    if size == 0:
        raise MalformedFile("is empty (0 bytes).")
    if not is_zip(file):
        file.seek(0)
        if file.read(4) == _LOCAL_SIGNATURE:
            raise MalformedFile(
                "is cut short: the directory at the end of the zip is missing.",
                "Download or build it again.",
            )
        raise MalformedFile(
            "is not a zip archive, so it can't be an APK or an Android App Bundle.",
            "Check what the pattern matched.",
        )
    bounded = cast(IO[bytes], _BoundedFile(file))
    try:
        archive = zipfile.ZipFile(bounded)
    except (OSError, *ZIP_ERRORS):
        raise MalformedFile("is damaged: its directory can't be read.") from None
    members = archive.infolist()
    packed = sum(member.compress_size for member in members)
    if packed > size:
        raise MalformedFile("is damaged: its members take more room than it has.")
    return archive


def has_utf8_name(member: zipfile.ZipInfo) -> bool:
    """Return whether the name of a member is in UTF-8; Android and Java refuse any other."""
    if member.flag_bits & _UTF8_NAME:
        return True
    raw_name = member.orig_filename.encode("cp437")
    return _is_utf8(raw_name)


def _name(member: zipfile.ZipInfo) -> str:
    """Return the name of a member as Android and Java read it: in UTF-8, whether or not its flag
    says so. `zipfile` reads it in the code page 437 without the flag, and so does this if it is not
    UTF-8.
    """
    name = member.filename
    if member.flag_bits & _UTF8_NAME or name.isascii():
        return name
    try:
        raw_name = name.encode("cp437")
        return raw_name.decode("utf-8")
    except UnicodeError:
        return name


def is_zip(file: BinaryIO) -> bool:
    """Return whether a zip's end record and its comment end the file. `zipfile` allows more bytes
    behind them, Android does not.
    """
    size = file.seek(0, io.SEEK_END)
    start = max(0, size - _LONGEST_END)
    file.seek(start)
    tail = file.read()
    for match in re.finditer(_END_SIGNATURE, tail):
        end = match.start() + _END_RECORD
        if end > len(tail):
            continue
        length_field = tail[end - 2 : end]
        comment_length = int.from_bytes(length_field, "little")
        if end + comment_length == len(tail):
            return True
    return False


def check_unambiguous(file: BinaryIO) -> None:
    """Raise MalformedFile for a zip whose directory another reader than `zipfile` could find
    elsewhere, or read otherwise.

    `zipfile` accepts more than Android does (libziparchive, the APK Signature Scheme v2): two
    directories, a directory that is not where the end record says, entries that are not counted,
    other names in extra fields. A reader that compares contents must find what the phone finds.
    """
    size = file.seek(0, io.SEEK_END)
    start = max(0, size - _LONGEST_END)
    file.seek(start)
    tail = file.read(size - start)
    position = tail.rfind(_END_SIGNATURE)
    end = start + position
    room = size - end
    if position < 0 or room < _END_RECORD:
        raise MalformedFile("is not a zip archive.")
    disk, directory_disk, on_disk, count, length, offset, comment = struct.unpack_from(
        "<4H2IH", tail, position + 4
    )
    if end + _END_RECORD + comment != size:
        raise MalformedFile(f"{_AMBIGUOUS}: its end record is not at its end.")
    has_other_disks = disk or directory_disk or on_disk != count
    directory_end = offset + length
    if has_other_disks or directory_end != end:
        raise MalformedFile(
            f"{_AMBIGUOUS}: its directory is not right before the end record."
        )
    locator = max(0, end - _ZIP64_LOCATOR_SIZE)
    file.seek(locator)
    if file.read(4) == _ZIP64_LOCATOR:
        raise MalformedFile(
            f"{_AMBIGUOUS}: it has a second directory, in the form of zip64."
        )
    file.seek(0)
    if count and file.read(4) != _LOCAL_SIGNATURE:
        raise MalformedFile(f"{_AMBIGUOUS}: something lies before its first entry.")
    if length > MAX_DIRECTORY:
        raise MalformedFile(f"declares a directory of {length:,} bytes.")
    file.seek(offset)
    directory = file.read(length)
    _check_directory(directory, count)


def _check_directory(directory: bytes, count: int) -> None:
    """Check each line of a directory. Raises MalformedFile."""
    position = 0
    for _ in range(count):
        is_line = directory.startswith(_DIRECTORY_LINE, position)
        name_start = position + _DIRECTORY_LINE_SIZE
        if not is_line or name_start > len(directory):
            raise MalformedFile(
                f"{_AMBIGUOUS}: its directory has fewer entries than it counts."
            )
        (unpacked,) = struct.unpack_from("<I", directory, position + 24)
        name_length, extra_length, comment_length = struct.unpack_from(
            "<3H", directory, position + 28
        )
        extra_start = name_start + name_length
        comment_start = extra_start + extra_length
        name = directory[name_start:extra_start]
        if b"\0" in name:
            raise MalformedFile(f"{_AMBIGUOUS}: the name of an entry has a zero byte.")
        if not _is_utf8(name):
            raise MalformedFile(f"{_AMBIGUOUS}: the name of an entry is no UTF-8.")
        if name.endswith(b"/") and unpacked:
            raise MalformedFile(f"{_AMBIGUOUS}: a folder in it has content.")
        extra_fields = directory[extra_start:comment_start]
        _check_extra_fields(extra_fields)
        position = comment_start + comment_length
    if position != len(directory):
        raise MalformedFile(
            f"{_AMBIGUOUS}: its directory has more entries than it counts."
        )


def _is_utf8(name: bytes) -> bool:
    try:
        name.decode("utf-8")
    except UnicodeError:
        return False
    return True


def _check_extra_fields(fields: bytes) -> None:
    """Check the extra fields of one entry; zeros may fill them up (zipalign). Raises
    MalformedFile.
    """
    position = 0
    while position + 4 <= len(fields):
        kind, length = struct.unpack_from("<2H", fields, position)
        if kind in (_UNICODE_PATH_EXTRA, _ZIP64_EXTRA):
            raise MalformedFile(f"{_AMBIGUOUS}: an entry has a second name or size.")
        position += 4 + length


class _BoundedFile:
    """A zip's file for `zipfile`, which refuses a directory that is larger than that of any app."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.seek = file.seek
        self.tell = file.tell
        self.seekable = file.seekable

    def read(self, size: int = -1) -> bytes:
        # No member is read in pieces so large, so this is the directory.
        if size > MAX_DIRECTORY:
            raise MalformedFile(
                f"declares a directory of {size:,} bytes; no more than {MAX_DIRECTORY:,} are "
                "plausible."
            )
        data = self._file.read(size)
        offset = 0
        members = 0
        extras = 0
        while data.startswith(_DIRECTORY_LINE, offset):
            name_start = offset + _DIRECTORY_LINE_SIZE
            if name_start > len(data):
                break
            name, extra, comment = struct.unpack_from("<3H", data, offset + 28)
            offset = name_start + name + extra + comment
            members += 1
            extras += extra
            if members > MAX_MEMBERS:
                raise MalformedFile(
                    f"contains more files than are plausible: over {MAX_MEMBERS:,}."
                )
            # `zipfile` takes long to read more than this.
            if extra > _MAX_EXTRA or extras > _MAX_EXTRAS:
                raise zipfile.BadZipFile
        return data
