"""The paths of the Android Publisher API that several of its parts share, and what their parameters mean."""

from __future__ import annotations

import re

from google_emulator.config import Config
from google_emulator.http.errors import ApiError
from google_emulator.http.request import Request
from google_emulator.services.play.languages import check_language
from google_emulator.services.play.model import STANDARD_TRACKS, AppContent, Edit

APPLICATIONS = "/androidpublisher/v3/applications"
EDITS = APPLICATIONS + "/{package}/edits"
EDIT = EDITS + "/{edit}"
APK = EDIT + "/apks/{code}"
LISTINGS = EDIT + "/listings"
LISTING = LISTINGS + "/{language}"


def code_of(request: Request, edit: Edit) -> int:
    """The version code of the path. Raises `ApiError` 404 when it is not in the edit."""
    text = request.params["code"]
    code = number_of(text)
    if code not in edit.content.artifacts:
        raise ApiError(404, f"Version code {text} could not be found.", "apkNotFound", domain="androidpublisher")
    return code


def number_of(text: str) -> int:
    """A version code of a path; -1, which no artifact has, for anything else."""
    return int(text) if re.fullmatch("[0-9]{1,10}", text) else -1


def check_track(name: str, content: AppContent, config: Config) -> None:
    """Refuses (404) a track that does not exist."""
    standard = name.rpartition(":")[2] in STANDARD_TRACKS  # `wear:production` has a form factor before it
    if name not in content.tracks and not standard and not config.any_track:
        raise ApiError(404, f"Track not found: {name}.")


def type_of(request: Request, types: tuple[str, ...]) -> str:
    """The type of the file in the path. Raises `ApiError` 400 when it is none of `types`."""
    if request.params["type"] not in types:
        raise ApiError(400, f"Invalid value {request.params['type']!r}; one of {', '.join(types)} is expected.")
    return request.params["type"]


def language_of(request: Request) -> str:
    """The language of the path. Raises `ApiError` 400 when it is none of Google Play's."""
    check_language(request.params["language"])
    return request.params["language"]
