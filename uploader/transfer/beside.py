"""Keeps the main thread free to hear signals: the run goes on beside it, and is left behind when it can't end in time.

A system call such as resolving a name can't be interrupted, and only the main thread hears signals; a run inside it
would stay deaf until the call returns.
"""

from __future__ import annotations

import queue
import signal
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from uploader.transfer.stop import Stop

T = TypeVar("T")

LONGEST_GOODBYE = 1.0  # seconds after a signal in which a run may end by itself


@dataclass(frozen=True, slots=True)
class _Ending(Generic[T]):
    """What came of the work: a value, or what it raised."""

    value: T | None = None
    error: BaseException | None = None


def heed(stop: Stop) -> None:
    """From now on SIGINT and SIGTERM ask the run to end, a second one changes nothing. Main thread only.

    As process 1 of a container a program without these handlers would not hear them at all.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, _: stop.set(number))


def ignore() -> None:
    """From now on neither signal changes anything: the end is told, and that of the interpreter must not alter it."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)


def beside(work: Callable[[], T], stop: Stop, goodbye: float = LONGEST_GOODBYE) -> T:
    """What `work` returns or raises. Raises `Interrupted` when it goes on for `goodbye` seconds after the stop."""
    heard: queue.SimpleQueue[_Ending[T] | None] = queue.SimpleQueue()  # its `put` may be called in a signal handler
    stop.when_set(lambda: heard.put(None))
    threading.Thread(target=lambda: heard.put(_ended(work)), daemon=True).start()
    ending = heard.get()
    if ending is None:
        try:
            ending = heard.get(timeout=goodbye)
        except queue.Empty:
            stop.check()
    assert ending is not None
    if ending.error is not None:
        raise ending.error
    return ending.value  # type: ignore[return-value]  # it is T wherever there is no error


def _ended(work: Callable[[], T]) -> _Ending[T]:
    try:
        return _Ending(work())
    except BaseException as error:  # noqa: BLE001  # carried to the main thread, which raises it
        return _Ending(error=error)
