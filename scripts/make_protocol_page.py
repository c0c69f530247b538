"""Makes docs/PROTOCOL.md: the session machine from its table, the situations from their tests, the peers from trials.

Run it without arguments (`python -m scripts.make_protocol_page`); it takes a minute, since every client is really run.
The test suite says when the page and what it tells of have parted.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.support.situation_rows import ROWS
from uploader.protocol.session import TRANSITIONS, State

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "PROTOCOL.md"
TESTS = ROOT / "tests" / "situations"
INTRODUCTION = """\
# The upload protocol

Google's upload endpoints speak two dialects: `uploadType` in the query with `Content-Range` and 308 (Play, Gmail, Play
Games, Drive, Cloud Storage, …), and the `X-Goog-Upload-*` headers (Android over-the-air, newer APIs). Both are spoken
through one session machine: a dialect turns moves into requests and answers into events, and no rule is written twice.

This page is made by `scripts/make_protocol_page.py` from the code, its tests and runs of other clients.
"""
MACHINE = """\
## The session machine

After every doubt the next move is to ask for the offset; bytes are never sent again blindly.
"""
SITUATIONS = """\
## What happens on the wire, and what this program does

Each row is shown by the tests beside it (in `tests/situations/`), over real sockets, in both dialects where it
applies to both. The machine itself is explored over every sequence of six faults (`tests/protocol/test_exhaustive.py`),
the whole transfer over hundreds of random schedules (`tests/transfer/test_schedules.py`), and the documents' own
exchanges are checked byte for byte (`tests/transcripts/`).
"""
PEERS = """\
## Beside published clients

The same fault on the same emulator, the same file of 8 MiB and 5 bytes in chunks of 2 MiB, each client as its
documentation says with its own retries on (only the waits are shortened). *Gives up* is an exception; *refuses* is one
that names the cause. *Bytes sent twice* means that the server got bytes again which it had already stored.
"""


def diagram() -> str:
    """The session machine as Mermaid, from the table; states without a way out lead to the end."""
    lines = ["```mermaid", "stateDiagram-v2", "    direction LR"]
    lines += [f"    {state.name}: {state.value}" for state in State]
    lines += ["    [*] --> NEW"]
    for state, moves in TRANSITIONS.items():
        for target in dict.fromkeys(moves.values()):
            events = [event.__name__ for event, to in moves.items() if to is target]
            lines.append(f"    {state.name} --> {target.name}: {', '.join(events)}")
    lines.append("    OFFSET_KNOWN --> LOST_TOO_OFTEN: SessionLost a fourth time")
    lines.append("    OFFSET_UNKNOWN --> LOST_TOO_OFTEN: SessionLost a fourth time")
    lines += [f"    {state.name} --> [*]" for state in State if state not in TRANSITIONS]
    return "\n".join([*lines, "```", ""])


def situations() -> str:
    """One line for each row, with the tests that claim it. Raises `LookupError` for a row that no test shows."""
    shown: dict[str, list[str]] = {row.name: [] for row in ROWS}
    for name, test in _tests():
        for row in getattr(test, "rows", ()):
            shown[row].append(f"`{name}`")
    missing = [row for row, tests in shown.items() if not tests]
    if missing:
        raise LookupError(f"no test shows {', '.join(missing)}")
    lines = ["| situation | this program | shown by |", "| --- | --- | --- |"]
    lines += [f"| {row.situation} | {row.does} | {'<br>'.join(shown[row.name])} |" for row in ROWS]
    return "\n".join([*lines, ""])


def _tests() -> Iterator[tuple[str, object]]:
    for path in sorted(TESTS.glob("test_*.py")):
        module = importlib.import_module(f"tests.situations.{path.stem}")
        for name, test in inspect.getmembers(module, inspect.isfunction):
            if name.startswith("test_") and test.__module__ == module.__name__:
                yield name, test


def peer_line(title: str, outcomes: Sequence[str]) -> str:
    """One line of the table of clients."""
    return f"| {title} | {' | '.join(outcomes)} |"


def page(peers: Sequence[str], clients: Sequence[str]) -> str:
    """The whole page; `peers` are the lines of the table of clients."""
    table = [peer_line("fault", clients), peer_line("---", ["---"] * len(clients)), *peers, ""]
    parts = [INTRODUCTION, MACHINE, diagram(), SITUATIONS, situations(), PEERS, *table]
    return "\n".join(parts)


def main() -> None:
    """Runs every client in every trial and writes the page."""
    from tests.support.peers import CLIENTS, TRIALS, outcomes  # loads all those clients

    lines = [peer_line(trial.title, outcomes(trial)) for trial in TRIALS]
    PAGE.write_text(page(lines, list(CLIENTS)), encoding="utf-8")


if __name__ == "__main__":
    main()
