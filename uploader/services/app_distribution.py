"""Send a build to Firebase App Distribution, and distribute it to testers.

The response to the upload is an operation, whose own response has the release and says what the
upload did: it created the release, updated it, or found the same binary there. Then the release
gets its notes, and goes to testers and groups. Sources: the discovery document
firebaseappdistribution.v1 and firebase.google.com/docs/reference/app-distribution/rest.
"""

from __future__ import annotations

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
from uploader.services.base import Call, Context, Flow, Outcome, Prepared, Upload
from uploader.services.catalogue import expand
from uploader.text import plural

ROOT = "https://firebaseappdistribution.googleapis.com"
# testers and groups in one request, according to the discovery document
MAX_RECIPIENTS = 999
MEDIA_TYPE = "application/octet-stream"
_METHOD = "firebaseappdistribution.media.upload"
_APP = r"projects/[^/]+/apps/[^/]+"
_ACCEPTED_PARAMS = "`project: …`, or `app: projects/…/apps/…`"
_LANGUAGE = "en-US"  # the language of the notes to use if there are several
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
        """Return who they are, for people."""
        parts = []
        if self.testers:
            parts.append(
                f"{plural(len(self.testers), 'tester')} ({', '.join(self.testers)})"
            )
        if self.groups:
            parts.append(
                f"{plural(len(self.groups), 'group')} ({', '.join(self.groups)})"
            )
        return " and ".join(parts) or "nobody"

    @property
    def count(self) -> str:
        """How many they are, for people."""
        parts = []
        if self.testers:
            parts.append(plural(len(self.testers), "tester"))
        if self.groups:
            parts.append(plural(len(self.groups), "group"))
        return " and ".join(parts)

    def as_json(self) -> dict[str, list[str]]:
        """Return the body of the request."""
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
    """A release as the service describes it: its resource name, what the upload did to it ("" if
    the service does not say), and its members.
    """

    name: str
    result: str
    facts: Mapping[str, Any]

    def fact(self, name: str) -> str:
        """Return a member if it is text, else ""."""
        return identifier(self.facts, (name,))

    def address(self, name: str) -> str:
        """Return a member if it is the address of a page, else ""."""
        text = self.fact(name)
        if not text.startswith("https://"):
            return ""
        return text

    @property
    def outputs(self) -> dict[str, str]:
        """The output values of the target, as far as the service states them."""
        values = {
            "release-result": self.result,
            "testing-url": self.address("testingUri"),
            "console-url": self.address("firebaseConsoleUri"),
            "download-url": self.address("binaryDownloadUri"),
        }
        return {name: value for name, value in values.items() if value}

    @property
    def version(self) -> str:
        """The version as people know it, such as `1.2.0 (42)`."""
        return f"{self.fact('displayVersion')} ({self.fact('buildVersion')})".lstrip()

    @property
    def stays(self) -> str:
        """The sentence about a release that is there although the run failed."""
        where = self.address("firebaseConsoleUri") or self.name
        return f"The release stays ({where})."


def prepare(
    inputs: AppDistributionInputs, files: Artifacts, workspace: Workspace
) -> Prepared:
    """Check the build, app, notes and recipients. Raises InputError with every problem."""
    problems = Problems()
    app = problems.collect(lambda: _app(inputs)) or ""
    recipients = Recipients(inputs.testers, inputs.tester_groups)
    count = len(recipients.testers) + len(recipients.groups)
    if count > MAX_RECIPIENTS:
        what = f"{count} testers and groups are given; Firebase accepts {MAX_RECIPIENTS} at once."
        problems.add("testers", what, "groups in place of single testers")
    batch.require_one(files, "a distribution", problems)
    builds = [problems.collect(partial(_build, file)) for file in files]
    build: Artifact | None = None
    if builds:
        build = builds[0]
    notes = _notes(inputs, build, workspace, problems)
    problems.raise_if_any()
    assert build, "a file that is no build is a problem"
    method = catalogue.find(_METHOD)
    assert method, "the catalogue has it"
    upload = Upload(method.endpoint({"app": app}), build, MEDIA_TYPE)
    job = Distribution(app, upload, notes, recipients, inputs.wait_deadline)
    sending = batch.prepare_uploads(inputs.common, (upload,), problems)
    lines = (*sending.lines, *_steps(job))
    flow: Flow = partial(_distribute, job)
    if inputs.common.dry_run:
        flow = batch.dry_run(*map(_as_plan, lines))
    return replace(
        sending,
        lines=lines,
        flow=flow,
        warnings=tuple(problems.warnings),
    )


def _as_plan(line: str) -> str:
    """Return what a step would do: `Would upload …` for `Upload …`."""
    first_letter = line[:1].lower()
    return f"Would {first_letter}{line[1:]}"


def _steps(job: Distribution) -> list[str]:
    """Return the steps after the upload, for the plan."""
    steps = []
    if job.notes:
        length = plural(len(job.notes), "character")
        steps.append(f"Set the release notes ({length})")
    if job.recipients:
        steps.append(f"Distribute the build to {job.recipients}")
    return steps


def _app(inputs: AppDistributionInputs) -> str:
    """Return the resource name of the app. Raises InputError."""
    params = read_params(inputs.params)
    unknown = sorted(params.keys() - {"project", "app"})
    if unknown:
        what = f"{unknown[0]!r} is not a parameter of this target."
        raise InputError(Problem("params", what, _ACCEPTED_PARAMS))
    if params.get("app") is not None:
        return _named_app(params, inputs.firebase_app)
    app_id = inputs.firebase_app
    if not app_id:
        what = "is required for this target."
        raise InputError(
            Problem("firebase-app", what, "`1:1234567890:android:0a1b2c3d`")
        )
    project = _project(params.get("project", app_id.split(":")[1]))
    return expand("projects/{project}/apps/{+app}", {"project": project, "app": app_id})


def _named_app(params: Mapping[str, Any], app_id: str) -> str:
    """Return the resource name that `params` give as 'app'.

    Raises InputError if it is not one, or if `app_id` or 'project' names another app.
    """
    app = params["app"]
    if not isinstance(app, str) or catalogue.objection("{+app}", "app", app):
        raise InputError(
            Problem("params", "'app' is not the name of an app.", _ACCEPTED_PARAMS)
        )
    parts = app.split("/")
    if len(parts) != 4 or parts[::2] != ["projects", "apps"]:
        raise InputError(
            Problem("params", "'app' is not the name of an app.", _ACCEPTED_PARAMS)
        )
    _, project_in_app, _, id_in_app = parts
    is_same_project = params.get("project", project_in_app) == project_in_app
    if app_id not in ("", id_in_app) or not is_same_project:
        what = "'app' is not the app that `firebase-app` or 'project' names."
        raise InputError(Problem("params", what, "the same, or one of them"))
    return app


def _project(project: object) -> str:
    """Return the project's number or name as text. Raises InputError for what is neither."""
    if not isinstance(project, (str, int)) or isinstance(project, bool):
        what = "'project' is not the number of a project."
        raise InputError(Problem("params", what, _ACCEPTED_PARAMS))
    name = str(project)
    objection = catalogue.objection("{project}", "project", name)
    if not objection and "/" in name:
        objection = "is not the number of a project."
    if objection:
        raise InputError(Problem("params", f"'project' {objection}", _ACCEPTED_PARAMS))
    return name


def _build(file: Artifact) -> Artifact:
    """Return the file with its manifest. Raises InputError for what is neither an APK nor a
    bundle.
    """
    if file.manifest:
        return file
    return inspect(file)


def _notes(
    inputs: AppDistributionInputs,
    build: Artifact | None,
    workspace: Workspace,
    problems: Problems,
) -> str:
    """Return the release notes, which are one text; "" if none are given."""
    text = inputs.whats_new
    directory = inputs.whats_new_directory
    for name, value in (("whats-new", text), ("whats-new-directory", directory)):
        if value == LAST_RELEASE:
            problems.add(
                name, "`last-release` is for Google Play.", "the notes, or nothing"
            )
            return ""
    if text and directory:
        what = "both it and `whats-new-directory` are given."
        problems.add("whats-new", what, "one of the two")
        return ""
    if text:
        notes: Mapping[str, str] = inline_notes(
            text,
            problems,
            workspace.root,
            max_length=None,
        )
        return _notes_of_one_language("whats-new", notes, problems)
    if directory:
        version_codes = []
        if build and build.manifest:
            version_codes.append(build.manifest.version_code)
        notes_of_tracks = release_notes(
            directory,
            workspace,
            version_codes,
            (),
            problems,
            max_length=None,
        )
        notes = notes_of_tracks.get(None, {})
        return _notes_of_one_language("whats-new-directory", notes, problems)
    return ""


def _notes_of_one_language(
    name: str, notes: Mapping[str, str], problems: Problems
) -> str:
    """Return the one text among the notes of the input `name`: the English one, or the only one.

    Return "" if there is none. Notes in several languages without English are a problem.
    """
    if notes.get(_LANGUAGE):
        return notes[_LANGUAGE]
    if len(notes) > 1 and _LANGUAGE not in notes:
        languages = ", ".join(notes)
        what = (
            f"has notes in {len(notes)} languages ({languages}); a build has one text."
        )
        problems.add(name, what, f"one text, or one for {_LANGUAGE} among them")
        return ""
    return next(iter(notes.values()), "")


# --- the flow -------------------------------------------------------------------------------------


def _distribute(job: Distribution, context: Context) -> Outcome:
    """Upload the build, wait for its release, and give that its notes and its recipients.

    The release stays whatever goes wrong after the upload, and the error says so.
    """
    uploads = (job.upload,)
    [result] = operations.settle(
        uploads,
        context.upload_all(uploads),
        job.wait_deadline,
        context,
    )
    if result.failure is not None:
        raise result.failure
    try:
        release = _release(result.resource, job.app)
    except ProtocolError as error:
        failed = replace(
            result,
            id="",
            error=str(error),
            failure=error,
        )
        context.replace_result(failed)
        raise
    context.publish(release.outputs)
    context.info(
        f"Release {release.version}, {release.result or 'taken'}: {release.name}"
    )
    try:
        if job.notes:
            context.call(_notes_call(release, job.notes))
        _send_to_recipients(job, release, context)
    except (Interrupted, Stopped):
        raise
    except UploaderError as error:
        if isinstance(error, ApiError) and error.status == 404 and result.attempts == 0:
            raise _release_error(error, job, release, context) from error
        raise error.with_advice(also=release.stays) from error
    return _outcome(job, release)


def _outcome(job: Distribution, release: Release) -> Outcome:
    """Return what the summary says of the release, with links to its pages."""
    recipients = job.recipients.count or "nobody"
    name = job.upload.artifact.name
    links = (
        ("Release in the Firebase console", release.address("firebaseConsoleUri")),
        ("Release for testers", release.address("testingUri")),
    )
    return Outcome(
        f"{name} is release {release.version} in Firebase App Distribution "
        f"({release.result or 'taken'}); it was distributed to {recipients}.",
        links=tuple((text, address) for text, address in links if address),
    )


def _release(response: Mapping[str, Any], app: str) -> Release:
    """Read the response of the upload's operation. Raises ProtocolError if it has no release of the
    app.
    """
    facts = response.get("release")
    if not isinstance(facts, Mapping):
        facts = {}
    name = identifier(facts, ("name",))
    # The project may be named by its number or by its id.
    app_parts = app.split("/")[2:]
    name_parts = name.split("/")[2:]
    is_of_app = name_parts[:3] == [*app_parts, "releases"]
    objection = catalogue.objection("{+name}", "name", name)
    if not is_of_app or objection:
        raise ProtocolError(
            f"The service answered {_METHOD} without the id of what it made.",
            hint="Check what the service has before you run again: the file would be sent again.",
        )
    result = _RESULTS.get(identifier(response, ("result",)), "")
    return Release(name, result, facts)


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
    """Distribute the release. It is done again in every run: that gives nobody access twice."""
    if not job.recipients:
        return
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
        explained = _recipients_error(refused, job, context)
        if explained is refused:
            raise
        raise explained from refused


def _recipients_error(
    refused: ApiError, job: Distribution, context: Context
) -> UploaderError:
    """Return the error for recipients that the service does not accept. If the refusal names none
    of them, the service is asked which of the groups do not exist.
    """
    if refused.status not in (400, 404):
        return refused
    testers = _recipients_in(job.recipients.testers, refused.message)
    groups = _recipients_in(job.recipients.groups, refused.message)
    if not testers and not groups:
        groups = [
            alias for alias in job.recipients.groups if _is_missing(alias, job, context)
        ]
    if groups:
        noun = "groups" if len(groups) > 1 else "group"
        return ServiceError(
            f"The project has no {noun} {', '.join(groups)}, so the build was distributed "
            f"to nobody: {refused.message}",
            cause="A group is named by its alias, which is not its name.",
            hint="Correct `tester-groups` to what the Firebase console shows, then run again: the "
            "same build makes no second release.",
            code="tester-group-missing",
        )
    if testers:
        return refused
    return refused.with_what(
        f"{refused.what.rstrip('.')}. It was for {job.recipients}."
    )


def _recipients_in(recipients: tuple[str, ...], message: str) -> list[str]:
    """Return the testers or groups that a message names."""
    return [
        recipient
        for recipient in recipients
        if re.search(rf"(?<![\w.@-]){re.escape(recipient)}(?![\w@-])", message)
    ]


def _is_missing(alias: str, job: Distribution, context: Context) -> bool:
    """Return whether the project surely has no group with this alias."""
    path = expand(
        "/v1/{+project}/groups/{alias}", {"project": job.project, "alias": alias}
    )
    try:
        context.call(Call("GET", ROOT, path, what=f"the group {alias}"))
    except ApiError as error:
        return error.status == 404
    except (Interrupted, Stopped):
        raise
    except UploaderError:
        return False
    return False


def _release_error(
    refused: ApiError,
    job: Distribution,
    release: Release,
    context: Context,
) -> UploaderError:
    """Return the error for a release that an earlier run uploaded and that may be gone by now.

    If it is gone, the upload is forgotten, so that the next run sends the file again.
    """
    path = expand("/v1/{+name}", {"name": release.name})
    try:
        context.call(Call("GET", ROOT, path, what="the release"))
    except ApiError as error:
        if error.status == 404:
            context.forget_uploads(f"/upload/v1/{job.app}")
            return refused.with_advice(
                cause="An earlier run uploaded the release, but it no longer exists.",
                hint="Run again: the file will be sent again.",
            )
    return refused.with_advice(also=release.stays)
