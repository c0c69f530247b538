"""Reports to GitLab: foldable sections and coloured WARNING and ERROR words in the log, a dotenv report for later jobs.

The dotenv report takes `KEY=value` lines and nothing else: no quoting, no blank line, fewer than 5 KiB in all. A value
has one line; where all together are too large the longest are left out, with a warning, since a report that GitLab
rejects would lose every value.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import TextIO

from uploader.errors import UploaderError
from uploader.inputs import Platform
from uploader.outputs.log_reporter import LogReporter
from uploader.redaction import Redactor

_YELLOW, _RED, _PLAIN, _ERASE = "\x1b[33m", "\x1b[31;1m", "\x1b[0m", "\x1b[0K"


class GitLabReporter(LogReporter):
    """The reporter inside a GitLab CI job. Sections are stamped with `now`, in seconds since 1970."""

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
        self._say(f"{_RED}ERROR:{_PLAIN} {self._text_of(error)}")

    def write_outputs(self, outputs: Mapping[str, str]) -> None:
        """Show the values in the log, folded, and write them to the dotenv report."""
        with self._group("Outputs", collapsed=True):
            super().write_outputs(outputs)

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
