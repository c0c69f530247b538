"""What a release, or `play-verify`, compares with what Google Play serves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from uploader.files.artifacts import Artifact
from uploader.files.destination import Destination
from uploader.files.workspace import Workspace

Version: TypeAlias = tuple[str, int]  # package and version code


@dataclass(frozen=True)
class VerifyGoal:
    """The bundles to compare with what Google Play serves of their versions, for how many seconds
    to wait for that, and where the statement goes.
    """

    bundles: tuple[tuple[Artifact, Version], ...]
    seconds: float
    workspace: Workspace
    destination: Destination
    require_unprotected: bool
