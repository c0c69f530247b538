"""What a file held when it was checked: a digest of each block, held against every block that is
read later.

Neither a file's times nor an open descriptor show every change: a writer that has the file mapped
into its memory may change bytes without moving a time, and in place. Whoever reads through
`CheckedFile` gets the bytes that were digested, or an error, block by block: no other byte can be
parsed, compared or sent.
"""

from __future__ import annotations

import hashlib
import io
import os
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NoReturn, Protocol

if TYPE_CHECKING:
    from typing_extensions import Buffer


class Readable(Protocol):
    """What gives out bytes."""

    def read(self, size: int, /) -> bytes | None:
        """So many bytes at most; none at the end."""


# bytes; the digests of a bundle of 50 GiB, the largest there is, take 6.5 MB
CHECKED_BLOCK = 256 * 1024
_DIGEST = 32  # bytes of a SHA-256
_KEPT = 16  # blocks: zip readers revisit a few blocks


def digest_blocks(file: Readable, size: int) -> bytes:
    """The SHA-256 of each block of the first `size` bytes, one behind the other; of a shorter file,
    of all there is.
    """
    digests = bytearray()
    for block in _blocks(file, size):
        digests += hashlib.sha256(block).digest()
    return bytes(digests)


def _blocks(file: Readable, size: int) -> Iterator[bytes]:
    left = size
    while left:
        block = _read_fully(file, min(CHECKED_BLOCK, left))
        if not block:
            return
        left -= len(block)
        yield block


def _read_fully(file: Readable, count: int) -> bytes:
    parts: list[bytes] = []
    while count and (part := file.read(count)):
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


class CheckedFile(io.RawIOBase):
    """An open file, of which only what has the `digests` can be read. `size` is in bytes.

    `refuse` raises the error for a block that is another one by now. Owns `file`, and is not for
    several threads.
    """

    def __init__(
        self, file: io.FileIO, size: int, digests: bytes, refuse: Callable[[], NoReturn]
    ) -> None:
        super().__init__()
        self._file = file
        self._size = size
        self._digests = digests
        self._refuse = refuse
        self._position = 0
        self._recent: OrderedDict[int, bytes] = OrderedDict()

    def readable(self) -> bool:
        """Always."""
        return True

    def seekable(self) -> bool:
        """Always."""
        return True

    def fileno(self) -> int:
        """The descriptor of the file."""
        return self._file.fileno()

    def close(self) -> None:
        """Closes the file."""
        self._recent.clear()
        self._file.close()
        super().close()

    def tell(self) -> int:
        """Where the next byte is read."""
        return self._position

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Goes to an offset from the beginning, from here, or from the end."""
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self._size}[whence]
        if start + offset < 0:
            raise OSError(22, os.strerror(22))
        self._position = start + offset
        return self._position

    def read(self, size: int = -1) -> bytes:
        """So many bytes, or all that are left."""
        stop = self._size if size < 0 else min(self._position + size, self._size)
        parts: list[bytes] = []
        while self._position < stop:
            index, start = divmod(self._position, CHECKED_BLOCK)
            part = self._block(index)[start : start + stop - self._position]
            parts.append(part)
            self._position += len(part)
        return b"".join(parts)

    def readinto(self, buffer: Buffer) -> int:
        """Fills a buffer as far as there are bytes; how many."""
        view = memoryview(buffer).cast("B")
        data = self.read(len(view))
        view[: len(data)] = data
        return len(data)

    def _block(self, index: int) -> bytes:
        if index in self._recent:
            self._recent.move_to_end(index)
            return self._recent[index]
        length = min(CHECKED_BLOCK, self._size - index * CHECKED_BLOCK)
        self._file.seek(index * CHECKED_BLOCK)
        block = _read_fully(self._file, length)
        if len(block) != length or not self._is_checked(index, block):
            self._refuse()
        self._recent[index] = block
        if len(self._recent) > _KEPT:
            self._recent.popitem(last=False)
        return block

    def _is_checked(self, index: int, block: bytes) -> bool:
        return (
            hashlib.sha256(block).digest() == self._digests[index * _DIGEST : (index + 1) * _DIGEST]
        )
