"""The table of everything that a run can fail with, errors.ini. The program takes from it the
advice on refusals by Google Play and by token endpoints, and on broken connections;
docs/TROUBLESHOOTING.md is made from all of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from configparser import ConfigParser
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Entry:
    """One section: `code` is that of the error, `source` says who finds the failure, empty for the
    program itself.

    Which `texts` it has depends on the source; the comment at the top of errors.ini describes them.
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
    """Return the entries of `play`, `login` or `network`, in the order in which they are tried."""
    return (entry for entry in ENTRIES if entry.source == source)


def briefly(code: str) -> str:
    """Return what a refusal by Google Play means, in a few words for a heading; empty if the table
    has none.
    """
    return _text_of_refusal(code, "short")


def is_said_by_google(code: str) -> bool:
    """Return whether the cause of a refusal by Google Play only repeats Google's own message."""
    return _text_of_refusal(code, "said_by_google") == "yes"


def _text_of_refusal(code: str, name: str) -> str:
    """Return one text of a refusal by Google Play; empty if the table has none."""
    for entry in of_source("play"):
        if entry.code == code:
            return entry.texts.get(name, "")
    return ""
