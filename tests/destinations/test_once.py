"""Sessions that are lost when all of a file may have arrived: sent again where that does no harm, else told, exit 4."""

from __future__ import annotations

import signal
from typing import Any

import pytest

from tests.support.destinations import MIB, apk, bundle, noise, package
from tests.support.job import Ended, Job

DRIVE = {"target": "drive.files.create", "files": "a.bin"}
STORAGE = {"target": "storage.objects.insert", "params": "bucket: b", "upload-protocol": "resumable", "files": "a.bin"}
SHARING = {"target": "play-internal-sharing", "files": "*.apk"}
OTA = {"target": "ota", "deployment": "d1", "package-title": "System 1.2", "files": "ota.zip"}
PLAY = {"target": "play", "files": "*.aab", "tracks": "internal"}
ADDING = {"Drive": DRIVE, "internal sharing": SHARING, "OTA": OTA}
STEPS = {"OTA": ("goog.finalize", "goog.query")}
TROUBLES: dict[str, dict[str, Any]] = {
    "answer lost": {"do": "answer-lost"},
    "503": {"do": "status-after-effect", "status": 503, "retry_after": 0},
}


def lost(job: Job, trouble: dict[str, Any], status: int = 404, steps: tuple[str, str] | None = None) -> None:
    """The answer to the last request, and then the session."""
    final, query = steps or ("resumable.final", "resumable.query")
    job.emulator.faults.add([{"on": final, **trouble}, {"on": query, "do": "session-lost", "status": status}])


def fill(job: Job, size: int = 100_000) -> None:
    """One file for each of the targets."""
    (job.workspace / "a.bin").write_bytes(noise(size))
    package(job.workspace, size)
    apk(job.workspace)
    bundle(job.workspace)


def stored(job: Job) -> int:
    return len(job.emulator.state()["objects"])


@pytest.mark.parametrize("status", [404, 410])
@pytest.mark.parametrize("trouble", TROUBLES)
@pytest.mark.parametrize("name", ADDING)
def test_what_would_be_added_twice_is_in_doubt(job: Job, name: str, trouble: str, status: int) -> None:
    """It is there once, and exit 4 says what is not known and where to look; the next run sends it."""
    fill(job)
    lost(job, TROUBLES[trouble], status, STEPS.get(name))
    if name == "OTA":  # whose list of packages would settle it
        refused = {"on": "androidovertheair.deployments.packages.list", "do": "status", "status": 403, "times": 100}
        job.emulator.faults.add([refused])
    ended = job.run(ADDING[name])
    assert (ended.code, ended.outputs["failure"]) == (4, "outcome-unknown"), ended.log
    assert stored(job) == 1
    [result] = ended.results
    for told in (ended.log, ended.summary, result["error"]):
        assert "It is not known whether" in told
        assert "Check whether the service has it before you run again" in told
    assert "id" not in ended.outputs
    job.succeed(ADDING[name])
    assert stored(job) == 2


def test_what_the_next_run_can_ask_about_is_in_no_doubt(job: Job) -> None:
    """The session is kept while the retries are spent: the next run finds it complete, and sends nothing."""
    fill(job)
    job.emulator.add_fault("resumable.final", "answer-lost")
    job.emulator.add_fault("resumable.query", "status", status=503, times=2)
    job.fail(75, {**DRIVE, "max-retries": "1"}, **attempt(1))
    job.succeed(DRIVE, **attempt(2))
    assert stored(job) == 1


@pytest.mark.parametrize("given", [STORAGE, PLAY], ids=["named object", "Play"])
def test_what_a_repeat_can_not_double_is_sent_again(job: Job, given: dict[str, str]) -> None:
    """An object of a fixed name is replaced; a Play edit takes a version code once."""
    fill(job)
    lost(job, TROUBLES["answer lost"])
    ended = job.succeed(given)
    assert "starting over at 0" in ended.log


# --- over several runs --------------------------------------------------------------------------------------------


def attempt(number: int) -> dict[str, str]:
    """The same run, for the first time or again."""
    return {"GITHUB_RUN_ID": "7", "GITHUB_JOB": "release", "GITHUB_RUN_ATTEMPT": str(number)}


def killed_at_the_end(job: Job, given: dict[str, str], number: int) -> None:
    """An attempt that dies while the last answer is on its way, its file stored."""
    job.emulator.add_fault("resumable.final", "slow-answer", seconds=30)
    running = job.start(given, **attempt(number)).when(lambda state: len(state["objects"]) == 1)
    running.send(signal.SIGKILL).end()


def is_in_doubt(ended: Ended) -> bool:
    """Whether it names the run that may have sent everything."""
    return ended.code == 4 and "run 7, job release, attempt 1" in ended.log and "may have sent all of it" in ended.log


@pytest.mark.parametrize("large", [False, True])
def test_a_killed_run_may_have_sent_everything(job: Job, large: bool) -> None:
    """Its session is gone when the next one asks: that is told once, and the run after it sends the file."""
    fill(job, 5 * MIB if large else 1000)
    killed_at_the_end(job, DRIVE, 1)
    job.emulator.add_fault("resumable.query", "session-lost")
    ended = job.run(DRIVE, **attempt(2))
    assert is_in_doubt(ended), ended.log
    assert stored(job) == 1
    job.succeed(DRIVE, **attempt(3))
    assert stored(job) == 2


@pytest.mark.parametrize("given", [DRIVE, {**DRIVE, "chunk-size": "1MiB"}], ids=["whole", "chunks"])
def test_a_run_killed_before_its_last_block_leaves_no_doubt(job: Job, given: dict[str, str]) -> None:
    """The journal shows that the last block had not been due: a lost session starts over, and nothing is doubled."""
    (job.workspace / "a.bin").write_bytes(noise(8 * MIB))
    nth = 3 if "chunk-size" in given else 1
    job.emulator.add_fault("resumable.put", "stall", nth=nth, after=MIB // 2, seconds=30)
    running = job.start(given, **attempt(1)).when(lambda state: bool(state["faults"]["fired"]))
    running.send(signal.SIGKILL).end()
    job.emulator.add_fault("resumable.query", "session-lost")
    ended = job.succeed(given, **attempt(2))
    assert "starting over at 0" in ended.log
    assert stored(job) == 1


def spent(job: Job) -> None:
    """A first attempt that brings one of three chunks to the server, and ends with 75."""
    (job.workspace / "a.bin").write_bytes(noise(3 * MIB))
    job.emulator.add_fault("resumable.put", "status", status=503, nth=2)
    job.fail(75, {**DRIVE, "chunk-size": "1MiB", "max-retries": "0"}, **attempt(1))


def test_a_run_that_noted_what_it_sent_leaves_no_doubt(job: Job) -> None:
    """Not all of it was sent when the retries were spent, and the session is gone: the file is sent from its start."""
    spent(job)
    job.emulator.add_fault("resumable.query", "session-lost")
    ended = job.succeed(DRIVE, **attempt(2))
    assert "starting over at 0" in ended.log
    assert stored(job) == 1


def test_what_was_noted_no_longer_holds_once_another_run_went_on(job: Job) -> None:
    """The second attempt sends the rest and is killed: the third knows only that all of it may have been sent."""
    spent(job)
    killed_at_the_end(job, DRIVE, 2)
    job.emulator.add_fault("resumable.query", "session-lost")
    ended = job.run(DRIVE, **attempt(3))
    assert is_in_doubt(ended), ended.log
    assert stored(job) == 1
