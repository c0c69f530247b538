"""Show which words of a text have changed, in GitHub's Markdown."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

from uploader.outputs.markdown import MAX_PROSE, Escaper, text

# words up to which texts are compared word by word, which takes quadratic time
MAX_WORDS = 1500
MAX_SAME = 80  # characters of a stretch without a change
_BREAK = re.compile(r"[^\S\n]*\n\s*")
_TOKEN = re.compile(r"\s+|\w+|[^\w\s]")
_NOT_SHOWN = "(changed only in blanks, or beyond what is shown here)"


def word_diff(before: str, after: str, escaper: Escaper) -> str:
    """Return a text on one line, with what is gone struck through and what is new underlined."""
    old = _tokens(before, escaper)
    new = _tokens(after, escaper)
    if old == new:
        return f"{_same(new)} {_NOT_SHOWN}"
    first = _length_of_common_start(old, new)
    old_rest = old[first:]
    new_rest = new[first:]
    old_backwards = old_rest[::-1]
    new_backwards = new_rest[::-1]
    last = _length_of_common_start(old_backwards, new_backwards)
    old_end = len(old) - last
    new_end = len(new) - last
    parts = []
    if first:
        parts.append(_same(old[:first], is_first=True))
    old_middle = old[first:old_end]
    new_middle = new[first:new_end]
    parts += _compare(old_middle, new_middle)
    if last:
        parts.append(_same(old[old_end:], is_last=True))
    return "".join(parts)


def _length_of_common_start(old: Sequence[str], new: Sequence[str]) -> int:
    """Return how many words at the beginning of two texts are the same."""
    length = 0
    for old_word, new_word in zip(old, new, strict=False):
        if old_word != new_word:
            break
        length += 1
    return length


def _compare(old: Sequence[str], new: Sequence[str]) -> list[str]:
    """Return the parts of a text from its first changed word to its last one."""
    longer = max(len(old), len(new))
    if longer > MAX_WORDS:
        return _mark_replaced(old, new)
    parts = []
    matcher = SequenceMatcher(None, old, new)
    for kind, old_start, old_end, new_start, new_end in matcher.get_opcodes():
        old_words = old[old_start:old_end]
        new_words = new[new_start:new_end]
        if kind == "equal":
            parts.append(_same(old_words))
        else:
            parts += _mark_replaced(old_words, new_words)
    return parts


def _mark_replaced(old: Sequence[str], new: Sequence[str]) -> list[str]:
    """Return the words that are gone, and those that are new."""
    parts = []
    if old:
        gone = text("".join(old))
        parts.append(f"<del>{gone}</del>")
    if new:
        added = text("".join(new))
        parts.append(f"<ins>{added}</ins>")
    return parts


def _tokens(outside: str, escaper: Escaper) -> list[str]:
    """Return the words of a text from outside, with its secrets masked."""
    in_one_line = _BREAK.sub(" ↵ ", outside)
    shown = escaper.line(in_one_line, MAX_PROSE)
    return _TOKEN.findall(shown)


def _same(
    words: Sequence[str],
    *,
    is_first: bool = False,
    is_last: bool = False,
) -> str:
    """Return an unchanged stretch, without its middle if it is long. Of the first and the last
    stretch, the end that is next to a change is kept.
    """
    stretch = "".join(words)
    shown = _shorten(
        stretch,
        is_first=is_first,
        is_last=is_last,
    )
    return text(shown)


def _shorten(same: str, *, is_first: bool, is_last: bool) -> str:
    """Return a stretch without its middle, or without the end that is far from a change."""
    if len(same) <= MAX_SAME:
        return same
    half = MAX_SAME // 2
    begin = same[:half]
    end = same[-half:]
    # whole words, where the stretch has any
    begin_in_words, _, _ = begin.rpartition(" ")
    if begin_in_words:
        begin = begin_in_words
    _, _, end_in_words = end.partition(" ")
    if end_in_words:
        end = end_in_words
    if is_first:
        return f"… {end}"
    if is_last:
        return f"{begin} …"
    return f"{begin} … {end}"
