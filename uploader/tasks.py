"""Runs tasks at the same time, and waits until all of them have ended.

After the first failure no other task is begun, and those that are under way stop at their next
step: a request, a block of a file, a second of a wait. Nothing else in the program starts a pool of
threads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextvars import ContextVar, copy_context
from typing import TypeVar

from uploader.errors import Interrupted, Stopped, TemporaryError

T = TypeVar("T")


class _Group:
    """Tasks that were started together, perhaps by a task of another group."""

    def __init__(self, outer: _Group | None) -> None:
        self._outer = outer
        self._failed = False

    @property
    def failed(self) -> bool:
        """Whether a task of this group has failed, or one of those that this group is part of."""
        if self._outer is None:
            return self._failed
        return self._failed or self._outer.failed

    def carry_out(self, task: Callable[[], T]) -> T:
        """Run one task; if it fails, the group has failed."""
        _current.set(self)
        try:
            check()
            return task()
        except BaseException:
            self._failed = True
            raise


_current: ContextVar[_Group | None] = ContextVar("group", default=None)


def check() -> None:
    """Raise Stopped if another task of the caller's group has failed."""
    group = _current.get()
    if group is not None and group.failed:
        raise Stopped


def in_group() -> bool:
    """Return whether the caller is a task that others may stop."""
    return _current.get() is not None


def apart(task: Callable[[], T]) -> T:
    """Run a task that is not stopped by the failure of others, such as cleaning up."""
    token = _current.set(None)
    try:
        return task()
    finally:
        _current.reset(token)


def together(tasks: Sequence[Callable[[], T]], at_once: int) -> list[T]:
    """Run tasks, at most `at_once` at the same time, and return their results in order.

    After a failure it waits until no task is running any more. Then it raises the failure with the
    highest priority: a signal before a refusal, and a refusal before a temporary error; of several
    with the same priority, the first in the order of the tasks.
    """
    group = _Group(_current.get())
    futures: list[Future[T]] = []
    with ThreadPoolExecutor(at_once) as pool:
        for task in tasks:
            context = copy_context()
            futures.append(pool.submit(context.run, group.carry_out, task))
        wait(futures, return_when=FIRST_EXCEPTION)
        pool.shutdown(cancel_futures=True)
    failures: list[BaseException] = []
    for future in futures:
        if future.cancelled():
            continue
        failure = future.exception()
        if failure is not None:
            failures.append(failure)
    if failures:
        raise min(failures, key=rank)
    return [future.result() for future in futures]


def rank(failure: BaseException | None) -> int:
    """Return the rank of a failure. Of several failures the one with the lowest rank is raised."""
    if isinstance(failure, Interrupted):
        return 0
    if isinstance(failure, Stopped):
        return 3
    if isinstance(failure, TemporaryError):
        return 2
    return 1
