"""What a test holds of the structure: imports point down without a circle, two packages apart,
hashed locks.
"""

from __future__ import annotations

import ast
import re
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

# A room of `uploader` may import itself and what stands below it here. A module with a row of its
# own stands there instead of with its room.
LAYERS = (
    "__main__",
    "cli",
    "run",
    "connection",
    "outputs",
    "transfer",
    "upload",
    "transfer.api_client",
    "state",
    "plan",
    "services",
    "auth",
    "files",
    "inputs",
    "retry",
    "protocol",
    "http",
    "hosts",
    "reporting",
    "results",
    "redaction",
    "clock",
    "cancellation",
    "tasks",
    "errors",
    "error_table",
    "text",
    "__init__",
)


def modules(package: str) -> dict[str, Path]:
    """Every module of a package by its dotted name."""
    files = (file.relative_to(ROOT) for file in (ROOT / package).rglob("*.py"))
    return {
        ".".join(file.with_suffix("").parts).removesuffix(".__init__"): ROOT / file
        for file in files
    }


@cache
def imports(file: Path) -> list[str]:
    """Every dotted name that a file imports, wherever the import stands: `from a import b` gives
    `a.b`.
    """
    names: list[str] = []
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    return names


def room_of(name: str) -> str:
    """The row of `LAYERS` in which a dotted name of `uploader` stands."""
    parts = [*name.split("."), "__init__"]
    module = ".".join(parts[1:3])
    return module if module in LAYERS else parts[1]


def test_imports_point_down() -> None:
    """A module imports its own room and those below it."""
    for name, file in modules("uploader").items():
        below = {*LAYERS[LAYERS.index(room_of(name)) :], "__version__"}
        upward = [
            found
            for found in imports(file)
            if found.startswith("uploader.") and room_of(found) not in below
        ]
        assert not upward, f"{name} imports {upward}"


@pytest.mark.parametrize("package", ["uploader", "google_emulator"])
def test_no_imports_go_in_a_circle(package: str) -> None:
    """No modules of a package need each other, neither for types alone nor by an import inside a
    function.
    """
    known = modules(package)
    graph = {
        name: {
            found if found in known else found.rpartition(".")[0]
            for found in imports(file)
        }
        & known.keys()
        for name, file in known.items()
    }
    TopologicalSorter(graph).prepare()  # raises CycleError, which names the circle


def test_the_program_and_the_emulator_know_nothing_of_each_other() -> None:
    """The emulator is a second reading of the documents; the program starts it in one place, for a
    rehearsal.
    """
    emulator = [
        name
        for name, file in modules("google_emulator").items()
        if any(i.startswith("uploader") for i in imports(file))
    ]
    assert emulator == []
    program = [
        name
        for name, file in modules("uploader").items()
        if any(i.startswith("google_emulator") for i in imports(file))
    ]
    assert len(program) == 1


def pins(lock: str) -> dict[str, tuple[str, ...]]:
    """What a lock says: each `name==version`, whatever the platform it is for, and its hashes."""
    text = (ROOT / lock).read_text(encoding="utf-8").replace("\\\n", " ")
    lines = (line for line in text.splitlines() if line and not line.startswith("#"))
    return {
        line.split()[0]: tuple(re.findall(r"sha256:[0-9a-f]{64}", line))
        for line in lines
    }


def test_the_locks_agree_and_are_hashed() -> None:
    """What is tested is what runs: the development lock holds the runtime lock as it is; every line
    has its hashes.
    """
    runtime, development = pins("requirements.lock"), pins("requirements-dev.lock")
    assert all(pins("requirements-build.lock").values())
    assert all(development.values())
    assert runtime.items() <= development.items()


@pytest.mark.parametrize(
    "lock", sorted(ROOT.glob("*.lock")), ids=lambda file: file.name
)
def test_locks_name_no_index(lock: Path) -> None:
    """Where packages come from is the machine's affair."""
    assert not re.search(
        r"://|--(?:extra-)?index|--find-links", lock.read_text(encoding="utf-8")
    )
