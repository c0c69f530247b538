"""Writes the failures of a run into docs/TROUBLESHOOTING.md: every code in the table of errors,
with its messages.

    python -m scripts.make_troubleshooting
"""

from __future__ import annotations

import re

from scripts.make_reference import ROOT, replaced
from uploader.error_table import ENTRIES, Entry

DOCUMENT = ROOT / "docs" / "TROUBLESHOOTING.md"


def renewed(text: str) -> str:
    """Return the document with its tables of errors made again.

    A code with several exit codes is listed under the lowest of them.
    """
    parts: dict[str, str] = {f"exit-{entry.exit_code}": "" for entry in ENTRIES}
    for code in sorted({entry.code for entry in ENTRIES}):
        entries = [entry for entry in ENTRIES if entry.code == code]
        # Messages of others come first, since people search for them.
        entries.sort(key=lambda entry: (entry.exit_code, not entry.source))
        parts[f"exit-{entries[0].exit_code}"] += _section(code, entries)
    return replaced(text, {part: f"{made}\n" for part, made in parts.items()})


def _section(code: str, entries: list[Entry]) -> str:
    """Return the section of a code."""
    paragraphs = [f"\n### {code}"]
    for entry in entries:
        if entry.exit_code != entries[0].exit_code:
            paragraphs.insert(1, f"Also with exit code {entry.exit_code}.")
    for entry in entries:
        paragraphs += _paragraphs(entry)
    section = "\n\n".join(dict.fromkeys(paragraphs)) + "\n"
    # Messages with the same hint share it.
    return re.sub(r"(?m)^(\*.*\*) (\S.*)\n\n(?=\*.*\* \2$)", r"\1\\\n", section)


def _paragraphs(entry: Entry) -> list[str]:
    """Return the paragraphs of an entry of the table: messages, and what to do."""
    texts = entry.texts
    if entry.source == "play":
        return [f"*{texts['words']}* {texts['hint']}"]
    if entry.source == "login":
        return [f"*{texts['words']}*: {texts['cause']} {texts['hint']}"]
    if entry.source == "network":
        return [f"{texts['cause']} {texts['hint']}"]
    return [
        *texts.get("meaning", "").splitlines(),
        *texts.get("log", "").strip().splitlines(),
    ]


if __name__ == "__main__":
    DOCUMENT.write_text(renewed(DOCUMENT.read_text(encoding="utf-8")), encoding="utf-8")
