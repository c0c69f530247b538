"""Several tasks of which one goes on at a time: a walk chooses who is next at every call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

from greenlet import getcurrent, greenlet

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
    """Runs tasks of which one goes on at a time, so that every run can be repeated.

    Each task is a greenlet: switching between threads would cost most of a walk's time.
    """

    def __init__(self, choose: Choose = by_turns) -> None:
        self._choose = choose
        self._tasks: list[greenlet] = []
        self._going: list[int] = []  # the numbers of the tasks that have not ended
        self._failed = False

    @property
    def is_plain(self) -> bool:
        """Whether one task after the other is done, which needs no switching."""
        return self._choose is in_order

    @property
    def inside(self) -> bool:
        """Whether this is called by one of the tasks."""
        return getcurrent() in self._tasks

    def pass_on(self) -> None:
        """Let the task go on whose turn it is; outside of a task nothing happens.

        Raises Stopped where one of the other tasks has failed.
        """
        if not self.inside:
            return
        number = self._tasks.index(getcurrent())
        chosen = self._choose(self._going, number)
        if chosen != number:
            self._tasks[chosen].switch()
        if self._failed:
            raise Stopped

    def run(self, tasks: Sequence[Callable[[], T]]) -> list[T]:
        """Carry all tasks out, and return their results in order.

        Raises the exception that `tasks.together` would raise.
        """
        results: list[Any] = [None] * len(tasks)
        errors: dict[int, BaseException] = {}
        self._failed = False

        def carry_out(number: int) -> int:
            try:
                results[number] = tasks[number]()
            except BaseException as error:  # noqa: BLE001  # raised again below
                errors[number] = error
                self._failed = True
            self._going.remove(number)
            return number

        self._tasks = [
            greenlet(partial(carry_out, number)) for number in range(len(tasks))
        ]
        self._going = list(range(len(tasks)))
        last = -1
        while self._going:
            going = self._choose(self._going, last)
            # which comes back with the task that has ended
            last = self._tasks[going].switch()
        self._tasks = []
        if errors:
            raise min([errors[number] for number in sorted(errors)], key=rank)
        return results
