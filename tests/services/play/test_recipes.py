"""The steps of docs/RECIPES.md and docs/MIGRATION.md are run: their inputs are accepted, and Google
Play takes them.
"""

from __future__ import annotations

import copy
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from google_emulator.specimens import Build, make_bundle
from tests.services.play.test_prepare import full_workspace
from tests.support.factory import make_inputs, prepare
from tests.support.fake_play import Console, Play, release
from tests.support.play_driver import Engine
from uploader.files.artifacts import find
from uploader.files.workspace import Workspace
from uploader.inputs.records import ReleaseInputs

DOCUMENT = Path(__file__).resolve().parents[3] / "docs" / "RECIPES.md"
ACTION = "OWNER/google-release-uploader@v1"
# What the expressions of the recipes stand for.
VALUES = {
    "secrets.PLAY_KEY": "{}",
    "needs.open.outputs.edit-id": "1",
}
ROLLOUT = release(5, status="inProgress", userFraction=0.1)


def steps_of(document: object) -> list[dict[str, Any]]:
    """The steps in a block: a list of steps, or a workflow with jobs."""
    if isinstance(document, list):
        return [step for step in document if isinstance(step, dict)]
    jobs = document.get("jobs", {}) if isinstance(document, dict) else {}
    return [step for job in jobs.values() for step in job["steps"]]


def uses() -> list[dict[str, Any]]:
    """Every use of this action in the recipes, and in what replaces the steps of other tools."""
    pages = "".join(
        page.read_text(encoding="utf-8")
        for page in (DOCUMENT, DOCUMENT.with_name("MIGRATION.md"))
    )
    blocks = re.findall(r"^```yaml\n(.*?)^```", pages, re.MULTILINE | re.DOTALL)
    steps = [step for block in blocks for step in steps_of(yaml.safe_load(block))]
    return [step for step in steps if step.get("uses") == ACTION]


PLAY_USES = [step for step in uses() if step["with"]["target"] == "play"]


def workspace(folder: Path) -> Path:
    """A checkout in which everything that the recipes name was built."""
    watch = Build(features={"android.hardware.type.watch": True})
    for module, code, build in (
        ("app", 6, Build()),
        ("mobile", 6, Build()),
        ("tv", 7, Build()),
        ("wear", 8, watch),
    ):
        path = folder / module / "build/outputs/bundle/release" / f"{module}.aab"
        path.parent.mkdir(parents=True)
        make_bundle(
            path,
            "com.example.watch" if module == "wear" else "com.example.app",
            code,
            f"{code}.0",
            build=build,
        )
        mapping = folder / module / "build/outputs/mapping/release/mapping.txt"
        mapping.parent.mkdir(parents=True)
        mapping.write_text(f"com.example.{module}.Main -> a:\n")
    for flavour in ("free", "pro"):
        path = folder / f"app/build/outputs/bundle/{flavour}Release" / f"{flavour}.aab"
        path.parent.mkdir(parents=True)
        make_bundle(path, f"com.example.{flavour}", 6, "6.0")
        (folder / f"distribution/com.example.{flavour}").mkdir(parents=True)
        (folder / f"distribution/com.example.{flavour}/whatsnew-en-US").write_text(
            "Bugs fixed.", encoding="utf-8"
        )
    full_workspace(folder)
    for notes in (
        "app/src/main/play/release-notes/en-US/beta.txt",
        "metadata/en-US/changelogs/default.txt",
    ):
        (folder / notes).parent.mkdir(parents=True)
        (folder / notes).write_text("Bugs fixed.", encoding="utf-8")
    for old, new in (
        ("whatsnew", "distribution/whatsnew"),
        ("metadata", "fastlane/metadata/android"),
    ):
        (folder / new).parent.mkdir(parents=True, exist_ok=True)
        (folder / old).rename(folder / new)
    return folder


def perform(step: dict[str, Any], folder: Path, play: Play) -> Engine:
    """Runs one step on the model of Play."""
    given = {
        name.replace("-", "_"): _valued(str(value))
        for name, value in step["with"].items()
    }
    inputs = make_inputs(folder, **given)
    files = find(inputs.common.files, Workspace.of(inputs))
    names = inputs.record(ReleaseInputs).package_name
    engine = Engine(
        Console({name: copy.deepcopy(play) for name in names[1:]} | {names[0]: play})
        if names[1:]
        else play
    )
    engine.drive(prepare(inputs, *files).flow)
    return engine


def _valued(text: str) -> str:
    return re.sub(r"\$\{\{ (.*?) \}\}", lambda found: VALUES[found[1]], text)


def test_there_are_recipes() -> None:
    """The block that holds them is found, whatever the page looks like."""
    assert len(PLAY_USES) >= 13
    assert {"friends", "wear:production"} <= {
        step["with"].get("tracks") for step in PLAY_USES
    }


@pytest.mark.parametrize("number", range(len(PLAY_USES)))
def test_every_use_is_accepted(number: int, tmp_path: Path) -> None:
    """No input is unknown, no value is wrong, no combination refused; and but for a dry run it
    changes what is live.
    """
    notes = [{"language": "en-US", "text": "Bugs fixed."}]
    play = Play(
        production=[ROLLOUT, release(2)],
        internal=[release(4)],
        alpha=[release(1021, 1042, 1043, 1044)],
        beta=[release(3, releaseNotes=notes)],
    )
    play.edits = {
        name: copy.deepcopy(play.live) for name in ("1", "01234567890123456789")
    }
    step = PLAY_USES[number]
    allowed = {**step, "with": {"replace-rollout": "true", **step["with"]}}
    before = play.live.content
    perform(allowed, workspace(tmp_path), play)
    assert (play.live.content == before) == ("dry-run" in step["with"])
