"""GitLab's runner: real pipelines of a real repository, carried out by gitlab-ci-local, in a shell
or in containers.
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from tests.container.conftest import HOW

ROOT = Path(__file__).resolve().parents[3]
HERE = ROOT / "tests" / "support" / "runner"


@functools.cache
def tool() -> str:
    """gitlab-ci-local from its lock, fetched once; skips the test, with the reason, where it can't
    be had or run.
    """
    found = subprocess.run(
        ["sh", str(HERE / "gitlab-tool")],
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    if found.returncode:
        pytest.skip(f"GitLab jobs need gitlab-ci-local: {found.stderr.strip()[-300:]}")
    return found.stdout.strip()


def shell() -> tuple[str, ...]:
    """Every job in a shell of this machine, whatever image it names."""
    return ("--force-shell-executor",)


def containers() -> tuple[str, ...]:
    """Every job in its image, with podman, on the host's network; skips the test where there is no
    image.
    """
    if not os.environ.get("UPLOADER_TEST_IMAGE"):
        pytest.skip(HOW)
    made = subprocess.run(
        ["sh", str(HERE / "gitlab-helper")], capture_output=True, text=True, check=False
    )
    assert made.returncode == 0, made.stderr
    return (
        "--container-executable",
        str(HERE / "gitlab-podman"),
        "--pull-policy",
        "if-not-present",
        "--helper-image",
        made.stdout.strip(),
        "--network",
        "host",
    )


@dataclass(frozen=True)
class Pipeline:
    """How a pipeline ended, and the log of all its jobs."""

    code: int
    log: str


@dataclass(frozen=True)
class Project:
    """A repository with the project's component in it. `executor` is what `shell` or `containers`
    gave.
    """

    folder: Path
    executor: Sequence[str]

    def start(self, configuration: Mapping[str, object], **variables: str) -> Pipeline:
        """Commits `.gitlab-ci.yml` and runs its pipeline; `variables` are those of the project."""
        self.commit(configuration)
        options = [
            f"--variable={name}={value}"
            for name, value in {"GITLAB_CI": "true", **variables}.items()
        ]
        return self.run(tool(), *options)

    def run(self, *command: str) -> Pipeline:
        """Runs gitlab-ci-local with this executor."""
        done = subprocess.run(
            [*command, *self.executor],
            cwd=self.folder,
            env=self._environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=110,
            check=False,
        )
        return Pipeline(done.returncode, done.stdout.decode())

    def commit(self, configuration: Mapping[str, object]) -> None:
        """Commits `.gitlab-ci.yml`, the component, and all that lies in the folder."""
        (self.folder / ".gitlab-ci.yml").write_text(
            yaml.safe_dump(dict(configuration), sort_keys=False)
        )
        (self.folder / "templates").mkdir(exist_ok=True)
        shutil.copy(ROOT / "templates" / "upload.yml", self.folder / "templates")
        self._commit()

    def _environment(self) -> dict[str, str]:
        """A machine with the program installed, and nothing of this process."""
        programs = self.folder.with_name(f"{self.folder.name}.bin")
        programs.mkdir(exist_ok=True)
        (programs / "uploader").write_text(
            f'#!/bin/sh\nexec "{sys.executable}" "{ROOT}/entrypoint.py" "$@"\n'
        )
        (programs / "uploader").chmod(0o755)
        kept = {
            name: os.environ[name]
            for name in ("XDG_CACHE_HOME", "HOME")
            if name in os.environ
        }
        return {**kept, "PATH": f"{programs}:{os.environ['PATH']}", "LC_ALL": "C.UTF-8"}

    def _commit(self) -> None:
        author = ("-c", "user.name=a", "-c", "user.email=a@example.com")
        for words in (
            ("init", "--quiet", "--initial-branch=main"),
            ("remote", "add", "origin", "https://gitlab.example.com/octo/app.git"),
            ("add", "--all"),
            (*author, "commit", "--quiet", "--allow-empty", "--message=a release"),
        ):
            subprocess.run(
                ["git", *words],
                cwd=self.folder,
                capture_output=True,
                check=words[0] != "remote",
            )
