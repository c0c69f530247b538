"""How much has passed through the emulator: connections, bytes, and requests by operation."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass, field


@dataclass(slots=True)
class Traffic:
    """Counters, safe to use from several threads. `bytes_discarded` came behind early responses."""

    requests: Counter[str] = field(default_factory=Counter)
    connections: int = 0
    bytes_received: int = 0
    bytes_discarded: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def connected(self) -> None:
        """Counts one connection."""
        with self._lock:
            self.connections += 1

    def finished(self, operations: frozenset[str], received: int) -> None:
        """Counts one finished request under each of its names, and the bytes of its body."""
        with self._lock:
            self.requests.update(operations)
            self.bytes_received += received

    def discarded(self, count: int) -> None:
        """Counts bytes that a client sent behind an early response."""
        with self._lock:
            self.bytes_discarded += count
