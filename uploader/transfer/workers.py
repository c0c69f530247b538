"""Runs tasks on several threads and waits for all of them."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence

Task = Callable[[], None]


def run_all(tasks: Sequence[Task], threads: int) -> None:
    """Runs every task, at most `threads` at once. After one that raises, no other is begun, and its error is raised."""
    waiting: queue.SimpleQueue[Task] = queue.SimpleQueue()
    for task in tasks:
        waiting.put(task)
    errors: list[BaseException] = []
    workers = [
        threading.Thread(target=_work, args=(waiting, errors), daemon=True) for _ in range(min(threads, len(tasks)))
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    if errors:
        raise errors[0]


def _work(waiting: queue.SimpleQueue[Task], errors: list[BaseException]) -> None:
    while not errors:
        try:
            task = waiting.get_nowait()
        except queue.Empty:
            return
        try:
            task()
        except BaseException as error:  # noqa: BLE001  # carried to the thread that waits, which raises it
            errors.append(error)
