"""Report to GitHub's runner: workflow commands in the log, and the files for outputs and the
summary. No text from outside can be a command.

The runner obeys `::command::` at the start of a line and `##[command]` anywhere; the text in our
own commands is escaped as the runner expects it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial

from uploader.errors import UploaderError
from uploader.outputs.files import append_whole
from uploader.outputs.reporter import MAX_SENTENCE, LogReporter, neutral
from uploader.redaction import parts

MAX_ANNOTATIONS = 10  # of one type, for one step; the runner drops what comes after
# bytes; GitHub drops a summary that is larger, and outputs that are larger in total
LIMIT = 1024 * 1024


class GitHubReporter(LogReporter):
    """The reporter inside a GitHub Actions job."""

    _warnings = 0
    _failed = False

    def debug(self, text: str) -> None:
        """Write a debug command; the runner shows it if debug logging is on."""
        clean = self.redactor.clean(text)
        self._command("debug", clean)

    def warning(self, text: str) -> None:
        """Write a warning annotation, as long as the runner takes them; after that a line."""
        with self._lock:
            self._warnings += 1
            annotated = self._warnings <= MAX_ANNOTATIONS
        if annotated:
            self._command("warning", self._short(text))
        else:
            self.info(f"Warning: {text}")

    def error(self, error: UploaderError) -> None:
        """Write the run's one error annotation, over several lines if there are several mistakes.

        If it is cut, all details are in the log before it. Later errors are plain lines.
        """
        text = self._text_of(error)
        if self._failed:
            self.info(f"Error: {text}")
            return
        if len(text) > MAX_SENTENCE:
            details = "\n".join(self._details(error))
            self.info(details)
            beginning = text[: MAX_SENTENCE - 1]
            text = f"{beginning}…"
        self._failed = True
        self._command("error", text, title=error.title)

    def mask(self, secret: str) -> None:
        """Mask a secret as every reporter does, and name it to the runner, line by line, so that it
        masks what other steps print.

        In the log of any other system, such a line would show the secret instead.
        """
        new = [part for part in parts(secret) if not self.redactor.knows(part)]
        super().mask(secret)
        if not self.platform.takes_masks:
            return
        for part in new:
            if "\n" not in part:
                data = _data(part)
                self._write(f"::add-mask::{data}", self._out)

    def write_outputs(self, outputs: Mapping[str, str]) -> bool:
        """Append to `GITHUB_OUTPUT`; the log has the values in any case. Return False if a file
        can't be written; a warning says why.

        If `GITHUB_OUTPUT` is not set, there is no step that would read it: that is only a warning.
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
            # Random, so that no value can contain it.
            random_hex = os.urandom(16).hex()
            delimiter = f"value_{random_hex}"
            entries += f"{name}<<{delimiter}\n"
            entries += f"{shown}\n"
            entries += f"{delimiter}\n"
        what = "The outputs (GITHUB_OUTPUT)"
        append = partial(append_whole, path, entries)
        appended = self.written(what, append)
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
        append = partial(append_whole, path, text)
        self.written(what, append)

    def _frame(self, title: str, *, folded: bool) -> tuple[str, str]:
        shown = neutral(title)
        if folded:
            return f"::group::{_data(shown)}", "::endgroup::"
        return shown, ""

    def _command(
        self,
        name: str,
        text: str = "",
        title: str = "",
    ) -> None:
        """Write one workflow command. No command may be in its text either: the runner prints it
        again once it has obeyed.
        """
        begin = name
        if title:
            shown = neutral(title)
            escaped = _data(shown)
            escaped = escaped.replace(":", "%3A")
            escaped = escaped.replace(",", "%2C")
            begin += f" title={escaped}"
        data = _data(neutral(text))
        self._write(f"::{begin}::{data}", self._out)


def _data(text: str) -> str:
    """Escape what would end the text of a command."""
    text = text.replace("%", "%25")
    text = text.replace("\r", "%0D")
    return text.replace("\n", "%0A")
