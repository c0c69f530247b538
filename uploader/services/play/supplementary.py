"""Finds the one artifact that each mapping, symbols file and expansion file belongs to, and checks it offline.

A mapping at the wrong artifact makes its crash reports unreadable without anybody noticing, so nothing is guessed: a
file that is not named for exactly one artifact is a mistake, and the message names both.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePath
from typing import Literal

from uploader.errors import Problems
from uploader.files.android import native
from uploader.files.android.limits import expansion_file
from uploader.files.android.map_ids import ids_of_artifact, ids_of_mapping, mapping_file, same_build
from uploader.files.artifacts import Artifact
from uploader.files.workspace import Workspace, path_hint, printable
from uploader.inputs.parsers import PLACEHOLDERS, FilesByVersion
from uploader.services.play.release_job import SupplementaryFile, version_code

_ONE_EACH = "a path with `{version-code}` or `{name}`, or a line `42=path` for each version code"
_HEAD = 64 << 10  # bytes of a mapping; what R8 writes before the first class has some four hundred


@dataclass(frozen=True)
class Given:
    """What the files are matched with: all of `files`, and those that could be read, with their manifests.

    `split` says that other jobs have other files of the same release; what is packed is packed below `temp`.
    """

    files: tuple[Artifact, ...]
    readable: tuple[Artifact, ...]
    split: bool
    workspace: Workspace
    temp: Path | None

    @property
    def complete(self) -> bool:
        """Whether every artifact of the release is known."""
        return len(self.readable) == len(self.files) and not self.split


def debug_files(
    kind: Literal["mapping", "symbols"], paths: FilesByVersion, given: Given, problems: Problems
) -> Iterator[SupplementaryFile]:
    """What the bundles carry, and what the input names; a file that is named twice is read once."""
    for artifact in given.readable:
        if _carries(artifact, kind):
            yield SupplementaryFile(kind, "bundle", version_code(artifact))
    read = partial(mapping_file, workspace=given.workspace) if kind == "mapping" else partial(_symbols, given, problems)
    owned = list(_matched(kind, paths, given, problems))
    found = {path: problems.collect(partial(read, path)) for path in dict.fromkeys(path for _, path in owned)}
    for owner, path in owned:
        file = found[path]
        if owner and file:
            if kind == "mapping":
                _check_build(file, owner, problems)
            yield SupplementaryFile(kind, file, version_code(owner))


def expansion_files(
    kind: Literal["main", "patch"], value: str, given: Given, problems: Problems
) -> Iterator[SupplementaryFile]:
    """The expansion file goes with every APK; an artifact that can't be read may be one."""
    if not value:
        return
    name = f"expansion-file-{kind}"
    apks = [one for one in given.readable if one.manifest and one.manifest.kind == "apk"]
    if given.complete and not apks:
        problems.add(name, "only an APK has expansion files.", "together with an APK in `files`")
    file = problems.collect(partial(expansion_file, value, given.workspace, name))
    if file is not None:
        yield from (SupplementaryFile(kind, file, version_code(apk)) for apk in apks)


def _matched(
    kind: Literal["mapping", "symbols"], paths: FilesByVersion, given: Given, problems: Problems
) -> Iterator[tuple[Artifact | None, str]]:
    """The paths of one input, each with its artifact; with none where that can't be read, so that each is checked."""
    files, wrong = given.files, partial(problems.add, "mapping-file" if kind == "mapping" else "debug-symbols")
    if not paths or (not files and given.split):  # there may be fewer files than jobs
        return
    one_each = "it belongs to one artifact, and"
    if not files:
        wrong("there is no artifact to attach it to.", "together with `files`")
    elif paths[0][0]:
        artifacts = {str(version_code(artifact)): artifact for artifact in given.readable}
        for code, path in paths:
            if code in artifacts or not given.complete:
                yield artifacts.get(code), path
                continue
            have = ", ".join(f"{one.name} ({own})" for own, one in artifacts.items())
            what = f"{printable(path)} is for version code {code}, which no artifact has: {have}."
            wrong(what, _ONE_EACH, code="companion-without-artifact")
    elif any(placeholder in paths[0][1] for placeholder in PLACEHOLDERS):
        yield from _by_pattern(kind, paths[0][1], given, wrong)
    elif len(files) > 1:
        wrong(f"{one_each} `files` has {len(files)}: {_names(files)}.", _ONE_EACH, code="companion-for-several")
    elif given.split:
        what = f"{one_each} each of the jobs that share `files` would give it to its own."
        wrong(what, _ONE_EACH, code="companion-for-several")
    else:
        yield next(iter(given.readable), None), paths[0][1]


def _by_pattern(kind: str, pattern: str, given: Given, wrong: Callable[..., None]) -> Iterator[tuple[Artifact, str]]:
    root, by_path = given.workspace.root, dict[str, list[Artifact]]()
    for artifact in given.readable:
        path = pattern.replace("{version-code}", str(version_code(artifact)))
        by_path.setdefault(path.replace("{name}", PurePath(artifact.location).stem), []).append(artifact)
    for path, artifacts in by_path.items():
        if len(artifacts) > 1:
            what = f"{printable(path)} belongs to one artifact, and is named for {_names(artifacts)}."
            wrong(what, _ONE_EACH, code="companion-for-several")
        elif os.path.lexists(root / path):
            yield artifacts[0], path
        elif not _carries(artifacts[0], kind):
            meant = printable(path_hint(path, root))
            wrong(f"{printable(path)}, which {artifacts[0].name} needs, does not exist.{meant}")


def _carries(artifact: Artifact, kind: str) -> bool:
    return artifact.manifest is not None and kind in artifact.manifest.carries


def _names(artifacts: tuple[Artifact, ...] | list[Artifact]) -> str:
    return ", ".join(artifact.name for artifact in artifacts)


def _check_build(mapping: Artifact, artifact: Artifact, problems: Problems) -> None:
    """Adds a problem when R8 says that the mapping and the artifact are of two builds."""
    with mapping.reader() as head:
        ours = ids_of_mapping(head.read(_HEAD))
    theirs = problems.collect(partial(ids_of_artifact, artifact)) if ours else None
    if theirs and not same_build(ours, theirs):
        what = (
            f"{mapping.name} is not the mapping of {artifact.name}: its R8 map id is {min(ours, key=len)}, that of the "
            f"artifact {', '.join(sorted(theirs))}."
        )
        accepted = "the mapping.txt that the build of the artifact wrote"
        problems.add("mapping-file", what, accepted, code="mapping-of-another-build")


def _symbols(given: Given, problems: Problems, name: str) -> Artifact:
    """Native symbols, packed where they are a folder: each in one of its own, which goes when the process ends."""
    folder = given.temp if given.temp and given.temp.is_dir() else None
    temp = Path(tempfile.mkdtemp(prefix="uploader-symbols-", dir=folder))
    atexit.register(shutil.rmtree, temp, ignore_errors=True)
    return native.debug_symbols(name, given.workspace, temp, problems)
