"""Sends one over-the-air package to Android's OTA service, the one target that speaks the
X-Goog-Upload dialect.

The upload is answered without the package's name, which the service makes: the list of the
deployment's packages tells it, and whether the service could use what it received. Sources:
developers.google.com/android/over-the-air, v1/how-tos/create-package, v1/how-tos/associate-package
and reference/rest/v1/deployments.packages.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import TypeAlias

from uploader.errors import (
    CredentialsError,
    Interrupted,
    OutcomeUnknown,
    Problems,
    ServiceError,
    UploaderError,
)
from uploader.files.android.archive import is_zip
from uploader.files.artifacts import Artifacts
from uploader.inputs.records import CommonInputs
from uploader.results import FileResult
from uploader.services import batch, media_types
from uploader.services.base import (
    Call,
    Context,
    Endpoint,
    Outcome,
    Prepared,
    Upload,
)
from uploader.services.catalogue import expand
from uploader.text import sentence

Packages: TypeAlias = dict[str, str]  # names, and why the upload failed

_PACKAGES = "/v1/deployments/{deployment}/packages"
_MAX_ERROR = 2000  # characters
_UNKNOWN = "The package's id is not known."

ENDPOINT = Endpoint(
    id="androidovertheair.package.upload",
    root="https://androidovertheair.googleapis.com",
    path="/package",
    upload_path="/upload/package",
    media_types=("application/zip",),
    scopes=("https://www.googleapis.com/auth/android_partner_over_the_air",),
    dialect="goog-upload",
    simple=False,
    empty_response=True,
    at_most_once=True,
    session_lifetime=timedelta(days=3),
)


def prepare(inputs: CommonInputs, files: Artifacts, deployment: str, title: str) -> Prepared:
    """Checks that there is one whole zip, a deployment and a title. Raises InputError with every
    problem.
    """
    problems = Problems()
    batch.require(problems, deployment=deployment, package_title=title)
    batch.require_one(files, "an OTA deployment", problems)
    metadata = {"deployment": deployment, "package_title": title}
    uploads = tuple(Upload(ENDPOINT, file, "application/zip", metadata) for file in files)
    for file in files:
        if file.size is not None:  # nobody can look into a stream; the service does
            with file.reader() as opened:
                if media_types.sniff(opened.read(4)) != "application/zip" or not is_zip(opened):
                    what = f"{file.name} is not a zip file, or its end is missing."
                    problems.add("files", what, "a complete zip file")
    made = batch.prepared(inputs, uploads, problems)
    flow = partial(_flow, deployment, title, uploads[0])
    return made if inputs.dry_run else replace(made, flow=flow)


def _flow(deployment: str, title: str, upload: Upload, context: Context) -> Outcome:
    """The upload between two looks at the packages: the one that is new is the one that it made.

    Neither look ends the run: whether the account may upload, the start of the upload says before
    the first byte. Where all was sent and the service never said what became of it, a new package
    is the success.
    """
    before: Packages | None = None
    try:
        before = _same_title(context, deployment, title)
    except (Interrupted, CredentialsError):
        raise
    except UploaderError as error:
        said = sentence(error.what)
        context.warning(
            f"{_UNKNOWN} {said} Nor can it be told whether the service accepts the package."
        )
    [result] = context.upload_all((upload,))
    doubt = result.failure if isinstance(result.failure, OutcomeUnknown) else None
    if result.failure and (before is None or not doubt):
        raise result.failure
    name = "" if before is None else _name(context, result, before, deployment, title)
    known = f"the package {name}" if name else "a package"
    return Outcome(f"{upload.artifact.name} is {known} of {deployment}.")


def _name(
    context: Context, result: FileResult, before: Packages, deployment: str, title: str
) -> str:
    """The name of the package that was made; empty, with a warning, where it can't be told.

    Raises the upload's own `OutcomeUnknown` where no new package settles it, `ServiceError` for one
    that failed.
    """
    doubt, new = result.failure, Packages()
    if result.resumed_from == result.bytes and not doubt:
        before = {}  # an earlier run had sent all of it, so the package was there already
    try:
        waits = context.backoff()
        while True:
            found = _same_title(context, deployment, title)
            new = {name: why for name, why in sorted(found.items()) if name not in before}
            if new or not doubt:
                break
            waits.wait("the deployment lists no new package")
    except Interrupted:
        raise
    except UploaderError as error:
        if doubt:
            raise doubt from None
        # the package is there, whatever has come of this look
        context.warning(f"{_UNKNOWN} {error}")
        return ""
    if new and all(new.values()):
        name, why = next(iter(new.items()))
        failure = ServiceError(
            f"The upload of {result.path} arrived, but the service reports that it failed (package "
            f"{name}): {why}",
            cause="The service received the file and could not make a package of it.",
            hint="Correct what the service's message names, then run again: the package will be "
            "sent again.",
            code="package-failed",
        )
        context.identified(replace(result, id=name, error=str(failure), failure=failure))
        raise failure
    if len(new) != 1:
        if doubt:
            raise doubt
        shown = ", ".join(
            f"{name}: failed, {why}" if why else name for name, why in list(new.items())[:5]
        )
        several = f"{len(new)} new packages ({shown})" if new else "no new package"
        context.warning(f"{_UNKNOWN} The deployment lists {several} with the title {title!r}.")
        return ""
    [name] = new
    if isinstance(doubt, OutcomeUnknown):
        context.info(
            f"{sentence(doubt.what)} The deployment lists the new package {name}, so it did."
        )
        # but for its failure
        arrived, told = result.bytes - (result.resumed_from or 0), result.timeline[:-1]
        result = replace(result, bytes_uploaded=arrived, timeline=told, error="", failure=None)
    context.identified(replace(result, id=name))
    return name


def _same_title(context: Context, deployment: str, title: str) -> Packages:
    """The deployment's packages that are titled as this one, by name, each with why its upload
    failed, if it did.
    """
    call = Call(
        "GET",
        ENDPOINT.root,
        expand(_PACKAGES, {"deployment": deployment}),
        (("view", "DETAILED"),),
        what="the list of the deployment's packages",
        ask_twice=True,
    )
    packages = context.call(call).get("packages")
    found: Packages = {}
    for one in packages if isinstance(packages, list) else ():
        if (
            isinstance(one, dict)
            and one.get("title") == title
            and isinstance(name := one.get("name"), str)
            and name
        ):
            details, found[name] = one.get("details"), ""
            if isinstance(details, dict) and details.get("uploadState") == "FAILURE":
                found[name] = str(details.get("uploadError") or "it gives no reason")[:_MAX_ERROR]
    return found
