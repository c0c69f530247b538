"""Runs the benchmark: `python -m benchmarks` measures everything and writes the page, the plot and the raw data.

`--quick` measures little, once, to see that everything works, and writes to build/ alone; `--from FILE` writes the page
from earlier data; `--profile` prints where the time of one run goes instead.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import large_files, plot, profile, report, small_files, startup_profile
from benchmarks.container import container
from benchmarks.ground import ROOT, Ground, ground
from benchmarks.large_files import GIB, MIB
from benchmarks.machine import load, machine
from benchmarks.start import start

BUILD = ROOT / "build"
RAW = BUILD / "benchmarks.json"


@dataclass(frozen=True)
class Extent:
    """How much is measured: rounds, the bytes of the large file, and how many small files."""

    rounds: int
    size: int = GIB
    sizes: tuple[int, ...] = (MIB, 64 * MIB, GIB, 10 * GIB)
    many: int = 10_000
    counts: tuple[int, ...] = (1_000, 10_000)


def main() -> None:
    """Measures, or reads, and writes."""
    parser = argparse.ArgumentParser(prog="benchmarks", description=__doc__, allow_abbrev=False)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--from", dest="raw", type=Path, metavar="FILE")
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    if arguments.raw:
        _write(json.loads(arguments.raw.read_text(encoding="utf-8")), report.PAGE, report.PLOT)
        return
    BUILD.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="benchmarks-") as folder, ground(Path(folder)) as here:
        if arguments.profile:
            sys.stdout.write(profile.text(here, BUILD / "perf.data"))
        elif arguments.quick:
            extent = Extent(1, 64 * MIB, (MIB, 64 * MIB), 300, (100, 1_000))
            _write(_measure(here, extent, BUILD / "quick.json"), BUILD / "quick.md", BUILD / "quick.svg")
        else:
            _write(_measure(here, Extent(arguments.rounds), RAW), report.PAGE, report.PLOT)


def _measure(here: Ground, extent: Extent, raw: Path) -> dict[str, Any]:
    """Everything, with what is there already in the file `raw` after each step."""
    before, began = load(), time.monotonic()
    data: dict[str, Any] = {"machine": machine(), "rounds": extent.rounds, "rest": startup_profile.REST}
    for name, step in _steps(here, extent).items():
        sys.stdout.write(f"{time.monotonic() - began:4.0f} s  {name} (load {load()})\n")
        sys.stdout.flush()
        data |= {name: step(), "left_out": here.left_out, "load": [before, load()]}
        raw.write_text(json.dumps(data, indent=1), encoding="utf-8")
    sys.stdout.write(f"{time.monotonic() - began:4.0f} s  done; the data are in {raw}\n")
    return data


def _steps(here: Ground, extent: Extent) -> dict[str, Callable[[], Any]]:
    rounds, size = extent.rounds, extent.size
    return {
        "start": lambda: start(here, 4 * rounds),
        "costs": lambda: startup_profile.costs(here, 3 * rounds, name=startup_profile.package),
        "large": lambda: large_files.large(here, rounds, size),
        "digests": lambda: large_files.digests(here, rounds, size),
        "images": lambda: small_files.small(here, rounds, count=200, size=200_000, latency=0.05),
        "many": lambda: small_files.small(here, rounds, count=extent.many, size=1000, latency=0.02),
        "memory": lambda: large_files.memory(here, extent.sizes),
        "growth": lambda: small_files.growth(here, extent.counts),
        "faults": lambda: large_files.faults(here, rounds, size),
        "image": lambda: _image(here, rounds),
    }


def _image(here: Ground, rounds: int) -> dict[str, Any]:
    """Nothing where no image can be built or run; the page says so."""
    try:
        return container(rounds)
    except (subprocess.CalledProcessError, OSError) as error:
        here.left_out["the image"] = f"{error}"[:200]
        return {}


def _write(data: dict[str, Any], page: Path, picture: Path) -> None:
    page.write_text(report.page(data), encoding="utf-8")
    picture.write_text(plot.svg(data["large"]), encoding="utf-8")


if __name__ == "__main__":
    main()
