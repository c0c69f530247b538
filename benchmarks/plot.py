"""Draws the large-file figures as bars: an SVG without any library, readable in light and in dark pages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

from benchmarks.contestants import OURS

_WIDTH, _NAMES, _BARS, _ROW, _TOP = 900, 290, 240, 26, 72  # pixels
_GAP = _WIDTH - _NAMES - 2 * _BARS
_STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#24292f}.title{font-weight:600}.ours{font-weight:700}"
    "rect{fill:#8c959f}rect.ours{fill:#0969da}"
    "@media(prefers-color-scheme:dark){text{fill:#e6edf3}rect{fill:#6e7681}rect.ours{fill:#58a6ff}}"
)


def svg(large: Mapping[str, Any]) -> str:
    """Two columns of bars over TLS: throughput in MB/s, and processor seconds for a GiB."""
    found: Mapping[str, Mapping[str, float]] = large["https"]
    height = _TOP + _ROW * len(found) + 12
    names = "".join(_text(0, row, name, name) for row, name in enumerate(found))
    speeds = {name: large["size"] / one["seconds"] / 1e6 for name, one in found.items()}
    costs = {name: one["cpu"] for name, one in found.items()}
    columns = [
        *_column(_NAMES, "Throughput over TLS, MB/s", "more is better", speeds, "{:.0f}"),
        *_column(_NAMES + _BARS + _GAP // 2, "Processor seconds per GiB", "less is better", costs, "{:.2f}"),
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img" '
        f'aria-label="Throughput and processor time">\n<style>{_STYLE}</style>\n{names}{"".join(columns)}</svg>\n'
    )


def _column(left: int, title: str, better: str, values: Mapping[str, float], form: str) -> Iterator[str]:
    yield f'<text class="title" x="{left}" y="22">{escape(title)}</text>\n'
    yield f'<text x="{left}" y="40">{escape(better)}</text>\n'
    longest = max(values.values())
    for row, (name, value) in enumerate(values.items()):
        width = (_BARS - 60) * value / longest
        mark = ' class="ours"' if name == OURS else ""
        yield f'<rect{mark} x="{left}" y="{_TOP + _ROW * row - 14}" width="{width:.1f}" height="18" rx="2"/>\n'
        yield _text(left + int(width) + 6, row, form.format(value), name)


def _text(left: int, row: int, text: str, name: str) -> str:
    mark = ' class="ours"' if name == OURS else ""
    return f'<text{mark} x="{left}" y="{_TOP + _ROW * row}">{escape(text)}</text>\n'
