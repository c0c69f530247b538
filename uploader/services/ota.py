"""Send one over-the-air package to Android's OTA service, the one target that uses the
X-Goog-Upload dialect.

The response to the upload lacks the package's name, which the service chooses. The list of the
deployment's packages has it, and shows whether the service could use what it received. Sources:
developers.google.com/android/over-the-air, v1/how-tos/create-package, v1/how-tos/associate-package
and reference/rest/v1/deployments.packages.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import TypeAlias

from uploader.errors import (
    ApiError,
    CredentialsError,
    Interrupted,
    OutcomeUnknown,
    Problems,
    ServiceError,
    UploaderError,
)
from uploader.files.android.archive import is_zip
from uploader.files.artifacts import Artifact, Artifacts
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
_APPS = (".aab", ".apk")
_WHERE_THE_ID_IS = (
    "The id is in the list of the deployments that the account may use, "
    "`GET /v1/deployments` of the API: what follows `deployments/` in a `name`."
)
_NEXT = (
    "To roll it out, associate the package with a configuration of the deployment, in the Android "
    "Partner portal or through the API."
)

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


def prepare(
    inputs: CommonInputs,
    files: Artifacts,
    deployment: str,
    title: str,
) -> Prepared:
    """Check that there are one complete zip that is no app, a deployment and a title. Raises
    InputError with every problem.
    """
    problems = Problems()
    batch.require(problems, deployment=deployment, package_title=title)
    batch.require_one(files, "an OTA deployment", problems)
    metadata = {"deployment": deployment, "package_title": title}
    uploads = tuple(
        Upload(ENDPOINT, file, "application/zip", metadata) for file in files
    )
    for file in files:
        # An app is a zip as well. The service would accept it, but no device could install it.
        if file.name.lower().endswith(_APPS):
            what = f"{file.name} is an app by its name, and not an OTA package."
            accepted = "the zip of a system update; an app goes to Google Play with `target: play`"
            problems.add("files", what, accepted)
        elif not _may_be_zip(file):
            what = f"{file.name} is not a zip file, or its end is missing."
            problems.add("files", what, "a complete zip file")
    prepared = batch.prepare_uploads(inputs, uploads, problems)
    if inputs.dry_run:
        return prepared
    return replace(prepared, flow=partial(_flow, deployment, title, uploads[0]))


def _may_be_zip(file: Artifact) -> bool:
    """Return whether the file is a complete zip; True for a stream, which only the service can look
    into.
    """
    if file.size is None:
        return True
    with file.reader() as opened:
        return media_types.sniff(opened.read(4)) == "application/zip" and is_zip(opened)


def _flow(
    deployment: str,
    title: str,
    upload: Upload,
    context: Context,
) -> Outcome:
    """Upload the package. The refusal of an unknown deployment gets advice where to find its id,
    and one for lack of permission who can grant it.
    """
    try:
        return _upload(deployment, title, upload, context)
    except ApiError as refused:
        if refused.hint:
            raise
        if refused.status == 404:
            raise refused.with_advice(
                cause=f"There is no deployment {deployment}, or the account can't see it.",
                hint=f"Check the input `deployment`. {_WHERE_THE_ID_IS}",
            ) from refused
        if refused.status != 403:
            raise
        raise refused.with_advice(
            cause="The API is not enabled in the account's project, Google has not admitted the "
            f"project to it, or the account has no access to deployment {deployment}.",
            hint="Enable the Android Over the Air API in the project, and have the account "
            "added to the deployment where it was created, at partner.android.com, or by your "
            "contact at Google.",
        ) from refused


def _upload(
    deployment: str,
    title: str,
    upload: Upload,
    context: Context,
) -> Outcome:
    """Upload the package between two looks at the list of packages: the one that is new is the one
    that the upload made.

    A list that can't be read does not end the run, since the start of the upload shows before its
    first byte whether the account may upload. If everything was sent and the response was lost, a
    new package proves the success.
    """
    before: Packages | None = None

    def look() -> None:
        nonlocal before
        before = _look_before(context, deployment, title)

    def begin() -> None:
        context.begin(upload)

    context.together([look, begin])
    [result] = context.upload_all((upload,))
    if result.failure:
        is_doubt = isinstance(result.failure, OutcomeUnknown)
        if before is None or not is_doubt:
            raise result.failure
    package = ""
    if before is not None:
        name = _identify(context, result, before, deployment, title)
        if name:
            package = f" as the package {name}"
    done = f"{upload.artifact.name} was uploaded to deployment {deployment}{package}."
    return Outcome(f"{done} {_NEXT}")


def _look_before(context: Context, deployment: str, title: str) -> Packages | None:
    """Return the packages with this title; None, with a warning, if they can't be read."""
    try:
        return _same_title(context, deployment, title)
    except (Interrupted, CredentialsError):
        raise
    except UploaderError as error:
        context.warning(
            f"{_UNKNOWN} {sentence(error.what)} It is also unknown whether the service accepts the "
            "package."
        )
        return None


def _identify(
    context: Context,
    result: FileResult,
    before: Packages,
    deployment: str,
    title: str,
) -> str:
    """Return the name of the package that was made; empty, with a warning, if it is not known.

    Raises the upload's own OutcomeUnknown if no new package shows that it arrived, and ServiceError
    for a package that failed.
    """
    doubt = result.failure
    if result.resumed_from == result.bytes and not doubt:
        # An earlier run had sent all of it, so the package was there at the first look already.
        before = {}
    try:
        new = _new_packages(
            context,
            before,
            deployment,
            title,
            wait=doubt is not None,
        )
    except Interrupted:
        raise
    except UploaderError as error:
        if doubt:
            raise doubt from None
        # The package is there, although the list of packages can't be read.
        context.warning(f"{_UNKNOWN} {error}")
        return ""
    if new and all(new.values()):
        raise _report_failure(context, result, new)
    if len(new) != 1:
        if doubt:
            raise doubt
        packages = "no new package"
        if new:
            packages = f"{len(new)} new packages ({_describe(new)})"
        context.warning(
            f"{_UNKNOWN} The deployment lists {packages} with the title {title!r}."
        )
        return ""
    [name] = new
    if isinstance(doubt, OutcomeUnknown):
        context.info(
            f"{sentence(doubt.what)} The deployment lists the new package {name}, so it did."
        )
        result = replace(
            result,
            bytes_uploaded=result.bytes - (result.resumed_from or 0),
            timeline=result.timeline[:-1],  # the last entry is the failure
            error="",
            failure=None,
        )
    context.replace_result(replace(result, id=name))
    return name


def _new_packages(
    context: Context,
    before: Packages,
    deployment: str,
    title: str,
    *,
    wait: bool,
) -> Packages:
    """Return the packages with this title that were not there before, sorted by name.

    With `wait` the list is read again until there is one. Raises TemporaryError when the retries
    are spent.
    """
    waits = context.backoff()
    while True:
        packages = _same_title(context, deployment, title)
        names = sorted(packages.keys() - before.keys())
        new = {name: packages[name] for name in names}
        if new or not wait:
            return new
        waits.wait("the deployment lists no new package")


def _report_failure(
    context: Context, result: FileResult, new: Packages
) -> ServiceError:
    """Report the first of the new packages, all of which failed, and return the error for it."""
    name, why = next(iter(new.items()))
    failure = ServiceError(
        f"The upload of {result.path} arrived, but the service reports that it failed (package "
        f"{name}): {why}",
        cause="The service received the file and could not make a package from it.",
        hint="Correct what the service's message names, then run again: the package will be "
        "sent again.",
        code="package-failed",
    )
    failed = replace(
        result,
        id=name,
        error=str(failure),
        failure=failure,
    )
    context.replace_result(failed)
    return failure


def _describe(packages: Packages) -> str:
    """Return the first five packages for a message; one that failed comes with the reason."""
    shown = []
    for name, why in list(packages.items())[:5]:
        text = name
        if why:
            text = f"{name}: failed, {why}"
        shown.append(text)
    return ", ".join(shown)


def _same_title(context: Context, deployment: str, title: str) -> Packages:
    """Return the deployment's packages with this title, by name, each with the reason why its
    upload failed; the reason is empty if it did not fail.
    """
    call = Call(
        "GET",
        ENDPOINT.root,
        expand(_PACKAGES, {"deployment": deployment}),
        (("view", "DETAILED"),),
        what="the list of the deployment's packages",
        ask_twice=True,
    )
    listed = context.call(call).get("packages")
    if not isinstance(listed, list):
        return {}
    packages: Packages = {}
    for package in listed:
        if not isinstance(package, dict) or package.get("title") != title:
            continue
        name = package.get("name")
        if isinstance(name, str) and name:
            packages[name] = _upload_error(package.get("details"))
    return packages


def _upload_error(details: object) -> str:
    """Return why the upload of a package failed; empty if it did not fail."""
    if not isinstance(details, dict) or details.get("uploadState") != "FAILURE":
        return ""
    return str(details.get("uploadError") or "it gives no reason")[:_MAX_ERROR]
