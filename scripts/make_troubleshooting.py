"""Writes what a run can fail with into docs/TROUBLESHOOTING.md: every code of the table of errors,
with its messages.

`python -m scripts.make_troubleshooting` does it.
"""

from __future__ import annotations

import re

from scripts.make_reference import ROOT, replaced
from uploader.error_table import ENTRIES, Entry

DOCUMENT = ROOT / "docs" / "TROUBLESHOOTING.md"


def renewed(text: str) -> str:
    """The document with the table of errors in it made again.

    A code with several exit codes stands below the first of them.
    """
    parts: dict[str, str] = {f"exit-{entry.exit_code}": "" for entry in ENTRIES}
    for code in sorted({entry.code for entry in ENTRIES}):
        entries = [entry for entry in ENTRIES if entry.code == code]
        # what others say comes first: that is what people search for
        entries.sort(key=lambda entry: (entry.exit_code, not entry.source))
        parts[f"exit-{entries[0].exit_code}"] += _section(code, entries)
    return replaced(text, {part: f"{made}\n" for part, made in parts.items()})


def _section(code: str, entries: list[Entry]) -> str:
    """What the document says of a code."""
    paragraphs = [f"\n### {code}"]
    for entry in entries:
        if entry.exit_code != entries[0].exit_code:
            paragraphs.insert(1, f"Also with exit code {entry.exit_code}.")
    for entry in entries:
        paragraphs += _paragraphs(entry)
    section = "\n\n".join(dict.fromkeys(paragraphs)) + "\n"
    # messages with one hint share it
    return re.sub(r"(?m)^(\*.*\*) (\S.*)\n\n(?=\*.*\* \2$)", r"\1\\\n", section)


def _paragraphs(entry: Entry) -> list[str]:
    """What the document says of an entry of the table: messages and what to do."""
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
