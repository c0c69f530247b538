"""internalappsharingartifacts: an artifact gets a link at once, without an edit, and uses up no version code."""

from __future__ import annotations

from google_emulator.http.request import Request
from google_emulator.http.response import Json
from google_emulator.protocol.upload_method import Media, UploadMethod
from google_emulator.services.play.artifact_identity import check_identity
from google_emulator.services.play.artifacts import APK_TYPES, BUNDLE_TYPES
from google_emulator.services.play.model import ArtifactKind
from google_emulator.services.play.paths import APPLICATIONS
from google_emulator.services.play.store import PlayStore

APK_SHARING_LIMIT, BUNDLE_SHARING_LIMIT = 1 << 30, 10 << 30  # bytes
FINGERPRINT = ":".join(["AB"] * 32)
_SHARING = f"/upload{APPLICATIONS}/internalappsharing/{{package}}/artifacts"


class InternalSharingApi:
    """Internal app sharing of one account's apps."""

    def __init__(self, store: PlayStore) -> None:
        self._store = store

    def uploads(self) -> list[UploadMethod]:
        """The upload methods of this API."""
        return [
            UploadMethod(
                "androidpublisher.internalappsharingartifacts.uploadapk",
                _SHARING + "/apk",
                self._share_apk,
                self._check_app,
                accept=APK_TYPES,
                limit=APK_SHARING_LIMIT,
            ),
            UploadMethod(
                "androidpublisher.internalappsharingartifacts.uploadbundle",
                _SHARING + "/bundle",
                self._share_bundle,
                self._check_app,
                accept=BUNDLE_TYPES,
                limit=BUNDLE_SHARING_LIMIT,
            ),
        ]

    def _check_app(self, request: Request, metadata: dict[str, Json]) -> None:
        del metadata
        self._store.app(request.params["package"])

    def _share_apk(self, request: Request, media: Media) -> dict[str, Json]:
        return _share(request, media, "apk")

    def _share_bundle(self, request: Request, media: Media) -> dict[str, Json]:
        return _share(request, media, "bundle")


def _share(request: Request, media: Media, kind: ArtifactKind) -> dict[str, Json]:
    identity = check_identity(media.blob.path, kind, request.params["package"])
    sha256 = media.blob.hex("sha256")
    return {
        "certificateFingerprint": FINGERPRINT,
        "downloadUrl": f"https://play.google.com/apps/test/{identity.package}/{sha256[:16]}",
        "sha256": sha256,
    }
