"""APKs and bundles, in an edit or for internal app sharing, and their expansion and deobfuscation
files.

Reference: developers.google.com/android-publisher/api-ref/rest/v3, edits.apks, edits.bundles,
edits.expansionfiles, edits.deobfuscationfiles and internalappsharingartifacts.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from google_emulator.http.request import Request
from google_emulator.http.response import ApiError, Json, Response, json_response
from google_emulator.http.routes import Route
from google_emulator.protocol.uploads import Media, Service, UploadMethod
from google_emulator.services.payload_rules import Rule, int32, int64, read_message
from google_emulator.services.play.artifact_files import check_build, check_identity
from google_emulator.services.play.store import (
    APK,
    APPLICATIONS,
    EDIT,
    ArtifactKind,
    Edit,
    PlayStore,
    StoreArtifact,
    code_of,
    type_of,
)

TYPES: Mapping[ArtifactKind, tuple[str, ...]] = {
    "apk": ("application/vnd.android.package-archive", "application/octet-stream"),
    "bundle": ("application/octet-stream",),
}
LIMITS: Mapping[ArtifactKind, int] = {"apk": 10 << 30, "bundle": 50 << 30}  # bytes
SHARING_LIMITS: Mapping[ArtifactKind, int] = {"apk": 1 << 30, "bundle": 10 << 30}
FINGERPRINT = ":".join(["AB"] * 32)
EXPANSION_TYPES = ("main", "patch")
EXPANSION_LIMIT = 2 << 30
SYMBOL_TYPES = ("proguard", "nativeCode")
SYMBOLS_LIMIT = 2_097_152_000
_SHARING = f"/upload{APPLICATIONS}/internalappsharing/{{package}}/artifacts"
_EXPANSION = APK + "/expansionFiles/{type}"
_EXPANSION_RULE: Mapping[str, Rule] = {"referencesVersion": int32, "fileSize": int64}
_BYTES = ("application/octet-stream",)


class ArtifactsApi(Service):
    """The APKs and bundles of an edit, and internal app sharing, which needs no edit."""

    def __init__(self, store: PlayStore) -> None:
        self._store = store
        self.routes = [
            Route(
                f"androidpublisher.edits.{kind}s.list",
                "GET",
                f"{EDIT}/{kind}s",
                partial(self._list, kind=kind),
            )
            for kind in LIMITS
        ]
        self.uploads = [
            *(self._upload(kind) for kind in LIMITS),
            *(self._sharing(kind) for kind in SHARING_LIMITS),
        ]

    def _upload(self, kind: ArtifactKind) -> UploadMethod:
        return UploadMethod(
            f"androidpublisher.edits.{kind}s.upload",
            f"/upload{EDIT}/{kind}s",
            partial(self._add, kind=kind),
            lambda request, _: self._store.open_edit(request),
            accept=TYPES[kind],
            limit=LIMITS[kind],
            algorithms=("sha1",),
        )

    def _sharing(self, kind: ArtifactKind) -> UploadMethod:
        return UploadMethod(
            f"androidpublisher.internalappsharingartifacts.upload{kind}",
            f"{_SHARING}/{kind}",
            partial(_share, kind=kind),
            lambda request, _: self._store.app(request.params["package"]),
            accept=TYPES[kind],
            limit=SHARING_LIMITS[kind],
        )

    def _list(self, request: Request, kind: ArtifactKind) -> Json:
        artifacts = self._store.open_edit(request).content.artifacts.values()
        found = [_resource(artifact) for artifact in artifacts if artifact.kind == kind]
        return {
            "kind": f"androidpublisher#{kind}sListResponse",
            **({f"{kind}s": found} if found else {}),
        }

    def _add(
        self, request: Request, media: Media, kind: ArtifactKind
    ) -> dict[str, Json]:
        edit = self._store.open_edit(request)
        found = check_identity(media.blob.path, kind, request.params["package"])
        check_build(media.blob.path, kind, found)
        app = self._store.app(edit.package)
        if found.code in app.used or found.code in edit.content.artifacts:
            message = f"Version code {found.code} has already been used."
            raise ApiError(
                403, message, "apkUpgradeVersionConflict", domain="androidpublisher"
            )
        if self._store.config.used_on_upload:
            app.used.add(found.code)
        sha1, sha256 = media.blob.hex("sha1"), media.blob.hex("sha256")
        artifact = StoreArtifact(
            found.code, kind, sha1, sha256, media.blob.size, found.name, media.blob.path
        )
        edit.content.artifacts[found.code] = artifact
        return _resource(artifact)


def _resource(artifact: StoreArtifact) -> dict[str, Json]:
    digests = {"sha1": artifact.sha1, "sha256": artifact.sha256}
    return (
        {"versionCode": artifact.code, "binary": digests}
        if artifact.kind == "apk"
        else {"versionCode": artifact.code, **digests}
    )


def _share(request: Request, media: Media, kind: ArtifactKind) -> dict[str, Json]:
    """Return the link to a shared artifact. It needs no edit and uses up no version code."""
    identity = check_identity(media.blob.path, kind, request.params["package"])
    sha256 = media.blob.hex("sha256")
    return {
        "certificateFingerprint": FINGERPRINT,
        "downloadUrl": f"https://play.google.com/apps/test/{identity.package}/{sha256[:16]}",
        "sha256": sha256,
    }


class SupplementaryFilesApi(Service):
    """The files that belong to an artifact in an edit: expansion files of an APK, ProGuard mappings
    and native symbols.
    """

    def __init__(self, store: PlayStore) -> None:
        self._store = store
        self.routes = [
            Route(
                "androidpublisher.edits.expansionfiles.get",
                "GET",
                _EXPANSION,
                self._get,
            ),
            Route(
                "androidpublisher.edits.expansionfiles.patch",
                "PATCH",
                _EXPANSION,
                self._set_reference,
            ),
            Route(
                "androidpublisher.edits.expansionfiles.update",
                "PUT",
                _EXPANSION,
                self._set_reference,
            ),
        ]
        self.uploads = [
            UploadMethod(
                "androidpublisher.edits.expansionfiles.upload",
                "/upload" + _EXPANSION,
                self._add_expansion,
                lambda request, _: self._expansion(request),
                accept=_BYTES,
                limit=EXPANSION_LIMIT,
            ),
            UploadMethod(
                "androidpublisher.edits.deobfuscationfiles.upload",
                f"/upload{APK}/deobfuscationFiles/{{type}}",
                self._add_symbols,
                lambda request, _: self._symbols(request),
                accept=_BYTES,
                limit=SYMBOLS_LIMIT,
            ),
        ]

    def _expansion(self, request: Request) -> tuple[Edit, tuple[int, str]]:
        """Return the edit, and the version code and type of the expansion file in the path. Raises
        `ApiError`.
        """
        edit = self._store.open_edit(request)
        code = code_of(request, edit)
        if edit.content.artifacts[code].kind != "apk":
            raise ApiError(400, "Expansion files are only for APKs, not for bundles.")
        return edit, (code, type_of(request, EXPANSION_TYPES))

    def _add_expansion(self, request: Request, media: Media) -> dict[str, Json]:
        edit, key = self._expansion(request)
        edit.content.expansion[key] = {"fileSize": str(media.blob.size)}
        return {"expansionFile": edit.content.expansion[key]}

    def _get(self, request: Request) -> Response:
        edit, key = self._expansion(request)
        found = edit.content.expansion.get(key)
        if found is None:
            raise ApiError(
                404,
                "No expansion file was found.",
                "expansionFileNotFound",
                domain="androidpublisher",
            )
        return json_response(found)

    def _set_reference(self, request: Request) -> Response:
        """Use the expansion file of another version. Raises `ApiError` 400 if that version has none
        of its own.
        """
        edit, key = self._expansion(request)
        other = read_message(request.json(), _EXPANSION_RULE, "expansion_file").get(
            "referencesVersion", 0
        )
        if "fileSize" not in edit.content.expansion.get((other, key[1]), {}):
            raise ApiError(
                400, f"Version code {other} has no {key[1]} expansion file to refer to."
            )
        edit.content.expansion[key] = {"referencesVersion": other}
        return json_response(edit.content.expansion[key])

    def _symbols(self, request: Request) -> tuple[Edit, tuple[int, str]]:
        """Return the edit, and the version code and type of the deobfuscation file in the path.
        Raises `ApiError`.
        """
        edit = self._store.open_edit(request)
        return edit, (code_of(request, edit), type_of(request, SYMBOL_TYPES))

    def _add_symbols(self, request: Request, media: Media) -> dict[str, Json]:
        edit, key = self._symbols(request)
        edit.content.symbols[key] = {
            "sha256": media.blob.hex("sha256"),
            "size": media.blob.size,
        }
        return {"deobfuscationFile": {"symbolType": key[1]}}
