"""What the paths of files that go with an artifact have in common: the version code and the file's type."""

from __future__ import annotations

from google_emulator.http.errors import ApiError
from google_emulator.http.request import Request
from google_emulator.services.play.model import Edit
from google_emulator.services.play.paths import EDIT

APK = EDIT + "/apks/{code}"


def known_code(request: Request, edit: Edit) -> int:
    """The version code of the path. Raises `ApiError` 404 when it is not in the edit."""
    text = request.params["code"]
    if not text.isdecimal() or int(text) not in edit.content.artifacts:
        raise ApiError(404, f"Version code {text} could not be found.", "apkNotFound", domain="androidpublisher")
    return int(text)


def companion_type(request: Request, types: tuple[str, ...]) -> str:
    """The file's type in the path. Raises `ApiError` 400 when it is none of `types`."""
    if request.params["type"] not in types:
        raise ApiError(400, f"Invalid value {request.params['type']!r}; one of {', '.join(types)} is expected.")
    return request.params["type"]
