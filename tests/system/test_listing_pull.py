"""The store listing pulled through the real entrypoint: what a push would leave unchanged, whatever
Play answers.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from google_emulator import specimens
from tests.support.job import Job

APP = "com.example.app"
TEXTS = {
    "title": "Example",
    "shortDescription": "Short.",
    "fullDescription": "Line one\r\n\r\nLine two ü\n",
    "video": "",
}
PULL = {
    "target": "play-listing-pull",
    "package-name": APP,
    "images-directory": "metadata",
}
PUSH = {
    "target": "play",
    "package-name": APP,
    "images-directory": "metadata",
    "images-prune": "true",
}
LISTINGS, IMAGES = "play.listings.list", "play.images.list"
SERVED = "googleusercontent.images"


@pytest.fixture
def job(job: Job) -> Job:
    """A job with an empty workspace; the app has texts in two languages, an icon, screenshots and a
    release.
    """
    app = job.emulator.play.app(APP)
    for language in ("en-US", "de-DE"):
        app.live.listings[language] = {"language": language, **TEXTS}
    source = job.workspace / "source/en-US/images"
    (source / "phoneScreenshots").mkdir(parents=True)
    specimens.make_image(source / "icon.png", 512, 512)
    for number in (1, 2):
        specimens.make_image(
            source / f"phoneScreenshots/{number}.png", 400 + number, 800
        )
    job.succeed({**PUSH, "images-directory": "source", "images-prune": "false"})
    notes = [{"language": "en-US", "text": "Faster."}]
    release = {
        "versionCodes": ["41", "42"],
        "status": "completed",
        "releaseNotes": notes,
    }
    job.emulator.console.add_release(APP, "production", release)
    return job


def pulled(job: Job) -> dict[str, bytes]:
    """Every file below the destination."""
    root = job.workspace / "metadata"
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file()
    }


def open_edits(job: Job) -> list[Any]:
    """The edits that are open."""
    return list(job.emulator.state()["edits"]["open"])


def requests(job: Job, operation: str) -> int:
    """How many requests the emulator has had for an operation."""
    return int(job.emulator.state()["requests"].get(operation, 0))


def test_a_pull_writes_what_is_live_byte_for_byte(job: Job) -> None:
    """Texts as Google Play has them, images under names in their order, notes under the highest
    version code.
    """
    job.succeed(PULL)
    source = job.workspace / "source/en-US/images"
    files = pulled(job)
    assert files.pop("en-US/images/icon.png") == (source / "icon.png").read_bytes()
    for number in (1, 2):
        expected = (source / f"phoneScreenshots/{number}.png").read_bytes()
        assert (
            files.pop(f"en-US/images/phoneScreenshots/{number}_en-US.png") == expected
        )
    assert files.pop("en-US/changelogs/42.txt") == b"Faster."
    names = {
        "title": "title",
        "short_description": "shortDescription",
        "full_description": "fullDescription",
    }
    assert files == {
        f"{language}/{name}.txt": TEXTS[field].encode()
        for language in ("en-US", "de-DE")
        for name, field in names.items()
    }
    assert open_edits(job) == []


def test_a_pull_followed_by_a_push_sends_nothing(job: Job) -> None:
    """Not an image, not a text, and nothing is committed."""
    job.run(PULL)
    before = job.emulator.state()
    ended = job.succeed(PUSH)
    after = job.emulator.state()
    for operation in (
        "play.images.upload",
        "play.images.delete",
        "play.images.deleteall",
        "play.listings.update",
        "play.listings.patch",
        "play.edits.commit",
    ):
        assert before["requests"].get(operation, 0) == after["requests"].get(
            operation, 0
        ), operation
    assert "already" in ended.log


def test_what_differs_is_replaced_and_what_play_does_not_have_is_left_and_told(
    job: Job,
) -> None:
    """Nothing is deleted."""
    folder = job.workspace / "metadata/en-US"
    (folder / "images").mkdir(parents=True)
    (folder / "title.txt").write_text("Mine")
    (folder / "video.txt").write_text("https://example.com/")
    (folder / "images/tvBanner.png").write_bytes(b"mine")
    ended = job.succeed(PULL)
    assert pulled(job)["en-US/title.txt"] == b"Example"
    assert pulled(job)["en-US/images/tvBanner.png"] == b"mine"
    assert "metadata/en-US/images/tvBanner.png, metadata/en-US/video.txt" in ended.log


# Hostile answers


def test_a_language_that_leads_elsewhere_is_left_out(job: Job) -> None:
    """It is no name of a language, whatever it would be as a path."""
    app = job.emulator.play.app(APP)
    for language in ("../evil", "/etc", "en-US/../../..", "..", ""):
        app.live.listings[language] = {**TEXTS, "language": language}
    app.live.tracks["production"][0]["releaseNotes"] = [
        {"language": "../../notes", "text": "Evil."}
    ]
    ended = job.succeed(PULL)
    assert ended.log.count("which is not a language") == 6
    assert {name.partition("/")[0] for name in pulled(job)} == {"en-US", "de-DE"}
    assert sorted(path.name for path in job.workspace.iterdir()) == [
        "metadata",
        "source",
        "uploader-results.json",
    ]


def test_a_link_in_the_folder_is_not_followed(job: Job, tmp_path: Path) -> None:
    """Neither one in the place of a folder nor one in the place of a file."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (job.workspace / "metadata").mkdir()
    link = job.workspace / "metadata/de-DE"
    link.symlink_to(outside)
    ended = job.run(PULL)
    assert (ended.code, list(outside.iterdir())) == (2, [])
    assert "links are not followed" in ended.log
    link.unlink()
    link.mkdir()
    (outside / "file").write_text("mine")
    (link / "title.txt").symlink_to(outside / "file")
    ended = job.run(PULL)
    assert (ended.code, (outside / "file").read_text()) == (2, "mine")
    assert "not a regular file" in ended.log
    assert open_edits(job) == []


@pytest.mark.parametrize(
    "folder", ["../elsewhere", "/tmp/elsewhere", ".git/metadata", "a/.env.d"]
)
def test_a_folder_that_nothing_may_be_written_to_is_refused_before_anything_is_asked(
    folder: str, job: Job
) -> None:
    """Outside the workspace, and where what is written would be run or read as a secret."""
    before = requests(job, LISTINGS)
    job.fail(2, {**PULL, "images-directory": folder})
    assert requests(job, LISTINGS) == before


def test_an_image_on_a_foreign_host_is_not_fetched(job: Job) -> None:
    """No request goes there, and the edit is deleted."""
    app = job.emulator.play.app(APP)
    app.live.images["en-US", "icon"][0]["url"] = (
        "https://play-lh.googleusercontent.com.example.net/1"
    )
    ended = job.fail(4, PULL)
    assert "not one of its image hosts" in ended.log
    assert requests(job, SERVED) == 0
    assert open_edits(job) == []


def test_an_image_with_other_bytes_is_not_written_and_the_rest_is(job: Job) -> None:
    """The error names it, and says that its digest is another one than the service stated."""
    job.emulator.add_fault(SERVED, "damage-body", at=50)
    ended = job.fail(5, {**PULL, "concurrency": "1"})  # so that the icon comes first
    assert ended.outputs["failure"] == "download-damaged"
    assert (
        "The image metadata/en-US/images/icon is not what the service says it is"
        in ended.log
    )
    assert "en-US/images/icon.png" not in pulled(job)
    assert "en-US/images/phoneScreenshots/2_en-US.png" in pulled(job)
    assert job.run(PULL).code == 0
    assert "en-US/images/icon.png" in pulled(job)


def test_the_edit_of_an_unfinished_release_is_not_closed(job: Job) -> None:
    """Opening another would end it; the error says how to go on."""
    specimens.make_bundle(job.workspace / "app.aab", APP, 44, "1.0")
    job.emulator.add_fault("play.edits.commit", "status", status=503, times=9)
    job.fail(
        75,
        {
            "target": "play",
            "files": "app.aab",
            "tracks": "internal",
            "max-retries": "0",
        },
    )
    (edit,) = open_edits(job)
    ended = job.fail(4, PULL)
    assert "existing-edit-id" in ended.log
    assert open_edits(job) == [edit]


def test_a_pushed_listing_changes_when_the_review_passes(job: Job) -> None:
    """The summary says so once, and keeps the title that users see until then."""
    title = job.workspace / "listing/en-US/title.txt"
    title.parent.mkdir(parents=True)
    title.write_text("Another example")
    ended = job.succeed(
        {**PUSH, "images-directory": "listing", "images-prune": "false"}
    )
    heading, _, rest = ended.summary.partition("\n")
    assert heading == f"## ✅ The store listing of {APP} changes after the review"
    assert f"App: Example (`{APP}`)" in rest
    assert "### Changes" not in rest
