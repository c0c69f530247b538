"""Reports to GitHub's runner: workflow commands in the log, output and summary files, nothing that
others can command.

The runner obeys `::command::` at the start of a line and `##[command]` anywhere; what our own hold
is escaped its way.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from uploader.errors import UploaderError
from uploader.outputs.files import append_whole
from uploader.outputs.reporter import MAX_SENTENCE, LogReporter, neutral
from uploader.redaction import parts

MAX_ANNOTATIONS = 10  # of one type, for one step; the runner drops what comes after
# bytes; GitHub drops a larger summary whole, and outputs that are larger in all
LIMIT = 1024 * 1024


class GitHubReporter(LogReporter):
    """The reporter inside a GitHub Actions job."""

    _warnings = 0
    _failed = False

    def debug(self, text: str) -> None:
        """A debug command; the runner shows it where debug logging is on."""
        self._command("debug", self.redactor.clean(text))

    def warning(self, text: str) -> None:
        """A warning annotation, as long as the runner takes them; after that a line."""
        with self._lock:
            self._warnings += 1
            annotated = self._warnings <= MAX_ANNOTATIONS
        if annotated:
            self._command("warning", self._short(text))
        else:
            self.info(f"Warning: {text}")

    def error(self, error: UploaderError) -> None:
        """The run's one error annotation, over several lines where there are several mistakes.

        What it has no room for stands in the log before it; later errors are plain lines.
        """
        text = self._text_of(error)
        if self._failed:
            self.info(f"Error: {text}")
            return
        if len(text) > MAX_SENTENCE:
            self.info("\n".join(self._details(error)))
            text = text[: MAX_SENTENCE - 1] + "…"
        self._failed = True
        self._command("error", text, title=error.title)

    def mask(self, secret: str) -> None:
        """As everywhere, and tell the runner, line by line: it masks what other steps may print.

        Said to any other system, such a line would show the secret instead.
        """
        new = [part for part in parts(secret) if not self.redactor.knows(part)]
        super().mask(secret)
        if not self.platform.takes_masks:
            return
        for part in new:
            if "\n" not in part:
                self._write(f"::add-mask::{_data(part)}", self._out)

    def write_outputs(self, outputs: Mapping[str, str]) -> bool:
        """Append to `GITHUB_OUTPUT`; where that is not possible the values stand in the log, after
        a warning.

        False where a file was named and can't be written; without one there is no step that would
        read it.
        """
        reported = super().write_outputs(outputs)
        path = self.platform.output_file
        if path is None:
            self.warning(
                "The outputs could not be written: GITHUB_OUTPUT is not set. They are in the log."
            )
            return reported
        entries = ""
        for name, value in outputs.items():
            shown = self.redactor.clean(value, LIMIT)
            if len(shown) > LIMIT:
                self.warning(
                    f"The output {name} could not be written: it is too large."
                )
                continue
            delimiter = f"value_{os.urandom(16).hex()}"  # which no value can have in it
            entries += f"{name}<<{delimiter}\n{shown}\n{delimiter}\n"
        what = "The outputs (GITHUB_OUTPUT)"
        appended = self.written(what, lambda: append_whole(path, entries))
        return appended and reported

    def write_summary(self, page: Callable[[], str]) -> None:
        """Append the page, which keeps within GitHub's limit itself, to the job summary."""
        path = self.platform.summary_file
        if path is None:
            self.warning(
                "The job summary could not be written: GITHUB_STEP_SUMMARY is not set."
            )
            return
        shown = self.redactor.clean(page(), LIMIT)
        text = shown.rstrip("\n") + "\n"
        what = "The job summary (GITHUB_STEP_SUMMARY)"
        self.written(what, lambda: append_whole(path, text))

    def _frame(self, title: str, *, folded: bool) -> tuple[str, str]:
        shown = neutral(title)
        if folded:
            return f"::group::{_data(shown)}", "::endgroup::"
        return shown, ""

    def _command(self, name: str, text: str = "", title: str = "") -> None:
        """One workflow command. Its text is neutral as well: the runner prints it again once it has
        obeyed.
        """
        begin = name
        if title:
            escaped = _data(neutral(title)).replace(":", "%3A").replace(",", "%2C")
            begin += f" title={escaped}"
        data = _data(neutral(text))
        self._write(f"::{begin}::{data}", self._out)


def _data(text: str) -> str:
    """Escape what would end the text of a command."""
    text = text.replace("%", "%25")
    text = text.replace("\r", "%0D")
    return text.replace("\n", "%0A")
