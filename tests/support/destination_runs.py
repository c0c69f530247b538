"""One run at one destination, from an empty workspace to everything that can be known of it
afterwards.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from google_emulator import Emulator
from tests.support.destinations import SIZE, Place
from tests.support.job import Ended, Job


@dataclass(frozen=True)
class Seen:
    """How a run ended, the emulator's state after it, and what the run added to the stored objects
    and tokens.
    """

    place: Place
    ended: Ended
    state: dict[str, Any]
    stored: list[dict[str, Any]]
    tokens: list[dict[str, Any]]
    requests: dict[str, int]
    made: dict[str, str]
    content: bytes
    arrived: bytes

    @property
    def fired(self) -> list[str]:
        """The faults that really happened, in their order."""
        return [receipt["do"] for receipt in self.state["faults"]["fired"]]


def visit(
    place: Place,
    workspace: Path,
    faults: Sequence[Mapping[str, Any]] = (),
    *,
    size: int = SIZE,
    **inputs: str,
) -> Seen:
    """Runs the entrypoint once; names of further inputs are written with underscores."""
    workspace.mkdir(exist_ok=True)
    with Emulator() as emulator:
        made = place.before(emulator)
        before = emulator.state()
        for fault in faults:
            emulator.add_fault(**fault)
        file = place.make(workspace, size)
        more = {name.replace("_", "-"): value for name, value in inputs.items()}
        ended = Job(workspace, emulator).run(
            {**place.inputs, "files": file.name, **made, **more}
        )
        state = emulator.state()
        stored = state["objects"][len(before["objects"]) :]
        return Seen(
            place,
            ended,
            state,
            stored,
            tokens=state["tokens"][len(before["tokens"]) :],
            requests={
                name: count - before["requests"].get(name, 0)
                for name, count in state["requests"].items()
                if count > before["requests"].get(name, 0)
            },
            made={**made, **json.loads(made.get("params", "{}"))},
            content=file.read_bytes(),
            arrived=b"".join(Path(one["file"]).read_bytes() for one in stored),
        )


def sha256(content: bytes) -> str:
    """In hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def value(resource: Any, path: str) -> str:
    """What stands at a dotted path of a service's answer."""
    for name in path.split("."):
        resource = resource[name]
    return str(resource)
