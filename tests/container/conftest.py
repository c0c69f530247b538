"""The built image as a fixture. Without one the tests that need it are skipped, counted, and say
how to get it.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
HOW = (
    "no image; `UPLOADER_TEST_IMAGE=$(sh tests/container/build)` makes one (podman, runc, "
    "debootstrap, root)"
)


@dataclass(frozen=True)
class Image:
    """The project's image, run as GitHub's runner or a shell would run it."""

    name: str
    workspace: Path

    def run(
        self,
        *args: str,
        env: Mapping[str, str] | None = None,
        entrypoint: str | None = None,
        options: Sequence[str] = (),
    ) -> subprocess.CompletedProcess[str]:
        """One container with the workspace mounted as working directory; ends within a minute.
        `env` comes with -e.
        """
        command = [
            str(HERE / "podman"),
            "run",
            "--rm",
            "--network=none",
            "--workdir=/github/workspace",
            *options,
        ]
        command += ["--volume", f"{self.workspace}:/github/workspace"]
        command += [f"--env={name}={value}" for name, value in (env or {}).items()]
        command += [] if entrypoint is None else [f"--entrypoint={entrypoint}"]
        return subprocess.run(
            [*command, self.name, *args],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def python(self, code: str) -> str:
        """What the image's Python prints for a piece of code, isolated as the program itself is."""
        done = self.run("-I", "-c", code, entrypoint="/app/venv/bin/python")
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture
def image(tmp_path: Path) -> Image:
    name = os.environ.get("UPLOADER_TEST_IMAGE")
    if not name:
        pytest.skip(HOW)
    return Image(name, tmp_path)
