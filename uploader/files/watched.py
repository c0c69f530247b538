"""Files that take long to read, such as those of a comparison: reading stops when the run is to
end.
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
        """Its name in messages."""

    def reader(self) -> io.BufferedReader:
        """Open the file from its beginning."""


@dataclass(frozen=True)
class Watched:
    """A file that calls `check` before each read. `check` raises the error that ends the run."""

    source: Source
    check: Callable[[], None]

    @property
    def name(self) -> str:
        """Its name in messages."""
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
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True: a zip is read from its end."""
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
