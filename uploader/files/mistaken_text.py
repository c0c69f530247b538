"""Tells a text that is to be published from what was meant to lead to it: a path, or what another
tool prints.

Each function returns what is wrong as the rest of a sentence that begins with "it", and what to
write instead; nothing for a text.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

_MAX_PATH: Final = 4096  # characters
_MAX_LINES: Final = 20
_LFS: Final = "version https://git-lfs.github.com/spec/v1"
_OTHER_SCHEME: Final = re.compile(r"(?!file:)[a-z][a-z0-9+.-]+://", re.IGNORECASE)
# What a word is a path by, whether or not it is there. `/` and `.` alone are none: "iOS/Android",
# "1.2.3", "Node.js".
_PATH: Final = re.compile(
    r"(?:\.{0,2}|~)[/\\]\S+|[A-Za-z]:\\\S+|\S+\.(?:md|markdown|txt|rst|adoc|json|ya?ml|html?|properties)"
    r"|(?:\S*[/\\])?whatsnew-\S+|(?:\S*[/\\])?(?:CHANGELOG|RELEASE_NOTES|WHATSNEW)"
    r"|[\w./-]*/[\w./-]*\*[\w.*/-]*",  # a pattern: `distribution/whatsnew/*`
    re.ASCII,
)
_JSON_START: Final = re.compile(r"\[?\s*\{\s*[\"']?[\w-]+[\"']?\s*:")
_EMPTY_VALUES: Final = ("null", "undefined", "None", "none", "~", "true", "false", "[]", "{}")
_OBJECT: Final = "[object Object]"  # what JavaScript makes of an object where a text belongs


class Mistake(NamedTuple):
    """What is wrong with a text, and what would be accepted."""

    what: str
    accepted: str = ""


def lfs_pointer(text: str) -> Mistake | None:
    """The text that stands in the place of a file that Git LFS keeps."""
    if text.startswith(_LFS):
        return Mistake("is a Git LFS pointer, not the text.", "a checkout with `lfs: true`")
    return None


def path_to_a_text(
    text: str, folders: Sequence[Path], instead: str, *, must_exist: bool = False
) -> Mistake | None:
    """The path of something in one of the folders, or what can only be a path unless it
    `must_exist`.
    """
    lines = [line for each in text.splitlines() if (line := each.strip())]
    if not lines or len(lines) > _MAX_LINES:
        return None
    named = re.fullmatch(r"file:(\s*)(\S+)", text, re.IGNORECASE)
    if named and (not named[1] or _exists(named[2], folders)):
        return Mistake(
            "is `file:PATH`, which is not read here and would be published as the text.", instead
        )
    if re.fullmatch(r"@\S+", text) and (not must_exist or _exists(text[1:], folders)):
        return Mistake(
            "is `@PATH`, which is not read here and would be published as the text.", instead
        )
    if all(_exists(line, folders) for line in lines):
        kind = "folder" if any((folder / lines[0]).is_dir() for folder in folders) else "file"
        return Mistake(
            f"is the path of a {kind} in the workspace, and would be published as the text.",
            instead,
        )
    if not must_exist and all(_is_path(line) for line in lines):
        return Mistake(
            "is a path, and would be published as the text; there is no such file.", instead
        )
    return None


def output_of_a_tool(text: str, instead: str) -> Mistake | None:
    """JSON, or YAML in its form, that is no map of languages."""
    if text in _EMPTY_VALUES:
        return Mistake(f"is `{text}`: the expression in the workflow has no value.", instead)
    if text == _OBJECT:
        return Mistake(
            f"is `{text}`: the expression in the workflow is an object, not a text.", instead
        )
    if not text.startswith(("{", "[")):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        structured = _JSON_START.match(text) is not None
    else:
        structured = isinstance(value, dict) or any(
            isinstance(one, (str, dict, list)) for one in value
        )
    if structured:
        return Mistake(
            "is JSON that is not a map from languages to texts, and would be published as it is.",
            instead,
        )
    return None


def first(mistakes: Iterable[Mistake | None]) -> Mistake | None:
    """The first mistake, if there is one."""
    return next(filter(None, mistakes), None)


def is_existing_file(text: str, folder: Path) -> bool:
    """Whether a text is nothing but the path of a regular file, with a folder or an ending in
    it.
    """
    if not re.search(r"/|\.[A-Za-z]\w*$", text) or not _exists(text, (folder,)):
        return False
    return (folder / text).is_file()


def is_existing_folder(text: str, folder: Path) -> bool:
    """Whether a text is nothing but the path of a folder."""
    return _exists(text, (folder,)) and (folder / text).is_dir()


def _is_path(line: str) -> bool:
    return (
        len(line) <= _MAX_PATH
        and not _OTHER_SCHEME.match(line)
        and _PATH.fullmatch(line) is not None
    )


def _exists(line: str, folders: Sequence[Path]) -> bool:
    if len(line) > _MAX_PATH or "\0" in line or "\n" in line:
        return False
    try:
        return any(os.path.lexists(folder / line) for folder in folders)
    except (OSError, ValueError):  # a name that no file can have
        return False
