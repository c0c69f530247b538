"""The soak in its long form: `python -m tests.soak --releases 1000 --write build/soak.md`."""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from dataclasses import fields
from pathlib import Path

from tests.soak.chaos import Chaos, Ledger

SETTLED = 50  # releases after which memory is compared: until then libraries are still being loaded


def main() -> int:
    """Runs the soak and writes its page; 1 when anything was wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--releases", type=int, default=1000)
    parser.add_argument(
        "--minutes",
        type=float,
        default=60.0,
        help="end after so long, however many there were",
    )
    parser.add_argument(
        "--children",
        type=int,
        default=20,
        help="every so many a release with real processes",
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", type=Path, help="the page to write")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        chaos = soak(
            Path(folder), asked.seed, asked.releases, asked.minutes, asked.children
        )
    for line in chaos.ledger.wrong:
        sys.stdout.write(f"WRONG: {line}\n")
    if asked.write:
        asked.write.write_text(page(chaos.ledger, asked.seed), encoding="utf-8")
    return 1 if chaos.ledger.wrong else 0


def page(ledger: Ledger, seed: int) -> str:
    """The figures in Markdown, a line each; sizes are in bytes, times in seconds."""
    figures = (figure.name for figure in fields(ledger) if figure.name != "began")
    lines = (f"- {name}: {getattr(ledger, name)}" for name in (*figures, "seconds"))
    return "\n".join(
        ["# Reliability", "", f"Seed {seed}, written by `make soak`.", "", *lines, ""]
    )


def soak(
    folder: Path, seed: int, releases: int, minutes: float, children: int
) -> Chaos:
    """So many releases, or as many as the minutes allow; every `children`-th with real
    processes.
    """
    chaos = Chaos(folder, seed)
    ledger = chaos.ledger
    while ledger.releases < releases and ledger.seconds < minutes * 60:
        chaos.release(children=ledger.releases % children == children - 1)
        shutil.rmtree(folder / f"{ledger.releases - 1}", ignore_errors=True)
        if ledger.releases in (SETTLED, releases) or ledger.releases % 100 == 0:
            ledger.measure()
            sys.stdout.write(
                f"{ledger.releases} releases, {ledger.runs} runs, {len(ledger.wrong)} wrong\n"
            )
            sys.stdout.flush()
    ledger.measure()
    return chaos


if __name__ == "__main__":
    sys.exit(main())
