"""Opens a folder step by step, each from the one above it, so that nobody's link leads
elsewhere.
"""

from __future__ import annotations

import errno
import os
from contextlib import suppress

from uploader.files.workspace import printable

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_MODE = 0o755


class NotAFolder(OSError):
    """A link, or something else that is no folder, stands on the way; `strerror` names it."""


def open_folder(start: str, path: str, *, make: bool, mode: int = _MODE) -> int:
    """A descriptor of the folder at `path` below the folder `start`; no link below `start` is
    followed.

    With `make` whatever is not there is made, the last folder with this mode. Raises NotAFolder,
    FileNotFoundError where something is missing and may not be made, and OSError.
    """
    parts = [part for part in path.split("/") if part]
    folder = os.open(start, _FOLDER)
    try:
        for place, part in enumerate(parts, 1):
            if make:
                with suppress(FileExistsError):
                    os.mkdir(part, mode if place == len(parts) else _MODE, dir_fd=folder)
            inner = _open_below(folder, part)
            os.close(folder)
            folder = inner
    except OSError:
        os.close(folder)
        raise
    return folder


def _open_below(folder: int, part: str) -> int:
    try:
        return os.open(part, _FOLDER | os.O_NOFOLLOW, dir_fd=folder)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            what = f"{printable(part)} is a link or not a folder, and links are not followed"
            raise NotAFolder(error.errno, what) from None
        raise
