"""Report to GitLab: foldable sections and coloured words in the log; the outputs in the dotenv
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
        """Return the lines around a section. Each section needs a name of its own."""
        self._sections += 1
        time = f"{self._now():.0f}"
        name = f"uploader_{self._sections}"
        option = ""
        if title == OUTPUTS:
            option = "[collapsed=true]"
        shown = neutral(title)
        opening = f"section_start:{time}:{name}{option}\r{_ERASE}{shown}"
        closing = f"section_end:{time}:{name}\r{_ERASE}"
        return opening, closing
