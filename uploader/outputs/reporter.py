"""What all reporters have in common: plain redacted lines, one at a time, and files. A file that
can't be written is a warning.
"""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TextIO

from uploader.errors import InputError, UploaderError
from uploader.inputs import Platform
from uploader.outputs.files import dotenv_report, results_json, write_whole
from uploader.outputs.progress import ProgressLines
from uploader.redaction import Redactor
from uploader.reporting import UploadListener, UploadProgress
from uploader.results import FileResult
from uploader.text import sentence

BOLD = "1"
YELLOW = "33"
RED = "31;1"
RESULT = "32;1"
# by the sign at the beginning of a line of a plan
CHANGES = {
    "+": "32",
    "-": "31",
    "~": "33",
}
OUTPUTS = "Outputs"
# characters of one warning or error that are shown; GitHub cuts annotations at 4096
MAX_SENTENCE = 4000
# an input in a message, perhaps with a value
_NAMED = re.compile(r"`([a-z]+(?:-[a-z]+)*)(?:: ([^`]+))?`")
# What any CI system takes for a command: GitHub `::name::` and `##[name]`, Azure Pipelines
# `##vso[name]` and `##[name]`, TeamCity `##teamcity[name]`.
_COMMAND = re.compile(r":(?=:)|##(?=\w*\[)")


def neutral(text: str) -> str:
    """Return the text with a blank inserted wherever a CI system could find a command in it."""
    return _COMMAND.sub(r"\g<0> ", text)


@dataclass(eq=False)
class LogReporter:
    """Writes plain lines, from any thread; a subclass adds what its platform understands.

    `_now` returns the time in seconds since 1970. `names` are those of `Inputs`.
    """

    platform: Platform
    redactor: Redactor
    names: Mapping[str, str]
    _out: TextIO
    _err: TextIO
    _now: Callable[[], float]
    # Reentrant: a warning that is logged while a bar is moved comes from the same thread.
    _lock: threading.RLock = field(
        default_factory=threading.RLock,
        init=False,
    )

    _assign = "="  # between the name of an input and its value, as people write it here

    def info(self, text: str) -> None:
        """Log `text`; lines after the first are indented, so that none passes for another entry."""
        self._say(self._indent(text))

    def change(self, line: str) -> None:
        """Log a line of a plan, in the colour of its sign if the platform has colours."""
        text = self._indent(line)
        beginning = text.lstrip()[:2]
        sign = beginning.rstrip(" ")
        if sign in CHANGES:
            style = CHANGES[sign]
            text = self._paint(text, style, self._out)
        self._say(text)

    def result(self, text: str, *, is_done: bool = True) -> None:
        """Log the result of a run that did not fail, as its last line. `is_done` is false if a
        release is held or waits for a person.
        """
        style = RESULT if is_done else YELLOW
        indented = self._indent(text)
        painted = self._paint(indented, style, self._out)
        self._say(painted)

    def debug(self, text: str) -> None:
        """Log `text` if debug output is on (`RUNNER_DEBUG=1`, GitLab's `CI_DEBUG_TRACE=true`)."""
        if self.platform.debug:
            indented = self._indent(text)
            self._say(f"debug: {indented}")

    def warning(self, text: str) -> None:
        """Log what deserves attention though the run goes on."""
        label = self._paint("WARNING:", YELLOW, self._err)
        shown = self._short(text)
        self._say(f"{label} {shown}", self._err)

    def error(self, error: UploaderError) -> None:
        """Log how the run failed: what happened, the likely cause, what to do."""
        if isinstance(error, InputError):
            problems = []
            for problem in error.problems:
                name = self.names.get(problem.name, problem.name)
                renamed = replace(problem, name=name)
                problems.append(renamed)
            error = InputError(*problems)
        label = self._paint("ERROR:", RED, self._err)
        text = self._text_of(error)
        self._say(f"{label} {text}", self._err)

    @contextlib.contextmanager
    def group(self, title: str, *, folded: bool = True) -> Iterator[None]:
        """Group what is logged inside under a title; `folded` if the platform can do that. Groups
        don't nest.
        """
        shown = self._short(title)
        opening, closing = self._frame(shown, folded=folded)
        self._write(opening, self._out)
        try:
            yield
        finally:
            self._write(closing, self._out)

    def mask(self, secret: str) -> None:
        """Never show `secret` from now on, in any of the forms in which it can appear."""
        self.redactor.add(secret)

    def redact_session(self, uri: str, endpoint: str) -> None:
        """Never show what follows `endpoint` in `uri`. Unlike a credential, it is not named to the
        CI system.
        """
        self.redactor.add_session(uri, endpoint)

    def show_progress(self, upload: UploadProgress) -> UploadListener:
        """Return a listener that shows how far an upload is."""
        label = self.redactor.one_line(upload.name, 200)
        return ProgressLines(self.info, label, upload)

    def write_outputs(self, outputs: Mapping[str, str]) -> bool:
        """Hand the outputs to the next step or job: `name=value` lines, and a dotenv file if the
        platform has one.

        Return False if that file can't be written; a warning says why.
        """
        self._list_outputs(outputs)
        path = self.platform.dotenv_file
        if path is None:
            return True
        lines, left_out = dotenv_report(outputs, self.redactor)
        for name in left_out:
            self.warning(
                f"The output {name} was left out of the dotenv report, which GitLab "
                "limits to 5 KiB."
            )
        text = "".join(lines)
        workspace = self.platform.workspace
        what = f"The outputs ({path.name})"
        write = partial(write_whole, path, text, workspace)
        return self.written(what, write)

    def _list_outputs(self, outputs: Mapping[str, str]) -> None:
        with self.group(OUTPUTS):
            for name, value in outputs.items():
                shown = self.redactor.one_line(value)
                self._say(f"{name}={shown}")

    def write_summary(self, page: Callable[[], str]) -> None:
        """Show the page that `page` makes, if the platform has a place for it. By default there is
        none, and `page` is not called.
        """

    def write_results(self, path: Path, results: Iterable[FileResult]) -> bool:
        """Write `uploader-results.json`, or warn if that is not possible. Return whether it was
        written.
        """
        text = results_json(results, self.redactor)
        workspace = self.platform.workspace
        write = partial(write_whole, path, text, workspace)
        if self.written(path.name, write):
            return True
        if path.is_file() and not path.is_symlink():
            self.warning(f"The {path.name} that is there is from an earlier run.")
        return False

    def written(self, what: str, write: Callable[[], None]) -> bool:
        """Call `write`, and warn in one line if it raises OSError. Return whether it succeeded."""
        try:
            write()
        except OSError as refusal:
            reason = refusal.strerror
            if not reason:
                reason = str(refusal)
            self.warning(f"{what} could not be written: {reason}.")
            return False
        return True

    def _frame(self, title: str, *, folded: bool) -> tuple[str, str]:  # noqa: ARG002  # none folds
        """Return the lines before and after a group: a title, and an empty line."""
        shown = neutral(title)
        return self._paint(shown, BOLD, self._out), ""

    def _paint(
        self,
        text: str,
        style: str,
        stream: TextIO,
    ) -> str:
        """Return the text in a style (ECMA-48, SGR) if the stream is a terminal or GitLab's log."""
        if not self.platform.color:
            return text
        kind = self.platform.kind
        has_styles = kind == "gitlab"
        if kind == "console":
            has_styles = stream.isatty()
        if not has_styles:
            return text
        return f"\x1b[{style}m{text}\x1b[0m"

    def _indent(self, text: str) -> str:
        """Return the clean text, whose lines after the first are indented."""
        renamed = self._rename_inputs(text)
        shown = self.redactor.clean(renamed)
        shown = shown.rstrip("\n")
        return shown.replace("\n", "\n  ")

    def _rename_inputs(self, text: str) -> str:
        """Return the text with every input in backticks under its name here, such as
        `UPLOADER_STATUS=draft` for `status: draft`.
        """
        if not self.names:
            return text
        return _NAMED.sub(self._name_here, text)

    def _name_here(self, match: re.Match[str]) -> str:
        """Return an input in backticks, perhaps with a value, under its name here."""
        name = self.names.get(match[1])
        value = match[2]
        if name is None:
            return match[0]
        if value:
            return f"`{name}{self._assign}{value}`"
        return f"`{name}`"

    def _short(self, text: str, limit: int = MAX_SENTENCE) -> str:
        """Return one clean line of at most `limit` characters; an ellipsis replaces what is cut."""
        renamed = self._rename_inputs(text)
        line = self.redactor.one_line(renamed)
        if len(line) <= limit:
            return line
        beginning = line[: limit - 1]
        return f"{beginning}…"

    def _text_of(self, error: UploaderError) -> str:
        """Return the error on one line, and below it each of its details on a line of its own."""
        advice = []
        left = MAX_SENTENCE
        for text in (error.cause, error.hint):
            if text:
                advice_sentence = sentence(text)
                short = self._short(advice_sentence, MAX_SENTENCE // 4)
                advice.append(short)
                left -= len(short) + 1
        # If the whole would be too long, what happened is cut: the hint must be readable.
        what = self._short(sentence(error.what), left)
        first_line = " ".join([what, *advice])
        lines = [first_line]
        lines += self._details(error)
        return "\n".join(lines)

    def _details(self, error: UploaderError) -> list[str]:
        return [f"- {self._short(detail)}" for detail in error.details]

    def _say(self, text: str, stream: TextIO | None = None) -> None:
        """Write whole lines, changed so that no CI system finds a command in them."""
        if stream is None:
            stream = self._out
        self._write(neutral(text), stream)

    def _write(self, text: str, stream: TextIO) -> None:
        """Write lines as they are, except that characters which the stream's encoding lacks are
        escaped. Errors of the stream are ignored.
        """
        with self._lock, contextlib.suppress(OSError):
            shown = writable(text, stream)
            self._put(f"{shown}\n", stream)

    def _put(self, text: str, stream: TextIO) -> None:
        stream.write(text)
        stream.flush()


def writable(text: str, stream: TextIO) -> str:
    """Return the text; characters that the stream's encoding lacks are escaped."""
    encoding = stream.encoding or "utf-8"  # a StringIO has None
    encoded = text.encode(encoding, "backslashreplace")
    return encoded.decode(encoding)
