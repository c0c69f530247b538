"""How a release comes to a track: what it is made of, what it displaces, and what the track holds
then.

An update replaces all releases of a track, so whatever should stay has to be sent again. Play
allows one completed release, one staged one (in progress or halted) and one draft on a track: a new
release takes the place of its own kind, and one that reaches everybody ends the staged one as well.
A staged one leaves the completed one to all other users, and may retain its versions. A release in
progress is given up only when told so.

A run with files, or a promotion, may come again when its release has gone on since: to more users,
or to a halt, by the daily rollout or by a person. Then there is nothing left to do, and the track
stays as it is. Only a run that has neither changes what is there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from uploader.errors import ReleaseRefused
from uploader.files.android.notes import is_language_name, normalised
from uploader.services.play.client import Release, Releases
from uploader.services.play.edit_lifecycle import ReleaseEdit, listed_artifacts
from uploader.services.play.release_job import ReleaseJob, ReleaseOptions
from uploader.services.play.review import live_versions
from uploader.services.play.tracks import (
    REST_OF_WORLD,
    codes,
    countries,
    current_releases,
    describe,
    describe_all,
    highest,
    in_words,
    named,
    notes_of,
    share,
)

PROMOTED = ("name", "releaseNotes", "inAppUpdatePriority")
"""What a promotion takes besides the version codes."""
KEPT = (*PROMOTED, "countryTargeting")
"""What a release that is on a track already keeps, unless something else is given."""
STAGED = frozenset({"inProgress", "halted"})
SERVED = frozenset({"inProgress", "completed"})
KEPT_BACK = {"halted": "halted", "draft": "a draft"}
"""The statuses of a release that its users do not get, in words."""
SAME_SHARE = 1e-6  # shares that differ by less are the same: Play may keep them with fewer digits


@dataclass(frozen=True)
class TrackChange:
    """A track before the edit was touched and as it is to be; `release` comes to it, `now` is what
    it holds already.

    `created` says that the app gets the track by the edit. `by_code` are the version codes that a
    promotion takes though they are not on its source any more.
    `source` is the track that a promotion takes the release from, and `source_release` the release
    as it is there. `gone_on` says that `release` was there before, with more users than the job
    asks for or halted, and stays as it is; `moved_on` says that its status or its share is not what
    was asked for. `left_out` is what the job asks for it besides, in
    words, and does not get. `replaced` is what a commit whose answer was lost has replaced on the
    track; empty for a change that is yet to be made.
    """

    track: str
    before: Releases
    after: Releases
    release: Release = field(default_factory=dict)
    now: Releases = ()
    source: str = ""
    source_release: Release = field(default_factory=dict)
    gone_on: bool = False
    moved_on: bool = True
    left_out: tuple[str, ...] = ()
    created: bool = False
    by_code: tuple[str, ...] = ()
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
        if self.gone_on or self.release.get("status") not in SERVED:
            return ()
        places = [(self.track, other) for other in self.replaced or self.before]
        if self.source_release:
            places.append((self.source, self.source_release))
        sentences = []
        for track, other in places:
            kept_back = KEPT_BACK.get(str(other.get("status")))
            if kept_back and _covers(self.release, other):
                sentences.append(f"{'+'.join(codes(other))} was {kept_back} on {track}")
        return tuple(sentences)

    @property
    def remarks(self) -> tuple[str, ...]:
        """What else is to be known of the release that comes, in sentences."""
        if not self.by_code:
            return self.taken_up
        versions = "+".join(self.by_code)
        return (f"{versions} is not on {self.source} any more", *self.taken_up)


def plan_updates(edit: ReleaseEdit, known: Collection[int]) -> tuple[TrackChange, ...]:
    """What becomes of each track. Raises what would end the run after the upload, and warns of what
    is odd.

    `known` are the version codes of all artifacts that Play has.
    """
    updates = []
    for track in edit.job.tracks:
        update = plan_update(edit, track)
        if update.gone_on:
            tell = (
                edit.context.warning
                if update.release.get("status") == "halted"
                else edit.context.info
            )
            tell(f"{remark(edit.job, update)}.")
        else:
            _check(edit, update)
            for oddity in _oddities(edit, update):
                edit.context.warning(f"Track {track}: {oddity}")
        updates.append(update)
    there = {
        code for found in edit.seen.values() for release in found for code in codes(release)
    }.union(edit.job.codes)
    unknown = [code for code in edit.job.retained if code not in there and int(code) not in known]
    if updates and unknown:
        raise ReleaseRefused(
            f"`version-codes-to-retain`: Google Play has no version {', '.join(unknown)} of this "
            "app.",
            cause="Neither the track nor the app's bundles and APKs have it.",
            hint="Correct the version codes, or leave them out.",
            code="retained-version-unknown",
        )
    return tuple(updates)


def plan_update(edit: ReleaseEdit, track: str) -> TrackChange:
    """The release that comes to the track, and all that it will hold then.

    What counts is what the track held before the edit was touched: an earlier run may have left its
    own release there.
    """
    found = current_releases(edit, track)
    before = edit.base(track, found)
    source = _promoted(edit)
    release = _with_kept_notes(_wanted(edit, track, before, source), before)
    there = _already_there(edit, track, before, release, edit.job.codes or codes(source))
    if there is not None:
        gone_on, left_out = not settled((there,), (release,)), tuple(_differences(there, release))
        return TrackChange(
            track,
            before,
            before,
            there,
            found,
            gone_on=gone_on,
            moved_on=_has_moved(there, release),
            left_out=left_out,
        )
    _check_kept_back(edit.job, edit.job.promote_from, source)
    _check_users(edit.job, track, before, release)
    _check_retained(edit)
    after = merged(track, before, release, replace_rollout=_may_replace(edit, track, before))
    by_code: tuple[str, ...] = ()
    if edit.job.promoted:
        by_code = no_longer_on(current_releases(edit, edit.job.promote_from), codes(source))
    return TrackChange(
        track,
        before,
        after,
        release,
        found,
        edit.job.promote_from,
        source,
        created=edit.is_new(track),
        by_code=by_code,
    )


def _may_replace(edit: ReleaseEdit, track: str, before: Releases) -> bool:
    """Return whether the job may end the rollouts on the track: those that were there when it
    began, not one that somebody has begun meanwhile.
    """
    rollouts = {code for one in before if one.get("status") == "inProgress" for code in codes(one)}
    begun = edit.rollouts.setdefault(track, frozenset(rollouts))
    return edit.job.replace_rollout and rollouts <= begun


def _already_there(
    edit: ReleaseEdit, track: str, before: Releases, asked: Release, ours: Collection[str]
) -> Release | None:
    """The release of `ours`, the version codes of the job, that was on the track before, as asked
    for or further.

    What a shared edit holds may be another job's work and not live. So it must be published, unless
    it is halted: a halt is not taken back there either.
    """
    there = further(ours, before, asked) if ours else None
    if there is None or edit.state.own or there.get("status") == "halted":
        return there
    published = live_versions(edit.context, edit.job.package, track)
    return there if published is not None and published.issuperset(codes(there)) else None


def update_track(edit: ReleaseEdit, track: str) -> TrackChange:
    """Makes the track hold the release. What it holds already is not written again."""
    update = plan_update(edit, track)
    if put(edit, update):
        release = {"name": edit.job.version_name, **update.release}
        edit.context.info(f"Track {track} in edit {edit.id}: {describe(release)}.")
    return update


def put(edit: ReleaseEdit, update: TrackChange, note: str = "") -> bool:
    """Writes a track unless it holds the release already, and returns whether it did.

    The `note` is remembered with the change before it is made.
    """
    track, after = update.track, update.after
    writes = not update.settled or edit.wrote_otherwise(track, after)
    if writes:
        edit.writing(track, update.before, after)
    if note:
        edit.changed(f"track:{track}", note)
    if writes:
        edit.api.update_track(track, after)
        edit.seen[track] = after
    return writes


def _promoted(edit: ReleaseEdit) -> Release:
    """The release of another track that the job promotes; empty where it promotes none.

    A promotion stays with the release that it was begun with, which may have been halted since.
    """
    job, begun = edit.job, edit.promoted
    if not job.promote_from:
        return {}
    offered = current_releases(edit, job.promote_from)
    if begun:
        now = next((one for one in offered if _covers(one, begun)), begun)
        return {**begun, "status": now.get("status")}
    if job.promoted:
        artifacts = listed_artifacts(edit) if no_longer_on(offered, job.promoted) else {}
        edit.promoted = chosen(job.promote_from, offered, job.promoted, artifacts)
    else:
        edit.promoted = to_promote(job.promote_from, offered)
    return edit.promoted


def _wanted(edit: ReleaseEdit, track: str, live: Releases, source: Release) -> Release:
    """The release of another track, one made of version codes, or the one that is there, with what
    the job asks for.

    `source` is the release that a promotion takes.
    """
    job, notes = edit.job, list[tuple[str, str]]()
    if job.copy_notes:
        notes += notes_of(newest(live)) if live else ()
    else:
        for language, text in job.notes_of(track):
            notes.append((language or default_language(edit), text))
    name = job.options.name or job.names.get(track, job.names.get(None, ""))
    options = replace(job.options, name=name, notes=tuple(notes))
    retained = (*job.retained, *(last_completed(live) if job.retain_last else ()))
    if job.promote_from:
        version_codes = (*codes(source), *retained)
        promoted = {field: source[field] for field in PROMOTED if field in source}
        base: Release = {**_kept_fields(live, version_codes), **promoted}
    elif job.codes or job.retained:
        version_codes = (*job.codes, *retained)
        base = _kept_fields(live, version_codes)
    else:
        release = to_change(track, live)
        wanted = changed(options, release)
        _check_begun(edit, track, release, wanted)
        return wanted
    options = replace(options, name=name or ("" if base.get("name") else job.default_name))
    return new(options, dict.fromkeys(version_codes), base)


def _kept_fields(live: Releases, version_codes: Collection[str]) -> Release:
    """Return what a release of these version codes that is on the track already keeps unless the
    job gives it: people may have changed it in the Play Console.
    """
    for release in live:
        if set(codes(release)) == set(version_codes):
            return {field: release[field] for field in KEPT if field in release}
    return {}


def _check_begun(edit: ReleaseEdit, track: str, release: Release, wanted: Release) -> None:
    """Refuse to change a release that others have changed since this job began.

    A job without files changes what is on the track, which is not what it was begun for any more.
    Raises ReleaseRefused, unless the release is as it is wanted.
    """
    if not edit.state.own:
        return  # other jobs work in a shared edit
    begun = edit.begun.setdefault(track, release)
    same_versions = set(codes(begun)) == set(codes(release))
    if same_versions and settled((release,), (wanted,)):
        return
    if not (edit.surely_committed or _has_moved(release, begun)):
        return
    if edit.surely_committed:
        what = f"An earlier run of this job has changed {named(begun)} on track {track}"
        since = f"since then it was changed again: {describe(release)}"
    else:
        what = f"The release on track {track} was changed since this job began"
        since = f"it was {describe(begun)}, and is now {describe(release)}"
    raise ReleaseRefused(
        f"{what}; {since}.",
        cause="Somebody in the Play Console, or another job, has changed it meanwhile.",
        hint="Nothing was changed by this run. If the release is still to be changed, run again: "
        "the next run begins with what is there now.",
        code="release-changed",
    )


def new(
    options: ReleaseOptions, version_codes: Iterable[str], base: Release | None = None
) -> Release:
    """A release made from its version codes and the options; what these leave open is that of the
    base.
    """
    base = base or {}
    status, fraction = options.new_status or base.get("status", "completed"), options.fraction
    release = {**base, "versionCodes": list(version_codes), "status": status}
    release.pop("userFraction", None)
    fraction = base.get("userFraction") if fraction is None else fraction
    if status in STAGED and fraction is not None:
        release["userFraction"] = fraction
    if options.name:
        release["name"] = options.name
    if options.notes:
        release["releaseNotes"] = [
            {"language": language, "text": text} for language, text in options.notes
        ]
    if options.priority is not None:
        release["inAppUpdatePriority"] = options.priority
    if options.countries:
        targeted = [country for country in options.countries if country != REST_OF_WORLD]
        release["countryTargeting"] = {
            "countries": targeted,
            "includeRestOfWorld": REST_OF_WORLD in options.countries,
        }
    return release


def changed(options: ReleaseOptions, release: Release) -> Release:
    """The same release with another status, fraction, or whatever else the options have.

    Raises ReleaseRefused when it would be in progress without a fraction.
    """
    result = new(options, codes(release), release)
    if result["status"] == "inProgress" and "userFraction" not in result:
        raise ReleaseRefused(
            f"The release {named(release)} can't be put in progress: no user fraction is known.",
            cause="It is a draft, which has no share of users yet."
            if release.get("status") == "draft"
            else "It was completed before, so it has no fraction of its own.",
            hint="Give `user-fraction`, or set `status: completed` for all users.",
            code="user-fraction-missing",
        )
    return result


def to_promote(track: str, live: Sequence[Release]) -> Release:
    """The release that a promotion takes: the newest that is served; a draft only where there is
    nothing else.

    A halted one was stopped for a reason, and the draft beside it may be older.
    """
    served = [release for release in live if release.get("status") in ("completed", "inProgress")]
    drafts = [release for release in live if release.get("status") == "draft"]
    return _newest_of(
        track, served or (drafts if len(drafts) == len(live) else []), live, "promote"
    )


def no_longer_on(live: Iterable[Release], version_codes: Iterable[str]) -> tuple[str, ...]:
    """Those of the version codes that no release of a track has."""
    held = {code for release in live for code in codes(release)}
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
    found = [release for release in live if set(codes(release)) & set(version_codes)]
    gone = no_longer_on(live, version_codes)
    if missing := [code for code in gone if int(code) not in artifacts]:
        raise ReleaseRefused(
            f"Track {track} has no version {', '.join(missing)} to promote.",
            cause=f"It holds {describe_all(live)}, and the app has no such bundle or APK.",
            hint="Correct `promote-version-codes`, or leave them out to promote the whole release.",
            code="version-not-on-track",
        )
    return {**(newest(found) if found else {}), "versionCodes": list(version_codes)}


def to_change(track: str, live: Sequence[Release]) -> Release:
    """The release that a change without new files means: the one in progress, else the newest on
    the track.
    """
    rollouts = [release for release in live if release.get("status") == "inProgress"]
    return _newest_of(track, rollouts or live, live, "change")


def _newest_of(
    track: str, found: Sequence[Release], live: Sequence[Release], purpose: str
) -> Release:
    if not found:
        halted = f"It holds {describe_all(live)}, and a halted release was stopped for a reason."
        raise ReleaseRefused(
            f"Track {track} has no release to {purpose}.",
            cause=halted
            if live
            else "Nothing has been released on it, or the app has no such track.",
            hint="Promote another release."
            if live
            else "Check the name of the track in the Play Console.",
            code="no-release-on-track",
        )
    return newest(found)


def newest(found: Sequence[Release]) -> Release:
    """The release with the highest version code, of at least one."""
    return max(found, key=highest)


def last_completed(live: Sequence[Release]) -> tuple[str, ...]:
    """The version codes of the newest release that everybody has; none where there is no such
    release.

    Those of a staged one are not: to retain them would hand them to everybody.
    """
    completed = [release for release in live if release.get("status") == "completed"]
    return codes(newest(completed)) if completed else ()


def further(ours: Collection[str], live: Releases, asked: Release) -> Release | None:
    """The release with our version codes that is on the track as it was asked for, or that has gone
    on from there.

    One with exactly the version codes that were asked for goes before one that has more.
    """
    having_ours = [release for release in live if set(codes(release)).issuperset(ours)]
    exact_first = sorted(having_ours, key=lambda release: set(codes(release)) != set(codes(asked)))
    return next((release for release in exact_first if _is_further(release, asked)), None)


def _is_further(release: Release, asked: Release) -> bool:
    """Whether a release is what was asked for, reaches more users, is halted, or keeps it beside a
    newer version.
    """
    if release.get("status") == "halted":
        return True
    if asked.get("status") == "halted":
        return False  # a halt is never put off
    reached, wanted = _reach(release), _reach(asked)
    if reached == wanted:
        return highest(release) > highest(asked) or settled((release,), (asked,))
    return reached > wanted


def _reach(release: Release) -> float:
    """The share of users who are offered a release; a draft is below one in progress whose share is
    not known.
    """
    if release.get("status") == "completed":
        return 1.0
    return (
        float(release.get("userFraction") or 0.0) if release.get("status") == "inProgress" else -1.0
    )


def remark(job: ReleaseJob, update: TrackChange) -> str:
    """What a release that has gone on is now, and what resumes a halted one; empty for any
    other.
    """
    release, track = update.release, update.track
    if not update.gone_on:
        return ""
    if not update.moved_on:
        gone_on = f"{named(release)} is on {track}: {in_words(release)}"
    elif release.get("status") != "halted":
        gone_on = f"{named(release)} on {track} has gone on since: {in_words(release)}"
    else:
        where = f"at {share(release)} on {track}" if share(release) else f"on {track}"
        gone_on = (
            f"{named(release)} is halted {where}, and stays so: to go on with it, "
            f"{_resuming(job, release)}"
        )
    if update.left_out:
        gone_on += (
            ". What it has there stays as well, other than this run asks for: "
            f"{', '.join(update.left_out)}"
        )
    return gone_on


def _differences(there: Release, asked: Release) -> Iterator[str]:
    """What a release on the track has otherwise than it was asked for, beside its status and its
    share, in words.
    """
    was, wanted = {"inAppUpdatePriority": 0, **_plain(there)}, _plain(asked)
    for name, words in (
        ("releaseNotes", "release notes"),
        ("inAppUpdatePriority", "in-app update priority"),
        ("countryTargeting", "countries"),
    ):
        if name in wanted and was.get(name) != wanted[name]:
            yield words


def _resuming(job: ReleaseJob, release: Release) -> str:
    """The inputs that go on with a halted release."""
    fraction = "" if share(release) else " with `user-fraction`"
    how = f"set `status: inProgress`{fraction} or `status: completed`"
    if job.codes:
        return f"leave `files` out (`files: none`) and {how}"
    return f"leave `promote-from` out and {how}" if job.promote_from else how


def merged(
    track: str, live: Sequence[Release], release: Release, *, replace_rollout: bool
) -> Releases:
    """The releases of the track with the new one first. Raises ReleaseRefused when it would
    displace a rollout.
    """
    kept = [other for other in live if not _displaces(release, other)]
    rollouts = [
        other for other in live if other.get("status") == "inProgress" and other not in kept
    ]
    for rollout in rollouts:
        if not (replace_rollout or _covers(release, rollout)):
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
    status, place = release.get("status"), other.get("status")
    if status == "draft":
        return place == "draft"
    if status in STAGED and place == "completed":
        return _same_versions(release, other)
    return (
        _covers(release, other)
        or place == status
        or (place in STAGED and status in {*STAGED, "completed"})
    )


def _same_versions(release: Release, other: Release) -> bool:
    """Whether both have the same version codes, and so are the same release."""
    return set(codes(release)) == set(codes(other))


def _covers(release: Release, other: Release) -> bool:
    """Whether every version of `other` goes on in the release."""
    return bool(codes(other)) and set(codes(other)) <= set(codes(release))


def settled(live: Sequence[Release], after: Sequence[Release]) -> bool:
    """Whether the track holds these releases already, apart from fields that Play adds by
    itself.
    """
    rest = [{"inAppUpdatePriority": 0, **_plain(release)} for release in live]
    for wanted in map(_plain, after):
        found = next((one for one in rest if wanted.items() <= one.items()), None)
        if found is None:
            return False
        rest.remove(found)
    return not rest


def _plain(release: Release) -> dict[str, Any]:
    """A release so that two spellings of the same thing are equal."""
    notes = {(language, normalised(text)) for language, text in notes_of(release)}
    same = {"versionCodes": set(codes(release)), "releaseNotes": notes}
    return {field: same.get(field, value) for field, value in release.items() if value is not None}


def found_as_written(edit: ReleaseEdit) -> tuple[TrackChange, ...]:
    """The tracks as they are, if each holds what the edit before this one wrote there, or that has
    gone on since.

    None otherwise, and none where that edit wrote for another wish: then it is planned what becomes
    of the tracks.
    """
    changes = []
    for track in edit.job.tracks if edit.wish == edit.job.wish else ():
        if track not in edit.wrote:  # it held everything already
            change = plan_update(edit, track)
            if not change.settled:
                return ()
        else:
            found = current_releases(edit, track)
            before = edit.before.get(track, ())
            release = whats_become(before, edit.wrote[track], found)
            if release is None:
                return ()
            wrote = edit.wrote[track]
            change = TrackChange(
                track,
                found,
                found,
                release,
                found,
                gone_on=not settled(found, wrote),
                moved_on=_has_moved(release, wrote[0]),
                left_out=tuple(_differences(release, wrote[0])),
                replaced=before,
            )
        changes.append(change)
    return tuple(changes)


def whats_become(before: Releases, wrote: Releases, found: Releases) -> Release | None:
    """The release that was written, as the track holds it now: as it was written, or wider,
    completed or halted since.

    None where it is not there like that: `wrote` has the release first and behind it what it left
    on the track.
    """
    release = wrote[0] if wrote else {}
    now = next((one for one in found if _covers(one, release) and _covers(release, one)), None)
    if now is None or settled(found, wrote):
        return now
    was = next((one for one in before if _covers(one, release) and _covers(release, one)), None)
    if was is not None:
        # It was there before, so what was to change at it besides has to have changed.
        moved = _status_and_share(now) != _status_and_share(was)
        if not (moved and settled((now,), ({**release, **_status_and_share(now)},))):
            return None
    return now if _goes_as_far(now, release) else None


def _has_moved(there: Release, asked: Release) -> bool:
    """Return whether a release has other versions, another status or another share than asked."""
    same_codes = set(codes(there)) == set(codes(asked))
    return not same_codes or _status_and_share(there) != _status_and_share(asked)


def _status_and_share(release: Release) -> dict[str, Any]:
    return {"status": release.get("status"), "userFraction": release.get("userFraction")}


def _goes_as_far(now: Release, release: Release) -> bool:
    """Whether a release has reached as many users as it was to, or was halted after that, or is no
    draft any more.
    """
    status, wanted = now.get("status"), release.get("status")
    everybody = status == "completed" or (status == "halted" and now.get("userFraction") is None)
    if wanted == "draft":
        return status != "draft"
    if wanted == "halted" or status == "draft":
        return False
    if wanted == "completed":
        return everybody
    return (
        everybody or now.get("userFraction", 0.0) >= release.get("userFraction", 0.0) - SAME_SHARE
    )


def _with_kept_notes(release: Release, live: Releases) -> Release:
    """A release that is on the track already keeps its notes in the languages that were not
    given.
    """
    there = next((one for one in live if set(codes(one)) == set(codes(release))), None)
    if there is None or "releaseNotes" not in release:
        return release
    given = dict(notes_of(release))
    notes = {
        **given,
        **{language: text for language, text in notes_of(there) if language not in given},
    }
    return {
        **release,
        "releaseNotes": [{"language": language, "text": text} for language, text in notes.items()],
    }


def _check_kept_back(job: ReleaseJob, track: str, release: Release) -> None:
    """Refuses to serve what another track keeps from its users, unless the input `status` says what
    becomes of it.
    """
    status = str(release.get("status"))
    if status in KEPT_BACK and not job.options.status:
        raise ReleaseRefused(
            f"The release {named(release)} on track {track} is {KEPT_BACK[status]}, and is not "
            "released to users here.",
            cause="It is kept from the users there, and nothing in this step says that they get it "
            "here.",
            hint="To release it all the same, set `status: inProgress` or `completed`; "
            "`status: draft` leaves it to a person in the Play Console.",
            code="release-kept-back",
        )


def _check_retained(edit: ReleaseEdit) -> None:
    """Refuses a release of version codes alone where no track serves them, and one keeps them from
    its users.
    """
    job = edit.job
    by_code = () if job.codes or job.promote_from else job.retained
    if job.promoted:
        by_code = no_longer_on(current_releases(edit, job.promote_from), job.promoted)
    places = [(track, release) for track, releases in edit.seen.items() for release in releases]
    for code in by_code:
        having = [(track, release) for track, release in places if code in codes(release)]
        served = any(release.get("status") in SERVED for _, release in having)
        for track, release in having:
            # what is on the track itself is looked at with its users
            if not served and track not in job.tracks:
                _check_kept_back(job, track, release)


def _check_draft(job: ReleaseJob, track: str, live: Releases, release: Release) -> None:
    """A draft that waits on the track is published by files, by a promotion, or by a written status
    alone.
    """
    if job.codes or job.promote_from or job.options.status or release.get("status") not in SERVED:
        return
    for other in live:
        if other.get("status") == "draft" and _covers(release, other):
            raise ReleaseRefused(
                f"The release {named(other)} on track {track} is a draft, and stays so.",
                cause="It waits to be published, and nothing in this step says that it is to be.",
                hint="To publish it, set `status: inProgress` (with `user-fraction`) or "
                "`completed`.",
                code="release-is-draft",
            )


def _check_users(job: ReleaseJob, track: str, live: Releases, release: Release) -> None:
    """Nothing but a halt takes a release from users, and nothing but a written status goes on with
    a halted one.

    It does so without files and without a promotion: a job that has them may be run again after the
    halt.
    """
    _check_draft(job, track, live, release)
    for other in live:
        if "draft" in (other.get("status"), release.get("status")):
            continue
        # What stays beside the release keeps its users.
        continues = _covers(release, other) and _displaces(release, other)
        everybody_has_it = other.get("status") == "completed" and _covers(other, release)
        if continues or everybody_has_it:
            _check_halted(job, track, release, other)
            _check_reach(track, release, other)


def _check_halted(job: ReleaseJob, track: str, release: Release, other: Release) -> None:
    """Raise ReleaseRefused where `release` would go on with `other`, which is halted, and nobody
    has asked for that.
    """
    comes = bool(job.codes or job.promote_from)
    resumed = comes and release.get("status") in SERVED
    if other.get("status") == "halted" and (resumed or not job.options.status):
        raise ReleaseRefused(
            f"The release {named(other)} on track {track} is halted, and stays so.",
            cause="It was stopped for a reason, and nothing in this step says that it is to go on.",
            hint="To go on with it, set `status: inProgress` or `completed`, without `files` and "
            "`promote-from`; else release a corrected version.",
            code="release-halted",
        )


def _check_reach(track: str, release: Release, other: Release) -> None:
    """Raise ReleaseRefused where `release` would be for fewer users than `other`, which it takes
    the place of, has reached.
    """
    if release.get("status") != "inProgress":
        return
    reached = other.get("userFraction")
    if other.get("status") == "completed":
        reached = 1.0
    fraction = release.get("userFraction")
    if reached is None or fraction is None or fraction >= reached:
        return
    hints = {
        "completed": "Stage a newer version, or halt this one with `status: halted`.",
        "inProgress": f"Halt it with `status: halted`, or give more than {reached:g}.",
        "halted": f"Give {reached:g} or more.",
    }
    raise ReleaseRefused(
        f"`user-fraction`: the release {named(other)} on track {track} ({in_words(other)}) has "
        f"reached more users than {share(release)}.",
        cause="Only a halt takes a release from users.",
        hint=hints.get(str(other.get("status")), ""),
        code="user-fraction-lower",
    )


def default_language(edit: ReleaseEdit) -> str:
    """The language of the app's main store listing; asked once for an edit. Raises ReleaseRefused
    where it has none.
    """
    if not edit.language:
        found = edit.api.details().get("defaultLanguage")
        if not (isinstance(found, str) and is_language_name(found)):
            raise ReleaseRefused(
                "`whats-new`: Google Play gives no default language for the app.",
                cause="Its store listing is not set up yet.",
                hint="Write the language before the text: `en-US: |`, with the text indented below "
                "it.",
                code="no-default-language",
            )
        edit.language = found
    return edit.language


def _check(edit: ReleaseEdit, update: TrackChange) -> None:
    """Raises for countries that Google Play would not accept."""
    release, ours = update.release, codes(update.release)
    # Which release a change is about, only the track tells; that it is production was seen offline.
    if edit.job.options.countries and release.get("status") != "inProgress":
        raise ReleaseRefused(
            f"`countries`: the release {named(release)} on track {update.track} is not a staged "
            "rollout.",
            cause="Google Play accepts countries only for a rollout in progress on production.",
            hint="Give `user-fraction` as well, or choose the countries in the Play Console.",
            code="countries-not-allowed",
        )
    # A rollout that is limited to countries can't be completed as it is, nor is it widened to all
    # unasked.
    rollouts = [one for one in update.before if one.get("status") in STAGED and countries(one)]
    if release.get("status") == "completed" and ours in map(codes, rollouts):
        raise ReleaseRefused(
            f"The rollout of {'+'.join(ours)} on track {update.track} is limited to countries: "
            f"{', '.join(countries(release))}.",
            cause="Google Play accepts countries only while a rollout is in progress.",
            hint="Complete this rollout in the Play Console.",
            code="countries-not-allowed",
        )


def _oddities(edit: ReleaseEdit, update: TrackChange) -> Iterator[str]:
    if edit.job.retain_last and not last_completed(update.before):
        yield "there is no completed release whose versions could be retained."
    if edit.job.copy_notes and not update.release.get("releaseNotes"):
        yield "there are no release notes to copy from the last release."
    released = max(
        (highest(other) for other in update.before if other.get("status") != "draft"), default=-1
    )
    ours = highest(update.release)
    if ours < released:
        yield (
            f"version {released} has been released on it, and {ours} is lower: users who have it "
            "get no update."
        )
