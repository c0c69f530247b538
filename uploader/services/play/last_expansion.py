"""Finds the expansion file that the APK before a new one uses, so that the new one can use it as well."""

from __future__ import annotations

from collections.abc import Mapping

from uploader.errors import ApiError, ReleaseRefused
from uploader.services.base import Steps
from uploader.services.play.edit_api import CompanionKind, entries
from uploader.services.play.edits import ReleaseEdit


def last_expansion(edit: ReleaseEdit, kind: CompanionKind) -> Steps[int]:
    """The version code whose own file the last APK uses; asked once for an edit. Raises ReleaseRefused for none."""
    if kind not in edit.expansions:
        listed = entries((yield edit.api.listed("apks")), "apks")
        codes = [code for one in listed if isinstance(code := one.get("versionCode"), int)]
        last = max((code for code in codes if str(code) not in edit.job.codes), default=None)
        owner = (yield from _owner(edit, last, kind)) if last is not None else None
        if owner is None:
            last_apk = f"The last APK, version code {last}," if last is not None else "The app"
            raise ReleaseRefused(
                f"`expansion-file-{kind}: last-release`: {last_apk} has no {kind} expansion file.",
                cause="There is nothing to carry over.",
                hint="Give a file, or `references:<versionCode>` for the version whose file is to be used.",
                code="no-expansion-file",
            )
        edit.expansions[kind] = owner
    return edit.expansions[kind]


def _owner(edit: ReleaseEdit, code: int, kind: CompanionKind) -> Steps[int | None]:
    """The version that an APK refers to, or itself where the file is its own; Play refers to no reference."""
    try:
        response = yield edit.api.expansion(code, kind)
    except ApiError as refused:
        if refused.status != 404:
            raise
        response = {}
    found = response if isinstance(response, Mapping) else {}
    other = found.get("referencesVersion")
    return other if isinstance(other, int) and other > 0 else code if found.get("fileSize") else None
