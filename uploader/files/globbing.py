"""Expands one glob over a folder, reading each folder once: `*`, `?`, `[…]` within a name, `**` for any depth.

As in a shell, a wildcard passes over names that begin with a dot unless its own text begins with one. `**` does not
follow links to folders, so a loop of links can't be entered; a folder named or matched by another segment may be one.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from fnmatch import translate
from functools import lru_cache, partial
from pathlib import Path

_WILDCARD = re.compile(r"[*?\[]")
_Entries = Callable[[str], "list[os.DirEntry[str]]"]


def has_wildcard(pattern: str) -> bool:
    """Whether the text is a glob at all."""
    return _WILDCARD.search(pattern) is not None


def expand(pattern: str, root: Path) -> list[str]:
    """The names below `root` that match, unordered, each once; absolute if the pattern is.

    Raises OSError for a folder on the way that can't be listed: its files would be missing without a word.
    """
    segments = [segment for segment in pattern.split("/") if segment]
    entries = lru_cache(maxsize=1)(partial(_listed, root))  # two segments may go over one folder in a row
    found: list[str] = []
    visited: set[tuple[str, int]] = set()
    waiting = [("/" if pattern.startswith("/") else "", 0)]  # a folder, and how many segments led to it
    while waiting:
        here, position = waiting.pop()
        if (here, position) in visited:
            continue  # two `**` lead to the same place in many ways
        visited.add((here, position))
        for name, done in _step(root, entries, segments[position:], here):
            if position + done == len(segments):
                found.append(name)
            else:
                waiting.append((name, position + done))
    return found


def _step(root: Path, entries: _Entries, segments: Sequence[str], here: str) -> Iterator[tuple[str, int]]:
    """Where the first of the segments leads from a folder: names, and whether (1 or 0) the segment is done with."""
    segment, last = segments[0], len(segments) == 1
    if segment == "**":
        for entry in entries(here):
            if not entry.name.startswith(".") and (last or entry.is_dir(follow_symlinks=False)):
                yield _join(here, entry.name), int(not entry.is_dir(follow_symlinks=False))
        if not last:
            yield here, 1  # comes last, hence is taken first: the folder's list is still at hand
    elif has_wildcard(segment):
        matches = re.compile(translate(segment)).match
        for entry in entries(here):
            hidden = entry.name.startswith(".") and not segment.startswith(".")
            if not hidden and matches(entry.name) and (last or _is_folder(entry)):
                yield _join(here, entry.name), 1
    elif os.path.lexists(root / here / segment):
        yield _join(here, segment), 1


def _listed(root: Path, here: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(root / here) as entries:
            return list(entries)
    except NotADirectoryError:
        return []


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a loop of links, which is no folder
        return False


def _join(folder: str, name: str) -> str:
    return f"{folder}{name}" if folder in ("", "/") else f"{folder}/{name}"
