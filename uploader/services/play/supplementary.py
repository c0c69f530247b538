"""Finds the one artifact that each mapping, symbols file and expansion file belongs to, and checks
it offline.

A mapping at the wrong artifact makes its crash reports unreadable without anybody noticing, so
nothing is guessed: a file that is not named for exactly one artifact is a mistake, and the message
names both.
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
from uploader.files.android.map_ids import ids_of_artifact, ids_of_mapping, mapping_file, same_build
from uploader.files.artifacts import Artifact, Artifacts
from uploader.files.workspace import Workspace, path_hint, printable
from uploader.inputs.parsers import PLACEHOLDERS, FilesByVersion
from uploader.inputs.records import ReleaseInputs
from uploader.services.play.release_job import SupplementaryFile, version_code

DebugFile: TypeAlias = Literal["mapping", "symbols"]
DEBUG_INPUTS: Mapping[str, str] = {"mapping": "mapping-file", "symbols": "debug-symbols"}
_ONE_EACH = "a path with `{version-code}` or `{name}`, or a line `42=path` for each version code"
_HEAD = 64 << 10  # bytes of a mapping; what R8 writes before the first class has some four hundred


def supplementary_files(
    inputs: ReleaseInputs,
    files: Artifacts,
    readable: Artifacts,
    workspace: Workspace,
    problems: Problems,
) -> Iterator[SupplementaryFile]:
    """All that goes with the artifacts: what bundles carry, and what the inputs name.

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
        self._files, self._readable = files, readable
        # other jobs have other files of the release
        self._split = inputs.common.shard is not None and inputs.common.shard[1] > 1
        # every artifact of the release is known
        self._complete = len(readable) == len(files) and not self._split
        self._workspace, self._problems = workspace, problems

    def debug_files(self, kind: DebugFile) -> Iterator[SupplementaryFile]:
        """What the bundles carry, and what the input names; a file that is named twice is read
        once.
        """
        for artifact in self._readable:
            if _carries(artifact, kind):
                yield SupplementaryFile(kind, "bundle", version_code(artifact))
        read = (
            partial(mapping_file, workspace=self._workspace) if kind == "mapping" else self._symbols
        )
        owned = list(self._matched(kind))
        found = {
            path: self._problems.collect(partial(read, path))
            for path in dict.fromkeys(path for _, path in owned)
        }
        for owner, path in owned:
            if owner and (file := found[path]):
                if kind == "mapping":
                    self._check_build(file, owner)
                yield SupplementaryFile(kind, file, version_code(owner))

    def expansion_files(
        self, kind: Literal["main", "patch"], value: str
    ) -> Iterator[SupplementaryFile]:
        """The expansion file goes with every APK; an artifact that can't be read may be one."""
        name = f"expansion-file-{kind}"
        apks = [one for one in self._readable if one.manifest and one.manifest.kind == "apk"]
        if value and self._complete and not apks:
            self._problems.add(
                name, "only an APK has expansion files.", "together with an APK in `files`"
            )
        file = (
            self._problems.collect(partial(expansion_file, value, self._workspace, name))
            if value
            else None
        )
        if file is not None:
            yield from (SupplementaryFile(kind, file, version_code(apk)) for apk in apks)

    def _matched(self, kind: DebugFile) -> Iterator[tuple[Artifact | None, str]]:
        """The paths of one input, each with its artifact; with none where that can't be read: each
        path is checked.
        """
        paths, wrong = self._paths[kind], partial(self._problems.add, DEBUG_INPUTS[kind])
        if not paths or (not self._files and self._split):  # there may be fewer files than jobs
            return
        if not self._files:
            wrong("there is no artifact to attach it to.", "together with `files`")
        elif paths[0][0]:
            by_code = {str(version_code(artifact)): artifact for artifact in self._readable}
            for code, path in paths:
                if code in by_code or not self._complete:
                    yield by_code.get(code), path
                    continue
                have = ", ".join(f"{one.name} ({own})" for own, one in by_code.items())
                what = (
                    f"{printable(path)} is for version code {code}, which no artifact has: {have}."
                )
                wrong(what, _ONE_EACH, code="companion-without-artifact")
        elif any(placeholder in paths[0][1] for placeholder in PLACEHOLDERS):
            yield from self._by_pattern(kind, paths[0][1])
        elif len(self._files) > 1:
            what = (
                f"it belongs to one artifact, and `files` has {len(self._files)}: "
                f"{_names(self._files)}."
            )
            wrong(what, _ONE_EACH, code="companion-for-several")
        elif self._split:
            what = (
                "it belongs to one artifact, and each of the jobs that share `files` would give it "
                "to its own."
            )
            wrong(what, _ONE_EACH, code="companion-for-several")
        else:
            yield next(iter(self._readable), None), paths[0][1]

    def _by_pattern(self, kind: DebugFile, pattern: str) -> Iterator[tuple[Artifact, str]]:
        by_path, wrong = (
            dict[str, list[Artifact]](),
            partial(self._problems.add, DEBUG_INPUTS[kind]),
        )
        for artifact in self._readable:
            path = pattern.replace("{version-code}", str(version_code(artifact)))
            by_path.setdefault(path.replace("{name}", PurePath(artifact.location).stem), []).append(
                artifact
            )
        for path, artifacts in by_path.items():
            if len(artifacts) > 1:
                what = (
                    f"{printable(path)} belongs to one artifact, and is named for "
                    f"{_names(artifacts)}."
                )
                wrong(what, _ONE_EACH, code="companion-for-several")
            elif os.path.lexists(self._workspace.root / path):
                yield artifacts[0], path
            elif not _carries(artifacts[0], kind):
                meant = printable(path_hint(path, self._workspace.root))
                wrong(f"{printable(path)}, which {artifacts[0].name} needs, does not exist.{meant}")

    def _check_build(self, mapping: Artifact, artifact: Artifact) -> None:
        """Adds a problem when R8 says that the mapping and the artifact are of two builds."""
        with mapping.reader() as head:
            ours = ids_of_mapping(head.read(_HEAD))
        theirs = self._problems.collect(partial(ids_of_artifact, artifact)) if ours else None
        if theirs and not same_build(ours, theirs):
            what = (
                f"{mapping.name} is not the mapping of {artifact.name}: its R8 map id is "
                f"{min(ours, key=len)}, that of the artifact {', '.join(sorted(theirs))}."
            )
            accepted = "the mapping.txt that the build of the artifact wrote"
            self._problems.add("mapping-file", what, accepted, code="mapping-of-another-build")

    def _symbols(self, name: str) -> Artifact:
        """Native symbols, packed where they are a folder: in a file that goes when the process
        ends, even by a kill.

        On macOS it has a name, and stays after a kill.
        """
        folder = self._workspace.temp
        temp = Path(
            tempfile.mkdtemp(
                prefix="uploader-symbols-", dir=folder if folder and folder.is_dir() else None
            )
        )
        atexit.register(shutil.rmtree, temp, ignore_errors=True)
        symbols = native.debug_symbols(name, self._workspace, temp, self._problems)
        with suppress(OSError):  # it holds the packed symbols where a file can't be without a name
            temp.rmdir()
        return symbols


def _carries(artifact: Artifact, kind: str) -> bool:
    return artifact.manifest is not None and kind in artifact.manifest.carries


def _names(artifacts: Artifacts | list[Artifact]) -> str:
    return ", ".join(artifact.name for artifact in artifacts)
