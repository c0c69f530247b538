"""The cancellation of a run: a signal asks for it, every thread sees it, and every sleep ends."""

from __future__ import annotations

import select
import signal
import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import TypeVar

from uploader.errors import Interrupted

T = TypeVar("T")

GRACE_PERIOD = 1.0  # seconds after a signal in which a run may end by itself
RUN_THREAD = "run"


class Cancellation:
    """A run's cancellation by a signal. Every thread sees it: no new work is begun, and every sleep
    ends.

    `cancel` runs inside a signal handler, so between any two instructions, perhaps of another
    `cancel`. It waits for no lock that the interrupted code may hold (an Event has one), and each
    of its effects happens once.
    """

    def __init__(self) -> None:
        self._signal_number = 0
        self._gate = threading.Lock()
        # Held until `cancel` releases it. Every sleeper waits to acquire it.
        self._gate.acquire()
        self._shut = [self._gate]
        self._callbacks: list[Callable[[], None]] = []

    def cancel(self, signal_number: int) -> None:
        """Ask the run to end because of a signal; the first one counts."""
        self._signal_number = self._signal_number or signal_number
        with suppress(IndexError):
            self._shut.pop().release()
        self._run_callbacks()

    def on_cancel(self, callback: Callable[[], None]) -> None:
        """Call `callback` inside the signal handler, or now if the run is cancelled already. It
        must neither wait nor raise.
        """
        self._callbacks.append(callback)
        if self._signal_number:
            self._run_callbacks()

    def _run_callbacks(self) -> None:
        """Call each callback once. A signal may arrive between any two instructions of `on_cancel`,
        so both may get here at the same time.
        """
        with suppress(IndexError):
            while True:
                self._callbacks.pop(0)()

    @property
    def cancelled(self) -> bool:
        """Whether the run was asked to end."""
        return bool(self._signal_number)

    def check(self) -> None:
        """Raise `Interrupted` if the run was asked to end."""
        if self._signal_number:
            raise Interrupted(self._signal_number)

    def sleep(self, seconds: float) -> None:
        """Sleep for so many seconds. Raises `Interrupted` as soon as the run is asked to end."""
        if self._gate.acquire(timeout=max(seconds, 0.0)):
            self._gate.release()
        self.check()


def run_in_thread(
    work: Callable[[], T],
    cancellation: Cancellation,
    grace_period: float = GRACE_PERIOD,
) -> T:
    """Run `work` in a thread, so that the main thread can handle signals, and return or raise what
    it does.

    Only the main thread receives signals, and a system call such as resolving a name can't be
    interrupted. Raises `Interrupted` if the work goes on for `grace_period` seconds after a signal;
    the thread (`RUN_THREAD`) stays behind.
    """
    future: Future[T] = Future()
    with _Waker() as waker:

        def carry_out() -> None:
            try:
                future.set_result(work())
            except BaseException as error:  # noqa: BLE001  # the main thread raises it
                future.set_exception(error)
            waker.wake()

        cancellation.on_cancel(waker.wake)
        thread = threading.Thread(
            target=carry_out,
            name=RUN_THREAD,
            daemon=True,
        )
        thread.start()
        while not (future.done() or cancellation.cancelled):
            waker.wait(None)
        end = time.monotonic() + grace_period
        while not future.done() and (left := end - time.monotonic()) > 0:
            waker.wait(left)
        if not future.done():
            cancellation.check()
        thread.join()
    return future.result()


class _Waker:
    """Lets a thread wait until another thread, or a signal, wakes it.

    The system may deliver a signal to any thread, but Python's handler runs in the main thread,
    which a lock would keep waiting. So every signal writes a byte to the socket that the main
    thread waits for (signal.set_wakeup_fd).
    """

    def __enter__(self) -> _Waker:
        self._receiver, self._sender = socket.socketpair()
        self._receiver.setblocking(False)
        self._sender.setblocking(False)
        self._in_main_thread = threading.current_thread() is threading.main_thread()
        if self._in_main_thread:
            self._before = signal.set_wakeup_fd(
                self._sender.fileno(), warn_on_full_buffer=False
            )
        return self

    def __exit__(self, *_: object) -> None:
        if self._in_main_thread:
            signal.set_wakeup_fd(self._before)
        self._sender.close()
        self._receiver.close()

    def wake(self) -> None:
        """Wake the thread that waits, or the next one to wait. It may be called in a signal
        handler.
        """
        with suppress(OSError):  # full of earlier wake-ups, or closed
            self._sender.send(b"\0")

    def wait(self, seconds: float | None) -> None:
        """Wait until `wake` is called, or so many seconds have passed; without a limit if `seconds`
        is None.
        """
        select.select([self._receiver], [], [], seconds)
        with suppress(BlockingIOError):
            self._receiver.recv(4096)
