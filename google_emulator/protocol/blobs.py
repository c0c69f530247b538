"""Bytes that were uploaded, in files on disk, with their digests computed while they come.

Memory stays constant whatever the size. A block of zeros becomes a hole, so sparse files stay
sparse.
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
    # where there is no compiled one, it is slow, which matters to nobody here
    warnings.simplefilter("ignore")
    import google_crc32c

GRANULE = 256 * 1024
_ZEROS = bytes(BLOCK)


class Blob:
    """One growing file. `size` is in bytes; what is stored is always a whole prefix of what was
    sent.
    """

    def __init__(self, path: Path, algorithms: tuple[str, ...] = ("sha256",)) -> None:
        self.path = path
        self.size = 0
        self._algorithms = algorithms
        self._digests = _new_digests(algorithms)
        path.touch()

    def write(self, data: memoryview | bytes) -> None:
        """Appends bytes."""
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
        """Forgets everything from `size` on, as a server does that lost what it had not yet made
        durable.
        """
        os.truncate(self.path, size)
        self.size = 0
        self._digests = _new_digests(self._algorithms)
        with self.path.open("rb") as file:
            while block := file.read(BLOCK):
                self._take_in(block)

    def hex(self, algorithm: str) -> str:
        """The digest in lower-case hexadecimal."""
        return str(self._digests[algorithm].digest().hex())

    def base64(self, algorithm: str) -> str:
        """The digest as Cloud Storage writes it."""
        return base64.b64encode(self._digests[algorithm].digest()).decode()

    def digests(self) -> dict[str, str]:
        """Every digest that was computed, by name, in hexadecimal."""
        return {name: self.hex(name) for name in self._digests}

    def remove(self) -> None:
        """Deletes the file."""
        self.path.unlink(missing_ok=True)


def _new_digests(algorithms: tuple[str, ...]) -> dict[str, Any]:
    """Running checksums with the methods that `hashlib` gives them."""
    crc32c: Callable[[], Any] = google_crc32c.Checksum  # published without types
    return {
        name: crc32c() if name == "crc32c" else hashlib.new(name, usedforsecurity=False)
        for name in algorithms
    }


class BlobStore:
    """Makes blobs, each a file of its own below `root`."""

    def __init__(self, root: Path) -> None:
        self._folder = root / "blobs"
        self._numbers = itertools.count(1)

    def new(self, algorithms: tuple[str, ...]) -> Blob:
        """An empty blob that computes these digests; sha256 is always among them."""
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
    """Moves a body to `write` in whole granules, the rest only once the body has properly ended.

    `skip` bytes are passed over first (the sender repeats what is stored); `stored` is the offset
    of the first byte written, so that granules end at multiples of 256 KiB; behind `max_stored`
    bytes the rest is passed over, too. A body that breaks off leaves whole granules behind, as
    Google's servers do, or what a fault says, exactly.
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
