"""Shows which words of a text have changed, in GitHub's Markdown."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

from uploader.outputs.markdown import MAX_PROSE, Escaper, text

MAX_WORDS = 1500  # that are compared; comparing takes time that grows with the square of it
MAX_SAME = 80  # characters of a stretch without a change
_BREAK = re.compile(r"[^\S\n]*\n\s*")
_TOKEN = re.compile(r"\s+|\w+|[^\w\s]")
_NOT_SHOWN = "(changed only in blanks, or beyond what is shown here)"


def word_diff(before: str, after: str, escaper: Escaper) -> str:
    """Return a text on one line, with what is gone struck through and what is new underlined."""
    old = _tokens(before, escaper)
    new = _tokens(after, escaper)
    if old == new:
        same = _shortened("".join(new), is_first=False, is_last=False)
        return f"{text(same)} {_NOT_SHOWN}"
    first = _length_of_common_start(old, new)
    last = _length_of_common_start(old[first:][::-1], new[first:][::-1])
    parts = []
    if first:
        parts.append(text(_shortened("".join(old[:first]), is_first=True, is_last=False)))
    parts += _compared(old[first : len(old) - last], new[first : len(new) - last])
    if last:
        parts.append(text(_shortened("".join(old[-last:]), is_first=False, is_last=True)))
    return "".join(parts)


def _length_of_common_start(old: Sequence[str], new: Sequence[str]) -> int:
    """Return with how many of the same words two texts begin."""
    length = 0
    for old_word, new_word in zip(old, new, strict=False):
        if old_word != new_word:
            break
        length += 1
    return length


def _compared(old: Sequence[str], new: Sequence[str]) -> list[str]:
    """Return the parts of a text from its first changed word to its last one."""
    if max(len(old), len(new)) > MAX_WORDS:
        return _replaced(old, new)
    parts = []
    matcher = SequenceMatcher(None, old, new)
    for kind, old_start, old_end, new_start, new_end in matcher.get_opcodes():
        if kind == "equal":
            same = "".join(old[old_start:old_end])
            parts.append(text(_shortened(same, is_first=False, is_last=False)))
        else:
            parts += _replaced(old[old_start:old_end], new[new_start:new_end])
    return parts


def _replaced(old: Sequence[str], new: Sequence[str]) -> list[str]:
    """Return the words that are gone, and those that are new."""
    parts = []
    if old:
        parts.append(f"<del>{text(''.join(old))}</del>")
    if new:
        parts.append(f"<ins>{text(''.join(new))}</ins>")
    return parts


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
    begin = same[:half].rpartition(" ")[0] or same[:half]
    end = same[-half:].partition(" ")[2] or same[-half:]
    if is_first:
        return f"… {end}"
    if is_last:
        return f"{begin} …"
    return f"{begin} … {end}"
