"""What Play knows of all apps, the edits of them, and why an edit can no longer be used."""

from __future__ import annotations

import copy
import re
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timezone
from pathlib import Path
from typing import Literal, TypeAlias

from google_emulator.config import Config
from google_emulator.http.request import Request
from google_emulator.http.response import (
    ApiError,
    Json,
    failed_precondition,
    permission_denied,
)
from google_emulator.services.play.locales import check_language

STANDARD_TRACKS = ("production", "beta", "alpha", "internal")
ArtifactKind: TypeAlias = Literal["apk", "bundle"]


@dataclass(frozen=True)
class StoreArtifact:
    """An APK or a bundle in the app's library.

    `size` is in bytes, the digests are in hexadecimal, `name` is the version name, and `path` is
    the uploaded file, if there is one.
    """

    code: int
    kind: ArtifactKind = "bundle"
    sha1: str = "0" * 40
    sha256: str = "0" * 64
    size: int = 0
    name: str = ""
    path: Path | None = None


@dataclass
class AppContent:
    """Everything that an edit copies. Images, expansion files and symbols have keys of their own.

    `testers` are the groups of each track, `countries` those of a track for which they are
    configured.
    """

    tracks: dict[str, list[dict[str, Json]]] = field(default_factory=dict)
    artifacts: dict[int, StoreArtifact] = field(default_factory=dict)
    listings: dict[str, dict[str, Json]] = field(default_factory=dict)
    images: dict[tuple[str, str], list[dict[str, Json]]] = field(default_factory=dict)
    expansion: dict[tuple[int, str], dict[str, Json]] = field(default_factory=dict)
    symbols: dict[tuple[int, str], dict[str, Json]] = field(default_factory=dict)
    details: dict[str, Json] = field(
        default_factory=lambda: {"defaultLanguage": "en-US"}
    )
    testers: dict[str, list[str]] = field(default_factory=dict)
    countries: dict[str, list[str]] = field(default_factory=dict)


@dataclass
class App:
    """One app: its live state, how often that was changed (`revision`), and the version codes that
    are used up.

    `data_safety` is the text of its data safety form.
    """

    package: str
    live: AppContent
    used: set[int]
    revision: int = 0
    data_safety: str = ""


@dataclass
class Edit:
    """One edit. `revision` is that of the app when the edit was opened; `expires` is in seconds
    since the epoch.
    """

    id: str
    package: str
    content: AppContent
    revision: int
    expires: float
    state: Literal["open", "committed", "deleted"] = "open"
    commit_query: dict[str, str] = field(default_factory=dict)

    def resource(self) -> dict[str, Json]:
        """Return the AppEdit resource."""
        return {"id": self.id, "expiryTimeSeconds": str(int(self.expires))}


def configured_app(package: str, live: Mapping[str, Json]) -> App:
    """Return an app with the live state that the configuration has."""
    artifacts = {}
    for entry in live.get("artifacts", []):
        known = {
            name: entry[name] for name in ("kind", "sha1", "sha256") if name in entry
        }
        code = int(entry["versionCode"])
        artifacts[code] = StoreArtifact(
            code, **known, name=entry.get("versionName", "")
        )
    tracks = copy.deepcopy(live.get("tracks", {}))
    for releases in tracks.values():
        for release in releases:
            release["versionCodes"] = [
                str(code) for code in release.get("versionCodes", [])
            ]
            for code in map(int, release["versionCodes"]):
                artifact = artifacts.setdefault(code, StoreArtifact(code))
                if artifact.name:
                    release.setdefault("name", artifact.name)
    content = AppContent(
        tracks=tracks,
        artifacts=artifacts,
        listings=copy.deepcopy(live.get("listings", {})),
    )
    content.details |= live.get("details", {})
    content.testers |= live.get("testers", {})
    content.countries |= live.get("countries", {})
    return App(package, content, {*map(int, live.get("used", [])), *artifacts})


_EDIT_PATH = re.compile(r"/edits/([^/:]+)")
_CLOSED = {
    "deleted": ("This Edit has been deleted.", "editDeleted"),
    "committed": (
        "This edit has already been successfully committed, please create a new Edit.",
        "editAlreadyCommitted",
    ),
}


class PlayStore:
    """All apps and edits. `clock` returns seconds since the epoch."""

    def __init__(self, config: Config, clock: Callable[[], float]) -> None:
        self.apps: dict[str, App] = {}
        self.edits: dict[str, Edit] = {}
        self.config = config
        self._clock = clock
        self.reset()

    def reset(self) -> None:
        """Remove every edit, and reset the apps to the configuration."""
        self.edits.clear()
        self.apps.clear()
        for package, live in self.config.apps.items():
            self.apps[package] = configured_app(package, live)

    def today(self) -> date:
        """Return the present day in UTC."""
        return datetime.fromtimestamp(self._clock(), timezone.utc).date()

    def app(self, package: str) -> App:
        """Return an app; with `any_app`, an unknown one is added. Raises `ApiError` 404 for an
        unknown app, 403 if the account has no permission for it.
        """
        if self.config.granted(package) == []:
            raise permission_denied()
        if package not in self.apps:
            if not self.config.any_app:
                raise ApiError(
                    404,
                    f"Package not found: {package}.",
                    "applicationNotFound",
                    domain="androidpublisher",
                )
            self.apps[package] = App(package, AppContent(), set())
        return self.apps[package]

    def insert_edit(self, package: str) -> Edit:
        """Open an edit, a copy of the live state."""
        app = self.app(package)
        if self.config.one_edit_per_app:
            for other in self.edits.values():
                if other.package == package and other.state == "open":
                    other.state = "deleted"
        edit = Edit(
            id=f"{secrets.randbelow(10**20):020}",
            package=package,
            content=copy.deepcopy(app.live),
            revision=app.revision,
            expires=self._clock() + self.config.edit_lifetime,
        )
        self.edits[edit.id] = edit
        return edit

    def open_edit(self, request: Request) -> Edit:
        """Return the edit in the request's path. Raises `ApiError`, in Google's words, if it can't
        be used.
        """
        app = self.app(request.params["package"])
        edit = self.edits.get(request.params["edit"])
        if edit is None or edit.package != app.package:
            raise ApiError(
                404,
                f"Edit not found: {request.params['edit']}.",
                "editNotFound",
                domain="androidpublisher",
            )
        if edit.state != "open":
            raise failed_precondition(*_CLOSED[edit.state])
        if edit.expires <= self._clock():
            raise failed_precondition(
                "This edit has expired, please create a new Edit.", "editExpired"
            )
        if edit.revision != app.revision:
            raise failed_precondition(
                "A change was made to the application outside of this Edit, please create a new "
                "edit."
            )
        return edit

    def invalidate_edit(self, path: str, how: str) -> bool:
        """Invalidate the open edit named in a path, as another user would. Return whether there was
        one.

        `how` is `deleted`, `expired`, or anything else for another change of the app.
        """
        match = _EDIT_PATH.search(path)
        edit = self.edits.get(match[1]) if match else None
        if edit is None or edit.state != "open":
            return False
        if how == "deleted":
            edit.state = "deleted"
        elif how == "expired":
            edit.expires = 0.0
        else:
            self.app(edit.package).revision += 1
        return True


APPLICATIONS = "/androidpublisher/v3/applications"
EDITS = APPLICATIONS + "/{package}/edits"
EDIT = EDITS + "/{edit}"
APK = EDIT + "/apks/{code}"
LISTINGS = EDIT + "/listings"
LISTING = LISTINGS + "/{language}"


def code_of(request: Request, edit: Edit) -> int:
    """Return the version code in the path. Raises `ApiError` 404 if the edit does not have it."""
    text = request.params["code"]
    code = number_of(text)
    if code not in edit.content.artifacts:
        raise ApiError(
            404,
            f"Version code {text} could not be found.",
            "apkNotFound",
            domain="androidpublisher",
        )
    return code


def number_of(text: str) -> int:
    """Return a version code in a path; -1, which no artifact has, if the text is not one."""
    return int(text) if re.fullmatch("[0-9]{1,10}", text) else -1


def check_track(name: str, content: AppContent, config: Config) -> None:
    """Raise `ApiError` 404 for a track that does not exist."""
    # `wear:production` has a form factor before it
    standard = name.rpartition(":")[2] in STANDARD_TRACKS
    if name not in content.tracks and not standard and not config.any_track:
        raise ApiError(404, f"Track not found: {name}.")


def type_of(request: Request, types: tuple[str, ...]) -> str:
    """Return the type of the file in the path. Raises `ApiError` 400 if it is none of `types`."""
    if request.params["type"] not in types:
        raise ApiError(
            400,
            f"Invalid value {request.params['type']!r}; one of {', '.join(types)} is expected.",
        )
    return request.params["type"]


def language_of(request: Request) -> str:
    """Return the language in the path. Raises `ApiError` 400 if Google Play does not have it."""
    return check_language(request.params["language"])
