"""One release from the first call to the last, as a story: edit, comparison, artifacts, listing,
tracks, commit.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import count
from typing import Any, TypeVar

from uploader.errors import ApiError, IntegrityError, OutcomeUnknown, ReleaseRefused, UploaderError
from uploader.files.artifacts import Artifact
from uploader.results import FileResult
from uploader.services.base import Barrier, Context, Flow, Outcome, Sleep, Steps
from uploader.services.play import (
    companions,
    edit_lifecycle,
    edit_requests,
    plan,
    reach,
    status,
    testers,
    track_merge,
    tracks,
)
from uploader.services.play import listing as store_listing
from uploader.services.play.edit_lifecycle import (
    CommitKnowledge,
    EditState,
    Event,
    ReleaseEdit,
    Stage,
    listed_artifacts,
    opened,
)
from uploader.services.play.edit_requests import CONSOLE, Release
from uploader.services.play.known_errors import (
    EDIT_GONE,
    REVIEW_BY_HAND,
    VERSION_TAKEN,
    explained,
    find,
)
from uploader.services.play.listing import ListingDifference
from uploader.services.play.plan import Changes, OtherTrack
from uploader.services.play.release_job import ReleaseJob, SupplementaryFile, version_code
from uploader.services.play.review import awaited, listed, live_versions
from uploader.services.play.several_apps import SeveralApps
from uploader.services.play.track_merge import TrackChange
from uploader.services.play.universal_apk import fetched
from uploader.text import capitalised

T = TypeVar("T")
MAX_REPLAYS = 2  # fresh edits after the first, where another job or the console keeps closing ours
STORE = "https://play.google.com/store/apps/details?id="
TO_SEND = "committed; send it for review in the Play Console"


class BuiltAgain(Exception):
    """The edit has other bytes of an artifact that only an earlier run of the job brought there."""


def flow(job: ReleaseJob, context: Context) -> Flow:
    """Carries the job out, with what follows its commit."""
    outcome = yield from released(job, context)
    return (yield from followed_up(job, outcome, context))


def released(job: ReleaseJob, context: Context) -> Flow:
    """Carries the job out up to its commit; every refusal leaves with its cause and its hint."""
    try:
        return (yield from in_an_edit((yield from opened(job, context)), _release))
    except ApiError as refused:
        if job.existing_edit and not job.dry_run and _says_committed(refused):
            return (yield from _committed_by_others(job, context))
        raise explained(refused) from None


def _says_committed(error: Exception) -> bool:
    return isinstance(error, ApiError) and bool(edit_lifecycle.COMMITTED.search(error.message))


def _committed_by_others(job: ReleaseJob, context: Context) -> Flow:
    """The end of a job whose shared edit another job has committed: it is done where its part was
    in the edit.

    The list of releases, which needs no edit, has the version codes. Raises ReleaseRefused where it
    does not have them, or where the job asks for what no list has.
    """
    versions, missing = job.codes or job.promoted or job.retained, list[str]()
    for track in job.tracks:
        on_track = {
            code for entry in (yield from listed(job.package, track)) for code in entry.codes
        }
        if not versions or not on_track.issuperset(versions):
            missing.append(track)
    beside_tracks = job.artifacts or job.supplementary or job.listing
    unlisted = job.testers or (beside_tracks and not job.tracks)
    if missing or unlisted:
        where = f"on {', '.join(missing)}" if missing else "in it"
        raise ReleaseRefused(
            f"Edit {job.existing_edit} is committed, and what this run asks for is not seen to be "
            f"{where}.",
            cause="Another job committed the edit, perhaps before this run had put its part into "
            "it.",
            hint="Let the job that commits run last. To release what is missing, leave "
            "`existing-edit-id` out.",
            code="edit-committed",
        )
    context.forget_uploads(edit_requests.uploads(job.package))
    context.publish({"edit-id": job.existing_edit, "committed": "true"})
    if versions:
        context.publish(
            {"version-code": max(versions, key=int), "version-codes": ",".join(versions)}, versions
        )
    release = tracks.named({"versionCodes": [*versions]}, job.version_name)
    own_part = f", with {release} on {', '.join(job.tracks)}" if job.tracks else ""
    return Outcome(
        f"Edit {job.existing_edit} of {job.package} is committed already by another job{own_part}."
    )


def followed_up(job: ReleaseJob, outcome: Outcome, context: Context) -> Flow:
    """The outcome with what follows the commit: the universal APK, and the wait for the review."""
    try:
        if job.universal_apk and not job.dry_run:
            outcome = yield from fetched(
                job.package, job.codes, job.universal_apk, outcome, context
            )
        if job.review and not job.dry_run and not outcome.trouble:
            outcome = yield from awaited(
                job.package, job.tracks, job.codes, job.review, outcome, context
            )
    except ApiError as refused:
        raise explained(refused) from None
    return outcome


def flow_of_several(jobs: Sequence[ReleaseJob], order: Sequence[str], context: Context) -> Flow:
    """Releases every app or none; `order` has the app of each of the files."""
    commits = jobs[0].commit and not jobs[0].dry_run
    together = SeveralApps(
        [job.package for job in jobs], order, context, commits=commits and not jobs[0].rehearsal
    )
    for app, job in zip(together.apps, jobs, strict=True):
        app.begin(partial(released, job))
    yield from together.advance(stop=True)
    if not together.failed:
        yield from together.commit() if commits else together.advance(onward=True)
    if not together.failed:
        for app, job in zip(together.apps, jobs, strict=True):
            if app.outcome:
                app.begin(partial(followed_up, job, app.outcome))
        yield from together.advance()
    what = "are committed" if commits else "are in their edits, which are left open"
    what = "passed the validation; nothing was published" if jobs[0].dry_run else what
    who = "Both" if len(jobs) == 2 else f"All {len(jobs)}"
    waiting = ", ".join(
        app.package for app in together.apps if app.outputs.get("sent-for-review") == "false"
    )
    return together.end(
        f"{who} apps {what}.{f' Go on in the Play Console with {waiting}.' if waiting else ''}"
    )


def in_an_edit(edit: ReleaseEdit, work: Callable[[ReleaseEdit], Steps[T]]) -> Steps[T]:
    """Does the work in the edit, from the beginning in a fresh one where others close it.

    After a failure it is settled what becomes of the edit.
    """
    for replay in count():
        began = edit.state
        outdated = False
        overtaken = False
        try:
            return (yield from work(edit))
        except BuiltAgain as why:
            edit.context.info(f"{why} Starting over in a fresh edit.")
            outdated = True
        except Exception as error:
            overtaken = _is_overtaken(edit, began, error)
            if isinstance(error, ApiError) and find(error) is EDIT_GONE and edit.state.open:
                edit.apply(Event.CLOSED)
            replaceable = edit.state.stage is Stage.GONE and (edit.state.own or edit.state.in_doubt)
            if not edit.state.own and _says_committed(error):
                raise  # by another job, with all that was put into it until then
            if replay == MAX_REPLAYS or not replaceable:
                yield from edit_lifecycle.settle(edit, error)
                if edit.replaces and edit.state.in_doubt and isinstance(error, ReleaseRefused):
                    raise edit_lifecycle.gone(edit.replaces) from None
                raise
            what = error.what if isinstance(error, UploaderError) else str(error)
            edit.context.warning(f"{what.rstrip('.')}. Starting over in a fresh edit.")
            if not edit.state.in_doubt:
                edit_lifecycle.lost(edit, error)
        try:
            if outdated:
                yield from edit_lifecycle.discard(edit)
            edit = yield from edit_lifecycle.inserted(
                edit.job, edit.context, None if outdated else edit
            )
            edit.overtaken = overtaken
        except Exception as error:
            yield from edit_lifecycle.settle(edit, error)
            raise
    raise AssertionError  # the loop has no other end


def _is_overtaken(edit: ReleaseEdit, began: EditState, error: Exception) -> bool:
    """Whether others closed the edit, with changes of the job in it, before a commit of the job
    could happen.

    `began` is the edit as it was when the work in it began. A commit is sent once: one that finds
    the edit closed most likely did not happen, unless the answer to another was lost before, by
    this run or by an earlier one.
    """
    if not (isinstance(error, ApiError) and find(error) is EDIT_GONE):
        return False
    if edit.state.stage is Stage.CLEAN:
        return edit.overtaken
    return (
        began.commit is not CommitKnowledge.DID_NOT
        and edit.state.commit is not CommitKnowledge.DID_NOT
    )


def _release(edit: ReleaseEdit) -> Flow:
    job, changes = edit.job, (yield from _fill(edit))
    done = job.commit and edit.state.stage is Stage.CLEAN  # nothing has to be committed
    if job.dry_run or (job.among > 1 and job.commit and not done):
        yield from _validate(edit)
    if job.among > 1 and (job.dry_run or not done):
        yield Barrier()
        edit.keep = True
    outcome = yield from _finish(edit, changes)
    if job.commit and not job.dry_run and changes.tracks:
        known = status.outputs(
            {one.track: tuple((live, "") for live in one.after) for one in changes.tracks}
        )
        # the other values are of all that is there
        edit.context.publish({"status": known["status"]})
    return outcome


def _fill(edit: ReleaseEdit) -> Steps[Changes]:
    """Everything but the commit: compares, shows what is about to change, and puts it into the
    edit.

    What would end the run later and can be known before the first upload is raised there.
    """
    job, context = edit.job, edit.context
    if job.tracks or not edit.state.own:
        edit.seen = yield from tracks.all_tracks(edit.api)
    has_list = bool(edit.seen)
    known = (yield from listed_artifacts(edit)) if job.artifacts or job.retained else {}
    by_code = {version_code(artifact): artifact for artifact in job.artifacts}
    there = {
        code: _same(edit, artifact, known[code], by_earlier_run=_by_earlier_run(edit, artifact))
        for code, artifact in by_code.items()
        if code in known
    }
    # This edit may have taken the place of one whose commit may have happened.
    in_doubt, all_there = (
        edit.state.commit is CommitKnowledge.UNKNOWN,
        there.keys() == by_code.keys(),
    )
    live = (yield from track_merge.found_as_written(edit)) if in_doubt and all_there else ()
    updates = live or (yield from _planned(edit, known))
    listing = ListingDifference({}, frozenset(), (), ())
    if job.listing:
        listing = yield from store_listing.compare(edit, job.listing)
    groups = (yield from testers.compare(edit)) if job.testers else ()
    if in_doubt:
        released = all_there and (bool(live) or all(one.settled for one in updates))
        edit.found_live(released and not (listing.changes_anything or any(map(str, groups))))
    # What an earlier run put into the same edit is not on Google Play yet.
    kept = {code for code in there if f"artifact:{code}" not in edit.uncommitted}
    published = companions.published(job, context, kept) if edit.state.own else ()
    changes = Changes(
        job,
        tracks=updates,
        files=tuple(plan.files_of(job, kept, published, "" if edit.state.own else edit.id)),
        texts=listing.text_changes,
        images=tuple(place.change for place in listing.places if place.change),
        testers=groups,
        reach=(*reach.shadowed(updates, edit.seen), *reach.left_behind(job, updates, context)),
        others=(yield from _others(edit)),
        not_shown=_not_shown(edit, listed=has_list),
        happened=edit.state.commit is CommitKnowledge.HAPPENED and not edit.overtaken,
    )
    _show(context, changes)
    for code, artifact in by_code.items():
        yield from _put_artifact(edit, artifact, there.get(code))
        yield from _put_supplementary(edit, code, published)
    if codes := changes.version_codes:  # a version code is also the id of its artifact
        context.publish(
            {"version-code": max(codes, key=int), "version-codes": ",".join(codes)}, codes
        )
    if job.listing:
        yield from store_listing.synchronise(edit, listing)
    updates = live or (yield from _put_tracks(edit))
    if changes.testers:
        yield from testers.replace(edit, changes.testers)
    if share := "".join(tracks.user_fraction(one.release) for one in updates[-1:]):
        context.publish({"user-fraction": share})
    return replace(changes, tracks=updates)


def _planned(edit: ReleaseEdit, known: Collection[int]) -> Steps[tuple[TrackChange, ...]]:
    """What becomes of each track; `known` are the version codes of all artifacts that Play has."""
    updates = yield from track_merge.plan_updates(edit, known)
    for update in updates:
        reach.check_upgrade(update)
    return updates


def _put_tracks(edit: ReleaseEdit) -> Steps[tuple[TrackChange, ...]]:
    # other jobs may have written to its tracks meanwhile
    if edit.job.tracks and not edit.state.own:
        edit.seen = yield from tracks.all_tracks(edit.api)
    updates: tuple[TrackChange, ...] = ()
    for track in edit.job.tracks:
        updates = (*updates, (yield from track_merge.update_track(edit, track)))
    return updates


def _show(context: Context, changes: Changes) -> None:
    for line in changes.reach:
        context.warning(f"{capitalised(line)}.")
    context.show(
        f"Changes: {changes.job.package}",
        plan.lines(changes),
        (plan.section("Planned changes", changes),),
    )
    if changes.job.dry_run:
        context.publish({"plan": plan.plan_output(changes)})


def _not_shown(edit: ReleaseEdit, *, listed: bool) -> str:
    if not edit.state.own:
        others = "texts, images, files and user fractions that other jobs changed"
        unlisted = (
            ""
            if listed
            else "; so are tracks with names of their own, which Google Play does not list now"
        )
        return f"{others} in edit {edit.id}: they are committed with it{unlisted}"
    if not any(purpose.startswith("listing:") for purpose in edit.uncommitted):
        return ""
    return (
        f"what an earlier run of this job changed in the store listing of edit {edit.id} already, "
        "and did not commit"
    )


def _others(edit: ReleaseEdit) -> Steps[tuple[OtherTrack, ...]]:
    """The tracks of a shared edit beside those of the run."""
    found = []
    for track in () if edit.state.own else dict.fromkeys((*tracks.STANDARD, *edit.seen)):
        held = yield from tracks.current_releases(edit, track)
        if held and track not in edit.job.tracks:
            found.append(
                OtherTrack(track, held, (yield from live_versions(edit.job.package, track)))
            )
    return tuple(found)


def _put_artifact(edit: ReleaseEdit, artifact: Artifact, there: FileResult | None) -> Steps[None]:
    code = version_code(artifact)
    if there is None:
        there = yield from _upload_artifact(edit, artifact)
    if there:
        what = f"{artifact.name}: version code {code} is {_where(edit, code)} already"
        edit.context.info(f"{what} with the same bytes; not sent again.")
        edit.context.reused(there)


def _upload_artifact(edit: ReleaseEdit, artifact: Artifact) -> Steps[FileResult | None]:
    """Uploads an artifact. The result is the record of one that is found to be there instead.

    Where the answer is lost and the edit does not list it, it is sent again: a version code is
    there once.
    """
    code = version_code(artifact)
    kind = artifact.manifest.kind if artifact.manifest else "bundle"
    by_earlier_run = _by_earlier_run(edit, artifact)
    for attempt in count(1):
        edit.changing(f"artifact:{code}")
        try:
            result = yield edit.api.upload_artifact(artifact, kind)
        except (ApiError, OutcomeUnknown) as error:
            if isinstance(error, ApiError) and find(error) is not VERSION_TAKEN:
                raise
            # It may be there by now: an upload of ours whose response was lost, or another job's in
            # a shared edit.
            entry = (yield from listed_artifacts(edit)).get(code)
            if entry is not None:
                return _same(edit, artifact, entry, by_earlier_run=by_earlier_run)
            if isinstance(error, ApiError):
                raise
            yield Sleep(
                attempt,
                f"the answer to the upload of {artifact.name} was lost, and edit "
                f"{edit.id} lacks it",
            )
        else:
            reported = result.resource.get("versionCode")
            # the documents call it an integer, and JSON may carry it as text
            if str(reported) != str(code):
                raise IntegrityError(
                    f"{artifact.name} declares version code {code}, but Google Play reported "
                    f"{reported!r}.",
                    cause="What arrived is not what was sent.",
                    hint="Run again; if it happens again, the manifest of the file is damaged.",
                    code="version-code-differs",
                )
            edit.changed(f"artifact:{code}", result.sha256)
            return None
    raise AssertionError  # the loop has no other end


def _by_earlier_run(edit: ReleaseEdit, artifact: Artifact) -> bool:
    """Whether an earlier run of the job may have brought an artifact with this version code into
    its own edit.
    """
    return edit.state.own and f"artifact:{version_code(artifact)}" in edit.uncommitted


def _same(
    edit: ReleaseEdit, artifact: Artifact, entry: Mapping[str, Any], *, by_earlier_run: bool
) -> FileResult:
    """The record of an artifact that Play has. Raises ReleaseRefused where it may not stand for the
    file.

    Raises BuiltAgain where it may not, and is in no other edit than this one, where an earlier run
    brought it.
    """
    code, ours, theirs = version_code(artifact), edit.context.sha256(artifact), _sha256(entry)
    if ours != theirs and by_earlier_run:
        what = f"edit {edit.id} of an earlier run has other bytes as version code {code}"
        raise BuiltAgain(f"{artifact.name} was built again: {what}.")
    if ours != theirs:
        raise ReleaseRefused(
            f"Google Play already has version code {code} with different contents than "
            f"{artifact.name}: SHA-256 {theirs or 'unknown'} there, {ours} here.",
            cause="The app was built again without a new version code.",
            hint="Raise the version code, or upload the exact file that Google Play has.",
            code="version-code-conflict",
        )
    # What the job itself put into its edit is no conflict, though its response was lost: the bytes
    # are those above.
    if not edit.job.reuse and f"artifact:{code}" not in edit.changes:
        raise ReleaseRefused(
            f"Version code {code} ({artifact.name}) is {_where(edit, code)} already.",
            cause="It was uploaded before, and `on-version-conflict` is `fail`.",
            hint="Raise the version code, or set `on-version-conflict: reuse`.",
            code="version-code-used",
        )
    record = FileResult(artifact.name, artifact.size or 0, ours, str(code), entry, reused=True)
    return replace(record, certificate_sha256=artifact.certificate_sha256, version=artifact.version)


def _where(edit: ReleaseEdit, code: int) -> str:
    """Where an artifact is that the edit lists: what was put into the edit, perhaps by others, is
    not live yet.
    """
    only_in_edit = not edit.state.own or f"artifact:{code}" in edit.uncommitted
    return f"in edit {edit.id}" if only_in_edit else "on Google Play"


def _sha256(entry: Mapping[str, Any]) -> str:
    """The digest in Play's response: a bundle has it itself, an APK in `binary`."""
    binary = entry.get("binary")
    return str((binary if isinstance(binary, Mapping) else entry).get("sha256", "")).lower()


def _put_supplementary(
    edit: ReleaseEdit, code: int, published: Collection[SupplementaryFile]
) -> Steps[None]:
    """Play does not list these files, so what was sent into this edit is remembered: a digest, or
    another version.

    Those that are `published` with the version are not sent again.
    """
    for one in (one for one in edit.job.supplementary if one.version_code == code):
        purpose, file = f"{one.kind}:{code}", one.file
        before = edit.changes.get(purpose)
        if one in published:
            if isinstance(file, Artifact):
                edit.context.reused(
                    FileResult(file.name, file.size or 0, edit.context.sha256(file), reused=True)
                )
        elif isinstance(file, Artifact) and before and before == edit.context.sha256(file):
            edit.context.reused(FileResult(file.name, file.size or 0, before, reused=True))
        elif isinstance(file, Artifact):
            edit.changing(purpose)
            result = yield edit.api.upload_supplementary(file, code, one.kind)
            edit.changed(purpose, result.sha256)
        elif isinstance(file, int) and before != f"references:{file}":
            edit.changing(purpose)
            yield edit.api.refer_expansion(code, one.kind, file)
            edit.changed(purpose, f"references:{file}")


def _validate(edit: ReleaseEdit) -> Steps[None]:
    try:
        yield edit.api.validate()
    except ApiError as refused:
        # Only a commit can carry the parameter that Google asks for here. With `false` no commit
        # ever does.
        if find(refused) is not REVIEW_BY_HAND or edit.job.not_sent_for_review == "false":
            raise
        edit.context.info(f"Google Play says: {refused.message}")


def _finish(edit: ReleaseEdit, changes: Changes) -> Flow:
    """The last steps of a run in which everything is in place: the commit, or what is done instead
    of it.
    """
    job, context = edit.job, edit.context
    codes = changes.version_codes
    what = job.package
    if codes:
        what = f"{what} {tracks.named({'versionCodes': [*codes]}, _name(changes))}"
    if job.dry_run:
        yield from edit_lifecycle.discard(edit)
        passed = (
            "the validation" if job.rehearsal else "Google Play's validation; nothing was published"
        )
        return _outcome(
            job,
            f"{what} passed {passed}.{_remarks(job, changes.tracks)}",
            "Planned changes",
            changes,
        )
    if not job.commit:
        edit.forget()
        headline = (
            f"{what} is in edit {edit.id}, which is left open.{_remarks(job, changes.tracks)}"
        )
        return _outcome(job, headline, "Changes in the edit", changes)
    if edit.state.stage is Stage.CLEAN and not changes.happened:
        context.info(
            f"{_why_unneeded(edit)}, so edit {edit.id} is not needed and `edit-id` stays empty."
        )
        edit.tell_committed(True)
        yield from edit_lifecycle.discard(edit)
        headline = f"{_headline_without_commit(edit, what)}{_remarks(job, changes.tracks)}"
        return _outcome(job, headline, "Changes", changes)
    if not edit.state.own:
        edit.seen = (yield from tracks.all_tracks(edit.api)) or edit.seen
        changes = replace(changes, others=(yield from _others(edit)))
        published = [f"{one.track} {tracks.describe_all(one.after)}" for one in changes.tracks]
        published += [f"{other.track} {other} (not from this run)" for other in changes.others]
        context.info(
            f"The commit of edit {edit.id} publishes: {', '.join(published) or 'no release'}."
        )
    left = yield from (found_committed(edit) if changes.happened else committed(edit))
    reach.remember_levels(job, context)
    companions.remember(edit)
    review = (
        "saved as a draft; roll it out in the Play Console"
        if job.options.status == "draft"
        else "sent for review"
    )
    if job.rehearsal:
        review = "committed in the emulator, where nobody reviews it"
    elif left:
        review = "must still be sent for review in the Play Console, under Publishing overview"
    elif edit.by_hand is None:
        review = (
            "committed by an earlier run; whether it was sent for review, the Play Console tells"
        )
    told = [review] if left or changes.reviewed else []
    if changes.happened and changes.tracks and all(update.gone_on for update in changes.tracks):
        headline = f"{what} is {left or 'committed, by a commit whose answer was lost'}."
    else:
        headline = _headline(edit, what, changes.tracks, left)
    headline += _remarks(job, changes.tracks)
    return _outcome(job, headline, "Changes", changes, told)


def committed(edit: ReleaseEdit) -> Steps[str]:
    """Commits the edit and tells so. The result says that a person has to send the changes for
    review, if so.
    """
    by_hand = yield from edit_lifecycle.commit(edit)
    edit.forget()
    edit.tell_committed(True)
    edit.context.info(
        f"Committed edit {edit.id}{' in the emulator' if edit.job.rehearsal else ''}."
    )
    return told_review(edit, by_hand)


def found_committed(edit: ReleaseEdit) -> Steps[str]:
    """Tells of a commit whose response was lost, and deletes the edit that showed that it happened.
    As `committed`.
    """
    edit.tell_committed(True)
    edit.context.info(
        "A commit of this job whose answer was lost has happened: what it changed is live."
    )
    left = told_review(edit, edit.by_hand)
    yield from edit_lifecycle.discard(edit)
    return left


def told_review(edit: ReleaseEdit, by_hand: bool | None) -> str:
    """Tells who sends the changes of a commit for review, None where nobody knows: what is left to
    do, if anything.
    """
    job, context = edit.job, edit.context
    if job.rehearsal:
        return (
            "committed; Google Play would leave it to you to send it to the review"
            if by_hand
            else ""
        )
    if by_hand is None:
        context.publish({"sent-for-review": ""})
        return ""
    # A draft waits for a person as well, who rolls it out.
    context.publish(
        {"sent-for-review": "false" if by_hand or job.options.status == "draft" else "true"}
    )
    if by_hand:
        context.warning(f"{job.package}: {TO_SEND}, under Publishing overview: {CONSOLE}")
    return TO_SEND if by_hand else ""


def _name(changes: Changes) -> str:
    """The name of the release that the run is about; empty where its tracks have several
    releases.
    """
    names = dict.fromkeys(str(change.release.get("name") or "") for change in changes.tracks)
    return changes.job.version_name or ("".join(names) if len(names) == 1 else "")


def _remarks(job: ReleaseJob, updates: Sequence[TrackChange]) -> str:
    """The sentences behind the last line: what was kept from the users until now, and what has gone
    on since.
    """
    taken_up = [sentence for update in updates for sentence in update.taken_up]
    gone_on = [track_merge.remark(job, update) for update in updates if update.gone_on]
    return "".join(f" {sentence}." for sentence in dict.fromkeys((*taken_up, *gone_on)))


def _why_unneeded(edit: ReleaseEdit) -> str:
    """Why an edit in which nothing had to be changed is clean."""
    if edit.overtaken and edit.state.commit is CommitKnowledge.HAPPENED:
        return "What it was to publish is live"
    if edit.overtaken:
        return "Another job, or someone in the Play Console, has published the same meanwhile"
    return "Nothing had to be changed"


def _headline_without_commit(edit: ReleaseEdit, what: str) -> str:
    """What is on Google Play though no commit of this run was accepted, in one sentence."""
    if edit.overtaken and edit.state.commit is CommitKnowledge.HAPPENED:
        return (
            f"{what} is on Google Play: another job, or someone in the Play Console, has published "
            "it meanwhile, or the commit of this run has, though it was answered that its edit is "
            "gone."
        )
    if edit.overtaken:
        return (
            f"{what} is on Google Play: another job, or someone in the Play Console, has published "
            "it meanwhile."
        )
    return f"{what} is on Google Play already."


def _headline(edit: ReleaseEdit, what: str, updates: Sequence[TrackChange], left: str) -> str:
    """What happened, in one sentence: what is `left` to do, else tracks that met the same are named
    together.

    A track whose release has gone on is not among them.
    """
    written = [one for one in updates if not one.gone_on]
    if updates and not written:
        return f"{what} is on Google Play already; what goes with it is {left or 'committed'}."
    if left:
        places = ", ".join(f"{one.track} ({tracks.in_words(one.release)})" for one in written)
        return f"{what}{f' on {places}' if places else ''} is {left}."
    if not updates:
        own = "The store listing" if edit.job.listing else "The list of testers"
        return f"{own if edit.state.own else f'Edit {edit.id}'} of {what} is committed."
    if len({tracks.codes(one.release) for one in written}) > 1:
        return f"{edit.job.package}: {'; '.join(_fate_on_track(edit.job, one) for one in written)}."
    fates: dict[str, list[str]] = {}
    for one in written:
        fates.setdefault(_fate(edit.job, one.release), []).append(one.track)
    told = " and ".join(f"{fate} {', '.join(names)}" for fate, names in fates.items())
    return f"{what} {told}."


def _fate_on_track(job: ReleaseJob, update: TrackChange) -> str:
    """What became of the release of one track, where each track has another one."""
    release = tracks.named(update.release)
    if track_merge.settled(update.before, update.after):
        return f"{release} on {update.track} is unchanged"
    return f"{release} {_fate(job, update.release)} {update.track}"


def _fate(job: ReleaseJob, release: Release) -> str:
    """What became of a release, up to the name of its track."""
    status, new, share = (
        str(release.get("status")),
        job.codes or job.retained,
        tracks.share(release),
    )
    if job.promote_from:
        how = {"inProgress": f", at {share},", "draft": ", as a draft,"}.get(status, "")
        return f"is promoted from {job.promote_from}{how} to"
    if not (new or job.options.new_status):
        return "is updated on"
    fates = {
        "inProgress": f"is now at {share} on",
        "halted": "is halted on",
        "draft": "is a draft on",
    }
    return fates.get(status, "is released on" if new else "is rolled out to all users on")


def _outcome(
    job: ReleaseJob,
    headline: str,
    title: str,
    changes: Changes,
    review: Sequence[str] | None = None,
) -> Outcome:
    public = any(track.rpartition(":")[2] == "production" for track in job.tracks)
    links = (("Store page", STORE + job.package),) if public else ()
    sections = (plan.section(title, changes, review),)
    return Outcome(headline, links, sections, remarks=_remarks(job, changes.tracks))
