"""What Play knows of an app, the edits that are open on it, and why an edit can no longer be used."""

from __future__ import annotations

import copy
import re
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from google_emulator.answers import Json, Refusal

if TYPE_CHECKING:
    from google_emulator.config import Config

STANDARD_TRACKS = ("production", "beta", "alpha", "internal")
_EDIT_PATH = re.compile(r"/edits/([^/:]+)")


@dataclass(slots=True)
class StoreArtifact:
    """An APK or a bundle in the app's library."""

    code: int
    kind: Literal["apk", "bundle"]
    sha1: str
    sha256: str
    size: int


@dataclass(slots=True)
class Content:
    """Everything that an edit is a copy of. Images and expansion files are kept by their own keys."""

    tracks: dict[str, list[dict[str, Json]]] = field(default_factory=dict)
    artifacts: dict[int, StoreArtifact] = field(default_factory=dict)
    listings: dict[str, dict[str, Json]] = field(default_factory=dict)
    images: dict[tuple[str, str], list[dict[str, Json]]] = field(default_factory=dict)
    expansion: dict[tuple[int, str], dict[str, Json]] = field(default_factory=dict)
    symbols: dict[tuple[int, str], dict[str, Json]] = field(default_factory=dict)
    details: dict[str, Json] = field(default_factory=dict)


@dataclass(slots=True)
class App:
    """One app: its live state, how often that was changed, and the version codes that can't be used again."""

    package: str
    live: Content
    used: set[int]
    revision: int = 0


@dataclass(slots=True)
class Edit:
    """One edit. `revision` is the app's when the edit was opened; `expires` is in seconds since the epoch."""

    id: str
    package: str
    content: Content
    revision: int
    expires: float
    state: Literal["open", "committed", "deleted"] = "open"
    commit_query: dict[str, str] = field(default_factory=dict)

    def resource(self) -> dict[str, Json]:
        """The AppEdit resource."""
        return {"id": self.id, "expiryTimeSeconds": str(int(self.expires))}


class PlayStore:
    """All apps and edits."""

    def __init__(self, config: Config, clock: Callable[[], float]) -> None:
        self.apps: dict[str, App] = {}
        self.edits: dict[str, Edit] = {}
        self._config = config
        self._clock = clock
        for package, live in config.apps.items():
            self.apps[package] = _configured(package, live)

    def app(self, package: str) -> App:
        """The app, created by hand long ago. Raises `Refusal` 404 for an unknown one, 403 for a forbidden one."""
        if package in self._config.denied:
            raise Refusal(403, "The caller does not have permission", "forbidden")
        if package not in self.apps:
            if not self._config.any_app:
                raise Refusal(404, f"Package not found: {package}.", "applicationNotFound", domain="androidpublisher")
            self.apps[package] = App(package, Content(), set())
        return self.apps[package]

    def insert(self, package: str) -> Edit:
        """A new edit: a copy of what is live."""
        app = self.app(package)
        if self._config.one_edit_per_app:
            for other in self.edits.values():
                if other.package == package and other.state == "open":
                    other.state = "deleted"
        edit = Edit(
            id=f"{secrets.randbelow(10**20):020}",
            package=package,
            content=copy.deepcopy(app.live),
            revision=app.revision,
            expires=self._clock() + self._config.edit_lifetime,
        )
        self.edits[edit.id] = edit
        return edit

    def edit(self, package: str, edit_id: str) -> Edit:
        """An edit that can be worked in. Raises `Refusal` in Google's words for any other."""
        app = self.app(package)
        edit = self.edits.get(edit_id)
        if edit is None or edit.package != package:
            raise Refusal(404, f"Edit not found: {edit_id}.", "editNotFound", domain="androidpublisher")
        if edit.state == "deleted":
            raise Refusal(400, "This Edit has been deleted.", "editDeleted", state="FAILED_PRECONDITION")
        if edit.state == "committed":
            raise Refusal(
                400,
                "This edit has already been successfully committed, please create a new Edit.",
                "editAlreadyCommitted",
                state="FAILED_PRECONDITION",
            )
        if edit.expires <= self._clock():
            raise Refusal(
                400, "This edit has expired, please create a new Edit.", "editExpired", state="FAILED_PRECONDITION"
            )
        if edit.revision != app.revision:
            raise Refusal(
                400,
                "A change was made to the application outside of this Edit, please create a new edit.",
                "failedPrecondition",
                state="FAILED_PRECONDITION",
            )
        return edit

    def lose(self, path: str, how: str) -> bool:
        """Somebody else spoils the edit named in a path: deletes it, lets it expire, or changes the app."""
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


def _configured(package: str, live: Mapping[str, Json]) -> App:
    """An app with the live state that the configuration gives it."""
    artifacts = {}
    for one in live.get("artifacts", []):
        code = int(one["versionCode"])
        sha1, sha256 = one.get("sha1", "0" * 40), one.get("sha256", "0" * 64)
        artifacts[code] = StoreArtifact(code, one.get("kind", "bundle"), sha1, sha256, 0)
    tracks = copy.deepcopy(live.get("tracks", {}))
    for releases in tracks.values():
        for release in releases:
            release["versionCodes"] = [str(code) for code in release.get("versionCodes", [])]
            for code in map(int, release["versionCodes"]):
                artifacts.setdefault(code, StoreArtifact(code, "bundle", "0" * 40, "0" * 64, 0))
    content = Content(tracks=tracks, artifacts=artifacts, listings=copy.deepcopy(live.get("listings", {})))
    return App(package, content, {*map(int, live.get("used", [])), *artifacts})
