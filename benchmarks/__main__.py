"""Runs the benchmark: `python -m benchmarks` measures everything and writes the page, the plot and the raw data.

`--quick` measures smaller files once, to see that everything works; `--from FILE` writes the page from earlier data.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import plot, report, scenarios
from benchmarks.container import container
from benchmarks.ground import ROOT, Ground, ground

RAW = ROOT / "build" / "benchmarks.json"


def main() -> None:
    """Measures, or reads, and writes."""
    parser = argparse.ArgumentParser(prog="benchmarks", description=__doc__, allow_abbrev=False)
    parser.add_argument("--quick", action="store_true", help="small files, one round, nothing written to docs")
    parser.add_argument("--from", dest="raw", type=Path, help="the data of an earlier run")
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    if arguments.raw:
        _write(json.loads(arguments.raw.read_text(encoding="utf-8")))
        return
    with tempfile.TemporaryDirectory(prefix="benchmarks-") as folder, ground(Path(folder)) as here:
        data = _measure(here, arguments.rounds, quick=arguments.quick)
    RAW.parent.mkdir(exist_ok=True)
    RAW.write_text(json.dumps(data, indent=1), encoding="utf-8")
    if not arguments.quick:
        _write(json.loads(RAW.read_text(encoding="utf-8")))


def _measure(here: Ground, rounds: int, *, quick: bool) -> dict[str, Any]:
    rounds, size = (1, 64 * scenarios.MIB) if quick else (rounds, scenarios.GIB)
    before = scenarios.load()
    steps: dict[str, Callable[[], dict[str, Any]]] = {
        "start": lambda: scenarios.start(here, 4 * rounds),
        "large": lambda: scenarios.large(here, rounds, size),
        "memory": lambda: scenarios.memory(here),
        "faults": lambda: scenarios.faults(here, rounds, size),
        "latency": lambda: scenarios.latency(here, rounds),
        "growth": lambda: scenarios.growth(here),
        "container": lambda: container(rounds),
    }
    data: dict[str, Any] = {"machine": scenarios.machine(), "rounds": rounds}
    for name, step in steps.items():
        sys.stdout.write(f"{name} (load {scenarios.load()})\n")
        sys.stdout.flush()
        data[name] = step()
    return {**data, "load": [before, scenarios.load()]}


def _write(data: dict[str, Any]) -> None:
    report.PAGE.write_text(report.page(data), encoding="utf-8")
    report.PLOT.write_text(plot.svg(data["large"]), encoding="utf-8")


if __name__ == "__main__":
    main()
