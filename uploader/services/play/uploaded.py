"""Look up which artifacts Google Play has of an app, by version code, whoever uploaded them.

Only an edit shows that, and opening one closes any other edit that the account has open for the
app. So it is looked up only if something is wrong with a version, and not at all if an earlier run
left an edit to be continued.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from functools import partial
from typing import TypeAlias

from uploader.errors import Interrupted, ReleaseRefused, Stopped, UploaderError
from uploader.services.base import Context
from uploader.services.play import client
from uploader.services.play.client import Edit
from uploader.services.play.edit_lifecycle import find_unfinished_edit, read_and_delete
from uploader.services.play.model import ListedArtifact

ByVersionCode: TypeAlias = Mapping[int, ListedArtifact]


class UploadedArtifacts:
    """The bundles and APKs that Google Play has of an app. They are read once."""

    def __init__(self, package: str, context: Context) -> None:
        self._package = package
        self._context = context
        self._lock = threading.Lock()
        self._was_read = False
        self._artifacts: ByVersionCode | None = None

    def read(self) -> ByVersionCode | None:
        """Return them by version code; None if they can't be looked up, which is logged.

        Raises Interrupted and Stopped.
        """
        with self._lock:
            if not self._was_read:
                self._artifacts = self._look_up()
                self._was_read = True
            return self._artifacts

    def check_has(self, version_code: int) -> None:
        """Raise ReleaseRefused if Google Play surely has no artifact of a version."""
        artifacts = self.read()
        if artifacts is None or version_code in artifacts:
            return
        raise ReleaseRefused(
            f"Google Play has no version {version_code} of {self._package}.",
            cause="Neither the app's bundles nor its APKs have it: it was not uploaded, or the "
            "edit with it was not committed.",
            hint="Compare the bundle of a version that was released. If it was released a moment "
            "ago, run again.",
            code="version-not-uploaded",
        )

    def _look_up(self) -> ByVersionCode | None:
        context = self._context
        try:
            kept = find_unfinished_edit(self._package, context)
            if kept:
                context.info(
                    f"Edit {kept} of an unfinished release would be closed by another, so what "
                    "was uploaded is not looked up."
                )
                return None
            edit = client.insert(context, self._package)
            context.info(f"Opened edit {edit.id} to read what was uploaded.")
            return read_and_delete(edit, partial(_read, context), context)
        except (Interrupted, Stopped):
            raise
        except UploaderError as error:
            context.info(f"What was uploaded could not be looked up: {error.what}")
            return None


def _read(context: Context, edit: Edit) -> ByVersionCode:
    bundles, apks = context.together(
        [partial(edit.artifacts, "bundles"), partial(edit.artifacts, "apks")]
    )
    return {artifact.version_code: artifact for artifact in (*bundles, *apks)}
