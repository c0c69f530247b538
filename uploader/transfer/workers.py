"""Runs tasks on several threads and waits for all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait


def run_all(tasks: Sequence[Callable[[], None]], threads: int) -> None:
    """Runs every task, at most `threads` at once. After one that raises, no other is begun, and its error is raised."""
    with ThreadPoolExecutor(threads) as pool:
        futures = [pool.submit(task) for task in tasks]
        ended = wait(futures, return_when=FIRST_EXCEPTION).done
        pool.shutdown(wait=False, cancel_futures=True)
    for future in ended:
        future.result()
