"""Keeps a digest of each block of a file that was checked, and compares it with every block that is
read later.

Neither a file's times nor an open descriptor show every change: a program that has the file mapped
into its memory can change bytes in place without changing a time. Reading through `CheckedFile`
gives the bytes that were digested, or an error, block by block, so that no other byte can be
parsed, compared or sent.
"""

from __future__ import annotations

import errno
import hashlib
import io
import os
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NoReturn, Protocol

if TYPE_CHECKING:
    from typing_extensions import Buffer


class Readable(Protocol):
    """Anything that bytes can be read from."""

    def read(self, size: int, /) -> bytes | None:
        """Return at most so many bytes, none at the end."""


# bytes; the digests of a bundle of 50 GiB, the largest there is, take 6.5 MB
CHECKED_BLOCK = 256 * 1024
_DIGEST = 32  # bytes of a SHA-256
_KEPT = 16  # blocks: zip readers revisit a few blocks


def digest_blocks(file: Readable, size: int) -> bytes:
    """Return the SHA-256 of each block of the first `size` bytes, one after the other. A shorter
    file has fewer of them.
    """
    digests = bytearray()
    for block in _blocks(file, size):
        digests += hashlib.sha256(block).digest()
    return bytes(digests)


def _blocks(file: Readable, size: int) -> Iterator[bytes]:
    left = size
    while left:
        length = min(CHECKED_BLOCK, left)
        block = _read_fully(file, length)
        if not block:
            return
        left -= len(block)
        yield block


def _read_fully(file: Readable, count: int) -> bytes:
    """Return so many bytes, or fewer only at the end of the file."""
    pieces: list[bytes] = []
    while count:
        piece = file.read(count)
        if not piece:
            break
        pieces.append(piece)
        count -= len(piece)
    return b"".join(pieces)


class CheckedFile(io.RawIOBase):
    """An open file from which only the bytes that have these `digests` can be read. `size` is in
    bytes.

    `refuse` raises the error for a block that has changed since. The object closes `file`, and is
    not for several threads.
    """

    def __init__(
        self,
        file: io.FileIO,
        size: int,
        digests: bytes,
        refuse: Callable[[], NoReturn],
    ) -> None:
        super().__init__()
        self._file = file
        self._size = size
        self._digests = digests
        self._refuse = refuse
        self._position = 0
        self._recent: OrderedDict[int, bytes] = OrderedDict()

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def fileno(self) -> int:
        """Return the descriptor of the file."""
        return self._file.fileno()

    def close(self) -> None:
        """Close the file."""
        self._recent.clear()
        self._file.close()
        super().close()

    def tell(self) -> int:
        """Return where the next byte is read."""
        return self._position

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Go to an offset from the beginning, from here, or from the end."""
        starts = {
            os.SEEK_SET: 0,
            os.SEEK_CUR: self._position,
            os.SEEK_END: self._size,
        }
        position = starts[whence] + offset
        if position < 0:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        self._position = position
        return position

    def read(self, size: int = -1) -> bytes:
        """Return so many bytes, or all that are left."""
        stop = self._size
        if size >= 0:
            stop = min(self._position + size, self._size)
        pieces: list[bytes] = []
        while self._position < stop:
            index, start = divmod(self._position, CHECKED_BLOCK)
            left = stop - self._position
            block = self._block(index)
            piece = block[start : start + left]
            pieces.append(piece)
            self._position += len(piece)
        return b"".join(pieces)

    def readinto(self, buffer: Buffer) -> int:
        """Fill a buffer as far as there are bytes, and return how many there were."""
        view = memoryview(buffer).cast("B")
        data = self.read(len(view))
        view[: len(data)] = data
        return len(data)

    def _block(self, index: int) -> bytes:
        """Return a block after comparing its digest."""
        if index in self._recent:
            self._recent.move_to_end(index)
            return self._recent[index]
        start = index * CHECKED_BLOCK
        length = min(CHECKED_BLOCK, self._size - start)
        self._file.seek(start)
        block = _read_fully(self._file, length)
        is_complete = len(block) == length
        if not is_complete or not self._is_checked(index, block):
            self._refuse()
        self._recent[index] = block
        if len(self._recent) > _KEPT:
            self._recent.popitem(last=False)
        return block

    def _is_checked(self, index: int, block: bytes) -> bool:
        start = index * _DIGEST
        expected = self._digests[start : start + _DIGEST]
        digest = hashlib.sha256(block).digest()
        return digest == expected
