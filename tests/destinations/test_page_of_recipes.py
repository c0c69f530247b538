"""What is beyond `target: play` in docs/RECIPES.md and the examples that it sends to: each step,
and each command.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from google_emulator import specimens
from tests.services.play.test_recipes import ACTION, DOCUMENT, steps_of
from tests.support.job import Job

VALUES = {"github.ref_name": "v1.4.2", "matrix.part": "5"}
EXAMPLES = [
    DOCUMENT.parents[1] / "examples/github" / name
    for name in ("resume.yml", "shards.yml")
]
BLOCKS = re.findall(
    r"^```yaml\n(.*?)^```",
    DOCUMENT.read_text(encoding="utf-8"),
    re.MULTILINE | re.DOTALL,
)
BLOCKS += [example.read_text(encoding="utf-8") for example in EXAMPLES]
STEPS = [step for block in BLOCKS for step in steps_of(yaml.safe_load(block))]
OTHERS = [
    step
    for step in STEPS
    if step.get("uses") == ACTION and step["with"]["target"] != "play"
]
# The head of what the Play Console exports, with one answer.
FORM = """Question ID (machine readable),Response ID (machine readable),Response value,\
Answer requirement,Human-friendly question label
PSL_DATA_COLLECTION_COLLECTS_PERSONAL_DATA,,true,REQUIRED,Does your app collect data?
"""
COMMANDS = {
    step["run"].split()[0]: step
    for step in reversed(STEPS)
    if "run" in step and step.get("name") != "Build"
}
# says how it was called, and what it was given to read
STAND_IN = '#!/bin/sh\necho "$(basename "$0") $*"\ncat\n'
# What shows that a target did its work, in the outputs of its run.
PROOF = {
    "play-rollout": ("decision", "held"),
    "check": ("failure", ""),
    "play-status": ("version-code", "42"),
    "play-listing-pull": ("failure", ""),
    "play-verify": ("served", "same"),
    "play-internal-sharing": ("version-code", ""),
    "play-data-safety": ("failure", ""),
    "firebase-app-distribution": ("release-result", "created"),
    "gmail": ("message-id", "0000000000000001"),
    "storage.objects.insert": ("failure", ""),
}


def given(step: Mapping[str, Any]) -> dict[str, str]:
    """What stands under `with:`, but for the login, which is by the emulator's key."""
    login = ("credentials", "workload-identity-provider")
    values = {
        name: str(value) for name, value in step["with"].items() if name not in login
    }
    return {
        name: re.sub(r"\$\{\{ (.*?) \}\}", lambda found: VALUES[found[1]], text)
        for name, text in values.items()
    }


def checkout(job: Job) -> None:
    """What the recipes find: an app on Google Play, and the files that they name."""
    job.emulator.console.add_release(
        "com.example.app", "production", {"versionCodes": ["41"]}
    )
    rollout = {"versionCodes": ["42"], "status": "inProgress", "userFraction": 0.01}
    job.emulator.console.add_release("com.example.app", "production", rollout)
    for name in (
        "build/report.pdf",
        "CHANGES.txt",
        *(f"dist/{number}.txt" for number in range(9)),
    ):
        (job.workspace / name).parent.mkdir(exist_ok=True)
        (job.workspace / name).write_text(name, encoding="utf-8")
    form = job.workspace / "distribution/data-safety.csv"
    form.parent.mkdir()
    form.write_text(FORM, encoding="utf-8")
    # as the emulator has a version that was not uploaded
    specimens.make_bundle(
        job.workspace / "app-release.aab", "com.example.app", 42, "1.0"
    )
    apk = job.workspace / "app/build/outputs/apk/debug/app-debug.apk"
    apk.parent.mkdir(parents=True)
    specimens.make_apk(apk, "com.example.app", 42, "1.4.2")


@pytest.mark.parametrize("step", OTHERS, ids=lambda step: step["with"]["target"])
def test_a_step_ends_well(job: Job, step: Mapping[str, Any]) -> None:
    """No input is wrong or needless, and the outputs show that it did its work."""
    checkout(job)
    ended = job.succeed(given(step))
    assert ", and ignored: " not in ended.log
    name, value = PROOF[step["with"]["target"]]
    assert ended.outputs.get(name, "") == value, ended.log


def carry_out(step: Mapping[str, Any], folder: Path, **values: str) -> str:
    """What a command prints in GitHub's shell, with stand-ins for what only a runner has."""
    assert set(values) >= set(step.get("env", ())) - {"GH_TOKEN"}
    for name in ("gh", "sudo"):
        (folder / name).write_text(STAND_IN)
        (folder / name).chmod(0o755)
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
        env={"PATH": f"{folder}:{os.environ['PATH']}", "USER": "runner", **values},
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout


def test_the_plan_becomes_a_comment(job: Job, tmp_path: Path) -> None:
    """A line for each track of a real plan."""
    if shutil.which("jq") is None:
        pytest.skip("jq is not installed")
    checkout(job)
    bundle = job.workspace / "app/build/outputs/bundle/release/app.aab"
    bundle.parent.mkdir(parents=True)
    specimens.make_bundle(bundle, "com.example.app", 43, "1.4.3")
    (step,) = [step for step in STEPS if step.get("name") == "Plan the release"]
    plan = job.run(
        given(step) | {"whats-new-directory": "", "replace-rollout": "true"}
    ).outputs["plan"]
    said = carry_out(COMMANDS["jq"], tmp_path, PLAN=plan, PULL_REQUEST="5")
    assert said.startswith("gh pr comment 5 --body-file -\nproduction: [{")
    assert " becomes [{" in said


def test_the_other_commands_run(tmp_path: Path) -> None:
    """They take their values from where the steps put them."""
    assert (
        carry_out(COMMANDS["echo"], tmp_path, URL="https://play.google.com/x")
        == "https://play.google.com/x\n"
    )
    said = carry_out(
        COMMANDS["gh"], tmp_path, APK="dist/app.apk", GITHUB_REF_NAME="v1.4.2"
    )
    assert said == "gh release upload v1.4.2 dist/app.apk\n"
    assert (
        carry_out(COMMANDS["mkdir"], tmp_path)
        == "sudo chown -R runner .uploader-state\n"
    )
    assert (tmp_path / ".uploader-state").is_dir()
    assert set(COMMANDS) == {"jq", "echo", "gh", "mkdir"}
