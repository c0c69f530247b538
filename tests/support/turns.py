"""Several tasks of which one goes on at a time: a walk chooses who is next at every call."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from uploader.errors import Stopped
from uploader.tasks import rank

T = TypeVar("T")
Choose = Callable[[Sequence[int], int], int]
"""Chooses who goes on, of the numbers of the tasks that have not ended, after the last one."""


def in_order(going: Sequence[int], last: int) -> int:
    """One task after the other."""
    del last
    return going[0]


def in_reverse(going: Sequence[int], last: int) -> int:
    """The last task first."""
    del last
    return going[-1]


def by_turns(going: Sequence[int], last: int) -> int:
    """Each task makes one call, then the next one."""
    return next((number for number in going if number > last), going[0])


class Turns:
    """Runs tasks of which one goes on at a time, so that every run can be repeated."""

    def __init__(self, choose: Choose = by_turns) -> None:
        self._choose = choose
        self._mine = threading.local()
        self._going: list[int] = []
        self._failed = False
        self._turns: list[threading.Semaphore] = []
        self._ended = threading.Semaphore(0)

    @property
    def is_plain(self) -> bool:
        """Whether one task after the other is done, which needs no threads."""
        return self._choose is in_order

    @property
    def inside(self) -> bool:
        """Whether this is called by one of the tasks."""
        return getattr(self._mine, "number", None) is not None

    def pass_on(self) -> None:
        """Let the task go on whose turn it is; outside of a task nothing happens.

        Raises Stopped where one of the other tasks has failed.
        """
        number: int | None = getattr(self._mine, "number", None)
        if number is not None:
            chosen = self._choose(self._going, number)
            if chosen != number:
                self._turns[chosen].release()
                self._turns[number].acquire()
            if self._failed:
                raise Stopped

    def run(self, tasks: Sequence[Callable[[], T]]) -> list[T]:
        """Carry all tasks out, and return their results in order.

        Raises the exception that `tasks.together` would raise.
        """
        results: list[Any] = [None] * len(tasks)
        self._failed = False
        errors: list[BaseException | None] = [None] * len(tasks)
        self._going = list(range(len(tasks)))
        self._turns = [threading.Semaphore(0) for _ in tasks]

        def carry_out(number: int) -> None:
            self._mine.number = number
            self._turns[number].acquire()
            try:
                results[number] = tasks[number]()
            except BaseException as error:  # noqa: BLE001  # raised again below
                errors[number] = error
                self._failed = True
            self._mine.number = None
            self._going.remove(number)
            if self._going:
                self._turns[self._choose(self._going, number)].release()
            else:
                self._ended.release()

        for number in self._going:
            _THREADS.submit(carry_out, number)
        if tasks:
            self._turns[self._choose(self._going, -1)].release()
            self._ended.acquire()
        raised = [error for error in errors if error is not None]
        if raised:
            raise min(raised, key=rank)
        return results


_THREADS = ThreadPoolExecutor(64, "turns")  # more than any walk has tasks
