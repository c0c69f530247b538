"""Sends a build to Firebase App Distribution, and distributes it to testers.

The upload answers with an operation, whose response has the release and what the upload did: made
it, updated it, or found the same binary there. Then the release gets its notes, and goes to testers
and groups. Sources: the discovery document firebaseappdistribution.v1 and
firebase.google.com/docs/reference/app-distribution/rest.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from uploader.errors import (
    ApiError,
    InputError,
    Interrupted,
    Problem,
    Problems,
    ProtocolError,
    ServiceError,
    Stopped,
    UploaderError,
)
from uploader.files.android.notes import inline_notes, release_notes
from uploader.files.artifacts import Artifact, Artifacts, inspect
from uploader.files.workspace import Workspace
from uploader.inputs.parsers import LAST_RELEASE
from uploader.inputs.records import AppDistributionInputs
from uploader.protocol.resources import identifier
from uploader.services import batch, catalogue, operations
from uploader.services.any_method import read_params
from uploader.services.base import Call, Context, Outcome, Prepared, Upload
from uploader.services.catalogue import expand
from uploader.text import plural

ROOT = "https://firebaseappdistribution.googleapis.com"
MAX_RECIPIENTS = 999  # testers and groups of one request, as the discovery document says
MEDIA_TYPE = "application/octet-stream"
_METHOD = "firebaseappdistribution.media.upload"
_APP = r"projects/[^/]+/apps/[^/]+"
_LANGUAGE = "en-US"  # of which the notes are taken where there are several
_RESULTS = {
    "RELEASE_CREATED": "created",
    "RELEASE_UPDATED": "updated",
    "RELEASE_UNMODIFIED": "unmodified",
}


@dataclass(frozen=True)
class Recipients:
    """Who gets a build: e-mail addresses, and aliases of groups."""

    testers: tuple[str, ...]
    groups: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.testers or self.groups)

    def __str__(self) -> str:
        """Who they are, for people."""
        parts = []
        if self.testers:
            parts.append(f"{plural(len(self.testers), 'tester')} ({', '.join(self.testers)})")
        if self.groups:
            parts.append(f"{plural(len(self.groups), 'group')} ({', '.join(self.groups)})")
        return " and ".join(parts) or "nobody"

    @property
    def count(self) -> str:
        """How many they are, for people."""
        testers = plural(len(self.testers), "tester") if self.testers else ""
        groups = plural(len(self.groups), "group") if self.groups else ""
        return " and ".join(filter(None, (testers, groups)))

    def as_json(self) -> dict[str, list[str]]:
        """The body of the request."""
        return {"testerEmails": list(self.testers), "groupAliases": list(self.groups)}


@dataclass(frozen=True)
class Distribution:
    """What is to be done: one build for one app (its resource name), with notes, to recipients."""

    app: str
    upload: Upload
    notes: str
    recipients: Recipients
    wait_deadline: float

    @property
    def project(self) -> str:
        """The resource name of the app's project."""
        return "/".join(self.app.split("/")[:2])


@dataclass(frozen=True)
class Release:
    """A release as the service tells of it."""

    name: str
    result: str
    facts: Mapping[str, Any]

    def fact(self, name: str) -> str:
        """A member that is text; empty where it is none."""
        return identifier(self.facts, (name,))

    def address(self, name: str) -> str:
        """A member that is the address of a page; empty where it is none."""
        text = self.fact(name)
        return text if text.startswith("https://") else ""

    @property
    def outputs(self) -> dict[str, str]:
        """The output values of the target, as far as the service tells them."""
        values = {
            "release-result": self.result,
            "testing-url": self.address("testingUri"),
            "console-url": self.address("firebaseConsoleUri"),
            "download-url": self.address("binaryDownloadUri"),
        }
        return {name: value for name, value in values.items() if value}

    @property
    def version(self) -> str:
        """The version that people know it by."""
        return f"{self.fact('displayVersion')} ({self.fact('buildVersion')})".lstrip()

    @property
    def stays(self) -> str:
        """The sentence about a release that is there although the run failed."""
        where = self.address("firebaseConsoleUri") or self.name
        return f"The release stays ({where})."


def prepare(inputs: AppDistributionInputs, files: Artifacts, workspace: Workspace) -> Prepared:
    """Check that there is one build, an app, and what may stand for notes and recipients. Raises
    InputError with every problem.
    """
    problems = Problems()
    common = inputs.common
    app = problems.collect(lambda: _app(inputs)) or ""
    recipients = Recipients(inputs.testers, inputs.tester_groups)
    count = len(recipients.testers) + len(recipients.groups)
    if count > MAX_RECIPIENTS:
        what = f"{count} testers and groups are given; Firebase takes {MAX_RECIPIENTS} at once."
        problems.add("testers", what, "groups in place of single testers")
    batch.require_one(files, "a distribution", problems)
    builds = [problems.collect(partial(_build, file)) for file in files]
    build = builds[0] if builds else None
    notes = _notes(inputs, build, workspace, problems)
    problems.raise_if_any()
    assert build, "a file that is no build is a problem"
    method = catalogue.find(_METHOD)
    assert method, "the catalogue has it"
    upload = Upload(method.endpoint({"app": app}), build, MEDIA_TYPE)
    job = Distribution(app, upload, notes, recipients, inputs.wait_deadline)
    sending = batch.prepared(common, (upload,), problems)
    lines = (*sending.lines, *_steps(job))
    if common.dry_run:
        flow = batch.dry_run(*(f"Would {line[:1].lower()}{line[1:]}" for line in lines))
    else:
        flow = partial(_distribute, job)
    return replace(sending, lines=lines, flow=flow, warnings=tuple(problems.warnings))


def _steps(job: Distribution) -> list[str]:
    """Return what comes after the upload, for the plan."""
    steps = []
    if job.notes:
        steps.append(f"Set the release notes ({plural(len(job.notes), 'character')})")
    if job.recipients:
        steps.append(f"Distribute the build to {job.recipients}")
    return steps


def _app(inputs: AppDistributionInputs) -> str:
    """Return the resource name of the app. Raises InputError."""
    app_id = inputs.firebase_app
    params = read_params(inputs.params)
    accepted = "`project: …`, or `app: projects/…/apps/…`"
    unknown = sorted(params.keys() - {"project", "app"})
    if unknown:
        raise InputError(
            Problem("params", f"{unknown[0]!r} is not a parameter of this target.", accepted)
        )
    app = params.get("app")
    project = params.get("project", app_id.split(":")[1] if app_id else "")
    if app is not None:
        if not isinstance(app, str) or catalogue.objection("{+app}", "app", app):
            raise InputError(Problem("params", "'app' is not the name of an app.", accepted))
        parts = app.split("/")
        if len(parts) != 4 or parts[::2] != ["projects", "apps"]:
            raise InputError(Problem("params", "'app' is not the name of an app.", accepted))
        if app_id not in ("", parts[3]) or params.get("project", parts[1]) != parts[1]:
            what = "'app' is not the app that `firebase-app` or 'project' names."
            raise InputError(Problem("params", what, "the same, or one of them"))
        return app
    if not app_id:
        what = "is required for this target."
        raise InputError(Problem("firebase-app", what, "`1:1234567890:android:0a1b2c3d`"))
    if not isinstance(project, (str, int)) or isinstance(project, bool):
        raise InputError(Problem("params", "'project' is not the number of a project.", accepted))
    objection = catalogue.objection("{project}", "project", str(project))
    if objection or "/" in str(project):
        what = f"'project' {objection or 'is not the number of a project.'}"
        raise InputError(Problem("params", what, accepted))
    return expand("projects/{project}/apps/{+app}", {"project": str(project), "app": app_id})


def _build(file: Artifact) -> Artifact:
    """Return the file with its manifest. Raises InputError for what is neither an APK nor a
    bundle.
    """
    return file if file.manifest else inspect(file)


def _notes(
    inputs: AppDistributionInputs, build: Artifact | None, workspace: Workspace, problems: Problems
) -> str:
    """Return the release notes, which are one text; empty where none are given."""
    for name, value in (
        ("whats-new", inputs.whats_new),
        ("whats-new-directory", inputs.whats_new_directory),
    ):
        if value == LAST_RELEASE:
            problems.add(name, "`last-release` is for Google Play.", "the notes, or nothing")
            return ""
    if inputs.whats_new and inputs.whats_new_directory:
        what = "both it and `whats-new-directory` are given."
        problems.add("whats-new", what, "one of the two")
        return ""
    name = "whats-new"
    texts: Mapping[str, str] = {}
    if inputs.whats_new:
        texts = inline_notes(inputs.whats_new, problems, workspace.root, max_length=None)
    elif inputs.whats_new_directory:
        name = "whats-new-directory"
        codes = [build.manifest.version_code] if build and build.manifest else []
        found = release_notes(
            inputs.whats_new_directory, workspace, codes, (), problems, max_length=None
        )
        texts = found.get(None, {})
    if len(texts) > 1 and _LANGUAGE not in texts:
        languages = ", ".join(texts)
        what = f"has notes in {len(texts)} languages ({languages}); a build has one text."
        problems.add(name, what, f"one text, or one for {_LANGUAGE} among them")
        return ""
    return texts.get(_LANGUAGE) or next(iter(texts.values()), "")


# --- the flow -------------------------------------------------------------------------------------


def _distribute(job: Distribution, context: Context) -> Outcome:
    """Upload the build, wait for its release, and give that its notes and its recipients.

    The release stays whatever goes wrong after the upload, and the error says so.
    """
    uploads = (job.upload,)
    [result] = operations.settle(uploads, context.upload_all(uploads), job.wait_deadline, context)
    if result.failure is not None:
        raise result.failure
    try:
        release = _release(result.resource, job.app)
    except ProtocolError as error:
        context.identified(replace(result, id="", error=str(error), failure=error))
        raise
    context.publish(release.outputs)
    context.info(f"Release {release.version}, {release.result or 'taken'}: {release.name}")
    try:
        if job.notes:
            context.call(_notes_call(release, job.notes))
        _send_to_recipients(job, release, context)
    except (Interrupted, Stopped):
        raise
    except UploaderError as error:
        if isinstance(error, ApiError) and error.status == 404 and result.attempts == 0:
            raise _gone_or_refused(error, job, release, context) from error
        raise error.with_advice(also=release.stays) from error
    told = f"it was distributed to {job.recipients.count}"
    if not job.recipients:
        told = "it was distributed to nobody"
    name = job.upload.artifact.name
    links = (
        ("Release in the Firebase console", release.address("firebaseConsoleUri")),
        ("Release for testers", release.address("testingUri")),
    )
    return Outcome(
        f"{name} is release {release.version} in Firebase App Distribution "
        f"({release.result or 'taken'}); {told}.",
        links=tuple(link for link in links if link[1]),
    )


def _release(response: Mapping[str, Any], app: str) -> Release:
    """Read the response of the upload's operation. Raises ProtocolError for one without a release
    of the app.
    """
    facts = response.get("release")
    name = identifier(facts, ("name",)) if isinstance(facts, Mapping) else ""
    # The project may be named by its number or by its id.
    is_of_app = name.split("/")[2:5] == [*app.split("/")[2:], "releases"]
    objection = catalogue.objection("{+name}", "name", name)
    if not isinstance(facts, Mapping) or not is_of_app or objection:
        raise ProtocolError(
            f"The service answered {_METHOD} without the id of what it made.",
            hint="Check what the service has before you run again: the file would be sent again.",
        )
    return Release(name, _RESULTS.get(identifier(response, ("result",)), ""), facts)


def _notes_call(release: Release, notes: str) -> Call:
    return Call(
        "PATCH",
        ROOT,
        expand("/v1/{+name}", {"name": release.name}),
        (("updateMask", "release_notes.text"),),
        json={"name": release.name, "releaseNotes": {"text": notes}},
        what="the release notes",
        promised=("name",),
    )


def _send_to_recipients(job: Distribution, release: Release, context: Context) -> None:
    """Distribute the release, once in a job: a run that goes on after a kill does not do it again.

    A lost answer is asked for again. Testers have access once, however often they are given it.
    """
    if not job.recipients:
        return
    wanted = json.dumps(job.recipients.as_json(), sort_keys=True)
    key = f"distributed {release.name} {wanted}"
    if context.recall(key):
        context.info("An earlier attempt of this run has distributed the release.")
    else:
        call = Call(
            "POST",
            ROOT,
            expand("/v1/{+name}:distribute", {"name": release.name}),
            json=job.recipients.as_json(),
            what=f"the distribution to {job.recipients.count}",
        )
        try:
            context.call(call)
        except ApiError as refused:
            raise _refused(refused, job, context) from refused
        context.remember(key, "yes")
    context.remember(key, None)


def _refused(refused: ApiError, job: Distribution, context: Context) -> UploaderError:
    """Return the error for recipients that the service does not take. Where the service names none,
    it is asked which of the groups do not exist.
    """
    if refused.status not in (400, 404):
        return refused
    said = refused.message
    groups = job.recipients.groups
    missing = [alias for alias in groups if _names(said, alias)]
    if not any(_names(said, one) for one in (*job.recipients.testers, *groups)):
        missing = [alias for alias in groups if _is_missing(alias, job, context)]
    if missing:
        noun = "groups" if len(missing) > 1 else "group"
        return ServiceError(
            f"The project has no {noun} {', '.join(missing)}, so that the build was distributed "
            f"to nobody: {refused.message}",
            cause="A group is given by its alias, which is not its name.",
            hint="Correct `tester-groups` by what the Firebase console shows, then run again: the "
            "same build makes no second release.",
            code="tester-group-missing",
        )
    if any(_names(said, tester) for tester in job.recipients.testers):
        return refused
    return refused.with_what(f"{refused.what.rstrip('.')}. It was for {job.recipients}.")


def _names(said: str, recipient: str) -> bool:
    """Whether a message names a tester or a group."""
    return re.search(rf"(?<![\w.@-]){re.escape(recipient)}(?![\w@-])", said) is not None


def _is_missing(alias: str, job: Distribution, context: Context) -> bool:
    """Whether the project surely has no group of this alias."""
    path = expand("/v1/{+project}/groups/{alias}", {"project": job.project, "alias": alias})
    try:
        context.call(Call("GET", ROOT, path, what=f"the group {alias}"))
    except ApiError as error:
        return error.status == 404
    except (Interrupted, Stopped):
        raise
    except UploaderError:
        return False
    return False


def _gone_or_refused(
    refused: ApiError, job: Distribution, release: Release, context: Context
) -> UploaderError:
    """Return the error for a release that an earlier run uploaded, and that may be gone since.

    Where it is, the upload is forgotten, so that the next run sends the file again.
    """
    path = expand("/v1/{+name}", {"name": release.name})
    try:
        context.call(Call("GET", ROOT, path, what="the release"))
    except ApiError as error:
        if error.status == 404:
            context.forget_uploads(f"/upload/v1/{job.app}")
            return refused.with_advice(
                cause="An earlier run uploaded the release, and it is gone since.",
                hint="Run again: the file will be sent again.",
            )
    return refused.with_advice(also=release.stays)
