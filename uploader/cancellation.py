"""The cancellation of a run: a signal asks for it, every thread sees it, and every sleep ends."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress

from uploader.errors import Interrupted


class Cancellation:
    """Cancelled by a signal, seen by every thread: after it nothing is begun and every sleep is over.

    `cancel` runs inside a signal handler, between any two instructions of whatever was under way, perhaps within
    another `cancel`: it waits for no lock, and what it does happens once. (An Event would take a lock that the
    interrupted code may hold.)
    """

    def __init__(self) -> None:
        self._signal_number = 0
        self._gate = threading.Lock()
        self._gate.acquire()  # shut; opened by `cancel`, and every sleeper passes through it
        self._shut = [self._gate]
        self._callbacks: list[Callable[[], None]] = []

    def cancel(self, signal_number: int) -> None:
        """Asks the run to end because of the signal; the first one counts."""
        self._signal_number = self._signal_number or signal_number
        with suppress(IndexError):
            self._shut.pop().release()
        self._run_callbacks()

    def on_cancel(self, callback: Callable[[], None]) -> None:
        """Calls `callback` inside the signal handler, or now if that is past; it must neither wait nor raise."""
        self._callbacks.append(callback)
        if self._signal_number:
            self._run_callbacks()

    def _run_callbacks(self) -> None:
        """Each once, whoever comes first: a signal may arrive between any two instructions of `on_cancel`."""
        with suppress(IndexError):
            while True:
                self._callbacks.pop(0)()

    def check(self) -> None:
        """Raises `Interrupted` once the run was asked to end."""
        if self._signal_number:
            raise Interrupted(self._signal_number)

    def sleep(self, seconds: float) -> None:
        """Sleeps for seconds. Raises `Interrupted` as soon as the run is asked to end."""
        if self._gate.acquire(timeout=max(seconds, 0.0)):
            self._gate.release()
        self.check()
