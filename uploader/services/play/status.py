"""The target `play-status`: what is on an app's tracks, how far the review is, what the account may do. Read only.

Most of it is in an edit alone, and Google Play has one edit of an app for each account: to open one closes another
job's. So none is opened while a review is waited for, in a dry run, or where an earlier run of the job left one that is
to be gone on with. One that is opened is deleted as soon as it was read.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from uploader.errors import ApiError, ReleaseRefused
from uploader.files.artifacts import Artifact
from uploader.input_problems import Problems
from uploader.inputs import Inputs
from uploader.services.base import Flow, Note, Outcome, Prepared, Publish, Section, Steps
from uploader.services.play import edit_api, tracks, universal_apk
from uploader.services.play.edit_api import Release, Releases, entries
from uploader.services.play.edits import blame_the_input, read_and_deleted, unfinished
from uploader.services.play.known_errors import EDIT_GONE, explained, find
from uploader.services.play.review import Listed, ReviewGoal, awaited, goal_of, listed, state_of, words
from uploader.services.play.tracks import STANDARD, countries
from uploader.services.play.universal_apk import UniversalApkGoal

_WARNING = (
    "The status is read in an edit of its own, and Google Play then closes any other edit that this account has open "
    "for the app. `existing-edit-id` reads in that edit, `dry-run: true` does without."
)


@dataclass(frozen=True)
class StatusJob:
    """What is looked at: the named tracks (none: all), in which edit, and what is waited for."""

    package: str
    tracks: tuple[str, ...] = ()
    existing_edit: str = ""
    may_open: bool = True
    goal: ReviewGoal | None = None
    universal_apk: UniversalApkGoal | None = None


@dataclass(frozen=True)
class EditContent:
    """What only an edit tells: the tracks with their releases, and the highest version code ever uploaded."""

    tracks: Mapping[str, Releases]
    highest: int


@dataclass(frozen=True)
class TrackStatus:
    """One track: its releases, each with the state of its review."""

    track: str
    releases: tuple[tuple[Release, str], ...]

    def as_json(self) -> dict[str, Any]:
        """The object that stands for the track in the output `status`."""
        return {"releases": [_as_json(release, state) for release, state in self.releases]}


def prepare(inputs: Inputs, files: tuple[Artifact, ...]) -> Prepared:
    """Checks the inputs. Raises InputError with every problem."""
    problems = Problems()
    if files:
        problems.add("files", "a status sends no files.", "no files")
    if not inputs.package_name:
        problems.add("package-name", "is required for this target.")
    may_open = not (inputs.dry_run or inputs.wait_for or inputs.existing_edit_id)
    goal, apk = goal_of(inputs, problems), universal_apk.goal_of(inputs, (), problems) if inputs.universal_apk else None
    problems.raise_if_any()
    apk = None if inputs.dry_run else apk
    job = StatusJob(inputs.package_name, inputs.tracks, inputs.existing_edit_id, may_open, goal, apk)
    where = f"in edit {job.existing_edit}" if job.existing_edit else "in an edit that is deleted at once"
    lines = (f"look at the releases of {job.package}", *([f"read the tracks {where}"] if _reads_edit(job) else []))
    if apk:
        lines += (f"fetch the universal APK of the newest release: {apk.destination.name}",)
    if job.goal:
        lines += (f"wait until the newest release is {job.goal.state}",)
    return Prepared(lines, (edit_api.SCOPE,), lambda _: flow(job), (_WARNING,) if may_open else (), job.package)


def flow(job: StatusJob) -> Flow:
    """Looks, tells, and waits where that is asked for; every refusal leaves with its cause and its cure."""
    try:
        found, outcome = yield from _status(job)
        if job.universal_apk:
            codes = _newest_codes(found)
            outcome = yield from universal_apk.fetched(job.package, codes, job.universal_apk, outcome)
        if job.goal is None or outcome.trouble:
            return outcome
        names = job.tracks or tuple(one.track for one in found[:1]) or STANDARD[:1]
        return (yield from awaited(job.package, names, (), job.goal, outcome))
    except ApiError as refused:
        raise explained(refused) from None


def outputs(found: Iterable[TrackStatus]) -> dict[str, str]:
    """The outputs about what is on tracks; the single values are those of the release with the highest version code."""
    status = {one.track: one.as_json() for one in found}
    releases = [each for one in found for each in one.releases]
    codes = sorted({code for release, _ in releases for code in tracks.codes(release)}, key=int, reverse=True)
    values = {"status": json.dumps(status, ensure_ascii=False), "version-codes": ",".join(codes)}
    if releases:
        release, state = max(releases, key=lambda each: tracks.highest(each[0]))
        values |= {"lifecycle": state, "user-fraction": tracks.user_fraction(release)}
    return {**values, "version-code": codes[0] if codes else ""}


def of_releases(found: Iterable[tuple[str, Releases]]) -> dict[str, str]:
    """The output `status` alone, where nothing is known of the reviews."""
    known = (TrackStatus(track, tuple((one, "") for one in releases)) for track, releases in found)
    return {"status": outputs(known)["status"]}


def section(found: Iterable[TrackStatus]) -> Section:
    """The table of all releases."""
    header = ("Track", "Release", "Name", "Countries", "Review")
    return Section("Tracks", header, tuple(row for one in found for row in _rows(one)))


def _status(job: StatusJob) -> Steps[tuple[tuple[TrackStatus, ...], Outcome]]:
    lists: dict[str, tuple[Listed, ...]] = {}
    for track in job.tracks or STANDARD:
        lists[track] = yield from listed(job.package, track)
    yield Note(f"The credentials are accepted, and may read the releases of {job.package}.")
    content = yield from _content(job)
    for track in () if job.tracks or content is None else content.tracks.keys() - lists.keys():
        lists[track] = yield from listed(job.package, track)
    if content:
        for track in (name for name in job.tracks if name not in content.tracks):
            yield Note(f"The app has no track {track}. Google Play lists {', '.join(content.tracks)}.", "warning")
    every = (_track(track, found, content) for track, found in lists.items())
    found = tuple(one for one in every if one.releases)
    newest_first = tuple(sorted(found, key=_highest, reverse=True))
    table = section(found)
    for row in table.rows:
        yield Note(" · ".join(filter(None, row)))
    yield Publish(outputs(newest_first))
    if content:
        yield Publish({"next-version-code": str(content.highest + 1)})
    told = " ".join(next(iter(table.rows), ("no releases",))[:2]) if not newest_first else _headline(newest_first[0])
    return newest_first, Outcome(f"{job.package}: {told}.", sections=(table,))


def _newest_codes(newest_first: tuple[TrackStatus, ...]) -> tuple[str, ...]:
    """The version codes of the newest release. Raises ReleaseRefused where there is none."""
    for one in newest_first:
        return tracks.codes(_newest(one)[0])
    raise ReleaseRefused(
        "There is no release whose universal APK could be fetched.",
        cause="The tracks that were looked at are empty.",
        hint="Name the track of the release with `tracks`.",
        code="no-release-on-track",
    )


def _newest(one: TrackStatus) -> tuple[Release, str]:
    return max(one.releases, key=lambda each: tracks.highest(each[0]))


def _headline(newest: TrackStatus) -> str:
    release, state = _newest(newest)
    known = ", ".join(filter(None, (_in_words(release), words(state))))
    return f"{newest.track} has {'+'.join(tracks.codes(release)) or 'no version'}: {known}"


def _in_words(release: Release) -> str:
    return tracks.in_words(release) if release.get("status") else ""


def _reads_edit(job: StatusJob) -> bool:
    return bool(job.may_open or job.existing_edit)


def _content(job: StatusJob) -> Steps[EditContent | None]:
    """What only an edit tells; None where none is to be read, or may be."""
    if job.existing_edit:
        return (yield from _shared(edit_api.Edit(job.package, job.existing_edit)))
    if not job.may_open:
        return None
    if kept := (yield from unfinished(job.package)):
        text = f"Edit {kept} of an unfinished release would be closed by another, so only the review is looked at."
        yield Note(text, "warning")
        return None
    try:
        edit = edit_api.inserted(job.package, (yield edit_api.insert(job.package)))
    except ApiError as refused:
        if not find(refused).permission:
            raise
        yield Note(f"The account may not open an edit, so it can't release: {refused.message}", "warning")
        return None
    yield Note(f"The account may open an edit; opened edit {edit.id} to read it.")
    return (yield from read_and_deleted(edit, _read))


def _shared(edit: edit_api.Edit) -> Steps[EditContent]:
    try:
        return (yield from _read(edit))
    except ApiError as refused:
        if find(refused) is EDIT_GONE:
            blame_the_input(refused)
        raise


def _read(edit: edit_api.Edit) -> Steps[EditContent]:
    on_tracks = entries((yield edit.listed("tracks")), "tracks")
    found = {str(entry.get("track", "")): edit_api.releases(entry) for entry in on_tracks}
    codes = [tracks.highest(release) for releases in found.values() for release in releases]
    for kind in ("bundles", "apks"):
        artifacts = entries((yield edit.listed(kind)), kind)
        codes += [code for one in artifacts if isinstance(code := one.get("versionCode"), int)]
    return EditContent(found, max((0, *codes)))


def _track(track: str, found: tuple[Listed, ...], content: EditContent | None) -> TrackStatus:
    """What an edit says of the track, with the states from the list; and what only the list has."""
    releases = content.tracks.get(track, ()) if content else ()
    known = {code for release in releases for code in tracks.codes(release)}
    # A draft without artifacts has no version codes by which it could be found again; an edit lists it as well.
    others = [one for one in found if not known & set(one.codes) and (one.codes or content is None)]
    rest = ({"name": one.name, "versionCodes": list(one.codes)} for one in others)
    return TrackStatus(
        track,
        (
            *((release, state_of(found, tracks.codes(release)) or _draft(release)) for release in releases),
            *((release, one.state) for release, one in zip(rest, others, strict=True)),
        ),
    )


def _draft(release: Release) -> str:
    return "DRAFT" if release.get("status") == "draft" else ""


def _highest(one: TrackStatus) -> int:
    return max(tracks.highest(release) for release, _ in one.releases)


def _as_json(release: Release, state: str) -> dict[str, Any]:
    known = {key: release[key] for key in ("name", "status", "userFraction", "inAppUpdatePriority") if key in release}
    named = list(countries(release))
    return {
        "versionCodes": list(tracks.codes(release)),
        **known,
        **({"countries": named} if named else {}),
        **({"lifecycle": state} if state else {}),
    }


def _rows(one: TrackStatus) -> Iterable[tuple[str, ...]]:
    for release, state in one.releases:
        what = ": ".join(filter(None, ("+".join(tracks.codes(release)), _in_words(release))))
        yield one.track, what, str(release.get("name", "")), ", ".join(countries(release)), words(state)
