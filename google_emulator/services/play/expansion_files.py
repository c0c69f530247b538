"""edits.expansionfiles: the expansion files of an APK, its own or another version's."""

from __future__ import annotations

from google_emulator.http.errors import ApiError
from google_emulator.http.request import Request
from google_emulator.http.response import Json, Response, json_response
from google_emulator.http.routes import Route
from google_emulator.protocol.upload_method import Media, UploadMethod
from google_emulator.services.payload_rules import MessageRule, int32, int64, read_message
from google_emulator.services.play.model import Edit
from google_emulator.services.play.paths import APK, code_of, type_of
from google_emulator.services.play.store import PlayStore

TYPES = ("main", "patch")
SIZE_LIMIT = 2 << 30  # bytes
_PATH = APK + "/expansionFiles/{type}"
_RULE = MessageRule({"referencesVersion": int32, "fileSize": int64})


class ExpansionFilesApi:
    """The expansion files of the APKs in an edit."""

    def __init__(self, store: PlayStore) -> None:
        self._store = store

    def routes(self) -> list[Route]:
        """The calls that this API serves."""
        return [
            Route("androidpublisher.edits.expansionfiles.get", "GET", _PATH, self._get),
            Route("androidpublisher.edits.expansionfiles.patch", "PATCH", _PATH, self._set_reference),
            Route("androidpublisher.edits.expansionfiles.update", "PUT", _PATH, self._set_reference),
        ]

    def uploads(self) -> list[UploadMethod]:
        """The upload methods of this API."""
        return [
            UploadMethod(
                "androidpublisher.edits.expansionfiles.upload",
                "/upload" + _PATH,
                self._add,
                self._check,
                accept=("application/octet-stream",),
                limit=SIZE_LIMIT,
            )
        ]

    def _check(self, request: Request, metadata: dict[str, Json]) -> None:
        del metadata
        _key(request, self._store.open_edit(request))

    def _add(self, request: Request, media: Media) -> dict[str, Json]:
        edit = self._store.open_edit(request)
        expansion: dict[str, Json] = {"fileSize": str(media.blob.size)}
        edit.content.expansion[_key(request, edit)] = expansion
        return {"expansionFile": expansion}

    def _get(self, request: Request) -> Response:
        edit = self._store.open_edit(request)
        found = edit.content.expansion.get(_key(request, edit))
        if found is None:
            raise ApiError(404, "No expansion file was found.", "expansionFileNotFound", domain="androidpublisher")
        return json_response(found)

    def _set_reference(self, request: Request) -> Response:
        """An expansion file taken from another version, which must have one of its own."""
        edit = self._store.open_edit(request)
        key = _key(request, edit)
        other = read_message(request.json(), _RULE, "expansion_file").get("referencesVersion", 0)
        if "fileSize" not in edit.content.expansion.get((other, key[1]), {}):
            raise ApiError(400, f"Version code {other} has no {key[1]} expansion file to refer to.")
        edit.content.expansion[key] = {"referencesVersion": other}
        return json_response(edit.content.expansion[key])


def _key(request: Request, edit: Edit) -> tuple[int, str]:
    code = code_of(request, edit)
    if edit.content.artifacts[code].kind != "apk":
        raise ApiError(400, "Expansion files are only for APKs, not for bundles.")
    return code, type_of(request, TYPES)
