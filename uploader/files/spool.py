"""Keeps what only the run itself needs, such as downloads that are compared, in one file without a
name: the system removes it when the run ends, however it ends.

The file is cut into blocks, so that several downloads can grow in it at the same time, and the room
of those that are done with is used again.
"""

from __future__ import annotations

import errno
import io
import os
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from uploader.errors import ProtocolError, UploaderError
from uploader.files.workspace import Workspace, reason
from uploader.text import capitalise, format_size

if TYPE_CHECKING:
    from typing_extensions import Buffer

BLOCK = 256 << 10  # bytes
_FREE_SPACE = "Free some space, or name another folder with the variable `TMPDIR`."
# The runner's folder counts before TMPDIR, and no workflow can name another one.
_FREE_SPACE_OF_RUNNER = (
    "Free some space on the disk of the runner's temporary folder, `RUNNER_TEMP`."
)


@contextmanager
def open_spool(workspace: Workspace, what: str, max_size: int) -> Iterator[Spool]:
    """Create a file without a name, in the CI system's folder for temporary files if there is one.

    It takes at most `max_size` bytes of the disk; `what` names its content in errors. Raises
    UploaderError if it can't be made.
    """
    folder = temporary_folder(workspace)
    try:
        file = tempfile.TemporaryFile(dir=folder, buffering=0)  # noqa: SIM115  # closed below
    except OSError as error:
        raise not_made(folder, error) from None
    with file:
        yield Spool(file.fileno(), what, max_size, _how_to_free(folder))


def temporary_folder(workspace: Workspace) -> Path | None:
    """Return the CI system's folder for temporary files; None if there is none, and the operating
    system's is used.
    """
    folder = workspace.temp
    if folder and folder.is_dir():
        return folder
    return None


def not_made(folder: Path | None, error: OSError) -> UploaderError:
    """Return the error for a temporary file that can't be made or filled."""
    return UploaderError(
        f"No temporary file could be made: {reason(error)}.",
        cause="The disk is full, or the folder belongs to another user.",
        hint=_how_to_free(folder),
        code="file-not-written",
    )


def _how_to_free(folder: Path | None) -> str:
    return _FREE_SPACE_OF_RUNNER if folder else _FREE_SPACE


class Spool:
    """The file, and which of its blocks are free. May be used from several threads.

    `hint` says what to do if the disk is full.
    """

    def __init__(
        self,
        descriptor: int,
        what: str,
        max_size: int,
        hint: str = _FREE_SPACE,
    ) -> None:
        self.descriptor = descriptor
        self.hint = hint
        self._what = what
        self._max_size = max_size
        self._lock = threading.Lock()
        self._free: list[int] = []
        self._size = 0

    @property
    def size(self) -> int:
        """The most bytes that were in use at the same time."""
        return self._size

    def new_file(self, name: str) -> SpooledFile:
        """Begin a file; `name` is for messages."""
        return SpooledFile(self, name)

    def take_block(self) -> int:
        """Take a free block, and return the offset at which it begins. Raises ProtocolError if the
        limit is reached.
        """
        with self._lock:
            if self._free:
                return self._free.pop()
            offset = self._size
            if offset + BLOCK > self._max_size:
                raise ProtocolError(
                    f"{capitalise(self._what)} is larger than the limit of "
                    f"{format_size(self._max_size)}.",
                    cause="It is far more than such a bundle can yield; the service or a proxy "
                    "answered with something else.",
                    hint="Nothing was written. Run again; report the error if it recurs.",
                    code="download-too-large",
                )
            self._size += BLOCK
            return offset

    def give_back(self, blocks: Sequence[int]) -> None:
        """Let blocks be used again."""
        with self._lock:
            self._free += blocks


class SpooledFile:
    """A file in a spool, for one writer at a time, and any number of readers after that."""

    def __init__(self, spool: Spool, name: str) -> None:
        self.name = name
        self.size = 0
        self._spool = spool
        self._blocks: list[int] = []

    @contextmanager
    def writing(self) -> Iterator[SpooledFile]:
        """Yield the file for writing; if that fails, what was written is removed."""
        try:
            yield self
        except BaseException:
            self.clear()
            raise

    def write(self, data: bytes) -> None:
        """Append bytes. Raises ProtocolError if there are too many in the spool, UploaderError if
        the system does not let them be written.
        """
        left = memoryview(data)
        while left:
            if self.size == len(self._blocks) * BLOCK:
                self._blocks.append(self._spool.take_block())
            number, offset = divmod(self.size, BLOCK)
            part = left[: BLOCK - offset]
            try:
                written = os.pwrite(
                    self._spool.descriptor, part, self._blocks[number] + offset
                )
            except OSError as error:
                raise UploaderError(
                    f"{capitalise(self.name)} could not be kept for the comparison: "
                    f"{reason(error)}.",
                    cause="The disk is full.",
                    hint=self._spool.hint,
                    code="file-not-written",
                ) from None
            self.size += written
            left = left[written:]

    def clear(self) -> None:
        """Remove what was written, and let its blocks be used again."""
        blocks = self._blocks
        self._blocks = []
        self.size = 0
        self._spool.give_back(blocks)

    def keep(self, ending: str = "") -> str:
        """Return the name with `ending` appended. There is nothing else to do, since the file has
        no name on the disk.
        """
        return self.name + ending

    def reader(self) -> io.BufferedReader:
        """Open the file from its beginning."""
        return io.BufferedReader(_Reader(self))

    def read_at(self, position: int, size: int) -> bytes:
        """Return at most so many bytes from a position on, none at the end."""
        if position >= self.size:
            return b""
        number, offset = divmod(position, BLOCK)
        count = min(size, self.size - position, BLOCK - offset)
        return os.pread(self._spool.descriptor, count, self._blocks[number] + offset)


class _Reader(io.RawIOBase):
    """One reader of a spooled file, with a position of its own."""

    def __init__(self, file: SpooledFile) -> None:
        self._file = file
        self._position = 0

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True: a zip is read from its end."""
        return True

    def readinto(self, buffer: Buffer) -> int:
        """Read into a buffer, and return how many bytes."""
        view = memoryview(buffer).cast("B")
        data = self._file.read_at(self._position, len(view))
        view[: len(data)] = data
        self._position += len(data)
        return len(data)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a position."""
        beginnings = {
            io.SEEK_SET: 0,
            io.SEEK_CUR: self._position,
            io.SEEK_END: self._file.size,
        }
        position = beginnings[whence] + offset
        if position < 0:
            raise OSError(errno.EINVAL, "before the beginning")
        self._position = position
        return position
