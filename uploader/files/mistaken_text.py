"""Recognises what was given in place of a text: the path of a file with the text, or what another
tool prints.

Each function returns what is wrong as the rest of a sentence that begins with "it", and what to
write instead. It returns None for a text that may be intended.
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
# What makes a word a path, whether or not a file is there. `/` or `.` alone does not:
# "iOS/Android", "1.2.3", "Node.js".
_PATH: Final = re.compile(
    r"(?:\.{0,2}|~)[/\\]\S+|[A-Za-z]:\\\S+"
    r"|\S+\.(?:md|markdown|txt|rst|adoc|json|ya?ml|html?|properties)"
    r"|(?:\S*[/\\])?whatsnew-\S+|(?:\S*[/\\])?(?:CHANGELOG|RELEASE_NOTES|WHATSNEW)"
    r"|[\w./-]*/[\w./-]*\*[\w.*/-]*",  # a pattern: `distribution/whatsnew/*`
    re.ASCII,
)
_JSON_START: Final = re.compile(r"\[?\s*\{\s*[\"']?[\w-]+[\"']?\s*:")
_EMPTY_VALUES: Final = (
    "null",
    "undefined",
    "None",
    "none",
    "~",
    "true",
    "false",
    "[]",
    "{}",
)
# what JavaScript makes of an object in place of a text
_OBJECT: Final = "[object Object]"


class Mistake(NamedTuple):
    """What is wrong with a text, and what would be accepted."""

    what: str
    accepted: str = ""


def lfs_pointer(text: str) -> Mistake | None:
    """Recognise a Git LFS pointer, which stands in for a file."""
    if text.startswith(_LFS):
        return Mistake(
            "is a Git LFS pointer, not the text.", "a checkout with `lfs: true`"
        )
    return None


def path_to_a_text(
    text: str,
    folders: Sequence[Path],
    instead: str,
    *,
    must_exist: bool = False,
) -> Mistake | None:
    """Recognise another program's notation for a file (`@PATH`), and a text that consists of paths:
    of files or folders that exist below one of the `folders` or, unless they `must_exist`, of words
    that can only be paths.

    `instead` is what would be accepted.
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines or len(lines) > _MAX_LINES:
        return None
    notation = _file_notation(text, folders, must_exist=must_exist)
    if notation:
        return Mistake(
            f"is `{notation}`, which is not read here and would be published as the text.",
            instead,
        )
    if all(_exists(line, folders) for line in lines):
        kind = "file"
        for folder in folders:
            if is_existing_folder(lines[0], folder):
                kind = "folder"
        return Mistake(
            f"is the path of a {kind} in the workspace, and would be published as the text.",
            instead,
        )
    if not must_exist and all(_is_path(line) for line in lines):
        return Mistake(
            "is a path, and would be published as the text; there is no such file.",
            instead,
        )
    return None


def _file_notation(text: str, folders: Sequence[Path], *, must_exist: bool) -> str:
    """Return other programs' notation for a file that holds the text, such as `@PATH`, if this is
    one; else empty.
    """
    file_scheme = re.fullmatch(r"file:(\s*)(\S+)", text, re.IGNORECASE)
    if file_scheme:
        blank, path = file_scheme.groups()
        # With a blank it may be an ordinary sentence, as in "File: sharing".
        if not blank or _exists(path, folders):
            return "file:PATH"
    # `@name` may be an account, so a caller can ask for a file that exists.
    if re.fullmatch(r"@\S+", text) and (not must_exist or _exists(text[1:], folders)):
        return "@PATH"
    return ""


def output_of_a_tool(text: str, instead: str) -> Mistake | None:
    """Recognise an empty value, a JavaScript object printed as text, and JSON (or YAML in its form)
    that is no map of languages.

    `instead` is what would be accepted.
    """
    if text in _EMPTY_VALUES:
        return Mistake(
            f"is `{text}`: the expression in the workflow has no value.", instead
        )
    if text == _OBJECT:
        return Mistake(
            f"is `{text}`: the expression in the workflow is an object, not a text.",
            instead,
        )
    if not text.startswith(("{", "[")):
        return None
    if _is_structured(text):
        return Mistake(
            "is JSON that is not a map from languages to texts, and would be published as it is.",
            instead,
        )
    return None


def _is_structured(text: str) -> bool:
    """Return whether a text that begins like JSON is an object or a list of texts."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return _JSON_START.match(text) is not None
    if isinstance(value, dict):
        return True
    # "[1]" is JSON, too, but may be meant as a text.
    return any(isinstance(item, (str, dict, list)) for item in value)


def first(mistakes: Iterable[Mistake | None]) -> Mistake | None:
    """Return the first mistake, if there is one."""
    for mistake in mistakes:
        if mistake:
            return mistake
    return None


def is_existing_file(text: str, folder: Path) -> bool:
    """Return whether a text is only the path of a file, with a folder or an ending in it."""
    if not re.search(r"/|\.[A-Za-z]\w*$", text) or not _exists(text, (folder,)):
        return False
    return (folder / text).is_file()


def is_existing_folder(text: str, folder: Path) -> bool:
    """Return whether a text is only the path of a folder."""
    return _exists(text, (folder,)) and (folder / text).is_dir()


def _is_path(line: str) -> bool:
    """Return whether a line has the form of a path, and of nothing else."""
    if len(line) > _MAX_PATH or _OTHER_SCHEME.match(line):
        return False
    return _PATH.fullmatch(line) is not None


def _exists(line: str, folders: Sequence[Path]) -> bool:
    """Return whether a line is the path of something in one of the folders."""
    if len(line) > _MAX_PATH or "\0" in line or "\n" in line:
        return False
    try:
        return any(os.path.lexists(folder / line) for folder in folders)
    except (OSError, ValueError):
        # No file can have such a name.
        return False
