"""Packages of Android over-the-air updates.

Reference: developers.google.com/android/over-the-air/v1/how-tos/create-package.
"""

from __future__ import annotations

from google_emulator.http.errors import ApiError
from google_emulator.http.request import Request
from google_emulator.http.response import Json
from google_emulator.protocol.upload_method import Media, UploadMethod

SCOPES = ("https://www.googleapis.com/auth/android_partner_over_the_air",)
ZIP_SIGNATURE = b"PK"


class OverTheAir:
    """The packages that were created, in order."""

    def __init__(self) -> None:
        self.packages: list[dict[str, Json]] = []

    def uploads(self) -> list[UploadMethod]:
        """The upload methods of this API."""
        return [
            UploadMethod(
                "androidovertheair.package.upload",
                "/upload/package",
                self._create,
                _check_metadata,
                accept=("application/zip",),
                scopes=SCOPES,
                empty=True,
                upload_type=False,
            )
        ]

    def _create(self, request: Request, media: Media) -> dict[str, Json]:
        del request
        with media.blob.path.open("rb") as file:
            if file.read(len(ZIP_SIGNATURE)) != ZIP_SIGNATURE:
                raise ApiError(400, "The package is not a zip file.")
        self.packages.append({**media.metadata, "size": media.blob.size, "sha256": media.blob.hex("sha256")})
        return {}


def _check_metadata(request: Request, metadata: dict[str, Json]) -> None:
    del request
    for name in ("deployment", "package_title"):
        if not str(metadata.get(name, "")).strip():
            raise ApiError(400, f"The field {name} is required.")
