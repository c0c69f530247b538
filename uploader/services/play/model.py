"""Represent what an edit of Google Play has: tracks, their releases, artifacts and images.

A release keeps the JSON that Google Play answered: an update replaces all releases of a track, so
what this program does not know, and what has an unusual form, has to go back just as it came. The
JSON is read here and nowhere else (resource `edits.tracks` of androidpublisher.v3).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, Literal, Protocol, TypeAlias, TypeVar, cast

from uploader.errors import ProtocolError
from uploader.files.android.notes import normalise

Notes: TypeAlias = tuple[tuple[str, str], ...]
"""Release notes: a language and a text each."""
Status = Literal["", "draft", "inProgress", "halted", "completed"]
"""The status of a release, empty if Google Play gives none. A status that Google adds later is kept
as it is, although it is none of these."""
STAGED: Final[frozenset[Status]] = frozenset({"inProgress", "halted"})
SERVED: Final[frozenset[Status]] = frozenset({"inProgress", "completed"})
REST_OF_WORLD = "rest-of-world"
SAME_SHARE = 1e-6
"""Shares of users that differ by less are the same: Google Play may round them."""
_PROMOTED = ("name", "releaseNotes", "inAppUpdatePriority")
_KEPT = (*_PROMOTED, "countryTargeting")
_STATUS_AND_FRACTION = ("status", "userFraction")
_COUNTRY_TARGETING = frozenset({"countries", "includeRestOfWorld"})
_VERSION_CODE = re.compile(r"[0-9]{1,19}", re.ASCII)  # 64 bits


@dataclass(frozen=True)
class TrackName:
    """The name of a track as Google Play writes it: `production`, `wear:production`."""

    text: str

    @property
    def form_factor(self) -> str:
        """The prefix of the tracks of watches, TVs or cars; empty for the tracks of phones."""
        form_factor, _, _ = self.text.rpartition(":")
        return form_factor

    @property
    def base(self) -> str:
        """The name without the prefix of a form factor."""
        _, _, base = self.text.rpartition(":")
        return base

    def beside(self, base: str) -> str:
        """Return the name of another track for the same form factor."""
        prefix = self.text.removesuffix(self.base)
        return prefix + base


@dataclass(frozen=True)
class Release:
    """One release of a track. `json` is what Google Play has of it, or is to have.

    Two releases are equal if their JSON is. The methods `with_…` return another release, in which
    every other field is as it was.
    """

    json: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_json(cls, entry: Mapping[str, Any]) -> Release:
        """Read a release from a response. Raises ProtocolError if a field that decisions depend on
        (version codes, user fraction, status, name) is not in the documented form.
        """
        if not _is_documented(entry):
            raise ProtocolError(
                "Google Play returned a release in an undocumented format."
            )
        return cls(entry)

    @classmethod
    def of(
        cls,
        version_codes: Iterable[str],
        status: str = "",
        user_fraction: float | None = None,
    ) -> Release:
        """Make a release of version codes; the other fields are left out unless they are given."""
        release = cls().with_version_codes(version_codes)
        if status:
            release = release.with_status(status)
        if user_fraction is not None:
            release = release.with_user_fraction(user_fraction)
        return release

    def to_json(self) -> dict[str, Any]:
        """Return the release as Google Play takes it."""
        return dict(self.json)

    @cached_property
    def version_codes(self) -> tuple[str, ...]:
        """The version codes as decimal numbers, in Google Play's order, which has no meaning."""
        codes = self.json.get("versionCodes") or ()
        return tuple(map(str, codes))

    @property
    def highest_version_code(self) -> int:
        """The highest version code, -1 if there is none."""
        return highest_of(self.version_codes)

    @property
    def status(self) -> Status:
        """The status; empty if Google Play gives none."""
        status = self.json.get("status") or ""
        return cast(Status, status)

    @property
    def user_fraction(self) -> float | None:
        """The share of users, from 0 to 1, who get a staged release; None if it has none."""
        return cast("float | None", self.json.get("userFraction"))

    @property
    def name(self) -> str:
        """The name; empty if it has none."""
        name = self.json.get("name") or ""
        return str(name)

    @property
    def notes(self) -> Notes:
        """The release notes, as far as they are in the documented form."""
        entries = self.json.get("releaseNotes")
        if not isinstance(entries, list):
            return ()
        notes = []
        for entry in entries:
            if isinstance(entry, Mapping):
                language = str(entry.get("language", ""))
                text = str(entry.get("text", ""))
                notes.append((language, text))
        return tuple(notes)

    @property
    def states_notes(self) -> bool:
        """Whether the release has the field for notes, even if it is empty."""
        return "releaseNotes" in self.json

    @property
    def has_notes(self) -> bool:
        """Whether the field for notes has entries. Their texts can be empty."""
        return bool(self.json.get("releaseNotes"))

    @property
    def priority(self) -> int:
        """The in-app update priority, zero if it is left out."""
        priority = self.json.get("inAppUpdatePriority")
        if not isinstance(priority, int):
            return 0
        return priority

    @property
    def countries(self) -> tuple[str, ...]:
        """The countries that the release is for, as the input `countries` names them. Empty if it
        is not limited to countries, or not in the documented form.
        """
        targeting = self.json.get("countryTargeting")
        if not isinstance(targeting, Mapping):
            return ()
        countries: list[str] = []
        named = targeting.get("countries")
        if isinstance(named, list):
            countries += map(str, named)
        if targeting.get("includeRestOfWorld"):
            countries.append(REST_OF_WORLD)
        return tuple(countries)

    @property
    def targets_countries(self) -> bool:
        """Whether the release is limited to countries, in whatever form."""
        return bool(self.json.get("countryTargeting"))

    def has_same_versions(self, other: Release) -> bool:
        """Return whether both have the same version codes, which makes them the same release."""
        return self.has_versions(other.version_codes)

    def has_versions(self, version_codes: Iterable[str]) -> bool:
        """Return whether the release has exactly these version codes, in any order."""
        return set(self.version_codes) == set(version_codes)

    def has_any_of(self, version_codes: Iterable[str]) -> bool:
        """Return whether the release has at least one of these version codes."""
        own = set(self.version_codes)
        return not own.isdisjoint(version_codes)

    def has_same_reach(self, other: Release) -> bool:
        """Return whether both have the same status and the same share of users."""
        if self.status != other.status:
            return False
        return is_same_share(self.user_fraction, other.user_fraction)

    def covers(self, other: Release) -> bool:
        """Return whether this release has every version code of `other`, which has at least one."""
        if not other.version_codes:
            return False
        own = set(self.version_codes)
        return own.issuperset(other.version_codes)

    def with_version_codes(self, version_codes: Iterable[str]) -> Release:
        """Return the release with these version codes instead."""
        return self._with("versionCodes", list(version_codes))

    def with_status(self, status: str) -> Release:
        """Return the release with another status."""
        return self._with("status", status)

    def with_user_fraction(self, fraction: float) -> Release:
        """Return the release for another share of the users."""
        return self._with("userFraction", fraction)

    def without_user_fraction(self) -> Release:
        """Return the release without a share of the users."""
        fields = dict(self.json)
        fields.pop("userFraction", None)
        return Release(fields)

    def with_name(self, name: str) -> Release:
        """Return the release with another name."""
        return self._with("name", name)

    def with_notes(self, notes: Iterable[tuple[str, str]]) -> Release:
        """Return the release with these release notes alone."""
        entries = [{"language": language, "text": text} for language, text in notes]
        return self._with("releaseNotes", entries)

    def with_priority(self, priority: int) -> Release:
        """Return the release with another in-app update priority."""
        return self._with("inAppUpdatePriority", priority)

    def with_countries(self, countries: Collection[str]) -> Release:
        """Return the release for these countries, as the input `countries` has them."""
        named = [country for country in countries if country != REST_OF_WORLD]
        targeting = {
            "countries": named,
            "includeRestOfWorld": REST_OF_WORLD in countries,
        }
        return self._with("countryTargeting", targeting)

    def with_status_and_fraction_of(self, other: Release) -> Release:
        """Return the release with the status and the user fraction of another one; one that the
        other does not have is left out.
        """
        fields = dict(self.json)
        for name in _STATUS_AND_FRACTION:
            fields.pop(name, None)
        fields |= other.part(_STATUS_AND_FRACTION)
        return Release(fields)

    def with_fields_of(self, other: Release) -> Release:
        """Return the release with every field that `other` has."""
        return Release({**self.json, **other.json})

    def kept_fields(self) -> Release:
        """Return the fields that a release on a track keeps unless a job gives others: name, notes,
        priority and countries.
        """
        return Release(self.part(_KEPT))

    def promoted_fields(self) -> Release:
        """Return the fields that a promotion takes beside the version codes: name, notes and
        priority.
        """
        return Release(self.part(_PROMOTED))

    def comparable(self) -> dict[str, Any]:
        """Return the fields that are not null, in a form in which two ways to write the same value
        are equal.
        """
        fields = {name: value for name, value in self.json.items() if value is not None}
        if "versionCodes" in fields:
            fields["versionCodes"] = set(self.version_codes)
        if "releaseNotes" in fields:
            notes = {(language, normalise(text)) for language, text in self.notes}
            fields["releaseNotes"] = notes
        targeting = fields.get("countryTargeting")
        if isinstance(targeting, Mapping) and targeting.keys() <= _COUNTRY_TARGETING:
            fields["countryTargeting"] = set(self.countries)
        return fields

    def has_all_of(self, wanted: Release) -> bool:
        """Return whether the release has every field of another one, with the same value.

        It may have more fields: Google Play adds to a release by itself. An in-app update priority
        that is left out is zero.
        """
        fields = {"inAppUpdatePriority": 0, **self.comparable()}
        for name, value in wanted.comparable().items():
            if name not in fields:
                return False
            if name == "userFraction":
                same = is_same_share(fields[name], value)
            else:
                same = fields[name] == value
            if not same:
                return False
        return True

    def part(self, fields: Iterable[str]) -> dict[str, Any]:
        """Return the JSON of those of the fields that the release has."""
        part = {}
        for name in fields:
            if name in self.json:
                part[name] = self.json[name]
        return part

    def _with(self, name: str, value: object) -> Release:
        """Return the release with another value of one field."""
        return Release({**self.json, name: value})


Releases: TypeAlias = tuple[Release, ...]
ArtifactKind: TypeAlias = Literal["bundles", "apks"]
"""The lists of artifacts that an edit has."""


@dataclass(frozen=True)
class ListedArtifact:
    """A bundle or an APK that an edit has. `json` is its entry in Google Play's list.

    `sha256` is the digest of its bytes in lower-case hex, empty if Google Play states none.
    """

    version_code: int
    sha256: str
    json: Mapping[str, Any]

    @classmethod
    def from_json(cls, entry: Mapping[str, Any]) -> ListedArtifact | None:
        """Read an entry of a list; None for one without a version code."""
        version_code = entry.get("versionCode")
        if not isinstance(version_code, int):
            return None
        sha256 = _stated_sha256(entry)
        # A bundle has its digest itself, an APK in `binary`.
        binary = entry.get("binary")
        if isinstance(binary, Mapping):
            sha256 = _stated_sha256(binary)
        return cls(version_code, sha256, entry)


@dataclass(frozen=True)
class ListedImage:
    """An image of a store listing. `json` is its entry in Google Play's list.

    `sha256` is in lower-case hex. A text that Google Play does not give is empty.
    """

    id: str
    sha256: str
    url: str
    json: Mapping[str, Any]

    @classmethod
    def from_json(cls, entry: Mapping[str, Any]) -> ListedImage:
        """Read an entry of a list, or of the response to an upload."""
        image_id = entry.get("id") or ""
        url = entry.get("url") or ""
        return cls(
            id=str(image_id),
            sha256=_stated_sha256(entry),
            url=str(url),
            json=entry,
        )


def _stated_sha256(entry: Mapping[str, Any]) -> str:
    """Return the digest that Google Play states, in lower case; empty if it states none."""
    digest = str(entry.get("sha256", ""))
    return digest.lower()


@dataclass(frozen=True)
class Track:
    """A track of an app, with the releases on it."""

    name: str
    releases: Releases


def is_same_share(share: float | None, other: float | None) -> bool:
    """Return whether two shares of users are the same, apart from rounding.

    An unknown share (None) is the same as another unknown one alone.
    """
    if share is None or other is None:
        return share is other
    return abs(share - other) < SAME_SHARE


def is_smaller_share(share: float, other: float) -> bool:
    """Return whether a share of users is smaller than another one by more than rounding."""
    if is_same_share(share, other):
        return False
    return share < other


def having_status(releases: Iterable[Release], *statuses: Status) -> list[Release]:
    """Return the releases that have one of these statuses."""
    return [release for release in releases if release.status in statuses]


def find_same_versions(releases: Iterable[Release], wanted: Release) -> Release | None:
    """Return the first release with exactly the version codes of another one; None if none has."""
    for release in releases:
        if release.has_same_versions(wanted):
            return release
    return None


def all_version_codes(releases: Iterable[Release]) -> list[str]:
    """Return the version codes of all releases, with repetitions."""
    version_codes: list[str] = []
    for release in releases:
        version_codes += release.version_codes
    return version_codes


class HasVersionCodes(Protocol):
    """A release in any of Google Play's lists."""

    @property
    def highest_version_code(self) -> int:
        """The highest version code, -1 if there is none."""


AnyRelease = TypeVar("AnyRelease", bound=HasVersionCodes)


def newest(releases: Iterable[AnyRelease]) -> AnyRelease:
    """Return the release with the highest version code. There has to be at least one release."""
    return max(releases, key=lambda release: release.highest_version_code)


def highest_of(version_codes: Iterable[str]) -> int:
    """Return the highest of these version codes as a number, -1 if there is none."""
    return max(map(int, version_codes), default=-1)


def version_code_outputs(version_codes: Sequence[str]) -> dict[str, str]:
    """Return the outputs `version-code`, the highest, and `version-codes`, all in this order."""
    return {
        "version-code": max(version_codes, key=int, default=""),
        "version-codes": ",".join(version_codes),
    }


def _is_documented(entry: Mapping[str, Any]) -> bool:
    """Return whether the fields that decisions depend on are in the documented form."""
    if not _are_version_codes(entry.get("versionCodes") or []):
        return False
    if not _is_fraction(entry.get("userFraction")):
        return False
    if not _is_text(entry.get("status")):
        return False
    return _is_text(entry.get("name"))


def _are_version_codes(value: object) -> bool:
    if not isinstance(value, list):
        return False
    return all(map(_is_version_code, value))


def _is_version_code(value: object) -> bool:
    if not isinstance(value, str | int):
        return False
    return bool(_VERSION_CODE.fullmatch(str(value)))


def _is_fraction(value: object) -> bool:
    if value is None:
        return True
    if isinstance(value, bool):  # an int to Python
        return False
    if not isinstance(value, int | float):
        return False
    return 0 <= value <= 1


def _is_text(value: object) -> bool:
    """Return whether a field is text, or left out."""
    return value is None or isinstance(value, str)


def last_completed(live: Sequence[Release]) -> tuple[str, ...]:
    """Return the version codes of the newest completed release, none if there is none.

    A staged release does not count: whoever retains its versions would give them to all users.
    """
    completed = having_status(live, "completed")
    if not completed:
        return ()
    return newest(completed).version_codes
