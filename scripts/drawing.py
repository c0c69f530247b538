"""Draws a terminal that scrolls, and a page of the job summary's Markdown, as SVG by the standard library alone.

What it was drawn from is kept in the picture, in `<metadata>`.
"""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from scripts.summary_page import Chart, Task, blocks, chart, plain, table
from uploader.outputs.timeline import COLOURS as BARS

ROWS, COLUMNS, LINE = 26, 112, 18  # of the terminal; pixels
PAUSE = 10.0  # seconds for the verdict, before a recording begins again
MONO = "ui-monospace,SFMono-Regular,Menlo,Consolas,monospace"
SANS = "-apple-system,BlinkMacSystemFont,'Segoe UI','Noto Sans',Helvetica,Arial,sans-serif"
COLOURS = (("===", "#79c0ff"), ("  yes", "#7ee787"), ("  | ▸", "#d2a8ff"), ("  ---", "#8b949e"), ("$", "#ffffff"))
WIDTH = 900  # pixels of the page
CHART = "#eaecef"  # behind the bars
HALO = f"paint-order:stroke;stroke:{CHART};stroke-width:4px"  # keeps the lines of the axis out of the words


def terminal(lines: Sequence[tuple[float, str]], source: str) -> str:
    """A recording: each line with the second in which it came. It fills and scrolls like a terminal, then begins again.

    Where nothing moves, its first screen stands.
    """
    height, width = ROWS * LINE + 24, COLUMNS * 7.8 + 32
    whole = lines[-1][0] + PAUSE
    keys = ";".join(f"{at / whole:.5f}" for at, _ in lines)
    places = ";".join(f"0 {min(ROWS - number, 0) * LINE}" for number in range(1, len(lines) + 1))
    texts = (
        f'<text x="16" y="{number * LINE + 26}" fill="{_colour(line)}">{_escaped(_fitting(line))}'
        f"{_appearance(at / whole, whole) if 0 < number < ROWS else ''}</text>"
        for number, (at, line) in enumerate(lines)
    )
    return _svg(
        width,
        height,
        source,
        '<rect width="100%" height="100%" rx="8" fill="#0d1117"/>',
        f'<clipPath id="screen"><rect y="12" width="100%" height="{height - 20}"/></clipPath>',
        "<style>text{white-space:pre}</style>",  # Chromium's way to keep blanks; others have the attribute below
        f'<g clip-path="url(#screen)" font-family="{MONO}" font-size="13" xml:space="preserve"><g>',
        f'<animateTransform attributeName="transform" type="translate" calcMode="discrete" dur="{whole:.2f}s" '
        f'repeatCount="indefinite" keyTimes="{keys}" values="{places}"/>',
        *texts,
        "</g></g>",
    )


def page(markdown: str) -> str:
    """The summary as a reader sees it."""
    drawing = _Page()
    for block in blocks(markdown):
        drawing.add(block)
    return _svg(
        WIDTH,
        drawing.y + 16,
        markdown,
        f'<rect x=".5" y=".5" width="{WIDTH - 1}" height="{drawing.y + 15}" rx="8" fill="#fff" stroke="#d0d7de"/>',
        f'<g font-family="{SANS}" font-size="13" fill="#1f2328">',
        *drawing.parts,
        "</g>",
    )


def source_of(svg: str) -> str:
    """What a picture was drawn from."""
    found = re.search(r"<metadata>(.*?)</metadata>", svg, re.DOTALL)
    return html.unescape(found[1]) if found else ""


@dataclass
class _Page:
    """A page that grows downwards; `y` is the pixel where the next block begins."""

    y: float = 16
    parts: list[str] = field(default_factory=list)

    def add(self, block: str) -> None:
        """Draws one block."""
        if block.startswith("#"):
            self._text(block.lstrip("# "), size=20 if block.startswith("## ") else 15, weight=600)
        elif block.startswith("|"):
            self._table(table(block))
        elif block.startswith("```mermaid"):
            self._chart(chart(block))
        else:
            for line in block.splitlines():
                self._text(plain(line.removeprefix("> ").removesuffix("<br>")))
        self.y += 12

    def _text(self, text: str, size: int = 13, weight: int = 400) -> None:
        self.y += size + 4
        self._at(24, self.y, text, size=size, weight=weight)

    def _at(self, x: float, y: float, text: str, **style: object) -> None:
        names = {"size": "font-size", "weight": "font-weight", "anchor": "text-anchor"}
        attributes = "".join(f' {names.get(key, key)}="{value}"' for key, value in style.items() if value)
        self.parts.append(f'<text x="{x:.0f}" y="{y:.0f}"{attributes}>{_escaped(text)}</text>')

    def _table(self, rows: Sequence[Sequence[str]]) -> None:
        """Columns as wide as their longest cell."""
        widths = [max(len(row[column]) for row in rows) * 7.4 + 22 for column in range(len(rows[0]))]
        for number, row in enumerate(rows):
            x = 24.0
            for cell, width in zip(row, widths, strict=True):
                fill = "#f6f8fa" if number == 0 else "#fff"
                box = f'<rect x="{x:.1f}" y="{self.y}" width="{width:.1f}" height="30" fill="{fill}" stroke="#d0d7de"/>'
                self.parts.append(box)
                self._at(x + 11, self.y + 20, cell, weight=600 if number == 0 else None)
                x += width
            self.y += 30

    def _chart(self, chart: Chart) -> None:
        """A bar for each moment, from its beginning to its end, with its words beside it, over an axis from 0 on."""
        left, top = max(len(task.section) for task in chart.tasks) * 7 + 44, self.y + 6
        scale = (WIDTH - left - 40) / chart.last
        bottom = top + 22 * len(chart.tasks)
        self.parts.append(f'<rect x="24" y="{top}" width="{WIDTH - 48}" height="{bottom - top}" fill="{CHART}"/>')
        for tick in range(0, int(chart.last) + 1, chart.step):
            x = left + tick * scale
            self.parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{top}" y2="{bottom}" stroke="#8b949e"/>')
            self._at(x, bottom + 14, f"{tick} {chart.unit}", size=11, fill="#57606a", anchor="middle")
        for number, task in enumerate(chart.tasks):
            self._bar(task, left, top + 22 * number, scale)
            if number == 0 or chart.tasks[number - 1].section != task.section:
                self._at(34, top + 22 * number + 15, task.section, size=12)
        self.y = bottom + 20

    def _bar(self, task: Task, left: float, y: float, scale: float) -> None:
        """Its words stand on the side where there is room."""
        begin, end = left + task.begin * scale, left + max(task.end * scale, task.begin * scale + 5)
        size = f'width="{end - begin:.1f}" height="16" rx="3" fill="{BARS[task.kind]}"'
        self.parts.append(f'<rect x="{begin:.1f}" y="{y + 3}" {size}/>')
        before = end + len(task.words) * 6.5 > WIDTH - 30
        x, anchor = (begin - 6, "end") if before else (end + 6, None)
        if (end - begin) > len(task.words) * 6.5:
            x, anchor = (begin + end) / 2, "middle"
        self._at(x, y + 15, task.words, size=12, anchor=anchor, style=None if anchor == "middle" else HALO)


def _svg(width: float, height: float, source: str, *parts: str) -> str:
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}">'
    return "\n".join((head, f"<metadata>{_escaped(source)}</metadata>", *parts, "</svg>")) + "\n"


def _fitting(line: str) -> str:
    """A line that is too long for the terminal ends in an ellipsis."""
    return line if len(line) <= COLUMNS else f"{line[: COLUMNS - 1]}…"


def _escaped(text: str) -> str:
    return html.escape(text, quote=False)


def _appearance(moment: float, whole: float) -> str:
    """Hides a line of the first screen until its moment; those below it are out of sight until they are scrolled up."""
    return (
        f'<animate attributeName="visibility" values="hidden;visible" keyTimes="0;{moment:.5f}" calcMode="discrete" '
        f'dur="{whole:.2f}s" repeatCount="indefinite"/>'
    )


def _colour(line: str) -> str:
    return next((colour for start, colour in COLOURS if line.startswith(start)), "#c9d1d9")
