"""Faults that were asked for: how they are read, when each is due, and the receipts of those that fired.

A fault waits in the queue until a request comes that bears all the names in its `on`. `nth` counts such requests from
the moment the fault was queued; of several that are due the oldest fires, at most one for each request.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path

from google_emulator.backend import Backend
from google_emulator.faults.kinds import KINDS, FaultContext
from google_emulator.http.request import Request
from google_emulator.http.response import Json, Response
from google_emulator.http.routes import all_operations

_COMMON = {"on", "do", "nth", "times"}


@dataclass
class Fault:
    """One fault in the queue. `left` is how often it will still fire, `seen` how many requests it has matched."""

    on: str
    do: str
    options: Mapping[str, Json]
    nth: int
    left: int
    seen: int = 0

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

    def take(self, operations: frozenset[str]) -> tuple[Fault, int] | None:
        """The fault that is due for a request with these names, and how many requests it has matched with this one.

        It counts as fired until it is given back.
        """
        due: Fault | None = None
        with self._lock:
            for fault in self._queue:
                if fault.left <= 0 or not operations.issuperset(fault.on.split("+")):
                    continue
                fault.seen += 1
                if due is None and fault.seen >= fault.nth:
                    due = fault
            if due is None:
                return None
            due.left -= 1
            return due, due.seen

    def give_back(self, fault: Fault) -> None:
        """Puts a fault back that was due but found nothing to break in its request."""
        with self._lock:
            fault.left += 1

    def record(self, receipt: dict[str, Json]) -> None:
        """Keeps the receipt of a fault that fired."""
        with self._lock:
            self.receipts.append(receipt)


class FaultInjector:
    """The faults of one emulator, and what lets them act. `sleep` waits, at most until the emulator stops."""

    def __init__(self, backend: Backend, sleep: Callable[[float], None]) -> None:
        self.queue = FaultQueue()
        self._backend = backend
        self._sleep = sleep
        self._operations = all_operations(backend.method_ids)

    def add(self, specs: Sequence[Mapping[str, Json]]) -> None:
        """Queues more faults, all or none. Raises `ValueError` for a name or an option that does not exist."""
        self.queue.add([_parse_fault(spec, self._operations) for spec in specs])

    def clear(self) -> None:
        """Forgets every fault and every receipt."""
        self.queue.clear()

    def respond(self, request: Request, handle: Callable[[Request], Response]) -> Response:
        """The response of `handle`, or what a fault makes of it. Raises `Interrupted` when a fault ends the request."""
        taken = self.queue.take(request.operations)
        if taken is None:
            return handle(request)
        fault, number = taken
        fired = False

        def fire(**detail: Json) -> None:
            nonlocal fired
            fired = True
            receipt = {**fault.spec(), "request": number, "method": request.method, "path": request.path}
            self.queue.record({**receipt, "after_bytes": request.body.received, **detail})

        kind = KINDS[fault.do]
        context = FaultContext(request, fault.options, self._backend, self._sleep, fire, Response())
        try:
            if kind.when == "before":
                kind.act(context)
                return handle(request)
            context.response = handle(request)
            kind.act(context)
            return context.response
        finally:
            if not fired:
                self.queue.give_back(fault)


def _parse_fault(spec: Mapping[str, Json], operations: AbstractSet[str]) -> Fault:
    """One fault as the queue takes it. Raises `ValueError` for a name or an option that does not exist."""
    kind = KINDS.get(str(spec.get("do", "")))
    if kind is None:
        raise ValueError(f"unknown fault {spec.get('do')!r}; there are: {', '.join(sorted(KINDS))}")
    options = {name: value for name, value in spec.items() if name not in _COMMON}
    unknown = sorted(set(options) - set(kind.options))
    if unknown:
        raise ValueError(f"fault {kind.name} has no option {', '.join(unknown)}; it has: {', '.join(kind.options)}")
    on = str(spec.get("on", "any"))
    for name in on.split("+"):
        if name not in operations:
            raise ValueError(f"no operation is called {name!r}; `any` is every request")
    return Fault(on, kind.name, {**kind.options, **options}, int(spec.get("nth", 1)), int(spec.get("times", 1)))


def read_plan(text: str) -> tuple[list[Json], dict[str, Json]]:
    """Faults and configuration from JSON, or from the file of that name: a list, or `{"faults": [], "config": {}}`.

    Raises `ValueError` for JSON that is neither, `OSError` for a file that can't be read.
    """
    if not text.lstrip().startswith(("[", "{")):
        text = Path(text).read_text(encoding="utf-8")
    plan = json.loads(text)
    if isinstance(plan, list):
        return plan, {}
    unknown = sorted(set(plan) - {"faults", "config"})
    if unknown:
        raise ValueError(f"unknown key {', '.join(unknown)}; accepted: faults, config")
    return plan.get("faults", []), plan.get("config", {})
