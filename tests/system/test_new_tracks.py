"""`create-tracks: true` in whole runs: what the plan says, and what becomes of a creation that goes
wrong.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from google_emulator import Emulator, specimens
from tests.support.fake_play import PACKAGE, release
from tests.support.job import Job
from tests.support.release_plans import plan_of

pytestmark = pytest.mark.slow

NEW = {"target": "play", "package-name": PACKAGE, "files": "app.aab", "tracks": "team"}
CREATES = {**NEW, "create-tracks": "true", "testers": "qa@example.com"}
CREATE = "play.tracks.create"


@pytest.fixture
def emulator() -> Iterator[Emulator]:
    """An emulator with an app that has version 41 on production, and no closed track."""
    with Emulator(
        config={
            "any_track": False,
            "apps": {PACKAGE: {"tracks": {"production": [release(41)]}}},
        }
    ) as emulator:
        yield emulator


@pytest.fixture
def job(job: Job) -> Job:
    """A job whose workspace holds version 42."""
    specimens.make_bundle(job.workspace / "app.aab", PACKAGE, 42, "4.2")
    return job


def live(job: Job) -> dict[str, list[list[str]]]:
    """The version codes of the releases on each track."""
    tracks = job.emulator.state()["tracks"][PACKAGE]
    return {
        track: [one["versionCodes"] for one in releases]
        for track, releases in tracks.items()
    }


def test_the_plan_names_the_track_that_is_created(job: Job) -> None:
    """A dry run creates it in an edit that is deleted; the run itself once, and the next run not
    again.
    """
    before = live(job)
    dry = job.succeed({**CREATES, "dry-run": "true"})
    assert live(job) == before
    assert plan_of(dry).startswith("Track team, a closed track that is created\n")
    (change,) = json.loads(dry.outputs["plan"])["tracks"]
    assert (change["track"], change["created"]) == ("team", True)
    wet = job.succeed(CREATES)
    assert plan_of(wet) == plan_of(dry)
    assert live(job) == {**before, "team": [["42"]]}
    assert "a closed track that is created" in wet.summary
    again = job.succeed(CREATES)
    assert "is created" not in again.log
    requests = job.emulator.state()["requests"]
    assert (requests[CREATE], requests["play.edits.commit"]) == (2, 1)


def test_a_missing_track_is_refused_where_none_is_to_be_created(job: Job) -> None:
    ended = job.fail(4, NEW)
    assert ended.outputs["failure"] == "track-not-found"
    assert "`create-tracks: true`" in ended.log
    assert CREATE not in job.emulator.state()["requests"]


def test_a_word_that_is_no_boolean_is_a_mistake(job: Job) -> None:
    """Exit 2, and nothing is sent."""
    ended = job.fail(2, {**NEW, "create-tracks": "yes"})
    assert "create-tracks: 'yes'" in ended.log
    assert not job.emulator.state()["requests"]


def test_a_job_without_a_closed_track_is_told_that_the_input_does_nothing(
    job: Job,
) -> None:
    ended = job.succeed({**NEW, "tracks": "internal", "create-tracks": "true"})
    assert "`create-tracks` does nothing" in ended.log


@pytest.mark.parametrize(
    "fault", ["answer-lost", "status", "status-after-effect", "lose-edit"]
)
def test_a_creation_that_passes_by_itself_is_made_once(job: Job, fault: str) -> None:
    """A lost answer, one with 503 before or after the effect, an edit that is gone."""
    options = {"status": 503} if "status" in fault else {}
    job.emulator.add_fault(CREATE, fault, **options)
    job.succeed(CREATES)
    assert live(job)["team"] == [["42"]]
    assert job.emulator.state()["requests"]["play.edits.commit"] == 1


@pytest.mark.parametrize(
    "on", [CREATE, "play.tracks.update", "play.testers.update", "play.edits.commit"]
)
def test_a_run_that_ended_before_its_commit_is_finished_by_the_next(
    job: Job, on: str
) -> None:
    """It goes on in the edit in which the track is, perhaps, already."""
    job.emulator.add_fault(on, "status", status=503, times=2)
    ended = job.run({**CREATES, "max-retries": "1"})
    assert ended.code == 75, ended.log
    assert "team" not in live(job)
    job.succeed(CREATES)
    assert live(job)["team"] == [["42"]]


@pytest.mark.parametrize("on", [CREATE, "play.tracks.update", "play.testers.update"])
def test_a_refusal_leaves_no_track(job: Job, on: str) -> None:
    """The edit is deleted, and the track is gone with it."""
    job.emulator.add_fault(on, "status", status=400, message="Not like this.")
    ended = job.fail(4, CREATES)
    assert "Not like this." in ended.log
    assert ("team" in live(job), job.emulator.state()["edits"]["open"]) == (False, [])
    job.succeed(CREATES)
    assert live(job)["team"] == [["42"]]


def test_an_account_that_may_not_create_tracks_is_told_so(job: Job) -> None:
    job.emulator.add_fault(
        CREATE, "status", status=403, message="The caller does not have permission"
    )
    ended = job.fail(3, CREATES)
    assert "The service refused the new track team" in ended.log
    assert "Under Users and permissions in the Play Console" in ended.log
    assert ended.outputs["bytes-uploaded"] == "0"
