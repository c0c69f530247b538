"""Running checksums by name: those of `hashlib`, and CRC-32C."""

from __future__ import annotations

import hashlib
from typing import Protocol

from google_emulator.protocol.crc32c import Crc32c


class Digest(Protocol):
    """What is needed of a running checksum."""

    def update(self, data: memoryview | bytes, /) -> None:
        """Takes more bytes in."""

    def digest(self) -> bytes:
        """The result as bytes."""

    def hexdigest(self) -> str:
        """The result in hexadecimal."""


def new_digest(name: str) -> Digest:
    """A checksum of nothing yet. Raises `ValueError` for a name that neither `hashlib` nor this package knows."""
    return Crc32c() if name == "crc32c" else hashlib.new(name, usedforsecurity=False)
