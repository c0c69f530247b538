"""The target `check`: report what a release to Google Play needs, and what is missing for it.

Nothing is changed. Google has no method that lists an account's permissions for an app without the
developer account's id (`users.list`), so each row is the answer to a request that a release makes
as well. What no answer shows is reported as unchecked, never as granted.

One request has an effect: a new edit closes any other edit that the account has open for the app.
So no edit is opened in a dry run, or if an earlier run of the job left one to be continued.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
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
    SetupIncomplete,
    TemporaryError,
    UploaderError,
)
from uploader.files.artifacts import Artifact, Artifacts, inspect
from uploader.inputs.parsers import Limit
from uploader.inputs.records import CheckInputs
from uploader.services.base import Context, Outcome, Prepared, Section
from uploader.services.play import (
    SCOPE,
    client,
    gate,
    review,
)
from uploader.services.play.client import Edit
from uploader.services.play.edit_lifecycle import find_unfinished_edit, read_and_delete
from uploader.services.play.known_errors import (
    STORE_PRESENCE,
    TESTERS,
    TO_PRODUCTION,
    TO_TESTING,
    explain,
    find,
)
from uploader.services.play.model import TrackName
from uploader.services.play.track_names import STANDARD, guess_track
from uploader.text import capitalise, plural, sentence

Result = Literal["ok", "missing", "look at this", "could not be checked"]

USERS = "https://play.google.com/console/developers/users-and-permissions"
PRODUCTION = "production"
LOGIN = "Login"
API = "Google Play Android Developer API"
VIEW_APP = "View app information (read-only)"
EDIT = "Begin a release (open an edit)"
VALIDATION = "Validation of an edit without changes"
VITALS = "Crash and ANR rates"
_GRANT = "grant it under Users and permissions in the Play Console"


@dataclass(frozen=True)
class CheckJob:
    """The checks of one app. `may_open` allows them to open an edit and delete it again."""

    package: str
    tracks: tuple[TrackName, ...] = ()
    limits: tuple[Limit, ...] = ()
    may_open: bool = True
    rehearsal: bool = False


@dataclass(frozen=True)
class Row:
    """One thing that a release needs, whether it is there, and what to do if it is not."""

    what: str
    result: Result
    detail: str


@dataclass(frozen=True)
class Report:
    """What is known of one app."""

    package: str
    rows: Sequence[Row]


def prepare(inputs: CheckInputs, files: Artifacts) -> Prepared:
    """Check the inputs. Raises InputError with every problem."""
    jobs = _jobs(inputs, files)
    lines: list[str] = []
    apps: dict[str, tuple[int, ...]] = {}
    for job in jobs:
        lines += _steps(job)
        apps[job.package] = ()
    scopes: tuple[str, ...] = (SCOPE,)
    if inputs.halt_above:
        scopes += (gate.SCOPE,)
    return Prepared(
        tuple(lines),
        scopes,
        partial(flow, jobs),
        apps=apps,
    )


def _jobs(inputs: CheckInputs, files: Artifacts) -> list[CheckJob]:
    """Return a job for each app of `package-name`, or of the files if that is empty. Raises
    InputError.
    """
    problems = Problems()
    packages_of_files: dict[str, None] = {}  # an ordered set
    for file in files:
        read_package = partial(_package, file, inputs.package_name)
        package = problems.collect(read_package)
        if package:
            packages_of_files[package] = None
    packages = inputs.package_name or tuple(packages_of_files)
    if not packages and "files" not in problems.names:
        problems.add(
            "package-name",
            "is required for this target.",
            "the app's name, or an artifact in `files`",
        )
    problems.raise_if_any()
    tracks = tuple(map(TrackName, inputs.tracks))
    jobs = []
    for package in packages:
        job = CheckJob(
            package,
            tracks,
            inputs.halt_above,
            may_open=not inputs.common.dry_run,
            rehearsal=inputs.common.rehearsal,
        )
        jobs.append(job)
    return jobs


def _package(artifact: Artifact, given: tuple[str, ...]) -> str:
    """Return the app of an artifact. Raises InputError if it is none of those given."""
    manifest = artifact.manifest
    if manifest is None:
        manifest = inspect(artifact).manifest
    assert manifest, "`inspect` has read it"
    if given and manifest.package not in given:
        packages = ", ".join(given)
        what = f"is {packages}, but {artifact.name} belongs to {manifest.package}."
        raise InputError(
            Problem("package-name", what, "the artifact's own name, or nothing")
        )
    return manifest.package


def _steps(job: CheckJob) -> Iterator[str]:
    """Yield the steps of the checks of one app, for the plan of the run."""
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
    reports: list[Report] = []
    trouble: UploaderError | None = None
    for job in jobs:
        try:
            rows = _check(job, context)
        except CredentialsError as error:
            rows = _without_login(job, error)
            reports.append(Report(job.package, rows))
            trouble = error
            break  # every app has the same login
        reports.append(Report(job.package, rows))
    table = _table(reports, with_app=len(jobs) > 1)
    for line in table.lines():
        context.info(line)
    _warn_of_objections(reports, context)
    links = (
        ("Users and permissions", USERS),
        (API, f"{gate.APIS}androidpublisher.googleapis.com"),
    )
    if trouble is None:
        trouble = _trouble(reports)
    headline = _headline(jobs, reports)
    return Outcome(headline, links, sections=(table,), trouble=trouble)


def _warn_of_objections(reports: Sequence[Report], context: Context) -> None:
    """Log a warning for each row that a person should look at."""
    for report in reports:
        for row in report.rows:
            if row.result == "look at this":
                context.warning(f"{report.package}: {row.what}: {row.detail}")


def _headline(jobs: Sequence[CheckJob], reports: Sequence[Report]) -> str:
    """Return the last line of the run, with the number of rows for each result."""
    counts: Counter[Result] = Counter()
    for report in reports:
        for row in report.rows:
            counts[row.result] += 1
    packages = ", ".join(job.package for job in jobs)
    ok = counts["ok"]
    missing = counts["missing"] or "nothing"
    headline = f"{packages}: {ok} ok, {missing} missing"
    unknown = counts["could not be checked"]
    if unknown:
        rows = plural(unknown, "row")
        headline += f"; {rows} could not be checked"
    return f"{headline}."


def _trouble(reports: Sequence[Report]) -> UploaderError | None:
    """Return the error of a run in which something is missing, with what to do about each; None if
    nothing is missing.
    """
    packages: dict[str, None] = {}  # ordered sets: several apps may lack the same
    missing: dict[Row, None] = {}
    for report in reports:
        for row in report.rows:
            if row.result == "missing":
                packages[report.package] = None
                missing[row] = None
    if not missing:
        return None
    apps = ", ".join(packages)
    names = "; ".join(row.what for row in missing)
    hints = []
    for row in missing:
        hint = row.detail
        if len(missing) > 1:
            hint = f"{row.what}: {hint}"
        hints.append(hint)
    return SetupIncomplete(
        f"{apps} can't be released yet. Missing: {names}.",
        hint=" ".join(hints),
        code="setup-incomplete",
    )


def _table(reports: Sequence[Report], *, with_app: bool) -> Section:
    """Return all rows as a table; unless `with_app`, its first column is empty."""
    header = ("App", "What a release needs", "Result", "Detail")
    lines: list[tuple[str, ...]] = []
    for report in reports:
        package = ""
        if with_app:
            package = report.package
        for row in report.rows:
            result = capitalise(row.result)
            lines.append((package, row.what, result, row.detail))
    return Section("Setup", header, tuple(lines))


def _without_login(job: CheckJob, error: CredentialsError) -> list[Row]:
    """Return the rows of an app after a failed login."""
    why = "The login failed."
    return [
        Row(LOGIN, "missing", error.what),
        _unchecked_row(API, why),
        _unchecked_row(f"App {job.package}", why),
        _unchecked_row(VIEW_APP, why),
        *_rest_unchecked(job, why),
    ]


def _check(job: CheckJob, context: Context) -> list[Row]:
    """Return the rows of one app. Raises CredentialsError if the login itself fails, and ApiError
    for a refusal that is not about the setup.
    """
    track = STANDARD[0]
    if job.tracks:
        track = job.tracks[0].text
    try:
        review.list_releases(context, job.package, track)
    except ApiError as refusal:
        why = "See the row above that is missing."
        return [
            _login(job),
            *_refusal_rows(job, refusal, why),
            *_rest_unchecked(job, why),
        ]
    rows = [
        _login(job),
        Row(API, "ok", "It is enabled in the account's project."),
        Row(
            f"App {job.package}",
            "ok",
            "Google Play knows it, and the account is one of its users.",
        ),
        Row(VIEW_APP, "ok", "The releases could be read."),
    ]
    rows += _in_an_edit(job, context)
    if job.limits:
        rows.append(_vitals(job, context))
    return rows


def _refusal_rows(job: CheckJob, refusal: ApiError, why: str) -> list[Row]:
    """Return the rows of the API, the app and the permission to see it, if the first request was
    refused.

    `why` is the detail of the rows that could not be checked. Raises ApiError for a refusal that is
    not about the setup.
    """
    app = f"App {job.package}"
    known = find(refusal)
    if known.code == "package-not-found":
        return [
            _answers(),
            Row(app, "missing", _advice(refusal)),
            _unchecked_row(VIEW_APP, why),
        ]
    if known.code == "permission-denied":
        detail = f"{_words(refusal)} Invite the account, and {_GRANT}."
        return [
            _answers(),
            _unchecked_row(app, why),
            Row(VIEW_APP, "missing", detail),
        ]
    if known.permission:
        # It is about the Google Cloud project or the scopes of the login.
        detail = _advice(refusal)
        if known.code == "api-disabled":
            detail = f"{_words(refusal)} It then takes a few minutes."
        return [
            Row(API, "missing", detail),
            _unchecked_row(app, why),
            _unchecked_row(VIEW_APP, why),
        ]
    raise explain(refusal)


def _login(job: CheckJob) -> Row:
    """Return the row of a login that was accepted."""
    if job.rehearsal:
        return _unchecked_row(LOGIN, "A rehearsal uses the emulator's own credentials.")
    return Row(LOGIN, "ok", "Google gave an access token, and the service accepted it.")


def _answers() -> Row:
    return Row(API, "ok", "It answers.")


def _unchecked_row(what: str, why: str) -> Row:
    return Row(what, "could not be checked", why)


def _advice(refusal: ApiError) -> str:
    """Return Google's words, and what to do."""
    hint = explain(refusal).hint
    return f"{_words(refusal)} {hint}"


def _words(refusal: ApiError) -> str:
    """Return Google's words as a sentence."""
    words = refusal.message or refusal.what
    return sentence(f"Google Play says: {words}")


def _rest_unchecked(job: CheckJob, why: str) -> list[Row]:
    """Return the rows of everything that is checked after the first request, as unchecked."""
    rows = _edit_unchecked(job, why)
    rows += _commit_permission_rows(job)
    if job.limits:
        rows.append(_unchecked_row(VITALS, why))
    return rows


def _edit_unchecked(job: CheckJob, why: str) -> list[Row]:
    """Return the rows of what only an edit shows, as unchecked."""
    return [
        _unchecked_row(EDIT, why),
        _unchecked_row(VALIDATION, why),
        *_tracks_unchecked(job, why),
    ]


def _tracks_unchecked(job: CheckJob, why: str) -> list[Row]:
    """Return the rows of the job's own tracks, as unchecked."""
    return [_unchecked_row(_row_of(track), why) for track in _custom_tracks(job)]


def _row_of(track: TrackName) -> str:
    """Return the heading of a track's row."""
    return f"Track {track.text}"


def _custom_tracks(job: CheckJob) -> list[TrackName]:
    """Return the tracks that not every app has."""
    return [track for track in job.tracks if track.text not in STANDARD]


def _commit_permission_rows(job: CheckJob) -> list[Row]:
    """Return the rows of the permissions that only a commit shows, as unchecked."""
    testing: list[str] = []
    production: list[str] = []
    for track in job.tracks:
        if track.base == PRODUCTION:
            production.append(track.text)
        else:
            testing.append(track.text)
    if not job.tracks:
        testing = ["testing tracks"]
        production = [PRODUCTION]
    rows: list[Row] = []
    if testing:
        tracks = ", ".join(testing)
        rows.append(_commit_permission_row(TO_TESTING, f"for {tracks}"))
    if production:
        tracks = ", ".join(production)
        rows.append(_commit_permission_row(TO_PRODUCTION, f"for {tracks}"))
    rows += [
        _commit_permission_row(STORE_PRESENCE, "only for `images-directory`"),
        _commit_permission_row(TESTERS, "only for `testers` and `create-tracks`"),
    ]
    return rows


def _commit_permission_row(permission: str, purpose: str) -> Row:
    """Return the row of a permission that only a commit shows; `purpose` says what needs it."""
    why = f"Not known before a release is committed. Needed {purpose}; {_GRANT}."
    return _unchecked_row(permission, why)


def _in_an_edit(job: CheckJob, context: Context) -> list[Row]:
    """Return the rows about an edit, and about the permissions that only its commit would show."""
    rows = _of_edit(job, context)
    rows += _commit_permission_rows(job)
    return rows


def _of_edit(job: CheckJob, context: Context) -> list[Row]:
    """Open an edit and delete it again. Return the rows about it: whether it can be opened, its
    validation, the tracks in it.
    """
    if not job.may_open:
        return _edit_unchecked(job, "`dry-run: true` opens no edit.")
    kept = find_unfinished_edit(job.package, context)
    if kept:
        why_not = f"Edit {kept} of an unfinished release would be closed by another."
        return _edit_unchecked(job, why_not)
    try:
        edit = client.insert(context, job.package)
    except ApiError as refusal:
        return _no_edit(job, refusal)
    opened = Row(EDIT, "ok", "An edit could be opened; nothing was changed in it.")
    rows_in_edit = read_and_delete(edit, partial(_read, job), context)
    return [opened, *rows_in_edit]


def _no_edit(job: CheckJob, refusal: ApiError) -> list[Row]:
    """Return the rows of an edit that Google Play did not open."""
    if find(refusal).code == "permission-denied":
        rights = _names_of_rights(job)
        detail = (
            f"{_words(refusal)} Grant the account {rights} under Users and permissions in the "
            "Play Console. It can take a day to apply."
        )
    else:
        detail = _advice(refusal)
    why = "No edit could be opened."
    return [
        Row(EDIT, "missing", detail),
        _unchecked_row(VALIDATION, why),
        *_tracks_unchecked(job, why),
    ]


def _names_of_rights(job: CheckJob) -> str:
    """Return the permissions to release to the job's tracks; if it has none, either will do."""
    release_rights = (TO_TESTING, TO_PRODUCTION)
    rows = _commit_permission_rows(job)
    names = [f"“{row.what}”" for row in rows if row.what in release_rights]
    if job.tracks:
        return " and ".join(names)
    return " or ".join(names)


def _read(job: CheckJob, edit: Edit) -> list[Row]:
    """Return the rows of the validation of an edit, and of the tracks that not every app has."""
    rows = [_validate(edit)]
    custom_tracks = _custom_tracks(job)
    if not custom_tracks:
        return rows
    tracks_of_app = {
        str(entry.get("track", "")) for entry in edit.list_entries("tracks")
    }
    for track in custom_tracks:
        heading = _row_of(track)
        if track.text in tracks_of_app:
            rows.append(Row(heading, "ok", "The app has it."))
        else:
            detail = _about_missing(track.text, tracks_of_app)
            rows.append(Row(heading, "missing", detail))
    return rows


def _about_missing(track: str, tracks_of_app: Collection[str]) -> str:
    """Return what to do about a track that the app does not have."""
    known = dict.fromkeys((*STANDARD, *tracks_of_app))
    other = guess_track(track, known)
    if other:
        return f"The app has no such track. It is probably a misspelling of {other}."
    return (
        "The app has no such track. Create it in the Play Console (Testing, Closed testing), or "
        "let the release do so with `create-tracks: true`."
    )


def _validate(edit: Edit) -> Row:
    """Return the row of the validation of an edit without changes. What Google Play refuses here,
    it would also refuse at the commit of a release.
    """
    try:
        edit.validate()
    except ApiError as refusal:
        result: Result = "look at this"
        if find(refusal).permission:
            result = "missing"
        return Row(VALIDATION, result, _advice(refusal))
    return Row(VALIDATION, "ok", "Google Play has no objection.")


def _vitals(job: CheckJob, context: Context) -> Row:
    """Return the row of the Reporting API, which only a rollout with a gate needs."""
    try:
        first_limit = job.limits[0]
        gate.look(context, job.package, first_limit.metric)
    except ApiError as refusal:
        known = find(refusal)
        if known.code == "api-disabled":
            detail = f"Enable the Google Play Developer Reporting API: {gate.APIS}{gate.HOST}"
            return Row(VITALS, "missing", detail)
        if known.permission or refusal.status == 403:
            needed = f"“{VIEW_APP}” and “{gate.VIEW_QUALITY}”"
            return Row(VITALS, "missing", f"The account needs {needed}: {_GRANT}.")
        words = refusal.message or refusal.what
        return _unchecked_row(VITALS, sentence(f"Google says: {words}"))
    except (TemporaryError, ServiceError) as error:
        return _unchecked_row(VITALS, error.what)
    return Row(VITALS, "ok", "The Reporting API answers, for `halt-above`.")
