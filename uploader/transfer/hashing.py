"""Hashes what is sent, on a second thread where that pays."""

from __future__ import annotations

import hashlib
import queue
import threading

from uploader.http.messages import Block

MAX_BEHIND = 5  # blocks that may wait for their digest, or be in the middle of it; fewer make the threads take turns


class Hasher:
    """Hashes on a second core while the first one sends: hashlib releases the interpreter's lock."""

    def __init__(self, algorithms: tuple[str, ...], *, overlap: bool) -> None:
        self._hashes = {name: hashlib.new(name, usedforsecurity=False) for name in algorithms}
        self._blocks: queue.SimpleQueue[Block | None] = queue.SimpleQueue()
        self._free = threading.Semaphore(MAX_BEHIND)
        self._thread: threading.Thread | None = None
        if overlap:
            self._thread = threading.Thread(target=self._work, daemon=True)
            self._thread.start()

    def update(self, block: Block) -> None:
        """Takes the next bytes; waits when the thread is too far behind, so that no buffer is overwritten too early."""
        if self._thread:
            self._free.acquire()
            self._blocks.put(block)
        else:
            self._update(block)

    def sha256_so_far(self) -> str:
        """The sha256 of everything that was taken until now, in hex."""
        if self._thread:
            for _ in range(MAX_BEHIND):  # with every place in hand, nothing waits and nothing is being hashed
                self._free.acquire()
            self._free.release(MAX_BEHIND)
        return self._hashes["sha256"].hexdigest()

    def finish(self) -> dict[str, str]:
        """The digests in hex, by algorithm. No update may follow."""
        self.close()
        return {name: digest.hexdigest() for name, digest in self._hashes.items()}

    def close(self) -> None:
        """Ends the second thread, if there is one."""
        if self._thread:
            self._blocks.put(None)
            self._thread.join()
            self._thread = None

    def _work(self) -> None:
        while (block := self._blocks.get()) is not None:
            self._update(block)
            self._free.release()

    def _update(self, block: Block) -> None:
        for digest in self._hashes.values():
            digest.update(block)
