"""The one door through which a run writes files that were asked for: whole or not at all, and never
through a link.

Every folder on the way is opened from the one above it without following links, and the file is
made, checked and named in the folder that is open: whoever may change the workspace meanwhile can't
lead the bytes elsewhere. What already stands under the name is replaced only if it is a regular
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

_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK  # a pipe may not hold the run
_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
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
        """How people see it."""
        return printable(self.path)

    def check(self) -> None:
        """Raises InputError where the file may not or can't be written, as far as that shows
        without writing.
        """
        with suppress(FileNotFoundError), self._folder(make=False) as folder:
            self.check_kind(folder)

    def holds(self, sha256: str) -> bool:
        """Whether exactly these bytes are there already. Raises InputError as `check` does."""
        try:
            with (
                self._folder(make=False) as folder,
                open(self.leaf, "rb", opener=_from(folder, _READ)) as file,
            ):
                found = hashlib.sha256()
                while stat.S_ISREG(os.fstat(file.fileno()).st_mode) and (
                    block := file.read(_BLOCK)
                ):
                    found.update(block)
                return found.hexdigest() == sha256
        except OSError:  # what can't be read is written again, which says what is wrong
            return False

    @contextmanager
    def writing(self) -> Iterator[NewFile]:
        """A new file beside it, which takes its name once it is kept, and else goes without a
        trace.

        Raises InputError as `check` does, UploaderError where the system does not let it be
        written.
        """
        with self._named_errors(), self._folder(make=True) as folder:
            temporary = f".{self.leaf[:100]}.{os.urandom(8).hex()}"
            with open(temporary, "w+b", opener=_from(folder, _NEW)) as file:
                try:
                    yield NewFile(self, file, temporary, folder)
                finally:
                    with suppress(FileNotFoundError):  # it has its name by now
                        os.unlink(temporary, dir_fd=folder)

    def write(self, data: bytes) -> bool:
        """Makes the file hold exactly this; False where it did already. Raises as `writing`
        does.
        """
        if self.holds(hashlib.sha256(data).hexdigest()):
            return False
        with self.writing() as file:
            file.write(data)
            file.keep()
        return True

    def ending(self, ending: str) -> Destination:
        """The same with this at the end of its name."""
        return replace(self, path=self.path + ending)

    @property
    def leaf(self) -> str:
        """Its name in its folder."""
        return Path(self.path).name

    @contextmanager
    def _folder(self, *, make: bool) -> Iterator[int]:
        """The folder of the file, open. Raises FileNotFoundError where it is not there and is not
        to be made.
        """
        path = self.workspace.lexical(str(Path(self.path).parent))
        if self.leaf in ("", "..") or self.path.endswith("/"):
            self.refuse("names a folder.")
        if objection := self.workspace.objection_to_writing(below(path) + self.leaf):
            self.refuse(f"{objection}.")
        inside = self.workspace.inside(path)
        start, rest = ("/", path) if inside is None else (self.workspace.real, inside)
        try:
            folder = open_folder(start, rest, make=make)
        except NotAFolder as error:
            self.refuse(f"can't be written: {error.strerror}.")
        try:
            yield folder
        finally:
            os.close(folder)

    def check_kind(self, folder: int) -> None:
        """Raises InputError where something in the open folder has the name and is no regular
        file.
        """
        with suppress(FileNotFoundError):
            if not stat.S_ISREG(os.stat(self.leaf, dir_fd=folder, follow_symlinks=False).st_mode):
                self.refuse("already exists and is not a regular file.")

    def refuse(self, what: str) -> NoReturn:
        """Raises InputError; `what` continues a sentence that begins with the name."""
        raise InputError(Problem(self.input_name, f"{self.name} {what}"))

    @contextmanager
    def _named_errors(self) -> Iterator[None]:
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
    """A file that has no name yet."""

    destination: Destination
    file: BinaryIO
    temporary: str
    folder: int

    def write(self, data: bytes) -> None:
        """Appends bytes. Raises UploaderError where the system does not let them be written."""
        with self.destination._named_errors():  # noqa: SLF001  # the other half of one thing
            self.file.write(data)

    def clear(self) -> None:
        """Throws away what was written."""
        self.file.seek(0)
        self.file.truncate()

    def reader(self) -> BinaryIO:
        """What was written, to be read from the beginning."""
        self.file.flush()
        self.file.seek(0)
        return self.file

    def keep(self, ending: str = "") -> str:
        """Gives the file its name, with this at its end, and returns its path. Raises InputError as
        `check` does.
        """
        destination = self.destination.ending(ending)
        self.file.flush()
        # whatever the umask: a later step may run as another user
        os.fchmod(self.file.fileno(), 0o644)
        destination.check_kind(self.folder)
        os.replace(self.temporary, destination.leaf, src_dir_fd=self.folder, dst_dir_fd=self.folder)
        return destination.path


def _from(folder: int, flags: int) -> Callable[[str, int], int]:
    return lambda name, _: os.open(name, flags, 0o644, dir_fd=folder)
