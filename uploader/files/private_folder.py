"""A folder beside the workspace for what only the run itself needs, removed at its end."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from uploader.errors import UploaderError
from uploader.files.workspace import Workspace, reason


@contextmanager
def private_folder(workspace: Workspace) -> Iterator[Workspace]:
    """Make a folder that no other user can open, in the CI system's folder for temporary files, and
    remove it with all that is in it.

    Raises UploaderError where it can't be made.
    """
    parent = workspace.temp if workspace.temp and workspace.temp.is_dir() else None
    try:
        folder = tempfile.TemporaryDirectory(
            prefix="uploader-", dir=parent, ignore_cleanup_errors=True
        )
    except OSError as error:
        raise UploaderError(
            f"No folder for temporary files could be made: {reason(error)}.",
            cause="The disk is full, or the folder belongs to another user.",
            hint="Free some space, or name another folder with the variable `TMPDIR`.",
            code="file-not-written",
        ) from None
    with folder as path:
        yield Workspace(Path(path))
