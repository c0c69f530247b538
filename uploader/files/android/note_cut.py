"""Shortens release notes that are longer than Google Play accepts."""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

from uploader.files.android.limits import MAX_RELEASE_NOTES

ELLIPSIS = "…"
# Where a text may end, the best place first, each with what is put between the kept text and the
# ellipsis. The full stops of Chinese, Japanese and Hindi need no blank.
_PLACES = (
    (re.compile(r"\n[^\S\n]*\n"), "\n\n"),
    (re.compile(r"\n"), "\n"),
    (re.compile(r"(?<=[.!?])[\"'»”’)\]]*\s|(?<=[。！？।])"), " "),  # noqa: RUF001 - full stops
    (re.compile(r"\s"), " "),
)
# A place does not count if it leaves less than this share of what fits: a heading alone says
# nothing.
_LEAST = 0.5
_ZERO_WIDTH_JOINER = "\u200d"


class CutNote(NamedTuple):
    """A text that fits, and what was left out of it."""

    kept: str
    left_out: str


def cut(text: str, limit: int = MAX_RELEASE_NOTES) -> CutNote:
    """Shorten a text to at most `limit` characters, with an ellipsis at its end.

    It ends after the last paragraph, line, sentence or word that fits: after the first of these, in
    this order, that leaves at least half of what fits. A character beyond 16 bits, such as an
    emoji, counts twice, so that the result fits however Google Play counts.
    """
    for place, mark in _PLACES:
        ending = f"{mark}{ELLIPSIS}"
        room = _fitting(text, limit - len(ending))
        end = _last_end(place, text, room)
        if end >= room * _LEAST:
            kept = text[:end].rstrip()
            left_out = text[end:].strip()
            return CutNote(f"{kept}{ending}", left_out)
    room = _fitting(text, limit - len(ELLIPSIS))
    end = _between_characters(text, room)
    kept = text[:end]
    left_out = text[end:].strip()
    return CutNote(f"{kept}{ELLIPSIS}", left_out)


def _fitting(text: str, limit: int) -> int:
    """Return how many of the first characters fit into so many UTF-16 units."""
    units = 0
    for number, character in enumerate(text):
        units += 1
        if character > "\uffff":
            units += 1
        if units > limit:
            return number
    return len(text)


def _last_end(place: re.Pattern[str], text: str, room: int) -> int:
    """Return the end of the last part that fits into `room` characters, 0 if none does."""
    ends = [0]
    for match in place.finditer(text):
        if match.start() > room:
            break
        # a closing quotation mark belongs to its sentence
        closing = match[0].rstrip()
        end = match.start() + len(closing)
        if end <= room:
            ends.append(end)
    return ends[-1]


def _between_characters(text: str, end: int) -> int:
    """Return the last place up to `end` that divides no character of several code points."""
    while 0 < end < len(text):
        before = text[end - 1]
        after = text[end]
        joined = _ZERO_WIDTH_JOINER in (before, after)
        # A modifier for the colour of the skin belongs to the character before it.
        modifier = "\U0001f3fb" <= after <= "\U0001f3ff"
        # also the variation selectors, which are marks
        category = unicodedata.category(after)
        mark = category.startswith("M")
        if not (joined or modifier or mark):
            break
        end -= 1
    return end
