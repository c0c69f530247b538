"""Sends one over-the-air package to Android's OTA service, the one target that speaks the X-Goog-Upload dialect.

The upload is answered without the package's name, which the service makes: the list of the deployment's packages tells
it. Sources: developers.google.com/android/over-the-air/v1/how-tos/create-package and associate-package.
"""

from __future__ import annotations

from datetime import timedelta
from functools import partial

from uploader.errors import Interrupted, UploaderError
from uploader.files.android.zip_reader import LONGEST_TAIL, end_record
from uploader.files.artifacts import Artifact
from uploader.input_problems import Problems
from uploader.inputs import Inputs
from uploader.results import FileResult
from uploader.services import batch_upload, media_types, uri_template
from uploader.services.base import Call, Endpoint, Flow, Identified, Note, Outcome, Prepared, Steps, Upload

_PACKAGES = "/v1/deployments/{deployment}/packages"

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
            problems.add("files", what, "a complete zip file")
    made = batch_upload.prepared(inputs, uploads, problems)
    return made if inputs.dry_run else made._replace(flow=partial(_flow, inputs, uploads[0]))


def _flow(inputs: Inputs, upload: Upload) -> Flow:
    """The upload between two looks at the packages: the one that is new is the one that it made."""
    before: frozenset[str] = yield from _same_title(inputs)
    result: FileResult = yield upload
    if result.resumed_from == result.bytes:
        before = frozenset()  # an earlier run had sent all of it, so the package was there already
    try:
        new = sorted((yield from _same_title(inputs)) - before)
        listed = f"{len(new)} new packages ({', '.join(new[:5])})" if new else "no new package"
        doubt = "" if len(new) == 1 else f"The deployment lists {listed} with the title {inputs.package_title!r}."
    except Interrupted:
        raise
    except UploaderError as error:  # the package is there, whatever has come of this look
        new, doubt = [], str(error)
    if doubt:
        yield Note(f"The package's id is not known. {doubt}", "warning")
        return Outcome(f"{upload.artifact.name} is a package of {inputs.deployment}.")
    yield Identified(result._replace(id=new[0]))
    return Outcome(f"{upload.artifact.name} is the package {new[0]} of {inputs.deployment}.")


def _same_title(inputs: Inputs) -> Steps[frozenset[str]]:
    """The names of the deployment's packages that are titled as this one."""
    path = uri_template.expand(_PACKAGES, {"deployment": inputs.deployment})
    answer = yield Call("GET", ENDPOINT.root, path, what="the list of the deployment's packages")
    packages = answer.get("packages")
    listed = [one for one in packages if isinstance(one, dict)] if isinstance(packages, list) else []
    names = [one.get("name") for one in listed if one.get("title") == inputs.package_title]
    return frozenset(name for name in names if isinstance(name, str) and name)


def _is_whole_zip(file: Artifact) -> bool:
    if file.size is None:
        return True  # nobody can look into a stream; the service does
    if media_types.sniff(media_types.head(file)) != "application/zip":
        return False
    with file.reader() as opened:
        opened.seek(max(0, file.size - LONGEST_TAIL))
        return end_record(opened.read(LONGEST_TAIL)) >= 0
