"""Plan and write the releases of a track: what a new release is made of, what it displaces, and
what the track then holds.

An update replaces all releases of a track, so whatever should stay has to be sent again. Play
allows one completed release, one staged release (in progress or halted) and one draft on a track. A
new release takes the place of the one of its own kind, and a completed one ends the staged one as
well. A staged release leaves the completed one to all other users, and may retain its versions. A
release in progress is given up only if the job says so.

A job with files, or a promotion, may run again after its release has gone further: the daily
rollout or a person has taken it to more users or halted it. Then there is nothing left to do, and
the track stays as it is. Only a job that has neither files nor a promotion resumes a halted
release.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from uploader.errors import ReleaseRefused
from uploader.files.android.notes import is_language_name
from uploader.services.play import model
from uploader.services.play.edit_lifecycle import ReleaseEdit, list_artifacts
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
from uploader.services.play.release_names import with_display_name
from uploader.services.play.release_words import (
    describe,
    describe_all,
    in_words,
    label,
    share,
)
from uploader.services.play.review import list_releases, live_versions
from uploader.services.play.tracks import current_releases

KEPT_BACK = {"halted": "halted", "draft": "a draft"}
"""The statuses of a release that reaches no new users, in words."""


@dataclass(frozen=True)
class Promotion:
    """The source of a promotion: the track, and the release as it is there.

    `by_code` are the version codes that are promoted although they are no longer on the track.
    """

    track: str
    release: Release
    by_code: tuple[str, ...] = ()


@dataclass(frozen=True)
class GoneOn:
    """How a release that stays as it is on the track differs from what the job asks for.

    `moved` says that its status, its share or its versions differ. `left_out` are the other fields
    that differ, in words.
    """

    moved: bool
    left_out: tuple[str, ...]


@dataclass(frozen=True)
class TrackChange:
    """A track as it was before this edit was touched, and as it is to be.

    `release` comes to the track, and `now` is what it holds in the edit. `gone_on` is given if
    `release` was on the track before and stays as it is: with more users than the job asks for,
    with a newer version as well, or halted. `created` says that the edit creates the track.
    `replaced` is what a commit whose answer was lost has replaced on the track; it is empty for a
    change that is yet to be made.
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
    def is_in_edit(self) -> bool:
        """Whether the track is in the edit as it is to be.

        An earlier run can have written it there, so it need not be live.
        """
        return holds(self.now, self.after)

    @property
    def taken_up(self) -> tuple[str, ...]:
        """A sentence for each halted or draft release that this release gives to users: `42 was
        halted on beta`.
        """
        if self.gone_on or self.release.status not in SERVED:
            return ()
        before = self.replaced or self.before
        places = [(self.track, other) for other in before]
        if self.promotion:
            places.append((self.promotion.track, self.promotion.release))
        sentences = []
        for track, other in places:
            kept_back = KEPT_BACK.get(other.status)
            if kept_back and self.release.covers(other):
                versions = "+".join(other.version_codes)
                sentences.append(f"{versions} was {kept_back} on {track}")
        return tuple(sentences)

    @property
    def notices(self) -> tuple[str, ...]:
        """What people should know about the release, in sentences."""
        if not self.promotion or not self.promotion.by_code:
            return self.taken_up
        versions = "+".join(self.promotion.by_code)
        gone = f"{versions} is not on {self.promotion.track} any more"
        return (gone, *self.taken_up)


def plan_updates(edit: ReleaseEdit, known: Collection[int]) -> tuple[TrackChange, ...]:
    """Plan the change of each track, and warn of what is unusual about it.

    `known` are the version codes of all artifacts that Play has. Raises ReleaseRefused for what
    would otherwise end the run after the upload.
    """
    updates = []
    for track in edit.job.tracks:
        update = plan_update(edit, track)
        if update.gone_on:
            _tell_gone_on(edit, update)
        else:
            _check_countries(edit, update)
            for oddity in _oddities(edit, update):
                edit.context.warning(f"Track {track}: {oddity}")
        updates.append(update)
    if updates:
        _check_retained_exist(edit, known)
    return tuple(updates)


def _tell_gone_on(edit: ReleaseEdit, update: TrackChange) -> None:
    """Log that a release has gone on since, as a warning if it is halted."""
    sentence = f"{remark(edit.job, update)}."
    if update.release.status == "halted":
        edit.context.warning(sentence)
    else:
        edit.context.info(sentence)


def _check_retained_exist(edit: ReleaseEdit, known: Collection[int]) -> None:
    """Raise ReleaseRefused for versions to retain that are neither on a track nor among the app's
    bundles and APKs.
    """
    present = set(edit.job.codes)
    for releases in edit.seen.values():
        present.update(model.all_version_codes(releases))
    retained = [code for code in edit.job.retained if code not in present]
    unknown = [code for code in retained if int(code) not in known]
    if unknown:
        versions = ", ".join(unknown)
        raise ReleaseRefused(
            f"`version-codes-to-retain`: Google Play has no version {versions} of this app.",
            cause="Neither the track nor the app's bundles and APKs have it.",
            hint="Correct the version codes, or leave them out.",
            code="retained-version-unknown",
        )


def plan_update(edit: ReleaseEdit, track: str) -> TrackChange:
    """Plan the change of one track: the release that comes to it, and all that it will then hold.

    The plan starts from what the track held before the edit was touched, since an earlier run may
    have left its own release in the edit. What the job begins with is noted in `edit.begun`. A
    later plan promotes the same release, with the status that it has by then. It refuses to end a
    rollout that was started since and, except in a shared edit, to change a release that is not as
    it was noted.

    Raises ReleaseRefused for a release that must not come to the track, if there is no release to
    promote or to change, and for a track that does not exist; and the errors of its requests.
    """
    job = edit.job
    now = current_releases(edit, track)
    before = edit.base(track, now)
    source = _begun_source(edit)
    if source is None and job.promote_from:
        source = _choose_source(edit)
    options = _options_for(edit, track, before)
    if source or job.codes or job.retained:
        asked = _new_release(job, options, before, source)
    else:
        asked = _change_on_track(edit, track, before, options)
    release = _with_kept_notes(asked, before)
    there = _already_there(edit, track, before, release, source)
    if there is not None:
        gone_on = _how_gone_on(there, release)
        return TrackChange(track, before, before, there, now, gone_on=gone_on)
    if source:
        _check_kept_back(job, job.promote_from, source)
    _check_users(job, track, before, release)
    _check_retained(edit)
    _note_rollouts(edit, track, before)
    replace_rollout = _may_replace(edit, track, before)
    remaining = _without_future_draft(edit, track, before, release)
    after = merge(track, remaining, release, replace_rollout=replace_rollout)
    return TrackChange(
        track,
        before,
        after,
        release=release,
        now=now,
        promotion=_describe_promotion(edit, source),
        created=edit.is_new(track),
    )


def _describe_promotion(edit: ReleaseEdit, source: Release | None) -> Promotion | None:
    """Return where the release comes from; None if it is not promoted."""
    if source is None:
        return None
    track = edit.job.promote_from
    by_code: tuple[str, ...] = ()
    if edit.job.promote_version_codes:
        offered = current_releases(edit, track)
        by_code = no_longer_on(offered, source.version_codes)
    return Promotion(track, source, by_code)


def _how_gone_on(there: Release, asked: Release) -> GoneOn | None:
    """Return how a release on the track differs from what was asked for; None if it does not."""
    if holds((there,), (asked,)):
        return None
    moved = _has_moved(there, asked)
    left_out = tuple(_differences(there, asked))
    return GoneOn(moved, left_out)


def _rollout_codes(releases: Releases) -> frozenset[str]:
    """Return the version codes of the releases in progress."""
    rollouts = model.having_status(releases, "inProgress")
    return frozenset(model.all_version_codes(rollouts))


def _note_rollouts(edit: ReleaseEdit, track: str, before: Releases) -> None:
    """Note the rollouts that are on the track when the job looks at it for the first time."""
    edit.begun.rollouts.setdefault(track, _rollout_codes(before))


def _may_replace(edit: ReleaseEdit, track: str, before: Releases) -> bool:
    """Return whether the job may end the rollouts on the track.

    It may end those that were there when it began, but none that somebody has started since.
    """
    if not edit.job.replace_rollout:
        return False
    return _rollout_codes(before) <= edit.begun.rollouts[track]


def _already_there(
    edit: ReleaseEdit,
    track: str,
    before: Releases,
    asked: Release,
    source: Release | None,
) -> Release | None:
    """Return the release that was on the track before and is as asked for, or has gone further.

    It has the versions of the job's files, or of the promoted `source`. None is returned for a job
    that has neither, and if no release on the track is that far. What a shared edit holds may be
    the unpublished work of another job, so there the release has to be live, unless it is halted: a
    halt is not taken back in a shared edit either.
    """
    ours = edit.job.codes
    if source and not ours:
        ours = source.version_codes
    if not ours:
        return None
    there = further(ours, before, asked)
    if there is None or there.status == "halted":
        return there
    if edit.state.own:
        return there
    published = live_versions(edit.context, edit.job.package, track)
    if published is not None and published.issuperset(there.version_codes):
        return there
    return None


def _without_future_draft(
    edit: ReleaseEdit,
    track: str,
    before: Releases,
    release: Release,
) -> Releases:
    """Return what a track held before, without the release of a shared edit that becomes a draft.

    Google Play refuses the commit of that edit while the app takes only drafts. Such an app has
    released nothing; where Google Play lists a release, the one in the edit may be it, or may have
    taken its place.
    """
    if edit.state.own or release.status != "draft":
        return before
    in_edit = model.find_same_versions(before, release)
    if in_edit is None or in_edit.status == "draft":
        return before
    for committed in list_releases(edit.context, edit.job.package, track):
        if committed.state != "DRAFT":
            return before
    return tuple(other for other in before if other is not in_edit)


def update_track(edit: ReleaseEdit, track: str) -> TrackChange:
    """Write the job's release to the track, unless the track holds it already."""
    update = plan_update(edit, track)
    if put(edit, update):
        shown = with_display_name(edit.job, update.release)
        release = describe(shown)
        edit.context.info(f"Track {track} in edit {edit.id}: {release}.")
    return update


def put(edit: ReleaseEdit, update: TrackChange, note: str = "") -> bool:
    """Write a track unless it holds all of its releases already, and return whether it was written.
    One that this run wrote otherwise before is written in any case.

    The `note` is what the journal keeps of the track; it is written there first, also if the track
    itself is not written. Raises what the request raises.
    """
    track = update.track
    after = update.after
    writes = True
    if update.is_in_edit:
        writes = edit.wrote_otherwise(track, after)
    if writes:
        edit.begin_track_change(track, update.before, after)
    if note:
        purpose = edit.job.track_purpose(track)
        edit.finish_change(purpose, note)
    if writes:
        edit.api.update_track(track, after)
        edit.seen[track] = after
    return writes


def _begun_source(edit: ReleaseEdit) -> Release | None:
    """Return the release with which the job's promotion has begun, with the status that it has on
    its track by now; None if no promotion has begun.
    """
    begun = edit.begun.promotion_source
    if begun is None:
        return None
    offered = current_releases(edit, edit.job.promote_from)
    status = _status_by_now(offered, begun)
    return begun.with_status(status)


def _status_by_now(offered: Iterable[Release], begun: Release) -> Status:
    """Return the status that the release which a promotion has begun with has on its track now.

    A halted or draft release that keeps its version codes may be listed before it.
    """
    same = model.find_same_versions(offered, begun)
    if same is not None:
        return same.status
    for release in offered:
        if release.covers(begun):
            return release.status
    return begun.status


def _choose_source(edit: ReleaseEdit) -> Release:
    """Choose the release that the job promotes, and note it: the promotion stays with it."""
    job = edit.job
    offered = current_releases(edit, job.promote_from)
    if job.promote_version_codes:
        artifacts: Collection[int] = ()
        if no_longer_on(offered, job.promote_version_codes):
            artifacts = list_artifacts(edit)
        release = choose_release(
            job.promote_from, offered, job.promote_version_codes, artifacts
        )
    else:
        release = to_promote(job.promote_from, offered)
    edit.begun.promotion_source = release
    return release


def _options_for(edit: ReleaseEdit, track: str, before: Releases) -> ReleaseOptions:
    """Return the job's options with the name and the notes that it has for the track."""
    job = edit.job
    notes = _notes_to_give(edit, track, before)
    name = job.options.name
    if not name:
        name_for_any_track = job.names.get(None, "")
        name = job.names.get(track, name_for_any_track)
    return replace(job.options, name=name, notes=notes)


def _new_release(
    job: ReleaseJob,
    options: ReleaseOptions,
    before: Releases,
    source: Release | None,
) -> Release:
    """Return the release that the job makes of its files, of a promoted one (`source`) or of
    version codes.
    """
    version_codes = list(job.codes)
    if source:
        version_codes = list(source.version_codes)
    version_codes += job.retained
    if job.retain_last:
        version_codes += model.last_completed(before)
    base = _kept_fields(before, version_codes)
    if source:
        base = base.with_fields_of(source.promoted_fields())
    if not options.name and not base.name:
        options = replace(options, name=job.default_name)
    return new(options, dict.fromkeys(version_codes), base)


def _change_on_track(
    edit: ReleaseEdit,
    track: str,
    before: Releases,
    options: ReleaseOptions,
) -> Release:
    """Return the release that is on the track with what the job asks for, and note what the job
    began with.

    Raises ReleaseRefused if others have changed that release since.
    """
    on_track = to_change(track, before)
    asked = apply_options(options, on_track)
    if edit.state.own:  # other jobs work in a shared edit
        begun = edit.begun.releases.setdefault(track, on_track)
        _check_begun(edit, track, begun, on_track, asked)
    return asked


def _notes_to_give(edit: ReleaseEdit, track: str, before: Releases) -> Notes:
    """Return the job's release notes for a track: its own, or copies of those that are there."""
    job = edit.job
    if job.copy_notes and before:
        return model.newest(before).notes
    if job.copy_notes:
        return ()
    notes = []
    for language, text in job.notes_of(track):
        notes.append((language or default_language(edit), text))
    return tuple(notes)


def _kept_fields(before: Releases, version_codes: Collection[str]) -> Release:
    """Return the fields that a release of these version codes keeps if it is on the track already.

    People may have changed them in the Play Console, so they stay unless the job gives them.
    """
    for release in before:
        if release.has_versions(version_codes):
            return release.kept_fields()
    return Release()


def _check_begun(
    edit: ReleaseEdit,
    track: str,
    begun: Release,
    release: Release,
    asked: Release,
) -> None:
    """Refuse to change a release that others have changed since this job began.

    A job without files changes the release that is on the track. `begun` is the one that it was
    started for, `release` the one that is there now. Raises ReleaseRefused if they differ, unless
    the release is as `asked` for already.
    """
    if begun.has_same_versions(release) and holds((release,), (asked,)):
        return
    if not edit.previous.surely_committed and not _has_moved(release, begun):
        return
    if edit.previous.surely_committed:
        what = f"An earlier run of this job has changed {label(begun)} on track {track}"
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
    """Make a release of version codes and the options; what the options leave open is taken from
    the base.
    """
    if base is None:
        base = Release()
    status = options.new_status or base.status or "completed"
    fraction = options.fraction
    if fraction is None:
        fraction = base.user_fraction
    release = base.with_version_codes(version_codes)
    release = release.with_status(status)
    release = release.without_user_fraction()
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


def apply_options(options: ReleaseOptions, release: Release) -> Release:
    """Return a release with what the options ask for: another status, another fraction and so on.

    Raises ReleaseRefused if it would be in progress without a fraction.
    """
    result = new(options, release.version_codes, release)
    if result.status == "inProgress" and result.user_fraction is None:
        cause = "It was completed before, so it has no fraction of its own."
        if release.status == "draft":
            cause = "It is a draft, which has no share of users yet."
        raise ReleaseRefused(
            f"The release {label(release)} can't be put in progress: no user fraction is known.",
            cause=cause,
            hint="Set `user-fraction`, or set `status: completed` for all users.",
            code="user-fraction-missing",
        )
    return result


def to_promote(track: str, releases: Sequence[Release]) -> Release:
    """Return the release that a promotion takes: the newest that is served, or a draft if the track
    has only drafts.

    A halted release was stopped for a reason, and a draft beside it may be older.
    """
    candidates = model.having_status(releases, *SERVED)
    drafts = model.having_status(releases, "draft")
    if len(drafts) == len(releases):
        candidates = drafts
    return _newest_of(track, candidates, releases, "promote")


def no_longer_on(
    releases: Iterable[Release], version_codes: Iterable[str]
) -> tuple[str, ...]:
    """Return those of the version codes that no release of a track has."""
    held = set(model.all_version_codes(releases))
    return tuple(code for code in version_codes if code not in held)


def choose_release(
    track: str,
    releases: Sequence[Release],
    version_codes: tuple[str, ...],
    artifacts: Collection[int],
) -> Release:
    """Return the release that a promotion of these version codes takes: the newest that has any of
    them, with these codes alone.

    A version that another one has displaced from the track is promoted by its code alone if it is
    one of the `artifacts` that Google Play has. Raises ReleaseRefused for any other.
    """
    gone = no_longer_on(releases, version_codes)
    missing = [code for code in gone if int(code) not in artifacts]
    if missing:
        versions = ", ".join(missing)
        held = describe_all(releases)
        raise ReleaseRefused(
            f"Track {track} has no version {versions} to promote.",
            cause=f"It holds {held}, and the app has no such bundle or APK.",
            hint="Correct `promote-version-codes`, or leave them out to promote the whole release.",
            code="version-not-on-track",
        )
    having_any = [release for release in releases if release.has_any_of(version_codes)]
    if not having_any:
        return Release.of(version_codes)
    newest = model.newest(having_any)
    return newest.with_version_codes(version_codes)


def to_change(track: str, releases: Sequence[Release]) -> Release:
    """Return the release that a job without files changes: the one in progress, else the newest on
    the track.
    """
    rollouts = model.having_status(releases, "inProgress")
    candidates = rollouts or releases
    return _newest_of(track, candidates, releases, "change")


def _newest_of(
    track: str,
    candidates: Sequence[Release],
    releases: Sequence[Release],
    purpose: str,
) -> Release:
    """Return the newest of the candidates. Raises ReleaseRefused if there is none."""
    if candidates:
        return model.newest(candidates)
    cause = "Nothing has been released on it, or the app has no such track."
    hint = "Check the name of the track in the Play Console."
    if releases:
        held = describe_all(releases)
        cause = f"It holds {held}, and a halted release was stopped for a reason."
        hint = "Promote another release."
    raise ReleaseRefused(
        f"Track {track} has no release to {purpose}.",
        cause=cause,
        hint=hint,
        code="no-release-on-track",
    )


def further(ours: Collection[str], before: Releases, asked: Release) -> Release | None:
    """Return the release with our version codes that is on the track as asked for, or has gone
    further.

    A release with exactly the version codes that were asked for comes before one with more.
    """
    exact = [release for release in before if release.has_same_versions(asked)]
    for release in (*exact, *before):
        version_codes = set(release.version_codes)
        has_ours = version_codes.issuperset(ours)
        if has_ours and _is_further(release, asked):
            return release
    return None


def _is_further(release: Release, asked: Release) -> bool:
    """Return whether a release is as asked for, or has gone further: it reaches more users, is
    halted, or has a newer version as well.
    """
    if release.status == "halted":
        return True
    if asked.status == "halted":
        return False  # a halt is never postponed
    reached = _reach(release)
    wanted = _reach(asked)
    if not is_same_share(reached, wanted):
        return reached > wanted
    if release.highest_version_code > asked.highest_version_code:
        return True
    return holds((release,), (asked,))


def _reach(release: Release) -> float:
    """Return the share of users who are offered a release; -1 for a draft, which is less than the 0
    of a release in progress without a known share.
    """
    if release.status == "completed":
        return 1.0
    if release.status == "inProgress":
        return float(release.user_fraction or 0.0)
    return -1.0


def remark(job: ReleaseJob, update: TrackChange) -> str:
    """Return a sentence about what a release that has gone on is now, and how to resume it if it is
    halted; "" for any other release.
    """
    if not update.gone_on:
        return ""
    sentence = _what_it_is_now(
        job,
        update.track,
        update.release,
        moved=update.gone_on.moved,
    )
    if not update.gone_on.left_out:
        return sentence
    left_out = ", ".join(update.gone_on.left_out)
    return (
        f"{sentence}. There, these stay as they are, too, unlike what this run asks "
        f"for: {left_out}"
    )


def _what_it_is_now(
    job: ReleaseJob,
    track: str,
    release: Release,
    *,
    moved: bool,
) -> str:
    name = label(release)
    if not moved:
        return f"{name} is on {track}: {in_words(release)}"
    if release.status != "halted":
        return f"{name} on {track} has progressed since: {in_words(release)}"
    where = f"on {track}"
    if share(release):
        where = f"at {share(release)} on {track}"
    resuming = _resuming(job, release)
    return f"{name} is halted {where}, and stays halted: to resume it, {resuming}"


def _differences(there: Release, asked: Release) -> Iterator[str]:
    """Yield the fields in which a release on the track differs from what was asked for, other than
    its status and share, in words.
    """
    has = {"inAppUpdatePriority": 0, **there.comparable()}
    wanted = asked.comparable()
    fields = (
        ("releaseNotes", "release notes"),
        ("inAppUpdatePriority", "in-app update priority"),
        ("countryTargeting", "countries"),
    )
    for name, words in fields:
        if name not in wanted:
            continue
        if has.get(name) != wanted[name]:
            yield words


def _resuming(job: ReleaseJob, release: Release) -> str:
    """Return the inputs that resume a halted release."""
    how = "set `status: inProgress` with `user-fraction` or `status: completed`"
    if share(release):
        how = "set `status: inProgress` or `status: completed`"
    if job.codes:
        return f"leave `files` out (`files: none`) and {how}"
    if job.promote_from:
        return f"leave `promote-from` out and {how}"
    return how


def merge(
    track: str,
    before: Sequence[Release],
    release: Release,
    *,
    replace_rollout: bool,
) -> Releases:
    """Return the releases that the track will hold, the new one first. Raises ReleaseRefused if it
    would displace a rollout, unless `replace_rollout` allows it.
    """
    kept = [other for other in before if not _displaces(release, other)]
    for rollout in model.having_status(before, "inProgress"):
        goes_on = rollout in kept or release.covers(rollout)
        if not (replace_rollout or goes_on):
            raise ReleaseRefused(
                f"The release {label(rollout)} is in progress on track {track}; {label(release)} "
                "would end it.",
                cause="A new release takes the place of a staged rollout.",
                hint="Complete or halt the rollout first, or set `replace-rollout: true`.",
                code="rollout-in-progress",
            )
    return (release, *kept)


def _displaces(release: Release, other: Release) -> bool:
    """Return whether `other` can't stay on the track beside the release.

    A staged release and the completed one are served side by side, even if the staged one retains
    versions of the other: its "APKs are being served to a fraction of users", and those of the
    completed one "to all users, unless they are eligible to APKs of a more recent release"
    (edits.tracks, Status). Only the completed release itself can become a staged one.
    """
    if release.status == "draft":
        return other.status == "draft"
    if release.status in STAGED and other.status == "completed":
        return release.has_same_versions(other)
    if release.covers(other):
        return True
    if other.status not in STAGED:
        return other.status == release.status
    # A track has one staged release at most, and none beside a new completed one.
    return release.status in STAGED or release.status == "completed"


def holds(releases: Sequence[Release], expected: Sequence[Release]) -> bool:
    """Return whether the releases of a track are just the expected ones, apart from fields that
    Play adds by itself.
    """
    unmatched = list(releases)
    for wanted in expected:
        match = _find_with_all_of(wanted, unmatched)
        if match is None:
            return False
        unmatched.remove(match)
    return not unmatched


def _find_with_all_of(wanted: Release, releases: Iterable[Release]) -> Release | None:
    """Return the first release that has every field of another one; None if none has."""
    for release in releases:
        if release.has_all_of(wanted):
            return release
    return None


def job_tracks_as_committed(edit: ReleaseEdit) -> tuple[TrackChange, ...]:
    """Return the tracks as they are, if each holds what the edit before this one wrote there, or
    what has become of it since.

    The result is empty if one of them does not, if the job has no tracks, or if that edit wrote for
    another wish: then the tracks have to be planned.
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


def recorded_tracks_are_live(edit: ReleaseEdit) -> bool:
    """Return whether the edit before this one wrote any tracks, and each of them holds what was
    written there, or what has become of it since.
    """
    for track in edit.record.wrote:
        if _find_as_written(edit, track) is None:
            return False
    return bool(edit.record.wrote)


def _find_as_written(edit: ReleaseEdit, track: str) -> TrackChange | None:
    """Return one track for `job_tracks_as_committed`; None if it does not hold what was written."""
    if track not in edit.record.wrote:  # it held everything already
        change = plan_update(edit, track)
        if change.is_in_edit:
            return change
        return None
    now = current_releases(edit, track)
    before = edit.record.before.get(track, ())
    wrote = edit.record.wrote[track]
    release = whats_become(before, wrote, now)
    if release is None:
        return None
    gone_on = None
    if not holds(now, wrote):
        written = wrote[0]
        moved = _has_moved(release, written)
        left_out = tuple(_differences(release, written))
        gone_on = GoneOn(moved, left_out)
    return TrackChange(
        track,
        now,
        now,
        release,
        now,
        gone_on=gone_on,
        replaced=before,
    )


def whats_become(before: Releases, wrote: Releases, found: Releases) -> Release | None:
    """Return what has become of the release that was written to a track; None if nothing shows that
    the commit with it happened.

    `before` is what the track held then, and `found` is what it holds now. `wrote` begins with the
    written release; the others are those that it left on the track. The commit shows in the
    release: it is as it was written, or has gone on from there (wider, completed or halted). A
    release that was on the track before has to show that it was changed.
    """
    if not wrote or not wrote[0].version_codes:
        return None
    written = wrote[0]
    now = model.find_same_versions(found, written)
    if now is None:
        return None
    if holds(found, wrote):
        return now
    was = model.find_same_versions(before, written)
    if was is not None and not _shows_change(was, written, now):
        return None
    if not _goes_as_far(now, written):
        return None
    return now


def _shows_change(was: Release, written: Release, now: Release) -> bool:
    """Return whether a release that has gone on since shows that it was changed as `written`.

    By now people have given it another status or share than those that it had (`was`). All else has
    to be as it was written.
    """
    if now.has_same_reach(was):
        return False
    expected = written.with_status_and_fraction_of(now)
    return holds((now,), (expected,))


def _has_moved(there: Release, asked: Release) -> bool:
    """Return whether a release has other versions, another status or another share than asked."""
    if not there.has_same_versions(asked):
        return True
    return not there.has_same_reach(asked)


def _goes_as_far(now: Release, release: Release) -> bool:
    """Return whether a release has reached as many users as it was written for, or was halted after
    that, or is no longer a draft.
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
    reached = now.user_fraction or 0.0
    wanted = release.user_fraction or 0.0
    return not is_smaller_share(reached, wanted)


def _with_kept_notes(release: Release, before: Releases) -> Release:
    """Return the release with the notes in other languages that it has on the track already."""
    there = model.find_same_versions(before, release)
    if there is None or not release.states_notes:
        return release
    notes = dict(release.notes)
    for language, text in there.notes:
        notes.setdefault(language, text)
    return release.with_notes(notes.items())


def _check_kept_back(job: ReleaseJob, track: str, release: Release) -> None:
    """Raise ReleaseRefused for a release that is halted or a draft on its track, unless the input
    `status` says what becomes of it.
    """
    kept_back = KEPT_BACK.get(release.status)
    if kept_back and not job.options.status:
        raise ReleaseRefused(
            f"The release {label(release)} on track {track} is {kept_back}, and is not "
            "released to users here.",
            cause="It is kept from the users there, and nothing in this step says to release it "
            "here.",
            hint="To release it anyway, set `status: inProgress` or `completed`; "
            "`status: draft` leaves it to a person in the Play Console.",
            code="release-kept-back",
        )


def _check_retained(edit: ReleaseEdit) -> None:
    """Raise ReleaseRefused for version codes that no track serves, and that are halted or a draft
    on another track.

    This is about a release that is made of version codes alone.
    """
    job = edit.job
    by_code: tuple[str, ...] = ()
    if job.promote_version_codes:
        offered = current_releases(edit, job.promote_from)
        by_code = no_longer_on(offered, job.promote_version_codes)
    elif not (job.codes or job.promote_from):
        by_code = job.retained
    for code in by_code:
        places = _places_of(edit, code)
        if any(release.status in SERVED for _, release in places):
            continue
        for track, release in places:
            # `_check_users` looks at what is on the job's own tracks.
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


def _check_draft(
    job: ReleaseJob,
    track: str,
    before: Releases,
    release: Release,
) -> None:
    """Raise ReleaseRefused if a draft that waits on the track would be published, unless the job
    asks for that by its files, by a promotion, or by the input `status`.
    """
    if job.codes or job.promote_from or job.options.status:
        return
    if release.status not in SERVED:
        return
    for draft in model.having_status(before, "draft"):
        if release.covers(draft):
            raise ReleaseRefused(
                f"The release {label(draft)} on track {track} is a draft, and stays a draft.",
                cause="It waits to be published, and nothing in this step says to publish it.",
                hint="To publish it, set `status: inProgress` (with `user-fraction`) or "
                "`completed`.",
                code="release-is-draft",
            )


def _check_users(
    job: ReleaseJob,
    track: str,
    before: Releases,
    release: Release,
) -> None:
    """Raise ReleaseRefused for a release that would take another one from its users, or would
    resume a halted one unasked.

    Only a halt takes a release from users. A halted one is resumed only by the input `status`, in a
    job without files and without a promotion: a job that has them may be run again after the halt.
    """
    _check_draft(job, track, before, release)
    if release.status == "draft":
        return  # it reaches nobody
    for other in before:
        if other.status != "draft" and _gets_users_of(release, other):
            _check_halted(job, track, release, other)
            _check_reach(track, release, other)


def _gets_users_of(release: Release, other: Release) -> bool:
    """Return whether users of `other`, which is on the track, would get this release instead.

    That is so if this release displaces it and goes on with its versions, or if everybody has the
    versions of this release already. A release that stays beside this one keeps its users.
    """
    if release.covers(other) and _displaces(release, other):
        return True
    return other.status == "completed" and other.covers(release)


def _check_halted(
    job: ReleaseJob,
    track: str,
    release: Release,
    other: Release,
) -> None:
    """Raise ReleaseRefused if `other`, with which the release goes on, is halted, and the job does
    not ask for that.
    """
    if other.status != "halted" or _asks_to_go_on(job, release):
        return
    raise ReleaseRefused(
        f"The release {label(other)} on track {track} is halted, and stays halted.",
        cause="It was stopped for a reason, and nothing in this step says to resume it.",
        hint="To resume it, set `status: inProgress` or `completed`, without `files` and "
        "`promote-from`; otherwise release a corrected version.",
        code="release-halted",
    )


def _asks_to_go_on(job: ReleaseJob, release: Release) -> bool:
    """Return whether the input `status` says what becomes of a halted release.

    A job with files or a promotion may run again after the halt, so its status resumes none.
    """
    if not job.options.status:
        return False
    if job.codes or job.promote_from:
        return release.status not in SERVED
    return True


def _check_reach(track: str, release: Release, other: Release) -> None:
    """Raise ReleaseRefused for a release for fewer users than `other`, which it replaces, had."""
    if release.status != "inProgress":
        return
    reached = other.user_fraction
    if other.status == "completed":
        reached = 1.0
    fraction = release.user_fraction
    if reached is None or fraction is None:
        return
    if not is_smaller_share(fraction, reached):
        return
    hints = {
        "completed": "Stage a newer version, or halt this one with `status: halted`.",
        "inProgress": f"Halt it with `status: halted`, or set more than {reached:g}.",
        "halted": f"Set {reached:g} or more.",
    }
    raise ReleaseRefused(
        f"`user-fraction`: the release {label(other)} on track {track} ({in_words(other)}) has "
        f"reached more users than {share(release)}.",
        cause="A rollout can't be narrowed, only halted.",
        hint=hints.get(other.status, ""),
        code="user-fraction-lower",
    )


def default_language(edit: ReleaseEdit) -> str:
    """Return the language of the app's main store listing, which is asked for once in an edit.
    Raises ReleaseRefused if it has none.
    """
    if not edit.language:
        details = edit.api.details()
        language = details.get("defaultLanguage")
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


def _check_countries(edit: ReleaseEdit, update: TrackChange) -> None:
    """Raise ReleaseRefused for countries that Google Play would not accept."""
    release = update.release
    # That the track is production was checked offline; the status of the release was not known.
    if edit.job.options.countries and release.status != "inProgress":
        raise ReleaseRefused(
            f"`countries`: the release {label(release)} on track {update.track} is not a staged "
            "rollout.",
            cause="Google Play accepts countries only for a rollout in progress on production.",
            hint="Set `user-fraction` as well, or choose the countries in the Play Console.",
            code="countries-not-allowed",
        )
    # A rollout that is limited to countries can't be completed as it is, and is not widened to all
    # countries unasked.
    if release.status != "completed":
        return
    for rollout in model.having_status(update.before, *STAGED):
        if rollout.countries and rollout.has_same_versions(release):
            versions = "+".join(release.version_codes)
            countries = ", ".join(release.countries)
            raise ReleaseRefused(
                f"The rollout of {versions} on track {update.track} is limited to countries: "
                f"{countries}.",
                cause="Google Play accepts countries only while a rollout is in progress.",
                hint="Complete this rollout in the Play Console.",
                code="countries-not-allowed",
            )


def _oddities(edit: ReleaseEdit, update: TrackChange) -> Iterator[str]:
    """Yield a sentence for each thing that is possible, but unusual about a release."""
    if edit.job.retain_last and not model.last_completed(update.before):
        yield "there is no completed release whose versions could be retained."
    if edit.job.copy_notes and not update.release.has_notes:
        yield "there are no release notes to copy from the last release."
    highest_released = -1
    for other in update.before:
        if other.status != "draft":
            highest_released = max(highest_released, other.highest_version_code)
    ours = update.release.highest_version_code
    if ours < highest_released:
        yield (
            f"version {highest_released} has been released on it, and {ours} is lower: users who "
            "have it get no update."
        )
