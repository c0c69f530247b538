"""What Play knows of the app itself: the language of texts that name none."""

from __future__ import annotations

from collections.abc import Mapping

from uploader.errors import ReleaseRefused
from uploader.files.android.languages import is_language_name
from uploader.services.base import Steps
from uploader.services.play.release_edit import ReleaseEdit


def default_language(edit: ReleaseEdit) -> Steps[str]:
    """The language of the app's main store listing; asked once for an edit. Raises ReleaseRefused where it has none."""
    if not edit.language:
        details = yield edit.api.details()
        found = details.get("defaultLanguage") if isinstance(details, Mapping) else None
        if not (isinstance(found, str) and is_language_name(found)):
            raise ReleaseRefused(
                "`whats-new`: Google Play gives no default language for the app.",
                cause="Its store listing is not set up yet.",
                hint="Write the language before the text: `en-US: |`, with the text indented below it.",
                code="no-default-language",
            )
        edit.language = found
    return edit.language
