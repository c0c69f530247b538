"""Doing several things at the same time. Nothing else in the program starts a pool of threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import TypeVar

T = TypeVar("T")


def together(tasks: Sequence[Callable[[], T]], at_once: int) -> list[T]:
    """Do several things, at most `at_once` at the same time, and return their results in order.

    After the first failure no other task is begun; those under way go on to their end. Raises the
    first exception in the order of the tasks, once none is under way any more.
    """
    with ThreadPoolExecutor(at_once) as pool:
        futures = [pool.submit(task) for task in tasks]
        wait(futures, return_when=FIRST_EXCEPTION)
        pool.shutdown(cancel_futures=True)
    ended = [future for future in futures if not future.cancelled()]
    return [future.result() for future in ended]
