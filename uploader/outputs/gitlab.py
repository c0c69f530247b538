"""Reports to GitLab: foldable sections and coloured words in the log; the outputs in the dotenv
report of the job.
"""

from __future__ import annotations

from uploader.outputs.reporter import OUTPUTS, LogReporter, neutral

_ERASE = "\x1b[0K"


class GitLabReporter(LogReporter):
    """The reporter inside a GitLab CI job."""

    _assign = ": "
    _sections = 0

    def _frame(self, title: str, *, folded: bool) -> tuple[str, str]:  # noqa: ARG002  # all fold
        """A section, whose name has to be another each time."""
        self._sections += 1
        begin, end = f":{self._now():.0f}:uploader_{self._sections}", f"\r{_ERASE}"
        option = "[collapsed=true]" if title == OUTPUTS else ""
        return f"section_start{begin}{option}{end}{neutral(title)}", f"section_end{begin}{end}"
