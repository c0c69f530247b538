"""The second phase of a release: the commit of what is staged, or what is done instead of it, and
what the run says of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from uploader.services.base import Heading, Outcome
from uploader.services.play import (
    companions,
    edit_lifecycle,
    reach,
    release_words,
    track_merge,
    tracks,
)
from uploader.services.play.client import CONSOLE
from uploader.services.play.edit_lifecycle import CommitKnowledge, ReleaseEdit, Stage
from uploader.services.play.model import SERVED, Release, TrackName, find_same_versions
from uploader.services.play.plan import Changes
from uploader.services.play.release_job import IN_THE_LIBRARY, ReleaseJob
from uploader.services.play.release_names import display_name, with_display_name
from uploader.services.play.stage import other_tracks
from uploader.services.play.status import ReviewedRelease, status_output
from uploader.services.play.summary_facts import PLANNED, section
from uploader.services.play.track_merge import TrackChange
from uploader.services.play.track_names import is_internal
from uploader.text import capitalise

STORE = "https://play.google.com/store/apps/details?id="
TO_SEND = "committed; send it for review in the Play Console"


def publish(edit: ReleaseEdit, changes: Changes) -> Outcome:
    """Commit what is staged, or do what the job wants instead, and publish the outputs of it."""
    job = edit.job
    outcome = _finish(edit, changes)
    if changes.tracks:
        # Published even if it is empty: the run may have begun in another edit, with another share.
        release = changes.tracks[-1].release
        user_fraction = release_words.user_fraction(release)
        edit.context.publish({"user-fraction": user_fraction})
    if job.commits and changes.tracks:
        on_tracks = {}
        for change in changes.tracks:
            releases = tuple(map(ReviewedRelease, change.after))
            on_tracks[change.track] = releases
        status = status_output(on_tracks)
        edit.context.publish({"status": status})
    return outcome


def _finish(edit: ReleaseEdit, changes: Changes) -> Outcome:
    """Commit, or discard the edit of a dry run, leave it open, or do without it."""
    job = edit.job
    if job.dry_run:
        return _end_dry_run(edit, changes)
    if not job.commit:
        return _leave_open(edit, changes)
    if edit.state.stage is Stage.CLEAN and not changes.happened:
        return _do_without(edit, changes)
    return _commit(edit, changes)


def _end_dry_run(edit: ReleaseEdit, changes: Changes) -> Outcome:
    job = edit.job
    edit_lifecycle.discard(edit)
    validation = "Google Play's validation"
    if job.rehearsal:
        validation = "the validation"
    outcome = _outcome(
        job,
        f"{_subject(changes)} passed {validation}.",
        PLANNED,
        changes,
    )
    return replace(outcome, heading=Heading(_what_would_be(changes)))


def _leave_open(edit: ReleaseEdit, changes: Changes) -> Outcome:
    job = edit.job
    edit.forget()
    subject = _subject(changes)
    headline = f"{subject} is in edit {edit.id}, which is left open."
    if job.artifacts and not job.tracks:
        version_codes = ",".join(job.codes)
        edit.context.info(
            f"On no track yet. {IN_THE_LIBRARY} A later step does so in this edit with "
            f"`existing-edit-id` and `version-codes-to-retain: {version_codes}`."
        )
    return _outcome(job, headline, "Changes in the edit", changes)


def _do_without(edit: ReleaseEdit, changes: Changes) -> Outcome:
    """End a run in which nothing has to be committed."""
    why = _why_unneeded(edit)
    edit.context.info(
        f"{why}, so edit {edit.id} is not needed and `edit-id` stays empty."
    )
    edit.tell_committed(True)
    edit_lifecycle.discard(edit)
    headline = _headline_without_commit(edit, changes)
    return _outcome(edit.job, headline, "Changes", changes)


def _commit(edit: ReleaseEdit, changes: Changes) -> Outcome:
    """Commit the edit, unless a commit has already published all that the job asks for, and return
    the outcome.
    """
    job = edit.job
    # A file that went with the release may have been missing, and is in the edit by now.
    happened = changes.happened and edit.state.stage is Stage.CLEAN
    if not edit.state.own:
        changes = _show_whole_edit(edit, changes)
    left = report_earlier_commit(edit) if happened else commit_edit(edit)
    _remember_committed(edit, happened=happened)
    headline = _headline_of_commit(edit, changes, left, happened=happened)
    outcome = _outcome(
        job,
        headline,
        "Changes",
        changes,
        _review_lines(edit, changes, left),
        in_review=_waits_for_review(edit, changes),
    )
    return _with_what_to_do(outcome, job, changes, left)


def _review_lines(edit: ReleaseEdit, changes: Changes, left: str) -> list[str]:
    """Return the lines about the review for the changes; none if there is no review, or if the
    headline says it, as for a store listing.
    """
    if not left and not changes.reviewed:
        return []
    if _listing_awaits_review(edit, changes.tracks):
        return []
    return [_review(edit, left)]


def _waits_for_review(edit: ReleaseEdit, changes: Changes) -> bool:
    """Return whether a release of the commit is, or may be, still to be reviewed."""
    if edit.job.review:
        # The run waits for the review, and reports its result.
        return False
    for update in changes.tracks:
        if _awaits_review(edit, update) or _may_await_review(edit, update):
            return True
    return False


def _with_what_to_do(
    outcome: Outcome,
    job: ReleaseJob,
    changes: Changes,
    left: str,
) -> Outcome:
    """Return the outcome with what is left to a person: to send the changes, or publish a draft."""
    if left and outcome.heading:
        heading = replace(outcome.heading, mark="attention")
        todo = (
            "Send the changes for review, under Publishing overview in the Play "
            f"Console: {CONSOLE}"
        )
        return replace(outcome, heading=heading, todo=todo)
    statuses = {update.release.status for update in changes.tracks}
    if statuses == {"draft"} and not job.rehearsal:
        todo = (
            "Publish the draft with the same `tracks` and `status: completed`, without `files`, or "
            f"in the Play Console: {CONSOLE}"
        )
        return replace(outcome, todo=todo)
    return outcome


def _remember_committed(edit: ReleaseEdit, *, happened: bool) -> None:
    """Record for later runs what was committed. If the commit only seems to have `happened`, warn
    instead that files may not have gone with it.
    """
    reach.remember_levels(edit.job, edit.context)
    if happened and not edit.previous.surely_committed:
        companions.warn_of_doubt(edit)
    else:
        companions.remember(edit)


def _headline_of_commit(
    edit: ReleaseEdit,
    changes: Changes,
    left: str,
    *,
    happened: bool,
) -> str:
    """Return what became of the release, in one sentence; `left` is what a person has to do.

    `happened` says that the commit had happened before this run came to it.
    """
    subject = _subject(changes)
    written = [update for update in changes.tracks if not update.gone_on]
    if happened and changes.tracks and not written:
        fate = left or "committed, by a commit whose answer was lost"
        return f"{subject} is {fate}."
    return _headline(edit, subject, changes.tracks, left)


def _show_whole_edit(edit: ReleaseEdit, changes: Changes) -> Changes:
    """Log what the commit of a shared edit publishes, with the work of other jobs."""
    edit.seen = tracks.all_tracks(edit.api) or edit.seen
    changes = replace(changes, others=other_tracks(edit))
    published = []
    for change in changes.tracks:
        after = [with_display_name(edit.job, release) for release in change.after]
        releases = release_words.describe_all(after)
        published.append(f"{change.track} {releases}")
    published += [
        f"{other.track} {other} (not from this run)" for other in changes.others
    ]
    what = ", ".join(published) or "no release"
    edit.context.info(f"The commit of edit {edit.id} publishes: {what}.")
    return changes


def _review(edit: ReleaseEdit, left: str) -> str:
    """Return who looks at what was committed, or what is left to do for that."""
    if edit.job.rehearsal:
        return "committed in the emulator, where nobody reviews it"
    if left:
        return "must still be sent for review in the Play Console, under Publishing overview"
    if edit.record.by_hand is None:
        return "committed by an earlier run; the Play Console shows whether it was sent for review"
    if edit.job.options.status == "draft":
        return "saved as a draft; roll it out in the Play Console"
    if edit.job.options.status == "halted":
        return "sent for review"  # whether managed publishing holds a halt is not documented
    return "sent for review; with managed publishing, you publish it in the Play Console after that"


def _subject(changes: Changes) -> str:
    """Return what the run is about: the app, and the release if there is one."""
    release = _release(changes)
    if not release:
        return changes.job.package
    return f"{changes.job.package} {release}"


def _release(changes: Changes) -> str:
    """Return the release that the run is about: `1.4.2 (42)`; "" if there is none."""
    if not changes.version_codes:
        return ""
    release = Release.of(changes.version_codes)
    return release_words.label(release, _name(changes))


def commit_edit(edit: ReleaseEdit) -> str:
    """Commit the edit, and log that. Return what a person has to do about the review; "" if it is
    nothing.
    """
    by_hand = edit_lifecycle.commit(edit)
    edit.forget()
    edit.tell_committed(True)
    where = ""
    if edit.job.rehearsal:
        where = " in the emulator"
    edit.context.info(f"Committed edit {edit.id}{where}.")
    return tell_sent_for_review(edit, by_hand)


def report_earlier_commit(edit: ReleaseEdit) -> str:
    """Report a commit that has happened before, and delete the edit that showed it. Return what
    `commit_edit` returns.
    """
    edit.tell_committed(True)
    if edit.previous.surely_committed:
        edit.context.info("A commit of this job, whose answer was lost, took effect.")
        by_hand = edit.record.by_hand
    else:
        edit.context.info(
            "What this job was to publish is committed, by its own commit, whose answer was lost, "
            "or by someone else's."
        )
        # Who sends it for review is known only of this job's own commit.
        by_hand = None
        if edit.record.by_hand:
            by_hand = True
    left = tell_sent_for_review(edit, by_hand)
    edit_lifecycle.discard(edit)
    return left


def tell_sent_for_review(edit: ReleaseEdit, by_hand: bool | None) -> str:
    """Publish and log who sends the changes of a commit for review: a person if `by_hand`, None if
    that is not known. Return what a person has to do; "" if it is nothing.
    """
    job = edit.job
    context = edit.context
    if job.rehearsal and by_hand:
        return "committed; Google Play would leave it to you to send it for review"
    if job.rehearsal:
        return ""
    if by_hand is None:
        context.publish({"sent-for-review": ""})
        return ""
    # A draft waits for a person as well, who rolls it out.
    waits = by_hand or job.options.status == "draft"
    sent = "true"
    if waits:
        sent = "false"
    context.publish({"sent-for-review": sent})
    if not by_hand:
        return ""
    edit.warn_about_app(f"{TO_SEND}, under Publishing overview: {CONSOLE}")
    return TO_SEND


def _name(changes: Changes) -> str:
    """Return the name of the release that the run is about: the one on its tracks if they agree,
    else the name that the job gives it.
    """
    job = changes.job
    names = set()
    for change in changes.tracks:
        shown = with_display_name(job, change.release)
        names.add(shown.name)
    name = ""
    if len(names) == 1:
        name = names.pop()
    return name or display_name(job)


def _remarks(job: ReleaseJob, updates: Sequence[TrackChange]) -> str:
    """Return the sentences that follow the headline: the notices about the releases, and which
    releases have gone on since. Each begins with a space.
    """
    sentences: list[str] = []
    for update in updates:
        sentences += update.notices
    for update in updates:
        if update.gone_on:
            sentences.append(track_merge.remark(job, update))
    remarks = ""
    for sentence in dict.fromkeys(sentences):
        remarks += f" {sentence}."
    return remarks


def _why_unneeded(edit: ReleaseEdit) -> str:
    """Return why nothing had to be changed in the edit."""
    if not edit.previous.overtaken:
        return "Nothing had to be changed"
    if edit.state.commit is CommitKnowledge.HAPPENED:
        return "What it was to publish is committed"
    return "Another job, or someone in the Play Console, has published the same in the meantime"


def _headline_without_commit(edit: ReleaseEdit, changes: Changes) -> str:
    """Return what is on Google Play although no commit of this run was accepted, in a sentence."""
    what = _subject(changes)
    if edit.job.options.status == "halted":
        tracks_of_job = ", ".join(edit.job.tracks)
        return f"{what} is halted already on {tracks_of_job}."
    if not edit.previous.overtaken:
        return f"{what} is on Google Play already."
    if edit.state.commit is CommitKnowledge.HAPPENED:
        return (
            f"{what} is on Google Play: another job, or someone in the Play Console, has "
            "published it in the meantime, or the commit of this run has, although the answer was "
            "that its edit is gone."
        )
    return (
        f"{what} is on Google Play: another job, or someone in the Play Console, has "
        "published it in the meantime."
    )


def _headline(
    edit: ReleaseEdit,
    what: str,
    updates: Sequence[TrackChange],
    left: str,
) -> str:
    """Return what happened, in one sentence: what is `left` to do, else what became of the tracks.

    A track whose release has gone on is not among them.
    """
    written = [update for update in updates if not update.gone_on]
    if updates and not written:
        fate = left or "committed"
        return f"{what} is on Google Play already; what goes with it is {fate}."
    if left:
        what_and_where = _with_places(what, written)
        return f"{what_and_where} is {left}."
    if _listing_awaits_review(edit, updates):
        return f"The store listing of {what} changes after the review."
    if not updates:
        committed = _without_tracks(edit)
        return f"{committed} of {what} is committed."
    if _are_of_one_release(written):
        fates = _fates(edit, written)
        return f"{what} {fates}."
    fates = "; ".join(_fate_on_track(edit, update) for update in written)
    return f"{edit.job.package}: {fates}."


def _are_of_one_release(updates: Sequence[TrackChange]) -> bool:
    """Return whether the same release came to all of these tracks."""
    first = updates[0].release
    return all(update.release.has_same_versions(first) for update in updates)


def _with_places(what: str, updates: Sequence[TrackChange]) -> str:
    if not updates:
        return what
    places = []
    for update in updates:
        served = reach.as_served(update).release
        reached = release_words.in_words(served)
        places.append(f"{update.track} ({reached})")
    where = ", ".join(places)
    return f"{what} on {where}"


def _without_tracks(edit: ReleaseEdit) -> str:
    """Return what was committed by a job that names no tracks."""
    if not edit.state.own:
        return f"Edit {edit.id}"
    if edit.job.listing:
        return "The store listing"
    return "The list of testers"


def _listing_awaits_review(edit: ReleaseEdit, updates: Sequence[TrackChange]) -> bool:
    """Return whether the commit is about the store listing alone, and sent it for review."""
    if updates or edit.job.listing is None:
        return False
    if edit.job.rehearsal or not edit.state.own:
        return False
    return edit.record.by_hand is False


@dataclass(frozen=True)
class Fate:
    """What became of a release, in words before and after the names of its tracks."""

    verb: str
    condition: str = ""

    def on(self, tracks: Sequence[str]) -> str:
        """Return the words with the names of the tracks."""
        names = ", ".join(tracks)
        words = f"{self.verb} {names}"
        if self.condition:
            return f"{words} {self.condition}"
        return words


def _fates(edit: ReleaseEdit, updates: Sequence[TrackChange]) -> str:
    """Return what became of one release. Tracks with the same result are named together."""
    tracks_by_fate: dict[Fate, list[str]] = {}
    for update in updates:
        fate = _fate(edit, update)
        names = tracks_by_fate.setdefault(fate, [])
        names.append(update.track)
    return " and ".join(fate.on(names) for fate, names in tracks_by_fate.items())


def _fate_on_track(edit: ReleaseEdit, update: TrackChange) -> str:
    """Return what became of the release of one track, if the tracks have different releases."""
    shown = with_display_name(edit.job, update.release)
    release = release_words.label(shown)
    if track_merge.holds(update.before, update.after):
        return f"{release} on {update.track} is unchanged"
    fate = _fate(edit, update)
    words = fate.on([update.track])
    return f"{release} {words}"


def _fate(edit: ReleaseEdit, update: TrackChange) -> Fate:
    """Return what became of a release on a track."""
    job = edit.job
    release = reach.as_served(update).release
    if _awaits_review(edit, update):
        return _fate_after_review(job, release)
    share = release_words.share(release)
    if _may_await_review(edit, update):
        users = share or "all users"
        return Fate(f"is committed for {users} on")
    if job.promote_from:
        hows = {
            "inProgress": f", at {share},",
            "draft": ", as a draft,",
        }
        how = hows.get(release.status, "")
        return Fate(f"is promoted from {job.promote_from}{how} to")
    is_new = job.codes or job.retained
    if not (is_new or job.options.new_status):
        return Fate("is updated on")
    verbs = {
        "inProgress": f"is now at {share} on",
        "halted": "is halted on",
        "draft": "is a draft on",
    }
    if release.status in verbs:
        return Fate(verbs[release.status])
    if is_new:
        return Fate("is released on")
    return Fate("is rolled out to all users on")


def _awaits_review(edit: ReleaseEdit, update: TrackChange) -> bool:
    """Return whether users get the release of this commit only once Google has reviewed it.

    A version that was on the track before was reviewed then, unless it was a draft.
    """
    if _was_on_track(update):
        return False
    return _is_reviewed(edit, update)


def _may_await_review(edit: ReleaseEdit, update: TrackChange) -> bool:
    """Return whether it is not known if users have the release of this commit already.

    Another job or an earlier run may have put it into the shared edit, which does not show what was
    live before.
    """
    if edit.state.own:
        return False
    return _is_reviewed(edit, update) and _was_on_track(update)


def _is_reviewed(edit: ReleaseEdit, update: TrackChange) -> bool:
    """Return whether Google reviews the release of a track, and the commit sent it for review."""
    if edit.job.rehearsal or is_internal(update.track):
        return False
    if update.release.status not in SERVED:
        return False
    return edit.record.by_hand is False


def _was_on_track(update: TrackChange) -> bool:
    """Return whether the track had the version before, and not as a draft."""
    before = find_same_versions(update.before, update.release)
    if before is None:
        return False
    return before.status != "draft"


def _fate_after_review(job: ReleaseJob, release: Release) -> Fate:
    """Return what becomes of a release that is sent for review."""
    verb = "goes to"
    if job.promote_from:
        verb = f"goes from {job.promote_from} to"
    share = release_words.share(release)
    if share:
        verb += f" {share} of"
    if job.review:
        # The run waits for it, and reports the result next.
        return Fate(verb)
    return Fate(verb, "after the review")


def _what_would_be(changes: Changes) -> str:
    """Return what the commit would make of the release, up to the full stop."""
    job = changes.job
    release = _release(changes)
    if changes.nothing and release:
        return f"nothing would change for {release}"
    if changes.nothing:
        return "nothing would change"
    if not changes.tracks:
        subject = "The edit"
        if job.listing:
            subject = release or "The store listing"
        return f"{subject} would be committed"
    verbs = {
        "inProgress": "would go to {share} of {track}",
        "halted": "would be halted on {track}",
        "draft": "would be a draft on {track}",
    }
    fates = []
    for update in changes.tracks:
        served = reach.as_served(update).release
        verb = verbs.get(served.status, "would be released on {track}")
        share = release_words.share(served)
        fate = verb.format(share=share, track=update.track)
        fates.append(fate)
    joined = " and ".join(fates)
    return f"{release} {joined}"


def _outcome(
    job: ReleaseJob,
    fate: str,
    title: str,
    changes: Changes,
    review: Sequence[str] | None = None,
    *,
    in_review: bool = False,
) -> Outcome:
    """Return the outcome of a run that ends with `fate`, the sentence that has the app's name."""
    links: list[tuple[str, str]] = []
    bases = {TrackName(track).base for track in job.tracks}
    if "production" in bases:
        links.append(("Store page", STORE + job.package))
    table = section(title, changes, review)
    if table.facts and in_review:
        facts = replace(table.facts, in_review=True)
        table = replace(table, facts=facts)
    sections = (table,)
    short_fate = fate.removeprefix(f"{job.package} ").rstrip(".")
    release = _release(changes)
    # A name is shown as it was given: `v1.4.2`.
    if not (release and short_fate.startswith(release)):
        short_fate = capitalise(short_fate)
    heading = Heading(short_fate)
    statuses = {change.release.status for change in changes.tracks}
    if statuses == {"halted"}:
        heading = replace(heading, mark="halted")
    remarks = _remarks(job, changes.tracks)
    return Outcome(
        f"{fate}{remarks}",
        tuple(links),
        sections,
        remarks=remarks,
        heading=heading,
    )
