"""Sends one over-the-air package to Android's OTA service, the one target that speaks the X-Goog-Upload dialect.

Source: developers.google.com/android/over-the-air/v1/how-tos/create-package.
"""

from __future__ import annotations

from datetime import timedelta

from uploader.errors import InputError, Problem
from uploader.files.artifacts import Artifact
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
_END = b"PK\x05\x06"  # end of central directory record: APPNOTE.TXT 4.3.16
_END_LENGTH = 22
_LONGEST_COMMENT = 0xFFFF


def prepare(inputs: Inputs, files: tuple[Artifact, ...]) -> Prepared:
    """Checks that there is one whole zip, a deployment and a title. Raises InputError with every problem."""
    problems = batch_upload.missing(deployment=inputs.deployment, package_title=inputs.package_title)
    problems += batch_upload.exactly_one(files, "an OTA deployment")
    metadata = {"deployment": inputs.deployment, "package_title": inputs.package_title}
    uploads = tuple(Upload(ENDPOINT, file, "application/zip", metadata) for file in files)
    for upload in uploads:
        problems += (*batch_upload.check(upload, inputs), *_zip_problems(upload.artifact))
    if problems:
        raise InputError(*dict.fromkeys(problems))
    return batch_upload.prepared(inputs, uploads)


def _zip_problems(file: Artifact) -> tuple[Problem, ...]:
    if file.size is None:
        return ()  # nobody can look into a stream; the service does
    if media_types.sniff(media_types.head(file)) == "application/zip" and _has_end(
        media_types.tail(file, _END_LENGTH + _LONGEST_COMMENT)
    ):
        return ()
    return (Problem("files", f"{file.name} is no zip, or the end of it is missing.", "a whole zip file"),)


def _has_end(last: bytes) -> bool:
    """Whether the directory's end record is there and its comment reaches to the end of the file, as in a whole zip."""
    at = last.rfind(_END)
    while at >= 0:
        comment = int.from_bytes(last[at + 20 : at + 22], "little")
        if at + _END_LENGTH + comment == len(last):
            return True
        at = last.rfind(_END, 0, at)
    return False
