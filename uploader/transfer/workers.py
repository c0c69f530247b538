"""Sends many files on several threads, no more of them at once than the concurrency allows at the moment."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

from uploader.reporting import Reporter
from uploader.text import plural
from uploader.transfer.concurrency import Concurrency


class Workers:
    """The threads of a run. One ends when there is nothing left to begin, or when there are more than are allowed."""

    def __init__(self, concurrency: Concurrency, clock: Callable[[], float], reporter: Reporter) -> None:
        self._concurrency = concurrency
        self._clock = clock
        self._reporter = reporter
        self._changed = threading.Condition()
        self._places: Iterator[int] = iter(())
        self._left = 0
        self._running = 0
        self._error: BaseException | None = None

    def run(self, count: int, work: Callable[[int], int | None], most: int | None = None) -> None:
        """Does `work` for 0, 1, … below `count`, at most `most` at once, and returns when all of it is done.

        `work` returns how many bytes were stored, None for a file that failed. After one that raises, no other is
        begun, and its error is raised.
        """
        with self._changed:
            self._places, self._left, self._error = iter(range(count)), count, None
            self._concurrency.begin(self._clock(), most)
            self._hire(work)
            self._changed.wait_for(lambda: not self._running)
        if self._error:
            raise self._error

    def throttled(self, status: int, began: float) -> None:
        """The service answered a request that `began` then (seconds of the clock) that it gets too many."""
        with self._changed:
            if self._running:
                before = min(self._concurrency.allowed, self._running)
                self._concurrency.throttled(self._clock(), began)
                if self._concurrency.allowed < before:
                    self._reporter.info(f"The server answered {status}: {self._change(before)}")

    def _hire(self, work: Callable[[int], int | None]) -> None:
        """Starts as many threads as are allowed and can be of use."""
        for _ in range(min(self._concurrency.allowed - self._running, self._left)):
            try:
                threading.Thread(target=self._work, args=(work,), daemon=True).start()
            except RuntimeError:  # the system allows no more threads: those that there are do the work
                if not self._running:
                    raise
                return
            self._running += 1

    def _work(self, work: Callable[[int], int | None]) -> None:
        place = self._next()
        while place is not None:
            try:
                stored = work(place)
            except BaseException as error:  # noqa: BLE001  # carried to the thread that waits, which raises it
                stored = None
                with self._changed:
                    self._error, self._left = self._error or error, 0
            self._ended(stored, work)
            place = self._next()

    def _next(self) -> int | None:
        """The place of the file that this thread is to send next, None when it is to end."""
        with self._changed:
            if self._left and self._running <= self._concurrency.allowed:
                self._left -= 1
                return next(self._places)
            self._running -= 1
            self._changed.notify_all()
            return None

    def _ended(self, stored: int | None, work: Callable[[int], int | None]) -> None:
        with self._changed:
            before = self._concurrency.allowed
            if stored is not None:
                self._concurrency.finished(self._clock(), stored)
            if self._concurrency.allowed != before:
                self._reporter.debug(self._change(before))
            self._hire(work)

    def _change(self, before: int) -> str:
        return f"{plural(self._concurrency.allowed, 'file')} in flight instead of {before}."
