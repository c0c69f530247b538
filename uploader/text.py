"""Small helpers for text that people read."""

from __future__ import annotations

import re

# brackets; the YAML library's time grows with the square of what are open at once
MAX_NESTING = 100


def nested_deeply(text: str) -> bool:
    """Whether more brackets are open at once than anybody means. Those in quotes count as well:
    this is no parser.
    """
    depth = 0
    for bracket in re.finditer(r"[\[\]{}]", text):
        depth = depth + 1 if bracket[0] in "[{" else max(depth - 1, 0)
        if depth > MAX_NESTING:
            return True
    return False


def sentence(text: str) -> str:
    """The text with a full stop, unless it already ends like a sentence: a server's messages often
    do not.
    """
    return text if not text or re.search(r"[.!?…][\"'`)\]]*\s*$", text) else f"{text}."


def capitalised(text: str) -> str:
    """The text with a capital first letter; the rest stays as it is."""
    return text[:1].upper() + text[1:]


def first_line(text: str, limit: int = 80) -> str:
    """The first line of a text from outside, cut where it is long; an ellipsis tells that there is
    more.
    """
    first = next(iter(text.strip().splitlines()), "").strip()
    return text if text == first and len(first) <= limit else f"{first[: limit - 1]}…"


def plural(count: int, noun: str) -> str:
    """`1 file`, `2 files`."""
    return f"{count} {noun}{'s' * (count != 1)}"


def share(part: int, whole: int | None) -> str:
    """A part of so many bytes as people read it: `5.0 of 8.0 MiB`; of an unknown whole the part
    alone.
    """
    if not whole:
        return format_size(part)
    count, unit = format_size(part).split()
    shown = format_size(whole)
    return f"{count if shown.endswith(f' {unit}') else format_size(part)} of {shown}"


def format_size(count: float) -> str:
    """A number of bytes as people read it: `512 B`, `1.5 MiB`."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(count) < 1024:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} TiB"
