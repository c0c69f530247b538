"""Bytes that were uploaded, in files on disk, with their digests computed while they come.

Memory stays constant whatever the size. A block of zeros becomes a hole, so sparse files stay sparse.
"""

from __future__ import annotations

import base64
import itertools
import os
import sys
from collections.abc import Callable
from pathlib import Path

from google_emulator.http.body import BLOCK, Body
from google_emulator.protocol.digests import new_digest

GRANULE = 256 * 1024
_ZEROS = bytes(BLOCK)


class Blob:
    """One growing file. `size` is in bytes; what is stored is always a whole prefix of what was sent."""

    def __init__(self, path: Path, algorithms: tuple[str, ...] = ("sha256",)) -> None:
        self.path = path
        self.size = 0
        self._algorithms = algorithms
        self._digests = {name: new_digest(name) for name in algorithms}
        path.touch()

    def write(self, data: memoryview | bytes) -> None:
        """Appends bytes."""
        descriptor = os.open(self.path, os.O_WRONLY)
        try:
            if data == _ZEROS[: len(data)]:
                os.ftruncate(descriptor, self.size + len(data))
            else:
                _write_all(descriptor, memoryview(data), self.size)
        finally:
            os.close(descriptor)
        for digest in self._digests.values():
            digest.update(data)
        self.size += len(data)

    def truncate(self, size: int) -> None:
        """Forgets everything from `size` on, as a server does that lost what it had not yet made durable."""
        os.truncate(self.path, size)
        self.size = 0
        self._digests = {name: new_digest(name) for name in self._algorithms}
        with self.path.open("rb") as file:
            while block := file.read(BLOCK):
                for digest in self._digests.values():
                    digest.update(block)
                self.size += len(block)

    def hex(self, algorithm: str) -> str:
        """The digest in lower-case hexadecimal."""
        return self._digests[algorithm].hexdigest()

    def base64(self, algorithm: str) -> str:
        """The digest as Cloud Storage writes it."""
        return base64.b64encode(self._digests[algorithm].digest()).decode()

    def digests(self) -> dict[str, str]:
        """Every digest that was computed, by name, in hexadecimal."""
        return {name: digest.hexdigest() for name, digest in self._digests.items()}

    def remove(self) -> None:
        """Deletes the file."""
        self.path.unlink(missing_ok=True)


class BlobStore:
    """Makes blobs, each a file of its own below `root`."""

    def __init__(self, root: Path) -> None:
        self._folder = root / "blobs"
        self._numbers = itertools.count(1)

    def new(self, algorithms: tuple[str, ...]) -> Blob:
        """An empty blob that computes these digests; sha256 is always among them."""
        self._folder.mkdir(parents=True, exist_ok=True)
        return Blob(self._folder / str(next(self._numbers)), tuple(dict.fromkeys(("sha256", *algorithms))))


def _write_all(descriptor: int, data: memoryview, offset: int) -> None:
    while data:
        count = os.pwrite(descriptor, data, offset)
        data = data[count:]
        offset += count


def store_body(
    body: Body, write: Callable[[memoryview], None], *, skip: int = 0, stored: int = 0, most: int | None = None
) -> None:
    """Moves a body to `write` in whole granules, the rest only once the body has properly ended.

    `skip` bytes are passed over first (the sender repeats what is stored); `stored` is the offset of the first byte
    written, so that granules end at multiples of 256 KiB; behind `most` bytes the rest is passed over, too. A body that
    breaks off leaves whole granules behind, as Google's servers do, or, when a fault says so, exactly what it says.
    """
    left = sys.maxsize if most is None else max(0, most - skip)
    _skip(body, skip)
    buffer = memoryview(bytearray(GRANULE))
    room, filled = min(left, GRANULE - stored % GRANULE), 0
    try:
        while room and (count := body.readinto(buffer[filled:room])):
            filled += count
            if filled == room:
                write(buffer[:filled])
                left -= filled
                room, filled = min(left, GRANULE), 0
    except BaseException:
        if body.exact and filled:
            write(buffer[:filled])
        raise
    if filled:
        write(buffer[:filled])
    if most is not None:
        _skip(body, sys.maxsize)


def _skip(body: Body, count: int) -> None:
    scratch = memoryview(bytearray(BLOCK))
    while count:
        read = body.readinto(scratch[: min(count, BLOCK)])
        if read == 0:
            return
        count -= read
