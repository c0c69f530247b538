"""Faults that were asked for: queued, matched to operations, and each one that fired leaves a receipt.

A fault waits in the queue until a request comes that bears all the names in its `on`. `nth` counts such requests from
the moment the fault was queued; of several that are due the oldest fires, at most one for each request.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from google_emulator.answers import Answer, Json
from google_emulator.fault_kinds import KINDS, Kind
from google_emulator.operations import OPERATIONS

if TYPE_CHECKING:
    from google_emulator.exchange import Exchange

_COMMON = {"on", "do", "nth", "times"}


@dataclass(slots=True)
class Fault:
    """One fault in the queue. `left` is how often it will still fire, `seen` how many requests it has matched.

    A request is given a copy of its own, whose `source` is the one in the queue: several may be due at the same time.
    """

    on: str
    kind: Kind
    options: Mapping[str, Json]
    nth: int
    left: int
    seen: int = 0
    fired: bool = False
    source: Fault | None = None

    def spec(self) -> dict[str, Json]:
        """The fault as it was asked for."""
        return {"on": self.on, "do": self.kind.name, **self.options}


class Faults:
    """The queue and the receipts."""

    def __init__(self, specs: Sequence[Mapping[str, Json]] = ()) -> None:
        self._lock = threading.Lock()
        self._queue: list[Fault] = []
        self.receipts: list[dict[str, Json]] = []
        self.add(specs)

    def add(self, specs: Sequence[Mapping[str, Json]]) -> None:
        """Queues more faults, all or none. Raises `ValueError` for a name or an option that does not exist."""
        faults = [_fault(spec) for spec in specs]
        with self._lock:
            self._queue.extend(faults)

    def waiting(self) -> list[dict[str, Json]]:
        """The faults that have not fired yet."""
        with self._lock:
            return [fault.spec() for fault in self._queue if fault.left > 0]

    def take(self, names: frozenset[str]) -> Fault | None:
        """The fault that is due for a request with these names, taken out of the queue until `settle`."""
        due: Fault | None = None
        with self._lock:
            for fault in self._queue:
                if fault.left <= 0 or not names.issuperset(fault.on.split("+")):
                    continue
                fault.seen += 1
                if due is None and fault.seen >= fault.nth:
                    due = fault
            if due is not None:
                due.left -= 1
                return replace(due, source=due)
        return None

    def fire(self, fault: Fault, exchange: Exchange, **detail: Json) -> None:
        """Writes the receipt: the fault really happened, to this request."""
        receipt = {**fault.spec(), "request": fault.seen, "method": exchange.method, "path": exchange.path}
        receipt["after_bytes"] = exchange.body.received
        with self._lock:
            fault.fired = True
            self.receipts.append({**receipt, **detail})

    def settle(self, fault: Fault) -> None:
        """Puts a fault back that was due but found nothing to break in its request."""
        with self._lock:
            if not fault.fired and fault.source is not None:
                fault.source.left += 1

    def before(self, fault: Fault, exchange: Exchange) -> None:
        """Gives the fault its chance before the request is carried out; may raise `Cut`."""
        if fault.kind.before is not None:
            fault.kind.before(fault, exchange)

    def after(self, fault: Fault, exchange: Exchange, answer: Answer) -> Answer:
        """Gives the fault its chance to spoil the answer; may raise `Cut`."""
        if fault.kind.after is None or fault.fired:
            return answer
        return fault.kind.after(fault, exchange, answer)


def _fault(spec: Mapping[str, Json]) -> Fault:
    kind = KINDS.get(str(spec.get("do", "")))
    if kind is None:
        raise ValueError(f"unknown fault {spec.get('do')!r}; there are: {', '.join(sorted(KINDS))}")
    options = {name: value for name, value in spec.items() if name not in _COMMON}
    unknown = sorted(set(options) - set(kind.options))
    if unknown:
        raise ValueError(f"fault {kind.name} has no option {', '.join(unknown)}; it has: {', '.join(kind.options)}")
    on = str(spec.get("on", "any"))
    for name in on.split("+"):
        if name not in OPERATIONS:
            raise ValueError(f"no operation is called {name!r}; `any` is every request")
    return Fault(on, kind, {**kind.options, **options}, int(spec.get("nth", 1)), int(spec.get("times", 1)))


def read_plan(text: str) -> tuple[list[Json], dict[str, Json]]:
    """Faults and configuration from JSON, or from the file of that name: a list, or `{"faults": [], "config": {}}`."""
    if not text.lstrip().startswith(("[", "{")):
        text = Path(text).read_text(encoding="utf-8")
    plan = json.loads(text)
    if isinstance(plan, list):
        return plan, {}
    unknown = sorted(set(plan) - {"faults", "config"})
    if unknown:
        raise ValueError(f"unknown key {', '.join(unknown)}; accepted: faults, config")
    return plan.get("faults", []), plan.get("config", {})
