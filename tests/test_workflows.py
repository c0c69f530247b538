"""The project's own workflows: a job that may sign or write runs nothing foreign, others may do
neither.
"""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parent.parent
WORKFLOWS = {
    path.stem: path for path in sorted((ROOT / ".github" / "workflows").glob("*.yml"))
}
# The actions that a job with rights uses: GitHub's own, which install nothing.
TRUSTED_ACTIONS = {"actions/checkout", "actions/download-artifact", "actions/attest"}
TRUSTED_SCRIPTS = (
    "check_locks.py",
    "signed_commit.py",
    "release-commit",
    "release-notes",
)
# What such a job says in a shell: commands that move data, and the scripts above. Docker runs and
# builds nothing there.
TRUSTED_COMMAND = re.compile(
    r"(?:cat|cp|test|printf|echo|jq|exit|for|git diff) .*|done|exit|\w+=\S*"
    r"|docker (?:login|load|image inspect|tag|push|buildx imagetools create) .*"
    r"|gh (?:pr|release) (?:create|view) .*"
    rf"|(?:sh|python3 -I) scripts/(?:{'|'.join(map(re.escape, TRUSTED_SCRIPTS))}) .*"
)


def workflow(name: str) -> dict[str, Any]:
    """One workflow, as YAML."""
    parsed: dict[str, Any] = yaml.safe_load(WORKFLOWS[name].read_text(encoding="utf-8"))
    return parsed


JOBS = {
    f"{name}.{job}": body
    for name in WORKFLOWS
    for job, body in workflow(name)["jobs"].items()
}
ACTIONS = {
    key: [step for step in job["steps"] if "uses" in step] for key, job in JOBS.items()
}
WITH_RIGHTS = [key for key, job in JOBS.items() if "write" in str(job["permissions"])]


def commands(job: dict[str, Any]) -> list[str]:
    """Every simple command of a job's steps, taken out of pipes, lists, loops and substitutions."""
    text = "\n".join(step.get("run", "") for step in job["steps"]).replace("\\\n", " ")
    found = re.split(r"[\n|;&`]|\$\(|[<>]\(|\b(?:do|then|else)\b", text)
    return [" ".join(command.split()) for command in found if command.strip()]


@pytest.mark.parametrize("name", WORKFLOWS)
def test_nothing_is_allowed_but_what_a_job_names(name: str) -> None:
    """A workflow itself has no right; each job lists its own, which the tests below judge."""
    assert workflow(name)["permissions"] == {}
    assert all(
        isinstance(job["permissions"], dict) for job in workflow(name)["jobs"].values()
    )


@pytest.mark.parametrize("key", sorted(JOBS.keys() - set(WITH_RIGHTS)))
def test_a_job_that_runs_foreign_code_has_nothing_to_steal(key: str) -> None:
    """It reads the repository, as everyone may, and has neither a token nor a secret."""
    assert JOBS[key]["permissions"] == {"contents": "read"}
    assert not re.search(
        r"secrets|github\.token|GITHUB_TOKEN|GH_TOKEN|environment",
        yaml.safe_dump(JOBS[key]),
    )


@pytest.mark.parametrize("key", WITH_RIGHTS)
def test_a_job_with_rights_runs_nothing_foreign(key: str) -> None:
    """It installs nothing, builds nothing, and runs of the project the scripts that are named above
    alone.
    """
    assert {step["uses"].partition("@")[0] for step in ACTIONS[key]} <= TRUSTED_ACTIONS
    assert [
        command
        for command in commands(JOBS[key])
        if not TRUSTED_COMMAND.fullmatch(command)
    ] == []
    assert not JOBS[key].keys() & {"container", "services"}


# with the one that `release-commit` calls
@pytest.mark.parametrize("name", [*TRUSTED_SCRIPTS, "stamp"])
def test_its_scripts_need_nothing_that_was_installed(name: str) -> None:
    """They import the standard library alone, and call no installer and no script but one
    another.
    """
    text = (ROOT / "scripts" / name).read_text(encoding="utf-8")
    if name.endswith(".py"):
        nodes = list(ast.walk(ast.parse(text)))
        roots = {
            alias.name.split(".")[0]
            for node in nodes
            if isinstance(node, ast.Import)
            for alias in node.names
        }
        roots |= {
            str(node.module).split(".")[0]
            for node in nodes
            if isinstance(node, ast.ImportFrom)
        }
        assert roots <= sys.stdlib_module_names
        # the module's docstring names pip
        text = text.split('"""', 2)[2]
    called = set(re.findall(r"\bscripts/([\w.-]+)", text))
    assert called <= {*TRUSTED_SCRIPTS, "stamp"}
    assert not re.search(
        r"\b(?:pip|pipx|uv|uvx|npm|npx|apt|apt-get|make|curl|wget|\.venv)\b", text
    )


@pytest.mark.parametrize("key", ["release.publish", "release.release"])
def test_a_release_waits_for_approval(key: str) -> None:
    """What signs and what publishes belongs to an environment, which has reviewers."""
    assert JOBS[key]["environment"] == "release"


@pytest.mark.parametrize("key", JOBS)
def test_artifacts_are_taken_by_id(key: str) -> None:
    """A job that ran foreign code can put another artifact under the same name, but never under the
    same id.
    """
    downloads = [
        step["with"]
        for step in ACTIONS[key]
        if step["uses"].startswith("actions/download-artifact@")
    ]
    assert all(given["artifact-ids"].startswith("${{ needs.") for given in downloads)
    assert not any(
        {"name", "pattern", "run-id", "digest-mismatch"} & given.keys()
        for given in downloads
    )


@pytest.mark.parametrize("key", JOBS)
def test_no_image_is_mutable(key: str) -> None:
    """None is pulled by a tag: no emulator, builder or scanner in a container, no image to run
    in.
    """
    job = JOBS[key]
    assert not job.keys() & {"container", "services"}
    assert not any(
        step["uses"].startswith(("docker/", "docker:")) for step in ACTIONS[key]
    )
    docker = [command for command in commands(job) if command.startswith("docker ")]
    assert not [
        command
        for command in docker
        if re.match(r"docker (?:pull|buildx (?!imagetools create)|compose)", command)
    ]
    built = {
        tag
        for command in docker
        for tag in re.findall(r"docker build .*--tag (\S+)", command)
    }
    run = {
        image
        for command in docker
        for image in re.findall(r"docker run --rm (?:--entrypoint \w+ )?(\S+)", command)
    }
    assert run <= built


def test_the_image_begins_with_a_digest() -> None:
    """Every stage of the Dockerfile, unless it begins with nothing, and no frontend from
    elsewhere.
    """
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    stages = re.findall(r"^FROM (\S+)(?: AS (\w+))?$", text, re.MULTILINE)
    assert len(stages) == text.count("FROM ")
    assert all(
        image == "scratch" or re.fullmatch(r"\S+:\S+@sha256:[0-9a-f]{64}", image)
        for image, _ in stages
    )
    assert set(re.findall(r"--from=(\S+)", text)) <= {name for _, name in stages}
    assert "syntax=" not in text
