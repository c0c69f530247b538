"""The table of Play's limits against Google's own document, as the catalogue of upload methods has it."""

from __future__ import annotations

import pytest

from uploader.files.android.limits import MAX_BYTES
from uploader.services import catalogue

METHODS = {
    "bundle": "edits.bundles.upload",
    "apk": "edits.apks.upload",
    "mapping": "edits.deobfuscationfiles.upload",
    "symbols": "edits.deobfuscationfiles.upload",
    "expansion": "edits.expansionfiles.upload",
    "image": "edits.images.upload",
    "shared bundle": "internalappsharingartifacts.uploadbundle",
    "shared apk": "internalappsharingartifacts.uploadapk",
}


@pytest.mark.parametrize("kind", MAX_BYTES)
def test_no_size_differs_from_what_google_documents(kind: str) -> None:
    """Both say the same number of bytes."""
    method = catalogue.find(f"androidpublisher.{METHODS[kind]}")
    assert method is not None
    assert MAX_BYTES[kind] == method.max_size
