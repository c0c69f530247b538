"""Expands one glob over a folder, reading each folder once: `*`, `?`, `[…]` within a name, `**` for any depth.

As in a shell, a wildcard passes over names that begin with a dot unless its own text begins with one. `**` does not
follow links to folders, so a loop of links can't be entered; a folder named or matched by another segment may be one.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from fnmatch import translate
from pathlib import Path

_WILDCARD = re.compile(r"[*?\[]")


class UnreadableFolder(Exception):
    """A folder that the pattern leads through can't be listed; its files would be missing without a word."""

    def __init__(self, folder: str, reason: str) -> None:
        super().__init__(folder, reason)
        self.folder = folder
        self.reason = reason


def has_wildcard(pattern: str) -> bool:
    """Whether the text is a glob at all."""
    return _WILDCARD.search(pattern) is not None


def expand(pattern: str, root: Path) -> list[str]:
    """The names below `root` that match, unordered, each once; absolute if the pattern is. Raises UnreadableFolder."""
    walk = _GlobWalk(root, tuple(segment for segment in pattern.split("/") if segment))
    return walk.run("/" if pattern.startswith("/") else "")


class _GlobWalk:
    """One pass over the tree; the state is a folder and how many segments of the pattern led to it."""

    def __init__(self, root: Path, segments: tuple[str, ...]) -> None:
        self._root = root
        self._segments = segments
        self._listed: tuple[str | None, list[os.DirEntry[str]]] = (None, [])

    def run(self, start: str) -> list[str]:
        found: list[str] = []
        visited: set[tuple[str, int]] = set()
        waiting = [(start, 0)]
        while waiting:
            here, position = waiting.pop()
            if (here, position) in visited:
                continue  # two `**` lead to the same place in many ways
            visited.add((here, position))
            for name, at in self._step(here, position):
                if at == len(self._segments):
                    found.append(name)
                else:
                    waiting.append((name, at))
        return found

    def _step(self, here: str, position: int) -> Iterator[tuple[str, int]]:
        """Where one segment leads from a folder: names, and the position of the segment that goes on from there."""
        segment, next_position = self._segments[position], position + 1
        last = next_position == len(self._segments)
        if segment == "**":
            for entry in self._entries(here):
                if not entry.name.startswith(".") and (last or entry.is_dir(follow_symlinks=False)):
                    name = _join(here, entry.name)
                    yield name, position if entry.is_dir(follow_symlinks=False) else next_position
            if not last:
                yield here, next_position  # comes last, hence is taken first: the folder's list is still at hand
        elif has_wildcard(segment):
            matches = re.compile(translate(segment)).match
            for entry in self._entries(here):
                hidden = entry.name.startswith(".") and not segment.startswith(".")
                if not hidden and matches(entry.name) and (last or _is_folder(entry)):
                    yield _join(here, entry.name), next_position
        elif os.path.lexists(self._root / here / segment):
            yield _join(here, segment), next_position

    def _entries(self, here: str) -> list[os.DirEntry[str]]:
        if self._listed[0] != here:
            try:
                with os.scandir(self._root / here) as entries:
                    self._listed = (here, list(entries))
            except NotADirectoryError:
                self._listed = (here, [])
            except OSError as error:
                raise UnreadableFolder(here or ".", error.strerror or "unknown reason") from None
        return self._listed[1]


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a loop of links, which is no folder
        return False


def _join(folder: str, name: str) -> str:
    return f"{folder}{name}" if folder in ("", "/") else f"{folder}/{name}"
