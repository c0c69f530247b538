"""The first phase of a release: everything is put into the edit, up to the commit.

What the job asks for is compared with what Google Play has, shown, and then sent: artifacts, the
files that go with them, the store listing, the tracks, the testers. A refusal that can be foreseen
is raised before the first upload.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from uploader.errors import ApiError, IntegrityError, OutcomeUnknown, ReleaseRefused
from uploader.files.android.listing import StoreFiles
from uploader.files.artifacts import Artifact
from uploader.results import FileResult
from uploader.services.base import Context
from uploader.services.play import (
    companions,
    edit_lifecycle,
    plan,
    reach,
    testers,
    track_merge,
    track_names,
    tracks,
)
from uploader.services.play import listing as store_listing
from uploader.services.play.edit_lifecycle import (
    CommitKnowledge,
    ListedArtifacts,
    ReleaseEdit,
    Stage,
    list_artifacts,
)
from uploader.services.play.known_errors import REVIEW_BY_HAND, VERSION_TAKEN, find
from uploader.services.play.listing import ListingDifference
from uploader.services.play.model import (
    ArtifactKind,
    ListedArtifact,
    version_code_outputs,
)
from uploader.services.play.plan import Changes, OtherTrack
from uploader.services.play.release_job import (
    ReleaseJob,
    SupplementaryFile,
    version_code,
)
from uploader.services.play.review import live_versions
from uploader.services.play.summary_facts import PLANNED, section
from uploader.services.play.testers import TestersChange
from uploader.services.play.track_merge import TrackChange
from uploader.text import capitalise

_NO_LISTING = ListingDifference({}, frozenset(), (), ())


class BuiltAgain(Exception):
    """The edit has other bytes of an artifact that only an earlier run of the job brought there."""


def stage(edit: ReleaseEdit) -> Changes:
    """Put everything of a release into the edit, and return what its commit publishes.

    The edit is validated in a dry run, and before the commit of one of several apps. Raises
    ReleaseRefused for what can't be released, and BuiltAgain if the edit of an earlier run has
    other bytes of an artifact.
    """
    comparison = _compare(edit)
    changes = _changes(edit, comparison)
    _show(edit.context, changes)
    changes = _put(edit, comparison, changes)
    if _needs_validation(edit):
        _validate(edit)
    return changes


def _needs_validation(edit: ReleaseEdit) -> bool:
    """Return whether it has to be known by now whether Google Play would accept the commit."""
    job = edit.job
    if job.dry_run:
        return True
    if not (job.one_of_several and job.commit):
        return False
    return edit.state.stage is not Stage.CLEAN


@dataclass(frozen=True)
class Comparison:
    """What a job asks for, compared with what the edit has.

    - `reused`: the results of the artifacts that are there already, by version code.
    - `tracks`: what becomes of the tracks.
    - `lists_tracks`: whether Google Play has listed the tracks of the app; false if it was not
      asked.
    - `published`: the files that went with a version that is live, in an earlier release.
    - `sent`: the digests of what an earlier run put into this edit, or into the one before it,
      whose commit happened; by purpose.
    - `on_google_play`: the version codes that are there, and that no earlier run put into this
      edit.
    """

    reused: Mapping[int, FileResult]
    tracks: _TrackComparison
    lists_tracks: bool
    listing: ListingDifference
    testers: tuple[TestersChange, ...]
    published: tuple[SupplementaryFile, ...]
    sent: Mapping[str, str]
    on_google_play: frozenset[int]


@dataclass(frozen=True)
class _TrackComparison:
    """What becomes of the tracks.

    - `changes`: what each of them holds, and is to hold.
    - `need_no_write`: the tracks are as an earlier commit of the job made them, and stay so.
    - `commits_again`: the earlier commit happened, but people have changed since then what the job
      asks for, which needs a second commit.
    """

    changes: tuple[TrackChange, ...]
    need_no_write: bool = False
    commits_again: bool = False


def _compare(edit: ReleaseEdit) -> Comparison:
    """Read what the edit has and compare it with the job.

    In a fresh edit after a commit in doubt, this also finds out whether that commit happened.
    """
    content = _read(edit)
    lists_tracks = bool(edit.seen)
    # This may ask for a track that the list does not have, and so adds to what is seen.
    content.testers = _of_new_tracks(edit, content.testers)
    reused = _find_reused(edit, content.artifacts)
    if edit.state.shows_earlier_commit:
        on_tracks = _look_for_earlier_commit(edit, content, reused)
    else:
        on_tracks = _TrackComparison(_plan_tracks(edit, content.artifacts))
    sent: Mapping[str, str] = dict(edit.changes)
    if on_tracks.commits_again:
        # Nothing shows that these files are there, and sending them needs no commit of its own.
        sent = {}
    on_google_play = _live_artifacts(edit, reused)
    published: tuple[SupplementaryFile, ...] = ()
    if edit.state.own:
        published = companions.find_published(edit.job, edit.context, on_google_play)
    return Comparison(
        reused=reused,
        tracks=on_tracks,
        lists_tracks=lists_tracks,
        listing=content.listing,
        testers=content.testers,
        published=published,
        sent=sent,
        on_google_play=on_google_play,
    )


def _look_for_earlier_commit(
    edit: ReleaseEdit, content: _Content, reused: Collection[int]
) -> _TrackComparison:
    """Find out whether the commit of the edit before this one happened, and note it.

    It happened if Google Play has all artifacts of the job, and every track that the edit wrote is
    as it was written, or has gone on from there, whatever people have changed beside that. If it
    wrote no track, or one is not so, it happened if all that the job asks for is live: artifacts,
    tracks, listing and testers.

    Raises ReleaseRefused for a shared edit of which the tracks are live, but not everything:
    somebody may have released the same by hand, and then other jobs have lost their part of the
    edit.
    """
    all_uploaded = len(reused) == len(set(edit.job.codes))
    committed_tracks: tuple[TrackChange, ...] = ()
    recorded_are_live = False
    if all_uploaded:
        committed_tracks = track_merge.job_tracks_as_committed(edit)
        recorded_are_live = track_merge.recorded_tracks_are_live(edit)
    changes = committed_tracks or _plan_tracks(edit, content.artifacts)
    tracks_are_live = bool(committed_tracks) or _are_in_edit(changes)
    all_live = all_uploaded and tracks_are_live and content.is_live
    shared_id = edit.previous.shared_id
    if shared_id and recorded_are_live and not all_live:
        raise edit_lifecycle.edit_gone_error(shared_id)
    edit.note_earlier_commit(is_live=recorded_are_live or all_live)
    return _TrackComparison(
        changes,
        need_no_write=bool(committed_tracks),
        commits_again=recorded_are_live and not all_live,
    )


def _are_in_edit(changes: Sequence[TrackChange]) -> bool:
    """Return whether every track already holds what the job wants there."""
    return all(change.is_in_edit for change in changes)


def _live_artifacts(edit: ReleaseEdit, reused: Collection[int]) -> frozenset[int]:
    """Return those of the version codes that are on Google Play, and not only in this edit, into
    which an earlier run may have put them.
    """
    live = set()
    for code in reused:
        if edit.job.artifact_purpose(code) not in edit.uncommitted:
            live.add(code)
    return frozenset(live)


@dataclass
class _Content:
    """The edit's artifacts, and how its store listing and its testers differ from the job."""

    artifacts: ListedArtifacts = field(default_factory=dict)
    listing: ListingDifference = _NO_LISTING
    testers: tuple[TestersChange, ...] = ()

    @property
    def is_live(self) -> bool:
        """Whether the store listing and the testers are as the job wants them."""
        for change in self.testers:
            if str(change):
                return False
        return not self.listing.changes_anything


def _read(edit: ReleaseEdit) -> _Content:
    """Return what the edit has of what the job is about; it is all read at the same time.

    Sets `edit.seen` to the tracks. The session of an artifact that the edit may lack is opened
    meanwhile: that changes nothing in the edit, and most releases bring a new artifact.
    """
    job = edit.job
    content = _Content()

    def read_tracks() -> None:
        edit.seen = tracks.all_tracks(edit.api)

    def read_artifacts() -> None:
        content.artifacts = list_artifacts(edit, _kinds_to_list(job))

    def read_default_language() -> None:
        track_merge.default_language(edit)

    def compare_listing(files: StoreFiles) -> None:
        content.listing = store_listing.compare(edit, files)

    def compare_testers() -> None:
        content.testers = testers.compare(edit)

    reads: list[Callable[[], None]] = []
    if job.tracks or not edit.state.own:
        reads.append(read_tracks)
    if job.artifacts or job.retained:
        reads.append(read_artifacts)
    if job.listing:
        reads.append(partial(compare_listing, job.listing))
    if job.testers:
        reads.append(compare_testers)
    if job.needs_default_language:
        reads.append(read_default_language)
    edit.context.together(reads + _sessions_to_begin(edit))
    return content


def _sessions_to_begin(edit: ReleaseEdit) -> list[Callable[[], None]]:
    """Return calls that open the session of each artifact that the edit may lack."""
    calls: list[Callable[[], None]] = []
    for artifact in edit.job.artifacts:
        if not _by_earlier_run(edit, artifact):
            kind = _kind(artifact)
            calls.append(partial(edit.api.begin_artifact, artifact, kind))
    return calls


def _kinds_to_list(job: ReleaseJob) -> Sequence[ArtifactKind]:
    """Return the kinds of artifacts whose lists are read before the upload.

    As a rule these are both, so that a version code that an artifact of the other kind has taken is
    found before the first byte. Several apps share the connections, so if they have only bundles,
    only these are listed: after the refusal of an upload, both lists are read.
    """
    if not job.one_of_several or job.retained or job.dry_run:
        return ("bundles", "apks")
    for artifact in job.artifacts:
        if _kind(artifact) != "bundle":
            return ("bundles", "apks")
    return ("bundles",)


def _of_new_tracks(
    edit: ReleaseEdit, changes: tuple[TestersChange, ...]
) -> tuple[TestersChange, ...]:
    """Return the changes of testers, marked for those tracks that the run creates."""
    if not edit.job.create_tracks:
        return changes
    marked = []
    for change in changes:
        tracks.current_releases(edit, change.track)
        marked.append(replace(change, created=edit.is_new(change.track)))
    return tuple(marked)


def _find_reused(
    edit: ReleaseEdit, artifacts: ListedArtifacts
) -> dict[int, FileResult]:
    """Return the results of those artifacts of the job that Google Play has, by version code.

    Raises as `_same`.
    """
    reused = {}
    for artifact in edit.job.artifacts:
        code = version_code(artifact)
        existing = artifacts.get(code)
        if existing is not None:
            by_earlier_run = _by_earlier_run(edit, artifact)
            reused[code] = _same(
                edit,
                artifact,
                existing,
                by_earlier_run=by_earlier_run,
            )
    return reused


def _changes(edit: ReleaseEdit, comparison: Comparison) -> Changes:
    """Return all that the commit would publish."""
    job = edit.job
    shared_edit = ""
    if not edit.state.own:
        shared_edit = edit.id
    files = plan.files_of(
        job,
        comparison.on_google_play,
        comparison.published,
        shared_edit,
    )
    images = [place.change for place in comparison.listing.places if place.change]
    happened = edit.state.commit is CommitKnowledge.HAPPENED
    if edit.previous.overtaken:
        happened = False  # it is rather somebody else's release that is live
    on_tracks = comparison.tracks.changes
    first_staged = reach.first_staged(on_tracks)
    shadowed = reach.find_shadowed_tracks(on_tracks, edit.seen)
    left_behind = reach.find_devices_left_behind(job, on_tracks, edit.context)
    return Changes(
        job,
        tracks=on_tracks,
        files=tuple(files),
        texts=comparison.listing.text_changes,
        images=tuple(images),
        testers=comparison.testers,
        reach=(*first_staged, *shadowed, *left_behind),
        others=other_tracks(edit),
        not_shown=_not_shown(edit, listed=comparison.lists_tracks),
        happened=happened,
        in_edit=edit.state.own and edit.state.stage is Stage.CHANGED,
    )


def _publish_version_codes(context: Context, changes: Changes) -> None:
    """Publish the version codes, each of which is also the id of its artifact."""
    codes = changes.version_codes
    if codes:
        context.publish(version_code_outputs(codes), codes)


def _put(edit: ReleaseEdit, comparison: Comparison, changes: Changes) -> Changes:
    """Put what was shown into the edit, and return it with what became of the tracks.

    The store listing and the release are written at the same time, as neither depends on the other.
    """
    on_tracks: list[TrackChange] = []

    def put_release() -> None:
        _put_artifacts(edit, comparison.reused)
        _publish_version_codes(edit.context, changes)
        on_tracks.extend(_put_what_needs_artifacts(edit, comparison, changes))

    def put_listing() -> None:
        store_listing.synchronise(edit, comparison.listing)

    parts = [put_release]
    if edit.job.listing:
        parts.append(put_listing)
    tracks.create_missing(edit)
    try:
        edit.context.together(parts)
    finally:
        edit.context.arrange(_paths(edit.job))
    return replace(changes, tracks=tuple(on_tracks))


def _put_artifacts(edit: ReleaseEdit, reused: Mapping[int, FileResult]) -> None:
    """Upload the artifacts that Google Play does not have yet, several at a time."""
    uploads = []
    for artifact in edit.job.artifacts:
        existing = reused.get(version_code(artifact))
        uploads.append(partial(_put_artifact, edit, artifact, existing))
    edit.context.together(uploads)


def _put_what_needs_artifacts(
    edit: ReleaseEdit, comparison: Comparison, changes: Changes
) -> tuple[TrackChange, ...]:
    """Put the files that go with the artifacts, the tracks and the testers into the edit, and
    return what became of the tracks.

    In an edit of our own all of it is put at the same time: if one of the files is refused, the
    edit is deleted with the tracks. A shared edit stays open after a refusal, and another job may
    commit it, so the tracks come last there.
    """
    on_tracks: list[TrackChange] = []

    def put_tracks() -> None:
        if comparison.tracks.need_no_write:
            on_tracks.extend(comparison.tracks.changes)
        else:
            on_tracks.extend(_put_tracks(edit))

    def put_testers() -> None:
        testers.replace(edit, changes.testers)

    put_files: list[Callable[[], None]] = [
        partial(_put_supplementary, edit, companion, comparison)
        for companion in edit.job.supplementary
    ]
    if edit.state.own:
        edit.context.together([*put_files, put_tracks, put_testers])
    else:
        edit.context.together(put_files)
        edit.context.together([put_tracks, put_testers])
    return tuple(on_tracks)


def _paths(job: ReleaseJob) -> list[str]:
    """Return the paths of a job's files in the order in which results are listed."""
    paths = []
    for artifact in job.artifacts:
        paths.append(artifact.name)
        for companion in job.supplementary:
            if companion.version_code != version_code(artifact):
                continue
            if isinstance(companion.file, Artifact):
                paths.append(companion.file.name)
    if job.listing:
        for images in job.listing.images.values():
            paths += [image.name for image in images]
    return paths


def _plan_tracks(edit: ReleaseEdit, codes: Collection[int]) -> tuple[TrackChange, ...]:
    """Return what becomes of each track; `codes` are the version codes that Google Play has.

    Raises ReleaseRefused for a release that must not come to a track.
    """
    updates = track_merge.plan_updates(edit, codes)
    for update in updates:
        reach.check_upgrade(update)
    return updates


def _put_tracks(edit: ReleaseEdit) -> tuple[TrackChange, ...]:
    """Write the release to each of the job's tracks, and return what became of them."""
    if edit.job.tracks and not edit.state.own:
        # Other jobs may have written to the tracks of the shared edit meanwhile.
        edit.seen = tracks.all_tracks(edit.api)
    updates = [
        partial(track_merge.update_track, edit, track) for track in edit.job.tracks
    ]
    return tuple(edit.context.together(updates))


def _show(context: Context, changes: Changes) -> None:
    """Show what is about to change, and warn of users whom the release does not reach."""
    for line in changes.reach:
        context.warning(f"{capitalise(line)}.")
    context.show(
        f"Changes: {changes.job.package}",
        plan.lines(changes),
        (section(PLANNED, changes),),
    )
    if changes.job.dry_run:
        context.publish({"plan": plan.plan_output(changes)})


def _not_shown(edit: ReleaseEdit, *, listed: bool) -> str:
    """Return what else the commit would publish that the plan can't show; empty for nothing."""
    if not edit.state.own:
        others = "texts, images, files and user fractions that other jobs changed"
        unlisted = ""
        if not listed:
            unlisted = (
                "; so are tracks with names of their own, which Google Play does not "
                "list now"
            )
        return f"{others} in edit {edit.id}: they are committed with it{unlisted}"
    for purpose in edit.uncommitted:
        if purpose.startswith("listing:"):
            return (
                f"what an earlier run of this job changed in the store listing of edit {edit.id} "
                "already, and did not commit"
            )
    return ""


def _put_artifact(
    edit: ReleaseEdit, artifact: Artifact, existing: FileResult | None
) -> None:
    """Upload an artifact, unless Google Play has it already."""
    if existing is None:
        existing = _upload_artifact(edit, artifact)
    if existing:
        code = version_code(artifact)
        what = f"{artifact.name}: version code {code} is {_where(edit, code)} already"
        edit.context.info(f"{what} with the same bytes; not sent again.")
        edit.context.add_reused(existing)


def _upload_artifact(edit: ReleaseEdit, artifact: Artifact) -> FileResult | None:
    """Upload an artifact. Return the result of one that turns out to be there already, otherwise
    None.

    If the response is lost and the edit does not list the artifact, it is sent again: no version
    code can be there twice. Raises as `_same`, and IntegrityError as `_check_reported_code`.
    """
    code = version_code(artifact)
    kind = _kind(artifact)
    by_earlier_run = _by_earlier_run(edit, artifact)
    purpose = edit.job.artifact_purpose(code)
    waits = edit.context.backoff()
    while True:
        edit.begin_change(purpose)
        try:
            result = edit.api.upload_artifact(artifact, kind)
        except (ApiError, OutcomeUnknown) as error:
            if isinstance(error, ApiError) and find(error) is not VERSION_TAKEN:
                raise
            # The version code may be there by now: by an upload of ours whose response was lost, or
            # by another job in a shared edit.
            existing = list_artifacts(edit).get(code)
            if existing is not None:
                return _same(
                    edit,
                    artifact,
                    existing,
                    by_earlier_run=by_earlier_run,
                )
            if isinstance(error, ApiError):
                raise
            waits.wait(
                f"the answer to the upload of {artifact.name} was lost, and edit {edit.id} lacks it"
            )
        else:
            _check_reported_code(artifact, result)
            edit.finish_change(purpose, result.sha256)
            return None


def _check_reported_code(artifact: Artifact, result: FileResult) -> None:
    """Raise IntegrityError if Google Play reports another version code than the manifest has."""
    code = version_code(artifact)
    reported = result.resource.get("versionCode")
    # The documents call it an integer, and JSON may carry it as text.
    if str(reported) != str(code):
        raise IntegrityError(
            f"{artifact.name} declares version code {code}, but Google Play reported {reported!r}.",
            cause="What arrived is not what was sent.",
            hint="Run again; if it happens again, the manifest of the file is damaged.",
            code="version-code-differs",
        )


def _kind(artifact: Artifact) -> str:
    """Return `bundle` or `apk`; one whose manifest could not be read counts as a bundle."""
    if artifact.manifest is None:
        return "bundle"
    return artifact.manifest.kind


def _by_earlier_run(edit: ReleaseEdit, artifact: Artifact) -> bool:
    """Return whether an earlier run of the job may have uploaded an artifact with this version code
    into the edit, which is our own.
    """
    if not edit.state.own:
        return False
    purpose = edit.job.artifact_purpose(version_code(artifact))
    return purpose in edit.uncommitted


def _same(
    edit: ReleaseEdit,
    artifact: Artifact,
    existing: ListedArtifact,
    *,
    by_earlier_run: bool,
) -> FileResult:
    """Return the result of an artifact that Google Play has already.

    Raises ReleaseRefused if Google Play has other bytes, or the artifact may not be reused, and
    BuiltAgain if the other bytes are only in this edit, uploaded by an earlier run.
    """
    code = version_code(artifact)
    ours = edit.context.sha256(artifact)
    theirs = existing.sha256
    if ours != theirs and by_earlier_run:
        what = (
            f"edit {edit.id} of an earlier run has other bytes as version code {code}"
        )
        raise BuiltAgain(f"{artifact.name} was built again: {what}.")
    if ours != theirs:
        raise ReleaseRefused(
            f"Google Play already has version code {code} with different contents than "
            f"{artifact.name}: SHA-256 {theirs or 'unknown'} there, {ours} here.",
            cause="The app was built again without a new version code.",
            hint="Raise the version code, or upload the exact file that Google Play has.",
            code="version-code-conflict",
        )
    # An upload of this job whose response was lost is no conflict: the bytes are the same.
    if not edit.job.reuse and edit.job.artifact_purpose(code) not in edit.changes:
        raise ReleaseRefused(
            f"Version code {code} ({artifact.name}) is {_where(edit, code)} already.",
            cause="It was uploaded before, and `on-version-conflict` is `fail`.",
            hint="Raise the version code, or set `on-version-conflict: reuse`.",
            code="version-code-used",
        )
    return FileResult(
        artifact.name,
        artifact.size or 0,
        ours,
        str(code),
        existing.json,
        reused=True,
        certificate_sha256=artifact.certificate_sha256,
        version=artifact.version,
    )


def _where(edit: ReleaseEdit, code: int) -> str:
    """Return in words where an artifact is that the edit lists.

    One that was uploaded into the edit, perhaps by others, is not live yet.
    """
    if not edit.state.own or edit.job.artifact_purpose(code) in edit.uncommitted:
        return f"in edit {edit.id}"
    return "on Google Play"


def _put_supplementary(
    edit: ReleaseEdit, companion: SupplementaryFile, comparison: Comparison
) -> None:
    """Put a file that goes with an artifact into the edit, unless it is there already, or was
    published with the version before.

    Google Play does not list these files, so the journal has what was sent: a digest, or the
    version whose file is used.
    """
    file = companion.file
    if file == "bundle":
        return
    is_published = companion in comparison.published
    sent = comparison.sent.get(companion.purpose, "")
    if isinstance(file, Artifact):
        if is_published or (sent and sent == edit.context.sha256(file)):
            digest = edit.context.sha256(file)
            result = FileResult(file.name, file.size or 0, digest, reused=True)
            edit.context.add_reused(result)
        else:
            _put_file(edit, companion, file)
    elif not is_published and sent != _reference_to(file):
        _put_reference(edit, companion, file)


def _put_file(edit: ReleaseEdit, companion: SupplementaryFile, file: Artifact) -> None:
    """Upload a file that goes with an artifact."""
    purpose = companion.purpose
    edit.begin_change(purpose)
    result = edit.api.upload_supplementary(file, companion.version_code, companion.kind)
    edit.finish_change(purpose, result.sha256)


def _put_reference(edit: ReleaseEdit, companion: SupplementaryFile, other: int) -> None:
    """Let an APK use the expansion file of another version."""
    purpose = companion.purpose
    edit.begin_change(purpose)
    edit.api.refer_expansion(companion.version_code, companion.kind, other)
    edit.finish_change(purpose, _reference_to(other))


def _reference_to(version_code: int) -> str:
    """Return what the journal has of an expansion file that is another version's."""
    return f"references:{version_code}"


def other_tracks(edit: ReleaseEdit) -> tuple[OtherTrack, ...]:
    """Return the tracks of a shared edit besides those of the run."""
    if edit.state.own:
        return ()
    others = []
    for track in dict.fromkeys((*track_names.STANDARD, *edit.seen)):
        releases = tracks.current_releases(edit, track)
        if releases and track not in edit.job.tracks:
            live = live_versions(edit.context, edit.job.package, track)
            others.append(OtherTrack(track, releases, live))
    return tuple(others)


def _validate(edit: ReleaseEdit) -> None:
    """Let Google Play validate the edit. Raises ApiError if it would refuse the commit."""
    try:
        edit.api.validate()
    except ApiError as refused:
        if find(refused) is not REVIEW_BY_HAND:
            raise
        # Google demands a parameter that only a commit can carry, and with `false` none does.
        if edit.job.not_sent_for_review == "false":
            raise
        edit.context.info(f"Google Play says: {refused.message}")
