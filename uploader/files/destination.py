"""Writes the files that inputs ask for, completely or not at all, and never through a link. Nothing
else writes them.

Every folder on the way is opened from the one above it without following links, and the file is
made, checked and named in the folder that is open. Therefore a change of the workspace meanwhile
can't lead the bytes elsewhere. An existing file of the name is replaced only if it is a regular
file.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO, NoReturn

from uploader.errors import InputError, Problem, UploaderError
from uploader.files.folders import NotAFolder, open_folder
from uploader.files.workspace import Workspace, below, printable, reason

# follows no link, and is not inherited by other programs
_ALWAYS = os.O_NOFOLLOW | os.O_CLOEXEC
# O_NONBLOCK, so that a pipe does not hold the run
_READ = os.O_RDONLY | os.O_NONBLOCK | _ALWAYS
_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | _ALWAYS
_BLOCK = 256 * 1024  # bytes


@dataclass(frozen=True)
class Destination:
    """A file that one input lets the run write. `path` is relative to the workspace, or
    absolute.
    """

    workspace: Workspace
    input_name: str
    path: str

    @property
    def name(self) -> str:
        """The path as messages show it."""
        return printable(self.path)

    def check(self) -> None:
        """Raise InputError if the file may not or can't be written, as far as that shows without
        writing.
        """
        with suppress(FileNotFoundError), self._folder(make=False) as folder:
            self.check_kind(folder)

    def holds(self, sha256: str) -> bool:
        """Return whether the file has exactly these bytes. Raises InputError as `check` does."""
        try:
            with (
                self._folder(make=False) as folder,
                open(self.leaf, "rb", opener=_from(folder, _READ)) as file,
            ):
                return _digest(file) == sha256
        except OSError:
            # What can't be read is written again, and then the error is shown.
            return False

    @contextmanager
    def writing(self) -> Iterator[NewFile]:
        """Create a new file beside the destination, which gets its name if it is kept, and is
        removed otherwise.

        Raises InputError as `check` does, UploaderError if the system does not let it be written.
        """
        with self._translate_errors(), self._folder(make=True) as folder:
            suffix = os.urandom(8).hex()
            temporary = f".{self.leaf[:100]}.{suffix}"
            with open(temporary, "w+b", opener=_from(folder, _NEW)) as file:
                try:
                    yield NewFile(self, file, temporary, folder)
                finally:
                    # A file that was kept has its own name by now.
                    with suppress(FileNotFoundError):
                        os.unlink(temporary, dir_fd=folder)

    def write(self, data: bytes) -> bool:
        """Make the file hold exactly these bytes. Returns False if it did already. Raises as
        `writing` does.
        """
        sha256 = hashlib.sha256(data).hexdigest()
        if self.holds(sha256):
            return False
        with self.writing() as file:
            file.write(data)
            file.keep()
        return True

    def remove(self) -> None:
        """Remove the file, if it is there and `check` has nothing against it. Raises UploaderError
        if the system does not let it be removed.
        """
        with (
            self._translate_errors(),
            suppress(FileNotFoundError, InputError),
            self._folder(make=False) as folder,
        ):
            self.check_kind(folder)
            os.unlink(self.leaf, dir_fd=folder)

    def ending(self, ending: str) -> Destination:
        """Return the destination with `ending` appended to its name."""
        return replace(self, path=self.path + ending)

    @property
    def leaf(self) -> str:
        """The file's name in its folder."""
        return Path(self.path).name

    @contextmanager
    def _folder(self, *, make: bool) -> Iterator[int]:
        """Open the folder of the file. Raises InputError, and FileNotFoundError if the folder does
        not exist and is not to be made.
        """
        leaf = self.leaf
        parent = str(Path(self.path).parent)
        path = self.workspace.lexical(parent)
        if leaf in ("", "..") or self.path.endswith("/"):
            self.refuse("names a folder.")
        target = below(path) + leaf
        objection = self.workspace.objection_to_writing(target)
        if objection:
            self.refuse(f"{objection}.")
        inside = self.workspace.inside(path)
        try:
            if inside is None:
                folder = open_folder("/", path, make=make)
            else:
                folder = open_folder(self.workspace.real, inside, make=make)
        except NotAFolder as error:
            self.refuse(f"can't be written: {error.strerror}.")
        try:
            yield folder
        finally:
            os.close(folder)

    def check_kind(self, folder: int) -> None:
        """Raise InputError if something in the open folder has the name and is no regular file."""
        try:
            status = os.stat(self.leaf, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            return
        if not stat.S_ISREG(status.st_mode):
            self.refuse("already exists and is not a regular file.")

    def refuse(self, what: str) -> NoReturn:
        """Raise InputError. `what` continues a sentence that begins with the name."""
        problem = Problem(self.input_name, f"{self.name} {what}")
        raise InputError(problem)

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        """Turn an OSError into an UploaderError that names the file."""
        try:
            yield
        except OSError as error:
            raise UploaderError(
                f"{self.name} could not be written: {reason(error)}.",
                cause="The disk is full, or the folder belongs to another user.",
                hint=f"Free some space, or choose another place with `{self.input_name}`.",
                code="file-not-written",
            ) from None


@dataclass(frozen=True)
class NewFile:
    """A file under a temporary name, until `keep` gives it its own."""

    destination: Destination
    file: BinaryIO
    temporary: str
    folder: int

    def write(self, data: bytes) -> None:
        """Append bytes. Raises UploaderError if the system does not let them be written."""
        with self.destination._translate_errors():  # noqa: SLF001  # both classes write one file
            self.file.write(data)

    def clear(self) -> None:
        """Remove what was written."""
        self.file.seek(0)
        self.file.truncate()

    def reader(self) -> BinaryIO:
        """Return the file to read what was written from the beginning."""
        self.file.flush()
        self.file.seek(0)
        return self.file

    def keep(self, ending: str = "") -> str:
        """Give the file its name, with `ending` appended, and return its path. Raises InputError as
        `Destination.check` does.
        """
        destination = self.destination.ending(ending)
        self.file.flush()
        # A later step may run as another user, so the mode does not depend on the umask.
        os.fchmod(self.file.fileno(), 0o644)
        destination.check_kind(self.folder)
        os.replace(
            self.temporary,
            destination.leaf,
            src_dir_fd=self.folder,
            dst_dir_fd=self.folder,
        )
        return destination.path


def _digest(file: BinaryIO) -> str:
    """Return the SHA-256 of a regular file. For anything else, which might be read without end,
    return that of no bytes.
    """
    digest = hashlib.sha256()
    status = os.fstat(file.fileno())
    if stat.S_ISREG(status.st_mode):
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


def _from(folder: int, flags: int) -> Callable[[str, int], int]:
    """Return an opener of names in the open folder."""

    def open_name(name: str, _: int) -> int:
        return os.open(name, flags, 0o644, dir_fd=folder)

    return open_name
