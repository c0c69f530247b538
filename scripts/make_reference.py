"""Makes the tables of docs/REFERENCE.md from the table of inputs and the texts of inputs and outputs."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from pathlib import Path

from scripts.output_meanings import OUTPUTS
from uploader.inputs import Field, fields
from uploader.inputs.input_meanings import COMPUTED, MEANINGS

PAGE = Path(__file__).resolve().parent.parent / "docs" / "REFERENCE.md"
MARK = "<!-- {part}: {which}, made by scripts/make_reference.py -->\n"


def inputs() -> str:
    """A table for each group."""
    groups = groupby(fields(), key=lambda field: field.group.heading)
    return "\n".join(f"\n### {heading}\n\n{_table('input', map(_row, group))}" for heading, group in groups)


def _row(field: Field) -> tuple[str, str, str]:
    default = f"`{field.default}`" if field.default else COMPUTED.get(field.name, "")
    return f"`{field.name}`", MEANINGS[field.name], "required" if field.name == "target" else default


def outputs() -> str:
    """One table, in the order of the action's metadata."""
    return "\n" + _table("output", ((f"`{name}`", meaning) for name, meaning in OUTPUTS.items()))


def renewed(text: str) -> str:
    """The page with its tables made anew. Raises ValueError when a mark around one of them is missing."""
    for part, tables in (("inputs", inputs()), ("outputs", outputs())):
        begin, end = (MARK.format(part=part, which=which) for which in ("begin", "end"))
        head, rest = text.split(begin)
        _, tail = rest.split(end)
        text = head + begin + tables + "\n" + end + tail
    return text


def _table(kind: str, rows: Iterable[tuple[str, ...]]) -> str:
    header = (kind, "meaning", "default") if kind == "input" else (kind, "value")
    return "".join(f"| {' | '.join(row)} |\n" for row in (header, ("---",) * len(header), *rows))


if __name__ == "__main__":
    PAGE.write_text(renewed(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
