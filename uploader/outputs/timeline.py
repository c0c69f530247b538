"""Draws when which bytes travelled, and when a file had to wait: a small Mermaid chart for the job summary.

Mermaid has no escape that holds everywhere, so text from outside keeps its letters, digits and a few signs, and loses
the rest.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Final

from uploader.redaction import Redactor
from uploader.results import FileResult, Moment

FILES: Final = 12  # more can't be seen at a glance
MOMENTS: Final = 10  # of one file: its first and its last ones
_KINDS: Final = {
    "sent": "active",
    "wait": "crit",
    "resumed": "milestone",
    "restarted": "crit, milestone",
    "done": "done, milestone",
    "failed": "crit, milestone",
}


def timeline(files: Sequence[FileResult], redactor: Redactor) -> str:
    """The chart as a fenced block, of the files with the most to tell; empty where nothing took any time."""
    telling = sorted((file for file in files if file.timeline), key=_eventfulness)[:FILES]
    if not telling:
        return ""
    lines = ["```mermaid", "gantt", "    dateFormat x", "    axisFormat %s s"]
    for file in telling:
        lines.append(f"    section {_words(redactor.one_line(file.path, 60))}")
        lines += [_task(moment, redactor) for moment in _few(file.timeline)]
    return "\n".join([*lines, "```"])


def _eventfulness(file: FileResult) -> tuple[bool, int, float]:
    """Sorts failures first, then what was retried most, then what took longest."""
    return not file.error, -file.retries, -file.seconds


def _few(moments: Sequence[Moment]) -> Sequence[Moment]:
    half = MOMENTS // 2
    return moments if len(moments) <= MOMENTS else (*moments[:half], *moments[-half:])


def _task(moment: Moment, redactor: Redactor) -> str:
    """One line of the chart, from its beginning to its end in milliseconds since the run began."""
    words = _words(f"{moment.kind} {redactor.one_line(moment.text, 60)}")
    begin = _milliseconds(moment.at)
    return f"    {words} :{_KINDS[moment.kind]}, {begin}, {begin + max(1, _milliseconds(moment.seconds))}"


def _milliseconds(seconds: float) -> int:
    return int(1000 * min(max(seconds, 0.0), 1e9)) if math.isfinite(seconds) else 0


def _words(outside: str) -> str:
    return re.sub(r"[^\w .,()/+-]+", "_", outside).strip() or "_"
