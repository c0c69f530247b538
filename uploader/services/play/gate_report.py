"""What the gate measured, as a table with a bar for each day and version, for the summary and the log."""

from __future__ import annotations

from collections.abc import Sequence

from uploader.services.base import Section
from uploader.services.play.gate import NAMES, Judged, percent
from uploader.text import capitalised

BAR = 16  # characters of the longest bar


def section(judged: Sequence[Judged]) -> Section:
    """One row for each version, day and limit; every bar is on one scale, on which `|` marks the limit."""
    header = ("Day", "Version", "Measured", "Rate", "At least", "Limit", "Users", "Chart", "Finding")
    top = max((max(one.row.rate, one.bound or 0.0) for one in judged), default=0.0)
    return Section("Measurements", header, tuple(_row(one, top) for one in judged))


def _row(one: Judged, top: float) -> tuple[str, ...]:
    row, limit = one.row, "" if one.bound is None else percent(one.bound)
    return (
        str(row.day),
        row.code,
        NAMES[one.limit.metric],
        percent(row.rate),
        percent(row.bounds[0]) if row.users else "",
        f"{limit} ({one.limit.value:g}x)" if one.limit.relative else limit,
        f"{row.users:,}",
        _bar(row.rate, one.bound, top),
        capitalised(one.finding),
    )


def _bar(rate: float, bound: float | None, top: float) -> str:
    scale = BAR / top if top else 0.0
    bar = list("█" * max(round(rate * scale), 1 if rate else 0))
    if bound is None:
        return "".join(bar)
    place = min(round(bound * scale), BAR)
    line = [*bar, *"·" * (BAR - len(bar))]
    return "".join([*line[:place], "|", *line[place:]])
