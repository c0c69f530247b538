"""Checks an APK's expansion file. Google takes any format (an .obb is an opaque blob), so only its size counts."""

from __future__ import annotations

from uploader.files.android.play_limits import check_size
from uploader.files.artifacts import Artifact, from_path
from uploader.files.workspace import Workspace
from uploader.input_problems import Problems


def expansion_file(value: str, workspace: Workspace, input_name: str) -> Artifact | int:
    """An expansion file, or the version code behind `references:`. Raises InputError for that input."""
    if value.startswith("references:"):
        return int(value.removeprefix("references:"))
    artifact, problems = from_path(workspace.root / value, value, workspace.access(input_name)), Problems()
    if artifact.size == 0:
        problems.add(input_name, f"{artifact.name} is empty (0 bytes).")
    check_size(artifact, "expansion", problems, input_name)
    problems.raise_if_any()
    return artifact
