"""The table of everything that a run can fail with, errors.ini: the program takes from it what it
says of the refusals of others, and docs/TROUBLESHOOTING.md is made from all of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from configparser import ConfigParser
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Entry:
    """One section: `code` is that of the error, `source` who finds the failure.

    Which of the other texts it has depends on the source; errors.ini says it at its top.
    """

    code: str
    source: str
    exit_code: int
    texts: Mapping[str, str]


def _read() -> Iterator[Entry]:
    table = ConfigParser(delimiters="=", interpolation=None)
    table.read_string(
        Path(__file__).with_name("errors.ini").read_text(encoding="utf-8")
    )
    for name in table.sections():
        source, _, code = name.rpartition(": ")
        words = dict(table[name])
        exit_code = int(words["exit"])
        yield Entry(code, source, exit_code, words)


ENTRIES = tuple(_read())


def of_source(source: str) -> Iterator[Entry]:
    """The entries of `play`, `login` or `network`, in the order in which they are tried."""
    return (entry for entry in ENTRIES if entry.source == source)


def briefly(code: str) -> str:
    """What a refusal of Google Play comes to, in a few words for a heading; empty where the table
    has none.
    """
    return _text_of_refusal(code, "short")


def is_said_by_google(code: str) -> bool:
    """Whether the cause of a refusal of Google Play only repeats Google's own message."""
    return _text_of_refusal(code, "said_by_google") == "yes"


def _text_of_refusal(code: str, name: str) -> str:
    """One text of a refusal of Google Play; empty where the table has none."""
    for entry in of_source("play"):
        if entry.code == code:
            return entry.texts.get(name, "")
    return ""
