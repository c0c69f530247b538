"""The release of one app or several: an edit is opened, everything is staged in it, and the edit is
committed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from uploader.errors import (
    ApiError,
    OutcomeUnknown,
    ReleaseRefused,
    TemporaryError,
    UploaderError,
)
from uploader.services.base import Context, Outcome
from uploader.services.play import client, edit_lifecycle, release_words
from uploader.services.play.edit_lifecycle import (
    CommitKnowledge,
    EditState,
    ReleaseEdit,
    Stage,
    open_edit,
)
from uploader.services.play.known_errors import EDIT_GONE, explain_refusals, find
from uploader.services.play.model import SERVED, Release, version_code_outputs
from uploader.services.play.plan import Changes
from uploader.services.play.publish import publish
from uploader.services.play.release_job import ReleaseJob
from uploader.services.play.release_names import display_name
from uploader.services.play.review import list_releases, wait_for_review
from uploader.services.play.several_apps import App, SeveralApps
from uploader.services.play.stage import BuiltAgain, stage
from uploader.services.play.universal_apk import fetch_apks

if TYPE_CHECKING:
    from uploader.services.play.verify import Verification

T = TypeVar("T")
_LOOK_FIRST = (
    "Look in the Play Console before you run again: a run that does not find the state of this one "
    f"would give users the release again, although someone may have halted it. {client.CONSOLE}"
)
MAX_REPLAYS = 2  # fresh edits after the first, if others keep closing ours


def flow(job: ReleaseJob, context: Context) -> Outcome:
    """Release one app, and do what follows its commit."""
    outcome = release(job, context)
    return follow_up(job, outcome, _verification([job]), context)


def release(job: ReleaseJob, context: Context) -> Outcome:
    """Release one app, up to its commit.

    Raises ReleaseRefused for what can't be released, and ApiError, with its cause and its hint, for
    what Google Play refuses.
    """
    with explain_refusals():
        try:
            edit = open_edit(job, context)
            return in_an_edit(edit, _stage_and_publish)
        except ApiError as refused:
            is_shared = bool(job.existing_edit) and not job.dry_run
            if is_shared and _says_committed(refused):
                return _end_with_committed_edit(job, context)
            raise


def _stage_and_publish(edit: ReleaseEdit) -> Outcome:
    changes = stage(edit)
    return publish(edit, changes)


def _says_committed(error: Exception) -> bool:
    """Return whether an error is the refusal of an edit that is committed already."""
    if not isinstance(error, ApiError):
        return False
    return edit_lifecycle.COMMITTED.search(error.message) is not None


def _end_with_committed_edit(job: ReleaseJob, context: Context) -> Outcome:
    """Return the outcome of a job whose shared edit another job has committed: it is done if its
    part was in the edit.

    The list of releases shows that, which needs no edit. Raises ReleaseRefused if it does not.
    """
    versions = job.codes or job.promote_version_codes or job.retained
    _check_part_was_committed(job, versions, context)
    context.forget_uploads(client.uploads(job.package))
    context.publish({"edit-id": job.existing_edit, "committed": "true"})
    if versions:
        context.publish(version_code_outputs(versions), versions)
    who = "by another job or an earlier run"
    headline = f"Edit {job.existing_edit} of {job.package} is committed already, {who}"
    if job.tracks:
        release = release_words.label(Release.of(versions), display_name(job))
        tracks = ", ".join(job.tracks)
        headline += f", with {release} on {tracks}"
    return Outcome(f"{headline}.")


def _check_part_was_committed(
    job: ReleaseJob, versions: Sequence[str], context: Context
) -> None:
    """Raise ReleaseRefused if nothing shows that the part of a job was in its edit, which is
    committed: its versions are not listed, or it asks for something that no list has.
    """
    missing = []
    for track in job.tracks:
        is_there = _is_listed(context, job, track, versions)
        if not is_there:
            missing.append(track)
    if missing:
        where = f"on {', '.join(missing)}"
    elif _asks_for_unlisted(job):
        where = "in it"
    else:
        return
    raise ReleaseRefused(
        f"Edit {job.existing_edit} is committed, but what this run asks for was not found {where}.",
        cause="Another job committed the edit, perhaps before this run had put its part into it.",
        hint="Let the job that commits run last. To release what is missing, leave "
        "`existing-edit-id` out.",
        code="edit-committed",
    )


def _asks_for_unlisted(job: ReleaseJob) -> bool:
    """Return whether a job asks for something that the list of releases does not show.

    With a release on a track, what goes with it counts as shown.
    """
    if job.testers:
        return True
    if job.tracks:
        return False
    return bool(job.artifacts or job.supplementary or job.listing)


def _is_listed(
    context: Context,
    job: ReleaseJob,
    track: str,
    versions: Sequence[str],
) -> bool:
    """Return whether Google Play lists all of these versions on a track; false if there are
    none.
    """
    on_track: set[str] = set()
    for release in list_releases(context, job.package, track):
        on_track.update(release.codes)
    if not versions:
        return False
    return on_track.issuperset(versions)


def follow_up(
    job: ReleaseJob,
    outcome: Outcome,
    verification: Verification | None,
    context: Context,
) -> Outcome:
    """Do what follows the commit: fetch the universal APK, compare what is served, and wait for the
    review.
    """
    if job.dry_run:
        return outcome
    with explain_refusals():
        if job.universal_apk:
            outcome = fetch_apks(
                job.package,
                job.codes,
                job.universal_apk,
                outcome,
                context,
            )
        if job.verify and verification and not outcome.trouble:
            # Imported only now, as in `_verification`.
            from uploader.services.play.verify import verify_release

            outcome = verify_release(job.verify, outcome, verification, context)
        if job.review and not outcome.trouble:
            outcome = wait_for_review(
                job.package,
                job.tracks,
                job.codes,
                job.review,
                outcome,
                context,
            )
    return outcome


def _verification(jobs: Sequence[ReleaseJob]) -> Verification | None:
    """Return the comparison of what Google Play serves with what was built, to be done after the
    commits; None if no job asks for it.
    """
    goals = [job.verify for job in jobs if job.verify]
    if not goals:
        return None
    # The comparison loads a good part of the program, which other runs don't need.
    from uploader.services.play.verify import Verification

    bundles = 0
    for goal in goals:
        bundles += len(goal.bundles)
    return Verification(bundles)


def flow_of_several(
    jobs: Sequence[ReleaseJob], order: Sequence[str], context: Context
) -> Outcome:
    """Release several apps; `order` has the app of each of the files.

    The apps are staged at the same time, each in an edit of its own. Nothing is committed before
    everything of every app is in place; then the edits are committed one after the other. So a
    failure before the first commit releases none of the apps. A commit that fails ends the run: the
    apps before it stay released, and the edits of the others are kept for the next run.
    """
    commits = jobs[0].commits
    packages = [job.package for job in jobs]
    publishes = commits and not jobs[0].rehearsal
    run = SeveralApps(packages, order, context, commits=publishes)
    releases = []
    stages = {}
    publications = {}
    for app, job in zip(run.apps, jobs, strict=True):
        release = AppRelease(app, job)
        releases.append(release)
        stages[app] = release.stage
        publications[app] = release.publish
    run.do_together(stages, stop=True)
    if run.failed_app:
        _give_up(run, releases)
    elif commits:
        run.do_one_by_one(publications)
        if run.failed_app:
            _give_up(run, releases, keep=True)
    else:
        run.do_together(publications)
    if not run.failed_app:
        verification = _verification(jobs)
        follow_ups = {}
        for release in releases:
            follow_ups[release.app] = partial(release.follow_up, verification)
        run.do_together(follow_ups)
    return run.end(_headline_of_several(jobs, run.apps))


def _give_up(
    run: SeveralApps, releases: Sequence[AppRelease], *, keep: bool = False
) -> None:
    """Keep or delete the edits of all apps that are not done; with `keep` those that have changes
    stay open.
    """
    for release in releases:
        why = run.reason_of(release.app, keep=keep)
        release.give_up(why, keep=keep)


def _headline_of_several(jobs: Sequence[ReleaseJob], apps: Sequence[App]) -> str:
    """Return what became of all apps, and which of them still need a person."""
    if jobs[0].dry_run:
        what = "passed the validation"
    elif jobs[0].commit:
        what = "are committed"
    else:
        what = "are in their edits, which are left open"
    who = f"All {len(jobs)}"
    if len(jobs) == 2:
        who = "Both"
    headline = f"{who} apps {what}."
    waiting = [
        app.package for app in apps if app.outputs.get("sent-for-review") == "false"
    ]
    if waiting:
        packages = ", ".join(waiting)
        headline += f" Continue in the Play Console with {packages}."
    return headline


class AppRelease:
    """The release of one app of several: it is staged together with the others, then published."""

    def __init__(self, app: App, job: ReleaseJob) -> None:
        self.app = app
        self._job = job
        self._attempt: Attempt | None = None
        self._staged: tuple[ReleaseEdit, Changes] | None = None

    def stage(self) -> None:
        """Put everything into an edit. An app that needs no change is finished here."""
        job = self._job
        with explain_refusals():
            self._attempt = Attempt(open_edit(job, self.app))
            changes = self._attempt.carry_out(stage)
            edit = self._attempt.edit
            if job.commits and edit.state.stage is Stage.CLEAN:
                self.app.outcome = self._attempt.carry_out(
                    lambda edit: publish(edit, changes)
                )
            else:
                self._staged = edit, changes

    def publish(self) -> None:
        """Commit the edit, or do what the job wants instead, unless the app is finished."""
        if self.app.outcome is None and self._attempt is not None:
            with explain_refusals():
                self.app.outcome = self._attempt.carry_out(self._publish)

    def _publish(self, edit: ReleaseEdit) -> Outcome:
        """Publish what is staged in the edit; a fresh edit is staged first."""
        if self._staged is not None:
            staged_edit, changes = self._staged
            if staged_edit is edit:
                return publish(edit, changes)
        changes = stage(edit)
        self._staged = edit, changes
        return publish(edit, changes)

    def give_up(self, why: Exception, *, keep: bool = False) -> None:
        """Keep or delete the edit of an app that is not done; with `keep` one that has changes
        stays open.
        """
        if self.app.outcome is None and self._attempt is not None:
            self._attempt.settle(why, keep=keep)

    def follow_up(self, verification: Verification | None) -> None:
        """Do what follows the commit."""
        outcome = self.app.outcome
        assert outcome, "it is published"
        self.app.outcome = follow_up(self._job, outcome, verification, self.app)


def in_an_edit(edit: ReleaseEdit, work: Callable[[ReleaseEdit], T]) -> T:
    """Do the work in the edit, from the beginning in a fresh one if others close it.

    After a failure, keep or delete the edit. Raises OutcomeUnknown if running again without a look
    could do harm, otherwise what the work raises, with other advice if the edit calls for it.
    """
    attempt = Attempt(edit)
    try:
        return attempt.carry_out(work)
    except Exception as error:
        failure = attempt.settle(error)
        edit = attempt.edit
        shared_id = edit.previous.shared_id
        if shared_id and edit.state.in_doubt and isinstance(error, ReleaseRefused):
            # What was refused says nothing of the commit of the shared edit.
            raise edit_lifecycle.edit_gone_error(shared_id) from None
        if isinstance(failure, TemporaryError) and _serves_again(edit):
            raise OutcomeUnknown(
                failure.what, cause=failure.cause, hint=_LOOK_FIRST
            ) from error
        if failure is not error:
            raise failure from error
        raise


def _serves_again(edit: ReleaseEdit) -> bool:
    """Return whether a run that does not find the state of this one would give the release to users
    again, though it may have come to them by now, and may have been halted since.
    """
    job = edit.job
    if job.codes or job.retained or job.promote_from:
        return False  # it makes a release, and finds that one on the track
    if job.lasting_state:
        return False
    if job.options.status not in SERVED:
        return False
    return edit.state.in_doubt


class Attempt:
    """The work of a job in an edit, and in those that take its place if others close it.

    `edit` is the last of them.
    """

    def __init__(self, edit: ReleaseEdit) -> None:
        self.edit = edit

    def carry_out(self, work: Callable[[ReleaseEdit], T]) -> T:
        """Do the work, from the beginning in a fresh edit if the edit is lost.

        After any other failure the edit is left as it is, for `settle`.
        """
        replays = 0
        while True:
            began = self.edit.state
            try:
                return work(self.edit)
            except BuiltAgain as why:
                self._discard_and_replace(why)
            except Exception as error:
                # Asked first, since it depends on the stage, which the next call changes.
                overtaken = _is_overtaken(self.edit, began, error)
                _note_if_gone(self.edit, error)
                if replays == MAX_REPLAYS or not _is_replaceable(self.edit, error):
                    raise
                self._replace_lost(error, overtaken=overtaken)
            replays += 1

    def _discard_and_replace(self, why: BuiltAgain) -> None:
        """Delete an edit whose artifact was built again since, and open a fresh one."""
        edit = self.edit
        edit.context.info(f"{why} Starting over in a fresh edit.")
        edit_lifecycle.discard(edit)
        self.edit = edit_lifecycle.insert_edit(edit.job, edit.context)

    def _replace_lost(self, error: Exception, *, overtaken: bool) -> None:
        """Open a fresh edit in place of one that others have closed."""
        lost = self.edit
        what = str(error)
        if isinstance(error, UploaderError):
            what = error.what
        why = what.rstrip(".")
        lost.context.warning(f"{why}. Starting over in a fresh edit.")
        if not lost.state.in_doubt:
            edit_lifecycle.mark_uploads_lost(lost, error)
        fresh = edit_lifecycle.insert_edit(lost.job, lost.context, lost)
        fresh.previous = replace(fresh.previous, overtaken=overtaken)
        self.edit = fresh

    def settle(self, error: Exception, *, keep: bool = False) -> Exception:
        """Keep, delete or forget the edit after a failure, and return the failure to report.

        This is `edit_lifecycle.settle`, except that nothing is done about a shared edit that others
        have committed: all that was put into it is live.
        """
        if _is_committed_by_others(self.edit, error):
            return error
        return edit_lifecycle.settle(self.edit, error, keep=keep)


def _is_committed_by_others(edit: ReleaseEdit, error: Exception) -> bool:
    """Return whether an error says that others have committed a shared edit."""
    return not edit.state.own and _says_committed(error)


def _says_gone(error: Exception) -> bool:
    """Return whether an error is the refusal of an edit that is gone."""
    if not isinstance(error, ApiError):
        return False
    return find(error) is EDIT_GONE


def _note_if_gone(edit: ReleaseEdit, error: Exception) -> None:
    """Note that the edit is closed if the error says so."""
    if isinstance(error, ApiError) and _says_gone(error) and edit.state.open:
        edit_lifecycle.close(edit, error)


def _is_replaceable(edit: ReleaseEdit, error: Exception) -> bool:
    """Return whether a fresh edit may take the place of the edit: it is lost, and either it is our
    own, or its commit is in doubt, which the look from a fresh edit settles.
    """
    if edit.state.stage is not Stage.GONE:
        return False
    if _is_committed_by_others(edit, error):
        return False
    return edit.state.own or edit.state.in_doubt


def _is_overtaken(edit: ReleaseEdit, began: EditState, error: Exception) -> bool:
    """Return whether others most likely closed the edit before its changes came to be live.

    `error` is what ended the work in the edit, `began` the state in which the edit was when the
    work began. An edit without changes keeps the answer of the edit before it.
    """
    if not _says_gone(error):
        return False
    if edit.state.stage is Stage.CLEAN:
        return edit.previous.overtaken
    # A commit that finds its edit closed most likely did not happen. But if the answer to another
    # one was lost before, by this run or an earlier one, that one may have closed the edit.
    commits = (began.commit, edit.state.commit)
    answer_was_lost = CommitKnowledge.STILL_OPEN in commits
    return not answer_was_lost
