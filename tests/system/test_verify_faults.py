"""Comparisons with what Google Play serves, when something goes wrong on the way: no run says what
is not true, nothing is committed twice, nothing is left on the disk, and the next run ends well, on
the same machine or on a fresh one.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from google_emulator import Emulator
from google_emulator.specimens import Build, bundle_contents, make_bundle
from tests.support.job import Ended, Job

pytestmark = pytest.mark.slow

RELEASE = {
    "target": "play",
    "files": "*.aab",
    "tracks": "internal",
    "verify": "true",
    "wait-deadline": "0s",
}
LATER = {"target": "play-verify", "files": "*.aab", "wait-deadline": "0s"}
LIST = "play.generatedapks.list"
DOWNLOAD = "play.generatedapks.download"
OWN = {"app.aab", "uploader-results.json", "uploader-served.json"}
CONTENTS = bundle_contents(abis=("arm64-v8a",), densities=(), languages=())


def machine(folder: Path, emulator: Emulator) -> Job:
    """A machine that has the bundle, and nothing of an earlier run."""
    folder.mkdir(parents=True)
    build = Build(libraries=CONTENTS, min_sdk=23)
    make_bundle(folder / "app.aab", "com.example.app", 42, "1.0", build=build)
    return Job(folder, emulator)


@contextmanager
def before(run: dict[str, str], folder: Path) -> Iterator[Job]:
    """A machine and an emulator; what is to be compared later is released by now."""
    with Emulator() as emulator:
        job = machine(folder, emulator)
        if run is LATER:
            job.succeed({**RELEASE, "verify": "false"})
        yield job


def left(job: Job) -> set[str]:
    """What a run has left: in the workspace, and in the folder for temporary files all but what the
    runner and the state of the run have there.
    """
    temporary = Path(job.environment({})["RUNNER_TEMP"])
    others = {path.name for path in temporary.iterdir()} - {
        "_temp",
        job.state_folder.name,
    }
    return others | {path.name for path in job.workspace.iterdir()} - OWN


def committed(job: Job) -> int:
    """How many edits were committed."""
    return len(job.emulator.state()["edits"]["committed"])


def killed_at(request: int, job: Job, run: dict[str, str]) -> Ended | None:
    """Kill a run once the server has carried its request of this number out, and not answered yet;
    None where it has ended before.
    """
    job.emulator.add_fault("any", "slow-answer", nth=request, seconds=60)
    running = job.start(run)
    while not job.emulator.state()["faults"]["fired"]:
        if running.child.poll() is not None:
            ended = running.end()
            assert ended.code == 0, ended.log
            return None
        time.sleep(0.005)
    return running.send(signal.SIGKILL).end()


@pytest.mark.parametrize("run", [RELEASE, LATER], ids=["release", "later"])
@pytest.mark.parametrize(
    "is_fresh", [False, True], ids=["same-machine", "fresh-machine"]
)
@pytest.mark.timeout(900)
def test_a_run_that_was_killed_at_any_request_is_repeated(
    tmp_path: Path, run: dict[str, str], is_fresh: bool
) -> None:
    request = 1
    is_killed = True
    while is_killed:
        with before(run, tmp_path / str(request)) as job:
            ended = killed_at(request, job, run)
            is_killed = ended is not None
            if ended is not None:
                assert ended.code == -signal.SIGKILL, request
                assert ended.outputs == {}, request
                assert left(job) == set(), request
                next_job = job
                if is_fresh:
                    next_job = machine(tmp_path / f"{request}-fresh", job.emulator)
                again = next_job.succeed(run)
                assert again.outputs["served"] == "same", request
                assert committed(job) == 1, request
                assert left(next_job) == set(), request
        request += 1
    # the login, the list and three APKs; a release has its own requests before them
    assert request > (10 if run is RELEASE else 5)


@pytest.mark.parametrize("run", [RELEASE, LATER], ids=["release", "later"])
@pytest.mark.parametrize("on", [LIST, DOWNLOAD])
def test_a_service_that_is_down_is_temporary(
    tmp_path: Path, run: dict[str, str], on: str
) -> None:
    """The release stays, and what was not compared has no result."""
    with before(run, tmp_path / "workspace") as job:
        job.emulator.add_fault(on, "status", status=503)
        ended = job.fail(75, {**run, "max-retries": "0"})
        assert ended.outputs.get("served", "") == ""
        assert ended.outputs.get("committed") == ("true" if run is RELEASE else None)
        assert left(job) == set()
        assert job.succeed(run).outputs["served"] == "same"
        assert committed(job) == 1


@pytest.mark.parametrize("run", [RELEASE, LATER], ids=["release", "later"])
@pytest.mark.parametrize(
    ("on", "fault", "options"),
    [
        (LIST, "answer-lost", {}),
        (DOWNLOAD, "answer-lost", {}),
        (DOWNLOAD, "cut-answer", {"after": 500}),
    ],
    ids=["list-lost", "download-lost", "download-cut"],
)
def test_a_lost_or_cut_answer_is_asked_for_again(
    tmp_path: Path, run: dict[str, str], on: str, fault: str, options: dict[str, int]
) -> None:
    with before(run, tmp_path / "workspace") as job:
        job.emulator.add_fault(on, fault, **options)
        assert job.succeed(run).outputs["served"] == "same"
        assert committed(job) == 1
        assert left(job) == set()


@pytest.mark.parametrize("run", [RELEASE, LATER], ids=["release", "later"])
def test_protection_that_is_switched_on_later_is_seen_then(
    tmp_path: Path, run: dict[str, str]
) -> None:
    with before(run, tmp_path / "workspace") as job:
        assert job.succeed(run).outputs["served"] == "same"
        job.emulator.config.generated_apks["*"] = {"protected": True}
        assert job.succeed(run).outputs["served"] == "protected"
        assert committed(job) == 1
