"""The target `play-status`: what is on an app's tracks, how far the review is, what the account may
do. Read only.

Most of it is in an edit alone, and to open one closes any other that the account has open for the
app. So none is opened while a review is waited for, in a dry run, or where an earlier run of the
job left one that is to be gone on with. One that is opened is deleted as soon as it was read.
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
    blaming_the_input,
    read_and_deleted,
    unfinished,
)
from uploader.services.play.known_errors import EDIT_GONE, explained_refusals, find
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
# What only an edit tells: the tracks with their releases, and the highest version code ever
# uploaded.
_EditContent: TypeAlias = tuple[Mapping[str, Releases], int]


@dataclass(frozen=True)
class ReviewedRelease:
    """A release, and the state of its review: empty where Google Play does not list it, or nobody
    has asked.
    """

    release: Release
    state: str = ""

    @property
    def highest_version_code(self) -> int:
        """The highest version code, -1 where there is none."""
        return self.release.highest_version_code


Reviewed: TypeAlias = tuple[ReviewedRelease, ...]
"""The releases of a track."""


@dataclass(frozen=True)
class StatusJob:
    """What is looked at: the named tracks (none: all), in which edit, and what is waited for."""

    package: str
    tracks: tuple[str, ...] = ()
    existing_edit: str = ""
    may_open: bool = True
    goal: review.ReviewGoal | None = None
    universal_apk: universal_apk.UniversalApkGoal | None = None
    rehearsal: bool = False


def prepare(inputs: StatusInputs, files: Artifacts, workspace: Workspace) -> Prepared:
    """Checks the inputs. Raises InputError with every problem."""
    problems = Problems()
    if files:
        problems.add("files", "a status sends no files.", "no files")
    batch.require(problems, package_name=inputs.package_name)
    several = len(inputs.package_name) > 1
    if several:
        check_several(inputs, problems)
    may_open = not (inputs.common.dry_run or inputs.wait_for or inputs.existing_edit_id)
    goal: review.ReviewGoal | None = None
    if inputs.wait_for:
        goal = review.goal_of(inputs, inputs.tracks, problems)
    jobs = []
    lines: list[str] = []
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
    problems.raise_if_any()
    begin = partial(flow, jobs[0])
    if several:
        begin = partial(_flow_of_several, jobs)
    apps: dict[str, tuple[int, ...]] = {job.package: () for job in jobs}
    return Prepared(tuple(lines), (SCOPE,), begin, apps=apps)


def _apk_to_fetch(
    inputs: StatusInputs, package: str, workspace: Workspace, problems: Problems
) -> universal_apk.UniversalApkGoal | None:
    """Return where the universal APK of an app is to be written; None where none is wanted.

    In a dry run the input is checked, and nothing is fetched.
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
    """Return what is done for one app, a step a line."""
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
    """Looks at every app, whatever becomes of the others."""
    together = SeveralApps([job.package for job in jobs], (), context, commits=False)
    looks = {}
    for app, job in zip(together.apps, jobs, strict=True):
        looks[app] = partial(_look, job, app)
    together.do_together(looks)
    headlines = [app.outcome.headline for app in together.apps if app.outcome]
    return together.end(" ".join(headlines))


def _look(job: StatusJob, app: App) -> None:
    app.outcome = flow(job, app)


def flow(job: StatusJob, context: Context) -> Outcome:
    """Looks, tells, and waits where that is asked for; every refusal leaves with its cause and its
    remedy.
    """
    with explained_refusals(reading=True):
        newest_first, outcome = _status(job, context)
        if job.universal_apk:
            codes = _newest_version_codes(newest_first)
            outcome = universal_apk.fetched(
                job.package, codes, job.universal_apk, outcome, context
            )
        if job.goal is None or outcome.trouble:
            return outcome
        names = job.tracks or tuple(newest_first)[:1] or STANDARD[:1]
        return review.awaited(job.package, names, (), job.goal, outcome, context)


def _newest_version_codes(newest_first: Mapping[str, Reviewed]) -> tuple[str, ...]:
    """Return the version codes of the newest release. Raises ReleaseRefused where there is none."""
    for reviewed in newest_first.values():
        return newest(reviewed).release.version_codes
    raise ReleaseRefused(
        "There is no release whose universal APK could be fetched.",
        cause="The tracks that were looked at are empty.",
        hint="Name the track of the release with `tracks`.",
        code="no-release-on-track",
    )


def _status(job: StatusJob, context: Context) -> tuple[dict[str, Reviewed], Outcome]:
    """Return the tracks that have releases, that of the newest first; and the outcome of a look."""
    lists: dict[str, tuple[review.Listed, ...]] = {}
    contents: list[_EditContent | None] = []

    def read_lists() -> None:
        lists.update(_read_lists(job, job.tracks or STANDARD, context))
        if job.rehearsal:
            context.info("A rehearsal tries no credentials: the emulator has its own.")
        else:
            context.info(
                f"The credentials are accepted, and may read the releases of {job.package}."
            )

    context.together([read_lists, lambda: contents.append(_content(job, context))])
    content = contents[0]
    on_tracks: Mapping[str, Releases] = {}
    if content:
        on_tracks, _ = content
    if not job.tracks:
        unlisted = [name for name in on_tracks if name not in lists]
        lists |= _read_lists(job, unlisted, context)
    elif content:
        _warn_of_missing_tracks(job, on_tracks, context)
    reviewed = {}
    for track, listed in lists.items():
        releases = _track(listed, on_tracks.get(track, ()), in_edit=bool(content))
        if releases:
            reviewed[track] = releases
    table = _table(reviewed)
    for line in table.lines():
        context.info(line)
    newest_first = _newest_first(reviewed)
    context.publish(outputs(newest_first))
    if content:
        context.publish({"next-version-code": str(content[1] + 1)})
    return newest_first, Outcome(
        f"{job.package}: {_summary(newest_first)}.", sections=(table,)
    )


def _warn_of_missing_tracks(
    job: StatusJob, on_tracks: Mapping[str, Releases], context: Context
) -> None:
    for track in job.tracks:
        if track not in on_tracks:
            context.warning(
                f"The app has no track {track}. Google Play lists {', '.join(on_tracks)}."
            )


def _table(reviewed: Mapping[str, Reviewed]) -> Section:
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
    """Return the newest release with its status, in words."""
    for track, releases in newest_first.items():
        reviewed = newest(releases)
        on_track = [other.release for other in releases]
        reach = _in_words(reviewed.release, on_track)
        facts = ", ".join(filter(None, (reach, _review(reviewed))))
        return f"{track} has {release_words.named(reviewed.release)}: {facts}"
    return "no releases"


def _read_lists(
    job: StatusJob, names: Sequence[str], context: Context
) -> dict[str, tuple[review.Listed, ...]]:
    """Return the releases of each of these tracks, with how far their review is."""
    reads = [partial(review.listed, context, job.package, track) for track in names]
    lists = context.together(reads)
    return dict(zip(names, lists, strict=True))


def _content(job: StatusJob, context: Context) -> _EditContent | None:
    """What only an edit tells; None where none is to be read, or may be."""
    if job.existing_edit:
        try:
            return _read(Edit(context, job.package, job.existing_edit))
        except ApiError as refused:
            if find(refused) is EDIT_GONE:
                raise blaming_the_input(refused) from refused
            raise
    if not job.may_open:
        return None
    kept = unfinished(job.package, context)
    if kept:
        what = "would be closed by another, so only the review is looked at."
        context.warning(f"Edit {kept} of an unfinished release {what}")
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
    return read_and_deleted(edit, _read, context)


def _read(edit: Edit) -> _EditContent:
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
    """What an edit says of the track (`live`), with the states from the list; and what only the
    list has.
    """
    known = set(all_version_codes(live))
    releases = []
    for release in live:
        state = review.state_of_release(listed, release.version_codes)
        if release.status == "draft":
            state = state or "DRAFT"
        releases.append(ReviewedRelease(release, state))
    for summary in listed:
        # A draft without artifacts has no version codes by which it could be found again; an edit
        # lists it as well.
        is_listed_only = bool(summary.codes) or not in_edit
        if is_listed_only and known.isdisjoint(summary.codes):
            release = Release.of(summary.codes).with_name(summary.name)
            releases.append(ReviewedRelease(release, summary.state))
    return tuple(releases)


def outputs(on_tracks: Mapping[str, Reviewed]) -> dict[str, str]:
    """The outputs about what is on tracks; the single values are those of the release with the
    highest version code.
    """
    on_all: list[ReviewedRelease] = []
    for reviewed in on_tracks.values():
        on_all += reviewed
    version_codes = set(all_version_codes(reviewed.release for reviewed in on_all))
    highest_first = sorted(version_codes, key=int, reverse=True)
    values = {"status": status_output(on_tracks), **version_code_outputs(highest_first)}
    if on_all:
        latest = newest(on_all)
        values["lifecycle"] = latest.state
        values["user-fraction"] = release_words.user_fraction(latest.release)
    return values


def status_output(on_tracks: Mapping[str, Reviewed]) -> str:
    """Return the output `status`: one line of JSON, an object a track."""
    by_track = {}
    for track, reviewed in on_tracks.items():
        by_track[track] = {"releases": [_as_json(release) for release in reviewed]}
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
    release = reviewed.release
    return (
        track,
        release_words.named(release),
        _in_words(release, on_track),
        ", ".join(release.countries),
        _review(reviewed),
    )


def _review(reviewed: ReviewedRelease) -> str:
    """How far the review is; a draft has none."""
    if reviewed.release.status == "draft":
        return ""
    return review.words(reviewed.state)


def _in_words(release: Release, on_track: Sequence[Release]) -> str:
    if not release.status:
        return ""
    return release_words.in_words(release, on_track)
