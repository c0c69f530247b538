"""Draws when which bytes travelled, and when a file had to wait: a small Mermaid chart for the job summary.

Mermaid has no escape that holds everywhere, so text from outside keeps its letters, digits and a few signs, and loses
the rest. Its axis knows the time of day in the reader's zone, and seconds: whatever unit fits is therefore written as
its second.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Final

from uploader.outputs.short_names import short_names
from uploader.redaction import Redactor
from uploader.results import FileResult, TimelineEvent
from uploader.text import format_size, plural

FILES: Final = 12  # more can't be seen at a glance
MOMENTS: Final = 12  # of one file: its first and its last ones
QUIET: Final = 30.0  # seconds; a run in which nothing happened, and that was over sooner, has no chart
LABEL: Final = 28  # characters
TICKS: Final = 10  # on the axis, at most
_UNITS: Final = ((300.0, 60.0, "min"), (2.0, 1.0, "s"), (0.0, 0.001, "ms"))  # from so many seconds on, so many each
_TASKS: Final = {
    "sent": "done, ",
    "wait": "",
    "resumed": "milestone, ",
    "restarted": "crit, milestone, ",
    "done": "done, milestone, ",
    "failed": "crit, milestone, ",
}
COLOURS: Final = {"sent": "#54aeff", "wait": "#e3b341", "failed": "#ff7b72"}
LEGEND: Final = "Blue: bytes on their way. Amber: waiting. Red: failed."
# Over the page's own theme, light or dark. The words beside a bar keep that theme's colour.
_THEME: Final = {
    "doneTaskBkgColor": COLOURS["sent"],
    "doneTaskBorderColor": "#0969da",
    "taskBkgColor": COLOURS["wait"],
    "taskBorderColor": "#9a6700",
    "critBkgColor": COLOURS["failed"],
    "critBorderColor": "#cf222e",
    **dict.fromkeys(("taskTextColor", "taskTextLightColor", "taskTextDarkColor"), "#1f2328"),
    **dict.fromkeys(("sectionBkgColor", "sectionBkgColor2", "altSectionBkgColor"), "#8b949e"),
}


def timeline(files: Sequence[FileResult], redactor: Redactor) -> str:
    """The chart as a fenced block, with a legend: the files with the most to tell; empty where nothing happened."""
    timed = [file for file in files if file.timeline]
    eventful = [file for file in timed if _eventful(file.timeline)]
    told = eventful or (timed if _duration(timed) >= QUIET else [])
    if not told:
        return ""
    # Failures, then what was retried most, then what took longest; those in the order in which they were given.
    by_weight = sorted(told, key=lambda file: (not file.error, -file.retries, -file.seconds))
    chosen = set(map(id, by_weight[:FILES]))
    shown = [file for file in told if id(file) in chosen]
    rest = f" The {plural(FILES, 'file')} with the most to tell, of {len(told)}." if len(told) > FILES else ""
    return f"### Timeline\n\n{_chart(shown, redactor)}\n\n{LEGEND}{rest}"


def _eventful(moments: Sequence[TimelineEvent]) -> bool:
    """Whether more happened than an upload without a stop, or a failure before anything else."""
    kinds = [moment.kind for moment in moments]
    return kinds != ["failed"] and not {*kinds} <= {"sent", "done"}


def _chart(files: Sequence[FileResult], redactor: Redactor) -> str:
    labels = short_names([_words(redactor.one_line(file.path)) for file in files], LABEL)
    start, (seconds, name, step) = _start(files), _axis(_duration(files))
    settings = {"gantt": {"leftPadding": 32 + 7 * max(map(len, labels))}, "themeVariables": _THEME}
    head = ["```mermaid", f"%%{{init: {json.dumps(settings)}}}%%", "gantt", "    dateFormat x"]
    lines = [*head, f"    axisFormat %s {name}", f"    tickInterval {1000 * step}millisecond", "    todayMarker off"]
    for label, file in zip(labels, files, strict=True):
        lines.append(f"    section {label}")
        for moment in _few(file.timeline):
            begin = _thousandths(_finite(moment.at) - start, seconds)
            end = begin + max(1, _thousandths(moment.seconds, seconds))
            lines.append(f"    {_said(moment, redactor)} :{_TASKS[moment.kind]}{begin}, {end}")
    return "\n".join([*lines, "```"])


def _start(files: Iterable[FileResult]) -> float:
    return min((_finite(moment.at) for file in files for moment in file.timeline), default=0.0)


def _duration(files: Sequence[FileResult]) -> float:
    """Seconds from the first moment to the end of the last."""
    ends = (_finite(moment.at) + _finite(moment.seconds) for file in files for moment in file.timeline)
    return max(ends, default=0.0) - _start(files)


def _axis(duration: float) -> tuple[float, str, int]:
    """The unit that fits, in seconds and by name, and how many of it lie between two ticks: 1, 2, 5, 10, 20, …"""
    seconds, name = next((seconds, name) for least, seconds, name in _UNITS if duration >= least)
    steps = (digit * 10**power for power in range(20) for digit in (1, 2, 5))
    return seconds, name, next(step for step in steps if duration / seconds <= TICKS * step)


def _few(moments: Sequence[TimelineEvent]) -> Sequence[TimelineEvent]:
    """Requests in a row as one bar; where that is still too much, everything but the requests."""
    few = [moment for kind, group in groupby(moments, lambda moment: moment.kind) for moment in _merged(kind, group)]
    if [moment.kind for moment in few[-2:]] == ["sent", "done"]:
        few[-2:] = [replace(few[-2], text=f"{few[-2].text}, {few[-1].text}")]
    if len(few) > MOMENTS:
        few = [moment for moment in few if moment.kind != "sent"]
    half = MOMENTS // 2
    return few if len(few) <= MOMENTS else [*few[:half], *few[-half:]]


def _merged(kind: str, group: Iterable[TimelineEvent]) -> list[TimelineEvent]:
    moments = list(group)
    if kind != "sent" or len(moments) == 1:
        return moments
    first, last = moments[0], moments[-1]
    seconds, count = last.at + last.seconds - first.at, sum(moment.bytes for moment in moments)
    return [TimelineEvent(first.at, "sent", f"in {len(moments)} requests", seconds, count)]


def _said(moment: TimelineEvent, redactor: Redactor) -> str:
    """What stands in or beside a bar."""
    text = redactor.one_line(moment.text, 60)
    beginning = {
        "sent": f"{format_size(moment.bytes)} sent ",
        "wait": f"waited {_finite(moment.seconds):.1f} s, ",
        "resumed": "resumed ",
        "restarted": "starting over, ",
        "done": "",
        "failed": "failed. ",
    }
    return _words(f"{beginning[moment.kind]}{text}").replace(" ,", ",")


def _thousandths(seconds: float, unit: float) -> int:
    return round(1000 * _finite(seconds) / unit)


def _finite(seconds: float) -> float:
    return min(max(seconds, 0.0), 1e9) if math.isfinite(seconds) else 0.0


def _words(outside: str) -> str:
    words = re.sub(r"\s*[:;]+\s*", ", ", outside.replace("…", "...").replace("`", ""))
    return re.sub(r"[^\w .,()/+-]+", "_", words).strip(" ,") or "_"
