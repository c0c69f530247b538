"""Sends APKs and bundles to Play's internal app sharing, where each gets a download link for testers."""

from __future__ import annotations

from functools import partial

from uploader.errors import InputError, Problem
from uploader.files.android import preflight
from uploader.files.android.limits import MAX_BYTES
from uploader.files.artifacts import Artifact, inspect
from uploader.input_problems import Problems
from uploader.inputs import Inputs
from uploader.results import FileResult
from uploader.services import batch, media_types
from uploader.services.base import Endpoint, Prepared, Upload
from uploader.services.catalogue import expand

_APK = "application/vnd.android.package-archive"
_PATH = "/androidpublisher/v3/applications/internalappsharing/{package}/artifacts/"


def prepare(inputs: Inputs, files: tuple[Artifact, ...]) -> Prepared:
    """Reads each manifest, which says apk or bundle and whose it is. Raises InputError with every problem."""
    problems = Problems()
    made = [problems.collect(partial(_upload, file, inputs.package_name)) for file in files]
    uploads = tuple(upload for upload in made if upload)
    preflight.check_certificate([upload.artifact for upload in uploads], inputs.expected_certificate, problems)
    if not files:
        problems.add("files", "no APK or bundle was given.")
    return batch.prepared(inputs, uploads, problems, _outputs)


def _upload(file: Artifact, package: str) -> Upload:
    known = file if file.manifest else inspect(file)
    manifest = known.manifest
    if manifest is None:
        raise InputError(Problem("files", f"{file.name} has no manifest."))
    if package and package != manifest.package:
        what = f"is {package}, but {file.name} belongs to {manifest.package}."
        raise InputError(Problem("package-name", what, "the artifact's own, or nothing"))
    bundle, path = manifest.kind == "bundle", expand(_PATH, {"package": manifest.package}) + manifest.kind
    endpoint = Endpoint(
        id=f"androidpublisher.internalappsharingartifacts.upload{manifest.kind}",
        root="https://androidpublisher.googleapis.com",
        path=path,
        upload_path="/upload" + path,
        media_types=(media_types.OCTETS,) if bundle else (media_types.OCTETS, _APK),
        scopes=("https://www.googleapis.com/auth/androidpublisher",),
        max_size=MAX_BYTES[f"shared {manifest.kind}"],
        at_most_once=True,
        id_fields=("downloadUrl",),
        id_promised=True,
    )
    return Upload(endpoint, known, media_types.OCTETS if bundle else _APK)


def _outputs(results: tuple[FileResult, ...]) -> dict[str, str]:
    """The links, and of the first file how it was signed and its digest, as the service tells them."""
    links = [str(result.resource.get("downloadUrl") or "") for result in results]
    first = results[0].resource
    return {
        "download-url": links[0],
        "download-urls": ",".join(filter(None, links)),
        "certificate-fingerprint": str(first.get("certificateFingerprint") or ""),
        "sha256": str(first.get("sha256") or ""),
    }
