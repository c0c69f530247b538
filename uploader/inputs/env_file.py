"""Reads the env file that the user named; nothing is searched for, and nothing in the file is expanded."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from io import StringIO
from pathlib import Path

from uploader.input_problems import Problems
from uploader.inputs.parsers import quoted
from uploader.inputs.table import fields

MAX_SIZE = 1 << 20  # characters
MAX_BLANKS = 256  # in a row; python-dotenv needs the square of their number to look for a comment behind them
ACCEPTED = "UTF-8 text of NAME=value lines, at most 1 MiB."


def read(path: str, problems: Problems) -> Mapping[str, tuple[int, str]]:
    """The variables in the file: each with the number of its line, and its value."""
    faults: list[int] = []  # lines that python-dotenv can't read, which it tells its logger alone

    def note(record: logging.LogRecord) -> bool:
        faults.extend(number for number in record.args or () if isinstance(number, int))
        return False

    logger = logging.getLogger("dotenv.main")
    logger.addFilter(note)
    try:
        from dotenv import dotenv_values  # python-dotenv: only a run with an env file needs it

        text = _content(path)
        values = dotenv_values(stream=StringIO(text), interpolate=False)
    except ModuleNotFoundError as error:
        reason = f"the Python module {error.name}, which reads it, is missing: run `pip install .`."
    except OSError as error:
        reason = f"{quoted(path)} can't be read: {error.strerror}."
    except ValueError as error:  # too large, not UTF-8, or a NUL in the path
        more = str(error) if "blanks" in str(error) else "it is not UTF-8 text of at most 1 MiB"
        reason = f"{quoted(path)} can't be read: {more}."
    else:
        lines = ["", *text.splitlines()]
        if faults:
            wrong = ", ".join(f"line {_behind_blanks(lines, number)}" for number in faults[:10])
            problems.add("--env-file", f"{quoted(path)} has lines that are not NAME=value: {wrong}.", ACCEPTED)
        names = [line.strip().removeprefix("export ").partition("=")[0].strip(" \t'\"") for line in lines]
        numbers = {name: number for number, name in enumerate(names)}
        return {name: (numbers.get(name, 1), value or "") for name, value in values.items()}
    finally:
        logger.removeFilter(note)
    # Any input may be in the file, so that none is missing as well.
    problems.add("--env-file", reason, ACCEPTED, covers=tuple(field.name for field in fields()))
    return {}


def _content(path: str) -> str:
    with Path(path).open(encoding="utf-8") as stream:
        text = stream.read(MAX_SIZE + 1)
    if len(text) > MAX_SIZE:
        raise ValueError
    if max(map(len, re.findall(r"\s+", text)), default=0) > MAX_BLANKS:
        raise ValueError(f"it has more than {MAX_BLANKS} blanks in a row")
    return text


def _behind_blanks(lines: list[str], number: int) -> int:
    """The number of a line; python-dotenv counts from the blank lines before it."""
    while number < len(lines) - 1 and not lines[number].strip():
        number += 1
    return number
