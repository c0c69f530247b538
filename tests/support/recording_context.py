"""A context that writes down what a flow tells, and keeps what it remembers; nothing of it is a
file or a request.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from uploader.files.artifacts import Artifact
from uploader.files.destination import Destination
from uploader.results import FileResult
from uploader.retry import FIRST_POLL
from uploader.services.base import (
    Backoff,
    Call,
    Download,
    Downloaded,
    Poll,
    Section,
    Upload,
)

T = TypeVar("T")


@dataclass(frozen=True)
class Shown:
    """What a flow said that it would change."""

    title: str
    lines: tuple[str, ...]
    sections: tuple[Section, ...] = ()


class RecordingContext:
    """What a flow told, in the order of the log: `texts` are its sentences, `warnings` those of
    them that warn.

    The journal outlives it, as it outlives a process; what is forgotten leaves it with `settle`.
    """

    def __init__(self, journal: dict[str, str] | None = None, now: float = 0.0) -> None:
        self.journal = {} if journal is None else journal
        self.time = now
        self.lines: list[str] = []
        self.texts: list[str] = []
        self.warnings: list[str] = []
        self.shown: list[Shown] = []
        self.outputs: dict[str, str] = {}
        self.ids: tuple[str, ...] = ()
        self.results: list[FileResult] = []
        self.identifications: list[FileResult] = []
        self.why_discarded = ""
        self.recalled: list[str] = []
        self._forgotten: set[str] = set()

    @property
    def log(self) -> str:
        """The log, a line for each sentence and each line that was shown."""
        return "\n".join(self.lines)

    @contextmanager
    def moment(self) -> Iterator[None]:
        """Stands around everything that has an effect: a process may die before it, or right
        after.
        """
        yield

    def settle(self) -> None:
        """The run has come to an end of its own: what it forgot leaves the journal."""
        for name in self._forgotten:
            self.journal.pop(name, None)

    # --- the network and the waits, which are not here --------------------------------------------

    def call(self, call: Call) -> dict[str, Any]:
        """There is no network."""
        raise AssertionError(call)

    def expect(self, uploads: Sequence[Upload]) -> None:
        """The results have what was uploaded alone."""

    def begin(self, upload: Upload) -> None:
        """There is no network."""
        raise AssertionError(upload)

    def upload(self, upload: Upload) -> FileResult:
        """There is no network."""
        raise AssertionError(upload)

    def upload_all(
        self, uploads: Sequence[Upload], max_in_flight: int | None = None
    ) -> tuple[FileResult, ...]:
        """There is no network."""
        raise AssertionError(uploads, max_in_flight)

    def download(self, download: Download) -> Downloaded:
        """There is no network."""
        raise AssertionError(download)

    def backoff(self) -> Backoff:
        """Nothing waits."""
        raise AssertionError

    def poll(self, seconds: float, first: float = FIRST_POLL) -> Poll:
        """Nothing waits."""
        raise AssertionError(seconds, first)

    def together(self, tasks: Sequence[Callable[[], T]]) -> list[T]:
        """Does one after the other."""
        return [task() for task in tasks]

    def check_running(self) -> None:
        """Nothing stops it."""

    # --- what the flow calls ----------------------------------------------------------------------

    def info(self, text: str) -> None:
        """Writes the sentence down."""
        with self.moment():
            self.texts.append(text)
            self.lines.append(text)

    def warning(self, text: str) -> None:
        """Writes the sentence down as a warning."""
        self.info(text)
        self.warnings.append(text)

    def show(
        self, title: str, lines: Sequence[str], sections: tuple[Section, ...] = ()
    ) -> None:
        """Writes the lines down."""
        with self.moment():
            self.shown.append(Shown(title, tuple(lines), sections))
            self.lines += lines

    def publish(self, outputs: Mapping[str, str], ids: tuple[str, ...] = ()) -> None:
        """Sets the outputs; `ids` give `id` and `ids`."""
        with self.moment():
            named = {"id": ids[0], "ids": ",".join(ids)} if ids else {}
            self.outputs |= {**outputs, **named}
            self.ids = ids or self.ids

    def remember(self, name: str, value: str | None) -> None:
        """Changes the journal; what is forgotten stays there until the run has ended."""
        with self.moment():
            if value is None:
                self._forgotten.add(name)
            else:
                self._forgotten.discard(name)
                self.journal[name] = value

    def recall(self, name: str) -> str | None:
        """Reads the journal."""
        with self.moment():
            self.recalled.append(name)
            return None if name in self._forgotten else self.journal.get(name)

    def forget_uploads(self, upload_path: str) -> None:
        """What a journal of uploads would do; here is none."""
        del upload_path
        with self.moment():
            pass

    def add_reused(self, result: FileResult) -> None:
        """Adds the result."""
        with self.moment():
            self.results.append(result)

    def arrange(self, paths: Sequence[str]) -> None:
        """Sorts the results."""
        order = list(dict.fromkeys(paths))
        self.results.sort(key=lambda result: order.index(result.path))

    def replace_result(
        self, result: FileResult, answer: Mapping[str, Any] | None = None
    ) -> None:
        """Keeps what has become known of an upload."""
        del answer
        with self.moment():
            self.identifications.append(result)

    def mark_discarded(
        self,
        why: str,
        files: frozenset[str] = frozenset(),
        outputs: tuple[str, ...] = (),
        among: Sequence[FileResult] | None = None,
    ) -> None:
        """Takes the outputs back."""
        del files, among
        with self.moment():
            self.why_discarded = why
            self.outputs = {
                name: value
                for name, value in self.outputs.items()
                if name not in outputs
            }

    def now(self) -> float:
        """The time that was given."""
        return self.time

    def sha256(self, artifact: Artifact) -> str:
        """The SHA-256 of a content that is held in memory."""
        return hashlib.sha256(
            artifact.data if artifact.data is not None else artifact.path.read_bytes()
        ).hexdigest()

    def write(self, destination: Destination, data: bytes) -> bool:
        """Writes the file, as the engine does."""
        with self.moment():
            return destination.write(data)
