"""What a run says about a release beside its files: notes in an input, names by track, chosen and
retained versions.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from unittest.mock import ANY

import pytest

from google_emulator import Emulator, specimens
from tests.support.fake_play import PACKAGE, release
from tests.support.job import Job

pytestmark = pytest.mark.slow

PLAY = {"target": "play", "package-name": PACKAGE}
NEW = {**PLAY, "files": "app.aab", "tracks": "internal"}
BETA = [
    release(
        46,
        1046,
        name="1.46",
        releaseNotes=[{"language": "en-US", "text": "Bugs fixed."}],
    ),
    release(47, 1047, status="inProgress", userFraction=0.1, name="1.47"),
]


@pytest.fixture
def emulator() -> Iterator[Emulator]:
    """An emulator with an app in German that has a completed and a staged release on beta."""
    app = {"tracks": {"beta": BETA}, "details": {"defaultLanguage": "de-DE"}}
    with Emulator(config={"apps": {PACKAGE: app}}) as emulator:
        yield emulator


@pytest.fixture
def job(job: Job) -> Job:
    """A job whose workspace holds version 48."""
    specimens.make_bundle(job.workspace / "app.aab", PACKAGE, 48, "1.48")
    return job


def live(job: Job, track: str) -> list[dict[str, Any]]:
    """The releases on a track."""
    found: list[dict[str, Any]] = job.emulator.state()["tracks"][PACKAGE].get(track, [])
    return found


def notes(job: Job, track: str = "internal") -> dict[str, str]:
    """The release notes that are live, by language."""
    return {
        note["language"]: note["text"] for note in live(job, track)[0]["releaseNotes"]
    }


# --- notes in an input ----------------------------------------------------------------------------


def test_a_text_is_published_in_the_language_of_the_app(job: Job) -> None:
    """Play is asked for it once, for as many tracks as there are."""
    job.succeed(
        {
            **NEW,
            "tracks": "internal, alpha",
            "whats-new": "Startet schneller.\n\nUnd mehr.",
        }
    )
    assert (
        notes(job)
        == notes(job, "alpha")
        == {"de-DE": "Startet schneller.\n\nUnd mehr."}
    )
    assert job.emulator.state()["requests"]["play.details.get"] == 1


def test_a_text_that_is_too_long_is_cut_where_that_is_wished(job: Job) -> None:
    """After the last sentence that fits; the plan, a warning and the summary say so. Without that
    input it is a mistake, before anything is sent.
    """
    long = {
        **NEW,
        "whats-new": f"en-US: {'Starts faster. ' * 40}\nde-DE: Startet schneller.",
    }
    ended = job.fail(2, long)
    assert "has 599 characters; Play accepts at most 500." in ended.log
    assert "`whats-new-overflow: cut`" in ended.log
    ended = job.fail(2, {**long, "whats-new-overflow": "shorten"})
    assert "whats-new-overflow: 'shorten' is not a valid choice" in ended.log
    assert not job.emulator.state()["requests"]
    ended = job.succeed({**long, "whats-new-overflow": "cut", "dry-run": "true"})
    (left_out,) = json.loads(ended.outputs["plan"])["notes_left_out"]
    assert (left_out["tracks"], left_out["language"]) == (["internal"], "en-US")
    ended = job.succeed({**long, "whats-new-overflow": "cut"})
    kept = f"{'Starts faster. ' * 33}…"
    assert notes(job) == {"en-US": kept, "de-DE": "Startet schneller."}
    assert left_out["characters"] == 599 - len(kept.rstrip(" …")) - 1
    assert '- en-US: "Starts faster. Starts' in ended.log
    assert "Left out of the release notes\n" in ended.summary
    assert f"so it is cut to {len(kept)}" in ended.log


def test_each_track_has_its_own_cut(job: Job) -> None:
    """What is left out of the notes of one track is told with its name."""
    texts = {"default": "Short.", "alpha": "Line of text\n" * 50}
    for name, text in texts.items():
        path = job.workspace / "notes" / "release-notes" / "en-US" / f"{name}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    given = {"whats-new-directory": "notes", "whats-new-overflow": "cut"}
    ended = job.succeed({**NEW, "tracks": "internal, alpha", **given})
    assert notes(job) == {"en-US": "Short."}
    kept = notes(job, "alpha")["en-US"]
    assert kept.endswith("\nLine of text\n…")
    assert len(kept) <= 500
    assert '- alpha en-US: "Line of text…"' in ended.log


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (
            {"whats-new": "Text.", "whats-new-directory": "notes"},
            "release notes were given in `whats-new-directory`",
        ),
        ({"whats-new": "en-US: Fixed: a crash"}, "a text with `: ` in it needs quotes"),
        (
            {"promote-version-codes": "47"},
            "the track that the versions are on is not given",
        ),
    ],
)
def test_what_contradicts_itself_is_a_mistake(
    job: Job, given: dict[str, str], words: str
) -> None:
    """Exit 2, before any request."""
    (job.workspace / "notes").mkdir()
    (job.workspace / "notes" / "whatsnew-en-US").write_text("Text.")
    ended = job.fail(2, {**NEW, **given})
    assert words in ended.log
    assert not job.emulator.state()["requests"]


# --- names by track -------------------------------------------------------------------------------


def publisher_folder(job: Job, **names: str) -> dict[str, str]:
    """Gradle Play Publisher's folder with these names, and the input for it."""
    folder = job.workspace / "src" / "main" / "play" / "release-names"
    folder.mkdir(parents=True)
    for track, name in names.items():
        (folder / f"{track}.txt").write_text(name)
    return {"whats-new-directory": "src/main/play"}


def test_a_release_has_the_name_of_its_track(job: Job) -> None:
    """`release-names/<track>.txt`, else `default.txt`; notes beside them are read as before."""
    given = publisher_folder(job, internal="Nightly 48\n", default="Spring")
    text = (
        job.workspace
        / "src"
        / "main"
        / "play"
        / "release-notes"
        / "en-US"
        / "default.txt"
    )
    text.parent.mkdir(parents=True)
    text.write_text("Faster.")
    job.succeed({**NEW, **given, "tracks": "internal, alpha"})
    assert [live(job, track)[0]["name"] for track in ("internal", "alpha")] == [
        "Nightly 48",
        "Spring",
    ]
    assert notes(job) == {"en-US": "Faster."}


# --- chosen versions ------------------------------------------------------------------------------


def test_a_version_that_was_displaced_is_promoted_by_its_code(job: Job) -> None:
    """48 was on internal; 49 has taken its place there."""
    job.succeed(NEW)
    specimens.make_bundle(job.workspace / "app.aab", PACKAGE, 49, "1.49")
    job.succeed(NEW)
    promotion = {**PLAY, "promote-from": "internal", "tracks": "alpha"}
    dry = job.succeed({**promotion, "promote-version-codes": "48", "dry-run": "true"})
    assert "48 is not on internal any more" in dry.log
    ended = job.succeed({**promotion, "promote-version-codes": "48"})
    assert [one["versionCodes"] for one in live(job, "alpha")] == [["48"]]
    assert "48 is not on internal any more." in ended.last_line
    ended = job.fail(4, {**promotion, "promote-version-codes": "50"})
    assert ended.outputs["failure"] == "version-not-on-track"


def test_chosen_versions_are_promoted(job: Job) -> None:
    """One version of a release that is not the newest, with that release's name and notes."""
    job.succeed(
        {
            **PLAY,
            "tracks": "alpha",
            "promote-from": "beta",
            "promote-version-codes": "1046",
        }
    )
    assert live(job, "alpha") == [{**BETA[0], "versionCodes": ["1046"]}]


# --- retained versions ----------------------------------------------------------------------------


def test_the_versions_of_the_last_completed_release_are_retained(job: Job) -> None:
    """Those of the staged one are not: they would reach everybody. A run that is repeated changes
    nothing.
    """
    given = {
        **NEW,
        "tracks": "beta",
        "replace-rollout": "true",
        "version-codes-to-retain": "last-release",
    }
    ended = job.succeed(given)
    assert "1.48 (48) with the versions of the last release" in ended.log
    named = {**release(48, 46, 1046), "name": ANY}  # Google Play names it after the day
    assert live(job, "beta") == [named]
    job.succeed(given)
    assert live(job, "beta") == [named]


# --- what users have ------------------------------------------------------------------------------


def test_notes_for_a_release_on_the_track_keep_the_other_languages(job: Job) -> None:
    """What is given replaces the text of its language, and the plan shows it."""
    job.succeed(
        {**PLAY, "tracks": "beta", "whats-new": "en-US: Faster.\nde-DE: Schneller."}
    )
    ended = job.succeed(
        {**PLAY, "tracks": "beta", "whats-new": "de-DE: Viel schneller."}
    )
    assert notes(job, "beta") == {"en-US": "Faster.", "de-DE": "Viel schneller."}
    assert (
        'notes de-DE: "Schneller." (10 characters) -> "Viel schneller." (15 characters)'
        in ended.log
    )
