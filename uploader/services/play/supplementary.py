"""Find the one artifact that each mapping, symbols file and expansion file belongs to, and check it
offline.

A mapping that goes with the wrong artifact makes its crash reports unreadable without anybody
noticing, so nothing is guessed: a file that is not named for exactly one artifact is a mistake, and
the message names both.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path, PurePath
from typing import Literal, TypeAlias

from uploader.errors import Problems
from uploader.files.android import native
from uploader.files.android.limits import expansion_file
from uploader.files.android.map_ids import (
    ids_of_artifact,
    ids_of_mapping,
    mapping_file,
    same_build,
)
from uploader.files.artifacts import Artifact, Artifacts
from uploader.files.spool import not_made, temporary_folder
from uploader.files.workspace import Workspace, path_hint, printable
from uploader.inputs.parsers import PLACEHOLDERS, FilesByVersion
from uploader.inputs.records import ReleaseInputs
from uploader.services.play.release_job import SupplementaryFile, version_code

DebugFile: TypeAlias = Literal["mapping", "symbols"]
DEBUG_INPUTS: Mapping[str, str] = {
    "mapping": "mapping-file",
    "symbols": "debug-symbols",
}
_ONE_EACH = "a path with `{version-code}` or `{name}`, or a line `42=path` for each version code"
# bytes of a mapping that are searched for its id; R8 writes about 400 before the first class
_HEAD = 64 << 10


def supplementary_files(
    inputs: ReleaseInputs,
    files: Artifacts,
    readable: Artifacts,
    workspace: Workspace,
    problems: Problems,
) -> Iterator[SupplementaryFile]:
    """Yield all that goes with the artifacts: what bundles carry, and what the inputs name.

    `readable` are those of `files` that could be read, with their manifests.
    """
    matching = _Matching(inputs, files, readable, workspace, problems)
    yield from matching.debug_files("mapping")
    yield from matching.debug_files("symbols")
    yield from matching.expansion_files("main", inputs.expansion_file_main)
    yield from matching.expansion_files("patch", inputs.expansion_file_patch)


class _Matching:
    """The files of a run, and the artifacts that they are matched with."""

    def __init__(
        self,
        inputs: ReleaseInputs,
        files: Artifacts,
        readable: Artifacts,
        workspace: Workspace,
        problems: Problems,
    ) -> None:
        self._paths: Mapping[DebugFile, FilesByVersion] = {
            "mapping": inputs.mapping_file,
            "symbols": inputs.debug_symbols,
        }
        self._files = files
        self._readable = readable
        self._workspace = workspace
        self._problems = problems
        # Whether other jobs have other files of the release.
        self._split = inputs.common.shard is not None and inputs.common.shard[1] > 1
        # Whether every artifact of the release is known.
        self._complete = len(readable) == len(files) and not self._split

    def debug_files(self, kind: DebugFile) -> Iterator[SupplementaryFile]:
        """Yield what the bundles carry, and what the input names.

        A file that is named twice is read once.
        """
        for artifact in self._readable:
            if _carries(artifact, kind):
                yield SupplementaryFile(kind, "bundle", version_code(artifact))
        matches = list(self._match_paths(kind))
        files: dict[str, Artifact | None] = {}
        for _, path in matches:
            if path not in files:
                files[path] = self._problems.collect(partial(self._open, kind, path))
        for owner, path in matches:
            file = files[path]
            if owner is None or file is None:
                continue
            if kind == "mapping":
                self._check_build(file, owner)
            yield SupplementaryFile(kind, file, version_code(owner))

    def _open(self, kind: DebugFile, path: str) -> Artifact:
        """Return a mapping or symbols file. Raises InputError for anything else."""
        if kind == "mapping":
            return mapping_file(path, workspace=self._workspace)
        return self._symbols(path)

    def expansion_files(
        self, kind: Literal["main", "patch"], value: str
    ) -> Iterator[SupplementaryFile]:
        """Yield the expansion file for every APK.

        Having no APK is a problem, unless some artifact can't be read or another job has some: such
        an artifact may be an APK.
        """
        if not value:
            return
        name = f"expansion-file-{kind}"
        apks = [
            artifact
            for artifact in self._readable
            if artifact.manifest and artifact.manifest.kind == "apk"
        ]
        if self._complete and not apks:
            self._problems.add(
                name,
                "only an APK has expansion files.",
                "together with an APK in `files`",
            )
        file = self._problems.collect(
            partial(expansion_file, value, self._workspace, name)
        )
        if file is None:
            return
        for apk in apks:
            yield SupplementaryFile(kind, file, version_code(apk))

    def _match_paths(self, kind: DebugFile) -> Iterator[tuple[Artifact | None, str]]:
        """Yield the paths of one input, each with its artifact.

        The artifact is None if it can't be read: each path is checked all the same.
        """
        paths = self._paths[kind]
        refuse = partial(self._problems.add, DEBUG_INPUTS[kind])
        if not paths:
            return
        if not self._files:
            # If several jobs share the files, some of them may have none.
            if not self._split:
                refuse("there is no artifact to attach it to.", "together with `files`")
            return
        code, path = paths[0]
        if code:
            yield from self._by_version_code(kind, paths)
        elif any(placeholder in path for placeholder in PLACEHOLDERS):
            yield from self._by_pattern(kind, path)
        elif len(self._files) > 1:
            what = (
                f"it belongs to one artifact, and `files` has {len(self._files)}: "
                f"{_names(self._files)}."
            )
            refuse(what, _ONE_EACH, code="companion-for-several")
        elif self._split:
            what = (
                "it belongs to one artifact, and each of the jobs that share `files` would use it "
                "for its own."
            )
            refuse(what, _ONE_EACH, code="companion-for-several")
        else:
            yield next(iter(self._readable), None), path

    def _by_version_code(
        self, kind: DebugFile, paths: FilesByVersion
    ) -> Iterator[tuple[Artifact | None, str]]:
        """Yield each path with the artifact that has its version code."""
        by_code = {str(version_code(artifact)): artifact for artifact in self._readable}
        for code, path in paths:
            if code in by_code or not self._complete:
                yield by_code.get(code), path
                continue
            artifacts = ", ".join(
                f"{artifact.name} ({own})" for own, artifact in by_code.items()
            )
            what = (
                f"{printable(path)} is for version code {code}, which no artifact has: "
                f"{artifacts}."
            )
            self._problems.add(
                DEBUG_INPUTS[kind],
                what,
                _ONE_EACH,
                code="companion-without-artifact",
            )

    def _by_pattern(
        self, kind: DebugFile, pattern: str
    ) -> Iterator[tuple[Artifact, str]]:
        """Yield each artifact whose file exists, with the path that the pattern gives for it."""
        refuse = partial(self._problems.add, DEBUG_INPUTS[kind])
        by_path: dict[str, list[Artifact]] = {}
        for artifact in self._readable:
            path = pattern.replace("{version-code}", str(version_code(artifact)))
            path = path.replace("{name}", PurePath(artifact.location).stem)
            by_path.setdefault(path, []).append(artifact)
        for path, artifacts in by_path.items():
            if len(artifacts) > 1:
                what = (
                    f"{printable(path)} belongs to one artifact, and is named for "
                    f"{_names(artifacts)}."
                )
                refuse(what, _ONE_EACH, code="companion-for-several")
            elif os.path.lexists(self._workspace.root / path):
                yield artifacts[0], path
            elif not _carries(artifacts[0], kind):
                hint = printable(path_hint(path, self._workspace.root))
                refuse(
                    f"{printable(path)}, which {artifacts[0].name} needs, does not exist.{hint}"
                )

    def _check_build(self, mapping: Artifact, artifact: Artifact) -> None:
        """Add a problem if the mapping and the artifact are of two builds by their R8 map ids."""
        with mapping.reader() as head:
            ids = ids_of_mapping(head.read(_HEAD))
        if not ids:
            return
        built_ids = self._problems.collect(partial(ids_of_artifact, artifact))
        if built_ids and not same_build(ids, built_ids):
            what = (
                f"{mapping.name} is not the mapping of {artifact.name}: its R8 map id is "
                f"{min(ids, key=len)}, that of the artifact {', '.join(sorted(built_ids))}."
            )
            accepted = "the mapping.txt that the build of the artifact wrote"
            self._problems.add(
                "mapping-file",
                what,
                accepted,
                code="mapping-of-another-build",
            )

    def _symbols(self, name: str) -> Artifact:
        """Return native symbols; a folder is packed into a temporary file.

        The file is gone when the process ends, even by a kill. On macOS it has a name, and stays
        after a kill. Raises InputError, and UploaderError if the file can't be written, as on a
        full disk.
        """
        folder = temporary_folder(self._workspace)
        try:
            temp = Path(tempfile.mkdtemp(prefix="uploader-symbols-", dir=folder))
            atexit.register(shutil.rmtree, temp, ignore_errors=True)
            symbols = native.debug_symbols(
                name,
                self._workspace,
                temp,
                self._problems,
            )
        except OSError as error:
            raise not_made(folder, error) from None
        # The folder is not empty if the system has no files without names: then it has the packed
        # symbols.
        with suppress(OSError):
            temp.rmdir()
        return symbols


def _carries(artifact: Artifact, kind: str) -> bool:
    return artifact.manifest is not None and kind in artifact.manifest.carries


def _names(artifacts: Artifacts | list[Artifact]) -> str:
    return ", ".join(artifact.name for artifact in artifacts)
