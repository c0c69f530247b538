"""The values of the Play store: an app, its content, an artifact in its library, and an edit."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from google_emulator.http.response import Json
from google_emulator.services.play.review_course import Review

STANDARD_TRACKS = ("production", "beta", "alpha", "internal")
ArtifactKind: TypeAlias = Literal["apk", "bundle"]


@dataclass(frozen=True, slots=True)
class StoreArtifact:
    """An APK or a bundle in the app's library. `size` is in bytes, the digests in hexadecimal, `name` its version's."""

    code: int
    kind: ArtifactKind
    sha1: str
    sha256: str
    size: int
    name: str = ""


@dataclass(slots=True)
class AppContent:
    """Everything that an edit is a copy of. Images, expansion files and symbols are kept by their own keys.

    `testers` are the groups of each track, `countries` where a track is to be had, if that was said.
    """

    tracks: dict[str, list[dict[str, Json]]] = field(default_factory=dict)
    artifacts: dict[int, StoreArtifact] = field(default_factory=dict)
    listings: dict[str, dict[str, Json]] = field(default_factory=dict)
    images: dict[tuple[str, str], list[dict[str, Json]]] = field(default_factory=dict)
    expansion: dict[tuple[int, str], dict[str, Json]] = field(default_factory=dict)
    symbols: dict[tuple[int, str], dict[str, Json]] = field(default_factory=dict)
    details: dict[str, Json] = field(default_factory=lambda: {"defaultLanguage": "en-US"})
    testers: dict[str, list[str]] = field(default_factory=dict)
    countries: dict[str, list[str]] = field(default_factory=dict)


@dataclass(slots=True)
class App:
    """One app: its live state, how often that was changed, and the version codes that can't be used again.

    `reviews` are those of its releases by track, `products` what is sold in it, by kind and id.
    """

    package: str
    live: AppContent
    used: set[int]
    revision: int = 0
    reviews: dict[str, list[Review]] = field(default_factory=dict)
    products: dict[str, dict[str, dict[str, Json]]] = field(default_factory=dict)


@dataclass(slots=True)
class Edit:
    """One edit. `revision` is the app's when the edit was opened; `expires` is in seconds since the epoch."""

    id: str
    package: str
    content: AppContent
    revision: int
    expires: float
    state: Literal["open", "committed", "deleted"] = "open"
    commit_query: dict[str, str] = field(default_factory=dict)

    def resource(self) -> dict[str, Json]:
        """The AppEdit resource."""
        return {"id": self.id, "expiryTimeSeconds": str(int(self.expires))}


def configured_app(package: str, live: Mapping[str, Json]) -> App:
    """An app with the live state that the configuration gives it."""
    artifacts = {}
    for one in live.get("artifacts", []):
        code = int(one["versionCode"])
        sha1, sha256 = one.get("sha1", "0" * 40), one.get("sha256", "0" * 64)
        artifacts[code] = StoreArtifact(
            code, one.get("kind", "bundle"), sha1, sha256, 0, name=one.get("versionName", "")
        )
    tracks = copy.deepcopy(live.get("tracks", {}))
    for releases in tracks.values():
        for release in releases:
            release["versionCodes"] = [str(code) for code in release.get("versionCodes", [])]
            for code in map(int, release["versionCodes"]):
                known = artifacts.setdefault(code, StoreArtifact(code, "bundle", "0" * 40, "0" * 64, 0))
                if known.name:
                    release.setdefault("name", known.name)
    content = AppContent(tracks=tracks, artifacts=artifacts, listings=copy.deepcopy(live.get("listings", {})))
    content.details |= live.get("details", {})
    content.testers |= live.get("testers", {})
    content.countries |= live.get("countries", {})
    return App(package, content, {*map(int, live.get("used", [])), *artifacts})
