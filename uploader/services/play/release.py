"""One release from the first call to the last, as a story: edit, artifacts, listing, tracks, commit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

from uploader.errors import ApiError, IntegrityError, OutcomeUnknown, ReleaseRefused, UploaderError
from uploader.files.artifacts import Artifact
from uploader.results import FileResult
from uploader.services.base import Digest, Flow, Note, Outcome, Publish, Reused, Section, Show, Steps, Upload
from uploader.services.play import status, tracks
from uploader.services.play.edit_api import CONSOLE, OCTETS, CompanionKind, Release, Releases
from uploader.services.play.edits import (
    CommitKnowledge,
    Event,
    Ownership,
    ReleaseEdit,
    Stage,
    commit,
    discard,
    listed_artifacts,
    opened,
    replaced,
    settle,
)
from uploader.services.play.job import Companion, ReleaseJob
from uploader.services.play.known_errors import EDIT_GONE, REVIEW_BY_HAND, VERSION_TAKEN, conflict, explained, find
from uploader.services.play.last_expansion import last_expansion
from uploader.services.play.listing import ListingDifference, synchronise
from uploader.services.play.listing import compare as compare_listing
from uploader.services.play.plan import (
    Changes,
    FileChange,
    OtherTrack,
    Review,
    TrackChange,
    lines,
    on_review,
    published,
    sections,
)
from uploader.services.play.review import awaited, live_versions
from uploader.services.play.tracks import (
    STANDARD,
    TrackUpdate,
    all_up_to_date,
    current_releases,
    foresee,
    read_tracks,
    share,
    update_track,
)

# Version code to the record of an artifact that need not be sent.
AlreadyThere = Mapping[int, FileResult]


def already_there(edit: ReleaseEdit) -> Steps[AlreadyThere]:
    """The artifacts that Play has. Raises ServiceError for one that it has with other bytes, or that is not wanted."""
    found: dict[int, FileResult] = {}
    known = (yield from listed_artifacts(edit)) if edit.job.artifacts else {}
    for artifact in edit.job.artifacts:
        if _code(artifact) in known:
            found[_code(artifact)] = yield from _same(edit, artifact, known[_code(artifact)])
    return found


def upload_all(edit: ReleaseEdit, there: AlreadyThere) -> Steps[None]:
    """Each artifact, and right after it the files that belong to it; one at a time, as Play's edits want it."""
    for artifact in edit.job.artifacts:
        if _code(artifact) in there:
            yield from _reuse(artifact, there[_code(artifact)])
        else:
            yield from _artifact(edit, artifact)
        yield from _companions(edit, artifact)


def all_listed(edit: ReleaseEdit) -> Steps[bool]:
    """Whether Play lists every artifact of the run with the same bytes."""
    known = (yield from listed_artifacts(edit)) if edit.job.artifacts else {}
    for artifact in edit.job.artifacts:
        entry = known.get(_code(artifact))
        if entry is None or (yield Digest(artifact)) != _sha256(entry):
            return False
    return True


def _artifact(edit: ReleaseEdit, artifact: Artifact) -> Steps[None]:
    purpose = f"artifact:{_code(artifact)}"
    endpoint = edit.api.upload_artifact(bundle=_is_bundle(artifact))
    yield from edit.changing(purpose)
    try:
        result = yield Upload(endpoint, artifact, endpoint.media_types[0], retry_on=conflict)
    except (ApiError, OutcomeUnknown) as error:
        if isinstance(error, ApiError) and find(error) is not VERSION_TAKEN:
            raise
        # It may be there by now: an upload of ours whose answer was lost, or another job's in a shared edit.
        entry = (yield from listed_artifacts(edit)).get(_code(artifact))
        if entry is None:
            raise
        yield from _reuse(artifact, (yield from _same(edit, artifact, entry)))
        return
    _check_version(artifact, result)
    yield from edit.changed(purpose, result.sha256)


def _same(edit: ReleaseEdit, artifact: Artifact, entry: Mapping[str, Any]) -> Steps[FileResult]:
    """The record of an artifact that Play has. Raises ServiceError where it may not stand for the file."""
    code = _code(artifact)
    ours = yield Digest(artifact)
    if ours != _sha256(entry):
        raise ReleaseRefused(
            f"Google Play already has version code {code} with different contents than {artifact.name}: "
            f"SHA-256 {_sha256(entry) or 'unknown'} there, {ours} here.",
            cause="The app was built again without a new version code.",
            hint="Raise the version code, or upload the exact file that Google Play has.",
            code="version-code-conflict",
        )
    # What the job itself put into its edit is no conflict, though its answer was lost: the bytes are those above.
    if not edit.job.reuse and f"artifact:{code}" not in edit.changes:
        raise ReleaseRefused(
            f"Version code {code} ({artifact.name}) is on Google Play already.",
            cause="It was uploaded before, and `on-version-conflict` is `fail`.",
            hint="Raise the version code, or set `on-version-conflict: reuse`.",
            code="version-code-used",
        )
    return _record(artifact, ours, str(code), entry)


def _reuse(artifact: Artifact, record: FileResult) -> Steps[None]:
    text = f"version code {record.id} is on Google Play already with the same bytes; not sent again."
    yield Note(f"{artifact.name}: {text}")
    yield Reused(record)


def _companions(edit: ReleaseEdit, artifact: Artifact) -> Steps[None]:
    for companion in edit.job.companions:
        kind, file, code = companion.kind, companion.file, companion.version_code
        if code != _code(artifact) or file == "bundle":
            continue
        if isinstance(file, Artifact):
            yield from _companion(edit, kind, code, file)
        else:
            other = (yield from last_expansion(edit, kind)) if file == "last-release" else file
            yield from _reference(edit, kind, code, other)


def _companion(edit: ReleaseEdit, kind: CompanionKind, code: int, file: Artifact) -> Steps[None]:
    """Play does not list these files, so what was sent into this edit is remembered by digest."""
    purpose = f"{kind}:{code}"
    if edit.changes.get(purpose):
        ours = yield Digest(file)
        if edit.changes[purpose] == ours:
            yield Reused(_record(file, ours, "", {}))
            return
    yield from edit.changing(purpose)
    result = yield Upload(edit.api.upload_companion(code, kind), file, OCTETS, retry_on=conflict)
    yield from edit.changed(purpose, result.sha256)


def _reference(edit: ReleaseEdit, kind: CompanionKind, code: int, other: int) -> Steps[None]:
    purpose, reference = f"{kind}:{code}", f"references:{other}"
    if edit.changes.get(purpose) != reference:
        yield from edit.changing(purpose)
        yield edit.api.refer_expansion(code, kind, other)
        yield from edit.changed(purpose, reference)


def _check_version(artifact: Artifact, result: FileResult) -> None:
    answered = result.resource.get("versionCode")
    if str(answered) != str(_code(artifact)):  # the documents call it an integer, and JSON may carry it as text
        raise IntegrityError(
            f"{artifact.name} declares version code {_code(artifact)}, but Google Play reported {answered!r}.",
            cause="What arrived is not what was sent.",
            hint="Run again; if it happens again, the manifest of the file is damaged.",
            code="version-code-differs",
        )


def _record(artifact: Artifact, digest: str, name: str, entry: Mapping[str, Any]) -> FileResult:
    return FileResult(
        artifact.name,
        artifact.size or 0,
        sha256=digest,
        id=name,
        resource=entry,
        reused=True,
        certificate_sha256=artifact.certificate_sha256,
    )


def _code(artifact: Artifact) -> int:
    return artifact.manifest.version_code if artifact.manifest else 0


def _is_bundle(artifact: Artifact) -> bool:
    return artifact.manifest is not None and artifact.manifest.kind == "bundle"


def _sha256(entry: Mapping[str, Any]) -> str:
    """The digest in Play's answer: a bundle has it itself, an APK in `binary`."""
    binary = entry.get("binary")
    holder = binary if isinstance(binary, Mapping) else entry
    return str(holder.get("sha256", "")).lower()


_EARLIER = "what an earlier run of this job changed in the store listing of edit {} already, and did not commit"
_OTHERS = "texts, images, files and user fractions that other jobs changed in edit {}: they are committed with it"
_UNLISTED = "tracks of edit {} with names of their own: Google Play does not list them at present"


@dataclass(frozen=True)
class Comparison:
    """What the run changes, for people, and what it needs to know to do it."""

    changes: Changes
    there: AlreadyThere
    listing: ListingDifference | None


def compare(edit: ReleaseEdit) -> Steps[Comparison]:
    """Everything that the run would change. Raises what would end it after the upload, as far as that can be known."""
    job, listing = edit.job, None
    listed = (yield from read_tracks(edit)) if job.tracks or not edit.state.own else {}
    updates = yield from foresee(edit)
    there = yield from already_there(edit)
    for kind in sorted({one.kind for one in job.companions if one.file == "last-release"}):
        yield from last_expansion(edit, kind)
    if job.listing and edit.state.ownership is not Ownership.STAND_IN:
        listing = yield from compare_listing(edit, job.listing)
    changes = Changes(
        job.package,
        Review(job.commit, job.not_sent_for_review, job.cancel_review),
        tracks=of_tracks(updates),
        files=tuple(_files(edit, there)),
        texts=listing.text_changes if listing else (),
        images=tuple(place.change for place in listing.places if place.change) if listing else (),
        others=(yield from _others(edit, listed, {})),
        remarks=tuple(_remarks(edit, listed)),
    )
    return Comparison(changes, there, listing)


def of_tracks(updates: Sequence[TrackUpdate]) -> tuple[TrackChange, ...]:
    """The changes of the tracks alone."""
    return tuple(TrackChange(update.track, update.before, update.after) for update in updates)


def others(edit: ReleaseEdit, seen: Sequence[OtherTrack]) -> Steps[tuple[OtherTrack, ...]]:
    """The tracks of a shared edit beside those of the run, as they are now: other jobs may be at work in it."""
    edit.seen.clear()
    # Where Play does not list them at this moment, those that were seen before are named again.
    tracks = (yield from read_tracks(edit)) or {one.track: one.held for one in seen}
    return (yield from _others(edit, tracks, {one.track: one.live for one in seen}))


def _others(
    edit: ReleaseEdit, listed: Mapping[str, Releases], live: Mapping[str, frozenset[str] | None]
) -> Steps[tuple[OtherTrack, ...]]:
    if edit.state.ownership is not Ownership.SHARED:
        return ()
    tracks, found = dict(listed), []
    for track in () if listed else STANDARD:
        tracks[track] = yield from current_releases(edit, track)
    for track, held in tracks.items():
        if held and track not in edit.job.tracks:
            known = live[track] if track in live else (yield from live_versions(edit.job.package, track))
            found.append(OtherTrack(track, held, known))
    return tuple(found)


def _files(edit: ReleaseEdit, there: AlreadyThere) -> Iterator[FileChange]:
    """Artifacts, and what goes with them; what an earlier run put into the same edit is not on Google Play yet."""
    for artifact in edit.job.artifacts:
        code = artifact.manifest.version_code if artifact.manifest else 0
        listed = code in there and f"artifact:{code}" not in edit.uncommitted
        yield FileChange("artifact", artifact.name, code, listed, artifact.certificate_sha256)
        for one in edit.job.companions:
            if one.version_code == code:
                name = artifact.name if one.file == "bundle" else _name(one, edit)
                yield FileChange(one.kind, name, code, inside=one.file == "bundle")


def _name(companion: Companion, edit: ReleaseEdit) -> str:
    """A file's name, or the version whose expansion file is used."""
    file = companion.file
    return file.name if isinstance(file, Artifact) else f"version {edit.expansions.get(companion.kind, file)}"


def _remarks(edit: ReleaseEdit, listed: dict[str, Releases]) -> Iterator[str]:
    if edit.state.own and "listing" in edit.uncommitted:
        yield _EARLIER.format(edit.id)
    if edit.state.ownership is Ownership.SHARED:
        yield _OTHERS.format(edit.id)
        if not listed:
            yield _UNLISTED.format(edit.id)


REPLAYS = 2  # fresh edits after the first, where another job or the console keeps closing ours


def flow(job: ReleaseJob) -> Flow:
    """Carries the job out; every refusal leaves with its cause and its cure."""
    try:
        outcome = yield from in_an_edit(job, _release)
        if job.universal_apk and not job.dry_run:
            from uploader.services.play.universal_apk import fetched  # few releases fetch anything

            outcome = yield from fetched(job.package, job.codes, job.universal_apk, outcome)
        if job.review is None or job.dry_run or outcome.trouble:
            return outcome
        return (yield from awaited(job.package, job.tracks, job.codes, job.review, outcome))
    except ApiError as refused:
        raise explained(refused) from None


def in_an_edit(job: ReleaseJob, work: Callable[[ReleaseEdit], Flow]) -> Flow:
    """Does the work in an edit, from the beginning in a fresh one where others close it; settles what becomes of it."""
    edit = yield from opened(job)
    for replay in count():
        try:
            return (yield from work(edit))
        except Exception as error:
            if isinstance(error, ApiError) and find(error) is EDIT_GONE and edit.state.open:
                edit.apply(Event.CLOSED)
            if replay == REPLAYS or not edit.state.replaceable:
                yield from settle(edit, error)
                raise
            what = error.what if isinstance(error, UploaderError) else str(error)
            yield Note(f"{what.rstrip('.')}. Starting over in a fresh edit.", "warning")
        edit = yield from replaced(edit)
    raise AssertionError  # the loop has no other end


def _release(edit: ReleaseEdit) -> Flow:
    job, codes, updates = edit.job, edit.job.codes, list[TrackUpdate]()
    if edit.state.commit is CommitKnowledge.UNKNOWN:
        yield from _resolve_doubt(edit)
    comparison = yield from compare(edit)
    yield from _show(edit, comparison.changes)
    yield from upload_all(edit, comparison.there)
    if codes:
        yield _version_codes(codes)
    if comparison.listing:
        yield from synchronise(edit, comparison.listing)
    if not edit.state.own:
        edit.seen.clear()  # other jobs may have written to its tracks meanwhile
    for track in job.tracks:
        updates.append((yield from update_track(edit, track)))
        codes = codes or tracks.codes(updates[-1].release)
    yield _version_codes(codes)
    if share := "".join(tracks.user_fraction(one.release) for one in updates[-1:]):
        yield Publish({"user-fraction": share})
    changes = replace(comparison.changes, tracks=of_tracks(updates))
    outcome = yield from finish(edit, codes, updates, changes)
    if job.commit and not job.dry_run and updates:
        yield Publish(status.of_releases((one.track, one.after) for one in updates))
    return outcome


def _show(edit: ReleaseEdit, changes: Changes) -> Steps[None]:
    """What is going to change, before it does; in a dry run that is the result."""
    planned = tuple(replace(section, title=f"Planned: {section.title}") for section in sections(changes, "Planned"))
    yield Show(f"Changes: {edit.job.package}", tuple(lines(changes)), planned)
    if edit.job.dry_run:
        from uploader.services.play.plan import plan_output  # no other run has this output

        yield Publish({"plan": plan_output(changes)})


def _resolve_doubt(edit: ReleaseEdit) -> Steps[None]:
    """Looks for the effect of a commit in the fresh edit that replaced the committed one."""
    evident = any(purpose.startswith(("artifact:", "track:")) for purpose in edit.changes)
    if evident and (yield from all_listed(edit)) and (yield from all_up_to_date(edit)):
        edit.apply(Event.SEEN_LIVE)
        return
    if edit.state.ownership is Ownership.STAND_IN:
        known = "what this run put into it is not live" if evident else "this run can't see whether it was committed"
        raise ReleaseRefused(
            f"Edit {edit.job.existing_edit} is gone, and {known}.",
            cause="The answer to its commit was lost, and someone else closed the edit.",
            hint="Run all jobs that share the edit again.",
            code="edit-gone",
        )
    edit.apply(Event.NOT_SEEN)
    edit.changes.clear()  # they were lost with the edit


def _version_codes(codes: tuple[str, ...]) -> Publish:
    """The outputs about versions; a version code is also the id of its artifact."""
    if not codes:
        return Publish({})
    return Publish({"version-code": max(codes, key=int), "version-codes": ",".join(codes)}, ids=codes)


STORE = "https://play.google.com/store/apps/details?id="

SENT = "sent for review"
DRAFT = "saved as a draft; roll it out in the Play Console"
BY_HAND = "must still be sent for review in the Play Console, under Publishing overview"
OPEN = "not committed: the edit is open"
REHEARSED = "nothing was published: this was a dry run"
ALREADY = "Google Play already had all of it; nothing was committed"


def finish(edit: ReleaseEdit, codes: tuple[str, ...], updates: Sequence[TrackUpdate], changes: Changes) -> Flow:
    """The last steps of a run in which everything is in place."""
    what = f"{edit.job.package} {'+'.join(codes)}".strip()
    if edit.job.dry_run:
        yield from _rehearsed(edit)
        return _outcome(edit, f"{what} passed Google Play's validation; nothing was published.", REHEARSED, changes)
    if not edit.job.commit:
        edit.apply(Event.LEAVE_OPEN)
        yield from edit.forget()
        return _outcome(edit, f"{what} is in edit {edit.id}, which is left open.", OPEN, changes)
    if edit.state.stage is Stage.CLEAN:
        yield Note(f"Nothing had to be changed, so edit {edit.id} is not needed and `edit-id` stays empty.")
        yield from _not_needed(edit)
        yield Publish({"committed": "true"})
        return _outcome(edit, f"{what} is on Google Play already.", ALREADY, changes)
    changes = yield from _with_others(edit, changes)
    by_hand = yield from commit(edit)
    yield from edit.forget()
    yield Publish({"committed": "true"})
    yield Note(f"Committed edit {edit.id}.")
    if by_hand:
        yield Note(f"{edit.job.package}: the committed changes {BY_HAND}: {CONSOLE}", "warning")
    review = BY_HAND if by_hand else DRAFT if edit.job.options.status == "draft" else SENT
    return _outcome(edit, _headline(edit, what, updates), review, changes)


def _with_others(edit: ReleaseEdit, changes: Changes) -> Steps[Changes]:
    """With what other jobs have put into a shared edit by now, told before it is committed."""
    if edit.state.own:
        return changes
    # A job that only commits has just looked.
    changes = replace(changes, others=(yield from others(edit, changes.others))) if edit.job.purposes else changes
    yield Note(f"The commit of edit {edit.id} publishes: {published(changes) or 'no release'}.")
    return changes


def _headline(edit: ReleaseEdit, what: str, updates: Sequence[TrackUpdate]) -> str:
    """What happened, in one sentence: tracks that met the same are named together."""
    if not updates:
        return f"{'The store listing' if edit.state.own else f'Edit {edit.id}'} of {what} is committed."
    fates: dict[str, list[str]] = {}
    for one in updates:
        fates.setdefault(_fate(edit.job, one.release), []).append(one.track)
    told = " and ".join(f"{fate} {', '.join(names)}" for fate, names in fates.items())
    return f"{what} {told}."


def _fate(job: ReleaseJob, release: Release) -> str:
    """What became of a release, up to the name of its track."""
    status, new = str(release.get("status")), job.codes or job.retained
    if job.promote_from:
        how = {"inProgress": f", at {share(release)},", "draft": ", as a draft,"}.get(status, "")
        return f"is promoted from {job.promote_from}{how} to"
    if not (new or job.options.status):
        return "is updated on"
    fates = {"inProgress": f"is now at {share(release)} on", "halted": "is halted on", "draft": "is a draft on"}
    return fates.get(status, "is released on" if new else "is rolled out to all users on")


def _rehearsed(edit: ReleaseEdit) -> Steps[None]:
    try:
        yield edit.api.validate()
    except ApiError as refused:
        # Only a commit can carry the parameter that Google asks for here.
        if find(refused) is not REVIEW_BY_HAND:
            raise
        yield Note(f"Google Play says: {refused.message}")
    yield from _not_needed(edit)


def _not_needed(edit: ReleaseEdit) -> Steps[None]:
    yield from discard(edit)
    yield from edit.forget()


def _outcome(edit: ReleaseEdit, headline: str, review: str, changes: Changes) -> Outcome:
    behaviour = tuple(("With a commit", line) for line in on_review(changes)) if edit.job.dry_run else ()
    state = Section("Review", ("Changes", "State"), ((edit.job.package, review), *behaviour))
    links = (("Play Console", CONSOLE), ("Store page", STORE + edit.job.package))
    return Outcome(headline, links, (*sections(changes, edit.job.tense.capitalize()), state))
