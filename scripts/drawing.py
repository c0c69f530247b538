"""Draws a terminal that scrolls, and a page of the job summary's Markdown, as SVG by the standard library alone.

The Markdown is what `uploader/outputs/summary.py` writes and no more: headings, lines of text, links, tables, quotes, a
Gantt chart, folded details. What it was drawn from is kept in the picture, in `<metadata>`.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

ROWS, COLUMNS, LINE = 26, 112, 18  # of the terminal; pixels
PAUSE = 6.0  # seconds before a recording begins again
MONO = "ui-monospace,SFMono-Regular,Menlo,Consolas,monospace"
SANS = "-apple-system,BlinkMacSystemFont,'Segoe UI','Noto Sans',Helvetica,Arial,sans-serif"
COLOURS = (("===", "#79c0ff"), ("  yes", "#7ee787"), ("  | ▸", "#d2a8ff"), ("  ---", "#8b949e"), ("$", "#ffffff"))
BARS = {"active": "#2da44e", "crit": "#cf222e", "milestone": "#8250df", "done, milestone": "#1a7f37"}
WIDTH = 900  # pixels of the page


def terminal(lines: Sequence[tuple[float, str]], source: str) -> str:
    """A recording: each line with the second in which it came. It scrolls as a terminal does, and begins again."""
    height, width = ROWS * LINE + 24, COLUMNS * 7.8 + 32
    whole = lines[-1][0] + PAUSE
    keys = ";".join(f"{at / whole:.5f}" for at, _ in lines)
    places = ";".join(f"0 {(ROWS - number) * LINE}" for number in range(1, len(lines) + 1))
    texts = (
        f'<text x="16" y="{number * LINE + 26}" fill="{_colour(line)}">{_escaped(line[:COLUMNS])}</text>'
        for number, (_, line) in enumerate(lines)
    )
    return _svg(
        width,
        height,
        source,
        '<rect width="100%" height="100%" rx="8" fill="#0d1117"/>',
        f'<clipPath id="screen"><rect y="8" width="100%" height="{height - 16}"/></clipPath>',
        f'<g clip-path="url(#screen)" font-family="{MONO}" font-size="13" xml:space="preserve"><g>',
        f'<animateTransform attributeName="transform" type="translate" calcMode="discrete" dur="{whole:.2f}s" '
        f'repeatCount="indefinite" keyTimes="{keys}" values="{places}"/>',
        *texts,
        "</g></g>",
    )


def page(markdown: str) -> str:
    """The summary as a reader sees it."""
    drawing = _Page()
    for block in _blocks(markdown):
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


def _blocks(markdown: str) -> Iterator[str]:
    """Stretches between blank lines; what is folded away is one block, its title."""
    folded = re.sub(r"<details><summary>(.*?)</summary>.*?</details>", r"▸ \1", markdown, flags=re.DOTALL)
    yield from (block for block in re.split(r"\n\s*\n", folded.strip()) if block)


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
            self._table([_cells(row) for row in block.splitlines() if not row.startswith("| ---")])
        elif block.startswith("```mermaid"):
            self._chart(block.splitlines())
        else:
            for line in block.splitlines():
                self._text(_plain(line.removeprefix("> ").removesuffix("<br>")))
        self.y += 12

    def _text(self, text: str, size: int = 13, weight: int = 400) -> None:
        self.y += size + 4
        self._at(24, self.y, text, size=size, weight=weight)

    def _at(self, x: float, y: float, text: str, **style: object) -> None:
        given = {"font-size": style.get("size"), "font-weight": style.get("weight"), "fill": style.get("fill")}
        attributes = "".join(f' {name}="{value}"' for name, value in given.items() if value)
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

    def _chart(self, lines: Sequence[str]) -> None:
        """A bar for each moment, from its beginning to its end, with its words beside it."""
        tasks = [match for line in lines if (match := re.fullmatch(r"\s+(.+) :(.+), (\d+), (\d+)", line))]
        last = max(int(task[4]) for task in tasks)
        for task in tasks:
            begin, end = (int(task[group]) / last * (WIDTH - 380) for group in (3, 4))
            colour = BARS.get(task[2], "#57606a")
            bar = f'<rect x="{begin + 24:.1f}" y="{self.y + 4}" width="{max(end - begin, 4):.1f}" height="14" rx="3"'
            self.parts.append(f'{bar} fill="{colour}"/>')
            self._at(max(end, begin + 4) + 32, self.y + 15, task[1], size=12, fill="#57606a")
            self.y += 20


def _svg(width: float, height: float, source: str, *parts: str) -> str:
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}">'
    return "\n".join((head, f"<metadata>{_escaped(source)}</metadata>", *parts, "</svg>")) + "\n"


def _cells(row: str) -> list[str]:
    return [_plain(cell.strip()) for cell in row.strip("|").split("|")]


def _plain(inline: str) -> str:
    """Words without the marks of Markdown."""
    return html.unescape(re.sub(r"\[([^]]+)\]\([^)]*\)", r"\1", inline).replace("`", "").replace("**", ""))


def _escaped(text: str) -> str:
    return html.escape(text, quote=False)


def _colour(line: str) -> str:
    return next((colour for start, colour in COLOURS if line.startswith(start)), "#c9d1d9")
