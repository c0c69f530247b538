"""How long a run has waited for answers."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable


class AnswerClock:
    """Measures the time in which at least one request has been sent whole and not been answered.

    Time in which several requests wait counts once, since a person waits for it once.
    """

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._waiting = 0  # requests
        self._since = 0.0
        self._seconds = 0.0

    @property
    def seconds(self) -> float:
        """The time so far, in seconds."""
        with self._lock:
            if self._waiting:
                return self._seconds + self._monotonic() - self._since
            return self._seconds

    def start(self) -> None:
        """Note that a request has been sent whole."""
        with self._lock:
            if not self._waiting:
                self._since = self._monotonic()
            self._waiting += 1

    def stop(self) -> None:
        """Note that a request is answered, or its connection has broken."""
        with self._lock:
            self._waiting -= 1
            if not self._waiting:
                self._seconds += self._monotonic() - self._since
