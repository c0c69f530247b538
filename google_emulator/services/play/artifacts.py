"""edits.apks and edits.bundles: artifacts arrive, are read, and use up their version codes."""

from __future__ import annotations

from google_emulator.config import Config
from google_emulator.http.errors import ApiError
from google_emulator.http.request import Request
from google_emulator.http.response import Json, Response, json_response
from google_emulator.http.routes import Route
from google_emulator.protocol.upload_method import Media, UploadMethod
from google_emulator.services.play.artifact_identity import check_identity
from google_emulator.services.play.artifact_signature import check_build
from google_emulator.services.play.model import ArtifactKind, Edit, StoreArtifact
from google_emulator.services.play.paths import EDIT
from google_emulator.services.play.store import PlayStore

APK_TYPES = ("application/vnd.android.package-archive", "application/octet-stream")
BUNDLE_TYPES = ("application/octet-stream",)
APK_LIMIT, BUNDLE_LIMIT = 10 << 30, 50 << 30  # bytes


class ArtifactsApi:
    """The APKs and bundles of an edit."""

    def __init__(self, store: PlayStore, config: Config) -> None:
        self._store = store
        self._config = config

    def routes(self) -> list[Route]:
        """The calls that this API serves."""
        return [
            Route("androidpublisher.edits.apks.list", "GET", EDIT + "/apks", self._list_apks),
            Route("androidpublisher.edits.bundles.list", "GET", EDIT + "/bundles", self._list_bundles),
        ]

    def uploads(self) -> list[UploadMethod]:
        """The upload methods of this API."""
        return [
            UploadMethod(
                "androidpublisher.edits.apks.upload",
                f"/upload{EDIT}/apks",
                self._add_apk,
                self._check_edit,
                accept=APK_TYPES,
                limit=APK_LIMIT,
                algorithms=("sha1",),
            ),
            UploadMethod(
                "androidpublisher.edits.bundles.upload",
                f"/upload{EDIT}/bundles",
                self._add_bundle,
                self._check_edit,
                accept=BUNDLE_TYPES,
                limit=BUNDLE_LIMIT,
                algorithms=("sha1",),
            ),
        ]

    def _check_edit(self, request: Request, metadata: dict[str, Json]) -> None:
        del metadata
        self._store.open_edit(request)

    def _list_apks(self, request: Request) -> Response:
        return self._list(request, "apk")

    def _list_bundles(self, request: Request) -> Response:
        return self._list(request, "bundle")

    def _list(self, request: Request, kind: ArtifactKind) -> Response:
        artifacts = self._store.open_edit(request).content.artifacts.values()
        found = [_resource(one) for one in artifacts if one.kind == kind]
        listing: dict[str, Json] = {"kind": f"androidpublisher#{kind}sListResponse"}
        return json_response({**listing, f"{kind}s": found} if found else listing)

    def _add_apk(self, request: Request, media: Media) -> dict[str, Json]:
        return self._add(request, media, "apk")

    def _add_bundle(self, request: Request, media: Media) -> dict[str, Json]:
        return self._add(request, media, "bundle")

    def _add(self, request: Request, media: Media, kind: ArtifactKind) -> dict[str, Json]:
        edit = self._store.open_edit(request)
        found = check_identity(media.blob.path, kind, request.params["package"])
        check_build(media.blob.path, kind, found)
        self._use_code(edit, found.code)
        sha1, sha256 = media.blob.hex("sha1"), media.blob.hex("sha256")
        artifact = StoreArtifact(found.code, kind, sha1, sha256, media.blob.size, name=found.name)
        edit.content.artifacts[found.code] = artifact
        return _resource(artifact)

    def _use_code(self, edit: Edit, code: int) -> None:
        app = self._store.app(edit.package)
        if code in app.used or code in edit.content.artifacts:
            message = f"Version code {code} has already been used."
            raise ApiError(403, message, "apkUpgradeVersionConflict", domain="androidpublisher")
        if self._config.used_on_upload:
            app.used.add(code)


def _resource(one: StoreArtifact) -> dict[str, Json]:
    digests = {"sha1": one.sha1, "sha256": one.sha256}
    return {"versionCode": one.code, "binary": digests} if one.kind == "apk" else {"versionCode": one.code, **digests}
