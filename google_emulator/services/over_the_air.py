"""Packages of Android over-the-air updates.

Reference: developers.google.com/android/over-the-air/v1/how-tos/create-package, reference/rest/v1/deployments.packages.
"""

from __future__ import annotations

from google_emulator.http.errors import ApiError
from google_emulator.http.request import Request
from google_emulator.http.response import Json, Response, json_response
from google_emulator.http.routes import Route
from google_emulator.protocol.upload_method import Media, UploadMethod

SCOPES = ("https://www.googleapis.com/auth/android_partner_over_the_air",)
ZIP_SIGNATURE = b"PK"


class OverTheAir:
    """The packages that were created, in order."""

    def __init__(self) -> None:
        self.packages: list[dict[str, Json]] = []

    def routes(self) -> list[Route]:
        """The calls that this API serves."""
        path = "/v1/deployments/{deployment}/packages"
        return [Route("androidovertheair.deployments.packages.list", "GET", path, self._list, SCOPES)]

    def _list(self, request: Request) -> Response:
        """What an upload's answer leaves out: the names of the packages, beside their titles."""
        there = [one for one in self.packages if one["deployment"] == request.params["deployment"]]
        shown = [{"name": one["name"], "title": one["package_title"]} for one in there]
        return json_response({"packages": shown} if shown else {})

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
        digest = media.blob.hex("sha256")
        name = f"{digest[:20]}{len(self.packages):04x}.zip"
        self.packages.append({**media.metadata, "name": name, "size": media.blob.size, "sha256": digest})
        return {}


def _check_metadata(request: Request, metadata: dict[str, Json]) -> None:
    del request
    for name in ("deployment", "package_title"):
        if not str(metadata.get(name, "")).strip():
            raise ApiError(400, f"The field {name} is required.")
