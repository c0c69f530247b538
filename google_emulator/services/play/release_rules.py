"""What Play demands of the releases of a track: known version codes, statuses, fractions, notes and countries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from datetime import date

from google_emulator.http.errors import ApiError, invalid_argument
from google_emulator.http.response import Json
from google_emulator.services.payload_rules import (
    EnumRule,
    ListRule,
    MessageRule,
    boolean,
    double,
    int32,
    int64,
    read_message,
    text,
)
from google_emulator.services.play.countries import check_countries
from google_emulator.services.play.languages import check_language
from google_emulator.services.play.model import AppContent

NOTES_LIMIT = 500  # characters
STATUSES = ("statusUnspecified", "draft", "inProgress", "halted", "completed")
_RELEASE = MessageRule(
    {
        "name": text,
        "versionCodes": ListRule(int64),
        "status": EnumRule("google.play.publishingapi.v3.Release.Status", STATUSES),
        "userFraction": double,
        "releaseNotes": ListRule(MessageRule({"language": text, "text": text})),
        "inAppUpdatePriority": int32,
        "countryTargeting": MessageRule({"countries": ListRule(text), "includeRestOfWorld": boolean}),
    }
)
_TRACK = MessageRule({"track": text, "releases": ListRule(_RELEASE)})


def read_track(value: Json) -> dict[str, Json]:
    """A Track from a request. Raises `ApiError` 400 unless it is one; Google's refusals call it `track_config`."""
    return read_message(value, _TRACK, "track_config")


def checked_releases(
    content: AppContent, track: str, wanted: list[dict[str, Json]], today: date
) -> list[dict[str, Json]]:
    """Releases as Play keeps them, once they obey every rule. Raises `ApiError` 400 for the first that they break."""
    for one in wanted:
        for check in _CHECKS:
            check(content, one)
        _check_targeting(track, one)
    _check_unique((one["status"] for one in wanted), "A track can have at most one release with status {}.")
    codes = (code for one in wanted for code in one.get("versionCodes", []))
    _check_unique(codes, "Version code {} is in more than one release of the track.")
    return [_kept(content, one, today) for one in wanted]


def _check_unique(values: Iterable[str | int], message: str) -> None:
    for value, count in Counter(values).items():
        if count > 1:
            raise ApiError(400, message.format(value))


def _kept(content: AppContent, release: dict[str, Json], today: date) -> dict[str, Json]:
    """A release without what is empty, and with a name.

    TrackRelease.name: "If not set, the name is generated from the APK's version_name. If the release contains multiple
    APKs, the name is generated from the date." In which form, the documents do not say.
    """
    kept = {name: value for name, value in release.items() if value or name == "userFraction"}
    codes = kept.get("versionCodes", [])
    if codes and "name" not in kept:
        names = [content.artifacts[code].name for code in codes]
        name = names[0] if len(codes) == 1 else today.isoformat()
        kept |= {"name": name} if any(names) else {}
    return kept | ({"versionCodes": [str(code) for code in codes]} if codes else {})


def _check_status(content: AppContent, release: dict[str, Json]) -> None:
    del content
    if release.get("status", STATUSES[0]) == STATUSES[0]:
        raise invalid_argument("A release must have a status.", "track_config.releases.status")


def _check_codes(content: AppContent, release: dict[str, Json]) -> None:
    codes = release.get("versionCodes", [])
    if not codes and release["status"] != "draft":
        raise ApiError(400, "A release that is rolled out must have version codes.")
    for code in codes:
        if code not in content.artifacts:
            raise ApiError(400, f"Version code {code} could not be found.", "versionCodeNotFound")


def _check_fraction(content: AppContent, release: dict[str, Json]) -> None:
    del content
    fraction, status = release.get("userFraction"), release["status"]
    if fraction is None:
        if status == "inProgress":
            raise ApiError(400, "A release with status inProgress must have a user fraction.")
        return
    if status not in ("inProgress", "halted"):
        raise ApiError(400, f"A release with status {status} must not have a user fraction.")
    if not 0 < fraction < 1:
        raise ApiError(400, "The user fraction must be greater than 0 and less than 1.")


def _check_notes(content: AppContent, release: dict[str, Json]) -> None:
    del content
    notes = release.get("releaseNotes", [])
    for note in notes:
        language = note.get("language", "")
        check_language(language)
        length = len(note.get("text", ""))
        if length > NOTES_LIMIT:
            raise ApiError(400, f"Release notes for {language} have {length} characters, the limit is {NOTES_LIMIT}.")
    _check_unique((note["language"] for note in notes), "Release notes have the language {} twice.")


def _check_priority(content: AppContent, release: dict[str, Json]) -> None:
    del content
    if not 0 <= release.get("inAppUpdatePriority", 0) <= 5:
        raise ApiError(400, "The in-app update priority must be between 0 and 5.")


def check_halts(track: str, before: list[dict[str, Json]], releases: list[dict[str, Json]]) -> None:
    """Refuses (400) to halt what everybody has on the internal track, where nothing is rolled out by steps."""
    everybody = [one.get("versionCodes") for one in before if one["status"] == "completed"]
    halted = [one.get("versionCodes") for one in releases if one["status"] == "halted"]
    if track.rpartition(":")[2] == "internal" and any(codes in everybody for codes in halted):
        raise ApiError(400, "Cannot halt release, no matching in progress release found.")


def _check_targeting(track: str, release: dict[str, Json]) -> None:
    """TrackRelease.countryTargeting: "only allowed to be set for inProgress releases in the production track"."""
    targeting = release.get("countryTargeting")
    if targeting is None:
        return
    check_countries(targeting.get("countries", []))
    if track.rpartition(":")[2] != "production" or release["status"] not in ("inProgress", "halted"):
        raise ApiError(400, "Country targeting is only allowed for inProgress releases in the production track.")


_CHECKS: tuple[Callable[[AppContent, dict[str, Json]], None], ...] = (
    _check_status,
    _check_codes,
    _check_fraction,
    _check_notes,
    _check_priority,
)
