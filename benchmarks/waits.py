"""Counts how many of Google's answers a run waits for, one after the other.

A run is made twice against the emulator: as it is, and with every answer late by the same time. The
difference in seconds, divided by that time, is the number of waits.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from google_emulator import Emulator, specimens

ENTRYPOINT = Path(__file__).resolve().parents[1] / "entrypoint.py"
PACKAGE = "com.example.shop"
MAPPING = "com.example.Shop -> a.a:\n    int price -> a\n"
LANGUAGES = (
    "af",
    "am",
    "ar",
    "az-AZ",
    "be",
    "bg",
    "bn-BD",
    "ca",
    "cs-CZ",
    "da-DK",
    "de-DE",
    "el-GR",
    "en-AU",
    "en-CA",
    "en-GB",
    "en-IN",
    "en-SG",
    "en-US",
    "en-ZA",
    "es-419",
    "es-ES",
    "es-US",
    "et",
    "eu-ES",
    "fa",
    "fi-FI",
    "fil",
    "fr-CA",
    "fr-FR",
    "gl-ES",
    "hi-IN",
    "hr",
    "hu-HU",
    "hy-AM",
    "id",
    "is-IS",
    "it-IT",
    "iw-IL",
    "ja-JP",
    "ka-GE",
)
IMAGE_SIZES = {
    "icon": (512, 512),
    "featureGraphic": (1024, 500),
    "phoneScreenshots": (320, 640),
    "sevenInchScreenshots": (320, 640),
    "tenInchScreenshots": (1080, 1920),
    "tvScreenshots": (1280, 720),
    "wearScreenshots": (384, 384),
    "tvBanner": (1280, 720),
}

Inputs = Mapping[str, str]


@dataclass(frozen=True)
class Row:
    """One kind of run. `fill` makes the contents of its workspace, and `config` is what Google has
    before it.

    `asked` is the largest number of waits that it may take. `before` are the inputs of a run that
    has to come first, in the same workspace and against the same emulator. `others` is how many
    waits other tools took for the same work, counted by hand.
    """

    name: str
    asked: float
    inputs: Inputs
    fill: Callable[[Path], None]
    config: Mapping[str, Any] = field(default_factory=dict)
    before: Inputs | None = None
    others: str = ""


DRAWING = """```mermaid
flowchart LR
    token --> edit[open the edit]
    edit --> tracks[read the tracks] & artifacts[read bundles and APKs]
    edit --> start[start the upload] & listing[read the listing]
    tracks & artifacts & start --> bytes[send the bundle]
    listing --> texts[write the texts] --> images[send the images, four at a time]
    bytes --> mapping[send the mapping] & track[write the track]
    mapping & track & images --> commit
```"""


def page(folder: Path, late: float, rounds: int, rows: Sequence[Row]) -> str:
    """Return the part of the page of measurements that is about waits."""
    lines = ["run | waits | at most | others", "--- | ---: | ---: | ---"]
    for number, row in enumerate(rows):
        waits = count(row, folder / str(number), late, rounds)
        lines.append(f"{row.name} | {waits:.1f} | {row.asked:g} | {row.others}")
    what = (
        "How many of Google's answers a run waits for, one after the other: the seconds that it "
        f"takes longer with every answer {late:g} s late, divided by {late:g} s."
    )
    drawn = "What waits for what in a release with a store listing:"
    return "\n\n".join(["## Waits", what, "\n".join(lines), drawn, DRAWING])


def count(row: Row, folder: Path, late: float, rounds: int) -> float:
    """Return how many answers a run of the row waits for: the median of the rounds."""
    counts = []
    for number in range(rounds):
        at_once = measure(row, folder / f"{number}-at-once", 0.0)
        delayed = measure(row, folder / f"{number}-late", late)
        counts.append((delayed - at_once) / late)
    return median(counts)


def measure(row: Row, folder: Path, late: float) -> float:
    """Return the seconds of one run whose every answer is so many seconds late.

    Raises RuntimeError with the log of a run that fails.
    """
    workspace = folder / "workspace"
    workspace.mkdir(parents=True)
    row.fill(workspace)
    with Emulator(config=dict(row.config)) as emulator:
        if row.before is not None:
            _run(row.before, folder, emulator)
        if late:
            emulator.add_fault("any", "slow-answer", seconds=late, times=10**9)
        return _run(row.inputs, folder, emulator)


def _run(inputs: Inputs, folder: Path, emulator: Emulator) -> float:
    """Run the program once, and return the seconds that it took."""
    given = {
        **inputs,
        "credentials": json.dumps(emulator.key),
        "api-endpoint": emulator.url,
        "state-dir": str(folder / "state"),
    }
    environment = {f"INPUT_{name.upper()}": value for name, value in given.items()}
    environment |= {"PATH": os.environ["PATH"], "HOME": str(folder)}
    began = time.monotonic()
    ended = subprocess.run(
        [sys.executable, str(ENTRYPOINT)],
        cwd=folder / "workspace",
        env=environment,
        check=False,
        capture_output=True,
        text=True,
    )
    seconds = time.monotonic() - began
    if ended.returncode != 0:
        raise RuntimeError(ended.stdout[-3000:] + ended.stderr[-1000:])
    return seconds


# --- the rows -------------------------------------------------------------------------------------


def _bundle(
    workspace: Path, name: str = "app.aab", package: str = PACKAGE, code: int = 42
) -> None:
    specimens.make_bundle(
        workspace / name, package, code, f"1.{code}", size_bytes=300_000
    )


def _release(workspace: Path) -> None:
    _bundle(workspace)
    (workspace / "mapping.txt").write_text(MAPPING)


def _three_apks(workspace: Path) -> None:
    for code in (41, 42, 43):
        specimens.make_apk(workspace / f"{code}.apk", PACKAGE, code, f"1.{code}")
        (workspace / f"{code}.txt").write_text(MAPPING.replace("price", f"price{code}"))


def _texts(workspace: Path, language: str) -> None:
    folder = workspace / "listing" / language
    folder.mkdir(parents=True)
    (folder / "title.txt").write_text(f"Shop {language}")
    (folder / "short_description.txt").write_text("Things to buy.")
    (folder / "full_description.txt").write_text("Many things to buy.")


def _images(workspace: Path, language: str, kind: str, number: int) -> None:
    width, height = IMAGE_SIZES[kind]
    images = workspace / "listing" / language / "images"
    if number == 1:
        images.mkdir(parents=True, exist_ok=True)
        path = images / f"{kind}.png"
        alpha = kind == "icon"
        specimens.make_image(
            path, width, height, color=_color(language, 0), alpha=alpha
        )
        return
    (images / kind).mkdir(parents=True)
    for place in range(number):
        path = images / kind / f"{place}.png"
        specimens.make_image(path, width, height, color=_color(language, place))


def _screenshot(workspace: Path, language: str, kind: str) -> None:
    path = workspace / "listing" / language / "images" / kind / "1.png"
    path.parent.mkdir(parents=True)
    specimens.make_image(path, *IMAGE_SIZES[kind], color=_color(language, 0))


def _color(language: str, place: int) -> tuple[int, int, int]:
    return LANGUAGES.index(language), place, 128


def _release_with_listing(workspace: Path) -> None:
    _bundle(workspace)
    for language in ("en-US", "de-DE", "fr-FR"):
        _texts(workspace, language)
        _images(workspace, language, "icon", 1)
        _images(workspace, language, "featureGraphic", 1)
        _images(workspace, language, "phoneScreenshots", 8)


def _screenshots(workspace: Path) -> None:
    for language in LANGUAGES[10:20]:
        _texts(workspace, language)
        _images(workspace, language, "phoneScreenshots", 6)


def _large_listing(workspace: Path) -> None:
    for language in LANGUAGES:
        _texts(workspace, language)
        for kind in ("icon", "featureGraphic", "tvBanner"):
            _images(workspace, language, kind, 1)


def _listing_to_pull(workspace: Path) -> None:
    for language in LANGUAGES[10:20]:
        _texts(workspace, language)
        for kind in ("icon", "featureGraphic", "tvBanner"):
            _images(workspace, language, kind, 1)
        for kind in IMAGE_SIZES:
            if kind.endswith("Screenshots"):
                _screenshot(workspace, language, kind)


def _ten_apps(workspace: Path) -> None:
    for number in range(10):
        _bundle(workspace, f"{number}.aab", f"com.example.app{number}")


def _nothing(workspace: Path) -> None:
    (workspace / "README").write_text("A workspace without artifacts.")


def _form(workspace: Path) -> None:
    header = (
        "Question ID (machine readable),Response ID (machine readable),Response value"
    )
    (workspace / "form.csv").write_text(
        f"{header},Answer requirement,Human-friendly question label\n"
        "PSL_DATA_COLLECTION_COLLECTS_PERSONAL_DATA,,FALSE,REQUIRED,Does your app collect?\n"
    )


def _attachment(workspace: Path) -> None:
    (workspace / "report.pdf").write_bytes(b"%PDF-1.7\n" + bytes(100_000))


def _package(workspace: Path) -> None:
    with zipfile.ZipFile(workspace / "ota.zip", "w") as package:
        package.writestr("payload.bin", bytes(300_000))


def _live(**tracks: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {"apps": {PACKAGE: {"tracks": tracks}}}


def _of(code: int, **more: Any) -> dict[str, Any]:
    return {
        "versionCodes": [str(code)],
        "status": "completed",
        "name": f"1.{code}",
        **more,
    }


_PLAY = {"target": "play", "package-name": PACKAGE}
_IN_PROGRESS = _of(42, status="inProgress", userFraction=0.05)
_FOUR_TRACKS = {
    "production": [_of(40)],
    "beta": [_of(41)],
    "alpha": [_of(42)],
    "internal": [_of(43)],
}
_MEASURED = {
    PACKAGE: {"versions": {"42": {"since": 5, "users": 9000, "crashRate": 0.001}}}
}

ROWS = (
    Row(
        "release: bundle, mapping, notes, one track",
        6.5,
        {
            **_PLAY,
            "files": "app.aab",
            "tracks": "internal",
            "mapping-file": "mapping.txt",
            "whats-new": "Faster.",
        },
        _release,
        _live(internal=[_of(41)]),
        others="upload-google-play 7, fastlane supply 10",
    ),
    Row(
        "three APKs with a mapping each",
        8,
        {
            **_PLAY,
            "files": "*.apk",
            "tracks": "internal",
            "mapping-file": "41=41.txt\n42=42.txt\n43=43.txt",
        },
        _three_apks,
    ),
    Row(
        "release with a new listing: 3 languages, 30 images",
        14,
        {
            **_PLAY,
            "files": "app.aab",
            "tracks": "internal",
            "images-directory": "listing",
        },
        _release_with_listing,
        others="fastlane supply 31",
    ),
    Row(
        "60 screenshots in 10 languages",
        24,
        {**_PLAY, "images-directory": "listing"},
        _screenshots,
    ),
    Row(
        "a listing of 40 languages and 3 image types, nothing changed",
        14,
        {**_PLAY, "images-directory": "listing"},
        _large_listing,
        before={**_PLAY, "images-directory": "listing"},
    ),
    Row(
        "status of an app with four tracks",
        5,
        {"target": "play-status", "package-name": PACKAGE},
        _nothing,
        _live(**_FOUR_TRACKS),
    ),
    Row(
        "one step of a rollout with a gate",
        6,
        {
            "target": "play-rollout",
            "package-name": PACKAGE,
            "tracks": "production",
            "rollout-steps": "5%, 20%, 100%",
            "halt-above": "crash-rate 1.09%",
        },
        _nothing,
        {**_live(production=[_of(41), _IN_PROGRESS]), "vitals": _MEASURED},
    ),
    Row(
        "ten apps in one run",
        17,
        {
            "target": "play",
            "package-name": "\n".join(
                f"com.example.app{number}" for number in range(10)
            ),
            "files": "*.aab",
            "tracks": "internal",
        },
        _ten_apps,
    ),
    Row(
        "pull of a listing of 10 languages, 8 image types",
        15,
        {
            "target": "play-listing-pull",
            "package-name": PACKAGE,
            "images-directory": "pulled",
        },
        _listing_to_pull,
        before={**_PLAY, "images-directory": "listing"},
    ),
    Row(
        "promotion",
        6,
        {**_PLAY, "promote-from": "internal", "tracks": "production"},
        _nothing,
        _live(internal=[_of(42)], production=[_of(41)]),
    ),
    Row(
        "halt",
        6,
        {**_PLAY, "tracks": "production", "status": "halted"},
        _nothing,
        _live(production=[_of(41), _IN_PROGRESS]),
    ),
    Row(
        "data safety",
        3,
        {"target": "play-data-safety", "package-name": PACKAGE, "files": "form.csv"},
        _form,
    ),
    Row(
        "testers alone",
        7,
        {**_PLAY, "tracks": "alpha", "testers": "testers@example.com"},
        _nothing,
        _live(alpha=[_of(42)]),
    ),
    Row(
        "internal app sharing",
        4,
        {
            "target": "play-internal-sharing",
            "package-name": PACKAGE,
            "files": "app.aab",
        },
        _bundle,
    ),
    Row(
        "a mail with an attachment",
        4,
        {
            "target": "gmail",
            "mail-from": "ci@example.com",
            "mail-to": "team@example.com",
            "mail-subject": "The report",
            "mail-body": "It is attached.",
            "files": "report.pdf",
            "impersonate-user": "ci@example.com",
        },
        _attachment,
    ),
    Row(
        "an OTA package",
        5,
        {
            "target": "ota",
            "deployment": "deployments/1",
            "package-title": "Update",
            "files": "ota.zip",
        },
        _package,
    ),
)
