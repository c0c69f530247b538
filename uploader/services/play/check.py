"""The target `check`: what a release to Google Play needs, and what of it is missing.

Nothing is changed. Google has no method that lists an account's permissions for an app without the
developer account's id (`users.list`), so each row is the answer to a request that a release makes
as well. What no answer shows is reported as such, never as granted.

One request has an effect: a new edit closes any other edit that the account has open for the app.
So none is opened in a dry run, or where an earlier run of the job left one to be continued.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from uploader.errors import (
    ApiError,
    CredentialsError,
    InputError,
    Problem,
    Problems,
    ServiceError,
    TemporaryError,
    UploaderError,
)
from uploader.files.artifacts import Artifact, Artifacts, inspect
from uploader.inputs.parsers import Limit
from uploader.inputs.records import CheckInputs
from uploader.services.base import Context, Outcome, Prepared, Section
from uploader.services.play import client, gate, review
from uploader.services.play.client import Edit
from uploader.services.play.edit_lifecycle import read_and_deleted, unfinished
from uploader.services.play.known_errors import explained, find
from uploader.services.play.tracks import STANDARD
from uploader.text import capitalised, plural, sentence

Result = Literal["ok", "missing", "look at this", "could not be checked"]

USERS = "https://play.google.com/console/developers/users-and-permissions"
APIS = "https://console.cloud.google.com/apis/library/"
LOGIN = "Login"
API = "Google Play Android Developer API"
VIEW_APP = "View app information (read-only)"
TO_TESTING = "Release apps to testing tracks"
TO_PRODUCTION = "Release to production, exclude devices, and use Play App Signing"
STORE_PRESENCE = "Manage store presence"
TESTERS = "Manage testing tracks and edit tester lists"
EDIT = "Begin a release (open an edit)"
VALIDATION = "Validation of an edit without changes"
VITALS = "Crash and ANR rates"
_GRANT = "grant it under Users and permissions in the Play Console"
_CODES_OF_THE_API = ("api-disabled", "project-not-linked")


@dataclass(frozen=True)
class CheckJob:
    """What is checked for one app. `may_open`: an edit may be opened and deleted."""

    package: str
    tracks: tuple[str, ...] = ()
    limits: tuple[Limit, ...] = ()
    may_open: bool = True
    rehearsal: bool = False


@dataclass(frozen=True)
class Row:
    """One thing that a release needs, whether it is there, and what to do where it is not."""

    what: str
    result: Result
    detail: str


def prepare(inputs: CheckInputs, files: Artifacts) -> Prepared:
    """Check the inputs. Raises InputError with every problem."""
    problems = Problems()
    found = [problems.collect(partial(_package, file, inputs.package_name)) for file in files]
    packages = inputs.package_name or tuple(dict.fromkeys(filter(None, found)))
    if not packages and "files" not in problems.names:
        problems.add(
            "package-name",
            "is required for this target.",
            "the app's name, or an artifact in `files`",
        )
    problems.raise_if_any()
    jobs = [
        CheckJob(
            package,
            inputs.tracks,
            inputs.halt_above,
            not inputs.common.dry_run,
            inputs.common.rehearsal,
        )
        for package in packages
    ]
    scopes = (client.SCOPE, *((gate.SCOPE,) if inputs.halt_above else ()))
    lines = [step for job in jobs for step in _steps(job)]
    apps: dict[str, tuple[int, ...]] = {job.package: () for job in jobs}
    return Prepared(tuple(lines), scopes, partial(flow, jobs), apps=apps)


def _package(file: Artifact, given: tuple[str, ...]) -> str:
    """Return the app of an artifact. Raises InputError where it is none of those given."""
    manifest = (file if file.manifest else inspect(file)).manifest
    assert manifest, "`inspect` has read it"
    if given and manifest.package not in given:
        what = f"is {', '.join(given)}, but {file.name} belongs to {manifest.package}."
        raise InputError(Problem("package-name", what, "the artifact's own name, or nothing"))
    return manifest.package


def _steps(job: CheckJob) -> Iterator[str]:
    """Yield what is done for one app, a step at a time."""
    yield f"look at the releases of {job.package}"
    if job.may_open:
        yield (
            "open an edit, validate it and delete it, which closes any other edit that this "
            "account has open for the app; `dry-run: true` does without"
        )
    if job.limits:
        yield "ask how recent the measurements of crashes and ANRs are"
    yield "say what is missing, and change nothing"


def flow(jobs: Sequence[CheckJob], context: Context) -> Outcome:
    """Check one app after the other, and report everything in one table."""
    rows: list[tuple[str, Row]] = []
    refused: CredentialsError | None = None
    for job in jobs:
        found, refused = _check_with_login(job, context)
        rows += [(job.package, row) for row in found]
        if refused:
            break  # it is the same login for every app
    table = _table(rows, with_app=len(jobs) > 1)
    for line in table.lines():
        context.info(line)
    for package, row in rows:
        if row.result == "look at this":
            context.warning(f"{package}: {row.what}: {row.detail}")
    links = (("Users and permissions", USERS), (API, f"{APIS}androidpublisher.googleapis.com"))
    trouble = refused or _trouble(rows)
    return Outcome(_headline(jobs, rows), links, sections=(table,), trouble=trouble)


def _headline(jobs: Sequence[CheckJob], rows: Sequence[tuple[str, Row]]) -> str:
    results = [row.result for _, row in rows]
    unknown = results.count("could not be checked")
    names = ", ".join(job.package for job in jobs)
    missing = f"{results.count('missing') or 'nothing'} missing"
    rest = f"; {plural(unknown, 'row')} could not be checked" if unknown else ""
    return f"{names}: {results.count('ok')} ok, {missing}{rest}."


def _trouble(rows: Sequence[tuple[str, Row]]) -> UploaderError | None:
    """Return the error of a run in which something is missing, with what to do about each."""
    missing = list(dict.fromkeys(row for _, row in rows if row.result == "missing"))
    if not missing:
        return None
    apps = ", ".join(dict.fromkeys(package for package, row in rows if row.result == "missing"))
    names = "; ".join(row.what for row in missing)
    hints = [row.detail for row in missing]
    if len(missing) > 1:
        hints = [f"{row.what}: {row.detail}" for row in missing]
    return CredentialsError(
        f"{apps} can't be released yet. Missing: {names}.",
        hint=" ".join(hints),
        code="setup-incomplete",
    )


def _table(rows: Sequence[tuple[str, Row]], *, with_app: bool) -> Section:
    header = ("App", "What a release needs", "Result", "Detail")
    cells = [
        (package if with_app else "", row.what, capitalised(row.result), row.detail)
        for package, row in rows
    ]
    return Section("Setup", header, tuple(cells))


def _check_with_login(job: CheckJob, context: Context) -> tuple[list[Row], CredentialsError | None]:
    """Return what is known of one app, and the error of a login that failed."""
    try:
        return _check(job, context), None
    except CredentialsError as error:
        return _without_login(job, error), error


def _without_login(job: CheckJob, error: CredentialsError) -> list[Row]:
    why = "The login failed."
    return [
        Row(LOGIN, "missing", error.what),
        *(_unchecked(what, why) for what in (API, f"App {job.package}", VIEW_APP)),
        *_rest_unchecked(job, why),
    ]


def _check(job: CheckJob, context: Context) -> list[Row]:
    """Return what is known of one app. Raises CredentialsError where the login itself fails, and
    ApiError for a refusal that is not about the setup.
    """
    app = f"App {job.package}"
    refusal: ApiError | None = None
    try:
        review.listed(context, job.package, job.tracks[0] if job.tracks else STANDARD[0])
    except ApiError as error:
        refusal = error
    rows = [_login(job)]
    if refusal is None:
        rows += [
            Row(API, "ok", "It is enabled in the account's project."),
            Row(app, "ok", "Google Play knows it, and the account is one of its users."),
            Row(VIEW_APP, "ok", "The releases could be read."),
            *_in_an_edit(job, context),
        ]
    else:
        known = find(refusal)
        detail = _advice(refusal)
        why = "See the row above that is missing."
        if known.code in _CODES_OF_THE_API:
            if known.code == "api-disabled":
                detail = f"{_words(refusal)} It then takes a few minutes."
            rows += [Row(API, "missing", detail), _unchecked(app, why), _unchecked(VIEW_APP, why)]
        elif known.code == "package-not-found":
            rows += [_answers(), Row(app, "missing", detail), _unchecked(VIEW_APP, why)]
        elif known.permission:
            detail = f"{_words(refusal)} Invite the account, and {_GRANT}."
            rows += [_answers(), _unchecked(app, why), Row(VIEW_APP, "missing", detail)]
        else:
            raise explained(refusal)
        rows += _rest_unchecked(job, why)
    if job.limits and refusal is None:
        rows.append(_vitals(job, context))
    return rows


def _login(job: CheckJob) -> Row:
    if job.rehearsal:
        return _unchecked(LOGIN, "A rehearsal uses the emulator's own credentials.")
    return Row(LOGIN, "ok", "Google gave an access token, and the service accepted it.")


def _answers() -> Row:
    return Row(API, "ok", "It answers.")


def _unchecked(what: str, why: str) -> Row:
    return Row(what, "could not be checked", why)


def _advice(refusal: ApiError) -> str:
    """Return Google's words, and what to do."""
    return f"{_words(refusal)} {explained(refusal).hint}"


def _words(refusal: ApiError) -> str:
    return sentence(f"Google Play says: {refusal.message or refusal.what}")


def _rest_unchecked(job: CheckJob, why: str) -> list[Row]:
    """Return the rows of everything that needs a login to the app."""
    rows = [_unchecked(EDIT, why), _unchecked(VALIDATION, why)]
    rows += [_unchecked(f"Track {track}", why) for track in _custom_tracks(job)]
    rows += _granted_at_the_commit(job)
    if job.limits:
        rows.append(_unchecked(VITALS, why))
    return rows


def _custom_tracks(job: CheckJob) -> list[str]:
    """Return the tracks that not every app has."""
    return [track for track in job.tracks if track not in STANDARD]


def _granted_at_the_commit(job: CheckJob) -> Iterator[Row]:
    """Yield the permissions that no answer before a commit tells of."""
    production = [track for track in job.tracks if track.rpartition(":")[2] == "production"]
    testing = [track for track in job.tracks if track not in production]
    when = "Not known before a release is committed"
    if testing or not job.tracks:
        on = ", ".join(testing) or "testing tracks"
        yield _unchecked(TO_TESTING, f"{when}. Needed for {on}; {_GRANT}.")
    if production or not job.tracks:
        on = ", ".join(production) or "production"
        yield _unchecked(TO_PRODUCTION, f"{when}. Needed for {on}; {_GRANT}.")
    yield _unchecked(STORE_PRESENCE, f"{when}. Needed only for `images-directory`; {_GRANT}.")
    needed = "Needed only for `testers` and `create-tracks`"
    yield _unchecked(TESTERS, f"{when}. {needed}; {_GRANT}.")


def _in_an_edit(job: CheckJob, context: Context) -> list[Row]:
    """Return what can be learnt in an edit, which is deleted again."""
    why_not = ""
    if not job.may_open:
        why_not = "`dry-run: true` opens no edit."
    elif kept := unfinished(job.package, context):
        why_not = f"Edit {kept} of an unfinished release would be closed by another."
    rows: list[Row] = []
    if why_not:
        rows += [_unchecked(EDIT, why_not), _unchecked(VALIDATION, why_not)]
        rows += [_unchecked(f"Track {track}", why_not) for track in _custom_tracks(job)]
    else:
        try:
            edit = client.insert(context, job.package)
        except ApiError as refusal:
            rows += _no_edit(job, refusal)
        else:
            rows.append(Row(EDIT, "ok", "One could be opened; nothing was changed in it."))
            rows += read_and_deleted(edit, partial(_read, job), context)
    rows += _granted_at_the_commit(job)
    return rows


def _no_edit(job: CheckJob, refusal: ApiError) -> list[Row]:
    detail = _advice(refusal)
    if find(refusal).permission:
        needed = [row.what for row in _granted_at_the_commit(job)]
        to_release = [f"“{name}”" for name in needed if name in (TO_TESTING, TO_PRODUCTION)]
        names = (" and " if job.tracks else " or ").join(to_release)
        detail = (
            f"{_words(refusal)} Grant the account {names} under Users and permissions in the Play "
            "Console. It can take a day to apply."
        )
    why = "No edit could be opened."
    rows = [Row(EDIT, "missing", detail), _unchecked(VALIDATION, why)]
    return rows + [_unchecked(f"Track {track}", why) for track in _custom_tracks(job)]


def _read(job: CheckJob, edit: Edit) -> list[Row]:
    rows = [_validated(edit)]
    custom = _custom_tracks(job)
    if not custom:
        return rows
    there = {str(entry.get("track", "")) for entry in edit.listed("tracks")}
    for track in custom:
        if track in there:
            rows.append(Row(f"Track {track}", "ok", "The app has it."))
        else:
            detail = (
                "The app has no such track. Create it in the Play Console (Testing, Closed "
                "testing), or let the release do so with `create-tracks: true`."
            )
            rows.append(Row(f"Track {track}", "missing", detail))
    return rows


def _validated(edit: Edit) -> Row:
    """Return what Google Play says of an edit like the live app. What it refuses here it would
    refuse at the commit of a release as well.
    """
    try:
        edit.validate()
    except ApiError as refusal:
        result: Result = "missing" if find(refusal).permission else "look at this"
        return Row(VALIDATION, result, _advice(refusal))
    return Row(VALIDATION, "ok", "Google Play has no objection.")


def _vitals(job: CheckJob, context: Context) -> Row:
    """Return whether the Reporting API answers. It is asked last, since a release does without."""
    try:
        gate.look(context, job.package, job.limits[0].metric)
    except ApiError as refusal:
        code = find(refusal).code
        if code == "api-disabled":
            detail = f"Enable the Google Play Developer Reporting API: {APIS}{gate.HOST}"
            return Row(VITALS, "missing", detail)
        if find(refusal).permission or refusal.status == 403:
            return Row(VITALS, "missing", f"The account needs “{VIEW_APP}”: {_GRANT}.")
        return _unchecked(VITALS, sentence(f"Google says: {refusal.message or refusal.what}"))
    except (TemporaryError, ServiceError) as error:
        return _unchecked(VITALS, error.what)
    return Row(VITALS, "ok", "The Reporting API answers, for `halt-above`.")
