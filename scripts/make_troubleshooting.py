"""Writes the table of Google Play's messages into docs/TROUBLESHOOTING.md: the one that the program's hints use."""

from __future__ import annotations

from pathlib import Path

from uploader.services.play import known_errors

DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "TROUBLESHOOTING.md"
BEGIN = "<!-- made by scripts/make_troubleshooting.py: begin -->\n"
END = "<!-- made by scripts/make_troubleshooting.py: end -->\n"


def renewed(text: str) -> str:
    """The document with its table made anew. Raises ValueError when the marks around the table are missing."""
    head, table = text.split(BEGIN)
    _, tail = table.split(END)
    return head + BEGIN + known_errors.markdown() + END + tail


if __name__ == "__main__":
    DOCUMENT.write_text(renewed(DOCUMENT.read_text(encoding="utf-8")), encoding="utf-8")
