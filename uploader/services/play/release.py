"""One release from the first call to the last, as a story: edit, comparison, artifacts, listing,
tracks, commit.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import Any, TypeVar

from uploader.errors import ApiError, IntegrityError, OutcomeUnknown, ReleaseRefused, UploaderError
from uploader.files.artifacts import Artifact
from uploader.results import FileResult
from uploader.services.base import Context, Outcome
from uploader.services.play import (
    client,
    companions,
    edit_lifecycle,
    plan,
    reach,
    status,
    testers,
    track_merge,
    tracks,
)
from uploader.services.play import listing as store_listing
from uploader.services.play.client import CONSOLE, Release
from uploader.services.play.edit_lifecycle import (
    CommitKnowledge,
    EditState,
    Event,
    ReleaseEdit,
    Stage,
    listed_artifacts,
    opened,
)
from uploader.services.play.known_errors import (
    EDIT_GONE,
    REVIEW_BY_HAND,
    VERSION_TAKEN,
    explained_refusals,
    find,
)
from uploader.services.play.listing import ListingDifference
from uploader.services.play.plan import Changes, OtherTrack
from uploader.services.play.release_job import ReleaseJob, SupplementaryFile, version_code
from uploader.services.play.review import awaited, listed, live_versions
from uploader.services.play.several_apps import App, SeveralApps
from uploader.services.play.track_merge import TrackChange
from uploader.services.play.universal_apk import fetched
from uploader.text import capitalised

T = TypeVar("T")
MAX_REPLAYS = 2  # fresh edits after the first, where another job or the console keeps closing ours
STORE = "https://play.google.com/store/apps/details?id="
TO_SEND = "committed; send it for review in the Play Console"


class BuiltAgain(Exception):
    """The edit has other bytes of an artifact that only an earlier run of the job brought there."""


def flow(job: ReleaseJob, context: Context) -> Outcome:
    """Release one app, and do what follows its commit."""
    return follow_up(job, release(job, context), context)


def release(job: ReleaseJob, context: Context) -> Outcome:
    """Release one app, up to its commit.

    Raises ReleaseRefused for what can't be released, and ApiError, with its cause and its hint, for
    what Google Play refuses.
    """
    with explained_refusals():
        try:
            edit = opened(job, context)
            return in_an_edit(edit, lambda edit: publish(edit, stage(edit)))
        except ApiError as refused:
            if _is_committed_by_others(job, refused):
                return _committed_by_others(job, context)
            raise


def _is_committed_by_others(job: ReleaseJob, refused: ApiError) -> bool:
    return bool(job.existing_edit) and not job.dry_run and _says_committed(refused)


def _says_committed(error: Exception) -> bool:
    return isinstance(error, ApiError) and bool(edit_lifecycle.COMMITTED.search(error.message))


def _committed_by_others(job: ReleaseJob, context: Context) -> Outcome:
    """The end of a job whose shared edit another job has committed: it is done where its part was
    in the edit.

    The list of releases, which needs no edit, has the version codes. Raises ReleaseRefused where it
    does not have them, or where the job asks for what no list has.
    """
    versions, missing = job.codes or job.promoted or job.retained, list[str]()
    for track in job.tracks:
        on_track = {code for entry in listed(context, job.package, track) for code in entry.codes}
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
    context.forget_uploads(client.uploads(job.package))
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


def follow_up(job: ReleaseJob, outcome: Outcome, context: Context) -> Outcome:
    """Do what follows the commit: fetch the universal APK, and wait for the review."""
    if job.dry_run:
        return outcome
    with explained_refusals():
        if job.universal_apk:
            outcome = fetched(job.package, job.codes, job.universal_apk, outcome, context)
        if job.review and not outcome.trouble:
            outcome = awaited(job.package, job.tracks, job.codes, job.review, outcome, context)
    return outcome


def flow_of_several(jobs: Sequence[ReleaseJob], order: Sequence[str], context: Context) -> Outcome:
    """Release every app or none; `order` has the app of each of the files.

    The apps are staged at the same time, each in an edit of its own. Nothing is committed before
    everything of every app is in place; then the edits are committed one after the other.
    """
    commits = jobs[0].commit and not jobs[0].dry_run
    packages = [job.package for job in jobs]
    run = SeveralApps(packages, order, context, commits=commits and not jobs[0].rehearsal)
    releases = [AppRelease(app, job) for app, job in zip(run.apps, jobs, strict=True)]
    run.do_together({one.app: one.stage for one in releases}, stop=True)
    if run.failed:
        for one in releases:
            one.give_up(run.reason_of(one.app))
    elif commits:
        run.do_in_order({one.app: one.publish for one in releases})
        for one in releases if run.failed else ():
            one.give_up(run.reason_of(one.app, keep=True), keep=True)
    else:
        run.do_together({one.app: one.publish for one in releases})
    if not run.failed:
        run.do_together({one.app: one.follow_up for one in releases})
    what = "are committed" if commits else "are in their edits, which are left open"
    if jobs[0].dry_run:
        what = "passed the validation; nothing was published"
    who = "Both" if len(jobs) == 2 else f"All {len(jobs)}"
    waiting = [app.package for app in run.apps if app.outputs.get("sent-for-review") == "false"]
    go_on = f" Go on in the Play Console with {', '.join(waiting)}." if waiting else ""
    return run.end(f"{who} apps {what}.{go_on}")


class AppRelease:
    """The release of one app of several: staged together with the others, then published."""

    def __init__(self, app: App, job: ReleaseJob) -> None:
        self.app = app
        self._job = job
        self._attempt: Attempt | None = None
        self._staged: tuple[ReleaseEdit, Changes] | None = None

    def stage(self) -> None:
        """Put everything into an edit. An app in which nothing has to be changed is done then."""
        job = self._job
        with explained_refusals():
            self._attempt = Attempt(opened(job, self.app))
            changes = self._attempt.carry_out(stage)
            edit = self._attempt.edit
            if job.commits and edit.state.stage is Stage.CLEAN:
                self.app.outcome = self._attempt.carry_out(lambda edit: publish(edit, changes))
            else:
                self._staged = edit, changes

    def publish(self) -> None:
        """Commit the edit, or do what the job wants instead. A fresh edit is staged anew."""
        if self.app.outcome is None and self._attempt is not None:
            with explained_refusals():
                self.app.outcome = self._attempt.carry_out(self._publish)

    def _publish(self, edit: ReleaseEdit) -> Outcome:
        if self._staged is not None and self._staged[0] is edit:
            return publish(edit, self._staged[1])
        changes = stage(edit)
        self._staged = edit, changes
        return publish(edit, changes)

    def give_up(self, why: Exception, *, keep: bool = False) -> None:
        """Decide what becomes of the edit of an app that is not done."""
        if self.app.outcome is None and self._attempt is not None:
            self._attempt.settle(why, keep=keep)

    def follow_up(self) -> None:
        """Do what follows the commit."""
        assert self.app.outcome, "it is published"
        self.app.outcome = follow_up(self._job, self.app.outcome, self.app)


def in_an_edit(edit: ReleaseEdit, work: Callable[[ReleaseEdit], T]) -> T:
    """Do the work in the edit, from the beginning in a fresh one where others close it.

    After a failure it is settled what becomes of the edit.
    """
    attempt = Attempt(edit)
    try:
        return attempt.carry_out(work)
    except Exception as error:
        attempt.settle(error)
        if attempt.edit.replaces and edit_in_doubt(attempt.edit, error):
            raise edit_lifecycle.gone(attempt.edit.replaces) from None
        raise


class Attempt:
    """The work of a job in an edit, or in the edits that take its place where others close it.

    `edit` is the last of them.
    """

    def __init__(self, edit: ReleaseEdit) -> None:
        self.edit = edit

    def carry_out(self, work: Callable[[ReleaseEdit], T]) -> T:
        """Do the work, from the beginning in a fresh edit where the edit is lost.

        What becomes of the edit after a failure is not decided here.
        """
        for replay in count():
            edit = self.edit
            began = edit.state
            try:
                return work(edit)
            except BuiltAgain as why:
                edit.context.info(f"{why} Starting over in a fresh edit.")
                edit_lifecycle.discard(edit)
                self.edit = edit_lifecycle.inserted(edit.job, edit.context)
            except Exception as error:
                overtaken = _is_overtaken(edit, began, error)
                if _is_edit_gone(error) and edit.state.open:
                    edit.apply(Event.CLOSED)
                if replay == MAX_REPLAYS or not _is_replaceable(edit, error):
                    raise
                _say_why_anew(edit, error)
                if not edit.state.in_doubt:
                    edit_lifecycle.lost(edit, error)
                self.edit = edit_lifecycle.inserted(edit.job, edit.context, edit)
                self.edit.overtaken = overtaken
        raise AssertionError  # the loop has no other end

    def settle(self, error: Exception, *, keep: bool = False) -> None:
        """Decide what becomes of the edit after a failure; `keep` as in `edit_lifecycle.settle`."""
        committed_by_others = not self.edit.state.own and _says_committed(error)
        if not committed_by_others:  # with all that was put into it until then
            edit_lifecycle.settle(self.edit, error, keep=keep)


def _is_edit_gone(error: Exception) -> bool:
    return isinstance(error, ApiError) and find(error) is EDIT_GONE


def _is_replaceable(edit: ReleaseEdit, error: Exception) -> bool:
    """Return whether a fresh edit may take the place of one that is lost."""
    if not edit.state.own and _says_committed(error):
        return False
    return edit.state.stage is Stage.GONE and (edit.state.own or edit.state.in_doubt)


def _say_why_anew(edit: ReleaseEdit, error: Exception) -> None:
    what = error.what if isinstance(error, UploaderError) else str(error)
    edit.context.warning(f"{what.rstrip('.')}. Starting over in a fresh edit.")


def edit_in_doubt(edit: ReleaseEdit, error: Exception) -> bool:
    """Return whether a refusal leaves open what became of the commit of a shared edit."""
    return edit.state.in_doubt and isinstance(error, ReleaseRefused)


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


def stage(edit: ReleaseEdit) -> Changes:
    """Put everything of a release into the edit, and validate it where that has to be known before
    the commit.
    """
    job = edit.job
    changes = _fill(edit)
    done = job.commit and edit.state.stage is Stage.CLEAN
    if job.dry_run or (job.one_of_several and job.commit and not done):
        _validate(edit)
    return changes


def publish(edit: ReleaseEdit, changes: Changes) -> Outcome:
    """Commit what is staged, or do what the job wants instead, and publish the outputs of it."""
    job = edit.job
    outcome = _finish(edit, changes)
    if job.commits and changes.tracks:
        on_tracks = {one.track: tuple((live, "") for live in one.after) for one in changes.tracks}
        # The other values are of all that is there.
        edit.context.publish({"status": status.outputs(on_tracks)["status"]})
    return outcome


def _fill(edit: ReleaseEdit) -> Changes:
    """Everything but the commit: compares, shows what is about to change, and puts it into the
    edit.

    What would end the run later and can be known before the first upload is raised there.
    """
    job, context = edit.job, edit.context
    if job.tracks or not edit.state.own:
        edit.seen = tracks.all_tracks(edit.api)
    has_list = bool(edit.seen)
    known = listed_artifacts(edit) if job.artifacts or job.retained else {}
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
    live = track_merge.found_as_written(edit) if in_doubt and all_there else ()
    updates = live or _planned(edit, known)
    listing = ListingDifference({}, frozenset(), (), ())
    if job.listing:
        listing = store_listing.compare(edit, job.listing)
    groups = testers.compare(edit) if job.testers else ()
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
        others=_others(edit),
        not_shown=_not_shown(edit, listed=has_list),
        happened=edit.state.commit is CommitKnowledge.HAPPENED and not edit.overtaken,
    )
    _show(context, changes)
    for code, artifact in by_code.items():
        _put_artifact(edit, artifact, there.get(code))
        _put_supplementary(edit, code, published)
    if codes := changes.version_codes:  # a version code is also the id of its artifact
        context.publish(
            {"version-code": max(codes, key=int), "version-codes": ",".join(codes)}, codes
        )
    if job.listing:
        store_listing.synchronise(edit, listing)
    updates = live or _put_tracks(edit)
    if changes.testers:
        testers.replace(edit, changes.testers)
    if share := "".join(tracks.user_fraction(one.release) for one in updates[-1:]):
        context.publish({"user-fraction": share})
    return replace(changes, tracks=updates)


def _planned(edit: ReleaseEdit, known: Collection[int]) -> tuple[TrackChange, ...]:
    """What becomes of each track; `known` are the version codes of all artifacts that Play has."""
    updates = track_merge.plan_updates(edit, known)
    for update in updates:
        reach.check_upgrade(update)
    return updates


def _put_tracks(edit: ReleaseEdit) -> tuple[TrackChange, ...]:
    # other jobs may have written to its tracks meanwhile
    if edit.job.tracks and not edit.state.own:
        edit.seen = tracks.all_tracks(edit.api)
    updates: tuple[TrackChange, ...] = ()
    for track in edit.job.tracks:
        updates = (*updates, track_merge.update_track(edit, track))
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


def _others(edit: ReleaseEdit) -> tuple[OtherTrack, ...]:
    """The tracks of a shared edit beside those of the run."""
    found = []
    for track in () if edit.state.own else dict.fromkeys((*tracks.STANDARD, *edit.seen)):
        held = tracks.current_releases(edit, track)
        if held and track not in edit.job.tracks:
            found.append(
                OtherTrack(track, held, live_versions(edit.context, edit.job.package, track))
            )
    return tuple(found)


def _put_artifact(edit: ReleaseEdit, artifact: Artifact, there: FileResult | None) -> None:
    code = version_code(artifact)
    if there is None:
        there = _upload_artifact(edit, artifact)
    if there:
        what = f"{artifact.name}: version code {code} is {_where(edit, code)} already"
        edit.context.info(f"{what} with the same bytes; not sent again.")
        edit.context.reused(there)


def _upload_artifact(edit: ReleaseEdit, artifact: Artifact) -> FileResult | None:
    """Uploads an artifact. The result is the record of one that is found to be there instead.

    Where the answer is lost and the edit does not list it, it is sent again: a version code is
    there once.
    """
    code = version_code(artifact)
    kind = artifact.manifest.kind if artifact.manifest else "bundle"
    by_earlier_run = _by_earlier_run(edit, artifact)
    waits = edit.context.backoff()
    while True:
        edit.changing(f"artifact:{code}")
        try:
            result = edit.api.upload_artifact(artifact, kind)
        except (ApiError, OutcomeUnknown) as error:
            if isinstance(error, ApiError) and find(error) is not VERSION_TAKEN:
                raise
            # It may be there by now: an upload of ours whose response was lost, or another job's in
            # a shared edit.
            entry = listed_artifacts(edit).get(code)
            if entry is not None:
                return _same(edit, artifact, entry, by_earlier_run=by_earlier_run)
            if isinstance(error, ApiError):
                raise
            waits.wait(
                f"the answer to the upload of {artifact.name} was lost, and edit {edit.id} lacks it"
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
) -> None:
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
            result = edit.api.upload_supplementary(file, code, one.kind)
            edit.changed(purpose, result.sha256)
        elif isinstance(file, int) and before != f"references:{file}":
            edit.changing(purpose)
            edit.api.refer_expansion(code, one.kind, file)
            edit.changed(purpose, f"references:{file}")


def _validate(edit: ReleaseEdit) -> None:
    try:
        edit.api.validate()
    except ApiError as refused:
        # Only a commit can carry the parameter that Google asks for here. With `false` no commit
        # ever does.
        if find(refused) is not REVIEW_BY_HAND or edit.job.not_sent_for_review == "false":
            raise
        edit.context.info(f"Google Play says: {refused.message}")


def _finish(edit: ReleaseEdit, changes: Changes) -> Outcome:
    """The last steps of a run in which everything is in place: the commit, or what is done instead
    of it.
    """
    job, context = edit.job, edit.context
    codes = changes.version_codes
    what = job.package
    if codes:
        what = f"{what} {tracks.named({'versionCodes': [*codes]}, _name(changes))}"
    if job.dry_run:
        edit_lifecycle.discard(edit)
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
        edit_lifecycle.discard(edit)
        headline = f"{_headline_without_commit(edit, what)}{_remarks(job, changes.tracks)}"
        return _outcome(job, headline, "Changes", changes)
    if not edit.state.own:
        edit.seen = tracks.all_tracks(edit.api) or edit.seen
        changes = replace(changes, others=_others(edit))
        published = [f"{one.track} {tracks.describe_all(one.after)}" for one in changes.tracks]
        published += [f"{other.track} {other} (not from this run)" for other in changes.others]
        context.info(
            f"The commit of edit {edit.id} publishes: {', '.join(published) or 'no release'}."
        )
    left = found_committed(edit) if changes.happened else committed(edit)
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


def committed(edit: ReleaseEdit) -> str:
    """Commits the edit and tells so. The result says that a person has to send the changes for
    review, if so.
    """
    by_hand = edit_lifecycle.commit(edit)
    edit.forget()
    edit.tell_committed(True)
    edit.context.info(
        f"Committed edit {edit.id}{' in the emulator' if edit.job.rehearsal else ''}."
    )
    return told_review(edit, by_hand)


def found_committed(edit: ReleaseEdit) -> str:
    """Tells of a commit whose response was lost, and deletes the edit that showed that it happened.
    As `committed`.
    """
    edit.tell_committed(True)
    edit.context.info(
        "A commit of this job whose answer was lost has happened: what it changed is live."
    )
    left = told_review(edit, edit.by_hand)
    edit_lifecycle.discard(edit)
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
