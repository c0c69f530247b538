"""The steps of a release that are not GitHub's own: the commit and tags that users get, and the notes."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
IMAGE = "ghcr.io/owner/name@sha256:" + "0" * 64


def git(repository: Path, *args: str) -> str:
    """What git prints, without its final newline."""
    return subprocess.run(["git", *args], cwd=repository, check=True, capture_output=True, text=True).stdout.strip()


def script(repository: Path, name: str, *args: str) -> subprocess.CompletedProcess[str]:
    """Runs one of the project's scripts in another checkout."""
    return subprocess.run(["sh", f"scripts/{name}", *args], cwd=repository, check=False, capture_output=True, text=True)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A repository with the project's action and scripts, and nothing else."""
    (tmp_path / "scripts").mkdir()
    for file in ("action.yml", "scripts/release-commit", "scripts/release-notes"):
        shutil.copy(ROOT / file, tmp_path / file)
    git(tmp_path, "init", "--quiet", "--initial-branch=main")
    git(tmp_path, "add", ".")
    git(tmp_path, "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "--quiet", "--message=first")
    return tmp_path


def test_both_tags_name_an_action_whose_image_is_pinned(checkout: Path) -> None:
    """Users of v1 and of v1.2.3 get the published image by digest; nothing else differs from what was tested."""
    before = (checkout / "action.yml").read_text()
    assert script(checkout, "release-commit", "v1.2.3", IMAGE).returncode == 0
    for tag in ("v1", "v1.2.3"):
        released = git(checkout, "show", f"{tag}:action.yml")
        assert released == before.strip().replace("image: Dockerfile", f"image: docker://{IMAGE}")
    assert git(checkout, "diff", "--name-only", "main~1", "v1") == "action.yml"


def test_a_released_version_never_moves_and_the_major_tag_does(checkout: Path) -> None:
    """v1.2.3 is made once; v1 goes on to the next release."""
    script(checkout, "release-commit", "v1.2.3", IMAGE)
    first = git(checkout, "rev-parse", "v1.2.3^{commit}")
    again = script(checkout, "release-commit", "v1.2.3", IMAGE)
    assert (again.returncode, again.stderr) == (1, "v1.2.3 exists; a released version never moves.\n")
    git(checkout, "checkout", "--quiet", "main~1")
    assert script(checkout, "release-commit", "v1.3.0", IMAGE.replace("0" * 64, "1" * 64)).returncode == 0
    assert git(checkout, "rev-parse", "v1.2.3^{commit}") == first
    assert git(checkout, "rev-parse", "v1^{commit}") == git(checkout, "rev-parse", "v1.3.0^{commit}") != first


def test_the_notes_are_the_changelogs_own(checkout: Path) -> None:
    """A release says what CHANGELOG.md says of that version; a version without a section can't be released."""
    (checkout / "CHANGELOG.md").write_text("# Changelog\n\n## 1.10.0 - 2030\n\n- ten\n\n## 1.1.0 - 2029\n\n- one\n")
    assert script(checkout, "release-notes", "v1.1.0").stdout.strip() == "- one"
    assert script(checkout, "release-notes", "v1.10.0").stdout.strip() == "- ten"
    assert script(checkout, "release-notes", "v1.1").returncode == 1
