"""Sends one over-the-air package to Android's OTA service, the one target that speaks the X-Goog-Upload dialect.

Source: developers.google.com/android/over-the-air/v1/how-tos/create-package.
"""

from __future__ import annotations

from datetime import timedelta

from uploader.files.android.zip_reader import LONGEST_TAIL, end_record
from uploader.files.artifacts import Artifact
from uploader.input_problems import Problems
from uploader.inputs import Inputs
from uploader.services import batch_upload, media_types
from uploader.services.base import Endpoint, Prepared, Upload

ENDPOINT = Endpoint(
    id="androidovertheair.package.upload",
    root="https://androidovertheair.googleapis.com",
    path="/package",
    upload_path="/upload/package",
    media_types=("application/zip",),
    scopes=("https://www.googleapis.com/auth/android_partner_over_the_air",),
    dialect="goog-upload",
    simple=False,
    empty_answer=True,
    session_lifetime=timedelta(days=3),
)


def prepare(inputs: Inputs, files: tuple[Artifact, ...]) -> Prepared:
    """Checks that there is one whole zip, a deployment and a title. Raises InputError with every problem."""
    problems = Problems()
    batch_upload.require(problems, deployment=inputs.deployment, package_title=inputs.package_title)
    batch_upload.require_one(files, "an OTA deployment", problems)
    metadata = {"deployment": inputs.deployment, "package_title": inputs.package_title}
    uploads = tuple(Upload(ENDPOINT, file, "application/zip", metadata) for file in files)
    for upload in uploads:
        if not _is_whole_zip(upload.artifact):
            what = f"{upload.artifact.name} is not a zip file, or its end is missing."
            problems.add("files", what, "a whole zip file")
    return batch_upload.prepared(inputs, uploads, problems)


def _is_whole_zip(file: Artifact) -> bool:
    if file.size is None:
        return True  # nobody can look into a stream; the service does
    if media_types.sniff(media_types.head(file)) != "application/zip":
        return False
    with file.reader() as opened:
        opened.seek(max(0, file.size - LONGEST_TAIL))
        return end_record(opened.read(LONGEST_TAIL)) >= 0
