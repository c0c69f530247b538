"""Send APKs and bundles to Play's internal app sharing, where each gets a download link for
testers.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from uploader.errors import InputError, Problem, Problems
from uploader.files.android import preflight
from uploader.files.artifacts import Artifact, Artifacts, inspect
from uploader.inputs.records import CommonInputs
from uploader.results import FileResult
from uploader.services import batch, catalogue
from uploader.services.base import Prepared, Upload


def prepare(
    inputs: CommonInputs,
    files: Artifacts,
    packages: tuple[str, ...],
    certificate: str,
) -> Prepared:
    """Read each manifest, which says whether the file is an APK or a bundle, and of which app.
    Raises InputError with every problem.
    """
    problems = Problems()
    uploads: list[Upload] = []
    for file in files:
        upload = problems.collect(partial(_upload, file, packages))
        if upload:
            uploads.append(upload)
    artifacts = [upload.artifact for upload in uploads]
    preflight.check_certificate(artifacts, certificate, problems)
    if not files:
        problems.add("files", "no APK or bundle was given.")
    return batch.prepare_uploads(inputs, tuple(uploads), problems, _outputs)


def _upload(file: Artifact, packages: tuple[str, ...]) -> Upload:
    """Return the upload of one file by its manifest. Raises InputError if it can't be read, or is
    of none of the given apps.
    """
    if not file.manifest:
        file = inspect(file)
    manifest = file.manifest
    assert manifest, "`inspect` has read it"
    if packages and manifest.package not in packages:
        what = (
            f"is {', '.join(packages)}, but {file.name} belongs to {manifest.package}."
        )
        raise InputError(
            Problem("package-name", what, "the artifact's own, or nothing")
        )
    method = catalogue.find(
        f"androidpublisher.internalappsharingartifacts.upload{manifest.kind}"
    )
    assert method, "the catalogue has one for each kind"
    endpoint = method.endpoint(
        {"packageName": manifest.package}, at_most_once=True, id_fields=("downloadUrl",)
    )
    # The last media type is that of an APK; for bundles there is only one.
    return Upload(endpoint, file, endpoint.media_types[-1])


def _outputs(results: tuple[FileResult, ...]) -> dict[str, str]:
    """Return the download links, and the certificate and digest of the first file, as the service
    states them.
    """
    links = [_text(result.resource, "downloadUrl") for result in results]
    first = results[0].resource
    return {
        "download-url": links[0],
        "download-urls": ",".join(filter(None, links)),
        "certificate-fingerprint": _text(first, "certificateFingerprint"),
        "sha256": _text(first, "sha256"),
    }


def _text(resource: Mapping[str, Any], field: str) -> str:
    """Return a field of the resource as text; empty if it has none."""
    return str(resource.get(field) or "")
