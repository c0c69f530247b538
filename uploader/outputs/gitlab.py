"""Reports to GitLab: foldable sections and coloured words in the log; the outputs in the dotenv report of the job."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping

from uploader.outputs.reporter import LogReporter

_ERASE = "\x1b[0K"


class GitLabReporter(LogReporter):
    """The reporter inside a GitLab CI job."""

    _assign = ": "
    _sections = 0

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
