"""Opens a folder step by step, each from the one above it, so that no link can lead elsewhere."""

from __future__ import annotations

import errno
import os
from contextlib import suppress

from uploader.files.workspace import printable

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_MODE = 0o755


class NotAFolder(OSError):
    """A name on the path is a link, or something else that is no folder. `strerror` says which."""


def open_folder(
    start: str,
    path: str,
    *,
    make: bool,
    mode: int = _MODE,
) -> int:
    """Return a descriptor of the folder at `path` below the folder `start`. No link below `start`
    is followed.

    With `make` the folders that do not exist are made, the last one with this mode. Raises
    NotAFolder, FileNotFoundError if something is missing and may not be made, and OSError.
    """
    names = [name for name in path.split("/") if name]
    folder = os.open(start, _FOLDER)
    try:
        for number, name in enumerate(names, 1):
            if make:
                new_mode = mode if number == len(names) else _MODE
                with suppress(FileExistsError):
                    os.mkdir(name, new_mode, dir_fd=folder)
            inner = _open_below(folder, name)
            os.close(folder)
            folder = inner
    except OSError:
        os.close(folder)
        raise
    return folder


def _open_below(folder: int, name: str) -> int:
    try:
        return os.open(name, _FOLDER | os.O_NOFOLLOW, dir_fd=folder)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            what = f"{printable(name)} is a link or not a folder, and links are not followed"
            raise NotAFolder(error.errno, what) from None
        raise
