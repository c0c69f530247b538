"""The faults that wait, matched to requests by the names of operations, and the receipts of those that fired.

A fault waits in the queue until a request comes that bears all the names in its `on`. `nth` counts such requests from
the moment the fault was queued; of several that are due the oldest fires, at most one for each request.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from google_emulator.http.request import Request
from google_emulator.http.response import Json


@dataclass(slots=True)
class Fault:
    """One fault in the queue. `left` is how often it will still fire, `seen` how many requests it has matched.

    A request is given a copy of its own, whose `source` is the one in the queue: several may be due at the same time.
    """

    on: str
    do: str
    options: Mapping[str, Json]
    nth: int
    left: int
    seen: int = 0
    fired: bool = False
    source: Fault | None = None

    def spec(self) -> dict[str, Json]:
        """The fault as it was asked for."""
        return {"on": self.on, "do": self.do, **self.options}


class FaultQueue:
    """The queue and the receipts; safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._queue: list[Fault] = []
        self.receipts: list[dict[str, Json]] = []

    def add(self, faults: Iterable[Fault]) -> None:
        """Queues more faults."""
        with self._lock:
            self._queue.extend(faults)

    def clear(self) -> None:
        """Forgets every fault and every receipt."""
        with self._lock:
            self._queue.clear()
            self.receipts.clear()

    def waiting(self) -> list[dict[str, Json]]:
        """The faults that have not fired yet."""
        with self._lock:
            return [fault.spec() for fault in self._queue if fault.left > 0]

    def take(self, operations: frozenset[str]) -> Fault | None:
        """The fault that is due for a request with these names, taken out of the queue until `settle`."""
        due: Fault | None = None
        with self._lock:
            for fault in self._queue:
                if fault.left <= 0 or not operations.issuperset(fault.on.split("+")):
                    continue
                fault.seen += 1
                if due is None and fault.seen >= fault.nth:
                    due = fault
            if due is not None:
                due.left -= 1
                return replace(due, source=due)
        return None

    def settle(self, fault: Fault) -> None:
        """Puts a fault back that was due but found nothing to break in its request."""
        with self._lock:
            if not fault.fired and fault.source is not None:
                fault.source.left += 1

    def record(self, fault: Fault, request: Request, detail: Mapping[str, Json]) -> None:
        """Writes the receipt: the fault really happened, to this request."""
        receipt = {**fault.spec(), "request": fault.seen, "method": request.method, "path": request.path}
        with self._lock:
            fault.fired = True
            self.receipts.append({**receipt, "after_bytes": request.body.received, **detail})
