"""Uploaded bytes, in files on disk; their digests are computed while they arrive.

Memory use is constant, whatever the size. A block of zeros becomes a hole, so that sparse files
stay sparse.
"""

from __future__ import annotations

import base64
import hashlib
import itertools
import os
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from google_emulator.http.wire import BLOCK, Body

with warnings.catch_warnings():
    # Without its compiled module it warns that it is slow, which does not matter here.
    warnings.simplefilter("ignore")
    import google_crc32c

GRANULE = 256 * 1024
_ZEROS = bytes(BLOCK)


class Blob:
    """One growing file. `size` is in bytes. It always holds a prefix of what was sent."""

    def __init__(self, path: Path, algorithms: tuple[str, ...] = ("sha256",)) -> None:
        self.path = path
        self.size = 0
        self._algorithms = algorithms
        self._digests = _new_digests(algorithms)
        path.touch()

    def write(self, data: memoryview | bytes) -> None:
        """Append bytes."""
        with self.path.open("r+b") as file:
            if data == _ZEROS[: len(data)]:
                file.truncate(self.size + len(data))
            else:
                file.seek(self.size)
                file.write(data)
        self._take_in(bytes(data))

    def _take_in(self, data: bytes) -> None:
        for digest in self._digests.values():
            digest.update(data)
        self.size += len(data)

    def truncate(self, size: int) -> None:
        """Remove everything from offset `size` on, like a server that lost bytes before they were
        durable.
        """
        os.truncate(self.path, size)
        self.size = 0
        self._digests = _new_digests(self._algorithms)
        with self.path.open("rb") as file:
            while block := file.read(BLOCK):
                self._take_in(block)

    def hex(self, algorithm: str) -> str:
        """Return a digest in lower-case hexadecimal."""
        return str(self._digests[algorithm].digest().hex())

    def base64(self, algorithm: str) -> str:
        """Return a digest in base64, as Cloud Storage has it."""
        return base64.b64encode(self._digests[algorithm].digest()).decode()

    def digests(self) -> dict[str, str]:
        """Return every digest that was computed, by name, in hexadecimal."""
        return {name: self.hex(name) for name in self._digests}

    def remove(self) -> None:
        """Delete the file."""
        self.path.unlink(missing_ok=True)


def _new_digests(algorithms: tuple[str, ...]) -> dict[str, Any]:
    """Return new digests by name; each has the methods of a `hashlib` object."""
    crc32c: Callable[[], Any] = google_crc32c.Checksum  # published without types
    return {
        name: crc32c() if name == "crc32c" else hashlib.new(name, usedforsecurity=False)
        for name in algorithms
    }


class BlobStore:
    """A factory of blobs, each in a file of its own below `root`."""

    def __init__(self, root: Path) -> None:
        self._folder = root / "blobs"
        self._numbers = itertools.count(1)

    def new(self, algorithms: tuple[str, ...]) -> Blob:
        """Return an empty blob that computes these digests; sha256 is always among them."""
        self._folder.mkdir(parents=True, exist_ok=True)
        return Blob(
            self._folder / str(next(self._numbers)),
            tuple(dict.fromkeys(("sha256", *algorithms))),
        )


def store_body(
    body: Body,
    write: Callable[[memoryview], object],
    *,
    skip: int = 0,
    stored: int = 0,
    max_stored: int | None = None,
) -> None:
    """Pass a body to `write` in whole granules, and the rest once the body has ended.

    `skip` bytes are passed over first, because the sender repeats what is stored. `stored` is the
    offset of the first byte that is written, so that granules end at multiples of 256 KiB.
    Everything after the first `max_stored` bytes of the body is passed over, too. Of a body that
    breaks off, only whole granules are kept, as by Google's servers, unless the body is `exact`.
    """
    left = sys.maxsize if max_stored is None else max(0, max_stored - skip)
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
    if max_stored is not None:
        _skip(body, sys.maxsize)


def _skip(body: Body, count: int) -> None:
    scratch = memoryview(bytearray(BLOCK))
    while count:
        read = body.readinto(scratch[: min(count, BLOCK)])
        if read == 0:
            return
        count -= read
