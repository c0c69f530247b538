"""The table of foreign clients in docs/EMULATOR.md, from what a run of tests/strangers saw: `make strangers`.

A cell is what the run saw; where it could not look, since a tool is not to be had, that is said. A test holds the table
to the set of cases.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tests.strangers.cases import FAULTS, JOBS, Job

ROOT = Path(__file__).resolve().parent.parent
PAGE, FOUND = ROOT / "docs" / "EMULATOR.md", ROOT / "build" / "strangers.json"
BEGIN, END = "<!-- strangers -->", "<!-- /strangers -->"

Seen = Mapping[tuple[str, str, str], Mapping[str, Any]]


def numbered_reasons() -> dict[str, int]:
    """Every reason for which a client does not survive a fault, with its number under the table."""
    reasons = dict.fromkeys(reason for job in JOBS for reason in job.fails.values())
    return {reason: number for number, reason in enumerate(reasons, 1)}


def cell(job: Job, fault: str, seen: Seen) -> str:
    """What the run saw of one case: `yes`, `no` with the number of its reason, or that it did not look."""
    if fault not in job.faults():
        return "-"
    outcome = seen.get((job.client, job.name, fault), {}).get("outcome", "not run")
    return f"no ({numbered_reasons()[job.fails[fault]]})" if outcome == "no" else str(outcome)


def version(job: Job, seen: Seen) -> str:
    """The version of a client, as its run told it."""
    return next((str(each["version"]) for key, each in seen.items() if key[0] == job.client and each["version"]), "")


def table(seen: Seen) -> str:
    """The table and the reasons below it."""
    lines = [("client", "version", "job", "upload", *FAULTS), ("---",) * (4 + len(FAULTS))]
    for job in JOBS:
        cells = (cell(job, fault, seen) for fault in FAULTS)
        lines.append((job.client, version(job, seen), job.name, job.protocol, *cells))
    rows = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    reasons = "\n".join(f"{number}. {reason}" for reason, number in numbered_reasons().items())
    return f"{rows}\n\nWhy not:\n\n{reasons}"


def rendered(page: str, found: Iterable[Mapping[str, Any]]) -> str:
    """The page with the table of a run. Raises `ValueError` when the page has no place for it."""
    head, begin, rest = page.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"docs/EMULATOR.md has no {BEGIN} … {END}")
    seen = {(each["client"], each["job"], each["fault"]): each for each in found}
    return f"{head}{begin}\n\n{table(seen)}\n\n{end}{tail}"


def main() -> int:
    """Writes the page anew."""
    found = json.loads(FOUND.read_text(encoding="utf-8"))
    PAGE.write_text(rendered(PAGE.read_text(encoding="utf-8"), found), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
