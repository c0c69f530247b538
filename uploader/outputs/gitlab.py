"""Speaks to GitLab: foldable sections and coloured WARNING and ERROR words in the log, a dotenv report for later jobs.

The dotenv report takes `KEY=value` lines and nothing else: no quoting, no blank line, fewer than 5 KiB in all. A value
has one line; where all together are too large the longest are left out, with a warning, since a report that GitLab
rejects would lose every value.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Final, TextIO

from uploader.errors import UploaderError
from uploader.outputs.base import Voice
from uploader.outputs.files import write_whole
from uploader.redaction import Redactor

if TYPE_CHECKING:
    from uploader.inputs import Platform

DOTENV_LIMIT: Final = 5 * 1024 - 1  # bytes; GitLab wants fewer than 5 KiB
PREFIX: Final = "UPLOADER_"
_YELLOW, _RED, _PLAIN, _ERASE = "\x1b[33m", "\x1b[31;1m", "\x1b[0m", "\x1b[0K"


class GitLab(Voice):
    """The voice inside a GitLab CI job. Sections are stamped with `now`, in seconds since 1970."""

    def __init__(
        self,
        platform: Platform,
        out: TextIO,
        redactor: Redactor,
        clock: Callable[[], float],
        now: Callable[[], float],
    ) -> None:
        super().__init__(platform, out, redactor, clock)
        self._now = now
        self._sections = 0

    def warning(self, text: str) -> None:
        """A line that begins with a yellow WARNING."""
        self._say(f"{_YELLOW}WARNING:{_PLAIN} {self._short(text)}")

    def error(self, error: UploaderError) -> None:
        """A line that begins with a red ERROR."""
        self._say(f"{_RED}ERROR:{_PLAIN} {self._told(error)}")

    def write_outputs(self, outputs: Mapping[str, str]) -> None:
        """Show the values in the log and write them to the dotenv report, each on one line."""
        with self._group("Outputs", collapsed=True):
            super().write_outputs(outputs)
        path = self.platform.dotenv_file
        if path is None:
            self.warning("The outputs could not be written: UPLOADER_DOTENV is not set. They stand in the log.")
            return
        entries = {name: self._entry(name, value) for name, value in outputs.items()}
        for name in _too_much(entries):
            self.warning(f"The output {name} was left out of the dotenv report, which GitLab limits to 5 KiB.")
            del entries[name]
        self._written(f"The outputs ({path.name})", lambda: write_whole(path, entries.values()))

    def _entry(self, name: str, value: str) -> str:
        return f"{PREFIX}{re.sub('[^A-Z0-9]', '_', name.upper())}={self.redactor.one_line(value).strip()}\n"

    @contextlib.contextmanager
    def _group(self, title: str, *, collapsed: bool = False) -> Iterator[None]:
        self._sections += 1
        name = f"uploader_{self._sections}"
        option = "[collapsed=true]" if collapsed else ""
        self._say(f"section_start:{self._now():.0f}:{name}{option}\r{_ERASE}{title}")
        try:
            yield
        finally:
            self._say(f"section_end:{self._now():.0f}:{name}\r{_ERASE}")


def _too_much(entries: Mapping[str, str]) -> list[str]:
    """The names to leave out, longest entry first, so that the rest fits. The short ones, single ids, always stay."""
    sizes = {name: len(entry.encode("utf-8")) for name, entry in entries.items()}
    left_out: list[str] = []
    while sum(sizes.values()) > DOTENV_LIMIT:
        longest = max(sizes, key=lambda name: sizes[name])
        left_out.append(longest)
        del sizes[longest]
    return left_out
