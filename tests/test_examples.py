"""The complete workflows in examples/: every step is accepted, and the rehearsal is really rehearsed."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from google_emulator import specimens
from scripts.make_reference import LEFT_OUT
from tests.support.job import Job
from uploader import inputs

ROOT = Path(__file__).resolve().parent.parent
GITHUB = sorted((ROOT / "examples" / "github").glob("*.yml"))
GITLAB = sorted((ROOT / "examples" / "gitlab").glob("*.yml"))
VALUES = {"matrix.part": "2", "secrets.": "a-key-of-this-job", "edit": "0123", "version-code": "7"}


def as_written(path: Path) -> Any:
    """YAML whose scalars stay text, as a CI system passes them on."""
    return yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.BaseLoader)  # noqa: S506 - BaseLoader builds nothing but str, list and dict


def steps(path: Path) -> Iterator[dict[str, str]]:
    """What stands under `with:` in each step of this action, its expressions replaced by what could stand there."""
    for job in as_written(path)["jobs"].values():
        for step in job["steps"]:
            if "google-release-uploader@" in step.get("uses", ""):
                yield {name: re.sub(r"\$\{\{ (.*?) \}\}", _value, text) for name, text in step["with"].items()}


def _value(expression: re.Match[str]) -> str:
    return next((value for part, value in VALUES.items() if part in expression[1]), "v1.0.0")


@pytest.mark.parametrize("path", GITHUB, ids=lambda path: path.stem)
def test_a_workflow_has_no_wrong_input(path: Path) -> None:
    """Each step of this action is read without a problem and without a warning."""
    found = list(steps(path))
    assert found
    for given in found:
        environ = {f"INPUT_{name.upper()}": value for name, value in given.items()}
        read, problems = inputs.read({"GITHUB_ACTIONS": "true", **environ}, ())
        assert (problems, read.warnings) == ((), ())


@pytest.mark.parametrize("path", GITHUB, ids=lambda path: path.stem)
def test_a_workflow_asks_for_no_more_than_it_needs(path: Path) -> None:
    """No permission by default, each named by its job; runs that change the same app or archive wait for each other."""
    workflow = as_written(path)
    assert workflow["permissions"] == {}
    assert "group" in workflow["concurrency"]
    for job in workflow["jobs"].values():
        keyless, attests = (word in str(job["steps"]) for word in ("workload-identity-provider", "actions/attest@"))
        needed = {"id-token": "write"} if keyless or attests else {}
        needed |= {"attestations": "write"} if attests else {}
        assert job["permissions"] == {"contents": "read", **needed}
        assert "timeout-minutes" in job


@pytest.mark.parametrize("path", GITLAB, ids=lambda path: path.stem)
def test_a_gitlab_job_has_no_wrong_variable(path: Path) -> None:
    """The variables of jobs with the image, and the component's inputs, are this program's."""
    configuration = as_written(path)
    found = [job["variables"] for job in configuration.values() if isinstance(job, dict) and "variables" in job]
    known = {field.name for field in inputs.fields()} - set(LEFT_OUT) | {
        "stage",
        "job-name",
        "image",
        "rules",
        "resource-group",
    }
    for include in configuration.get("include", []):
        assert set(include["inputs"]) <= known
        found.append({f"UPLOADER_{name.upper().replace('-', '_')}": text for name, text in include["inputs"].items()})
    assert found
    for variables in found:
        ours = {
            name: text for name, text in variables.items() if name not in ("UPLOADER_STAGE", "UPLOADER_RESOURCE_GROUP")
        }
        read, problems = inputs.read({"GITLAB_CI": "true", **ours}, ())
        assert (problems, read.warnings) == ((), ())


def test_the_rehearsal_runs_as_it_stands(job: Job) -> None:
    """Whoever copies it sees a release without owning a key."""
    (given,) = steps(ROOT / "examples" / "github" / "rehearsal.yml")
    folder = job.workspace / "app" / "build" / "outputs" / "bundle" / "release"
    folder.mkdir(parents=True)
    specimens.make_bundle(folder / "app-release.aab", "com.example.app", 7, "1.4.2")
    step = job.run({"credentials": "", **given})
    assert (step.code, step.outputs["version-code"]) == (0, "7"), step.log
    assert (step.outputs["committed"], step.outputs["rehearsal"]) == ("false", "true")
    assert "NOTHING WAS PUBLISHED" in step.summary


def test_the_demo_ends_well() -> None:
    """Every byte is where it belongs, and each day of the rollouts is decided as it should be."""
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "demo.py")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(done.stdout.splitlines()) <= 40
