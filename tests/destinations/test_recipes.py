"""The recipes of docs/TARGETS.md, each run as it stands there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from google_emulator import specimens
from tests.support.destination_runs import sha256
from tests.support.destinations import noise
from tests.support.job import Job

PAGE = Path(__file__).resolve().parents[2] / "docs" / "TARGETS.md"
RECIPES = {
    step["with"]["target"]: step["with"]
    for step in map(
        yaml.safe_load,
        re.findall(r"^```yaml\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL),
    )
}
HEADS = {".apk": b"PK\x03\x04", ".zip": b"PK\x03\x04", ".mp4": b"\0\0\0\x18ftypisom"}


@pytest.mark.parametrize("target", RECIPES)
def test_a_recipe_does_what_it_says(job: Job, target: str) -> None:
    """Copied as it is, each recipe ends well and every file that it names is where it was sent,
    byte for byte.
    """
    (job.workspace / "dist").mkdir()
    if target == "drive.files.update":  # its file is there already
        (job.workspace / "old.apk").write_bytes(b"old")
        old = {
            "target": "drive.files.create",
            "files": "old.apk",
            "metadata": '{"id": "FILE_ID"}',
        }
        assert job.run(old).code == 0
    before = len(job.emulator.state()["objects"])
    names = RECIPES[target]["files"].split()
    for name in names:
        if target.startswith("firebase"):  # where a file has to be a build
            specimens.make_apk(job.workspace / name, "com.example.app", 7, "1.0")
            continue
        (job.workspace / name).write_bytes(
            noise(5000 + len(name), HEADS.get(Path(name).suffix, b""))
        )
    ended = job.succeed(RECIPES[target])
    stored = job.emulator.state()["objects"][before:]
    assert sorted(one["sha256"] for one in stored) == sorted(
        sha256((job.workspace / name).read_bytes()) for name in names
    )
    assert len(ended.outputs["ids"].split(",")) == len(names)
