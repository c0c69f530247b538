"""Suggests files in place of those that were not found: the nearest names of their kind in the
workspace.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path

from uploader.files.workspace import printable
from uploader.text import plural

MAX_ENTRIES = 10_000  # entries that are looked at, in all folders together
_MAX_FOUND = 200  # files that are compared
_MAX_COMPARED = 500  # characters of a name
_SHOWN = 3  # files that are named
_CLOSE = 0.9  # difflib's ratio from which on a name counts as a misspelling
_ARTIFACTS = (".aab", ".apk")
# Half-made files of the Android build, and the packages of others.
_NEVER = ("intermediates", "node_modules")
# Files of these kinds may be keys, which are not suggested.
_SECRET = (".json", ".jks", ".keystore", ".p12", ".pem", ".key")
_ENDING = re.compile(r"\.\w+$")
_WILDCARD = re.compile(r"[*?\[]")


@dataclass(frozen=True)
class _SearchResult:
    """The files with certain endings, by their names below the root; `complete` unless the search
    was broken off.
    """

    names: tuple[str, ...]
    complete: bool


def files_nearby(pattern: str, root: Path, max_entries: int = MAX_ENTRIES) -> str:
    """Return a sentence, after a blank, on what the workspace has in place of a path or glob that
    matches nothing; empty if that is not known.

    `pattern` is relative to the root, or absolute.
    """
    endings: tuple[str, ...] = _ARTIFACTS
    ending = _ENDING.search(pattern)
    if ending:
        endings = (ending[0].lower(),)
    if endings[0] in _SECRET:
        return ""
    nearby = _find(root, endings, max_entries)
    if not nearby.names and endings == (".aab",):
        nearby = _find(root, _ARTIFACTS, max_entries)
    if not nearby.names:
        if not nearby.complete:
            return ""
        kinds = " or ".join(endings)
        return (
            f" The workspace has no {kinds} file at all. Did an earlier step build it?"
        )
    names = sorted(nearby.names)
    names.sort(key=lambda name: _similarity(name, pattern), reverse=True)
    nearest = names[0]
    is_close = _similarity(nearest, pattern) >= _CLOSE
    if is_close and not _WILDCARD.search(pattern):
        return f" Did you mean `{printable(nearest)}`?"
    first = names[:_SHOWN]
    in_backticks = [f"`{printable(name)}`" for name in first]
    shown = ", ".join(in_backticks)
    more = len(names) - _SHOWN
    if more > 0:
        others = plural(more, "more file")
        shown += f" and {others}"
    return f" The workspace has {shown}."


def _similarity(name: str, pattern: str) -> float:
    """Return how much two names have in common, from 0 to 1; long ones are compared in part."""
    matcher = SequenceMatcher(
        None,
        name[:_MAX_COMPARED],
        pattern[:_MAX_COMPARED],
        autojunk=False,
    )
    return matcher.ratio()


def _find(root: Path, endings: tuple[str, ...], max_entries: int) -> _SearchResult:
    """Return the files below the root with one of the endings, without hidden folders and
    links.
    """
    names: list[str] = []
    for looked_at, name in enumerate(_walk(root), 1):
        if name.lower().endswith(endings):
            names.append(name)
        has_enough = len(names) >= _MAX_FOUND
        if has_enough or looked_at >= max_entries:
            return _SearchResult(tuple(names), complete=False)
    return _SearchResult(tuple(names), complete=True)


def _walk(root: Path) -> Iterator[str]:
    """Yield the names of the entries below the root, those of the upper folders first."""
    folders = [""]
    for folder in folders:
        below: list[str] = []
        try:
            with os.scandir(root / folder) as entries:
                for entry in entries:
                    is_hidden = entry.name.startswith(".")
                    if is_hidden or entry.name in _NEVER:
                        continue
                    name = folder + entry.name
                    if entry.is_dir(follow_symlinks=False):
                        below.append(f"{name}/")
                    elif not entry.is_symlink():
                        yield name
        except OSError:
            continue
        folders += sorted(below)
