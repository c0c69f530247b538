"""Shows which words of a text have changed, in GitHub's Markdown."""

from __future__ import annotations

import re
from difflib import SequenceMatcher

from uploader.outputs.markdown import MAX_PROSE, Escaper, text

MAX_WORDS = 1500  # of a text; comparing takes time that grows with the square of it
MAX_SAME = 80  # characters of a stretch without a change
_BREAK = re.compile(r"[^\S\n]*\n\s*")
_TOKEN = re.compile(r"\s+|\w+|[^\w\s]")


def word_diff(before: str, after: str, escaper: Escaper) -> str:
    """Return a text on one line, with what is gone struck through and what is new underlined."""
    old = _tokens(before, escaper)
    new = _tokens(after, escaper)
    if max(len(old), len(new)) > MAX_WORDS:
        return f"<del>{escaper.text(before)}</del> <ins>{escaper.text(after)}</ins>"
    parts = []
    matcher = SequenceMatcher(None, old, new)
    for kind, old_start, old_end, new_start, new_end in matcher.get_opcodes():
        if kind == "equal":
            is_first = old_start == 0
            is_last = old_end == len(old)
            same = "".join(old[old_start:old_end])
            parts.append(text(_shortened(same, is_first=is_first, is_last=is_last)))
            continue
        gone = text("".join(old[old_start:old_end]))
        come = text("".join(new[new_start:new_end]))
        if gone:
            parts.append(f"<del>{gone}</del>")
        if come:
            parts.append(f"<ins>{come}</ins>")
    return "".join(parts)


def _tokens(outside: str, escaper: Escaper) -> list[str]:
    """Return the words of a text from outside, once nothing secret is in it."""
    return _TOKEN.findall(escaper.line(_BREAK.sub(" ↵ ", outside), MAX_PROSE))


def _shortened(same: str, *, is_first: bool, is_last: bool) -> str:
    """Return a stretch that is the same, without its middle where it is long; of the first and the
    last one what is beside a change.
    """
    if len(same) <= MAX_SAME:
        return same
    half = MAX_SAME // 2
    # whole words, where the stretch has any
    begin = "" if is_first else same[:half].rpartition(" ")[0] or same[:half]
    end = "" if is_last else same[-half:].partition(" ")[2] or same[-half:]
    return f"{begin} … {end}".strip(" ") if is_first else f"{begin} … {end}"
