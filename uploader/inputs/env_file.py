"""Reads the env file that the user named; nothing is searched for, and nothing in the file is expanded."""

from __future__ import annotations

from collections.abc import Mapping
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

from uploader.input_problems import Problems
from uploader.inputs.input_table import fields
from uploader.inputs.invalid_value import quoted

if TYPE_CHECKING:
    from dotenv.parser import Original

LARGEST = 1 << 20  # characters
ACCEPTED = "UTF-8 text of NAME=value lines, at most 1 MiB."


def read(path: str, problems: Problems) -> Mapping[str, str]:
    """The variables in the file."""
    try:
        from dotenv.parser import parse_stream  # python-dotenv: only a run with an env file pays for it

        bindings = list(parse_stream(StringIO(_content(path))))
    except ModuleNotFoundError as error:
        _unreadable(f"the Python module {error.name}, which reads it, is missing: run `pip install .`.", problems)
        return {}
    except (OSError, ValueError) as error:  # ValueError: too large, not UTF-8, or a NUL in the path
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text of at most 1 MiB"
        _unreadable(f"{quoted(path)} can't be read: {reason}.", problems)
        return {}
    if wrong := [f"line {_line(binding.original)}" for binding in bindings if binding.error]:
        what = f"{quoted(path)} has lines that are not NAME=value: {', '.join(wrong[:10])}."
        problems.add("--env-file", what, ACCEPTED)
    return {binding.key: binding.value or "" for binding in bindings if binding.key is not None}


def _unreadable(what: str, problems: Problems) -> None:
    """The one mistake of a file that can't be read: any input may be in it, so none is missing as well."""
    problems.add("--env-file", what, ACCEPTED, covers=tuple(field.name for field in fields()))


def _line(original: Original) -> int:
    """The number of a line; python-dotenv counts from the blank lines before it."""
    text = original.string
    return original.line + text[: len(text) - len(text.lstrip())].count("\n")


def _content(path: str) -> str:
    with Path(path).open(encoding="utf-8") as stream:
        content = stream.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise ValueError
    return content
