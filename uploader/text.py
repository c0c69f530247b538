"""Small helpers for text that people read."""

from __future__ import annotations

import re

# Brackets within brackets. The time that the YAML library takes grows with the square of their
# number.
MAX_NESTING = 100
_SENTENCE_END = re.compile(r"[.!?…][\"'`)\]]*\s*$")


def nested_deeply(text: str) -> bool:
    """Return whether brackets are nested more deeply than anybody would intend. Those in quotes
    count as well, because this is no parser.
    """
    depth = 0
    for bracket in re.finditer(r"[\[\]{}]", text):
        if bracket[0] in "[{":
            depth += 1
        elif depth > 0:
            depth -= 1
        if depth > MAX_NESTING:
            return True
    return False


def sentence(text: str) -> str:
    """Return the text with a full stop, unless it already ends like a sentence; a server's messages
    often do not.
    """
    if not text or _SENTENCE_END.search(text):
        return text
    return f"{text}."


def capitalise(text: str) -> str:
    """Return the text with a capital first letter; the rest stays as it is."""
    return text[:1].upper() + text[1:]


def first_line(text: str, limit: int = 80) -> str:
    """Return the first line of a text from outside, cut if it is long; an ellipsis shows that there
    is more.
    """
    first = ""
    lines = text.strip().splitlines()
    if lines:
        first = lines[0].strip()
    is_all = first == text
    if is_all and len(text) <= limit:
        return text
    shown = first[: limit - 1]
    return f"{shown}…"


def plural(count: int, noun: str) -> str:
    """Return a count with its noun: `1 file`, `2 files`."""
    if count == 1:
        return f"{count} {noun}"
    return f"{count} {noun}s"


def share(part: int, whole: int | None) -> str:
    """Return how many bytes of the whole these are, as people read it: `5.0 of 8.0 MiB`; the part
    alone if the whole is unknown.
    """
    shown_part = format_size(part)
    if not whole:
        return shown_part
    shown_whole = format_size(whole)
    number, unit = shown_part.split()
    if shown_whole.endswith(f" {unit}"):
        shown_part = number
    return f"{shown_part} of {shown_whole}"


def format_size(count: float) -> str:
    """Return a number of bytes as people read it: `512 B`, `1.5 MiB`."""
    if abs(count) < 1024:
        return f"{count:.0f} B"
    for unit in ("KiB", "MiB", "GiB"):
        count /= 1024
        if abs(count) < 1024:
            return f"{count:.1f} {unit}"
    count /= 1024
    return f"{count:.1f} TiB"
