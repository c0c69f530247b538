"""Keeps the main thread free to hear signals: the run goes on beside it, and is left behind when it can't end in time.

A system call such as resolving a name can't be interrupted, and only the main thread hears signals; a run inside it
would stay deaf until the call returns.
"""

from __future__ import annotations

import queue
import signal
import threading
from collections.abc import Callable
from functools import partial
from typing import NoReturn, TypeVar

from uploader.cancellation import Cancellation

T = TypeVar("T")

LONGEST_GOODBYE = 1.0  # seconds after a signal in which a run may end by itself


def heed(cancellation: Cancellation) -> None:
    """From now on SIGINT and SIGTERM ask the run to end, a second one changes nothing. Main thread only.

    As process 1 of a container a program without these handlers would not hear them at all.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, _: cancellation.cancel(number))


def ignore() -> None:
    """From now on neither signal changes anything: the end is told, and that of the interpreter must not alter it."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)


def beside(work: Callable[[], T], cancellation: Cancellation, goodbye: float = LONGEST_GOODBYE) -> T:
    """What `work` returns or raises. Raises `Interrupted` when it goes on for `goodbye` seconds after the stop."""
    heard: queue.SimpleQueue[Callable[[], T] | None] = queue.SimpleQueue()  # its `put` serves a signal handler, too
    cancellation.on_cancel(lambda: heard.put(None))
    threading.Thread(target=lambda: heard.put(_ended(work)), daemon=True).start()
    ending = heard.get()
    if ending is None:
        try:
            ending = heard.get(timeout=goodbye)
        except queue.Empty:
            cancellation.check()
    assert ending is not None
    return ending()


def _ended(work: Callable[[], T]) -> Callable[[], T]:
    """The end of the work, ready to be told in another thread: what it returned, or what it raised."""
    try:
        value = work()
    except BaseException as error:  # noqa: BLE001  # carried to the main thread, which raises it
        return partial(_raise, error)
    return lambda: value


def _raise(error: BaseException) -> NoReturn:
    raise error
