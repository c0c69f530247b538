"""The wheel as it is installed: both packages are in it, whole, and work from it alone."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

import uploader

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("uploader", "google_emulator")
PIP = [sys.executable, "-m", "pip", "--no-input", "--disable-pip-version-check"]


@dataclass(frozen=True)
class Installation:
    """A folder that the wheel was installed into, away from the checkout."""

    folder: Path
    elsewhere: Path

    def run(self, *command: str | Path) -> str:
        """What a command prints when only the folder's packages (and their dependencies) can be
        found.
        """
        environment = {**os.environ, "PYTHONPATH": str(self.folder)}
        done = subprocess.run(
            command,
            cwd=self.elsewhere,
            env=environment,
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )
        return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installation:
    """The wheel, built from the checkout and installed without network; its dependencies are there
    already.
    """
    built, folder, elsewhere = (
        tmp_path_factory.mktemp(name) for name in ("built", "installed", "elsewhere")
    )
    build = [
        *PIP,
        "wheel",
        "--no-deps",
        "--no-build-isolation",
        "--no-index",
        "--wheel-dir",
        str(built),
        str(ROOT),
    ]
    subprocess.run(build, check=True, capture_output=True, timeout=100)
    (wheel,) = built.glob("*.whl")
    install = [
        *PIP,
        "install",
        "--no-deps",
        "--no-index",
        "--target",
        str(folder),
        str(wheel),
    ]
    subprocess.run(install, check=True, capture_output=True, timeout=100)
    return Installation(folder, elsewhere)


@pytest.mark.parametrize("package", PACKAGES)
def test_the_wheel_holds_the_package(installed: Installation, package: str) -> None:
    """Every module of the checkout is in the wheel, and the installed one is what runs."""
    there = {
        str(path.relative_to(installed.folder))
        for path in (installed.folder / package).rglob("*.py")
    }
    here = {str(path.relative_to(ROOT)) for path in (ROOT / package).rglob("*.py")}
    assert there == here
    file = installed.run(
        sys.executable, "-c", f"import {package}; print({package}.__file__)"
    ).strip()
    assert Path(file) == installed.folder / package / "__init__.py"


def test_the_installed_command_runs(installed: Installation) -> None:
    """`uploader --version` is the version of the checkout."""
    assert uploader.__version__ in installed.run(
        installed.folder / "bin" / "uploader", "--version"
    )


def test_the_installed_emulator_runs(installed: Installation) -> None:
    """`python -m google_emulator` and the command for specimens are there."""
    assert "--port-file" in installed.run(
        sys.executable, "-m", "google_emulator", "--help"
    )
    installed.run(
        sys.executable, "-m", "google_emulator.specimens", "bundle", "--out", "app.aab"
    )
    assert (installed.elsewhere / "app.aab").stat().st_size > 1000
