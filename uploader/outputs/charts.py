"""The drawings of the summary, in Mermaid: when which bytes travelled, and what was measured.

Mermaid has no escape that works everywhere: there text from outside keeps letters, digits and a few
signs alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby

from uploader.outputs.markdown import code, short_names, text
from uploader.redaction import Redactor
from uploader.results import FileResult, TimelineEvent
from uploader.services.base import Chart
from uploader.text import format_size

MAX_NAME = 28  # characters of a file's name
MAX_CHARTED = 12  # files in the timeline, and events of one file, its first and its last ones
QUIET = 30.0  # seconds; a run in which nothing happened, and that was over sooner, has no timeline
MAX_TICKS = 10  # on its axis
MAX_PATH = 2000  # characters of a path from outside
MAX_APART = 6  # requests and answers in a row that have a bar each
MAX_LABEL = 100  # characters in or beside a bar
BAR_CELLS = 20  # of a bar that is drawn with characters

# The timeline: when which bytes travelled, and when a file had to wait
# from so many seconds on, so many each
_UNITS = ((300.0, 60.0, "min"), (2.0, 1.0, "s"), (0.0, 0.001, "ms"))
# By kind: the tags of the bar, and how the words in or beside it begin. An active task is blue, one
# that is done is grey, and a critical one is red: `_TIMELINE_COLOURS`.
_EVENTS = {
    "sent": ("active, ", "{size} sent "),
    "answer": ("done, ", "answer after {seconds:.1f} s "),
    "wait": ("done, ", "waited {seconds:.1f} s, "),
    "resumed": ("milestone, ", "resumed "),
    "restarted": ("crit, milestone, ", "starting over, "),
    "done": ("done, milestone, ", ""),
    "interrupted": ("done, milestone, ", "interrupted, "),
    "failed": ("crit, milestone, ", "failed. "),
}
_REQUEST = ("sent", "answer")  # a request, and the wait for its response
# Bars that are light enough for dark words in light and in dark mode.
_TIMELINE_COLOURS = {
    "activeTaskBkgColor": "#54aeff",
    "activeTaskBorderColor": "#0969da",
    "doneTaskBkgColor": "#afb8c1",
    "doneTaskBorderColor": "#818b98",
    "critBkgColor": "#ff8182",
    "critBorderColor": "#cf222e",
    "taskBkgColor": "#afb8c1",
    "taskBorderColor": "#818b98",
    "taskTextDarkColor": "#1f2328",
    "sectionBkgColor": "#818b98",
    "altSectionBkgColor": "#818b98",
    "sectionBkgColor2": "#818b98",
}
# Mermaid gives words beside a bar the colour of those inside. They are given that of the theme
# instead, which can be read on the page in light and in dark mode.
_TIMELINE_CSS = (
    ".taskTextOutsideRight.taskTextOutsideRight, .taskTextOutsideLeft.taskTextOutsideLeft "
    "{ fill: inherit !important; }"
)
_TIMELINE_LEGEND = (
    ("🟦 sending", ("sent",)),
    ("⬜ waiting", ("answer", "wait")),
    ("🟥 failed, or starting over", ("failed", "restarted")),
)
# The bars that are within the limits and those that are over; then the lines, with the names of
# their colours.
_BAR_COLOURS = ("#8c959f", "#cf222e")
_LINE_COLOURS = (
    ("#fb8500", "🟧"),
    ("#a371f7", "🟪"),
    ("#1f75cb", "🟦"),
    ("#2da44e", "🟩"),
    ("#9a6700", "🟫"),
)


def timeline(files: Sequence[FileResult], redactor: Redactor) -> str:
    """A Mermaid chart: the files with the most to tell; empty where nothing happened."""
    timed = [file for file in files if file.timeline]
    told = [file for file in timed if _eventful(file.timeline)] or (
        timed if _span(timed)[1] >= QUIET else []
    )
    if not told:
        return ""
    # Failures, then what was retried most, then what took longest; those in the order in which they
    # were given.
    by_weight = sorted(told, key=lambda file: (not file.error, -file.retries, -file.seconds))
    chosen = set(map(id, by_weight[:MAX_CHARTED]))
    shown = [file for file in told if id(file) in chosen]
    more = (
        f"\n\nThe {MAX_CHARTED} files with the most to tell, of {len(told)}."
        if len(told) > MAX_CHARTED
        else ""
    )
    parts = [f"### Timeline\n\n{_chart(shown, redactor)}", _legend(shown)]
    parts += [_of_two_runs(file, redactor) for file in shown]
    return "\n\n".join(filter(None, parts)) + more


def _legend(files: Sequence[FileResult]) -> str:
    """What the colours of the timeline mean, as far as they are in it."""
    kinds = {event.kind for file in files for event in file.timeline}
    return " · ".join(words for words, meant in _TIMELINE_LEGEND if kinds.intersection(meant))


def _of_two_runs(file: FileResult, redactor: Redactor) -> str:
    """What an earlier run had sent of a file, and what this one sent; empty where this one sent all
    of it.
    """
    if not file.resumed_from or not file.bytes:
        return ""
    name = code(short_names([redactor.one_line(file.path, MAX_PATH)], MAX_NAME)[0])
    earlier = format_size(file.resumed_from)
    sent = format_size(file.bytes_uploaded)
    drawn = share_bar(file.resumed_from / file.bytes, "░", "▓")
    return f"{name} `{drawn}` ░ {earlier} sent by an earlier run · ▓ {sent} by this one"


def share_bar(share: float, full: str = "▓", empty: str = "░") -> str:
    """A share from 0 to 1 as a bar of characters; anything above 0 shows, and so does what is
    missing.
    """
    cells = round(share * BAR_CELLS)
    if 0 < share < 1:
        cells = min(max(cells, 1), BAR_CELLS - 1)
    return full * cells + empty * (BAR_CELLS - cells)


def _eventful(events: Sequence[TimelineEvent]) -> bool:
    """Whether more happened than an upload without a stop, or a failure before anything else."""
    kinds = [event.kind for event in events]
    return kinds != ["failed"] and not {*kinds} <= {"sent", "answer", "done"}


def _chart(files: Sequence[FileResult], redactor: Redactor) -> str:
    """The axis knows the time of day in the reader's zone, and seconds: the unit that fits is
    written as its second.
    """
    labels = short_names(
        [_words(redactor.one_line(file.path, MAX_PATH)) for file in files], MAX_NAME
    )
    start, duration = _span(files)
    seconds, name = next((seconds, name) for least, seconds, name in _UNITS if duration >= least)
    steps = (digit * 10**power for power in range(20) for digit in (1, 2, 5))
    step = next(step for step in steps if duration / seconds <= MAX_TICKS * step)
    settings = {
        "gantt": {
            "leftPadding": 32 + 7 * max(map(len, labels)),
            "barHeight": 24,
            "fontSize": 12,
            "sectionFontSize": 12,
        },
        "themeVariables": _TIMELINE_COLOURS,
        "themeCSS": _TIMELINE_CSS,
    }
    lines = ["```mermaid", f"%%{{init: {json.dumps(settings)}}}%%", "gantt", "    dateFormat x"]
    lines += [
        f"    axisFormat %s {name}",
        f"    tickInterval {1000 * step}millisecond",
        "    todayMarker off",
    ]
    for label, file in zip(labels, files, strict=True):
        lines.append(f"    section {label}")
        for event in _few(file.timeline):
            begin = round(1000 * (event.at - start) / seconds)
            end = begin + max(1, round(1000 * event.seconds / seconds))
            tags, words = _EVENTS[event.kind]
            words = words.format(size=format_size(event.bytes), seconds=event.seconds)
            said = _words(words + redactor.one_line(event.text, MAX_LABEL)).replace(" ,", ",")
            lines.append(f"    {said} :{tags}{begin}, {end}")
    return "\n".join([*lines, "```"])


def bars(chart: Chart, redactor: Redactor) -> str:
    """A Mermaid chart of percentages, and below it what its colours mean.

    Mermaid has one colour for all bars of a series, so that those over a limit are a series of
    their own. What a series does not have is below the axis, since Mermaid gives a bar of 0 some
    height. A place without a bar on either side takes the lines to the edges, and lets a single day
    have a line.
    """
    labels = [f'"{_words(redactor.one_line(label, 60))}"' for label in chart.labels]
    drawn = chart.lines[: len(_LINE_COLOURS)]
    pairs = list(zip(chart.bars, chart.over, strict=True))
    series = [
        f"bar {_series([-1, *(-1 if over else rate for rate, over in pairs), -1])}",
        f"bar {_series([-1, *(rate if over else -1 for rate, over in pairs), -1])}",
    ]
    for _, values in drawn:
        series.append(f"line {_series([values[0], *values, values[-1]])}")
    highest = max([*chart.bars, *(max(values) for _, values in drawn)])
    colours = [*_BAR_COLOURS, *(colour for colour, _ in _LINE_COLOURS)]
    settings = {
        "xyChart": {"width": 720, "height": 280 if drawn else 260},
        "themeVariables": {"xyChart": {"plotColorPalette": ", ".join(colours)}},
    }
    lines = [
        "```mermaid",
        f"%%{{init: {json.dumps(settings)}}}%%",
        "xychart-beta",
        f'    title "{_words(redactor.one_line(chart.title, 140))}"',
        f'    x-axis [" ", {", ".join(labels)}, "."]',
        f"    y-axis 0 --> {1.1 * highest or 1:.4g}",
        *(f"    {one}" for one in series),
        "```",
    ]
    legend = ["⬜ within the limits", "🟥 over"] if any(chart.over) else []
    for (name, _), (_, square) in zip(drawn, _LINE_COLOURS, strict=False):
        legend.append(f"{square} {text(redactor.one_line(name, 100))}")
    drawing = "\n".join(lines)
    return f"{drawing}\n\n{' · '.join(legend)}" if legend else drawing


def _series(values: Sequence[float]) -> str:
    return f"[{', '.join(f'{value:g}' for value in values)}]"


def _span(files: Sequence[FileResult]) -> tuple[float, float]:
    """When the first event was, and how many seconds lie between it and the end of the last."""
    events = [event for file in files for event in file.timeline]
    start = min((event.at for event in events), default=0.0)
    return start, max((event.at + event.seconds for event in events), default=0.0) - start


def _few(events: Sequence[TimelineEvent]) -> Sequence[TimelineEvent]:
    """Requests in a row as one bar; where that is still too much, everything but the requests."""
    few: list[TimelineEvent] = []
    for is_request, group in groupby(events, lambda event: event.kind in _REQUEST):
        neighbours = list(group)
        few += _joined(neighbours) if is_request and not _shows_waits(neighbours) else neighbours
    if len(few) > 1 and few[-1].kind == "done" and few[-2].kind in _REQUEST:
        few[-2:] = [replace(few[-2], text=f"{few[-2].text}, {few[-1].text}")]
    if len(few) > MAX_CHARTED:
        few = [event for event in few if event.kind not in _REQUEST]
    half = MAX_CHARTED // 2
    return few if len(few) <= MAX_CHARTED else [*few[:half], *few[-half:]]


def _shows_waits(events: Sequence[TimelineEvent]) -> bool:
    """Whether requests in a row are few enough for a bar each, and some were waited for."""
    waited_for = any(event.kind == "answer" for event in events)
    return waited_for and len(events) <= MAX_APART


def _joined(events: Sequence[TimelineEvent]) -> Sequence[TimelineEvent]:
    """Several requests as one event, of which a part was waiting; one with its answer as it is."""
    requests = sum(event.kind == "sent" for event in events)
    if requests == 1:
        return events
    first, last = events[0], events[-1]
    text = f"in {requests} requests"
    waited = sum(event.seconds for event in events if event.kind == "answer")
    if waited:
        text += f", {waited:.1f} s of it waiting for answers"
    seconds = last.at + last.seconds - first.at
    size = sum(event.bytes for event in events)
    return [TimelineEvent(first.at, "sent", text, seconds, size)]


def _words(outside: str) -> str:
    """What Mermaid takes for text, and for nothing else."""
    words = ", ".join(
        part.strip() for part in re.split("[:;]+", outside.replace("…", "...").replace("`", ""))
    )
    return re.sub(r"[^\w .,()/+-]+", "_", words).strip(" ,") or "_"
