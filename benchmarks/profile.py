"""Where the time of a run goes: the largest costs of its start, and the functions that take a GiB's processor time."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from benchmarks import startup_profile
from benchmarks.contestants import ours
from benchmarks.ground import Ground
from benchmarks.large_files import GIB
from benchmarks.measure import measured
from benchmarks.turns import ok

_HERTZ = 999
_LINES = 15


def text(here: Ground, samples: Path) -> str:
    """Both, by module and by function; the second needs Linux's `perf`, which keeps its `samples` in a file."""
    costs = startup_profile.costs(here)
    lines = ["Up to the first request:", *(f"{cost.seconds * 1000:8.1f} ms  {cost.what}" for cost in costs)]
    if not shutil.which("perf"):
        return "\n".join([*lines, "", "For a profile of a large file `perf` is needed.", ""])
    command, environment = ours(here, "https", here.file(GIB).name)
    record = ["perf", "record", "--quiet", "--freq", str(_HERTZ), "--output", str(samples), "--"]
    run = ok(measured([*record, *command], here, environment))
    lines += [
        "",
        f"1 GiB over TLS, {run.cpu:.2f} processor seconds, by thread and library, then by function with a name:",
    ]
    for by in ("pid,dso", "symbol"):
        lines += ["", *_report(samples, by)[:_LINES]]
    return "\n".join([*lines, ""])


def _report(samples: Path, by: str) -> list[str]:
    """The shares of the processor time, the largest first. The digests are made by a thread of their own."""
    command = ["perf", "report", "--stdio", "--sort", by, "--input", str(samples)]
    found = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    lines = (line.rstrip(" -") for line in found.splitlines() if line.strip() and not line.startswith("#"))
    return [line for line in lines if "0x0000" not in line]
