"""Reads the env file that the user named; nothing is searched for, and nothing in the file is expanded."""

from __future__ import annotations

import re
from collections.abc import Mapping
from io import StringIO
from pathlib import Path

from uploader.errors import Problems
from uploader.inputs.parsers import quoted
from uploader.inputs.table import fields

MAX_SIZE = 1 << 20  # characters
MAX_BLANKS = 256  # in a row; python-dotenv needs the square of their number to look for a comment behind them
ACCEPTED = "UTF-8 text of NAME=value lines, at most 1 MiB."


def read(path: str, problems: Problems) -> Mapping[str, tuple[int, str]]:
    """The variables in the file: each with the number of its line, and its value."""
    try:
        from dotenv.parser import parse_stream  # python-dotenv: only a run with an env file needs it

        lines = list(parse_stream(StringIO(_content(path))))
    except ModuleNotFoundError as error:
        reason = f"the Python module {error.name}, which reads it, is missing: run `pip install .`."
    except OSError as error:
        reason = f"{quoted(path)} can't be read: {error.strerror}."
    except ValueError as error:  # too large, not UTF-8, or a NUL in the path
        more = str(error) if "blanks" in str(error) else "it is not UTF-8 text of at most 1 MiB"
        reason = f"{quoted(path)} can't be read: {more}."
    else:
        found: dict[str, tuple[int, str]] = {}
        wrong: list[str] = []
        for line in lines:
            written = line.original.string
            blank = written[: len(written) - len(written.lstrip())]  # the lines before it, where python-dotenv begins
            number = line.original.line + blank.count("\n")
            if line.error:
                wrong.append(f"line {number}")
            elif line.key:
                found[line.key] = number, line.value or ""
        if wrong:
            what = f"{quoted(path)} has lines that are not NAME=value: {', '.join(wrong[:10])}."
            problems.add("--env-file", what, ACCEPTED)
        return found
    # Any input may be in the file, so that none is missing as well.
    problems.add("--env-file", reason, ACCEPTED, covers=tuple(field.name for field in fields()))
    return {}


def _content(path: str) -> str:
    with Path(path).open(encoding="utf-8") as stream:
        text = stream.read(MAX_SIZE + 1)
    if len(text) > MAX_SIZE:
        raise ValueError
    if re.search(rf"\s{{{MAX_BLANKS + 1}}}", text):
        raise ValueError(f"it has more than {MAX_BLANKS} blanks in a row")
    return text
