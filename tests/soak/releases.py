"""One release: what is asked for, which bytes have to be on the server afterwards, and whether they
are, once each.
"""

from __future__ import annotations

import hashlib
import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from google_emulator import specimens

KIB = 1024
LISTING = "play, with a listing"  # drawn like a target
LANGUAGES = ("en-US", "de-DE", "fr-FR")


@dataclass(frozen=True)
class Release:
    """The inputs of a release and the files that it has to bring over, by SHA-256.

    `screenshots` are those of the files that have an order, by language. `replaced` is the one that
    may be sent twice, since a repeat takes the place of the first. `requests` is about how many
    requests a run makes.
    """

    number: int
    inputs: dict[str, str]
    files: tuple[Path, ...]
    screenshots: Mapping[str, tuple[Path, ...]] = field(default_factory=dict)
    replaced: Path | None = None
    requests: int = 8

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(path.stat().st_size for path in self.files)

    @property
    def package(self) -> str:
        """The app of a Play release, one for each release."""
        return f"com.example.soak{self.number}"

    def expected(self) -> Counter[str]:
        """How often each content has to be there."""
        return Counter(map(_sha256, self.files))

    def wrong(self, state: dict[str, Any], *, most: int) -> list[str]:
        """What is lost, doubled or finalised wrongly; `most` is how often a content may be in one
        place at most.
        """
        stored = Counter(one["sha256"] for one in state["objects"])
        expected = self.expected()
        found = [
            f"stored what nobody sent: {digest}"
            for digest in stored
            if digest not in expected
        ]
        found += [f"lost {digest}" for digest in expected if not stored[digest]]
        sessions = [
            session["bytes_repeated"]
            for session in state["sessions"]
            if session["bytes_repeated"]
        ]
        found += [f"sent {count} bytes blindly again" for count in sessions]
        # where the same object twice is the same object
        if self.inputs["target"] == "storage.objects.insert":
            return (
                found
                if len(state["files"]) == len(self.files)
                else [*found, f"{len(state['files'])} objects"]
            )
        # In Play the path names the edit: an edit that was lost or thrown away takes what it holds
        # with it.
        places = Counter((one["path"], one["sha256"]) for one in state["objects"])
        exempt = _sha256(self.replaced) if self.replaced else ""
        found += [
            f"doubled {digest}, {count} times"
            for (_, digest), count in places.items()
            if count > most and digest != exempt
        ]
        return found + (
            self._wrong_release(state) if self.inputs["target"] == "play" else []
        )

    def commits(self, state: dict[str, Any]) -> int:
        """How many edits of this release's app were committed."""
        return sum(
            edit["packageName"] == self.package for edit in state["edits"]["committed"]
        )

    def _wrong_release(self, state: dict[str, Any]) -> list[str]:
        there = state["tracks"].get(self.package, {}).get("internal", [])
        codes = [code for release in there for code in release.get("versionCodes", [])]
        found = [] if self.commits(state) else ["never committed"]
        if codes != ["7"]:
            found.append(f"version codes {codes} on the track")
        images = state["apps"].get(self.package, {}).get("images", {})
        for language, paths in self.screenshots.items():
            live = [
                image["sha256"]
                for image in images.get(f"{language}/phoneScreenshots", [])
            ]
            if live != list(map(_sha256, paths)):
                found.append(
                    f"{len(live)} screenshots in {language}, or in another order"
                )
        return found


def make(number: int, workspace: Path, chance: random.Random) -> Release:
    """A release drawn by lot, its files in the workspace."""
    workspace.mkdir(parents=True)
    target = chance.choice(
        (
            "play",
            "play",
            LISTING,
            "drive.files.create",
            "storage.objects.insert",
            "gmail",
            "ota",
        )
    )
    size = chance.choice(
        (1, 100, 256 * KIB, 300 * KIB, 1024 * KIB, chance.randrange(1, 1500 * KIB))
    )
    common = {
        "target": target,
        "chunk-size": chance.choice(("256KiB", "512KiB", "auto", "auto")),
    }
    if target == LISTING:
        return _make_with_listing(number, workspace, size, common)
    if target == "play":
        release = Release(
            number,
            {**common, "files": "*.aab", "tracks": "internal"},
            (workspace / "app.aab",),
        )
        specimens.make_bundle(
            workspace / "app.aab", release.package, 7, "1.0", size_bytes=size
        )
        return release
    if target == "gmail":
        path = workspace / "letter.eml"
        body = chance.randbytes(min(size, 300 * KIB)).hex()
        lines = "\r\n".join(
            body[start : start + 70] for start in range(0, len(body), 70)
        )
        path.write_bytes(
            "From: a@example.com\r\nTo: b@example.com\r\nSubject: "
            f"{number}\r\n\r\n{lines}\r\n".encode()
        )
        return Release(
            number,
            {**common, "message-file": path.name, "impersonate-user": "a@example.com"},
            (path,),
        )
    count = 1 if target == "ota" else chance.choice((1, 1, 2, 4))
    files = tuple(workspace / f"{place}.zip" for place in range(count))
    for path in files:
        if target == "ota":
            specimens.make_bundle(
                path, f"com.example.soak{number}", 7, "1.0", size_bytes=size
            )
        else:
            path.write_bytes(chance.randbytes(size))
    more = {
        "ota": {"deployment": "d", "package-title": "t"},
        "storage.objects.insert": {"params": "bucket: soak"},
    }.get(target, {})
    return Release(number, {**common, "files": "*.zip", **more}, files)


def _make_with_listing(
    number: int, workspace: Path, size: int, common: Mapping[str, str]
) -> Release:
    """A bundle with its mapping, and three screenshots in each of three languages."""
    bundle, mapping = workspace / "app.aab", workspace / "mapping.txt"
    specimens.make_bundle(
        bundle, f"com.example.soak{number}", 7, "1.0", size_bytes=size
    )
    mapping.write_text(f"com.example.Soak -> a.a:\n    int number{number} -> a\n")
    screenshots = {}
    for place, language in enumerate(LANGUAGES):
        folder = workspace / "listing" / language / "images" / "phoneScreenshots"
        folder.mkdir(parents=True)
        paths = tuple(folder / f"{shot}.png" for shot in range(3))
        for shot, path in enumerate(paths):
            specimens.make_image(path, 320, 640, color=(place, shot, number % 256))
        screenshots[language] = paths
    inputs = {
        **common,
        "target": "play",
        "files": "*.aab",
        "tracks": "internal",
        "mapping-file": mapping.name,
        "images-directory": "listing",
    }
    images = [path for paths in screenshots.values() for path in paths]
    files = (bundle, mapping, *images)
    return Release(number, inputs, files, screenshots, replaced=mapping, requests=35)


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
