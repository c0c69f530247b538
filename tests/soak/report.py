"""The ledger as the page that `make soak` writes: figures of one soak, written by the run itself."""

from __future__ import annotations

import platform
from collections import Counter

from tests.soak.chaos import Ledger

_PAGE = """# Reliability

Written by `make soak`; every figure is from one run of it. The run picks random releases to all kinds of targets and
injects faults: server errors, death of the process at any request or byte, signals, jumps of the wall clock, a second
run on the same state folder. A release is run again until it succeeds, and then the server's contents are checked.
Most runs happen inside one process with a simulated clock, so that waits of minutes cost nothing; some are separate
processes that are really killed. The server is the embedded emulator, on loopback.

| | |
|---|---|
| seed | {seed} |
| releases | {releases} ({targets}) |
| runs that they took | {runs} |
| processes killed at a random request or byte, simulated | {kills} |
| processes really killed with SIGKILL at a random moment | {real_kills} |
| runs stopped by a signal, in all | {signals} |
| jumps of the wall clock | {jumps} |
| releases with two runs at once on one state folder | {rivals} |
| faults of the server that happened | {fault_count} |
| runs that went on in a session of an earlier run | {resumed} |
| runs that said that a file may have arrived already, after which it was sent again without a look | {doubts} |
| bytes of all files | {size:,} |
| bytes that reached the upload sessions | {received:,} ({ratio:.2f} times the files) |
| waits, as the clock was told | {waited:,.0f} s |
| **lost, doubled in silence, or finalised wrongly; secrets in a log** | **{wrong}** |
| Play releases committed a second time without any change, after a kill behind the commit | {commits} |
| live Python objects in the process | {objects_first:,} after {first} releases, {objects_last:,} at the end |
| its resident memory, client and emulator together | {memory_first:.1f} MB, then {memory_last:.1f} MB |
| its open files | {files_first}, then {files_last} |
| real time | {seconds:.0f} s, Python {python} |

How the runs ended:

{codes}

The faults that happened:

{faults}
"""


def page(ledger: Ledger, seed: int) -> str:
    """The page in Markdown."""
    (first, memory_first), (_, memory_last) = ledger.memory[0], ledger.memory[-1]
    return _PAGE.format(
        seed=seed,
        releases=ledger.releases,
        targets=", ".join(f"{count} {target}" for target, count in ledger.targets.most_common()),
        runs=ledger.runs,
        kills=ledger.kills,
        real_kills=ledger.real_kills,
        signals=ledger.signals,
        jumps=ledger.jumps,
        rivals=ledger.rivals,
        commits=ledger.commits,
        fault_count=sum(ledger.faults.values()),
        resumed=ledger.resumed,
        doubts=ledger.doubts,
        size=ledger.size,
        received=ledger.received,
        ratio=ledger.received / max(ledger.size, 1),
        waited=ledger.waited,
        wrong=len(ledger.wrong),
        first=first,
        objects_first=ledger.objects[0],
        objects_last=ledger.objects[-1],
        memory_first=memory_first / 1e6,
        memory_last=memory_last / 1e6,
        files_first=ledger.descriptors[0][1],
        files_last=ledger.descriptors[-1][1],
        seconds=ledger.seconds,
        python=platform.python_version(),
        codes=_table("exit code", ledger.codes),
        faults=_table("fault", ledger.faults),
    )


def _table(what: str, counts: Counter[str]) -> str:
    rows = [f"| {name} | {count} |" for name, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))]
    return "\n".join([f"| {what} | times |", "|---|---|", *rows])
