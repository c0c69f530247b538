"""Sends APKs and bundles to Play's internal app sharing, where each gets a download link for
testers.
"""

from __future__ import annotations

from functools import partial

from uploader.errors import InputError, Problem, Problems
from uploader.files.android import preflight
from uploader.files.artifacts import Artifact, Artifacts, inspect
from uploader.inputs.records import CommonInputs
from uploader.results import FileResult
from uploader.services import batch, catalogue
from uploader.services.base import Prepared, Upload


def prepare(
    inputs: CommonInputs, files: Artifacts, packages: tuple[str, ...], certificate: str
) -> Prepared:
    """Reads each manifest, which says apk or bundle and whose it is. Raises InputError with every
    problem.
    """
    problems = Problems()
    made = [problems.collect(partial(_upload, file, packages)) for file in files]
    uploads = tuple(upload for upload in made if upload)
    preflight.check_certificate([upload.artifact for upload in uploads], certificate, problems)
    if not files:
        problems.add("files", "no APK or bundle was given.")
    return batch.prepared(inputs, uploads, problems, _outputs)


def _upload(file: Artifact, packages: tuple[str, ...]) -> Upload:
    known = file if file.manifest else inspect(file)
    manifest = known.manifest
    assert manifest, "`inspect` has read it"
    if packages and manifest.package not in packages:
        what = f"is {', '.join(packages)}, but {file.name} belongs to {manifest.package}."
        raise InputError(Problem("package-name", what, "the artifact's own, or nothing"))
    method = catalogue.find(f"androidpublisher.internalappsharingartifacts.upload{manifest.kind}")
    assert method, "the catalogue has one for each kind"
    endpoint = method.endpoint(
        {"packageName": manifest.package}, at_most_once=True, id_fields=("downloadUrl",)
    )
    # of an APK its own one, of a bundle the only one
    return Upload(endpoint, known, endpoint.media_types[-1])


def _outputs(results: tuple[FileResult, ...]) -> dict[str, str]:
    """The links, and of the first file how it was signed and its digest, as the service tells
    them.
    """
    links = [str(result.resource.get("downloadUrl") or "") for result in results]
    first = results[0].resource
    return {
        "download-url": links[0],
        "download-urls": ",".join(filter(None, links)),
        "certificate-fingerprint": str(first.get("certificateFingerprint") or ""),
        "sha256": str(first.get("sha256") or ""),
    }
