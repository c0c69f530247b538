"""The steps of a release that are not GitHub's own: the commit and tags that users get, and the notes."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.github_git import github

ROOT = Path(__file__).resolve().parent.parent
IMAGE = "ghcr.io/owner/name@sha256:" + "0" * 64
FILES = (
    "README.md",
    "action.yml",
    "templates/upload.yml",
    "scripts/release-commit",
    "scripts/release-notes",
    "scripts/stamp",
    "scripts/signed_commit.py",
)


def git(repository: Path, *args: str) -> str:
    """What git prints, without its final newline."""
    return subprocess.run(["git", *args], cwd=repository, check=True, capture_output=True, text=True).stdout.strip()


def script(repository: Path, name: str, *args: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """Runs one of the project's scripts in another checkout."""
    return subprocess.run(
        ["sh", f"scripts/{name}", *args],
        cwd=repository,
        env={**os.environ, **environ},
        check=False,
        capture_output=True,
        text=True,
    )


def release(
    repository: Path, version: str, image: str = IMAGE, *, signs: bool = True, **environ: str
) -> subprocess.CompletedProcess[str]:
    """Makes a release's commit through the API, in a clean checkout, as the workflow does."""
    git(repository, "checkout", "--quiet", "--force", "main")
    with github(repository, signs=signs) as variables:
        return script(repository, "release-commit", version, image, **{**variables, **environ})


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A repository with what a release reads, and nothing else."""
    for file in FILES:
        (tmp_path / file).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / file, tmp_path / file)
    git(tmp_path, "init", "--quiet", "--initial-branch=main")
    git(tmp_path, "add", ".")
    git(tmp_path, "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "--quiet", "--message=first")
    return tmp_path


def test_both_tags_name_files_whose_image_is_pinned(checkout: Path) -> None:
    """Users of v1 and of v1.2.3 get the published image by digest, on GitHub and GitLab; nothing else but the owner."""
    assert release(checkout, "v1.2.3").returncode == 0
    for tag in ("v1", "v1.2.3"):
        changes = git(checkout, "diff", "--unified=0", "main", tag, "--", "action.yml", "templates").splitlines()
        assert [line for line in changes if line.startswith("+") and not line.startswith("+++")] == [
            f"+  image: docker://{IMAGE}",
            f"+      default: {IMAGE}",
        ]
        assert git(checkout, "diff", "--name-only", "main", tag).split() == [
            *("README.md", "action.yml", "templates/upload.yml"),
        ]
        assert git(checkout, "log", "--format=%P", "-1", tag) == git(checkout, "rev-parse", "main")


def test_no_user_meets_the_stand_in_for_the_owner(tmp_path: Path) -> None:
    """On a clone whose owner has capitals: every file says the real name, images have the lower case they need."""
    git(tmp_path, "clone", "--quiet", str(ROOT), "clone")
    clone = tmp_path / "clone"
    shutil.copy(ROOT / "scripts" / "stamp", clone / "scripts" / "stamp")
    assert script(clone, "stamp", "Octo-Org/Play.Uploader").returncode == 0
    left = subprocess.run(["git", "grep", "-nIw", "OWNER"], cwd=clone, check=False, capture_output=True, text=True)
    assert {line.partition(":")[0] for line in left.stdout.splitlines()} <= {
        "scripts/stamp",
        "tests/test_release_steps.py",
    }
    assert "- uses: Octo-Org/Play.Uploader@v1" in (clone / "README.md").read_text()
    images = git(clone, "grep", "-hoIE", 'ghcr[.]io/[^/ ]*/[^@:" ]*', "--", ":!tests", ":!scripts").splitlines()
    assert images
    assert {image for image in images if "octo" in image.lower()} == {"ghcr.io/octo-org/play.uploader"}
    (default,) = re.findall(r"default: (ghcr[.]io/\S+)", (clone / "templates" / "upload.yml").read_text())
    assert re.fullmatch(r"[a-z0-9./_-]+:v[0-9.]+", default)


@pytest.mark.parametrize("name", ["octo", "a/b/c", "a/b|d", "../b", "a b/c"])
def test_only_a_repository_is_stamped(checkout: Path, name: str) -> None:
    """A name that GitHub would not give changes nothing."""
    assert script(checkout, "stamp", name).returncode == 1
    assert not git(checkout, "status", "--porcelain")


def test_the_tags_are_the_signed_commit_itself(checkout: Path) -> None:
    """A tag object of its own would be one that nobody signed."""
    release(checkout, "v1.2.3")
    assert {git(checkout, "cat-file", "-t", tag) for tag in ("v1", "v1.2.3")} == {"commit"}


def test_a_released_version_never_moves_and_the_major_tag_does(checkout: Path) -> None:
    """v1.2.3 is made once; v1 goes on to the next release."""
    release(checkout, "v1.2.3")
    first = git(checkout, "rev-parse", "v1.2.3")
    other = IMAGE.replace("0" * 64, "1" * 64)
    again = release(checkout, "v1.2.3", other)
    assert again.returncode == 1
    assert "Reference already exists" in again.stderr
    assert git(checkout, "rev-parse", "v1.2.3") == git(checkout, "rev-parse", "v1") == first
    assert release(checkout, "v1.3.0", other).returncode == 0
    assert git(checkout, "rev-parse", "v1.2.3") == first
    assert git(checkout, "rev-parse", "v1") == git(checkout, "rev-parse", "v1.3.0") != first


def test_a_commit_that_nobody_signed_is_not_released(checkout: Path) -> None:
    """Without GitHub's signature there is no tag, and so no release."""
    unsigned = release(checkout, "v1.2.3", signs=False)
    assert (unsigned.returncode, unsigned.stderr) == (1, "GitHub did not sign the commit: unsigned.\n")
    assert not git(checkout, "tag")


def test_github_has_the_last_word(checkout: Path) -> None:
    """A refusal ends the release with GitHub's own words."""
    refused = release(checkout, "v1.2.3", GH_TOKEN="another")
    assert refused.returncode == 1
    assert "401" in refused.stderr
    assert "Bad credentials" in refused.stderr
    assert not git(checkout, "tag")


@pytest.mark.parametrize(
    "image", ["ghcr.io/owner/name:v1.2.3", "ghcr.io/owner/name@sha256:", "@" + IMAGE, "a|b" + IMAGE]
)
def test_only_an_image_by_digest_is_released(checkout: Path, image: str) -> None:
    """A name that could come to mean another image is refused before anything is made."""
    assert release(checkout, "v1.2.3", image).returncode == 1
    assert not git(checkout, "tag")


def test_the_notes_are_the_changelogs_own(checkout: Path) -> None:
    """A release says what CHANGELOG.md says of that version; a version without a section can't be released."""
    (checkout / "CHANGELOG.md").write_text("# Changelog\n\n## 1.10.0 - 2030\n\n- ten\n\n## 1.1.0 - 2029\n\n- one\n")
    assert script(checkout, "release-notes", "v1.1.0").stdout.strip() == "- one"
    assert script(checkout, "release-notes", "v1.10.0").stdout.strip() == "- ten"
    assert script(checkout, "release-notes", "v1.1").returncode == 1
