"""The files beside the artifacts: mapping, symbols, expansion files, release notes, listing; checked offline."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from uploader.files.android import release_notes, store_listing
from uploader.files.android.expansion import expansion_file
from uploader.files.android.mapping import mapping_file
from uploader.files.artifacts import Artifact
from uploader.files.workspace import Workspace
from uploader.input_problems import Problems
from uploader.inputs import Inputs
from uploader.services.play.edit_api import CompanionKind, ExpansionKind
from uploader.services.play.job import Companion
from uploader.services.play.tracks import Notes

T = TypeVar("T")

LAST_RELEASE = "last-release"  # instead of a folder: the notes of the release that is on the track now


@dataclass(frozen=True, slots=True)
class JobFiles:
    """Everything beside the artifacts. `notes` are release notes by track, under None those of every other track."""

    companions: tuple[Companion, ...] = ()
    notes: Mapping[str | None, Notes] = field(default_factory=dict)
    listing: store_listing.StoreFiles | None = None


def read_job_files(inputs: Inputs, artifacts: tuple[Artifact, ...], problems: Problems) -> JobFiles:
    """Reads them all; what is wrong or odd about any of them is added to the problems."""
    return _Reader(inputs, artifacts, problems).read()


class _Reader:
    """Reads one file or folder after the other, and goes on after a mistake."""

    def __init__(self, inputs: Inputs, artifacts: tuple[Artifact, ...], problems: Problems) -> None:
        self._inputs = inputs
        self._workspace = Workspace.of(inputs)
        own = [artifact.manifest.version_code for artifact in artifacts if artifact.manifest]
        self._codes = own or [int(code) for code in inputs.version_codes_to_retain]
        self._problems = problems

    def read(self) -> JobFiles:
        found: list[tuple[CompanionKind, Artifact | int | None]]
        found = [("mapping", self._mapping()), ("symbols", self._symbols()), *self._expansions()]
        companions = tuple(Companion(kind, file) for kind, file in found if file is not None)
        return JobFiles(companions, self._notes(), self._listing())

    def _warned(self, read: Callable[[], tuple[T, tuple[str, ...]]]) -> T | None:
        value, warnings = self._problems.collect(read) or (None, ())
        self._problems.warnings += warnings
        return value

    def _mapping(self) -> Artifact | None:
        name = self._inputs.mapping_file
        if not name:
            return None
        return self._problems.collect(lambda: mapping_file(name, self._workspace))

    def _symbols(self) -> Artifact | None:
        name = self._inputs.debug_symbols
        if not name:
            return None
        from uploader.files.android import native_symbols  # few releases bring any, and zipfile is slow to import

        temp = _temporary(self._inputs.platform.temp)
        return self._warned(lambda: native_symbols.debug_symbols(name, self._workspace, temp))

    def _expansions(self) -> list[tuple[ExpansionKind, Artifact | int]]:
        given: tuple[tuple[ExpansionKind, str], ...] = (
            ("main", self._inputs.expansion_file_main),
            ("patch", self._inputs.expansion_file_patch),
        )
        found = [(kind, self._expansion(kind, value)) for kind, value in given if value]
        return [(kind, file) for kind, file in found if file is not None]

    def _expansion(self, kind: ExpansionKind, value: str) -> Artifact | int | None:
        name = f"expansion-file-{kind}"
        return self._problems.collect(lambda: expansion_file(value, self._workspace, name))

    def _notes(self) -> Mapping[str | None, Notes]:
        name, tracks = self._inputs.whats_new_directory, self._inputs.tracks
        if name in ("", LAST_RELEASE):
            return {}
        read = self._warned(lambda: release_notes.notes(name, self._workspace, self._codes, tracks))
        return {track: tuple(texts.items()) for track, texts in (read or {}).items()}

    def _listing(self) -> store_listing.StoreFiles | None:
        name = self._inputs.images_directory
        if not name:
            return None
        return self._warned(lambda: store_listing.listing(name, self._workspace))


def _temporary(folder: Path | None) -> Path:
    """A folder of this process's own, made when something is packed into it and gone when the process ends."""
    import atexit  # these three are for native symbols alone, which few releases bring
    import shutil
    import tempfile

    path = Path(tempfile.mkdtemp(prefix="uploader-symbols-", dir=folder if folder and folder.is_dir() else None))
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return path
