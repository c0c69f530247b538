"""edits.tracks, edits.testers and edits.countryavailability: the releases of a track, who gets
them, and where.

Reference: developers.google.com/android-publisher/api-ref/rest/v3/edits.tracks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import date
from itertools import combinations

from google_emulator.http.request import Request
from google_emulator.http.response import ApiError, Json, invalid_argument
from google_emulator.http.routes import Route
from google_emulator.protocol.uploads import Service
from google_emulator.services.payload_rules import (
    EnumRule,
    Rule,
    boolean,
    double,
    int32,
    int64,
    read_message,
    text,
)
from google_emulator.services.play.locales import (
    COUNTRIES,
    check_countries,
    check_language,
)
from google_emulator.services.play.store import (
    EDIT,
    STANDARD_TRACKS,
    AppContent,
    Edit,
    PlayStore,
    check_track,
)

NOTES_LIMIT = 500  # characters
STATUSES = ("statusUnspecified", "draft", "inProgress", "halted", "completed")
_RELEASE: Mapping[str, Rule] = {
    "name": text,
    "versionCodes": [int64],
    "status": EnumRule("google.play.publishingapi.v3.Release.Status", STATUSES),
    "userFraction": double,
    "releaseNotes": [{"language": text, "text": text}],
    "inAppUpdatePriority": int32,
    "countryTargeting": {"countries": [text], "includeRestOfWorld": boolean},
}
_TRACK_RULE: Mapping[str, Rule] = {"track": text, "releases": [_RELEASE]}


def read_track(value: Json) -> dict[str, Json]:
    """Return the Track in a request. Raises `ApiError` 400 if it is malformed; Google's refusals
    call it `track_config`.
    """
    return read_message(value, _TRACK_RULE, "track_config")


def checked_releases(
    content: AppContent, track: str, wanted: list[dict[str, Json]], today: date
) -> list[dict[str, Json]]:
    """Return releases as Play stores them. Raises `ApiError` 400 for the first rule that they
    break.
    """
    for release in wanted:
        if release.get("status", STATUSES[0]) == STATUSES[0]:
            raise invalid_argument(
                "A release must have a status.", "track_config.releases.status"
            )
        _check_codes(content, release)
        _check_fraction(release)
        _check_notes(release)
        if not 0 <= release.get("inAppUpdatePriority", 0) <= 5:
            raise ApiError(400, "The in-app update priority must be between 0 and 5.")
        _check_targeting(track, release)
    _check_unique(
        (release["status"] for release in wanted),
        "A track can have at most one release with status {}.",
    )
    _check_shared_codes(wanted)
    return [_kept(content, release, today) for release in wanted]


def _check_unique(values: Iterable[str | int], message: str) -> None:
    for value, count in Counter(values).items():
        if count > 1:
            raise ApiError(400, message.format(value))


# The statuses of the releases after which one with this status comes.
_AFTER = {"draft": ("completed", "inProgress", "halted")} | dict.fromkeys(
    ("inProgress", "halted"), ("completed",)
)


def _check_shared_codes(wanted: list[dict[str, Json]]) -> None:
    """Raise `ApiError` 400 for a version code in two releases, unless one of them retains it.

    TrackRelease.versionCodes: "Must include version codes to retain from previous releases." A
    staged release is served "to a fraction of users" beside a completed one, which is served "to
    all users, unless they are eligible to APKs of a more recent release".
    """
    for release, other in combinations(wanted, 2):
        shared = set(release.get("versionCodes", [])) & set(
            other.get("versionCodes", [])
        )
        if shared and not (_retains(release, other) or _retains(other, release)):
            message = (
                f"Version code {min(shared)} is in more than one release of the track."
            )
            raise ApiError(400, message)


def _retains(release: dict[str, Json], previous: dict[str, Json]) -> bool:
    """Return whether a release comes after the other one and has a version code that the other does
    not have.
    """
    new = set(release.get("versionCodes", [])) - set(previous.get("versionCodes", []))
    return bool(new) and previous["status"] in _AFTER.get(release["status"], ())


def _kept(
    content: AppContent, release: dict[str, Json], today: date
) -> dict[str, Json]:
    """Return a release without its empty fields, and with a name.

    TrackRelease.name: "If not set, the name is generated from the APK's version_name. If the
    release contains multiple APKs, the name is generated from the date." The documents do not say
    in which form.
    """
    kept = {
        name: value
        for name, value in release.items()
        if value or name == "userFraction"
    }
    codes = kept.get("versionCodes", [])
    if codes and "name" not in kept:
        names = [content.artifacts[code].name for code in codes]
        name = names[0] if len(codes) == 1 else today.isoformat()
        kept |= {"name": name} if any(names) else {}
    return kept | ({"versionCodes": [str(code) for code in codes]} if codes else {})


def _check_codes(content: AppContent, release: dict[str, Json]) -> None:
    codes = release.get("versionCodes", [])
    if not codes and release["status"] != "draft":
        raise ApiError(400, "A release that is rolled out must have version codes.")
    for code in codes:
        if code not in content.artifacts:
            raise ApiError(
                400, f"Version code {code} could not be found.", "versionCodeNotFound"
            )


def _check_fraction(release: dict[str, Json]) -> None:
    fraction, status = release.get("userFraction"), release["status"]
    if fraction is None:
        if status == "inProgress":
            raise ApiError(
                400, "A release with status inProgress must have a user fraction."
            )
        return
    if status not in ("inProgress", "halted"):
        raise ApiError(
            400, f"A release with status {status} must not have a user fraction."
        )
    if not 0 < fraction < 1:
        raise ApiError(400, "The user fraction must be greater than 0 and less than 1.")


def _check_notes(release: dict[str, Json]) -> None:
    notes = release.get("releaseNotes", [])
    for note in notes:
        language = note.get("language", "")
        check_language(language)
        length = len(note.get("text", ""))
        if length > NOTES_LIMIT:
            raise ApiError(
                400,
                f"Release notes for {language} have {length} characters, the limit "
                f"is {NOTES_LIMIT}.",
            )
    _check_unique(
        (note["language"] for note in notes),
        "Release notes have the language {} twice.",
    )


def _check_halts(
    track: str, before: list[dict[str, Json]], releases: list[dict[str, Json]]
) -> None:
    """Raise `ApiError` 400 for a halt of what everybody has on the internal track, which has no
    staged rollouts.
    """
    everybody = [
        release.get("versionCodes")
        for release in before
        if release["status"] == "completed"
    ]
    halted = [
        release.get("versionCodes")
        for release in releases
        if release["status"] == "halted"
    ]
    if track.rpartition(":")[2] == "internal" and any(
        codes in everybody for codes in halted
    ):
        raise ApiError(
            400, "Cannot halt release, no matching in progress release found."
        )


def _check_shares(live: list[dict[str, Json]], releases: list[dict[str, Json]]) -> None:
    """Raise `ApiError` 400 if a release in progress would reach fewer users than its live share."""
    shares = {
        tuple(release["versionCodes"]): release["userFraction"]
        for release in live
        if release["status"] == "inProgress"
    }
    for release in releases:
        share = shares.get(tuple(release.get("versionCodes", [])), 0)
        if release["status"] == "inProgress" and release["userFraction"] < share:
            raise ApiError(
                400,
                f"The user fraction must not go down; the release has {share:g} already.",
            )


def check_upgrade(live: list[dict[str, Json]], wanted: list[dict[str, Json]]) -> None:
    """Raise `ApiError` 403 for a release that no user of the completed one would be offered, in the
    words that users have reported.
    """
    there = [
        {int(code) for code in release.get("versionCodes", [])} for release in live
    ]
    complete = {
        code
        for release, codes in zip(live, there, strict=True)
        if release["status"] == "completed"
        for code in codes
    }
    for release in wanted:
        codes = {int(code) for code in release.get("versionCodes", [])}
        new = complete and codes and codes not in there and release["status"] != "draft"
        if new and codes.isdisjoint(complete) and max(codes) < min(complete):
            words = (
                "You cannot rollout this release because it does not allow any existing users to "
                "upgrade to the newly"
            )
            raise ApiError(403, f"{words} added APKs.", "forbidden")


def _check_targeting(track: str, release: dict[str, Json]) -> None:
    """Raise `ApiError` 400 for countries in any release but one in progress, or halted, on
    production.

    TrackRelease.countryTargeting: "only allowed to be set for inProgress releases in the production
    track".
    """
    targeting = release.get("countryTargeting")
    if targeting is None:
        return
    check_countries(targeting.get("countries", []))
    if track.rpartition(":")[2] != "production" or release["status"] not in (
        "inProgress",
        "halted",
    ):
        raise ApiError(
            400,
            "Country targeting is only allowed for inProgress releases in the production track.",
        )


_TRACKS = EDIT + "/tracks"
_TRACK = _TRACKS + "/{track}"
_TESTERS = EDIT + "/testers/{track}"
_COUNTRIES = EDIT + "/countryAvailability/{track}"
_FORM_FACTORS = ("FORM_FACTOR_UNSPECIFIED", "DEFAULT", "WEAR", "AUTOMOTIVE")
_TYPES = ("TRACK_TYPE_UNSPECIFIED", "CLOSED_TESTING")
_PREFIXES = {"DEFAULT": "", "WEAR": "wear:", "AUTOMOTIVE": "automotive:"}
_ENUMS = "google.play.publishingapi.v3."
_TESTERS_RULE: Mapping[str, Rule] = {"googleGroups": [text]}
_TRACK_CONFIG: Mapping[str, Rule] = {
    "track": text,
    "type": EnumRule(_ENUMS + "TrackType", _TYPES),
    "formFactor": EnumRule(_ENUMS + "FormFactor", _FORM_FACTORS),
}


# Mail services for people, whose addresses are never those of Google Groups.
_FOR_PEOPLE = (
    "gmail.com",
    "googlemail.com",
    "outlook.com",
    "hotmail.com",
    "yahoo.com",
    "gmx.de",
)


def _may_be_group(address: str) -> bool:
    """Return whether an address can be that of a Google Group. Which groups exist is not known
    here.
    """
    name, _, domain = address.rpartition("@")
    return bool(name) and "." in domain and domain.lower() not in _FOR_PEOPLE


class TracksApi(Service):
    """The tracks of an edit, with their testers and countries."""

    def __init__(self, store: PlayStore) -> None:
        self._store = store
        self.routes = [
            Route("androidpublisher.edits.tracks.list", "GET", _TRACKS, self._list),
            Route(
                "androidpublisher.edits.tracks.create", "POST", _TRACKS, self._create
            ),
            Route("androidpublisher.edits.tracks.get", "GET", _TRACK, self._get),
            Route("androidpublisher.edits.tracks.update", "PUT", _TRACK, self._replace),
            Route(
                "androidpublisher.edits.tracks.patch", "PATCH", _TRACK, self._replace
            ),
            Route(
                "androidpublisher.edits.testers.get", "GET", _TESTERS, self._get_testers
            ),
            Route(
                "androidpublisher.edits.testers.update",
                "PUT",
                _TESTERS,
                self._set_testers,
            ),
            Route(
                "androidpublisher.edits.testers.patch",
                "PATCH",
                _TESTERS,
                self._set_testers,
            ),
            Route(
                "androidpublisher.edits.countryavailability.get",
                "GET",
                _COUNTRIES,
                self._get_countries,
            ),
        ]

    def _list(self, request: Request) -> Json:
        tracks = self._store.open_edit(request).content.tracks
        found = [
            _resource(name, tracks.get(name))
            for name in dict.fromkeys((*STANDARD_TRACKS, *tracks))
        ]
        return {"kind": "androidpublisher#tracksListResponse", "tracks": found}

    def _find(self, request: Request) -> tuple[Edit, str]:
        """Return the edit, and the name of the track in the path. Raises `ApiError` 404 for a track
        that does not exist.
        """
        edit, name = self._store.open_edit(request), request.params["track"]
        check_track(name, edit.content, self._store.config)
        return edit, name

    def _get(self, request: Request) -> Json:
        edit, name = self._find(request)
        return _resource(name, edit.content.tracks.get(name))

    def _create(self, request: Request) -> Json:
        edit = self._store.open_edit(request)
        wanted = read_message(request.json(), _TRACK_CONFIG, "track_config")
        name, prefix = (
            wanted.get("track", ""),
            _PREFIXES.get(wanted.get("formFactor", _FORM_FACTORS[1])),
        )
        if wanted.get("type") != _TYPES[1] or prefix is None:
            raise invalid_argument(
                "A new track has the type CLOSED_TESTING and one of the form factors.",
                "track_config",
            )
        if (
            not name.removeprefix(prefix)
            or not name.startswith(prefix)
            or (":" in name and not prefix)
        ):
            raise invalid_argument(
                f"{name!r} is no name of a track of this form factor.",
                "track_config.track",
            )
        if name in edit.content.tracks or name.removeprefix(prefix) in STANDARD_TRACKS:
            raise ApiError(
                409,
                f"Track {name} already exists.",
                "alreadyExists",
                status_name="ALREADY_EXISTS",
            )
        edit.content.tracks[name] = []
        return {"track": name}

    def _replace(self, request: Request) -> Json:
        """Replace the releases of a track. PATCH without releases keeps them."""
        keep_absent = request.method == "PATCH"
        edit, name = self._find(request)
        wanted = read_track(request.json())
        if wanted.get("track", name if keep_absent else "") != name:
            raise ApiError(
                400, "Track names in request path and request body must match."
            )
        if "releases" in wanted or not keep_absent:
            releases = checked_releases(
                edit.content, name, wanted.get("releases", []), self._store.today()
            )
            _check_halts(name, edit.content.tracks.get(name, []), releases)
            _check_shares(
                self._store.app(edit.package).live.tracks.get(name, []), releases
            )
            edit.content.tracks[name] = releases
        return self._get(request)

    def _get_testers(self, request: Request) -> Json:
        edit, name = self._find(request)
        groups = edit.content.testers.get(name)
        return {"googleGroups": groups} if groups else {}

    def _set_testers(self, request: Request) -> Json:
        edit, name = self._find(request)
        wanted = read_message(request.json(), _TESTERS_RULE, "testers")
        for group in wanted.get("googleGroups", []):
            if not _may_be_group(group):
                raise ApiError(400, f"{group} is not a Google Group.")
        if request.method == "PUT" or "googleGroups" in wanted:
            edit.content.testers[name] = wanted.get("googleGroups", [])
        return self._get_testers(request)

    def _get_countries(self, request: Request) -> Json:
        """Return the countries of a track; without any of its own, those of production, which has
        all unless it is configured.
        """
        edit, name = self._find(request)
        own = edit.content.countries.get(name)
        found = own or edit.content.countries.get("production")
        shown: dict[str, Json] = (
            {} if own or name == "production" else {"syncWithProduction": True}
        )
        shown["countries"] = [
            {"countryCode": code} for code in sorted(found or COUNTRIES)
        ]
        return shown if found else {**shown, "restOfWorld": True}


def _resource(name: str, releases: list[dict[str, Json]] | None) -> dict[str, Json]:
    return {"track": name, "releases": releases} if releases else {"track": name}
