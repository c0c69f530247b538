"""Injects faults into requests: finds the one that is due and lets it act, before the request or on its response."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet

from google_emulator.faults.fault_context import FaultContext, FaultTargets
from google_emulator.faults.fault_kinds import KINDS
from google_emulator.faults.fault_plan import parse_fault
from google_emulator.faults.fault_queue import FaultQueue
from google_emulator.http.request import Request
from google_emulator.http.response import Json, Response


class FaultInjector:
    """The faults of one emulator. `operations` are the names that a fault's `on` may have."""

    def __init__(self, targets: FaultTargets, operations: AbstractSet[str]) -> None:
        self.queue = FaultQueue()
        self._targets = targets
        self._operations = operations

    def add(self, specs: Sequence[Mapping[str, Json]]) -> None:
        """Queues more faults, all or none. Raises `ValueError` for a name or an option that does not exist."""
        self.queue.add([parse_fault(spec, self._operations) for spec in specs])

    def clear(self) -> None:
        """Forgets every fault and every receipt."""
        self.queue.clear()

    def respond(self, request: Request, handle: Callable[[Request], Response]) -> Response:
        """The response of `handle`, or what a fault makes of it. Raises `Interrupted` when a fault ends the request."""
        fault = self.queue.take(request.operations)
        if fault is None:
            return handle(request)
        kind, context = KINDS[fault.do], FaultContext(fault, request, self._targets, self.queue)
        try:
            if kind.before is not None:
                kind.before(context)
            response = handle(request)
            if kind.after is not None:
                response = kind.after(context, response)
            return response
        finally:
            self.queue.settle(fault)
