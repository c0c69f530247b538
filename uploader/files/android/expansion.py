"""Checks an APK's expansion file. Google takes any format (an .obb is an opaque blob), so only its size counts."""

from __future__ import annotations

import re
from pathlib import Path

from uploader.errors import InputError, Problem
from uploader.files.android.play_limits import check_size
from uploader.files.artifacts import Artifact, from_path
from uploader.problems import Problems

_REFERENCE = re.compile(r"references:\s*([1-9][0-9]{0,9})", re.ASCII)


def expansion_file(value: str, workspace: Path, input_name: str, *, within: Path | None = None) -> Artifact | int:
    """An expansion file, or the version code behind `references:`. Raises InputError for that input."""
    if value.startswith("references:"):
        found = _REFERENCE.fullmatch(value)
        if found is None:
            what = f"`{value}` names no version code."
            raise InputError(Problem(input_name, what, "a file, or references:<versionCode>"))
        return int(found[1])
    artifact, problems = from_path(workspace / value, value, input_name=input_name, within=within), Problems()
    if artifact.size == 0:
        problems.add(input_name, f"{artifact.name} is empty (0 bytes).")
    check_size(artifact, "expansion", problems, input_name)
    problems.raise_if_any()
    return artifact
