"""Checks single files that Play keeps beside an artifact: R8 or ProGuard mapping, expansion files; and sizes."""

from __future__ import annotations

import re
from pathlib import Path

from uploader.errors import InputError, Problem
from uploader.files.android.play_limits import MAX_BYTES
from uploader.files.artifacts import Artifact, from_path

_REFERENCE = re.compile(r"references:\s*([1-9][0-9]{0,9})", re.ASCII)
_CLASS = re.compile(rb"[^\s:]+ -> [^\s:]+:\s*")
_HEADER = 1 << 20  # bytes in which the first class has to come; before it there are only comments


def too_large(artifact: Artifact, kind: str, input_name: str = "files") -> Problem | None:
    """A problem when the file is larger than Play takes for its kind (a key of MAX_BYTES)."""
    if artifact.size is None or artifact.size <= MAX_BYTES[kind]:
        return None
    return Problem(input_name, f"{artifact.name} has {artifact.size:,} bytes, Play takes {MAX_BYTES[kind]:,}.")


def mapping_file(path: Path, *, name: str = "", within: Path | None = None) -> Artifact:
    """The mapping, known by its first class line (`a.b.C -> x.y:`). Raises InputError (`mapping-file`)."""
    artifact = from_path(path, name or path.name, input_name="mapping-file", within=within)
    problem = too_large(artifact, "mapping", "mapping-file") or _mapping_problem(artifact)
    if problem:
        raise InputError(problem)
    return artifact


def _mapping_problem(artifact: Artifact) -> Problem | None:
    accepted = "mapping.txt as R8 or ProGuard writes it, not compressed"
    try:
        with artifact.path.open("rb") as file:
            lines = file.read(_HEADER).splitlines()
    except OSError as error:
        return Problem("mapping-file", f"{artifact.name} can't be read: {error.strerror}.", accepted)
    first = next((line for line in lines if line.strip() and not line.lstrip().startswith(b"#")), None)
    if first is None:
        return Problem("mapping-file", f"{artifact.name} has no class in it. Was the build minified?", accepted)
    if not _CLASS.fullmatch(first):
        return Problem("mapping-file", f"{artifact.name} is not an R8 or ProGuard mapping.", accepted)
    return None


def expansion_file(value: str, workspace: Path, input_name: str, *, within: Path | None = None) -> Artifact | int:
    """An expansion file, or the version code behind `references:`. Raises InputError for that input.

    Google takes any format (an .obb is an opaque blob, most often a zip), so only the size is checked.
    """
    if value.startswith("references:"):
        found = _REFERENCE.fullmatch(value)
        if found is None:
            raise InputError(
                Problem(input_name, f"`{value}` names no version code.", "a file, or references:<versionCode>")
            )
        return int(found[1])
    artifact = from_path(workspace / value, value, input_name=input_name, within=within)
    if artifact.size == 0:
        raise InputError(Problem(input_name, f"{artifact.name} is empty (0 bytes)."))
    if problem := too_large(artifact, "expansion", input_name):
        raise InputError(problem)
    return artifact
