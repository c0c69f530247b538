"""Digests of the bytes of a file, computed while they are sent.

hashlib releases the interpreter's lock, so a second thread can digest a large file while the first
one sends it.
"""

from __future__ import annotations

import hashlib
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import google_crc32c

# Blocks that may wait for their digest. With more of them, freed memory would go back to the system
# and be fetched again page by page.
_MAX_PENDING = 2


def new_digest(algorithm: str) -> Any:
    """Return a new digest with the interface of hashlib's; CRC32C is that of RFC 3720, appendix
    B.4.
    """
    if algorithm == "crc32c":
        return google_crc32c.Checksum()  # type: ignore[no-untyped-call]  # it has no types
    return hashlib.new(algorithm, usedforsecurity=False)


def while_sending(response_digest: str, *, readable_again: bool) -> tuple[str, ...]:
    """Return which digests to compute of bytes while they are sent to a service.

    `response_digest` is the one that the service is known to state, empty if none is known. Then a
    digest that it states is computed afterwards or, if the bytes can't be read again, SHA-1 and MD5
    are computed as well.
    """
    has_fast_crc32c = google_crc32c.implementation == "c"
    if response_digest == "crc32c" and not has_fast_crc32c:
        # In Python it takes minutes for a gigabyte; Cloud Storage states MD5 as well.
        response_digest = "md5"
    if response_digest == "sha256":
        return ("sha256",)
    if response_digest:
        return ("sha256", response_digest)
    if readable_again:
        return ("sha256",)
    return ("sha256", "sha1", "md5")


class Hasher:
    """Several digests of the same bytes; with `threaded` they are computed on a thread of their
    own, and only a few blocks wait for it.
    """

    def __init__(self, algorithms: tuple[str, ...], *, threaded: bool) -> None:
        self._digests: dict[str, Any] = {}
        for algorithm in algorithms:
            self._digests[algorithm] = new_digest(algorithm)
        self._worker: ThreadPoolExecutor | None = None
        if threaded:
            self._worker = ThreadPoolExecutor(max_workers=1)
        self._pending: deque[Future[None]] = deque()

    def update(self, block: bytes) -> None:
        """Take the next bytes."""
        if self._worker is None:
            self._update(block)
            return
        future = self._worker.submit(self._update, block)
        self._pending.append(future)
        if len(self._pending) > _MAX_PENDING:
            oldest = self._pending.popleft()
            oldest.result()

    def hexdigests(self) -> dict[str, str]:
        """Return the digests of everything that was taken until now, in hex, by algorithm."""
        while self._pending:
            oldest = self._pending.popleft()
            oldest.result()
        hexdigests = {}
        for algorithm, digest in self._digests.items():
            hexdigests[algorithm] = digest.digest().hex()
        return hexdigests

    def close(self) -> None:
        """End the thread, if there is one."""
        if self._worker:
            self._worker.shutdown()

    def _update(self, block: bytes) -> None:
        for digest in self._digests.values():
            digest.update(block)
