"""Draws when which bytes travelled, and when a file had to wait: a small Mermaid chart for the job summary.

Mermaid has no escape that holds everywhere, so text from outside keeps its letters, digits and a few signs, and loses
the rest.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Final

from uploader.redaction import Redactor
from uploader.results import FileResult, Moment
from uploader.text import format_size

FILES: Final = 12  # more can't be seen at a glance
MOMENTS: Final = 20  # of one file: its first and its last ones
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
    # Failures first, then what was retried most, then what took longest.
    telling = sorted(
        (file for file in files if file.timeline), key=lambda file: (not file.error, -file.retries, -file.seconds)
    )[:FILES]
    if not telling:
        return ""
    lines = ["```mermaid", "gantt", "    dateFormat x", "    axisFormat %s s"]
    for file in telling:
        lines.append(f"    section {_words(redactor.one_line(file.path, 60))}")
        lines += [_task(moment, redactor) for moment in _few(file.timeline)]
    return "\n".join([*lines, "```"])


def _few(moments: Sequence[Moment]) -> Sequence[Moment]:
    """Requests in a row as one bar; where that is still too much, everything but the requests."""
    few = [moment for kind, group in groupby(moments, lambda moment: moment.kind) for moment in _merged(kind, group)]
    if len(few) > MOMENTS:
        few = [moment for moment in few if moment.kind != "sent"]
    half = MOMENTS // 2
    return few if len(few) <= MOMENTS else [*few[:half], *few[-half:]]


def _merged(kind: str, group: Iterable[Moment]) -> list[Moment]:
    moments = list(group)
    if kind != "sent" or len(moments) == 1:
        return moments
    first, last = moments[0], moments[-1]
    seconds, count = last.at + last.seconds - first.at, sum(moment.bytes for moment in moments)
    return [Moment(first.at, "sent", f"in {len(moments)} requests", seconds, count)]


def _task(moment: Moment, redactor: Redactor) -> str:
    """One line of the chart, from its beginning to its end in milliseconds since the run began."""
    count = format_size(moment.bytes) if moment.bytes else ""
    words = _words(" ".join(filter(None, (moment.kind, count, redactor.one_line(moment.text, 60)))))
    begin = _milliseconds(moment.at)
    return f"    {words} :{_KINDS[moment.kind]}, {begin}, {begin + max(1, _milliseconds(moment.seconds))}"


def _milliseconds(seconds: float) -> int:
    return int(1000 * min(max(seconds, 0.0), 1e9)) if math.isfinite(seconds) else 0


def _words(outside: str) -> str:
    words = re.sub(r"\s*[:;]+\s*", ", ", outside.replace("…", "..."))
    return re.sub(r"[^\w .,()/+-]+", "_", words).strip() or "_"
