"""Google Drive: files are created and replaced, and answer with the fields that were asked for.

Reference: developers.google.com/drive/api/reference/rest/v3/files.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

from google_emulator.http.errors import ApiError
from google_emulator.http.request import Request
from google_emulator.http.response import Json, Response, json_response
from google_emulator.http.routes import Route
from google_emulator.protocol.upload_method import Media, UploadMethod
from google_emulator.services.timestamps import timestamp

SCOPES = tuple(f"https://www.googleapis.com/auth/{name}" for name in ("drive", "drive.file", "drive.appdata"))
DEFAULT_FIELDS = "kind,id,name,mimeType"
_FILE = "/drive/v3/files/{file}"


class Drive:
    """The files of one account, by id."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.files: dict[str, dict[str, Json]] = {}
        self._clock = clock
        self._numbers = itertools.count(1)

    def routes(self) -> list[Route]:
        """The calls that this API serves."""
        return [Route("drive.files.get", "GET", _FILE, self._get, SCOPES)]

    def uploads(self) -> list[UploadMethod]:
        """The upload methods of this API."""
        digests = ("md5", "sha1")
        return [
            UploadMethod(
                "drive.files.create", "/upload/drive/v3/files", self._create, scopes=SCOPES, algorithms=digests
            ),
            UploadMethod(
                "drive.files.update",
                "/upload" + _FILE,
                self._update,
                self._check_exists,
                methods=("PATCH",),
                scopes=SCOPES,
                algorithms=digests,
            ),
        ]

    def _get(self, request: Request) -> Response:
        return json_response(_selected(request, self._file(request)))

    def _file(self, request: Request) -> dict[str, Json]:
        file = self.files.get(request.params["file"])
        if file is None:
            raise ApiError(404, f"File not found: {request.params['file']}.")
        return file

    def _check_exists(self, request: Request, metadata: dict[str, Json]) -> None:
        del metadata
        self._file(request)

    def _create(self, request: Request, media: Media) -> dict[str, Json]:
        return self._store(request, media, str(media.metadata.get("id") or f"file-{next(self._numbers)}"))

    def _update(self, request: Request, media: Media) -> dict[str, Json]:
        return self._store(request, media, request.params["file"])

    def _store(self, request: Request, media: Media, file_id: str) -> dict[str, Json]:
        now = timestamp(self._clock())
        before = self.files.get(file_id, {"createdTime": now})
        changed = {name: value for name, value in media.metadata.items() if name != "parents"}
        self.files[file_id] = {
            "name": "Untitled",
            "parents": media.metadata.get("parents", ["root"]),
            **before,
            **changed,
            "kind": "drive#file",
            "id": file_id,
            "mimeType": media.metadata.get("mimeType") or media.content_type,
            "size": str(media.blob.size),
            "modifiedTime": now,
            **{f"{name}Checksum": media.blob.hex(name) for name in ("md5", "sha1", "sha256")},
        }
        return _selected(request, self.files[file_id])


def _selected(request: Request, file: dict[str, Json]) -> dict[str, Json]:
    """The fields that `fields` asks for; Drive gives kind, id, name and mimeType when it is absent."""
    wanted = request.query.get("fields", DEFAULT_FIELDS)
    return file if wanted == "*" else {name: file[name] for name in wanted.split(",") if name in file}
