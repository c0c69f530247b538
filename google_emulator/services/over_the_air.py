"""Packages of Android over-the-air updates.

Reference: developers.google.com/android/over-the-air/v1/how-tos/create-package,
reference/rest/v1/deployments.packages.
"""

from __future__ import annotations

from google_emulator.config import Config
from google_emulator.http.request import Request
from google_emulator.http.response import ApiError, Json
from google_emulator.http.routes import Route
from google_emulator.protocol.uploads import Media, Service, UploadMethod

SCOPES = ("https://www.googleapis.com/auth/android_partner_over_the_air",)
VIEWS = ("BASIC", "DETAILED")
ZIP_SIGNATURE = b"PK"


class OverTheAir(Service):
    """The packages that were created, in order."""

    def __init__(self, config: Config) -> None:
        self.packages: list[dict[str, Json]] = []
        self._config = config
        path = "/v1/deployments/{deployment}/packages"
        self.routes = [
            Route(
                "androidovertheair.deployments.packages.list",
                "GET",
                path,
                self._list,
                SCOPES,
            )
        ]
        self.uploads = [
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

    def _list(self, request: Request) -> Json:
        """Return the packages of a deployment with their names, which the answer to an upload
        leaves out.
        """
        view = request.query.get("view", "BASIC")
        if view not in VIEWS:
            raise ApiError(400, f"Invalid value at 'view' (TYPE_ENUM), \"{view}\"")
        there = [
            package
            for package in self.packages
            if package["deployment"] == request.params["deployment"]
        ]
        shown = [_resource(package, detailed=view == "DETAILED") for package in there]
        return {"packages": shown} if shown else {}

    def _create(self, _: Request, media: Media) -> dict[str, Json]:
        with media.blob.path.open("rb") as file:
            if file.read(len(ZIP_SIGNATURE)) != ZIP_SIGNATURE:
                raise ApiError(400, "The package is not a zip file.")
        digest = media.blob.hex("sha256")
        name = f"{digest[:20]}{len(self.packages):04x}.zip"
        made = {
            **media.metadata,
            "name": name,
            "size": media.blob.size,
            "sha256": digest,
        }
        self.packages.append({**made, "error": self._config.package_error})
        return {}


def _resource(package: dict[str, Json], *, detailed: bool) -> dict[str, Json]:
    """Return a package as the API shows it; the state of its upload is in the details."""
    state = (
        {"uploadState": "FAILURE", "uploadError": package["error"]}
        if package["error"]
        else {}
    )
    details = {"sizeBytes": str(package["size"]), "uploadState": "SUCCESS", **state}
    shown = {"name": package["name"], "title": package["package_title"]}
    return {**shown, "details": details} if detailed else shown


def _check_metadata(_: Request, metadata: dict[str, Json]) -> None:
    for name in ("deployment", "package_title"):
        if not str(metadata.get(name, "")).strip():
            raise ApiError(400, f"The field {name} is required.")
