"""Play Games: the icons of achievements and leaderboards.

Reference: developer.android.com/games/services/publishing/upload.
"""

from __future__ import annotations

from google_emulator.http.request import Request
from google_emulator.http.response import ApiError, Json
from google_emulator.protocol.uploads import Media, Service, UploadMethod

IMAGE_TYPES = ("ACHIEVEMENT_ICON", "LEADERBOARD_ICON")


class PlayGames(Service):
    """The images, by `RESOURCE/TYPE`: a resource has one of each type, and a newer one takes its place."""

    def __init__(self) -> None:
        self.images: dict[str, dict[str, Json]] = {}
        self.uploads = [
            UploadMethod(
                "gamesConfiguration.imageConfigurations.upload",
                "/upload/games/v1configuration/images/{resource}/imageType/{type}",
                self._image,
                _check_type,
                accept=("image/*",),
                limit=15 << 20,
            )
        ]

    def _image(self, request: Request, media: Media) -> dict[str, Json]:
        resource, image_type = request.params["resource"], request.params["type"]
        self.images[f"{resource}/{image_type}"] = made = {
            "kind": "gamesConfiguration#imageConfiguration",
            "url": f"https://lh3.googleusercontent.com/{media.blob.hex('sha256')[:32]}",
            "resourceId": resource,
            "imageType": image_type,
        }
        return made


def _check_type(request: Request, _: dict[str, Json]) -> None:
    if request.params["type"] not in IMAGE_TYPES:
        raise ApiError(400, f"Invalid value at 'image_type' (TYPE_ENUM), \"{request.params['type']}\"")
