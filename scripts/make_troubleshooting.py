"""Writes the table of Google Play's messages into docs/TROUBLESHOOTING.md: the one that the program's hints use."""

from __future__ import annotations

from pathlib import Path

from uploader.errors import CredentialsError, Refused
from uploader.services.play.known_errors import KNOWN_ERRORS, KnownError

DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "TROUBLESHOOTING.md"
BEGIN = "<!-- made by scripts/make_troubleshooting.py: begin -->\n"
END = "<!-- made by scripts/make_troubleshooting.py: end -->\n"


def renewed(text: str) -> str:
    """The document with its table made anew. Raises ValueError when the marks around the table are missing."""
    head, table = text.split(BEGIN)
    _, tail = table.split(END)
    return head + BEGIN + _table() + END + tail


def _table() -> str:
    rows = [f"| {_cell(one.words)} | {_cell(one.cause)} | {_cell(one.cure)} | {_exit(one)} |" for one in KNOWN_ERRORS]
    return "\n".join(["| Google's words | likely cause | what to do | exit |", "|---|---|---|---|", *rows]) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _exit(known: KnownError) -> int:
    return CredentialsError.exit_code if known.permission else Refused.exit_code


if __name__ == "__main__":
    DOCUMENT.write_text(renewed(DOCUMENT.read_text(encoding="utf-8")), encoding="utf-8")
