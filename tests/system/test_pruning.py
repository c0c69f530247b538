"""Images removed from the store listing, through the real entrypoint: only what was asked, and
counted before.
"""

from __future__ import annotations

import json
import shutil

import pytest

from google_emulator import specimens
from tests.support.fake_play import PACKAGE
from tests.support.job import Ended, Job

LISTING = {"target": "play", "package-name": PACKAGE, "images-directory": "listing"}
SCREENS = "listing/{}/images/phoneScreenshots"


@pytest.fixture
def job(job: Job) -> Job:
    """Eight live images of two languages, icons among them; the workspace holds what was
    published.
    """
    for language in ("en-US", "de-DE"):
        folder = job.workspace / SCREENS.format(language)
        folder.mkdir(parents=True)
        (folder.parents[1] / "title.txt").write_text("Example")
        specimens.make_image(folder.parent / "icon.png", 512, 512, alpha=True)
        for number in (1, 2, 3):
            specimens.make_image(folder / f"{number}.png", 400 + number, 640)
    job.succeed(LISTING)
    assert counted(job) == EVERYTHING
    return job


EVERYTHING = {
    "en-US/icon": 1,
    "en-US/phoneScreenshots": 3,
    "de-DE/icon": 1,
    "de-DE/phoneScreenshots": 3,
}


def counted(job: Job) -> dict[str, int]:
    """How many images are live at each place."""
    images = job.emulator.state()["apps"][PACKAGE]["images"]
    return {place: len(found) for place, found in images.items()}


def refused(job: Job, prune: str = "true") -> Ended:
    """A run, dry and then not, that ends with exit 2 and changes nothing."""
    before = job.emulator.state()["apps"][PACKAGE]
    job.fail(2, {**LISTING, "images-prune": prune, "dry-run": "true"})
    ended = job.fail(2, {**LISTING, "images-prune": prune})
    assert job.emulator.state()["apps"][PACKAGE] == before
    assert job.emulator.state()["edits"]["open"] == []
    return ended


def test_a_folder_without_any_image_removes_none(job: Job) -> None:
    """The message counts what would have gone, and asks about the two ways in which images get
    lost.
    """
    for path in (job.workspace / "listing").rglob("*.png"):
        path.unlink()
    log = refused(job).log
    count = "8 live images of 2 languages, icons among them"
    assert f"the folder has no image at all, while Google Play has {count}" in log
    assert "Are the images in Git LFS, or in .gitignore?" in log


def test_an_empty_folder_of_screenshots_removes_none(job: Job) -> None:
    """The place is named with what it has."""
    for path in (job.workspace / SCREENS.format("en-US")).iterdir():
        path.unlink()
    assert (
        "images-prune: en-US phoneScreenshots would be left empty" in refused(job).log
    )


def test_git_lfs_pointers_in_the_place_of_images_are_told_as_such(job: Job) -> None:
    """With or without pruning."""
    pointer = (
        "version https://git-lfs.github.com/spec/v1\noid sha256:"
        + "0" * 64
        + "\nsize 12345\n"
    )
    for path in (job.workspace / "listing").rglob("*.png"):
        path.write_text(pointer)
    for prune in ("false", "true", "everywhere"):
        log = refused(job, prune).log
        assert "listing/en-US/images/icon.png is a Git LFS pointer" in log
        assert "`lfs: true`" in log


def test_pruning_leaves_what_the_folder_has_no_image_of(job: Job) -> None:
    """A language that is gone from the folder, and a type: both stay, and the log says what would
    remove them.
    """
    shutil.rmtree(job.workspace / "listing/de-DE")
    (job.workspace / "listing/en-US/images/icon.png").unlink()
    (job.workspace / SCREENS.format("en-US") / "3.png").unlink()
    ended = job.succeed({**LISTING, "images-prune": "true"})
    assert counted(job) == {**EVERYTHING, "en-US/phoneScreenshots": 2}
    assert "kept 5 live images of 2 languages" in ended.log
    assert "de-DE phoneScreenshots (3)" in ended.log
    assert "- 1 image of 1 language are removed" not in ended.log
    assert "- 1 image of 1 language is removed in all" in ended.log


def test_pruning_everywhere_counts_what_goes_before_it_does(job: Job) -> None:
    """The dry run has the same counts, in the log and in the output `plan`, and removes nothing."""
    shutil.rmtree(job.workspace / "listing/de-DE")
    (job.workspace / SCREENS.format("en-US") / "3.png").unlink()
    dry = job.succeed({**LISTING, "images-prune": "everywhere", "dry-run": "true"})
    assert counted(job) == EVERYTHING
    wet = job.succeed({**LISTING, "images-prune": "everywhere"})
    assert counted(job) == {"en-US/icon": 1, "en-US/phoneScreenshots": 2}
    for ended in (dry, wet):
        assert "- 5 images of 2 languages are removed in all" in ended.log
        assert "~ de-DE phoneScreenshots: 3 removed, none is left" in ended.log
        assert "~ en-US phoneScreenshots: 1 removed, 2 kept" in ended.log
    removed = {
        (one["language"], one["type"]): one["removed"]
        for one in json.loads(dry.outputs["plan"])["images"]
    }
    assert removed == {
        ("en-US", "phoneScreenshots"): 1,
        ("de-DE", "icon"): 1,
        ("de-DE", "phoneScreenshots"): 3,
    }


@pytest.mark.parametrize("word", ["everywher", "all", "yes"])
def test_another_word_is_a_mistake(job: Job, word: str) -> None:
    """What is accepted is named."""
    log = job.fail(2, {**LISTING, "images-prune": word}).log
    assert "Accepted: `true`, `false`, `everywhere`." in log
    assert counted(job) == EVERYTHING


@pytest.mark.parametrize("word", ["True", "TRUE"])
def test_a_boolean_is_spelt_as_yaml_does(job: Job, word: str) -> None:
    """As for every boolean input."""
    (job.workspace / SCREENS.format("en-US") / "3.png").unlink()
    job.succeed({**LISTING, "images-prune": word})
    assert counted(job) == {**EVERYTHING, "en-US/phoneScreenshots": 2}
