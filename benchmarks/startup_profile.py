"""What the time from the start of the process to the first request is spent on: Python's own books of its imports.

`python -m benchmarks.startup_profile` prints the ten largest costs; it needs `build/runtime`, which `make bench` makes.
"""

from __future__ import annotations

import re
import socket
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks.contestants import PYTHON, ours
from benchmarks.ground import Ground, ground

TIMES = 15
REST = "all that is no import"  # reading inputs, planning, signing the login, connecting
_LINE = re.compile(r"import time: +(\d+) \| +\d+ \| +(\S+)")


@dataclass(frozen=True)
class Cost:
    """One of the costs: a module without those that it imports, or a package, or the rest. Seconds."""

    what: str
    seconds: float


def costs(
    here: Ground, times: int = TIMES, most: int = 10, name: Callable[[str], str] = lambda module: module
) -> list[Cost]:
    """The largest costs up to the first request, the median of several starts each, the largest first.

    `name` says what a module counts to: itself, or its package with `package`. What a bare Python imports is left out.
    """
    found: dict[str, list[float]] = defaultdict(list)
    for _ in range(times):
        bare, began = _imports([str(PYTHON), "-X", "importtime", "-c", "pass"]), time.monotonic()
        imports = _until_first_request(here)
        seconds = time.monotonic() - began
        of_one: dict[str, float] = defaultdict(float)
        for module in imports.keys() - bare.keys():
            of_one[name(module)] += imports[module]
        for what, each in {**of_one, REST: seconds - sum(imports.values())}.items():
            found[what].append(each)
    largest = sorted(found, key=lambda what: -median(found[what]))[:most]
    return [Cost(what, median(found[what])) for what in largest]


def package(module: str) -> str:
    """The distribution or the part of the standard library that a module belongs to, near enough for a table."""
    parts = module.lstrip("_").split(".")
    return ".".join(parts[: 2 if parts[0] in ("google", "uploader") else 1])


def _until_first_request(here: Ground) -> dict[str, float]:
    """What a run imports until it connects to the server of its tokens, which then ends it."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        key = here.key.read_text().replace(here.url("http"), f"http://127.0.0.1:{listener.getsockname()[1]}")
        command, environment = ours(here, "http", here.file(1000).name, credentials=key)
        child = subprocess.Popen(
            [command[0], "-X", "importtime", *command[1:]],
            env={**here.environment(), **environment},
            cwd=here.folder / "workspace",
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        connection, _ = listener.accept()
        with connection:
            connection.recv(1)
            child.kill()
        assert child.stderr is not None
        with child, child.stderr:
            return _read(child.stderr.read().decode())


def _imports(command: list[str]) -> dict[str, float]:
    return _read(subprocess.run(command, check=True, capture_output=True, text=True).stderr)


def _read(report: str) -> dict[str, float]:
    """Seconds by module, without what the module itself imports."""
    return {module: int(microseconds) / 1e6 for microseconds, module in _LINE.findall(report)}


def main() -> None:
    """Prints the costs by module, then by package."""
    with tempfile.TemporaryDirectory(prefix="benchmarks-") as folder, ground(Path(folder)) as here:
        for name in (str, package):
            for cost in costs(here, name=name):
                sys.stdout.write(f"{cost.seconds * 1000:7.1f} ms  {cost.what}\n")
            sys.stdout.write("\n")


if __name__ == "__main__":
    main()
