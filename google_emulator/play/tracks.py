"""edits.tracks: list, get, create, update, patch; an update replaces the releases, and each obeys rules."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from typing import Any

from google_emulator.answers import Answer, Json, Refusal, as_json
from google_emulator.exchange import Exchange
from google_emulator.play.edits import BASE, open_edit
from google_emulator.play.model import STANDARD_TRACKS, Edit
from google_emulator.router import Route

STATUSES = ("completed", "inProgress", "halted", "draft")
NOTES_LIMIT = 500
LANGUAGE = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})*")
_FIELDS = {
    "name",
    "versionCodes",
    "status",
    "userFraction",
    "releaseNotes",
    "inAppUpdatePriority",
    "countryTargeting",
}


def _track(name: str, releases: list[dict[str, Json]] | None) -> dict[str, Json]:
    return {"track": name, "releases": releases} if releases else {"track": name}


def _known(x: Exchange, edit: Edit, name: str) -> bool:
    base = name.rpartition(":")[2]
    return name in edit.content.tracks or base in STANDARD_TRACKS or x.world.config.any_track


def _list(x: Exchange) -> Answer:
    tracks = open_edit(x).content.tracks
    names = dict.fromkeys((*STANDARD_TRACKS, *tracks))
    found = [_track(name, tracks.get(name)) for name in names]
    return as_json({"kind": "androidpublisher#tracksListResponse", "tracks": found})


def _find(x: Exchange) -> tuple[Edit, str]:
    edit, name = open_edit(x), x.params["track"]
    if not _known(x, edit, name):
        raise Refusal(404, f"Track not found: {name}.", "trackNotFound", domain="androidpublisher")
    return edit, name


def _get(x: Exchange) -> Answer:
    edit, name = _find(x)
    return as_json(_track(name, edit.content.tracks.get(name)))


def _create(x: Exchange) -> Answer:
    edit, config = open_edit(x), x.json()
    name = str(config.get("track", ""))
    if not name or name in edit.content.tracks or name in STANDARD_TRACKS:
        raise Refusal(400, f"Track {name!r} can't be created.")
    edit.content.tracks[name] = []
    return as_json(_track(name, None))


def _replace(x: Exchange, *, keep_absent: bool) -> Answer:
    edit, name = _find(x)
    wanted = x.json()
    if wanted.get("track", name) != name:
        raise Refusal(400, f"The track in the body is {wanted['track']!r}, the one in the path {name!r}.")
    if "releases" in wanted or not keep_absent:
        releases = _releases(edit, name, wanted.get("releases", []))
        _check_halts(name, edit.content.tracks.get(name, []), releases)
        edit.content.tracks[name] = releases
    return as_json(_track(name, edit.content.tracks.get(name)))


def _update(x: Exchange) -> Answer:
    return _replace(x, keep_absent=False)


def _patch(x: Exchange) -> Answer:
    return _replace(x, keep_absent=True)


def _releases(edit: Edit, name: str, wanted: Json) -> list[dict[str, Json]]:
    if not isinstance(wanted, list) or not all(isinstance(one, dict) for one in wanted):
        raise Refusal(400, "Invalid value at 'releases': a list of releases is expected.")
    releases = [_release(edit, dict(one)) for one in wanted]
    for one in releases:
        _check_countries(name, one)
    statuses = Counter(one["status"] for one in releases)
    for status, count in statuses.items():
        if count > 1:
            raise Refusal(400, f"A track can have at most one release with status {status}.")
    codes = Counter(code for one in releases for code in one.get("versionCodes", []))
    for code, count in codes.items():
        if count > 1:
            raise Refusal(400, f"Version code {code} is in more than one release of the track.")
    return releases


def _release(edit: Edit, release: dict[str, Json]) -> dict[str, Json]:
    unknown = sorted(set(release) - _FIELDS)
    if unknown:
        raise Refusal(400, f"Invalid JSON payload received. Unknown name \"{unknown[0]}\" at 'releases'.")
    for check in _CHECKS:
        check(edit, release)
    return release


def _check_status(edit: Edit, release: dict[str, Json]) -> None:
    del edit
    if release.get("status") not in STATUSES:
        raise Refusal(400, f"Invalid value at 'releases.status' (TYPE_ENUM), \"{release.get('status')}\"")


def _check_codes(edit: Edit, release: dict[str, Json]) -> None:
    try:
        codes = [int(code) for code in release.get("versionCodes", [])]
    except (TypeError, ValueError):
        raise Refusal(400, "Invalid value at 'releases.versionCodes' (TYPE_INT64)") from None
    if not codes and release["status"] != "draft":
        raise Refusal(400, "A release that is rolled out must have version codes.")
    for code in codes:
        if code not in edit.content.artifacts:
            raise Refusal(400, f"Version code {code} could not be found.", "versionCodeNotFound")
    if codes:
        release["versionCodes"] = [str(code) for code in codes]


def _check_fraction(edit: Edit, release: dict[str, Json]) -> None:
    del edit
    fraction: Any = release.get("userFraction")
    status = release["status"]
    if fraction is None:
        if status == "inProgress":
            raise Refusal(400, "A release with status inProgress must have a user fraction.")
        return
    if status not in ("inProgress", "halted"):
        raise Refusal(400, f"A release with status {status} must not have a user fraction.")
    if isinstance(fraction, bool) or not isinstance(fraction, (int, float)) or not 0 < fraction < 1:
        raise Refusal(400, "The user fraction must be greater than 0 and less than 1.")


def _check_notes(edit: Edit, release: dict[str, Json]) -> None:
    del edit
    notes = release.get("releaseNotes", [])
    languages = [str(note.get("language", "")) for note in notes]
    for note, language in zip(notes, languages, strict=True):
        if not LANGUAGE.fullmatch(language):
            raise Refusal(400, f"Invalid language in release notes: {language!r}.")
        length = len(str(note.get("text", "")))
        if length > NOTES_LIMIT:
            raise Refusal(400, f"Release notes for {language} have {length} characters, the limit is {NOTES_LIMIT}.")
    if len(set(languages)) != len(languages):
        raise Refusal(400, "Release notes have a language twice.")


def _check_priority(edit: Edit, release: dict[str, Json]) -> None:
    del edit
    priority = release.get("inAppUpdatePriority", 0)
    if isinstance(priority, bool) or not isinstance(priority, int) or not 0 <= priority <= 5:
        raise Refusal(400, "The in-app update priority must be between 0 and 5.")


def _check_halts(name: str, before: list[dict[str, Json]], releases: list[dict[str, Json]]) -> None:
    """What everybody has can be halted, but never on the internal track, where nothing is rolled out by steps."""
    everybody = [one.get("versionCodes") for one in before if one["status"] == "completed"]
    halted = [one.get("versionCodes") for one in releases if one["status"] == "halted"]
    if name.rpartition(":")[2] == "internal" and any(codes in everybody for codes in halted):
        raise Refusal(400, "Cannot halt release, no matching in progress release found.")


def _check_countries(name: str, release: dict[str, Json]) -> None:
    """TrackRelease.countryTargeting: "only allowed to be set for inProgress releases in the production track"."""
    targeting = release.get("countryTargeting")
    if targeting is None:
        return
    countries = targeting.get("countries", []) if isinstance(targeting, dict) else None
    if countries is None or not all(re.fullmatch(r"[A-Z]{2}", str(country)) for country in countries):
        raise Refusal(400, "Countries are two-letter CLDR codes.")
    if name.rpartition(":")[2] != "production" or release["status"] not in ("inProgress", "halted"):
        raise Refusal(400, "Country targeting is only allowed for inProgress releases in the production track.")


_CHECKS: tuple[Callable[[Edit, dict[str, Json]], None], ...] = (
    _check_status,
    _check_codes,
    _check_fraction,
    _check_notes,
    _check_priority,
)

_TRACKS = BASE + "/{edit}/tracks"
ROUTES = (
    Route("androidpublisher.edits.tracks.list", "GET", _TRACKS, _list),
    Route("androidpublisher.edits.tracks.create", "POST", _TRACKS, _create),
    Route("androidpublisher.edits.tracks.get", "GET", _TRACKS + "/{track}", _get),
    Route("androidpublisher.edits.tracks.update", "PUT", _TRACKS + "/{track}", _update),
    Route("androidpublisher.edits.tracks.patch", "PATCH", _TRACKS + "/{track}", _patch),
)
