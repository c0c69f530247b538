"""Play Games: the icons of achievements and leaderboards.

Reference: developer.android.com/games/services/publishing/upload.
"""

from __future__ import annotations

from google_emulator.http.errors import ApiError
from google_emulator.http.request import Request
from google_emulator.http.response import Json
from google_emulator.protocol.upload_method import Media, UploadMethod

IMAGE_TYPES = ("ACHIEVEMENT_ICON", "LEADERBOARD_ICON")


def games_uploads() -> list[UploadMethod]:
    """The upload methods of this API."""
    return [
        UploadMethod(
            "gamesConfiguration.imageConfigurations.upload",
            "/upload/games/v1configuration/images/{resource}/imageType/{type}",
            _image,
            _check_type,
            accept=("image/*",),
            limit=15 << 20,
        )
    ]


def _check_type(request: Request, metadata: dict[str, Json]) -> None:
    del metadata
    if request.params["type"] not in IMAGE_TYPES:
        raise ApiError(400, f"Invalid value at 'image_type' (TYPE_ENUM), \"{request.params['type']}\"")


def _image(request: Request, media: Media) -> dict[str, Json]:
    return {
        "kind": "gamesConfiguration#imageConfiguration",
        "url": f"https://lh3.googleusercontent.com/{media.blob.hex('sha256')[:32]}",
        "resourceId": request.params["resource"],
        "imageType": request.params["type"],
    }
