"""The drawings of the summary, in Mermaid: when which bytes travelled, and what was measured.

Mermaid has no escape that works everywhere, so only letters, digits and a few signs are kept of
text from outside.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from uploader.outputs.markdown import code, short_names, text
from uploader.redaction import Redactor
from uploader.results import FileResult, TimelineEvent
from uploader.services.base import Chart
from uploader.text import capitalise, format_size

MAX_NAME = 28  # characters of a file's name
# files in the timeline, and events of one file, its first and its last ones
MAX_CHARTED = 12
QUIET = 30.0  # seconds; a shorter run in which nothing unusual happened has no timeline
MAX_TICKS = 10  # on its axis
# Pixels, as wide as the page: Mermaid would take the width of the element around it, and a closed
# fold has none.
TIMELINE_WIDTH = 948
MAX_PATH = 2000  # characters of a path from outside
MAX_APART = 6  # requests and answers in a row up to which each has a bar
MAX_LABEL = 100  # characters in or beside a bar, or of the name of a line
MAX_NOTE = 300  # characters of the sentence below a chart
# The labels of the empty places at the edges. They have to differ, since Mermaid takes places with
# the same label for one. It trims labels, but not a braille pattern without dots.
_EDGES = (" ", "\u2800")
BAR_CELLS = 20  # the length of a bar that is drawn with characters

# The units of the timeline: from how many seconds on each is used, its seconds, and its name.
_UNITS = (
    (300.0, 60.0, "min"),
    (2.0, 1.0, "s"),
    (0.0, 0.001, "ms"),
)
# By kind: the tags of the bar, and how the words in or beside it begin. An active task is blue, one
# that is done is grey, and a critical one is red: `_TIMELINE_COLOURS`.
_EVENTS = {
    "sent": ("active, ", "{size} sent "),
    "answer": ("done, ", "answer after {seconds:.1f} s "),
    "wait": ("done, ", "waited {seconds:.1f} s, "),
    "resumed": ("milestone, ", "resumed "),
    "restarted": ("crit, milestone, ", "starting over, "),
    "done": ("done, milestone, ", ""),
    "interrupted": ("done, milestone, ", "stopped, "),
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
# Mermaid gives words beside a bar the colour of those inside. This gives them the colour of the
# theme instead, which can be read on the page in light and in dark mode.
_TIMELINE_CSS = (
    ".taskTextOutsideRight.taskTextOutsideRight, .taskTextOutsideLeft.taskTextOutsideLeft "
    "{ fill: inherit !important; }"
)
_TIMELINE_LEGEND = (
    ("blue: sending", ("sent",)),
    ("grey: waiting", ("answer", "wait")),
    ("red: failed, or starting over", ("failed", "restarted")),
)
# The bars that are within the limits and those that are over; then the lines, with the squares in
# which the legend shows their colours. There is no grey square.
_BAR_COLOURS = ("#8c959f", "#cf222e")
_LINE_COLOURS = (
    ("#fb8500", "🟧"),
    ("#a371f7", "🟪"),
    ("#1f75cb", "🟦"),
    ("#2da44e", "🟩"),
    ("#9a6700", "🟫"),
)
_BELOW_AXIS = -1.0  # for a bar that is not there: Mermaid gives one of 0 some height


def timeline(files: Sequence[FileResult], redactor: Redactor) -> str:
    """Return a Mermaid chart of the files with the most events, and the notes on it; "" if there is
    nothing to show.
    """
    candidates = _files_to_chart(files)
    if not candidates:
        return ""
    shown = _most_eventful(candidates)
    parts = [_chart(shown, redactor)]
    legend = _legend(shown)
    if legend:
        parts.append(legend)
    for file in shown:
        if file.resumed_from and file.bytes:
            bar = _of_two_runs(file, redactor)
            parts.append(bar)
    if len(candidates) > len(shown):
        parts.append(
            f"The {len(shown)} files with the most events, of {len(candidates)}."
        )
    return "\n\n".join(parts)


def _files_to_chart(files: Sequence[FileResult]) -> list[FileResult]:
    """Return the files in which something unusual happened. If there are none, return all with a
    timeline if the run took at least `QUIET`, else none.
    """
    timed = [file for file in files if file.timeline]
    eventful = [file for file in timed if _eventful(file.timeline)]
    if eventful:
        return eventful
    _, seconds = _span(timed)
    if seconds < QUIET:
        return []
    return timed


def _most_eventful(files: Sequence[FileResult]) -> list[FileResult]:
    """Return at most `MAX_CHARTED` of the files, in the same order: failures count most, then
    retries, then time.
    """

    def weight(file: FileResult) -> tuple[bool, int, float]:
        return not file.error, -file.retries, -file.seconds

    by_weight = sorted(files, key=weight)
    heaviest = by_weight[:MAX_CHARTED]
    chosen = {id(file) for file in heaviest}
    return [file for file in files if id(file) in chosen]


def _legend(files: Sequence[FileResult]) -> str:
    """Return what the colours in the timeline mean."""
    kinds: set[str] = set()
    for file in files:
        for event in file.timeline:
            kinds.add(event.kind)
    meanings = []
    for words, meant in _TIMELINE_LEGEND:
        if kinds.intersection(meant):
            meanings.append(words)
    return capitalise(" · ".join(meanings))


def _of_two_runs(file: FileResult, redactor: Redactor) -> str:
    """Return a bar that shows how much of a resumed file each of the two runs sent."""
    path = redactor.one_line(file.path, MAX_PATH)
    (name,) = short_names([path], MAX_NAME)
    stored = file.resumed_from or 0
    share = stored / file.bytes
    shares = [share, 1 - share]
    bar = shared_bar(shares, "░▓")
    sent_before = format_size(stored)
    sent_now = format_size(file.bytes_uploaded)
    legend = f"░ {sent_before} sent by an earlier run · ▓ {sent_now} by this one"
    return f"{code(name)} `{bar}` {legend}"


def shared_bar(shares: Sequence[float], shades: str) -> str:
    """Return a bar of characters with a part in another shade for each of the shares, which add up
    to 1. Every part is at least one character wide; the last one takes what is left.
    """
    count = len(shares)
    bar = ""
    for number, share in enumerate(shares[:-1]):
        others = count - number - 1  # each of them needs a character
        free = BAR_CELLS - len(bar) - others
        cells = round(share * BAR_CELLS)
        cells = max(cells, 1)
        cells = min(cells, free)
        bar += shades[number] * cells
    last_shade = shades[count - 1]
    return bar.ljust(BAR_CELLS, last_shade)


def _eventful(events: Sequence[TimelineEvent]) -> bool:
    """Return whether something unusual happened. An upload without interruption is usual, and so is
    a failure before anything else.
    """
    kinds = [event.kind for event in events]
    if kinds == ["failed"]:
        return False
    usual = {"sent", "answer", "done"}
    return not usual.issuperset(kinds)


def _chart(files: Sequence[FileResult], redactor: Redactor) -> str:
    """Return the timeline as a Gantt chart.

    Mermaid's axis has times of day in the reader's time zone, but none since the start. So the
    times are scaled: one unit of the axis is one second for Mermaid.
    """
    paths = []
    for file in files:
        path = redactor.one_line(file.path, MAX_PATH)
        paths.append(_words(path))
    labels = short_names(paths, MAX_NAME)
    settings = _timeline_settings(labels)
    start, duration = _span(files)
    seconds, unit = _unit(duration)
    step = 1000 * _step(duration / seconds)
    lines = [
        "```mermaid",
        _init(settings),
        "gantt",
        "    dateFormat x",
        f"    axisFormat %s {unit}",
        f"    tickInterval {step}millisecond",
        "    todayMarker off",
    ]
    for label, file in zip(labels, files, strict=True):
        lines.append(f"    section {label}")
        for event in _few(file.timeline):
            tags, _ = _EVENTS[event.kind]
            task = _task(event, redactor)
            bar_start, bar_end = _scaled(event, start, seconds)
            lines.append(f"    {task} :{tags}{bar_start}, {bar_end}")
    lines.append("```")
    return "\n".join(lines)


def _scaled(event: TimelineEvent, start: float, seconds: float) -> tuple[int, int]:
    """Return where an event's bar starts and ends, in Mermaid's milliseconds since `start`. A unit
    of the axis lasts `seconds`, and is one second for Mermaid.
    """
    since_start = event.at - start
    bar_start = round(1000 * since_start / seconds)
    length = round(1000 * event.seconds / seconds)
    length = max(1, length)
    return bar_start, bar_start + length


def _timeline_settings(labels: Sequence[str]) -> dict[str, Any]:
    """Return Mermaid's settings for the timeline, which has the labels of its files on its left."""
    longest = max(map(len, labels))
    return {
        "gantt": {
            "leftPadding": 24 + 7 * longest,
            "rightPadding": 24,
            "useWidth": TIMELINE_WIDTH,
            "barHeight": 24,
            "fontSize": 12,
            "sectionFontSize": 12,
        },
        "themeVariables": _TIMELINE_COLOURS,
        "themeCSS": _TIMELINE_CSS,
    }


def _init(settings: Mapping[str, Any]) -> str:
    """Return the line with which a Mermaid chart begins."""
    return f"%%{{init: {json.dumps(settings)}}}%%"


def _unit(duration: float) -> tuple[float, str]:
    """Return the unit of the axis for a duration in seconds: its seconds, and its name."""
    for least, seconds, name in _UNITS:
        if duration >= least:
            return seconds, name
    raise AssertionError(duration)


def _step(length: float) -> int:
    """Return the distance of the ticks of an axis of this length, both in units: 1, 2, 5, 10, …"""
    power = 1
    while True:
        for digit in (1, 2, 5):
            distance = digit * power
            if length <= MAX_TICKS * distance:
                return distance
        power *= 10


def _task(event: TimelineEvent, redactor: Redactor) -> str:
    """Return what is written in or beside the bar of an event."""
    _, begins = _EVENTS[event.kind]
    begin = begins.format(
        size=format_size(event.bytes),
        seconds=event.seconds,
    )
    label = redactor.one_line(event.text, MAX_LABEL)
    words = _words(begin + label)
    return words.replace(" ,", ",")


def bars(chart: Chart, redactor: Redactor) -> str:
    """Return a Mermaid chart of percentages, and below it what its colours mean."""
    has_lines = len(chart.lines) > 0
    settings = _bars_settings(has_lines=has_lines)
    title = redactor.one_line(chart.title, 140)
    title = _words(title)
    places = ", ".join(_places(chart, redactor))
    lines = [
        "```mermaid",
        _init(settings),
        "xychart-beta",
        f'    title "{title}"',
        f"    x-axis [{places}]",
        f"    y-axis 0 --> {_height(chart):.4g}",
    ]
    lines += [f"    {series}" for series in _series_of(chart)]
    lines.append("```")
    parts = ["\n".join(lines)]
    legend = _bars_legend(chart, redactor)
    if legend:
        parts.append(legend)
    if chart.note:
        note = redactor.one_line(chart.note, MAX_NOTE)
        parts.append(text(note))
    return "\n\n".join(parts)


def _bars_settings(*, has_lines: bool) -> dict[str, Any]:
    """Return Mermaid's settings for a chart of bars, whose background is that of the page."""
    height = 260
    if has_lines:
        height = 280
    colours = list(_BAR_COLOURS)
    colours += [colour for colour, _ in _LINE_COLOURS]
    palette = ", ".join(colours)
    return {
        "xyChart": {
            "width": 720,
            "height": height,
            "xAxis": {"showTick": False},  # the edges have no label
        },
        "themeVariables": {
            "xyChart": {
                "backgroundColor": "transparent",
                "plotColorPalette": palette,
            }
        },
    }


def _places(chart: Chart, redactor: Redactor) -> list[str]:
    """Return the labels of the x-axis, each in quotes.

    An empty place on either side takes the lines to the edges, so that even a single day has a
    line.
    """
    first_edge, last_edge = _EDGES
    places = [first_edge]
    for label in chart.labels:
        shown = redactor.one_line(label, MAX_LABEL)
        places.append(_words(shown))
    places.append(last_edge)
    return [f'"{place}"' for place in places]


def _height(chart: Chart) -> float:
    """Return the upper end of the y-axis, in percent."""
    highest = max(chart.bars)
    for _, values in _coloured_lines(chart):
        highest = max(highest, *values)
    if highest == 0:
        return 1.0
    return 1.1 * highest


def _coloured_lines(chart: Chart) -> Sequence[tuple[str, Sequence[float]]]:
    """Return the lines of a chart, at most as many as there are colours."""
    return chart.lines[: len(_LINE_COLOURS)]


def _series_of(chart: Chart) -> list[str]:
    """Return the series of a chart. Mermaid has one colour for all bars of a series, so those that
    are over a limit are a series of their own.
    """
    within = [_BELOW_AXIS]
    over = [_BELOW_AXIS]
    for rate, is_over in zip(chart.bars, chart.over, strict=True):
        if is_over:
            within.append(_BELOW_AXIS)
            over.append(rate)
        else:
            within.append(rate)
            over.append(_BELOW_AXIS)
    within.append(_BELOW_AXIS)
    over.append(_BELOW_AXIS)
    series = [
        f"bar {_values(within)}",
        f"bar {_values(over)}",
    ]
    for _, values in _coloured_lines(chart):
        first = values[0]
        last = values[-1]
        up_to_edges = [first, *values, last]
        series.append(f"line {_values(up_to_edges)}")
    return series


def _bars_legend(chart: Chart, redactor: Redactor) -> str:
    """Return what the colours of a chart mean."""
    meanings = []
    if any(chart.over):
        meanings.append("Bars: grey within the limits, red over one")
    for line, line_colour in zip(chart.lines, _LINE_COLOURS, strict=False):
        name, _ = line
        _, square = line_colour
        label = redactor.one_line(name, MAX_LABEL)
        meanings.append(f"{square} {text(label)}")
    return " · ".join(meanings)


def _values(values: Sequence[float]) -> str:
    numbers = [f"{value:g}" for value in values]
    joined = ", ".join(numbers)
    return f"[{joined}]"


def _span(files: Sequence[FileResult]) -> tuple[float, float]:
    """Return when the first event began, and the seconds from then to the end of the last one."""
    begins: list[float] = []
    ends: list[float] = []
    for file in files:
        for event in file.timeline:
            end = event.at + event.seconds
            begins.append(event.at)
            ends.append(end)
    if not begins:
        return 0.0, 0.0
    start = min(begins)
    return start, max(ends) - start


def _few(events: Sequence[TimelineEvent]) -> Sequence[TimelineEvent]:
    """Return the events that have a bar: many requests in a row are joined. If more than
    `MAX_CHARTED` remain, the requests are left out, and then what lies in the middle.
    """
    few: list[TimelineEvent] = []
    for is_request, group in groupby(events, _is_request):
        neighbours = list(group)
        if is_request and not _shows_waits(neighbours):
            few += _join(neighbours)
        else:
            few += neighbours
    if len(few) > 1:
        request, done = few[-2:]
        if _is_request(request) and done.kind == "done":
            both = f"{request.text}, {done.text}"
            joined = replace(request, text=both)
            few[-2:] = [joined]
    if len(few) > MAX_CHARTED:
        few = [event for event in few if not _is_request(event)]
    if len(few) > MAX_CHARTED:
        half = MAX_CHARTED // 2
        first = few[:half]
        last = few[-half:]
        few = first + last
    return few


def _is_request(event: TimelineEvent) -> bool:
    return event.kind in _REQUEST


def _shows_waits(events: Sequence[TimelineEvent]) -> bool:
    """Return whether requests in a row are few enough for a bar each, and some had to be waited
    for.
    """
    if len(events) > MAX_APART:
        return False
    kinds = [event.kind for event in events]
    return "answer" in kinds


def _join(events: Sequence[TimelineEvent]) -> Sequence[TimelineEvent]:
    """Return several requests as one event, which says how long they waited for answers. A single
    request and its answer are returned unchanged.
    """
    requests = 0
    waited = 0.0
    size = 0
    for event in events:
        size += event.bytes
        if event.kind == "sent":
            requests += 1
        else:
            waited += event.seconds
    if requests == 1:
        return events
    text = f"in {requests} requests"
    if waited:
        text += f", {waited:.1f} s of it waiting for answers"
    first = events[0]
    last = events[-1]
    end = last.at + last.seconds
    joined = TimelineEvent(
        at=first.at,
        kind="sent",
        text=text,
        seconds=end - first.at,
        bytes=size,
    )
    return [joined]


def _words(outside: str) -> str:
    """Return the text with only such characters as Mermaid takes for text; `_` if none is left."""
    plain = outside.replace("…", "...")
    plain = plain.replace("`", "")
    parts = [part.strip() for part in re.split("[:;]+", plain)]
    words = ", ".join(parts)
    words = re.sub(r"[^\w .,()/+-]+", "_", words)
    words = words.strip(" ,")
    if not words:
        return "_"
    return words
