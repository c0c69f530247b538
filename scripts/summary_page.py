"""Reads the job summary's Markdown, as far as `uploader/outputs/summary.py` writes it, and shows it on a terminal.

It knows headings, lines of text, links, tables, quotes, a Gantt chart and folded details, and nothing else.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from uploader.outputs.timeline import LEGEND

BAR = 40  # characters of the longest time
STYLES = {"sent": "34", "wait": "33", "failed": "31"}  # blue, yellow, red (ECMA-48, SGR)


@dataclass(frozen=True)
class Task:
    """One bar of the chart: its file, its words, what it is a bar of, and from when to when, in units of the axis."""

    section: str
    words: str
    kind: str
    begin: float
    end: float


@dataclass(frozen=True)
class Chart:
    """The chart, the unit of its axis, and how many of it lie between two ticks."""

    tasks: tuple[Task, ...]
    unit: str
    step: int

    @property
    def last(self) -> float:
        """When the last bar ends."""
        return max(task.end for task in self.tasks)


def blocks(markdown: str) -> Iterator[str]:
    """Stretches between blank lines; what is folded away is one block, its title behind a triangle."""
    folded = re.sub(r"<details><summary>(.*?)</summary>.*?</details>", r"▸ \1", markdown, flags=re.DOTALL)
    yield from (block for block in re.split(r"\n\s*\n", folded.strip()) if block)


def table(block: str) -> list[list[str]]:
    """The rows of a table, the header first, each cell as a reader sees it."""
    rows = [row for row in block.splitlines() if not row.startswith("| ---")]
    return [[plain(cell.strip()) for cell in row.strip("|").split("|")] for row in rows]


def plain(inline: str) -> str:
    """Words without the marks of Markdown."""
    words = re.sub(r"\[([^]]+)\]\([^)]*\)|<!-- -->|</?code>", r"\1", inline)
    return html.unescape(words.replace("`", "").replace("**", ""))


def chart(block: str) -> Chart:
    """A Gantt chart as `uploader/outputs/timeline.py` writes it."""
    found = re.search(r"axisFormat %s (\w+)\n\s+tickInterval (\d+)000millisecond", block)
    if found is None:
        raise ValueError("no chart of the job summary")
    tasks, section = [], ""
    for line in block.splitlines():
        if task := re.fullmatch(r"\s+(.+) :([a-z, ]*?)(\d+), (\d+)", line):
            kind = "failed" if "crit" in task[2] else "sent" if "done" in task[2] else "wait"
            tasks.append(Task(section, task[1], kind, int(task[3]) / 1000, int(task[4]) / 1000))
        section = line.removeprefix("    section ") if line.startswith("    section ") else section
    return Chart(tuple(tasks), found[1], int(found[2]))


def on_terminal(markdown: str, *, color: bool) -> str:
    """The page for a terminal: no mark of Markdown or HTML is left, and nothing that is folded away."""
    left_out = ("▸ ",) if color else ("▸ ", LEGEND)
    shown = (_shown(block, color) for block in blocks(markdown) if not block.startswith(left_out))
    return "\n\n".join(shown)


def _shown(block: str, color: bool) -> str:
    if block.startswith("#"):
        return _styled(plain(block.lstrip("# ")), "1", color)
    if block.startswith("|"):
        return _aligned(table(block), color)
    if block.startswith("```mermaid"):
        return _drawn(chart(block), color)
    with_addresses = re.sub(r"\[([^]]+)\]\(<([^>]*)>\)", r"\1 \2", block)
    lines = (line.removesuffix("<br>") for line in with_addresses.splitlines())
    return "\n".join(plain(f"  {line[2:]}" if line.startswith("> ") else line) for line in lines)


def _aligned(rows: Sequence[Sequence[str]], color: bool) -> str:
    """Columns as wide as their longest cell; one that is empty below its title is left out."""
    columns = [column for column in zip(*rows, strict=True) if any(column[1:])]
    widths = [max(map(len, column)) for column in columns]
    lines = (
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in zip(*columns, strict=True)
    )
    head, *body = lines
    return "\n".join((_styled(head, "1", color), *body))


def _drawn(drawing: Chart, color: bool) -> str:
    """A line for each bar: when it begins, how long it is, what it says; the file's name above its bars."""
    lines, section = [], ""
    for task in drawing.tasks:
        if task.section != section:
            section = task.section
            lines.append(section)
        begin, end = (round(BAR * moment / drawing.last) for moment in (task.begin, task.end))
        bar = " " * begin + "█" * max(end - begin, 1)
        lines.append(f"  {task.begin:6.1f} {drawing.unit} {_styled(bar, STYLES[task.kind], color)} {task.words}")
    return "\n".join(lines)


def _styled(text: str, style: str, color: bool) -> str:
    return f"\x1b[{style}m{text}\x1b[0m" if color else text
