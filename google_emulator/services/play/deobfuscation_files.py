"""edits.deobfuscationfiles: ProGuard mappings and native symbols of an artifact."""

from __future__ import annotations

from google_emulator.http.request import Request
from google_emulator.http.response import Json
from google_emulator.protocol.upload_method import Media, UploadMethod
from google_emulator.services.play.paths import APK, code_of, type_of
from google_emulator.services.play.store import PlayStore

SYMBOL_TYPES = ("proguard", "nativeCode")
SYMBOLS_LIMIT = 2_097_152_000  # bytes


class DeobfuscationFilesApi:
    """The deobfuscation files of the artifacts in an edit."""

    def __init__(self, store: PlayStore) -> None:
        self._store = store

    def uploads(self) -> list[UploadMethod]:
        """The upload methods of this API."""
        return [
            UploadMethod(
                "androidpublisher.edits.deobfuscationfiles.upload",
                f"/upload{APK}/deobfuscationFiles/{{type}}",
                self._add,
                self._check,
                accept=("application/octet-stream",),
                limit=SYMBOLS_LIMIT,
            )
        ]

    def _check(self, request: Request, metadata: dict[str, Json]) -> None:
        del metadata
        code_of(request, self._store.open_edit(request))
        type_of(request, SYMBOL_TYPES)

    def _add(self, request: Request, media: Media) -> dict[str, Json]:
        edit = self._store.open_edit(request)
        kind = type_of(request, SYMBOL_TYPES)
        symbols = {"sha256": media.blob.hex("sha256"), "size": media.blob.size}
        edit.content.symbols[code_of(request, edit), kind] = symbols
        return {"deobfuscationFile": {"symbolType": kind}}
