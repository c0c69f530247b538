"""Sends APKs and bundles to Play's internal app sharing, where each gets a download link for testers."""

from __future__ import annotations

from uploader.errors import InputError, Problem
from uploader.files.android.play_limits import MAX_BYTES
from uploader.files.artifacts import Artifact, inspect
from uploader.inputs import Inputs
from uploader.results import FileResult
from uploader.services import batch_upload, media_types, paths
from uploader.services.base import Endpoint, Prepared, Upload

_APK = "application/vnd.android.package-archive"
_PATH = "/androidpublisher/v3/applications/internalappsharing/{package}/artifacts/"


def prepare(inputs: Inputs, files: tuple[Artifact, ...]) -> Prepared:
    """Reads each manifest, which says apk or bundle and whose it is. Raises InputError with every problem."""
    made = [_checked(file, inputs) for file in files]
    uploads = tuple(one for one in made if isinstance(one, Upload))
    problems = [problem for one in made if not isinstance(one, Upload) for problem in one]
    if not files:
        problems.append(Problem("files", "names no APK or bundle."))
    if problems:
        raise InputError(*dict.fromkeys(problems))
    return batch_upload.prepared(inputs, uploads, _outputs)


def _checked(file: Artifact, inputs: Inputs) -> Upload | tuple[Problem, ...]:
    try:
        upload = _upload(file, inputs.package_name)
    except InputError as error:
        return error.problems
    return batch_upload.check(upload, inputs) or upload


def _upload(file: Artifact, package: str) -> Upload:
    known = file if file.manifest else inspect(file)
    manifest = known.manifest
    if manifest is None:
        raise InputError(Problem("files", f"{file.name} has no manifest."))
    if package and package != manifest.package:
        what = f"is {package}, but {file.name} belongs to {manifest.package}."
        raise InputError(Problem("package-name", what, "the artifact's own, or nothing"))
    endpoint = _endpoint(manifest.kind, manifest.package)
    return Upload(endpoint, known, media_types.OCTETS if manifest.kind == "bundle" else _APK)


def _endpoint(kind: str, package: str) -> Endpoint:
    path = paths.expand(_PATH, {"package": package}) + kind
    return Endpoint(
        id=f"androidpublisher.internalappsharingartifacts.upload{kind}",
        root="https://androidpublisher.googleapis.com",
        path=path,
        upload_path="/upload" + path,
        media_types=(media_types.OCTETS,) if kind == "bundle" else (media_types.OCTETS, _APK),
        scopes=("https://www.googleapis.com/auth/androidpublisher",),
        max_size=MAX_BYTES[f"shared {kind}"],
        id_fields=("downloadUrl",),
    )


def _outputs(results: tuple[FileResult, ...]) -> batch_upload.Outputs:
    """The links, and of the first file how it was signed and its digest, as the service tells them."""

    def values(field: str) -> list[str]:
        return [str(result.resource.get(field) or "") for result in results]

    links = values("downloadUrl")
    return {
        "id": links[0],
        "ids": ",".join(filter(None, links)),
        "download-url": links[0],
        "download-urls": ",".join(filter(None, links)),
        "certificate-fingerprint": values("certificateFingerprint")[0],
        "sha256": values("sha256")[0],
    }
