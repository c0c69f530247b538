"""Checks an R8 or ProGuard mapping, by which Play turns obfuscated crash reports back into the app's own names."""

from __future__ import annotations

import re

from uploader.files.android.play_limits import check_size
from uploader.files.artifacts import Artifact, from_path
from uploader.files.workspace import Workspace
from uploader.input_problems import Problems

_INPUT = "mapping-file"
_ACCEPTED = "mapping.txt as R8 or ProGuard writes it, not compressed"
_CLASS = re.compile(rb"[^\s:]+ -> [^\s:]+:\s*")
_HEADER = 1 << 20  # bytes in which the first class has to come; before it there are only comments


def mapping_file(name: str, workspace: Workspace) -> Artifact:
    """The mapping, known by its first class line (`a.b.C -> x.y:`). Raises InputError (`mapping-file`)."""
    problems = Problems()
    artifact = from_path(workspace.root / name, name, workspace.access(_INPUT))
    check_size(artifact, "mapping", problems, _INPUT)
    problems.raise_if_any()
    with artifact.reader() as file:
        lines = file.read(_HEADER).splitlines()
    first = next((line for line in lines if line.strip() and not line.lstrip().startswith(b"#")), None)
    if first is None:
        problems.add(_INPUT, f"{artifact.name} contains no classes. Was the build minified?", _ACCEPTED)
    elif not _CLASS.fullmatch(first):
        problems.add(_INPUT, f"{artifact.name} is not an R8 or ProGuard mapping.", _ACCEPTED)
    problems.raise_if_any()
    return artifact
