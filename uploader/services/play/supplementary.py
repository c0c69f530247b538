"""Finds the one artifact that each mapping, symbols file and expansion file belongs to, and checks it offline.

A mapping at the wrong artifact makes its crash reports unreadable without anybody noticing, so nothing is guessed: a
file that is not named for exactly one artifact is a mistake, and the message names both.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePath
from typing import Literal

from uploader.files.android import native
from uploader.files.android.limits import expansion_file
from uploader.files.android.mapping import ids_of_artifact, ids_of_mapping, mapping_file, same_build
from uploader.files.artifacts import Artifact
from uploader.files.workspace import Workspace, path_hint, printable
from uploader.input_problems import Problems
from uploader.inputs import Inputs
from uploader.inputs.parse_play import LAST_RELEASE, PLACEHOLDERS, FilesByVersion
from uploader.services.play.edit_api import ExpansionKind
from uploader.services.play.job import Companion

_ONE_EACH = "a path with `{version-code}` or `{name}`, or a line `42=path` for each version code"
_HEAD = 64 << 10  # bytes of a mapping; what R8 writes before the first class has some four hundred

Read = Callable[[str], Artifact | None]


@dataclass(frozen=True)
class GivenFiles:
    """All of `files`, and those that could be read, with their manifests; `shard` where other jobs have the rest."""

    all: tuple[Artifact, ...]
    readable: tuple[Artifact, ...]
    shard: tuple[int, int] | None = None

    @property
    def complete(self) -> bool:
        """Whether every artifact of the release is known."""
        return len(self.readable) == len(self.all) and not self.split

    @property
    def split(self) -> bool:
        """Whether other jobs have other files of the same release."""
        return self.shard is not None and self.shard[1] > 1


def companions(inputs: Inputs, files: GivenFiles, problems: Problems) -> tuple[Companion, ...]:
    """What goes with each artifact. What is wrong or odd about any of it is added to the problems."""
    workspace = Workspace.of(inputs)

    def mapping(name: str) -> Artifact | None:
        return problems.collect(partial(mapping_file, name, workspace))

    def symbols(name: str) -> Artifact | None:
        return problems.collect(partial(_symbols, name, workspace, inputs.platform.temp, problems))

    mappings = _DebugFiles("mapping", "mapping-file", files, workspace, problems).find(inputs.mapping_file, mapping)
    return (
        *mappings,
        *_DebugFiles("symbols", "debug-symbols", files, workspace, problems).find(inputs.debug_symbols, symbols),
        *_expansions("main", inputs.expansion_file_main, files, workspace, problems),
        *_expansions("patch", inputs.expansion_file_patch, files, workspace, problems),
    )


class _DebugFiles:
    """The files of one input, each with its artifact."""

    def __init__(
        self,
        kind: Literal["mapping", "symbols"],
        name: str,
        files: GivenFiles,
        workspace: Workspace,
        problems: Problems,
    ) -> None:
        self._kind = kind
        self._input = name
        self._files = files
        self._workspace = workspace
        self._problems = problems

    def find(self, given: FilesByVersion, read: Read) -> Iterator[Companion]:
        """What the bundles carry, and what the input names; a file that is named twice is read once."""
        for artifact in self._files.readable:
            if self._carries(artifact):
                yield Companion(self._kind, "bundle", _code(artifact))
        paths = self._paths(given)
        found = {path: read(path) for path in dict.fromkeys(path for _, path in paths)}
        for owner, path in paths:
            file = found[path]
            if owner and file:
                if self._kind == "mapping":
                    _check_build(file, owner, self._problems)
                yield Companion(self._kind, file, _code(owner))

    def _paths(self, given: FilesByVersion) -> list[tuple[Artifact | None, str]]:
        """Each path with its artifact; with none where that can't be read, so that the path is checked all the same."""
        if not given:
            return []
        path = given[0][1]
        if not self._files.all and self._files.split:
            return []  # there are fewer files than jobs
        if not self._files.all:
            self._wrong("there is no artifact to attach it to.", "together with `files`")
        elif given[0][0]:
            return list(self._by_line(given))
        elif any(placeholder in path for placeholder in PLACEHOLDERS):
            return list(self._by_pattern(path))
        elif len(self._files.all) > 1:
            what = f"it belongs to one artifact, and `files` has {len(self._files.all)}: {_names(self._files.all)}."
            self._wrong(what, _ONE_EACH, code="companion-for-several")
        elif self._files.split:
            what = "it belongs to one artifact, and each of the jobs that share `files` would give it to its own."
            self._wrong(what, _ONE_EACH, code="companion-for-several")
        else:
            return [(next(iter(self._files.readable), None), path)]
        return []

    def _by_line(self, given: FilesByVersion) -> Iterator[tuple[Artifact | None, str]]:
        artifacts = {str(_code(artifact)): artifact for artifact in self._files.readable}
        for code, path in given:
            if code not in artifacts and self._files.complete:
                have = ", ".join(f"{one.name} ({_code(one)})" for one in self._files.readable)
                what = f"{printable(path)} is for version code {code}, which no artifact has: {have}."
                self._wrong(what, _ONE_EACH, code="companion-without-artifact")
            else:
                yield artifacts.get(code), path

    def _by_pattern(self, pattern: str) -> Iterator[tuple[Artifact | None, str]]:
        by_path: dict[str, list[Artifact]] = {}
        for artifact in self._files.readable:
            path = pattern.replace("{version-code}", str(_code(artifact)))
            by_path.setdefault(path.replace("{name}", PurePath(artifact.location).stem), []).append(artifact)
        for path, artifacts in by_path.items():
            if len(artifacts) > 1:
                what = f"{printable(path)} belongs to one artifact, and is named for {_names(artifacts)}."
                self._wrong(what, _ONE_EACH, code="companion-for-several")
            elif os.path.lexists(self._workspace.root / path):
                yield artifacts[0], path
            elif not self._carries(artifacts[0]):
                meant = printable(path_hint(path, self._workspace.root))
                self._wrong(f"{printable(path)}, which {artifacts[0].name} needs, does not exist.{meant}")

    def _carries(self, artifact: Artifact) -> bool:
        return artifact.manifest is not None and self._kind in artifact.manifest.carries

    def _wrong(self, what: str, accepted: str = "", code: str = "") -> None:
        self._problems.add(self._input, what, accepted, code=code)


def _check_build(mapping: Artifact, artifact: Artifact, problems: Problems) -> None:
    """Adds a problem when R8 says that the mapping and the artifact are of two builds."""
    with mapping.reader() as head:
        ours = ids_of_mapping(head.read(_HEAD))
    if not ours:
        return
    theirs = problems.collect(partial(ids_of_artifact, artifact))
    if theirs and not same_build(ours, theirs):
        what = (
            f"{mapping.name} is not the mapping of {artifact.name}: its R8 map id is {min(ours, key=len)}, that of the "
            f"artifact {', '.join(sorted(theirs))}."
        )
        accepted = "the mapping.txt that the build of the artifact wrote"
        problems.add("mapping-file", what, accepted, code="mapping-of-another-build")


def _symbols(name: str, workspace: Workspace, temp: Path | None, problems: Problems) -> Artifact:

    # A folder for each: what is packed has the same name everywhere.
    artifact, warnings = native.debug_symbols(name, workspace, _temporary(temp))
    problems.warnings += warnings
    return artifact


def _expansions(
    kind: ExpansionKind, value: str, files: GivenFiles, workspace: Workspace, problems: Problems
) -> Iterator[Companion]:
    """The expansion file goes with every APK; one that can't be read may be an APK."""
    if not value:
        return
    name = f"expansion-file-{kind}"
    apks = [one for one in files.readable if one.manifest and one.manifest.kind == "apk"]
    if files.complete and not apks:
        problems.add(name, "only an APK has expansion files.", "together with an APK in `files`")
    file: Artifact | int | Literal["last-release"] | None = LAST_RELEASE
    if value != LAST_RELEASE:
        file = problems.collect(partial(expansion_file, value, workspace, name))
    if file is not None:
        yield from (Companion(kind, file, _code(apk)) for apk in apks)


def _code(artifact: Artifact) -> int:
    return artifact.manifest.version_code if artifact.manifest else 0


def _names(artifacts: Iterable[Artifact]) -> str:
    return ", ".join(artifact.name for artifact in artifacts)


def _temporary(folder: Path | None) -> Path:
    """A folder of this process's own, made when something is packed into it and gone when the process ends."""
    import atexit  # these three are for native symbols alone, which few releases bring
    import shutil
    import tempfile

    path = Path(tempfile.mkdtemp(prefix="uploader-symbols-", dir=folder if folder and folder.is_dir() else None))
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return path
