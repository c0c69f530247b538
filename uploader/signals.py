"""Runs the work in a thread, so that the main thread can handle signals; a thread that hangs is left behind.

A system call such as resolving a name can't be interrupted, and only the main thread receives signals; a run inside it
could not be ended until the call returns.
"""

from __future__ import annotations

import queue
import signal
import threading
from collections.abc import Callable, Iterable
from functools import partial
from typing import NoReturn, TypeVar

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
    ended: queue.SimpleQueue[Callable[[], T] | None] = queue.SimpleQueue()  # its `put` serves a signal handler, too
    cancellation.on_cancel(lambda: ended.put(None))
    threading.Thread(target=lambda: ended.put(_result_of(work)), daemon=True).start()
    result = ended.get()
    if result is None:
        try:
            result = ended.get(timeout=grace_period)
        except queue.Empty:
            cancellation.check()
    assert result is not None
    return result()


def _result_of(work: Callable[[], T]) -> Callable[[], T]:
    """What the work returned or raised, as a function that does so in another thread."""
    try:
        value = work()
    except BaseException as error:  # noqa: BLE001  # carried to the main thread, which raises it
        return partial(_raise, error)
    return lambda: value


def _raise(error: BaseException) -> NoReturn:
    raise error
