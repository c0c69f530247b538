"""Makes docs/demo.svg and docs/summary.svg from a real run of the demo: its log as it came, its first job summary.

A picture holds the text that it was drawn from. `tests/test_pictures.py` runs the demo again and compares the shape of
both, numbers and the course of the transfer aside, so that a picture can't show what the program no longer says.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from scripts.drawing import page, terminal  # noqa: E402  # found only once the checkout is on the path

DEMO, SUMMARY = ROOT / "docs" / "demo.svg", ROOT / "docs" / "summary.svg"
READABLE = 0.12  # seconds that a line stays the last one, at least: the recording is slower than the run
VARIABLE = re.compile(r"^  \| \S+: |^    \S.* :.*\d+, \d+$|^    tickInterval")  # the course of a transfer


def record() -> tuple[list[tuple[float, str]], str]:
    """Runs the demo: each line with the second in which it came, and the Markdown of the first run's job summary.

    Raises CalledProcessError when the demo fails.
    """
    lines = [(0.0, "$ make demo")]
    environment = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as kept:
        command = [sys.executable, "-u", str(ROOT / "examples" / "demo.py"), kept]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, encoding="utf-8", env=environment) as demo:
            assert demo.stdout is not None
            lines.extend((time.monotonic() - began, line.rstrip()) for line in demo.stdout)
        if demo.returncode:
            raise subprocess.CalledProcessError(demo.returncode, command, "\n".join(line for _, line in lines))
        return lines, (Path(kept) / "play.md").read_text(encoding="utf-8")


def without_summaries(lines: Sequence[tuple[float, str]]) -> list[tuple[float, str]]:
    """The recording without the summaries, which have a picture of their own, and slow enough to be read."""
    kept: list[tuple[float, str]] = []
    hidden, later = False, 0.0
    for at, line in lines:
        hidden = line == "  --- job summary" or (hidden and not line.startswith("==="))
        if not hidden and (line or (kept and kept[-1][1])):
            later = max(later, kept[-1][0] + READABLE - at) if kept else 0.0
            kept.append((at + later, line))
    return kept


def shape(text: str) -> list[str]:
    """The lines of a run without what differs from run to run."""
    lines = [line for line in text.splitlines() if not VARIABLE.search(line)]
    return [re.sub(r"\b[0-9a-f]{12,}\b|/tmp/\S+|\d[\d.,]*( [KMG]iB/s)?", "#", line) for line in lines]


def main() -> None:
    """Writes both pictures."""
    lines, summary = record()
    shown = without_summaries(lines)
    DEMO.write_text(terminal(shown, "\n".join(line for _, line in shown)), encoding="utf-8")
    SUMMARY.write_text(page(summary), encoding="utf-8")


if __name__ == "__main__":
    main()
