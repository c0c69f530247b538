"""Runs the work in a thread, so that the main thread can handle signals; a thread that hangs is left behind.

A system call such as resolving a name can't be interrupted, and only the main thread receives signals; a run inside it
could not be ended until the call returns.
"""

from __future__ import annotations

import queue
import signal
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TypeVar

from uploader.cancellation import Cancellation

T = TypeVar("T")

GRACE_PERIOD = 1.0  # seconds after a signal in which a run may end by itself


def cancel_on_signals(numbers: Iterable[int], cancellation: Cancellation) -> None:
    """From now on each of these signals cancels the run, a second one changes nothing. Main thread only."""
    for number in numbers:
        signal.signal(number, lambda number, _: cancellation.cancel(number))


def ignore_signals(numbers: Iterable[int]) -> None:
    """From now on none of them changes anything: the end is reported, and the interpreter's must not alter it."""
    for number in numbers:
        signal.signal(number, signal.SIG_IGN)


def run_in_thread(work: Callable[[], T], cancellation: Cancellation, grace_period: float = GRACE_PERIOD) -> T:
    """What `work` returns or raises. Raises `Interrupted` when it goes on for `grace_period` seconds after a signal."""
    woken: queue.SimpleQueue[None] = queue.SimpleQueue()  # its `put` serves a signal handler, too
    results: list[T] = []
    errors: list[BaseException] = []

    def carry_out() -> None:
        try:
            results.append(work())
        except BaseException as error:  # noqa: BLE001  # carried to the main thread, which raises it
            errors.append(error)
        woken.put(None)

    cancellation.on_cancel(lambda: woken.put(None))
    threading.Thread(target=carry_out, daemon=True).start()
    woken.get()
    if not (results or errors):
        with suppress(queue.Empty):
            woken.get(timeout=grace_period)
    if errors:
        raise errors[0]
    if not results:
        cancellation.check()
    return results[0]
