"""`retry-deadline` and many files: a failure that may not be retried any more ends the run, time
alone does not.
"""

from __future__ import annotations

from typing import Any

import pytest

from google_emulator import specimens
from tests.destinations.conftest import Begin
from tests.support.destinations import bundle, noise
from tests.support.job import Ended, Job

pytestmark = pytest.mark.slow

DRIVE = {"target": "drive.files.create", "files": "*.bin", "concurrency": "1"}
START = "drive.files.create+resumable.start"
BUSY: dict[str, Any] = {"do": "status", "status": 503}
NOT_REACHED = (0, "Not reached.")


def fill(job: Job, count: int) -> None:
    for number in range(count):
        (job.workspace / f"{number:02}.bin").write_bytes(noise(1000 + number))


def told(ended: Ended) -> list[tuple[int, str]]:
    """Attempts and error of each file."""
    return [(result["attempts"], result["error"]) for result in ended.results]


@pytest.mark.parametrize("retries", ["0", "5"])
def test_nothing_is_begun_after_a_file_that_failed_for_the_deadline(
    begin: Begin, retries: str
) -> None:
    """The service is down for good: one file is tried, nineteen are not reached, and the run ends
    with 75.
    """
    job = begin({"on": START, "nth": 2, "times": 99, **BUSY})
    fill(job, 20)
    ended = job.run({**DRIVE, "retry-deadline": "0s", "max-retries": retries})
    assert (ended.code, ended.outputs["failure"]) == (75, "temporary-failure"), (
        ended.log
    )
    assert job.emulator.state()["requests"]["resumable.start"] == 2
    assert [bool(result["id"]) for result in ended.results] == [True] + [False] * 19
    assert told(ended)[2:] == [NOT_REACHED] * 18
    assert (
        "Not begun, because the retry deadline (0 s) was reached: 18 files."
        in ended.log
    )


def test_a_wait_that_the_server_asks_for_can_be_the_end(begin: Begin) -> None:
    """It would pass the deadline, so the run ends at once; the next one sends what is missing."""
    job = begin(
        {"on": START, "nth": 2, "status": 429, "do": "status", "retry_after": 200}
    )
    fill(job, 4)
    given = {**DRIVE, "retry-deadline": "100s"}
    run = {"GITHUB_RUN_ID": "7", "GITHUB_JOB": "release"}
    ended = job.fail(75, given, **run, GITHUB_RUN_ATTEMPT="1")
    assert "past the retry deadline (100 s)" in ended.log
    assert told(ended)[2:] == [NOT_REACHED] * 2
    job.succeed(given, **run, GITHUB_RUN_ATTEMPT="2")
    assert len(job.emulator.state()["objects"]) == 4


def test_files_in_flight_are_finished(begin: Begin) -> None:
    """The second file fails for the deadline while the first is on its way, which arrives."""
    job = begin(
        {"on": "resumable.final", "do": "slow-answer", "seconds": 1.5},
        {"on": START, "nth": 2, **BUSY},
    )
    fill(job, 6)
    ended = job.fail(75, {**DRIVE, "concurrency": "2", "retry-deadline": "0s"})
    assert sorted(bool(result["id"]) for result in ended.results) == [False] * 5 + [
        True
    ]
    assert told(ended)[2:] == [NOT_REACHED] * 4


def test_a_healthy_run_may_last_longer(begin: Begin) -> None:
    """Every file goes well at its first attempt, most of them behind the deadline."""
    job = begin(
        {"on": "resumable.final", "do": "slow-answer", "seconds": 0.3, "times": 6}
    )
    fill(job, 6)
    job.succeed({**DRIVE, "retry-deadline": "1s"})
    assert len(job.emulator.state()["objects"]) == 6


def test_the_images_of_a_release_are_a_batch_too(job: Job) -> None:
    """Play is busy behind the deadline: the edit is kept, the other images are not tried, and
    running again goes on.
    """
    bundle(job.workspace)
    for language in ("de-DE", "en-US", "fr-FR", "it-IT", "pl-PL"):
        folder = job.workspace / "listing" / language / "images" / "phoneScreenshots"
        folder.mkdir(parents=True)
        specimens.make_image(folder / "1.png", 320, 640)
    job.emulator.add_fault("play.images.upload", "status", status=503)
    play = {
        "target": "play",
        "files": "*.aab",
        "tracks": "internal",
        "images-directory": "listing",
    }
    ended = job.fail(75, {**play, "concurrency": "1", "retry-deadline": "0s"})
    assert told(ended).count(NOT_REACHED) == 4
    state = job.emulator.state()
    assert (state["edits"]["deleted"], len(state["edits"]["open"])) == ([], 1)
    job.succeed(play)
    [committed] = job.emulator.state()["edits"]["committed"]
    assert committed["id"] == state["edits"]["open"][0]["id"]
