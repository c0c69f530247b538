"""The action without Docker: the locked dependencies are installed once a job, and the same program
runs in them.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

FOLDER = Path(__file__).resolve().parent.parent / "native"


def test_the_settings_of_the_jobs_own_packages_do_not_hold(tmp_path: Path) -> None:
    """No module of the job's is imported, nothing is installed elsewhere, and what a killed step
    left is made anew.
    """
    planted, elsewhere, temporary = (
        tmp_path / "planted",
        tmp_path / "elsewhere",
        tmp_path / "a temporary folder",
    )
    planted.mkdir()
    for module in ("sitecustomize", "requests", "pip"):
        (planted / f"{module}.py").write_text(
            "import os; os.write(1, b'planted'); os._exit(9)"
        )
    left = temporary / "google-release-uploader"
    (left / "bin").mkdir(parents=True)
    (left / "bin" / "python").symlink_to("/bin/false")
    settings = {
        "PYTHONPATH": str(planted),
        "PYTHONHOME": "/nowhere",
        "PIP_TARGET": str(elsewhere),
        "PIP_DRY_RUN": "1",
    }
    (tmp_path / "pip.conf").write_text(
        f"[global]\nproxy = http://127.0.0.1:9\n[install]\ntarget = {elsewhere}\nuser = true\n"
    )
    settings |= {
        "PIP_CONFIG_FILE": str(tmp_path / "pip.conf"),
        "PIP_USER": "1",
        "PIP_REQUIREMENT": str(planted / "more.txt"),
        "UPLOADER_TARGET": "nothing",
    }
    kept = {
        name: value
        for name, value in os.environ.items()
        if name == "PATH" or name.startswith("PIP_")
    }
    ended = subprocess.run(
        ["sh", str(FOLDER / "run")],
        env={**kept, "HOME": str(tmp_path), "RUNNER_TEMP": str(temporary), **settings},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "UPLOADER_TARGET: 'nothing' is not" in ended.stdout + ended.stderr
    assert "planted" not in ended.stdout + ended.stderr
    assert not elsewhere.exists()


@pytest.mark.parametrize(
    ("environment", "words"),
    [
        ({"RUNNER_OS": "Windows"}, "runs on Linux and macOS runners"),
        (
            {"RUNNER_OS": "macOS", "PYTHON": "/nowhere/python3"},
            "Python 3.10 or later is needed",
        ),
        (
            {"RUNNER_OS": "Linux"},
            "here python3 is: Python 3.9.2. Put actions/setup-python before this step",
        ),
    ],
)
def test_what_it_cannot_run_on_is_one_annotation(
    tmp_path: Path, environment: dict[str, str], words: str
) -> None:
    """Exit code 2 and a sentence that says what is missing; a Python that is too old is told by its
    version.
    """
    for name in ("python3", *(f"python3.{minor}" for minor in range(10, 14))):
        old = tmp_path / "bin" / name
        old.parent.mkdir(exist_ok=True)
        old.write_text('#!/bin/sh\n[ "$1" = --version ] && echo Python 3.9.2\n')
        old.chmod(0o755)
    ended = subprocess.run(
        ["sh", str(FOLDER / "run")],
        env={
            "PATH": f"{tmp_path}/bin:{os.environ['PATH']}",
            "RUNNER_TEMP": str(tmp_path),
            **environment,
        },
        capture_output=True,
        text=True,
        check=False,
    )
    (error,) = [
        line for line in ended.stdout.splitlines() if line.startswith("::error")
    ]
    assert ended.returncode == 2
    assert words in error
