"""Sessions that are lost when all of a file may have arrived: sent again where that does no harm,
else told, exit 4.
"""

from __future__ import annotations

import signal
from dataclasses import replace
from typing import Any

import pytest

from tests.support.destinations import MIB, USER, apk, bundle, noise, package
from tests.support.job import Ended, Job

pytestmark = pytest.mark.slow

DRIVE = {"target": "drive.files.create", "files": "a.bin"}
STORAGE = {
    "target": "storage.objects.insert",
    "params": "bucket: b",
    "upload-protocol": "resumable",
    "files": "a.bin",
}
SHARING = {"target": "play-internal-sharing", "files": "*.apk"}
OTA = {
    "target": "ota",
    "deployment": "d1",
    "package-title": "System 1.2",
    "files": "ota.zip",
}
PLAY = {"target": "play", "files": "*.aab", "tracks": "internal"}
ADDING = {"Drive": DRIVE, "internal sharing": SHARING, "OTA": OTA}
STEPS = {"OTA": ("goog.finalize", "goog.query")}
TROUBLES: dict[str, dict[str, Any]] = {
    "answer lost": {"do": "answer-lost"},
    "503": {"do": "status-after-effect", "status": 503, "retry_after": 0},
}


def lost(
    job: Job,
    trouble: dict[str, Any],
    status: int = 404,
    steps: tuple[str, str] | None = None,
) -> None:
    """The answer to the last request, and then the session."""
    final, query = steps or ("resumable.final", "resumable.query")
    job.emulator.faults.add(
        [
            {"on": final, **trouble},
            {"on": query, "do": "session-lost", "status": status},
        ]
    )


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
def test_what_would_be_added_twice_is_in_doubt(
    job: Job, name: str, trouble: str, status: int
) -> None:
    """It is there once, and exit 4 says what is not known and where to look; the next run sends
    it.
    """
    fill(job)
    lost(job, TROUBLES[trouble], status, STEPS.get(name))
    if name == "OTA":  # whose list of packages would settle it
        refused = {
            "on": "androidovertheair.deployments.packages.list",
            "do": "status",
            "status": 403,
            "times": 100,
        }
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


def unanswered(job: Job) -> None:
    """The file arrives, nobody hears of it, and the service is down for the rest of the run."""
    job.emulator.add_fault("resumable.final", "answer-lost")
    job.emulator.add_fault("resumable.query", "status", status=503, times=2)


MAIL = {
    "target": "gmail",
    "impersonate-user": USER,
    "mail-to": "a@example.com",
    "mail-subject": "s",
    "mail-body": "b",
}
IMPATIENT = {"max-retries": "1"}


def test_what_the_next_run_can_ask_about_is_in_no_doubt(job: Job) -> None:
    """The session is kept in a folder that was chosen: the next run finds it complete, and sends
    nothing.
    """
    fill(job)
    unanswered(job)
    kept = {**DRIVE, "state-dir": "state"}
    ended = job.fail(75, {**kept, **IMPATIENT}, **attempt(1))
    assert "The next run continues the upload of" in ended.log
    job.succeed(kept, **attempt(2))
    assert stored(job) == 1


@pytest.mark.parametrize("kind", ["github", "gitlab"])
@pytest.mark.parametrize(
    "given", [DRIVE, MAIL, SHARING], ids=["Drive", "mail", "internal sharing"]
)
def test_what_only_this_machine_could_ask_about_is_in_doubt(
    job: Job, given: dict[str, str], kind: str
) -> None:
    """A CI job's default state folder is thrown away with its machine, so nobody is told just to
    run again.
    """
    job = replace(job, kind=kind)
    fill(job)
    unanswered(job)
    ended = job.fail(4, {**given, **IMPATIENT})
    assert ended.outputs.get("failure", "outcome-unknown") == "outcome-unknown"
    assert "Check whether the service has it before you run again" in ended.log
    assert "a run on another machine sends it" in ended.log
    assert "The next run continues the upload" not in ended.log
    assert stored(job) == 1


@pytest.mark.parametrize("given", [DRIVE, MAIL], ids=["Drive", "mail"])
def test_a_second_attempt_on_the_same_machine_asks_all_the_same(
    job: Job, given: dict[str, str]
) -> None:
    """What was written down is still there, and tells that the file arrived."""
    fill(job)
    unanswered(job)
    job.fail(4, {**given, **IMPATIENT}, **attempt(1))
    job.succeed(given, **attempt(2))
    assert stored(job) == 1
    assert not list(job.state_folder.iterdir())


def test_the_default_state_folder_of_a_plain_shell_is_kept(job: Job) -> None:
    """So the next run asks what became of the upload, and adds nothing. In a container that folder
    is gone with it, so that the outcome is in doubt.
    """
    job = replace(job, kind="console")
    fill(job)
    unanswered(job)
    job.fail(75, {**DRIVE, **IMPATIENT}, RUNNER_TEMP="")
    job.succeed(DRIVE, RUNNER_TEMP="")
    assert stored(job) == 1
    unanswered(job)
    job.fail(4, {**DRIVE, **IMPATIENT}, RUNNER_TEMP="", container="oci")


def test_what_was_surely_not_sent_whole_is_temporary(job: Job) -> None:
    """Nothing was added, so that running again does no harm on any machine. The log does not
    promise that the next run continues the upload.
    """
    (job.workspace / "a.bin").write_bytes(noise(32 * MIB))
    job.emulator.add_fault("resumable.put", "reset", nth=2, after=MIB)
    job.emulator.add_fault("resumable.query", "status", status=503)
    ended = job.fail(75, {**DRIVE, **IMPATIENT, "chunk-size": "16MiB"})
    assert "A run on another machine starts over" in ended.log
    assert "The next run continues the upload" not in ended.log


NONSENSE: dict[str, dict[str, Any]] = {
    "page": {"do": "html"},
    "empty object": {"do": "replace-body", "body": "{}"},
    "empty": {"do": "empty-body"},
    "no answer": {"do": "answer-lost"},
}


@pytest.mark.parametrize("state", ["chosen", "default"])
@pytest.mark.parametrize("what", NONSENSE)
def test_nonsense_about_a_mail_that_was_sent_leaves_it_in_doubt(
    job: Job, what: str, state: str
) -> None:
    """All of it was sent, and nobody knows more: never is a person told just to run again."""
    fault = NONSENSE[what]
    job.emulator.faults.add(
        [
            {"on": "resumable.final", "do": "answer-lost"},
            {"on": "resumable.query", **fault, "times": 9},
        ]
    )
    # the next run asks again, where it finds the session
    kept = state == "chosen" and what == "no answer"
    ended = job.fail(
        75 if kept else 4,
        {**MAIL, **IMPATIENT, **({"state-dir": "state"} if state == "chosen" else {})},
    )
    assert ended.outputs["failure"] == (
        "temporary-failure" if kept else "outcome-unknown"
    )
    assert kept or "Check whether the service has it before you run again" in ended.log
    assert len(job.emulator.state()["messages"]) == 1


@pytest.mark.parametrize("state", ["chosen", "default"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_mail_that_is_stopped_behind_its_last_byte_may_be_out(
    job: Job, state: str, number: signal.Signals
) -> None:
    """The error says so, unless the next run surely finds the session and asks."""
    job.emulator.add_fault("resumable.final", "slow-answer", seconds=30)
    given = {**MAIL, **({"state-dir": "state"} if state == "chosen" else {})}
    running = job.start(given).when(lambda state: bool(state["messages"]))
    ended = running.send(number).end()
    assert ended.code == (130 if number == signal.SIGINT else 143)
    [error] = [line for line in ended.log.splitlines() if line.startswith("::error")]
    if state == "chosen":
        assert "The next run continues the upload of" in error
    else:
        assert (
            "may have arrived. Check whether the service has it before you run again"
            in error
        )


@pytest.mark.parametrize("given", [STORAGE, PLAY], ids=["named object", "Play"])
def test_what_a_repeat_can_not_double_is_sent_again(
    job: Job, given: dict[str, str]
) -> None:
    """An object of a fixed name is replaced; a Play edit takes a version code once."""
    fill(job)
    lost(job, TROUBLES["answer lost"])
    ended = job.succeed(given)
    assert "starting over at 0" in ended.log


# --- over several runs ----------------------------------------------------------------------------


def attempt(number: int) -> dict[str, str]:
    """The same run, for the first time or again."""
    return {
        "GITHUB_RUN_ID": "7",
        "GITHUB_JOB": "release",
        "GITHUB_RUN_ATTEMPT": str(number),
    }


def killed_at_the_end(job: Job, given: dict[str, str], number: int) -> None:
    """An attempt that dies while the last answer is on its way, its file stored."""
    job.emulator.add_fault("resumable.final", "slow-answer", seconds=30)
    running = job.start(given, **attempt(number)).when(
        lambda state: len(state["objects"]) == 1
    )
    running.send(signal.SIGKILL).end()


def is_in_doubt(ended: Ended) -> bool:
    """Whether it names the run that may have sent everything."""
    return (
        ended.code == 4
        and "run 7, job release, attempt 1" in ended.log
        and "may have sent all of it" in ended.log
    )


@pytest.mark.parametrize("large", [False, True])
def test_a_killed_run_may_have_sent_everything(job: Job, large: bool) -> None:
    """Its session is gone when the next one asks: that is told once, and the run after it sends the
    file.
    """
    fill(job, 5 * MIB if large else 1000)
    killed_at_the_end(job, DRIVE, 1)
    job.emulator.add_fault("resumable.query", "session-lost")
    ended = job.run(DRIVE, **attempt(2))
    assert is_in_doubt(ended), ended.log
    assert stored(job) == 1
    job.succeed(DRIVE, **attempt(3))
    assert stored(job) == 2


@pytest.mark.parametrize(
    "given", [DRIVE, {**DRIVE, "chunk-size": "1MiB"}], ids=["whole", "chunks"]
)
def test_a_run_killed_before_its_last_block_leaves_no_doubt(
    job: Job, given: dict[str, str]
) -> None:
    """The journal shows that the last block had not been due: a lost session starts over, and
    nothing is doubled.
    """
    (job.workspace / "a.bin").write_bytes(noise(8 * MIB))
    nth = 3 if "chunk-size" in given else 1
    job.emulator.add_fault(
        "resumable.put", "stall", nth=nth, after=MIB // 2, seconds=30
    )
    running = job.start(given, **attempt(1)).when(
        lambda state: bool(state["faults"]["fired"])
    )
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
    """Not all of it was sent when the retries were spent, and the session is gone: the file is sent
    from its start.
    """
    spent(job)
    job.emulator.add_fault("resumable.query", "session-lost")
    ended = job.succeed(DRIVE, **attempt(2))
    assert "starting over at 0" in ended.log
    assert stored(job) == 1


def test_what_was_noted_no_longer_holds_once_another_run_went_on(job: Job) -> None:
    """The second attempt sends the rest and is killed: the third knows only that all of it may have
    been sent.
    """
    spent(job)
    killed_at_the_end(job, DRIVE, 2)
    job.emulator.add_fault("resumable.query", "session-lost")
    ended = job.run(DRIVE, **attempt(3))
    assert is_in_doubt(ended), ended.log
    assert stored(job) == 1


# --- several files in one request each ------------------------------------------------------------

IN_ONE_REQUEST = {
    "target": "drive.files.create",
    "files": "*.txt",
    "concurrency": "1",
    "upload-protocol": "multipart",
}


def one_refused(job: Job, given: dict[str, str]) -> Ended:
    """A first attempt that adds two of three files; the service refuses the second."""
    for name in ("a", "b", "c"):
        (job.workspace / f"{name}.txt").write_text(name * 1000)
    job.emulator.add_fault(
        "multipart", "status", status=400, message="Not today.", nth=2
    )
    ended = job.fail(4, given, **attempt(1))
    assert stored(job) == 2
    return ended


def test_what_one_request_added_is_not_added_again(job: Job) -> None:
    """The next attempt sends the file that is missing, and has the ids of all."""
    given = {**IN_ONE_REQUEST, "state-dir": "state"}
    first = one_refused(job, given)
    assert "would add these again" not in first.log
    second = job.succeed(given, **attempt(2))
    assert stored(job) == 3
    assert second.outputs["bytes-uploaded"] == "1000"
    assert second.outputs["ids"].split(",")[::2] == first.outputs["ids"].split(",")
    assert not list((job.workspace / "state").iterdir())


def test_what_another_run_added_in_one_request_is_in_doubt(job: Job) -> None:
    """It is no success of this run, and is not added again. After that error it is sent."""
    given = {**IN_ONE_REQUEST, "state-dir": "state"}
    one_refused(job, given)
    other = {**attempt(1), "GITHUB_RUN_ID": "8"}
    ended = job.fail(4, given, **other)
    assert "run 7, job release, attempt 1" in ended.log
    assert (ended.outputs["failure"], stored(job)) == ("outcome-unknown", 3)
    job.succeed(given, **other)
    assert stored(job) == 5


def test_another_build_is_sent_though_its_name_is_known(job: Job) -> None:
    """The content tells, as a file of the same name and size may be a new one."""
    given = {**IN_ONE_REQUEST, "state-dir": "state"}
    one_refused(job, given)
    (job.workspace / "a.txt").write_text("A" * 1000)
    job.succeed(given, **attempt(2))
    assert stored(job) == 4


@pytest.mark.parametrize("protocol", ["multipart", "resumable"])
def test_what_a_run_elsewhere_would_add_again_is_named(job: Job, protocol: str) -> None:
    """The state folder goes with the machine: the error names the files that are there."""
    for name in ("a", "b", "c"):
        (job.workspace / f"{name}.txt").write_text(name * 1000)
    start = "multipart" if protocol == "multipart" else "resumable.start"
    job.emulator.add_fault(start, "status", status=429, nth=2, times=2)
    ended = job.fail(75, {**IN_ONE_REQUEST, "upload-protocol": protocol, **IMPATIENT})
    assert "would add these again: a.txt, c.txt. Leave them out of `files`" in ended.log
