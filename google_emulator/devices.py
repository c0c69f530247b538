"""Two small services: images of Play Games, and packages of Android over-the-air updates.

References: developer.android.com/games/services/publishing/upload and
developers.google.com/android/over-the-air/v1/how-tos/create-package.
"""

from __future__ import annotations

from google_emulator.answers import Json, Refusal
from google_emulator.exchange import Exchange
from google_emulator.router import Media, UploadMethod

IMAGE_TYPES = ("ACHIEVEMENT_ICON", "LEADERBOARD_ICON")
OTA_SCOPES = ("https://www.googleapis.com/auth/android_partner_over_the_air",)
ZIP_MAGIC = b"PK"


def _check_image(x: Exchange) -> None:
    if x.params["type"] not in IMAGE_TYPES:
        raise Refusal(400, f"Invalid value at 'image_type' (TYPE_ENUM), \"{x.params['type']}\"")


def _image(x: Exchange, media: Media) -> dict[str, Json]:
    return {
        "kind": "gamesConfiguration#imageConfiguration",
        "url": f"https://lh3.googleusercontent.com/{media.blob.hex('sha256')[:32]}",
        "resourceId": x.params["resource"],
        "imageType": x.params["type"],
    }


def _check_package(x: Exchange) -> None:
    for name in ("deployment", "package_title"):
        if not str(x.json().get(name, "")).strip():
            raise Refusal(400, f"The field {name} is required.")


def _package(x: Exchange, media: Media) -> dict[str, Json]:
    with media.blob.path.open("rb") as file:
        if file.read(len(ZIP_MAGIC)) != ZIP_MAGIC:
            raise Refusal(400, "The package is not a zip file.")
    package = {**media.metadata, "size": media.blob.size, "sha256": media.blob.hex("sha256")}
    x.world.packages.append(package)
    return {}


UPLOADS = (
    UploadMethod(
        "gamesConfiguration.imageConfigurations.upload",
        "/upload/games/v1configuration/images/{resource}/imageType/{type}",
        _image,
        _check_image,
        accept=("image/*",),
        limit=15 << 20,
    ),
    UploadMethod(
        "androidovertheair.package.upload",
        "/upload/package",
        _package,
        _check_package,
        accept=("application/zip",),
        scopes=OTA_SCOPES,
        empty=True,
        legacy=False,
    ),
)
