"""edits.apks, edits.bundles and internal app sharing: artifacts arrive, are read, and use up their version codes."""

from __future__ import annotations

from google_emulator.answers import Answer, Json, Refusal, as_json
from google_emulator.exchange import Exchange
from google_emulator.play.edits import BASE, open_edit
from google_emulator.play.model import Edit, StoreArtifact
from google_emulator.play.packages import Identity, Kind, identify
from google_emulator.router import Media, Route, UploadMethod

APK_TYPES = ("application/vnd.android.package-archive", "application/octet-stream")
BUNDLE_TYPES = ("application/octet-stream",)
GIB = 1 << 30
FINGERPRINT = ":".join(["AB"] * 32)


def _resource(one: StoreArtifact) -> dict[str, Json]:
    digests = {"sha1": one.sha1, "sha256": one.sha256}
    return {"versionCode": one.code, "binary": digests} if one.kind == "apk" else {"versionCode": one.code, **digests}


def _list(x: Exchange, kind: Kind) -> Answer:
    found = [_resource(one) for one in open_edit(x).content.artifacts.values() if one.kind == kind]
    name = f"{kind}s"
    listing: dict[str, Json] = {"kind": f"androidpublisher#{name}ListResponse"}
    return as_json({**listing, name: found} if found else listing)


def _apks(x: Exchange) -> Answer:
    return _list(x, "apk")


def _bundles(x: Exchange) -> Answer:
    return _list(x, "bundle")


def _needs_edit(x: Exchange) -> None:
    open_edit(x)


def _identity(x: Exchange, media: Media, kind: Kind) -> Identity:
    identity = identify(media.blob.path, kind)
    package = x.params["package"]
    if identity.package != package:
        raise Refusal(
            403,
            f"The package name of the {kind} is {identity.package}, but it was uploaded for {package}.",
            "apkInvalidPackageName",
        )
    return identity


def _add(x: Exchange, media: Media, kind: Kind) -> dict[str, Json]:
    edit = open_edit(x)
    code = _identity(x, media, kind).code
    _use(x, edit, code)
    artifact = StoreArtifact(code, kind, media.blob.hex("sha1"), media.blob.hex("sha256"), media.blob.size)
    edit.content.artifacts[code] = artifact
    return _resource(artifact)


def _use(x: Exchange, edit: Edit, code: int) -> None:
    app = x.world.play.app(edit.package)
    if code in app.used or code in edit.content.artifacts:
        raise Refusal(
            403,
            f"Version code {code} has already been used.",
            "apkUpgradeVersionConflict",
            domain="androidpublisher",
        )
    if x.world.config.used_on_upload:
        app.used.add(code)


def _add_apk(x: Exchange, media: Media) -> dict[str, Json]:
    return _add(x, media, "apk")


def _add_bundle(x: Exchange, media: Media) -> dict[str, Json]:
    return _add(x, media, "bundle")


def _known_app(x: Exchange) -> None:
    x.world.play.app(x.params["package"])


def _share(x: Exchange, media: Media, kind: Kind) -> dict[str, Json]:
    identity = _identity(x, media, kind)
    sha256 = media.blob.hex("sha256")
    return {
        "certificateFingerprint": FINGERPRINT,
        "downloadUrl": f"https://play.google.com/apps/test/{identity.package}/{sha256[:16]}",
        "sha256": sha256,
    }


def _share_apk(x: Exchange, media: Media) -> dict[str, Json]:
    return _share(x, media, "apk")


def _share_bundle(x: Exchange, media: Media) -> dict[str, Json]:
    return _share(x, media, "bundle")


_DIGESTS = ("sha1", "sha256")
_SHARING = "/upload/androidpublisher/v3/applications/internalappsharing/{package}/artifacts"

ROUTES = (
    Route("androidpublisher.edits.apks.list", "GET", BASE + "/{edit}/apks", _apks),
    Route("androidpublisher.edits.bundles.list", "GET", BASE + "/{edit}/bundles", _bundles),
)
UPLOADS = (
    UploadMethod(
        "androidpublisher.edits.apks.upload",
        "/upload" + BASE + "/{edit}/apks",
        _add_apk,
        _needs_edit,
        accept=APK_TYPES,
        limit=10 * GIB,
        algorithms=_DIGESTS,
    ),
    UploadMethod(
        "androidpublisher.edits.bundles.upload",
        "/upload" + BASE + "/{edit}/bundles",
        _add_bundle,
        _needs_edit,
        accept=BUNDLE_TYPES,
        limit=50 * GIB,
        algorithms=_DIGESTS,
    ),
    UploadMethod(
        "androidpublisher.internalappsharingartifacts.uploadapk",
        _SHARING + "/apk",
        _share_apk,
        _known_app,
        accept=APK_TYPES,
        limit=GIB,
    ),
    UploadMethod(
        "androidpublisher.internalappsharingartifacts.uploadbundle",
        _SHARING + "/bundle",
        _share_bundle,
        _known_app,
        accept=BUNDLE_TYPES,
        limit=10 * GIB,
    ),
)
