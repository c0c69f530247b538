"""The files of a release beside the artifacts: what goes with those, notes and names, listing; checked offline."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from uploader.files.android import release_notes, store_listing
from uploader.files.workspace import Workspace
from uploader.input_problems import Problems
from uploader.inputs import Inputs
from uploader.inputs.parse_play import LAST_RELEASE
from uploader.services.play.companion_files import GivenFiles, companions
from uploader.services.play.job import Companion
from uploader.services.play.tracks import Notes

T = TypeVar("T")


@dataclass(frozen=True)
class JobFiles:
    """Everything beside the artifacts. `notes` and `names` are by track, under None those of every other track."""

    companions: tuple[Companion, ...] = ()
    notes: Mapping[str | None, Notes] = field(default_factory=dict)
    names: Mapping[str | None, str] = field(default_factory=dict)
    listing: store_listing.StoreFiles | None = None


def read_job_files(inputs: Inputs, files: GivenFiles, problems: Problems) -> JobFiles:
    """Reads them all; what is wrong or odd about any of them is added to the problems."""
    return _Reader(inputs, files, problems).read()


class _Reader:
    """Reads one file or folder after the other, and goes on after a mistake."""

    def __init__(self, inputs: Inputs, files: GivenFiles, problems: Problems) -> None:
        self._inputs = inputs
        self._files = files
        self._workspace = Workspace.of(inputs)
        own = [artifact.manifest.version_code for artifact in files.readable if artifact.manifest]
        named = inputs.promote_version_codes or inputs.version_codes_to_retain
        self._codes = own or [int(code) for code in named if code != LAST_RELEASE]
        self._problems = problems

    def read(self) -> JobFiles:
        found = companions(self._inputs, self._files, self._problems)
        return JobFiles(found, self._notes(), self._names(), self._listing())

    def _warned(self, read: Callable[[], tuple[T, tuple[str, ...]]]) -> T | None:
        value, warnings = self._problems.collect(read) or (None, ())
        self._problems.warnings += warnings
        return value

    def _notes(self) -> Mapping[str | None, Notes]:
        name, text, tracks = self._inputs.whats_new_directory, self._inputs.whats_new, self._inputs.tracks
        if name and text:
            self._problems.add("whats-new", "release notes were given in `whats-new-directory` as well.", "one of them")
        if text and text != LAST_RELEASE:
            return {None: tuple((self._warned(lambda: self._inline(text)) or {}).items())}
        if name in ("", LAST_RELEASE):
            return {}
        read = self._warned(lambda: release_notes.notes(name, self._workspace, self._codes, tracks))
        return {track: tuple(texts.items()) for track, texts in (read or {}).items()}

    @staticmethod
    def _inline(text: str) -> tuple[dict[str, str], tuple[str, ...]]:
        from uploader.files.android.inline_notes import inline_notes  # most releases have theirs in files, or none

        return inline_notes(text)

    def _names(self) -> Mapping[str | None, str]:
        name = self._inputs.whats_new_directory
        if name in ("", LAST_RELEASE) or self._inputs.release_name:
            return {}
        return self._warned(lambda: release_notes.names(name, self._workspace, self._inputs.tracks)) or {}

    def _listing(self) -> store_listing.StoreFiles | None:
        name = self._inputs.images_directory
        if not name:
            return None
        return self._warned(lambda: store_listing.listing(name, self._workspace))
