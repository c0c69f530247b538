"""A step of a rollout that is killed at any moment: a plain re-run makes no second step and loses no halt."""

from __future__ import annotations

import random
import signal
import time
from pathlib import Path

import pytest

from google_emulator import Emulator
from tests.support.job import Job

APP = "com.example.app"
ROLLOUT = {
    "target": "play-rollout",
    "package-name": APP,
    "tracks": "production",
    "rollout-steps": "1%, 5%, 20%",
    "halt-above": "crash-rate 1.09%",
}


def rolling(folder: Path, emulator: Emulator, *, crashing: bool) -> Job:
    """A job whose release is at 1 %, and fares well or badly."""
    release = {"versionCodes": ["42"], "status": "inProgress", "userFraction": 0.01}
    emulator.console.add_release(APP, "production", release)
    vitals = {"users": 5000, "userPerceivedCrashRate": 0.03 if crashing else 0.004}
    emulator.vitals.script({APP: {"versions": {"42": vitals}}})
    folder.mkdir(exist_ok=True)
    return Job(folder, emulator)


def live(job: Job) -> tuple[str, float]:
    """Status and share of the release."""
    (release,) = job.emulator.state()["apps"][APP]["tracks"]["production"]
    return release["status"], release["userFraction"]


@pytest.fixture(scope="module")
def seconds(tmp_path_factory: pytest.TempPathFactory) -> float:
    """How long an undisturbed look takes."""
    with Emulator() as emulator:
        job, began = rolling(tmp_path_factory.mktemp("clean"), emulator, crashing=False), time.monotonic()
        assert job.run(ROLLOUT).code == 0
        return time.monotonic() - began


@pytest.mark.parametrize("seed", range(50))
def test_a_killed_step_is_one_step_or_one_halt(tmp_path: Path, seconds: float, seed: int) -> None:
    """SIGKILL at a random moment, then the same job once more, unless the first had told its end: one commit."""
    crashing = seed % 2 == 1
    with Emulator() as emulator:
        job = rolling(tmp_path / "workspace", emulator, crashing=crashing)
        running = job.start(ROLLOUT)
        time.sleep(random.Random(seed).uniform(0.2, 1.05) * seconds)  # the moment itself is what is tested
        killed = running.send(signal.SIGKILL).end()
        if "decision=" not in killed.log:
            again = job.run(ROLLOUT)
            expected = (6, "halted") if crashing else (0, "stepped")
            assert (again.code, again.outputs["decision"]) == expected, again.log
        assert live(job) == (("halted", 0.01) if crashing else ("inProgress", 0.05))
        assert len(emulator.state()["edits"]["committed"]) == 1
