"""Parsers of inputs that only a Google Play release has: files by version code, and what the last release had.

Like those in `parse`, they take trimmed, non-empty text and raise `InvalidValue` without repeating it.
"""

from __future__ import annotations

import re
from typing import Final, TypeAlias

from uploader.inputs.invalid_value import InvalidValue
from uploader.inputs.parse import items, path, text, version_code

FilesByVersion: TypeAlias = tuple[tuple[str, str], ...]

LAST_RELEASE: Final = "last-release"  # what the release before has: its notes, its versions, its expansion file
PLACEHOLDERS = ("{version-code}", "{name}")
_LINE = re.compile(r"([0-9]+)\s*=\s*(.+)", re.ASCII)
_ACCEPTED = "one path, a path with `{version-code}` or `{name}`, or a line `42=path` for each version code"


def version_files(value: str) -> FilesByVersion:
    """Pairs of version code and path from lines `42=path`; a path alone is one pair, with an empty version code."""
    lines = [line.strip() for line in re.split(r"\n|,\s*(?=[0-9]+\s*=)", text(value)) if line.strip()]
    found = [_LINE.fullmatch(line) for line in lines]
    pairs = tuple((version_code(each[1]), _pattern(each[2])) for each in found if each)
    if not pairs and len(lines) == 1:
        return (("", _pattern(lines[0])),)
    if len(pairs) < len(lines):
        raise InvalidValue("has several lines, and not all of them begin with a version code.", _ACCEPTED)
    if len(dict(pairs)) < len(pairs):
        raise InvalidValue("names two files for one version code.", _ACCEPTED)
    return pairs


def version_path(value: str) -> str:
    """A path, perhaps with `{version-code}`."""
    return _pattern(value, PLACEHOLDERS[:1], "a path, with `{version-code}` in it for several versions")


def _pattern(value: str, known: tuple[str, ...] = PLACEHOLDERS, accepted: str = _ACCEPTED) -> str:
    if any(each not in known for each in re.findall(r"\{[^{}]*\}", path(value))):
        raise InvalidValue("has an unknown placeholder.", accepted)
    return value


def retained_versions(value: str) -> tuple[str, ...]:
    """Several version codes; `last-release` among them stays as it is."""
    return tuple(dict.fromkeys(item if item == LAST_RELEASE else version_code(item) for item in items(value)))


def expansion_file(value: str) -> str:
    """A path, `last-release`, or `references:` and the version code that has the file already."""
    kind, colon, code = value.partition(":")
    if kind + colon == "references:":
        return f"references:{version_code(code.strip())}"
    return path(value)
