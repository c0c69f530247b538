"""What the user writes: faults as JSON objects, read and checked against the kinds and the names of operations."""

from __future__ import annotations

import json
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from pathlib import Path

from google_emulator.faults.fault_kinds import KINDS
from google_emulator.faults.fault_queue import Fault
from google_emulator.http.response import Json

_COMMON = {"on", "do", "nth", "times"}


def parse_fault(spec: Mapping[str, Json], operations: AbstractSet[str]) -> Fault:
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
