"""Kinds of releases whose plans are kept as text below tests/golden/plans, and how a plan is taken
from a real run.

`python -m tests.support.release_plans` writes the files; what changed in them is to be read like
any other change.
"""

from __future__ import annotations

import contextlib
import re
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from google_emulator import Emulator, specimens
from tests.support.fake_play import PACKAGE, release
from tests.support.job import Ended, Job

GOLDEN = Path(__file__).parents[1] / "golden" / "plans"
PRODUCTION = {"target": "play", "package-name": PACKAGE, "tracks": "production"}
NEW = {**PRODUCTION, "files": "app.aab"}
NOTES = {
    "whatsnew/whatsnew-en-US": "Starts faster.\nCrashes less often.\n",
    "whatsnew/whatsnew-de-DE": "Startet schneller.",
}
WITH_NOTES = {"whats-new-directory": "whatsnew"}
ROLLOUT = release(48, status="inProgress", userFraction=0.1, name="1.48")
KEEPS = release(48, 47, status="inProgress", userFraction=0.1, name="1.48")
LIVE = release(
    47, name="1.47", releaseNotes=[{"language": "en-US", "text": "Small repairs."}]
)
TITLE = "listing/en-US/title.txt"
SCREEN = "listing/en-US/images/phoneScreenshots/{}.png"


@dataclass(frozen=True)
class Kind:
    """One kind of release: what is live, what the workspace holds, what is asked for, and by which
    jobs before.

    `files` are texts by path; a number is the version code of a bundle (a watch's in `wear.aab`), a
    pair that of an image's sides in pixels. `before` are runs that come first, each with files of
    its own; the id of the edit that the last of them left open is handed on.
    """

    inputs: Mapping[str, str]
    live: Mapping[str, list[dict[str, Any]]] = field(default_factory=dict)
    files: Mapping[str, str | int | tuple[int, int]] = field(
        default_factory=lambda: {"app.aab": 48}
    )
    before: tuple[
        tuple[Mapping[str, str], Mapping[str, str | int | tuple[int, int]]], ...
    ] = ()

    @property
    def shared(self) -> bool:
        """Whether it works in the edit of a job before it."""
        return any(inputs.get("commit") == "false" for inputs, _ in self.before)


KINDS: Mapping[str, Kind] = {
    "first release on a track": Kind(
        {**NEW, **WITH_NOTES, "tracks": "internal", "release-name": "1.48"},
        files={"app.aab": 48, **NOTES},
    ),
    "update for all users": Kind(
        {**NEW, "mapping-file": "mapping.txt"},
        {"production": [LIVE]},
        {"app.aab": 48, "mapping.txt": "a.B -> c:\n"},
    ),
    "start of a staged rollout": Kind(
        {
            **NEW,
            "user-fraction": "0.1",
            "in-app-update-priority": "3",
            "countries": "DE, FR, rest-of-world",
        },
        {"production": [LIVE]},
    ),
    "raised fraction": Kind(
        {**PRODUCTION, "user-fraction": "0.5"}, {"production": [ROLLOUT, LIVE]}
    ),
    "completed rollout": Kind(
        {**PRODUCTION, "status": "completed"}, {"production": [ROLLOUT, LIVE]}
    ),
    "halted rollout": Kind(
        {**PRODUCTION, "status": "halted"}, {"production": [ROLLOUT, LIVE]}
    ),
    "promotion": Kind(
        {**PRODUCTION, "promote-from": "beta", "user-fraction": "0.2"},
        {
            "production": [LIVE],
            "beta": [
                release(
                    48,
                    name="1.48",
                    releaseNotes=[{"language": "en-US", "text": "Starts faster."}],
                )
            ],
        },
    ),
    "notes alone": Kind({**PRODUCTION, **WITH_NOTES}, {"production": [LIVE]}, NOTES),
    "notes that are cut": Kind(
        {**PRODUCTION, **WITH_NOTES, "whats-new-overflow": "cut"},
        {"production": [LIVE]},
        {
            "whatsnew/whatsnew-en-US": "Starts faster.\n\n"
            + "Crashes less often. " * 30,
            "whatsnew/whatsnew-de-DE": "Startet schneller.",
        },
    ),
    "store listing with pruned images": Kind(
        {
            "target": "play",
            "package-name": PACKAGE,
            "images-directory": "listing",
            "images-prune": "true",
        },
        files={
            TITLE: "Example for everybody",
            "listing/de-DE/title.txt": "Beispiel",
            SCREEN.format("b"): (480, 640),
        },
        before=(
            (
                {
                    "target": "play",
                    "package-name": PACKAGE,
                    "images-directory": "listing",
                },
                {
                    TITLE: "Example",
                    SCREEN.format("a"): (640, 480),
                    SCREEN.format("c"): (600, 600),
                },
            ),
        ),
    ),
    "store listing with images pruned everywhere": Kind(
        {
            "target": "play",
            "package-name": PACKAGE,
            "images-directory": "listing",
            "images-prune": "everywhere",
        },
        files={SCREEN.format("b"): (480, 640)},
        before=(
            (
                {
                    "target": "play",
                    "package-name": PACKAGE,
                    "images-directory": "listing",
                },
                {
                    TITLE: "Example",
                    "listing/de-DE/title.txt": "Beispiel",
                    SCREEN.format("a"): (640, 480),
                    SCREEN.format("c"): (600, 600),
                    "listing/en-US/images/featureGraphic.png": (1024, 500),
                    "listing/de-DE/images/phoneScreenshots/a.png": (640, 480),
                },
            ),
        ),
    ),
    "draft that is not sent for review": Kind(
        {
            **NEW,
            "status": "draft",
            "changes-not-sent-for-review": "true",
            "changes-in-review": "cancel",
        },
        {"production": [ROLLOUT, LIVE]},
        {"app.aab": 49},
    ),
    "watch app with a version that is kept": Kind(
        {
            **NEW,
            "files": "wear.aab",
            "tracks": "wear:production",
            "version-codes-to-retain": "46",
        },
        {"production": [LIVE], "wear:production": [release(46)]},
        {"wear.aab": 1048},
    ),
    "staged release that keeps a version": Kind(
        {**NEW, "user-fraction": "0.1", "version-codes-to-retain": "last-release"},
        {"production": [LIVE]},
    ),
    "wider staged release that keeps a version": Kind(
        {**PRODUCTION, "user-fraction": "0.2"}, {"production": [KEEPS, LIVE]}
    ),
    "mapping for each of two bundles": Kind(
        {
            **NEW,
            "files": "*.aab",
            "mapping-file": "mapping-{version-code}.txt",
            "version-codes-to-retain": "last-release",
        },
        {"production": [LIVE]},
        {
            "app.aab": 48,
            "large.aab": 1048,
            "mapping-48.txt": "a.B -> c:\n",
            "mapping-1048.txt": "a.B -> d:\n",
        },
    ),
    "promotion of a chosen version": Kind(
        {
            **PRODUCTION,
            "promote-from": "beta",
            "promote-version-codes": "48",
            "whats-new": "en-US: Starts faster.",
        },
        {
            "production": [LIVE],
            "beta": [release(48, 1048, name="1.48"), release(49, status="draft")],
        },
    ),
    "shared edit that another job filled": Kind(
        {**NEW, "files": "wear.aab", "tracks": "wear:production"},
        {"production": [LIVE], "wear:production": [release(1047)]},
        {"wear.aab": 1048},
        before=(({**NEW, "user-fraction": "0.1", "commit": "false"}, {"app.aab": 48}),),
    ),
    "commit of a shared edit alone": Kind(
        {"target": "play", "package-name": PACKAGE},
        {"production": [LIVE]},
        {},
        before=(({**NEW, "user-fraction": "0.1", "commit": "false"}, {"app.aab": 48}),),
    ),
    "replaced rollout": Kind(
        {**NEW, "files": "app.aab", "user-fraction": "0.05", "replace-rollout": "true"},
        {"production": [ROLLOUT, LIVE]},
        {"app.aab": 49},
    ),
    "artifact that was tested before": Kind(
        NEW,
        {"production": [LIVE]},
        before=(({**NEW, "tracks": "internal"}, {"app.aab": 48}),),
    ),
    "halted release that comes again": Kind(
        {**NEW, "status": "inProgress", "user-fraction": "0.2"},
        {"production": [LIVE]},
        before=(
            ({**NEW, "user-fraction": "0.1"}, {"app.aab": 48}),
            ({**PRODUCTION, "status": "halted"}, {}),
        ),
    ),
    "release that is there already": Kind(
        NEW, {"production": [LIVE]}, before=((NEW, {"app.aab": 48}),)
    ),
}


@contextlib.contextmanager
def arranged(kind: Kind, folder: Path) -> Iterator[tuple[Job, dict[str, str]]]:
    """The job of a kind, and its inputs, once everything that comes before it has happened."""
    workspace = folder / "workspace"
    with Emulator(config={"apps": {PACKAGE: {"tracks": kind.live}}}) as emulator:
        job, edit = Job(workspace, emulator), ""
        for inputs, files in kind.before:
            _fill(workspace, files)
            ended = job.run(inputs)
            assert ended.code == 0, ended.log
            edit = ended.outputs["edit-id"] if inputs.get("commit") == "false" else ""
            for left in sorted(workspace.rglob("*"), reverse=True):
                left.rmdir() if left.is_dir() else left.unlink()
        _fill(workspace, kind.files)
        yield job, {**kind.inputs, **({"existing-edit-id": edit} if edit else {})}


def _fill(workspace: Path, files: Mapping[str, str | int | tuple[int, int]]) -> None:
    workspace.mkdir(exist_ok=True)
    for name, content in files.items():
        path = workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, str):
            path.write_text(content, encoding="utf-8")
        elif isinstance(content, int):
            watch = specimens.Build(
                features={"android.hardware.type.watch": True}
                if path.stem == "wear"
                else {}
            )
            specimens.make_bundle(path, PACKAGE, content, f"1.{content}", build=watch)
        else:
            specimens.make_image(path, *content)


def plan_of(ended: Ended) -> str:
    """What the log has under the heading of the changes; an edit's id, which is another each time,
    is left out.
    """
    (found,) = re.findall(
        rf"^Changes: {PACKAGE}\n(.*?)^\n", ended.log, re.DOTALL | re.MULTILINE
    )
    return re.sub(r"\bedit \d{20}", "edit …", found)


def golden(name: str) -> Path:
    """Where the plan of a kind of release is kept."""
    return GOLDEN / f"{name.replace(' ', '-')}.txt"


if __name__ == "__main__":
    for name, kind in KINDS.items():
        with (
            tempfile.TemporaryDirectory() as folder,
            arranged(kind, Path(folder)) as (job, inputs),
        ):
            golden(name).write_text(plan_of(job.run(inputs)), encoding="utf-8")
