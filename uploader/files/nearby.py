"""What a workspace has in the place of files that were not found: the nearest names of their
kind.
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

MAX_ENTRIES = 10_000  # of all folders together that are looked at
_MAX_FOUND = 200  # files that are compared
_MAX_COMPARED = 500  # characters of a name
_SHOWN = 3  # files that are named
_CLOSE = 0.9  # of difflib: a misspelling
_ARTIFACTS = (".aab", ".apk")
# Half-made files of the Android build, and the packages of others.
_NEVER = ("intermediates", "node_modules")
# Files of these kinds may be keys, which nobody is led to.
_SECRET = (".json", ".jks", ".keystore", ".p12", ".pem", ".key")
_ENDING = re.compile(r"\.\w+$")


@dataclass(frozen=True)
class _Found:
    """The files of some endings, by their names below the root; `complete` unless the search was
    broken off.
    """

    names: tuple[str, ...]
    complete: bool


def files_nearby(pattern: str, root: Path, max_entries: int = MAX_ENTRIES) -> str:
    """Return what the workspace has in the place of a path or glob that matches nothing: a sentence
    after a blank, empty if that is not known.

    `pattern` is relative to the root, or absolute.
    """
    endings: tuple[str, ...] = _ARTIFACTS
    ending = _ENDING.search(pattern)
    if ending:
        endings = (ending[0].lower(),)
    if endings[0] in _SECRET:
        return ""
    found = _find(root, endings, max_entries)
    if not found.names and endings == (".aab",):
        found = _find(root, _ARTIFACTS, max_entries)
    if not found.names:
        if not found.complete:
            return ""
        kinds = " or ".join(endings)
        return (
            f" The workspace has no {kinds} file at all. Did an earlier step build it?"
        )
    names = sorted(found.names)
    names.sort(key=lambda name: _similarity(name, pattern), reverse=True)
    nearest = names[0]
    has_wildcard = re.search(r"[*?\[]", pattern) is not None
    if not has_wildcard and _similarity(nearest, pattern) >= _CLOSE:
        return f" Did you mean `{printable(nearest)}`?"
    in_backticks = [f"`{printable(name)}`" for name in names[:_SHOWN]]
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


def _find(root: Path, endings: tuple[str, ...], max_entries: int) -> _Found:
    """Return the files below the root with one of the endings, without hidden folders and
    links.
    """
    names: list[str] = []
    for looked_at, name in enumerate(_walk(root), 1):
        if name.lower().endswith(endings):
            names.append(name)
        if looked_at >= max_entries or len(names) >= _MAX_FOUND:
            return _Found(tuple(names), complete=False)
    return _Found(tuple(names), complete=True)


def _walk(root: Path) -> Iterator[str]:
    """Yield the names of the entries below the root, those of the upper folders first."""
    folders = [""]
    for folder in folders:
        below: list[str] = []
        try:
            with os.scandir(root / folder) as entries:
                for entry in entries:
                    if entry.name.startswith(".") or entry.name in _NEVER:
                        continue
                    name = folder + entry.name
                    if entry.is_dir(follow_symlinks=False):
                        below.append(f"{name}/")
                    elif not entry.is_symlink():
                        yield name
        except OSError:
            continue
        folders += sorted(below)
