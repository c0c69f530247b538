"""Files that are read for long, such as those of a comparison: a run that is to end does not
read on.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from typing_extensions import Buffer

_BUFFER = 64 << 10  # bytes


class Source(Protocol):
    """A file: its name in messages, and how it is opened."""

    @property
    def name(self) -> str:
        """What people know it by."""

    def reader(self) -> io.BufferedReader:
        """Open the file from its beginning."""


@dataclass(frozen=True)
class Watched:
    """A file of which each piece is read only after `check` has let it: it raises what ends the
    run.
    """

    source: Source
    check: Callable[[], None]

    @property
    def name(self) -> str:
        """What people know it by."""
        return self.source.name

    def reader(self) -> io.BufferedReader:
        """Open the file from its beginning. Reading raises what `check` raises."""
        return io.BufferedReader(
            _WatchedReader(self.source.reader(), self.check), _BUFFER
        )


class _WatchedReader(io.RawIOBase):
    def __init__(self, file: io.BufferedReader, check: Callable[[], None]) -> None:
        self._file = file
        self._check = check

    def readable(self) -> bool:
        """Return true: it is for nothing else."""
        return True

    def seekable(self) -> bool:
        """Return true: a zip is read from its end."""
        return True

    def readinto(self, buffer: Buffer) -> int:
        """Read into a buffer, and return how many bytes. Raises what `check` raises."""
        self._check()
        return self._file.readinto(buffer)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a position."""
        return self._file.seek(offset, whence)

    def close(self) -> None:
        """Close the file as well."""
        self._file.close()
        super().close()
