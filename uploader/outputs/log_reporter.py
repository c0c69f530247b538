"""What every reporter has in common: plain lines, redacted, one at a time; files that are written or warned about."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final, TextIO

from uploader.errors import (
    CredentialsError,
    InputError,
    IntegrityError,
    Interrupted,
    Refused,
    ServiceError,
    TemporaryError,
    UploaderError,
)
from uploader.inputs import Platform
from uploader.outputs import dotenv
from uploader.outputs.output_files import write_results, write_whole
from uploader.outputs.progress import ProgressLines
from uploader.redaction import Redactor
from uploader.reporting import Progress
from uploader.results import FileResult
from uploader.text import sentence

SENTENCE: Final = 4000  # characters of one warning or error that are shown; GitHub cuts annotations at 4096
_KINDS: Final = (
    (InputError, "Wrong input"),
    (CredentialsError, "No access"),
    (Refused, "Refused"),
    (ServiceError, "Service error"),
    (IntegrityError, "Integrity"),
    (TemporaryError, "Temporary failure"),
    (Interrupted, "Interrupted"),
)


class LogReporter:
    """Writes plain lines, from any thread; a subclass adds what its platform understands."""

    def __init__(
        self, platform: Platform, out: TextIO, redactor: Redactor, clock: Callable[[], float], err: TextIO | None = None
    ) -> None:
        self.platform = platform
        self.redactor = redactor
        self._out = out
        self._err = err or out
        self._clock = clock
        self._lock = threading.RLock()  # a warning that is said while a bar is moved comes from the same thread

    def info(self, text: str) -> None:
        """Log `text`; lines after its first are indented, so that none can pose as another."""
        self._say(self._indented(text))

    def debug(self, text: str) -> None:
        """Log `text` where debug output is on (`RUNNER_DEBUG=1` and its kin)."""
        if self.platform.debug:
            self._say(f"debug: {self._indented(text)}")

    def warning(self, text: str) -> None:
        """Log what deserves attention though the run goes on."""
        self._say(f"WARNING: {self._short(text)}", self._err)

    def error(self, error: UploaderError) -> None:
        """Log how the run failed: what happened, the likely cause, what to do."""
        self._say(f"ERROR: {self._text_of(error)}", self._err)

    def group(self, title: str) -> AbstractContextManager[None]:
        """Hold together what is said inside, under a title, folded where the platform can."""
        return self._group(self._short(title))

    def mask(self, secret: str) -> None:
        """Never show `secret` from now on, in any of the forms in which it may turn up."""
        self.redactor.add(secret)

    def progress(self, label: str, total: int | None, start: int = 0) -> Progress:
        """Follow one upload from byte `start` to `total` (None = unknown). The answer may be used from any thread."""
        return ProgressLines(self.info, self.redactor.one_line(label, 200), total, start, self._clock)

    def write_outputs(self, outputs: Mapping[str, str]) -> None:
        """Hand the output values to whoever comes next: `name=value` lines, and a dotenv file where one is named."""
        for name, value in outputs.items():
            self._say(f"{name}={self.redactor.one_line(value)}")
        if self.platform.dotenv_file is not None:
            self._write_dotenv(self.platform.dotenv_file, outputs)

    def _write_dotenv(self, path: Path, outputs: Mapping[str, str]) -> None:
        lines, left_out = dotenv.report(outputs, self.redactor)
        for name in left_out:
            self.warning(f"The output {name} was left out of the dotenv report, which GitLab limits to 5 KiB.")
        self.written(f"The outputs ({path.name})", lambda: write_whole(path, lines))

    def write_summary(self, page: Callable[[], str]) -> None:
        """Show the page that `page` makes, where the platform has a place for one; here is none, and none is made."""

    def write_results(self, path: Path, results: Iterable[FileResult]) -> bool:
        """Write `uploader-results.json`; false, after a warning, where that was not possible."""
        return self.written(path.name, lambda: write_results(path, results, self.redactor))

    def written(self, what: str, write: Callable[[], None]) -> bool:
        """Do `write`; where the system refuses, warn in one line and answer false."""
        try:
            write()
        except OSError as refusal:
            self.warning(f"{what} could not be written: {refusal.strerror or refusal}.")
            return False
        return True

    @contextlib.contextmanager
    def _group(self, title: str) -> Iterator[None]:
        self._say(title)
        yield

    def _indented(self, text: str) -> str:
        return self.redactor.clean(text).rstrip("\n").replace("\n", "\n  ")

    def _short(self, text: str, limit: int = SENTENCE) -> str:
        """One clean line of at most `limit` characters, an ellipsis for what is cut."""
        line = self.redactor.one_line(text)
        return line if len(line) <= limit else line[: limit - 1] + "…"

    def _text_of(self, error: UploaderError) -> str:
        """The error on one line, and below it each of its details on a line of its own."""
        return "\n".join([self._sentences(error), *self._details(error)])

    def _details(self, error: UploaderError) -> list[str]:
        return [f"- {self._short(detail)}" for detail in error.details]

    def _sentences(self, error: UploaderError) -> str:
        """The error on one line, what happened cut where the whole would be too long: the cure must be readable."""
        after = [self._short(sentence(text), SENTENCE // 4) for text in (error.cause, error.cure) if text]
        return " ".join([self._short(sentence(error.what), SENTENCE - sum(len(text) + 1 for text in after)), *after])

    def _say(self, text: str, stream: TextIO | None = None) -> None:
        """Write whole lines; what the stream's encoding lacks is escaped, a stream that fails is given up."""
        stream = stream or self._out
        with self._lock, contextlib.suppress(OSError):
            self._put(self._writable(text, stream) + "\n", stream)

    def _writable(self, text: str, stream: TextIO) -> str:
        encoding = stream.encoding or "utf-8"  # a StringIO has None
        return text.encode(encoding, "backslashreplace").decode(encoding)

    def _put(self, text: str, stream: TextIO) -> None:
        stream.write(text)
        stream.flush()


def kind(error: UploaderError) -> str:
    """A word or two for the kind of failure, as a title."""
    return next((title for family, title in _KINDS if isinstance(error, family)), "Upload failed")
