"""Hashes what is sent, on a second thread where that pays: sha256 always, and what the service will state of it."""

from __future__ import annotations

import hashlib
import os
import queue
import threading
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import Protocol

from uploader.http.messages import Block

_BATCH = 6  # blocks handed over at once: each time that the second thread is woken costs the first one time
_BATCHES = 2  # that may wait for their digest, or be in the middle of it; with fewer the threads take turns
MAX_HELD = _BATCH * (_BATCHES + 1) - 1
"""How many blocks may be without their digest after an update."""


class RunningDigest(Protocol):
    """A digest in the making, as of hashlib."""

    def update(self, block: Block, /) -> None:
        """Takes the next bytes."""

    def hexdigest(self) -> str:
        """What they come to so far, in lower-case hex."""


class _Crc32c:
    """CRC32C (RFC 3720, appendix B.4) by google-crc32c."""

    def __init__(self) -> None:
        self._extend, _ = _google_crc32c()
        self._value = 0

    def update(self, block: Block) -> None:
        self._value = self._extend(self._value, bytes(block))  # it takes no view

    def hexdigest(self) -> str:
        return f"{self._value:08x}"


def new(algorithm: str) -> RunningDigest:
    """A digest of no bytes yet."""
    return _Crc32c() if algorithm == "crc32c" else hashlib.new(algorithm, usedforsecurity=False)


def while_sending(response_digest: str, *, readable_again: bool) -> tuple[str, ...]:
    """The digests to compute of bytes on their way to a service whose response states `response_digest`, if known.

    Whatever else is stated is computed afterwards, unless the bytes can't be read again.
    """
    if response_digest == "crc32c" and not _google_crc32c()[1]:
        response_digest = "md5"  # which Cloud Storage states as well
    unknown = () if readable_again else ("sha1", "md5")
    return tuple(dict.fromkeys(("sha256", response_digest) if response_digest else ("sha256", *unknown)))


@cache
def _google_crc32c() -> tuple[Callable[[int, bytes], int], bool]:
    """The function that adds bytes to a CRC32C, and whether it is fast: in Python it takes minutes for a gigabyte."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it is slow, which is known here
        import google_crc32c  # 2 ms that only Cloud Storage is worth

    return google_crc32c.extend, google_crc32c.implementation == "c"


class Hasher:
    """Hashes on a second core while the first one sends: hashlib releases the interpreter's lock."""

    def __init__(self, algorithms: tuple[str, ...], *, overlap: bool) -> None:
        self._hashes = {name: new(name) for name in algorithms}
        self._gathered: list[Block] = []
        self._batches: queue.SimpleQueue[list[Block]] = queue.SimpleQueue()  # an empty one is the last
        self._free = threading.Semaphore(_BATCHES)
        self._thread: threading.Thread | None = None
        if overlap:
            self._thread = threading.Thread(target=self._work, daemon=True)
            self._thread.start()

    def update(self, block: Block) -> None:
        """Takes the next bytes; waits when the thread is too far behind, so that no buffer is overwritten too early."""
        if self._thread is None:
            self._update(block)
            return
        self._gathered.append(block)
        if len(self._gathered) == _BATCH:
            self._hand_over()

    def sha256_so_far(self) -> str:
        """The sha256 of everything that was taken until now, in hex."""
        if self._thread:
            self._hand_over()
            for _ in range(_BATCHES):  # with every place in hand, nothing waits and nothing is being hashed
                self._free.acquire()
            self._free.release(_BATCHES)
        return self._hashes["sha256"].hexdigest()

    def finish(self) -> dict[str, str]:
        """The digests in hex, by algorithm. No update may follow."""
        self.close()
        return {name: digest.hexdigest() for name, digest in self._hashes.items()}

    def close(self) -> None:
        """Ends the second thread, if there is one."""
        if self._thread:
            self._hand_over()
            self._batches.put([])
            self._thread.join()
            self._thread = None

    def _hand_over(self) -> None:
        if self._gathered:
            self._free.acquire()
            self._batches.put(self._gathered)
            self._gathered = []

    def _work(self) -> None:
        # The thread that sends keeps its core while this one is woken (sched(7)): 6 % of the time where cores are few.
        with suppress(AttributeError, OSError):  # which not every system knows, or permits
            os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
        while blocks := self._batches.get():
            for block in blocks:
                self._update(block)
            self._free.release()

    def _update(self, block: Block) -> None:
        for digest in self._hashes.values():
            digest.update(block)
