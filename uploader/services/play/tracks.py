"""What a track holds after a release has come to it: pure functions over the releases that Play reports.

An update replaces all releases of a track, so whatever should stay has to be sent again. Play allows one completed
release, one staged one (in progress or halted) and one draft on a track: a new release takes the place of its own kind,
and one that reaches everybody ends the staged one as well. A release in progress is given up only when told so.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from uploader.errors import ProtocolError, ReleaseRefused
from uploader.files.android.localized_folder import normalised
from uploader.services.play.edit_api import entries

Release: TypeAlias = Mapping[str, Any]
Releases: TypeAlias = tuple[Release, ...]
Notes: TypeAlias = tuple[tuple[str, str], ...]

STAGED = frozenset({"inProgress", "halted"})
_VERSION_CODE = re.compile(r"[0-9]{1,19}", re.ASCII)  # 64 bits
REST_OF_WORLD = "rest-of-world"
_IN_WORDS: Mapping[str, str] = {"inProgress": "in progress"}  # the other statuses are words already
# What an absent field of a release means: nothing, or this.
_DEFAULTS: Mapping[str, Any] = {"inAppUpdatePriority": 0}
# The fields that a promotion takes along, unless they are given anew.
_TAKEN_ALONG = ("name", "releaseNotes", "inAppUpdatePriority")


@dataclass(frozen=True)
class ReleaseOptions:
    """What was asked for a release, apart from its version codes; an empty text or None leaves a field as it is."""

    status: str = ""
    fraction: float | None = None
    name: str = ""
    notes: Notes = ()
    priority: int | None = None
    countries: tuple[str, ...] = ()


def releases(response: object) -> Releases:
    """The releases in Play's answer about a track. Raises ProtocolError when it is no such answer.

    What is decided by (version codes, fraction, status, name) is checked here, once: it comes from outside.
    """
    found = tuple(entries(response, "releases"))
    if not all(map(_is_sane, found)):
        raise ProtocolError("Google Play returned a release in an undocumented format.")
    return found


def _is_sane(release: Release) -> bool:
    version_codes, fraction = release.get("versionCodes") or [], release.get("userFraction")
    words = (release.get("status"), release.get("name"))
    return (
        isinstance(version_codes, list)
        and all(isinstance(code, str | int) and _VERSION_CODE.fullmatch(str(code)) for code in version_codes)
        and (fraction is None or (isinstance(fraction, int | float) and 0 <= fraction <= 1))
        and all(word is None or isinstance(word, str) for word in words)
    )


def codes(release: Release) -> tuple[str, ...]:
    """The version codes of a release, as Play writes them."""
    found = release.get("versionCodes")
    return tuple(str(code) for code in found) if isinstance(found, list) else ()


def new(options: ReleaseOptions, version_codes: Iterable[str]) -> Release:
    """A release made from nothing but the options and its version codes."""
    return _with_options({}, options, tuple(version_codes))


def promoted(options: ReleaseOptions, source: Release, retained: Iterable[str]) -> Release:
    """The release of another track: its codes, and its name, notes and priority unless the options have them."""
    taken = {field: source[field] for field in _TAKEN_ALONG if field in source}
    return _with_options(taken, options, tuple(dict.fromkeys((*codes(source), *retained))))


def changed(options: ReleaseOptions, release: Release) -> Release:
    """The same release with another status, fraction, or whatever else the options have.

    Raises ReleaseRefused when it would be in progress without a fraction.
    """
    result = _with_options(release, options, codes(release))
    if result["status"] == "inProgress" and "userFraction" not in result:
        raise ReleaseRefused(
            f"The release {describe(release)} can't be resumed: no user fraction is known.",
            cause="It was completed before, so it has no fraction of its own.",
            hint="Give `user-fraction`, or set `status: completed` for all users.",
            code="user-fraction-missing",
        )
    return result


def to_promote(track: str, live: Sequence[Release]) -> Release:
    """The release that a promotion takes: the newest that is served; a draft only where there is nothing else.

    A halted one was stopped for a reason, and the draft beside it may be older.
    """
    served = [release for release in live if release.get("status") in ("completed", "inProgress")]
    drafts = [release for release in live if release.get("status") == "draft"]
    return _only_if_any(track, served or (drafts if len(drafts) == len(live) else []), "promote")


def chosen(track: str, live: Sequence[Release], version_codes: tuple[str, ...]) -> Release:
    """The release that a promotion of these version codes takes: the newest that has any, and no other codes of it."""
    found = [release for release in live if set(codes(release)) & set(version_codes)]
    if missing := [code for code in version_codes if not any(code in codes(release) for release in found)]:
        raise ReleaseRefused(
            f"Track {track} has no version {', '.join(missing)} to promote.",
            cause=f"It holds {describe_all(live)}.",
            hint="Correct `promote-version-codes`, or leave them out to promote the whole release.",
            code="version-not-on-track",
        )
    return {**newest(found), "versionCodes": list(version_codes)}


def last_completed(live: Sequence[Release]) -> tuple[str, ...]:
    """The version codes of the newest release that everybody has; none where there is no such release.

    Those of a staged one are not: to retain them would hand them to everybody.
    """
    completed = [release for release in live if release.get("status") == "completed"]
    return codes(newest(completed)) if completed else ()


def to_change(track: str, live: Sequence[Release]) -> Release:
    """The release that a change without new files means: the one in progress, else the newest on the track."""
    rollouts = [release for release in live if release.get("status") == "inProgress"]
    return _only_if_any(track, rollouts or list(live), "change")


def newest(found: Sequence[Release]) -> Release:
    """The release with the highest version code, of at least one."""
    return max(found, key=highest)


def highest(release: Release) -> int:
    """The highest version code of a release, -1 when it has none."""
    return max((int(code) for code in codes(release) if code.isascii() and code.isdigit()), default=-1)


def notes_of(release: Release) -> Notes:
    """The release notes of a release, as far as they are in the documented form."""
    found = release.get("releaseNotes")
    notes = (note for note in found if isinstance(note, Mapping)) if isinstance(found, list) else ()
    return tuple((str(note.get("language", "")), str(note.get("text", ""))) for note in notes)


def merged(track: str, live: Sequence[Release], release: Release, *, replace_rollout: bool) -> Releases:
    """The releases of the track with the new one first. Raises ReleaseRefused when it would displace a rollout."""
    kept = [other for other in live if not _displaces(release, other)]
    rollouts = [other for other in live if other.get("status") == "inProgress" and other not in kept]
    for rollout in rollouts:
        if not (replace_rollout or _covers(release, rollout)):
            raise ReleaseRefused(
                f"The release {describe(rollout)} is in progress on track {track}; {describe(release)} would end it.",
                cause="A new release takes the place of a staged rollout.",
                hint="Complete or halt the rollout first, or set `replace-rollout: true`.",
                code="rollout-in-progress",
            )
    return (release, *kept)


def settled(live: Sequence[Release], after: Sequence[Release]) -> bool:
    """Whether the track holds these releases already, apart from fields that Play adds by itself."""
    rest = list(live)
    for wanted in after:
        found = next((release for release in rest if _holds(release, wanted)), None)
        if found is None:
            return False
        rest.remove(found)
    return not rest


def describe(release: Release) -> str:
    """A release for people: `278+279 (10 % of users, in progress)`."""
    return f"{'+'.join(codes(release)) or 'no version'} ({in_words(release)})"


def in_words(release: Release) -> str:
    """Whom a release reaches, and its status: `10 % of users, in progress`."""
    status = str(release.get("status", "of unknown status"))
    reach = f"{share(release)} of users" if share(release) else "all users" if status == "completed" else ""
    return ", ".join(filter(None, (reach, _IN_WORDS.get(status, status))))


def share(release: Release) -> str:
    """How many users a staged release is for: `10 %`; empty where it says nothing."""
    fraction = release.get("userFraction")
    return f"{fraction * 100:g} %" if isinstance(fraction, (int, float)) else ""


def user_fraction(release: Release) -> str:
    """The share of users of a staged release, as the input `user-fraction` takes it; empty where it has none."""
    fraction = release.get("userFraction")
    return f"{fraction:.15g}" if isinstance(fraction, (int, float)) else ""


def describe_all(live: Iterable[Release]) -> str:
    """All releases of a track in one line."""
    return "; ".join(describe(release) for release in live) or "empty"


def _with_options(base: Release, options: ReleaseOptions, version_codes: tuple[str, ...]) -> Release:
    release = {**base, "versionCodes": list(version_codes), "status": options.status or base.get("status", "completed")}
    fraction = options.fraction if options.fraction is not None else base.get("userFraction")
    release.pop("userFraction", None)
    if release["status"] in STAGED and fraction is not None:
        release["userFraction"] = fraction
    if options.name:
        release["name"] = options.name
    if options.notes:
        release["releaseNotes"] = [{"language": language, "text": text} for language, text in options.notes]
    if options.priority is not None:
        release["inAppUpdatePriority"] = options.priority
    if options.countries:
        named = [country for country in options.countries if country != REST_OF_WORLD]
        release["countryTargeting"] = {"countries": named, "includeRestOfWorld": REST_OF_WORLD in options.countries}
    return release


def _displaces(release: Release, other: Release) -> bool:
    """Whether `other` can't stay beside the release: the same version codes, or the place that it needs."""
    status, place = release.get("status"), other.get("status")
    if status == "draft":
        return place == "draft"
    return _covers(release, other) or place == status or (place in STAGED and status in {*STAGED, "completed"})


def _covers(release: Release, other: Release) -> bool:
    """Whether every version of `other` goes on in the release."""
    return bool(codes(other)) and set(codes(other)) <= set(codes(release))


def _only_if_any(track: str, found: Sequence[Release], purpose: str) -> Release:
    if not found:
        raise ReleaseRefused(
            f"Track {track} has no release to {purpose}.",
            cause="Nothing has been released on it, its only releases are halted, or the app has no such track.",
            hint="Check the name of the track in the Play Console.",
            code="no-release-on-track",
        )
    return newest(found)


def _holds(release: Release, wanted: Release) -> bool:
    return all(_plain(field, release.get(field)) == _plain(field, value) for field, value in wanted.items())


def _plain(field: str, value: Any) -> Any:
    """A field's value so that two spellings of the same thing are equal."""
    if field == "versionCodes" and isinstance(value, list):
        return {str(code) for code in value}
    if field == "releaseNotes" and isinstance(value, list):
        return {(language, normalised(text)) for language, text in notes_of({field: value})}
    return _DEFAULTS.get(field) if value is None else value
