"""What was probably meant by a path that leads to nothing: another case, a backslash, a variable nobody expanded."""

from __future__ import annotations

import os
import re
from fnmatch import translate
from itertools import islice
from pathlib import Path

MOST_ENTRIES = 10_000  # of one folder that are looked at
_REFERENCE = re.compile(r"\$(?:[A-Za-z_]\w*|\{[A-Za-z_]\w*\})", re.ASCII)


def hint(path: str, root: Path) -> str:
    """A sentence that begins with a blank, or nothing. `path` is a path or a glob, relative to `root` or absolute."""
    if reference := _REFERENCE.search(path):
        return f" {reference[0]} was not expanded, since this job has no such variable, or it is protected."
    if "\\" in path:
        slashed = path.replace("\\", "/")
        return f" Write `/` between folders: `{_existing(slashed, root) or slashed}`."
    found = _existing(path, root)
    return f" Did you mean `{found}`?" if found.strip("/") != path.strip("/") and found else ""


def _existing(path: str, root: Path) -> str:
    """The first path in any case that is there; empty where there is none, or `**` would make the search endless."""
    here, names = Path("/") if path.startswith("/") else root, list[str]()
    for segment in filter(None, path.split("/")):
        if os.path.lexists(here / segment):
            names.append(segment)
        elif segment == "**" or not (found := _in_any_case(here, segment)):
            return ""
        else:
            names.append(found)
        here /= names[-1]
    return ("/" if path.startswith("/") else "") + "/".join(names)


def _in_any_case(folder: Path, segment: str) -> str:
    matches = re.compile(translate(segment), re.IGNORECASE).match
    try:
        with os.scandir(folder) as entries:
            return min((entry.name for entry in islice(entries, MOST_ENTRIES) if matches(entry.name)), default="")
    except (OSError, ValueError):
        return ""
