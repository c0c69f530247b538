"""Writes the tables of docs/MIGRATION.md from the table that the program itself answers from."""

from __future__ import annotations

from pathlib import Path

from uploader.inputs.other_tools import TOOLS, ToolId
from uploader.inputs.play_tools import OtherInput

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "MIGRATION.md"
MARK = "<!-- made by scripts/make_migration_page.py: {which} {tool} -->\n"


def renewed(text: str) -> str:
    """The page with its tables made anew. Raises ValueError when the marks around one of them are missing."""
    for tool in TOOLS:
        begin, end = (MARK.format(which=which, tool=tool) for which in ("begin", "end"))
        head, rest = text.split(begin)
        _, tail = rest.split(end)
        text = head + begin + table(tool) + end + tail
    return text


def table(tool: ToolId) -> str:
    """Every input of a tool, what it is here, and a remark."""
    head = [f"| {TOOLS[tool].title} | here | remarks |", "|---|---|---|"]
    rows = [f"| {_names(row)} | {row.here.replace('|', chr(92) + '|')} | {row.remark} |" for row in TOOLS[tool].rows]
    return "\n".join(line.replace("|  |", "| |") for line in (*head, *rows)) + "\n"


def _names(row: OtherInput) -> str:
    """The names as code, but for those that are words already."""
    return ", ".join(name if " " in name else f"`{name}`" for name in row.names)


if __name__ == "__main__":
    PAGE.write_text(renewed(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
