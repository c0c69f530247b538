"""What Play demands of the releases of a track: known version codes, statuses, fractions, notes and countries."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from google_emulator.http.errors import ApiError
from google_emulator.http.response import Json
from google_emulator.services.play.languages import is_language
from google_emulator.services.play.model import AppContent

STATUSES = ("completed", "inProgress", "halted", "draft")
NOTES_LIMIT = 500  # characters
_FIELDS = {
    "name",
    "versionCodes",
    "status",
    "userFraction",
    "releaseNotes",
    "inAppUpdatePriority",
    "countryTargeting",
}


def checked_releases(content: AppContent, track: str, wanted: Json) -> list[dict[str, Json]]:
    """The releases of a request, once they obey every rule. Raises `ApiError` 400 for the first that they break."""
    if not isinstance(wanted, list) or not all(isinstance(one, dict) for one in wanted):
        raise ApiError(400, "Invalid value at 'releases': a list of releases is expected.")
    releases = [_release(content, dict(one)) for one in wanted]
    for one in releases:
        _check_countries(track, one)
    _check_unique((one["status"] for one in releases), "A track can have at most one release with status {}.")
    codes = (code for one in releases for code in one.get("versionCodes", []))
    _check_unique(codes, "Version code {} is in more than one release of the track.")
    return releases


def _check_unique(values: Iterable[str], message: str) -> None:
    for value, count in Counter(values).items():
        if count > 1:
            raise ApiError(400, message.format(value))


def _release(content: AppContent, release: dict[str, Json]) -> dict[str, Json]:
    unknown = sorted(set(release) - _FIELDS)
    if unknown:
        raise ApiError(400, f"Invalid JSON payload received. Unknown name \"{unknown[0]}\" at 'releases'.")
    for check in _CHECKS:
        check(content, release)
    return release


def _check_status(content: AppContent, release: dict[str, Json]) -> None:
    del content
    if release.get("status") not in STATUSES:
        raise ApiError(400, f"Invalid value at 'releases.status' (TYPE_ENUM), \"{release.get('status')}\"")


def _check_codes(content: AppContent, release: dict[str, Json]) -> None:
    try:
        codes = [int(code) for code in release.get("versionCodes", [])]
    except (TypeError, ValueError):
        raise ApiError(400, "Invalid value at 'releases.versionCodes' (TYPE_INT64)") from None
    if not codes and release["status"] != "draft":
        raise ApiError(400, "A release that is rolled out must have version codes.")
    for code in codes:
        if code not in content.artifacts:
            raise ApiError(400, f"Version code {code} could not be found.", "versionCodeNotFound")
    if codes:
        release["versionCodes"] = [str(code) for code in codes]


def _check_fraction(content: AppContent, release: dict[str, Json]) -> None:
    del content
    fraction: Any = release.get("userFraction")
    status = release["status"]
    if fraction is None:
        if status == "inProgress":
            raise ApiError(400, "A release with status inProgress must have a user fraction.")
        return
    if status not in ("inProgress", "halted"):
        raise ApiError(400, f"A release with status {status} must not have a user fraction.")
    if isinstance(fraction, bool) or not isinstance(fraction, (int, float)) or not 0 < fraction < 1:
        raise ApiError(400, "The user fraction must be greater than 0 and less than 1.")


def _check_notes(content: AppContent, release: dict[str, Json]) -> None:
    del content
    notes = release.get("releaseNotes", [])
    languages = [str(note.get("language", "")) for note in notes]
    for note, language in zip(notes, languages, strict=True):
        if not is_language(language):
            raise ApiError(400, f"Invalid language in release notes: {language!r}.")
        length = len(str(note.get("text", "")))
        if length > NOTES_LIMIT:
            raise ApiError(400, f"Release notes for {language} have {length} characters, the limit is {NOTES_LIMIT}.")
    if len(set(languages)) != len(languages):
        raise ApiError(400, "Release notes have a language twice.")


def _check_priority(content: AppContent, release: dict[str, Json]) -> None:
    del content
    priority = release.get("inAppUpdatePriority", 0)
    if isinstance(priority, bool) or not isinstance(priority, int) or not 0 <= priority <= 5:
        raise ApiError(400, "The in-app update priority must be between 0 and 5.")


def check_halts(track: str, before: list[dict[str, Json]], releases: list[dict[str, Json]]) -> None:
    """Refuses (400) to halt what everybody has on the internal track, where nothing is rolled out by steps."""
    everybody = [one.get("versionCodes") for one in before if one["status"] == "completed"]
    halted = [one.get("versionCodes") for one in releases if one["status"] == "halted"]
    if track.rpartition(":")[2] == "internal" and any(codes in everybody for codes in halted):
        raise ApiError(400, "Cannot halt release, no matching in progress release found.")


def _check_countries(track: str, release: dict[str, Json]) -> None:
    """TrackRelease.countryTargeting: "only allowed to be set for inProgress releases in the production track"."""
    targeting = release.get("countryTargeting")
    if targeting is None:
        return
    countries = targeting.get("countries", []) if isinstance(targeting, dict) else None
    if countries is None or not all(re.fullmatch(r"[A-Z]{2}", str(country)) for country in countries):
        raise ApiError(400, "Countries are two-letter CLDR codes.")
    if track.rpartition(":")[2] != "production" or release["status"] not in ("inProgress", "halted"):
        raise ApiError(400, "Country targeting is only allowed for inProgress releases in the production track.")


_CHECKS: tuple[Callable[[AppContent, dict[str, Json]], None], ...] = (
    _check_status,
    _check_codes,
    _check_fraction,
    _check_notes,
    _check_priority,
)
