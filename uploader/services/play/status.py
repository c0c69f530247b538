"""The target `play-status`: report what is on an app's tracks, how far its review is, and what the
account may do. Nothing is changed.

Most of that is only in an edit, and a new edit closes any other that the account has open for the
app. So none is opened in a run that waits for a review, in a dry run, or if an earlier run of the
job left an edit to be continued. An edit that is opened is deleted as soon as it has been read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

from uploader.errors import ApiError, Problems, ReleaseRefused
from uploader.files.artifacts import Artifacts
from uploader.files.workspace import Workspace
from uploader.inputs.parsers import PACKAGE
from uploader.inputs.records import StatusInputs
from uploader.services import batch
from uploader.services.base import Context, Outcome, Prepared, Section
from uploader.services.play import (
    SCOPE,
    client,
    release_words,
    review,
    universal_apk,
)
from uploader.services.play.client import Edit
from uploader.services.play.edit_lifecycle import (
    blame_input,
    find_unfinished_edit,
    read_and_delete,
)
from uploader.services.play.known_errors import EDIT_GONE, explain_refusals, find
from uploader.services.play.model import (
    ListedArtifact,
    Release,
    Releases,
    all_version_codes,
    newest,
    version_code_outputs,
)
from uploader.services.play.several_apps import App, SeveralApps, check_several
from uploader.services.play.track_names import STANDARD

_EDIT = (
    "in an edit of its own, which closes any other edit that this account has open for the app; "
    "`existing-edit-id` reads in that edit, `dry-run: true` does without"
)
# What only an edit shows: the tracks with their releases, and the highest version code ever
# uploaded.
_EditContent: TypeAlias = tuple[Mapping[str, Releases], int]
# the releases of each track, as Google Play lists them with their reviews
_ListedByTrack: TypeAlias = dict[str, tuple[review.Listed, ...]]


@dataclass(frozen=True)
class ReviewedRelease:
    """A release and the state of its review, which is empty if Google Play does not list it, or was
    not asked.
    """

    release: Release
    state: str = ""

    @property
    def highest_version_code(self) -> int:
        """The highest version code, -1 if there is none."""
        return self.release.highest_version_code


Reviewed: TypeAlias = tuple[ReviewedRelease, ...]
"""The releases of a track."""


@dataclass(frozen=True)
class StatusJob:
    """A look at one app: at these tracks (all if there are none), in this edit or in a new one if
    `may_open`. `goal` is what to wait for, and `universal_apk` what to fetch.
    """

    package: str
    tracks: tuple[str, ...] = ()
    existing_edit: str = ""
    may_open: bool = True
    goal: review.ReviewGoal | None = None
    universal_apk: universal_apk.UniversalApkGoal | None = None
    rehearsal: bool = False


def prepare(inputs: StatusInputs, files: Artifacts, workspace: Workspace) -> Prepared:
    """Check the inputs. Raises InputError with every problem."""
    problems = Problems()
    if files:
        problems.add("files", "a status sends no files.", "no files")
    batch.require(problems, package_name=inputs.package_name)
    several = len(inputs.package_name) > 1
    if several:
        check_several(inputs, problems)
    may_open = True
    if inputs.common.dry_run or inputs.wait_for or inputs.existing_edit_id:
        may_open = False
    goal: review.ReviewGoal | None = None
    if inputs.wait_for:
        goal = review.goal_of(inputs, inputs.tracks, problems)
    jobs = []
    lines: list[str] = []
    apps: dict[str, tuple[int, ...]] = {}
    for package in inputs.package_name or (PACKAGE,):
        job = StatusJob(
            package,
            inputs.tracks,
            inputs.existing_edit_id,
            may_open,
            goal,
            _apk_to_fetch(inputs, package, workspace, problems),
            inputs.common.rehearsal,
        )
        jobs.append(job)
        lines += _steps(job)
        apps[package] = ()
    problems.raise_if_any()
    begin = partial(flow, jobs[0])
    if several:
        begin = partial(_flow_of_several, jobs)
    return Prepared(tuple(lines), (SCOPE,), begin, apps=apps)


def _apk_to_fetch(
    inputs: StatusInputs,
    package: str,
    workspace: Workspace,
    problems: Problems,
) -> universal_apk.UniversalApkGoal | None:
    """Return where to write the universal APK of an app; None if none is wanted.

    In a dry run the input is checked, but nothing is fetched.
    """
    if not inputs.universal_apk:
        return None
    of_app = replace(
        inputs, universal_apk=inputs.universal_apk.replace(PACKAGE, package)
    )
    goal = universal_apk.goal_of(of_app, (), workspace, problems)
    if inputs.common.dry_run:
        return None
    return goal


def _steps(job: StatusJob) -> list[str]:
    """Return the plan for one app, one step per line."""
    steps = [f"look at the releases of {job.package}"]
    if job.existing_edit:
        steps.append(f"read the tracks in edit {job.existing_edit}")
    elif job.may_open:
        steps.append(f"read the tracks {_EDIT}")
    if job.universal_apk:
        file = job.universal_apk.destination.name
        steps.append(f"fetch the universal APK of the newest release: {file}")
    if job.goal:
        steps.append(f"wait until the newest release is {job.goal.state}")
    return steps


def _flow_of_several(jobs: Sequence[StatusJob], context: Context) -> Outcome:
    """Look at every app, whatever becomes of the others."""
    packages = [job.package for job in jobs]
    run = SeveralApps(packages, (), context, commits=False)
    looks = {}
    for app, job in zip(run.apps, jobs, strict=True):
        looks[app] = partial(_look, job, app)
    run.do_together(looks)
    headlines = [app.outcome.headline for app in run.apps if app.outcome]
    return run.end(" ".join(headlines))


def _look(job: StatusJob, app: App) -> None:
    """Look at one app of several."""
    app.outcome = flow(job, app)


def flow(job: StatusJob, context: Context) -> Outcome:
    """Look at one app, fetch its universal APK and wait for its review, as far as that is asked
    for. Refusals are raised with their cause and remedy.
    """
    with explain_refusals(reading=True):
        newest_first, outcome = _status(job, context)
        if job.universal_apk:
            codes = _newest_version_codes(newest_first)
            outcome = universal_apk.fetch_apks(
                job.package,
                codes,
                job.universal_apk,
                outcome,
                context,
            )
        if job.goal is None or outcome.trouble:
            return outcome
        names = job.tracks
        if not names:
            names = tuple(newest_first)[:1] or STANDARD[:1]
        return review.wait_for_review(
            job.package, names, (), job.goal, outcome, context
        )


def _newest_version_codes(newest_first: Mapping[str, Reviewed]) -> tuple[str, ...]:
    """Return the version codes of the newest release. Raises ReleaseRefused if there is none."""
    for reviewed in newest_first.values():
        return newest(reviewed).release.version_codes
    raise ReleaseRefused(
        "There is no release whose universal APK could be fetched.",
        cause="The tracks that were looked at are empty.",
        hint="Name the track of the release with `tracks`.",
        code="no-release-on-track",
    )


def _status(job: StatusJob, context: Context) -> tuple[dict[str, Reviewed], Outcome]:
    """Look at the tracks of an app, log and publish what is on them.

    Returns those that have releases, that of the newest release first, and the outcome.
    """
    lists, content = _read_lists_and_edit(job, context)
    on_tracks: Mapping[str, Releases] = {}
    highest_uploaded = -1
    if content:
        on_tracks, highest_uploaded = content
    if not job.tracks:
        unlisted = [name for name in on_tracks if name not in lists]
        lists |= _read_lists(job, unlisted, context)
    elif content:
        _warn_of_missing_tracks(job, on_tracks, context)
    reviewed = {}
    for track, listed in lists.items():
        live = on_tracks.get(track, ())
        releases = _track(listed, live, in_edit=bool(content))
        if releases:
            reviewed[track] = releases
    table = _table(reviewed)
    for line in table.lines():
        context.info(line)
    newest_first = _newest_first(reviewed)
    context.publish(outputs(newest_first))
    if content:
        next_code = highest_uploaded + 1
        context.publish({"next-version-code": str(next_code)})
    headline = f"{job.package}: {_summary(newest_first)}."
    return newest_first, Outcome(headline, sections=(table,))


def _read_lists_and_edit(
    job: StatusJob, context: Context
) -> tuple[_ListedByTrack, _EditContent | None]:
    """Return what Google Play lists for the job's tracks (the standard ones if it names none), and
    what only an edit shows. They are read at the same time.
    """
    lists: _ListedByTrack = {}
    content: _EditContent | None = None

    def read_lists() -> None:
        names = job.tracks or STANDARD
        lists.update(_read_lists(job, names, context))
        if job.rehearsal:
            context.info("A rehearsal tries no credentials: the emulator has its own.")
        else:
            context.info(
                f"The credentials are accepted, and may read the releases of {job.package}."
            )

    def read_edit() -> None:
        nonlocal content
        content = _content(job, context)

    context.together([read_lists, read_edit])
    return lists, content


def _warn_of_missing_tracks(
    job: StatusJob, on_tracks: Mapping[str, Releases], context: Context
) -> None:
    """Warn of each track of the job that the edit does not have."""
    for track in job.tracks:
        if track not in on_tracks:
            context.warning(
                f"The app has no track {track}. Google Play lists {', '.join(on_tracks)}."
            )


def _table(reviewed: Mapping[str, Reviewed]) -> Section:
    """Return a table with a row for each release."""
    rows = []
    for track, releases in reviewed.items():
        on_track = [reviewed.release for reviewed in releases]
        rows += [_row(track, release, on_track) for release in releases]
    header = ("Track", "Release", "Users and status", "Countries", "Review")
    return Section("Tracks", header, tuple(rows))


def _newest_first(reviewed: Mapping[str, Reviewed]) -> dict[str, Reviewed]:
    """Return the tracks by their newest releases, the highest version code first."""

    def highest(track: str) -> int:
        return newest(reviewed[track]).highest_version_code

    tracks_in_order = sorted(reviewed, key=highest, reverse=True)
    return {track: reviewed[track] for track in tracks_in_order}


def _summary(newest_first: Mapping[str, Reviewed]) -> str:
    """Return the newest release with its status and the state of its review, in words."""
    for track, releases in newest_first.items():
        reviewed = newest(releases)
        on_track = [other.release for other in releases]
        name = release_words.label(reviewed.release)
        facts = (_in_words(reviewed.release, on_track), _review(reviewed))
        known_facts = ", ".join(filter(None, facts))
        return f"{track} has {name}: {known_facts}"
    return "no releases"


def _read_lists(
    job: StatusJob, names: Sequence[str], context: Context
) -> _ListedByTrack:
    """Return the releases of each of these tracks with the states of their reviews."""
    reads = [
        partial(
            review.list_releases,
            context,
            job.package,
            track,
        )
        for track in names
    ]
    lists = context.together(reads)
    return dict(zip(names, lists, strict=True))


def _content(job: StatusJob, context: Context) -> _EditContent | None:
    """Read what only an edit shows; None if no edit is to be read, or none may be opened."""
    if job.existing_edit:
        try:
            return _read(Edit(context, job.package, job.existing_edit))
        except ApiError as refused:
            if find(refused) is EDIT_GONE:
                raise blame_input(refused) from refused
            raise
    if not job.may_open:
        return None
    kept = find_unfinished_edit(job.package, context)
    if kept:
        context.warning(
            f"Edit {kept} of an unfinished release would be closed by another, so only the "
            "review is looked at."
        )
        return None
    try:
        edit = client.insert(context, job.package)
    except ApiError as refused:
        if not find(refused).permission:
            raise
        context.warning(
            f"The account may not open an edit, so it can't release: {refused.message}"
        )
        return None
    opened = "The account may open an edit; opened"
    if job.rehearsal:
        opened = "Opened"
    context.info(f"{opened} edit {edit.id} to read it.")
    return read_and_delete(edit, _read, context)


def _read(edit: Edit) -> _EditContent:
    """Read the tracks and the artifacts of an edit."""
    on_tracks: dict[str, Releases] = {}
    artifacts: list[ListedArtifact] = []

    def read_tracks() -> None:
        for track in edit.tracks():
            on_tracks[track.name] = track.releases

    def read_bundles() -> None:
        artifacts.extend(edit.artifacts("bundles"))

    def read_apks() -> None:
        artifacts.extend(edit.artifacts("apks"))

    edit.context.together([read_tracks, read_bundles, read_apks])
    highest = 0
    for releases in on_tracks.values():
        for release in releases:
            highest = max(highest, release.highest_version_code)
    for artifact in artifacts:
        highest = max(highest, artifact.version_code)
    return on_tracks, highest


def _track(
    listed: tuple[review.Listed, ...], live: Releases, *, in_edit: bool
) -> Reviewed:
    """Return the releases that an edit has on the track (`live`) with their states from the list,
    and those that are only in the list.
    """
    codes_in_edit = set(all_version_codes(live))
    releases = []
    for release in live:
        state = review.state_of_release(listed, release.version_codes)
        if release.status == "draft" and not state:
            state = "DRAFT"
        releases.append(ReviewedRelease(release, state))
    for summary in listed:
        if in_edit and not summary.codes:
            # It is a draft without artifacts: the edit has it as well, but there is no version code
            # by which to find it there.
            continue
        if codes_in_edit.isdisjoint(summary.codes):
            release = Release.of(summary.codes).with_name(summary.name)
            releases.append(ReviewedRelease(release, summary.state))
    return tuple(releases)


def outputs(on_tracks: Mapping[str, Reviewed]) -> dict[str, str]:
    """Return the outputs about the releases on tracks. Outputs with a single value are about the
    release with the highest version code.
    """
    on_all: list[ReviewedRelease] = []
    for reviewed in on_tracks.values():
        on_all += reviewed
    releases = [reviewed.release for reviewed in on_all]
    version_codes = set(all_version_codes(releases))
    highest_first = sorted(version_codes, key=int, reverse=True)
    values = {"status": status_output(on_tracks)}
    values |= version_code_outputs(highest_first)
    if on_all:
        latest = newest(on_all)
        values["lifecycle"] = latest.state
        values["user-fraction"] = release_words.user_fraction(latest.release)
    return values


def status_output(on_tracks: Mapping[str, Reviewed]) -> str:
    """Return the output `status`: one line of JSON with an object for each track."""
    by_track = {}
    for track, reviewed in on_tracks.items():
        releases = [_as_json(release) for release in reviewed]
        by_track[track] = {"releases": releases}
    return json.dumps(by_track, ensure_ascii=False)


def _as_json(reviewed: ReviewedRelease) -> dict[str, Any]:
    """Return a release as the output `status` has it."""
    release = reviewed.release
    known = release.part(("name", "status", "userFraction", "inAppUpdatePriority"))
    entry = {"versionCodes": list(release.version_codes), **known}
    if release.countries:
        entry["countries"] = list(release.countries)
    if reviewed.state:
        entry["lifecycle"] = reviewed.state
    return entry


def _row(
    track: str, reviewed: ReviewedRelease, on_track: Sequence[Release]
) -> tuple[str, ...]:
    """Return the row of a release; `on_track` are all releases of its track."""
    release = reviewed.release
    return (
        track,
        release_words.label(release),
        _in_words(release, on_track),
        ", ".join(release.countries),
        _review(reviewed),
    )


def _review(reviewed: ReviewedRelease) -> str:
    """Return the state of the review in words; empty for a draft, which is not reviewed."""
    if reviewed.release.status == "draft":
        return ""
    return review.words(reviewed.state)


def _in_words(release: Release, on_track: Sequence[Release]) -> str:
    """Return the status and the share of a release in words; empty if its status is not known."""
    if not release.status:
        return ""
    return release_words.in_words(release, on_track)
