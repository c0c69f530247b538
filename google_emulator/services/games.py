"""Play Games: icons of achievements and leaderboards.

Reference: developer.android.com/games/services/publishing/upload.
"""

from __future__ import annotations

from google_emulator.http.request import Request
from google_emulator.http.response import ApiError, Json
from google_emulator.http.routes import Route
from google_emulator.protocol.uploads import Media, Service, UploadMethod

_IMAGE = "/games/v1configuration/images/{resource}/imageType/{type}"
IMAGE_TYPES = ("ACHIEVEMENT_ICON", "LEADERBOARD_ICON")


class PlayGames(Service):
    """The images by `RESOURCE/TYPE`. A resource has one image of each type; a new one replaces
    it.
    """

    def __init__(self) -> None:
        self.images: dict[str, dict[str, Json]] = {}
        name = "gamesConfiguration.imageConfigurations.upload"
        self.routes = [Route(name, "POST", _IMAGE, self._image)]
        self.uploads = [
            UploadMethod(
                name,
                "/upload" + _IMAGE,
                self._image,
                _check_type,
                accept=("image/*",),
                limit=15 << 20,
            )
        ]

    def _image(self, request: Request, media: Media | None = None) -> dict[str, Json]:
        """Return the image's resource. Metadata without media leaves the picture as it is."""
        _check_type(request)
        resource, image_type = request.params["resource"], request.params["type"]
        made = {
            "kind": "gamesConfiguration#imageConfiguration",
            "resourceId": resource,
            "imageType": image_type,
        }
        kept = self.images.setdefault(f"{resource}/{image_type}", made)
        if media:
            kept["url"] = (
                f"https://lh3.googleusercontent.com/{media.blob.hex('sha256')[:32]}"
            )
        return kept


def _check_type(request: Request, _: object = None) -> None:
    if request.params["type"] not in IMAGE_TYPES:
        raise ApiError(
            400,
            f"Invalid value at 'image_type' (TYPE_ENUM), \"{request.params['type']}\"",
        )
