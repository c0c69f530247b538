"""Mistakes that Google Play would tell after the upload are told before it: offline, or before the first byte."""

from __future__ import annotations

import html

import pytest

from google_emulator import specimens
from tests.support.job import Ended, Job

PLAY = {"target": "play", "files": "*.a*", "tracks": "internal"}
PACKAGE = "com.example.app"


@pytest.fixture
def job(job: Job) -> Job:
    """A job whose workspace holds one bundle, com.example.app 42."""
    specimens.make_bundle(job.workspace / "app.aab", PACKAGE, 42, "1.0", size_bytes=100_000)
    return job


OFFLINE: dict[str, tuple[dict[str, str], str]] = {
    "countries on another track": ({"countries": "DE", "user-fraction": "0.1"}, "countries: "),
    "countries for everybody": ({"countries": "DE", "tracks": "production"}, "countries: "),
    "one mapping for two": ({"files": "app.aab,other.aab", "mapping-file": "mapping.txt"}, "app.aab, other.aab"),
    "one symbols file for two": ({"files": "app.aab,other.aab", "debug-symbols": "symbols"}, "app.aab, other.aab"),
}


@pytest.mark.parametrize("name", OFFLINE)
def test_what_can_be_seen_offline_ends_the_run_before_anything_is_sent(job: Job, name: str) -> None:
    """Exit 2, the input by its name, no request, no edit, and no version code that would not exist."""
    specimens.make_bundle(job.workspace / "other.aab", PACKAGE, 44, "1.0")
    (job.workspace / "mapping.txt").write_text("a.b.C -> x.y:\n")
    (job.workspace / "symbols" / "x86_64").mkdir(parents=True)
    (job.workspace / "symbols" / "x86_64" / "liba.so").write_bytes(b"\x7fELF symbols")
    inputs, words = OFFLINE[name]
    ended = job.run({**PLAY, **inputs})
    assert ended.code == 2, ended.log
    assert words in ended.log
    assert not job.emulator.state()["requests"]
    assert "version-code" not in ended.outputs
    assert words.partition(":")[0] in ended.summary


def refused(job: Job, inputs: dict[str, str]) -> Ended:
    """A run that the server's knowledge ends: exit 4, nothing uploaded, our edit deleted."""
    ended = job.run({**PLAY, **inputs})
    state = job.emulator.state()
    assert ended.code == 4, ended.log
    assert (state["objects"], state["edits"]["open"], state["edits"]["committed"]) == ([], [], [])
    assert len(state["edits"]["deleted"]) == 1
    assert [(result["attempts"], result["error"]) for result in ended.results] == [(0, "Not reached.")]
    assert "version-code" not in ended.outputs
    assert "title=Release not made" in ended.log
    return ended


@pytest.mark.parametrize(
    ("track", "meant"), [("prod", "production"), ("intrnal", "internal"), ("wear:betta", "wear:beta")]
)
def test_a_track_that_is_nearly_another_is_refused_before_the_upload(job: Job, track: str, meant: str) -> None:
    """Whether a closed track of that name exists, only Play knows; the one that was meant is named."""
    ended = refused(job, {"tracks": track})
    assert f"The app has no track {track}. It is probably a misspelling of {meant}. Write `{meant}`" in ended.log
    assert f"The app has no track {track}" in html.unescape(ended.summary)


def test_a_track_that_play_answers_with_404_is_refused_before_the_upload(job: Job) -> None:
    """The tracks that exist are told."""
    job.emulator.config.any_track = False
    assert "Google Play lists production, beta, alpha, internal." in refused(job, {"tracks": "friends"}).log


def test_an_unknown_version_to_retain_is_refused_before_the_upload(job: Job) -> None:
    """A number that is neither on the track nor among the app's artifacts is a slip."""
    ended = refused(job, {"version-codes-to-retain": "7,8"})
    assert "Google Play has no version 7, 8 of this app" in ended.log


def test_countries_of_a_finished_release_are_refused_before_the_change(job: Job) -> None:
    """A change without a status is about what is on the track."""
    assert job.run({**PLAY, "tracks": "production"}).code == 0
    ended = job.run({**PLAY, "files": "", "package-name": PACKAGE, "tracks": "production", "countries": "DE"})
    assert ended.code == 4, ended.log
    assert (
        "`countries`: the release 42 (all users, completed) on track production is not a staged rollout." in ended.log
    )
    assert len(job.emulator.state()["edits"]["deleted"]) == 1


def test_a_rollout_for_countries_is_not_completed_as_it_is(job: Job) -> None:
    """Play would refuse the countries that it has; the release is not given to all countries unasked."""
    rollout = {**PLAY, "tracks": "production", "user-fraction": "0.1", "countries": "DE"}
    assert job.run(rollout).code == 0
    ended = job.run({**PLAY, "files": "", "package-name": PACKAGE, "tracks": "production", "status": "completed"})
    assert (ended.code, ended.outputs["failure"]) == (4, "countries-not-allowed"), ended.log
    assert "The rollout of 42 on track production is limited to countries: DE." in ended.log
    assert job.emulator.state()["requests"]["play.tracks.update"] == 1
