"""How a release comes to a track: what it is made of, what it displaces, and what the track holds
then.

An update replaces all releases of a track, so whatever should stay has to be sent again. Play
allows one completed release, one staged one (in progress or halted) and one draft on a track: a new
release takes the place of its own kind, and one that reaches everybody ends the staged one as well.
A staged one leaves the completed one to all other users, and may retain its versions. A release in
progress is given up only when told so.

A run with files, or a promotion, may come again when its release has gone further: to more users,
or to a halt, by the daily rollout or by a person. Then there is nothing left to do, and the track
stays as it is. Only a run that has neither changes what is there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from uploader.errors import ReleaseRefused
from uploader.files.android.notes import is_language_name
from uploader.services.play import model
from uploader.services.play.edit_lifecycle import ReleaseEdit, listed_artifacts
from uploader.services.play.model import (
    SERVED,
    STAGED,
    Notes,
    Release,
    Releases,
    Status,
    is_same_share,
    is_smaller_share,
)
from uploader.services.play.release_job import ReleaseJob, ReleaseOptions
from uploader.services.play.release_names import as_told
from uploader.services.play.release_words import (
    describe,
    describe_all,
    in_words,
    named,
    share,
)
from uploader.services.play.review import listed, live_versions
from uploader.services.play.tracks import current_releases

KEPT_BACK = {"halted": "halted", "draft": "a draft"}
"""The statuses of a release that its users do not get, in words."""


@dataclass(frozen=True)
class Promotion:
    """Where a promotion takes its release from: the track, and the release as it is there.

    `by_code` are the version codes that it takes although they are not on the track any more.
    """

    track: str
    release: Release
    by_code: tuple[str, ...] = ()


@dataclass(frozen=True)
class GoneOn:
    """How a release that was there before differs from what the job asks for. It stays as it is.

    `moved` says that its status, its share or its versions are others. `left_out` is what it does
    not get besides, in words.
    """

    moved: bool
    left_out: tuple[str, ...]


@dataclass(frozen=True)
class TrackChange:
    """A track before the edit was touched and as it is to be.

    `release` comes to it, and `now` is what it holds already. `gone_on` is there if `release` was
    on the track before and stays as it is, with more users than the job asks for or halted.
    `created` says that the app gets the track by the edit. `replaced` is what a commit whose answer
    was lost has replaced on the track; empty for a change that is yet to be made.
    """

    track: str
    before: Releases
    after: Releases
    release: Release = Release()
    now: Releases = ()
    promotion: Promotion | None = None
    gone_on: GoneOn | None = None
    created: bool = False
    replaced: Releases = ()

    @property
    def settled(self) -> bool:
        """Whether the track holds all of it already."""
        return settled(self.now, self.after)

    @property
    def taken_up(self) -> tuple[str, ...]:
        """Each version kept from the users until now that this release gives them: `42 was halted
        on beta`.
        """
        if self.gone_on or self.release.status not in SERVED:
            return ()
        places = [(self.track, other) for other in self.replaced or self.before]
        if self.promotion:
            places.append((self.promotion.track, self.promotion.release))
        sentences = []
        for track, other in places:
            kept_back = KEPT_BACK.get(other.status)
            if kept_back and self.release.covers(other):
                sentences.append(
                    f"{'+'.join(other.version_codes)} was {kept_back} on {track}"
                )
        return tuple(sentences)

    @property
    def remarks(self) -> tuple[str, ...]:
        """What else is to be known of the release that comes, in sentences."""
        if not self.promotion or not self.promotion.by_code:
            return self.taken_up
        versions = "+".join(self.promotion.by_code)
        return (f"{versions} is not on {self.promotion.track} any more", *self.taken_up)


def plan_updates(edit: ReleaseEdit, known: Collection[int]) -> tuple[TrackChange, ...]:
    """What becomes of each track. Raises what would end the run after the upload, and warns of what
    is odd.

    `known` are the version codes of all artifacts that Play has.
    """
    updates = []
    for track in edit.job.tracks:
        update = plan_update(edit, track)
        if update.gone_on:
            _tell_gone_on(edit, update)
        else:
            _check(edit, update)
            for oddity in _oddities(edit, update):
                edit.context.warning(f"Track {track}: {oddity}")
        updates.append(update)
    if updates:
        _check_retained_exist(edit, known)
    return tuple(updates)


def _tell_gone_on(edit: ReleaseEdit, update: TrackChange) -> None:
    """Say that a release has gone on since, as a warning where it is halted."""
    sentence = f"{remark(edit.job, update)}."
    if update.release.status == "halted":
        edit.context.warning(sentence)
    else:
        edit.context.info(sentence)


def _check_retained_exist(edit: ReleaseEdit, known: Collection[int]) -> None:
    """Refuse to retain versions that neither a track nor the app's bundles and APKs have."""
    there = set(edit.job.codes)
    for releases in edit.seen.values():
        there.update(model.all_version_codes(releases))
    unknown = [
        code
        for code in edit.job.retained
        if code not in there and int(code) not in known
    ]
    if unknown:
        raise ReleaseRefused(
            f"`version-codes-to-retain`: Google Play has no version {', '.join(unknown)} of this "
            "app.",
            cause="Neither the track nor the app's bundles and APKs have it.",
            hint="Correct the version codes, or leave them out.",
            code="retained-version-unknown",
        )


def plan_update(edit: ReleaseEdit, track: str) -> TrackChange:
    """Return the release that comes to the track, and all that the track will hold then.

    What counts is what the track held before the edit was touched: an earlier run may have left its
    own release there. Raises ReleaseRefused for a release that must not come to the track.
    """
    job = edit.job
    now = current_releases(edit, track)
    before = edit.base(track, now)
    source = _promoted(edit)
    release = _with_kept_notes(_wanted(edit, track, before, source), before)
    there = _already_there(edit, track, before, release, source)
    if there is not None:
        return TrackChange(
            track, before, before, there, now, gone_on=_how_gone_on(there, release)
        )
    if source:
        _check_kept_back(job, job.promote_from, source)
    _check_users(job, track, before, release)
    _check_retained(edit)
    replace_rollout = _may_replace(edit, track, before)
    live = _without_future_draft(edit, track, before, release)
    return TrackChange(
        track,
        before,
        after=merged(track, live, release, replace_rollout=replace_rollout),
        release=release,
        now=now,
        promotion=_promotion(edit, source),
        created=edit.is_new(track),
    )


def _promotion(edit: ReleaseEdit, source: Release | None) -> Promotion | None:
    """Return where the release comes from; None where it is not promoted."""
    if source is None:
        return None
    track = edit.job.promote_from
    by_code: tuple[str, ...] = ()
    if edit.job.promoted:
        by_code = no_longer_on(current_releases(edit, track), source.version_codes)
    return Promotion(track, source, by_code)


def _how_gone_on(there: Release, asked: Release) -> GoneOn | None:
    """Return how a release on the track differs from what was asked for; None where it does not."""
    if settled((there,), (asked,)):
        return None
    return GoneOn(_has_moved(there, asked), tuple(_differences(there, asked)))


def _may_replace(edit: ReleaseEdit, track: str, before: Releases) -> bool:
    """Return whether the job may end the rollouts on the track: those that were there when it
    began, not one that somebody has begun meanwhile.
    """
    rollouts = set(model.all_version_codes(model.having_status(before, "inProgress")))
    begun = edit.begun.rollouts.setdefault(track, frozenset(rollouts))
    return edit.job.replace_rollout and rollouts <= begun


def _already_there(
    edit: ReleaseEdit,
    track: str,
    before: Releases,
    asked: Release,
    source: Release | None,
) -> Release | None:
    """Return the release with the versions of the job's files, or of the promoted `source`, that
    was on the track before, as asked for or further. None for a job that has neither.

    What a shared edit holds may be another job's work and not live. So it must be published, unless
    it is halted: a halt is not taken back there either.
    """
    ours = edit.job.codes
    if source and not ours:
        ours = source.version_codes
    if not ours:
        return None
    there = further(ours, before, asked)
    if there is None or edit.state.own or there.status == "halted":
        return there
    published = live_versions(edit.context, edit.job.package, track)
    if published is not None and published.issuperset(there.version_codes):
        return there
    return None


def _without_future_draft(
    edit: ReleaseEdit, track: str, before: Releases, release: Release
) -> Releases:
    """Return what a track held before, without the release of a shared edit that becomes a draft.

    Google Play refuses the commit of that edit while the app takes only drafts. Such an app has
    released nothing; where Google Play lists a release, the one in the edit may be it, or may have
    taken its place.
    """
    if edit.state.own or release.status != "draft":
        return before
    in_edit = model.find_same_versions(before, release)
    if in_edit is None:
        return before
    for committed in listed(edit.context, edit.job.package, track):
        if committed.state != "DRAFT":
            return before
    return tuple(other for other in before if other is not in_edit)


def update_track(edit: ReleaseEdit, track: str) -> TrackChange:
    """Makes the track hold the release. What it holds already is not written again."""
    update = plan_update(edit, track)
    if put(edit, update):
        release = describe(as_told(edit.job, update.release))
        edit.context.info(f"Track {track} in edit {edit.id}: {release}.")
    return update


def put(edit: ReleaseEdit, update: TrackChange, note: str = "") -> bool:
    """Writes a track unless it holds the release already, and returns whether it did.

    The `note` is remembered with the change before it is made.
    """
    track = update.track
    after = update.after
    writes = not update.settled or edit.wrote_otherwise(track, after)
    if writes:
        edit.writing(track, update.before, after)
    if note:
        edit.changed(f"track:{track}", note)
    if writes:
        edit.api.update_track(track, after)
        edit.seen[track] = after
    return writes


def _promoted(edit: ReleaseEdit) -> Release | None:
    """The release of another track that the job promotes; None where it promotes none.

    A promotion stays with the release that it was begun with, which may have been halted since.
    """
    job = edit.job
    if not job.promote_from:
        return None
    offered = current_releases(edit, job.promote_from)
    if edit.begun.promoted:
        return edit.begun.promoted.with_status(
            _status_by_now(offered, edit.begun.promoted)
        )
    if job.promoted:
        artifacts: Collection[int] = ()
        if no_longer_on(offered, job.promoted):
            artifacts = listed_artifacts(edit)
        edit.begun.promoted = chosen(job.promote_from, offered, job.promoted, artifacts)
    else:
        edit.begun.promoted = to_promote(job.promote_from, offered)
    return edit.begun.promoted


def _status_by_now(offered: Iterable[Release], begun: Release) -> Status:
    """The status that the release which a promotion was begun with has on its track now."""
    for release in offered:
        if release.covers(begun):
            return release.status
    return begun.status


def _wanted(
    edit: ReleaseEdit, track: str, live: Releases, source: Release | None
) -> Release:
    """The release of another track, one made of version codes, or the one that is there, with what
    the job asks for.

    `source` is the release that a promotion takes.
    """
    job = edit.job
    notes = _notes_to_give(edit, track, live)
    name = job.options.name or job.names.get(track, job.names.get(None, ""))
    options = replace(job.options, name=name, notes=notes)
    if not (source or job.codes or job.retained):
        release = to_change(track, live)
        wanted = changed(options, release)
        _check_begun(edit, track, release, wanted)
        return wanted
    version_codes = list(job.codes)
    if source:
        version_codes = list(source.version_codes)
    version_codes += job.retained
    if job.retain_last:
        version_codes += model.last_completed(live)
    base = _kept_fields(live, version_codes)
    if source:
        base = base.with_fields_of(source.promoted_fields())
    if not name and not base.name:
        options = replace(options, name=job.default_name)
    return new(options, dict.fromkeys(version_codes), base)


def _notes_to_give(edit: ReleaseEdit, track: str, live: Releases) -> Notes:
    """The release notes that the job has for a track: its own, or those of the release there."""
    job = edit.job
    if job.copy_notes and live:
        return model.newest(live).notes
    if job.copy_notes:
        return ()
    notes = []
    for language, text in job.notes_of(track):
        notes.append((language or default_language(edit), text))
    return tuple(notes)


def _kept_fields(live: Releases, version_codes: Collection[str]) -> Release:
    """Return what a release of these version codes that is on the track already keeps unless the
    job gives it: people may have changed it in the Play Console.
    """
    for release in live:
        if set(release.version_codes) == set(version_codes):
            return release.kept_fields()
    return Release()


def _check_begun(
    edit: ReleaseEdit, track: str, release: Release, wanted: Release
) -> None:
    """Refuse to change a release that others have changed since this job began.

    A job without files changes what is on the track, which is not what it was begun for any more.
    Raises ReleaseRefused, unless the release is as it is wanted.
    """
    if not edit.state.own:
        return  # other jobs work in a shared edit
    begun = edit.begun.releases.setdefault(track, release)
    if begun.has_same_versions(release) and settled((release,), (wanted,)):
        return
    if not (edit.previous.surely_committed or _has_moved(release, begun)):
        return
    if edit.previous.surely_committed:
        what = f"An earlier run of this job has changed {named(begun)} on track {track}"
        since = f"since then it was changed again: {describe(release)}"
    else:
        what = f"The release on track {track} was changed since this job began"
        since = f"it was {describe(begun)}, and is now {describe(release)}"
    raise ReleaseRefused(
        f"{what}; {since}.",
        cause="Someone in the Play Console, or another job, has changed it in the meantime.",
        hint="This run changed nothing. If you still want to change the release, run again: the "
        "next run starts from what is there now.",
        code="release-changed",
    )


def new(
    options: ReleaseOptions, version_codes: Iterable[str], base: Release | None = None
) -> Release:
    """A release made from its version codes and the options; what these leave open is that of the
    base.
    """
    base = base or Release()
    status = options.new_status or base.status or "completed"
    fraction = options.fraction
    if fraction is None:
        fraction = base.user_fraction
    release = (
        base.with_version_codes(version_codes)
        .with_status(status)
        .without_user_fraction()
    )
    if status in STAGED and fraction is not None:
        release = release.with_user_fraction(fraction)
    if options.name:
        release = release.with_name(options.name)
    if options.notes:
        release = release.with_notes(options.notes)
    if options.priority is not None:
        release = release.with_priority(options.priority)
    if options.countries:
        release = release.with_countries(options.countries)
    return release


def changed(options: ReleaseOptions, release: Release) -> Release:
    """The same release with another status, fraction, or whatever else the options have.

    Raises ReleaseRefused when it would be in progress without a fraction.
    """
    result = new(options, release.version_codes, release)
    if result.status == "inProgress" and result.user_fraction is None:
        cause = "It was completed before, so it has no fraction of its own."
        if release.status == "draft":
            cause = "It is a draft, which has no share of users yet."
        raise ReleaseRefused(
            f"The release {named(release)} can't be put in progress: no user fraction is known.",
            cause=cause,
            hint="Set `user-fraction`, or set `status: completed` for all users.",
            code="user-fraction-missing",
        )
    return result


def to_promote(track: str, live: Sequence[Release]) -> Release:
    """The release that a promotion takes: the newest that is served; a draft only where there is
    nothing else.

    A halted one was stopped for a reason, and the draft beside it may be older.
    """
    candidates = model.having_status(live, *SERVED)
    drafts = model.having_status(live, "draft")
    if len(drafts) == len(live):
        candidates = drafts
    return _newest_of(track, candidates, live, "promote")


def no_longer_on(
    live: Iterable[Release], version_codes: Iterable[str]
) -> tuple[str, ...]:
    """Those of the version codes that no release of a track has."""
    held = set(model.all_version_codes(live))
    return tuple(code for code in version_codes if code not in held)


def chosen(
    track: str,
    live: Sequence[Release],
    version_codes: tuple[str, ...],
    artifacts: Collection[int],
) -> Release:
    """The release that a promotion of these version codes takes: the newest that has any, and no
    other codes of it.

    A version that another one has displaced is promoted by its code alone if it is one of the
    `artifacts` that Google Play has.
    """
    gone = no_longer_on(live, version_codes)
    missing = [code for code in gone if int(code) not in artifacts]
    if missing:
        raise ReleaseRefused(
            f"Track {track} has no version {', '.join(missing)} to promote.",
            cause=f"It holds {describe_all(live)}, and the app has no such bundle or APK.",
            hint="Correct `promote-version-codes`, or leave them out to promote the whole release.",
            code="version-not-on-track",
        )
    having_any = [release for release in live if release.has_any_of(version_codes)]
    if not having_any:
        return Release.of(version_codes)
    return model.newest(having_any).with_version_codes(version_codes)


def to_change(track: str, live: Sequence[Release]) -> Release:
    """The release that a change without new files means: the one in progress, else the newest on
    the track.
    """
    rollouts = model.having_status(live, "inProgress")
    return _newest_of(track, rollouts or live, live, "change")


def _newest_of(
    track: str, candidates: Sequence[Release], live: Sequence[Release], purpose: str
) -> Release:
    """Return the newest of the candidates. Raises ReleaseRefused where there is none."""
    if candidates:
        return model.newest(candidates)
    cause = "Nothing has been released on it, or the app has no such track."
    hint = "Check the name of the track in the Play Console."
    if live:
        cause = f"It holds {describe_all(live)}, and a halted release was stopped for a reason."
        hint = "Promote another release."
    raise ReleaseRefused(
        f"Track {track} has no release to {purpose}.",
        cause=cause,
        hint=hint,
        code="no-release-on-track",
    )


def further(ours: Collection[str], live: Releases, asked: Release) -> Release | None:
    """The release with our version codes that is on the track as it was asked for, or that has gone
    on from there.

    One with exactly the version codes that were asked for goes before one that has more.
    """
    exact = [release for release in live if release.has_same_versions(asked)]
    for release in (*exact, *live):
        has_ours = set(release.version_codes).issuperset(ours)
        if has_ours and _is_further(release, asked):
            return release
    return None


def _is_further(release: Release, asked: Release) -> bool:
    """Whether a release is what was asked for, reaches more users, is halted, or keeps it beside a
    newer version.
    """
    if release.status == "halted":
        return True
    if asked.status == "halted":
        return False  # a halt is never put off
    reached = _reach(release)
    wanted = _reach(asked)
    if not is_same_share(reached, wanted):
        return reached > wanted
    if release.highest_version_code > asked.highest_version_code:
        return True
    return settled((release,), (asked,))


def _reach(release: Release) -> float:
    """The share of users who are offered a release; a draft is below one in progress whose share is
    not known.
    """
    if release.status == "completed":
        return 1.0
    if release.status == "inProgress":
        return float(release.user_fraction or 0.0)
    return -1.0


def remark(job: ReleaseJob, update: TrackChange) -> str:
    """What a release that has gone on is now, and what resumes a halted one; empty for any
    other.
    """
    if not update.gone_on:
        return ""
    sentence = _what_it_is_now(
        job, update.track, update.release, moved=update.gone_on.moved
    )
    if not update.gone_on.left_out:
        return sentence
    left_out = ", ".join(update.gone_on.left_out)
    return (
        f"{sentence}. There, these stay as they are, too, unlike what this run asks "
        f"for: {left_out}"
    )


def _what_it_is_now(
    job: ReleaseJob, track: str, release: Release, *, moved: bool
) -> str:
    if not moved:
        return f"{named(release)} is on {track}: {in_words(release)}"
    if release.status != "halted":
        return f"{named(release)} on {track} has progressed since: {in_words(release)}"
    where = f"on {track}"
    if share(release):
        where = f"at {share(release)} on {track}"
    resuming = _resuming(job, release)
    return f"{named(release)} is halted {where}, and stays halted: to resume it, {resuming}"


def _differences(there: Release, asked: Release) -> Iterator[str]:
    """What a release on the track has otherwise than it was asked for, beside its status and its
    share, in words.
    """
    has = {"inAppUpdatePriority": 0, **there.comparable()}
    wanted = asked.comparable()
    for name, words in (
        ("releaseNotes", "release notes"),
        ("inAppUpdatePriority", "in-app update priority"),
        ("countryTargeting", "countries"),
    ):
        if name in wanted and has.get(name) != wanted[name]:
            yield words


def _resuming(job: ReleaseJob, release: Release) -> str:
    """The inputs that go on with a halted release."""
    how = "set `status: inProgress` with `user-fraction` or `status: completed`"
    if share(release):
        how = "set `status: inProgress` or `status: completed`"
    if job.codes:
        return f"leave `files` out (`files: none`) and {how}"
    if job.promote_from:
        return f"leave `promote-from` out and {how}"
    return how


def merged(
    track: str, live: Sequence[Release], release: Release, *, replace_rollout: bool
) -> Releases:
    """The releases of the track with the new one first. Raises ReleaseRefused when it would
    displace a rollout.
    """
    kept = [other for other in live if not _displaces(release, other)]
    for rollout in model.having_status(live, "inProgress"):
        goes_on = rollout in kept or release.covers(rollout)
        if not (replace_rollout or goes_on):
            raise ReleaseRefused(
                f"The release {named(rollout)} is in progress on track {track}; {named(release)} "
                "would end it.",
                cause="A new release takes the place of a staged rollout.",
                hint="Complete or halt the rollout first, or set `replace-rollout: true`.",
                code="rollout-in-progress",
            )
    return (release, *kept)


def _displaces(release: Release, other: Release) -> bool:
    """Whether `other` can't stay beside the release: the same version codes, or the place that it
    needs.

    A staged release and the completed one are served side by side, also where the staged one
    retains versions of the other: its "APKs are being served to a fraction of users", and those of
    the completed one "to all users, unless they are eligible to APKs of a more recent release"
    (edits.tracks, Status). Only the completed release itself can become a staged one.
    """
    if release.status == "draft":
        return other.status == "draft"
    if release.status in STAGED and other.status == "completed":
        return release.has_same_versions(other)
    if release.covers(other) or other.status == release.status:
        return True
    # one staged release at most, and none beside what everybody gets
    return other.status in STAGED and release.status in (*STAGED, "completed")


def settled(live: Sequence[Release], after: Sequence[Release]) -> bool:
    """Whether the track holds these releases already, apart from fields that Play adds by
    itself.
    """
    rest = list(live)
    for wanted in after:
        fitting = _find_with_all_of(wanted, rest)
        if fitting is None:
            return False
        rest.remove(fitting)
    return not rest


def _find_with_all_of(wanted: Release, releases: Iterable[Release]) -> Release | None:
    for release in releases:
        if release.has_all_of(wanted):
            return release
    return None


def found_as_written(edit: ReleaseEdit) -> tuple[TrackChange, ...]:
    """The tracks as they are, if each holds what the edit before this one wrote there, or that has
    gone on since.

    None otherwise, and none where that edit wrote for another wish: then it is planned what becomes
    of the tracks.
    """
    if edit.record.wish != edit.job.wish:
        return ()
    changes = []
    for track in edit.job.tracks:
        change = _find_as_written(edit, track)
        if change is None:
            return ()
        changes.append(change)
    return tuple(changes)


def _find_as_written(edit: ReleaseEdit, track: str) -> TrackChange | None:
    """One track, as `found_as_written` returns it; None where it does not hold what was written."""
    if track not in edit.record.wrote:  # it held everything already
        change = plan_update(edit, track)
        if change.settled:
            return change
        return None
    now = current_releases(edit, track)
    before = edit.record.before.get(track, ())
    wrote = edit.record.wrote[track]
    release = whats_become(before, wrote, now)
    if release is None:
        return None
    gone_on = None
    if not settled(now, wrote):
        written = wrote[0]
        gone_on = GoneOn(
            _has_moved(release, written), tuple(_differences(release, written))
        )
    return TrackChange(track, now, now, release, now, gone_on=gone_on, replaced=before)


def whats_become(before: Releases, wrote: Releases, found: Releases) -> Release | None:
    """Return what has become of the release that was written to a track; None where nothing shows
    that the commit with it happened.

    `before` is what the track held then, `found` what it holds now. `wrote` has the release first,
    and behind it what it left on the track. The commit shows in the release: it is as it was
    written, or has gone on from there (wider, completed or halted). A release that was on the track
    before has to show that it was changed.
    """
    if not wrote or not wrote[0].version_codes:
        return None
    written = wrote[0]
    now = model.find_same_versions(found, written)
    if now is None:
        return None
    if settled(found, wrote):
        return now
    was = model.find_same_versions(before, written)
    if was is not None and not _shows_change(was, written, now):
        return None
    if not _goes_as_far(now, written):
        return None
    return now


def _shows_change(was: Release, written: Release, now: Release) -> bool:
    """Return whether a release that has gone on since shows that it was changed as `written`.

    Its status and share are those of people by now, and no more those that it `was` left with. All
    else has to be as it was written.
    """
    if now.has_same_reach(was):
        return False
    expected = written.with_status_and_fraction_of(now)
    return settled((now,), (expected,))


def _has_moved(there: Release, asked: Release) -> bool:
    """Return whether a release has other versions, another status or another share than asked."""
    return not (there.has_same_versions(asked) and there.has_same_reach(asked))


def _goes_as_far(now: Release, release: Release) -> bool:
    """Whether a release has reached as many users as it was to, or was halted after that, or is no
    draft any more.
    """
    if release.status == "draft":
        return now.status != "draft"
    if release.status == "halted" or now.status == "draft":
        return False
    if now.status == "completed":
        return True
    if now.status == "halted" and now.user_fraction is None:
        return True  # everybody had it
    if release.status == "completed":
        return False
    return not is_smaller_share(now.user_fraction or 0.0, release.user_fraction or 0.0)


def _with_kept_notes(release: Release, live: Releases) -> Release:
    """A release that is on the track already keeps its notes in the languages that were not
    given.
    """
    there = model.find_same_versions(live, release)
    if there is None or not release.states_notes:
        return release
    notes = dict(release.notes)
    for language, text in there.notes:
        notes.setdefault(language, text)
    return release.with_notes(notes.items())


def _check_kept_back(job: ReleaseJob, track: str, release: Release) -> None:
    """Refuses to serve what another track keeps from its users, unless the input `status` says what
    becomes of it.
    """
    kept_back = KEPT_BACK.get(release.status)
    if kept_back and not job.options.status:
        raise ReleaseRefused(
            f"The release {named(release)} on track {track} is {kept_back}, and is not "
            "released to users here.",
            cause="It is kept from the users there, and nothing in this step says to release it "
            "here.",
            hint="To release it anyway, set `status: inProgress` or `completed`; "
            "`status: draft` leaves it to a person in the Play Console.",
            code="release-kept-back",
        )


def _check_retained(edit: ReleaseEdit) -> None:
    """Refuses a release of version codes alone where no track serves them, and one keeps them from
    its users.
    """
    job = edit.job
    by_code: tuple[str, ...] = ()
    if job.promoted:
        by_code = no_longer_on(current_releases(edit, job.promote_from), job.promoted)
    elif not (job.codes or job.promote_from):
        by_code = job.retained
    for code in by_code:
        places = _places_of(edit, code)
        if any(release.status in SERVED for _, release in places):
            continue
        for track, release in places:
            # What is on the track itself is looked at with its users.
            if track not in job.tracks:
                _check_kept_back(job, track, release)


def _places_of(edit: ReleaseEdit, version_code: str) -> list[tuple[str, Release]]:
    """Return the tracks that have a version, each with the release that it is in."""
    places: list[tuple[str, Release]] = []
    for track, releases in edit.seen.items():
        places += [
            (track, release)
            for release in releases
            if release.has_any_of([version_code])
        ]
    return places


def _check_draft(job: ReleaseJob, track: str, live: Releases, release: Release) -> None:
    """A draft that waits on the track is published by files, by a promotion, or by a written status
    alone.
    """
    if (
        job.codes
        or job.promote_from
        or job.options.status
        or release.status not in SERVED
    ):
        return
    for draft in model.having_status(live, "draft"):
        if release.covers(draft):
            raise ReleaseRefused(
                f"The release {named(draft)} on track {track} is a draft, and stays a draft.",
                cause="It waits to be published, and nothing in this step says to publish it.",
                hint="To publish it, set `status: inProgress` (with `user-fraction`) or "
                "`completed`.",
                code="release-is-draft",
            )


def _check_users(job: ReleaseJob, track: str, live: Releases, release: Release) -> None:
    """Refuse a release that would take another one from its users, or go on with a halted one
    unasked.

    Only a halt takes a release from users. Only a written status goes on with a halted one, in a
    job without files and without a promotion: a job that has them may be run again after the halt.
    """
    _check_draft(job, track, live, release)
    if release.status == "draft":
        return  # it reaches nobody
    for other in live:
        if other.status != "draft" and _gets_users_of(release, other):
            _check_halted(job, track, release, other)
            _check_reach(track, release, other)


def _gets_users_of(release: Release, other: Release) -> bool:
    """Return whether users of a release on the track would have this one instead.

    Its own versions go on in this one, or everybody has these versions already. A release that
    stays beside this one keeps its users.
    """
    if release.covers(other) and _displaces(release, other):
        return True
    return other.status == "completed" and other.covers(release)


def _check_halted(
    job: ReleaseJob, track: str, release: Release, other: Release
) -> None:
    """Raise ReleaseRefused where `release` would go on with `other`, which is halted, and nobody
    has asked for that.
    """
    comes = bool(job.codes or job.promote_from)
    resumed = comes and release.status in SERVED
    if other.status == "halted" and (resumed or not job.options.status):
        raise ReleaseRefused(
            f"The release {named(other)} on track {track} is halted, and stays halted.",
            cause="It was stopped for a reason, and nothing in this step says to resume it.",
            hint="To resume it, set `status: inProgress` or `completed`, without `files` and "
            "`promote-from`; otherwise release a corrected version.",
            code="release-halted",
        )


def _check_reach(track: str, release: Release, other: Release) -> None:
    """Raise ReleaseRefused where `release` would be for fewer users than `other`, which it takes
    the place of, has reached.
    """
    if release.status != "inProgress":
        return
    reached = other.user_fraction
    if other.status == "completed":
        reached = 1.0
    fraction = release.user_fraction
    if reached is None or fraction is None or not is_smaller_share(fraction, reached):
        return
    hints = {
        "completed": "Stage a newer version, or halt this one with `status: halted`.",
        "inProgress": f"Halt it with `status: halted`, or set more than {reached:g}.",
        "halted": f"Set {reached:g} or more.",
    }
    raise ReleaseRefused(
        f"`user-fraction`: the release {named(other)} on track {track} ({in_words(other)}) has "
        f"reached more users than {share(release)}.",
        cause="A rollout can't be narrowed, only halted.",
        hint=hints.get(other.status, ""),
        code="user-fraction-lower",
    )


def default_language(edit: ReleaseEdit) -> str:
    """The language of the app's main store listing; asked once for an edit. Raises ReleaseRefused
    where it has none.
    """
    if not edit.language:
        language = edit.api.details().get("defaultLanguage")
        if not (isinstance(language, str) and is_language_name(language)):
            raise ReleaseRefused(
                "`whats-new`: Google Play reports no default language for the app.",
                cause="Its store listing is not set up yet.",
                hint="Write the language before the text: `en-US: |`, with the text indented below "
                "it.",
                code="no-default-language",
            )
        edit.language = language
    return edit.language


def _check(edit: ReleaseEdit, update: TrackChange) -> None:
    """Raises for countries that Google Play would not accept."""
    release = update.release
    # Which release a change is about, only the track tells; that it is production was seen offline.
    if edit.job.options.countries and release.status != "inProgress":
        raise ReleaseRefused(
            f"`countries`: the release {named(release)} on track {update.track} is not a staged "
            "rollout.",
            cause="Google Play accepts countries only for a rollout in progress on production.",
            hint="Set `user-fraction` as well, or choose the countries in the Play Console.",
            code="countries-not-allowed",
        )
    # A rollout that is limited to countries can't be completed as it is, nor is it widened to all
    # unasked.
    if release.status != "completed":
        return
    for rollout in model.having_status(update.before, *STAGED):
        if rollout.countries and rollout.has_same_versions(release):
            raise ReleaseRefused(
                f"The rollout of {'+'.join(release.version_codes)} on track {update.track} is "
                f"limited to countries: {', '.join(release.countries)}.",
                cause="Google Play accepts countries only while a rollout is in progress.",
                hint="Complete this rollout in the Play Console.",
                code="countries-not-allowed",
            )


def _oddities(edit: ReleaseEdit, update: TrackChange) -> Iterator[str]:
    """What is odd about a release, though it is possible, in sentences."""
    if edit.job.retain_last and not model.last_completed(update.before):
        yield "there is no completed release whose versions could be retained."
    if edit.job.copy_notes and not update.release.has_notes:
        yield "there are no release notes to copy from the last release."
    released = -1
    for other in update.before:
        if other.status != "draft":
            released = max(released, other.highest_version_code)
    ours = update.release.highest_version_code
    if ours < released:
        yield (
            f"version {released} has been released on it, and {ours} is lower: users who have it "
            "get no update."
        )
