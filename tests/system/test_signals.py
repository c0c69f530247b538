"""Runs that are told to stop, or are not even told: how they end, what they leave, and how the next
one goes on.
"""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from typing import Any

import pytest

from google_emulator import specimens
from tests.support.job import ENTRYPOINT, Ended, Job, Running
from tests.support.transfer_harness import KIB, data_of
from uploader.cancellation import Cancellation, run_in_thread
from uploader.errors import Interrupted

pytestmark = pytest.mark.slow

MIB = 1024 * KIB
SIZE = 5 * MIB + 4321  # bytes
QUICK = 5.0  # seconds between a signal and the end, on a machine that does other things as well
PLAY = {"target": "play", "files": "*.aab", "tracks": "internal"}
DRIVE = {"target": "drive.files.create", "files": "*.bin"}
SIGNALS = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 143}


@pytest.fixture
def job(job: Job) -> Job:
    """A job whose workspace holds one bundle, and four files for a method that adds an object each
    time.
    """
    specimens.make_bundle(
        job.workspace / "app.aab", "com.example.app", 42, "1.0", size_bytes=SIZE
    )
    for number in range(4):
        (job.workspace / f"{number}.bin").write_bytes(data_of(MIB + number, number + 1))
    return job


def stopped(running: Running, number: signal.Signals) -> Ended:
    """How the run ended after the signal and another one on its heels; it must not have taken
    long.
    """
    time.sleep(0.1)  # from the server's view of a moment to the client's
    began = time.monotonic()
    running.send(number)
    time.sleep(0.05)
    running.send(number)
    ended = running.end()
    assert time.monotonic() - began < QUICK, ended.log
    assert ended.code == SIGNALS[number], ended.log
    assert "Traceback" not in ended.log
    return ended


@dataclass(frozen=True)
class TimelineEvent:
    """A point of a Play run at which the server holds it up.

    `opened` says that the program knows the edit by then, `resumed` that the next run continues the
    upload.
    """

    on: str
    do: str
    options: dict[str, Any] = field(default_factory=dict)
    opened: bool = True
    resumed: bool = False


MOMENTS = {
    "the token is fetched": TimelineEvent(
        "oauth.token", "stall", {"seconds": 30}, opened=False
    ),
    "the edit is opened": TimelineEvent(
        "play.edits.insert", "stall", {"seconds": 30}, opened=False
    ),
    "the session is opened": TimelineEvent("resumable.start", "stall", {"seconds": 30}),
    "the body is on its way": TimelineEvent(
        "resumable.put", "stall", {"after": 2 * MIB, "seconds": 30}, resumed=True
    ),
    "the answer drips in": TimelineEvent("resumable.put", "slow-drip", {"seconds": 5}),
    "the last answer is waited for": TimelineEvent(
        "resumable.final", "slow-answer", {"seconds": 30}
    ),
    "a backoff is slept": TimelineEvent(
        "resumable.put", "status", {"status": 503, "retry_after": 200}, resumed=True
    ),
    "the release is written": TimelineEvent(
        "play.tracks.update", "stall", {"seconds": 30}
    ),
    "the commit is under way": TimelineEvent(
        "play.edits.commit", "stall", {"seconds": 30}
    ),
    "the commit is done and unheard of": TimelineEvent(
        "play.edits.commit", "slow-answer", {"seconds": 30}
    ),
}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("name", MOMENTS)
def test_a_signal_at_any_moment(job: Job, name: str, number: signal.Signals) -> None:
    """The run ends within `QUICK` with the signal's exit code, and outputs what it knows; the next
    one continues, and nothing is there twice.
    """
    moment = MOMENTS[name]
    job.emulator.add_fault(moment.on, moment.do, **moment.options)
    ended = stopped(
        job.start(PLAY).when(lambda state: bool(state["faults"]["fired"])), number
    )
    assert [result["path"] for result in ended.results] == ["app.aab"]
    assert bool(ended.outputs.get("edit-id")) == moment.opened
    assert ended.outputs["results-file"]
    assert not job.emulator.state()["edits"]["deleted"]
    again = job.run(PLAY)
    state = job.emulator.state()
    assert again.code == 0, again.log
    assert again.outputs["resumed"] == str(moment.resumed).lower()
    assert sorted(job.stored()) == [(job.workspace / "app.aab").read_bytes()]
    assert len(state["edits"]["committed"]) == 1
    assert len(state["edits"]["open"]) <= (not moment.opened)


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_ends_all_threads_of_a_batch(job: Job, number: signal.Signals) -> None:
    """Four uploads side by side stop together, each is kept, and the next run finishes each exactly
    once.
    """
    job.emulator.add_fault(
        "resumable.put", "stall", after=512 * KIB, seconds=30, times=3, nth=2
    )
    running = job.start(DRIVE).when(lambda state: len(state["faults"]["fired"]) == 3)
    ended = stopped(running, number)
    assert sum(bool(result["id"]) for result in ended.results) == 1
    assert len(ended.results) == 4
    again = job.run(DRIVE)
    assert (again.code, again.outputs["resumed"]) == (0, "true"), again.log
    assert sorted(job.stored()) == sorted(
        path.read_bytes() for path in job.workspace.glob("*.bin")
    )
    assert len(again.outputs["ids"].split(",")) == 4


# Runs the program, and sends it a signal at the moment at which it begins to import a module.
INTERRUPTED_IMPORT = """
import os, runpy, sys

class Interrupting:
    def find_spec(self, name, *_):
        if name == module:
            os.kill(os.getpid(), int(number))

_, program, module, number = sys.argv
del sys.argv[1:]
sys.meta_path.insert(0, Interrupting())
runpy.run_path(program, run_name="__main__")
"""


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize(
    "module",
    ["uploader.cli", "uploader.inputs.records", "uploader.run", "uploader.plan"],
)
def test_a_signal_is_heard_while_the_program_is_loaded(
    job: Job, module: str, number: signal.Signals
) -> None:
    """One that comes before the run has begun ends it with its own code and one line, and nothing
    was sent.
    """
    command = [
        sys.executable,
        "-c",
        INTERRUPTED_IMPORT,
        str(ENTRYPOINT),
        module,
        str(int(number)),
    ]
    ended = Running(job, popen(job, command)).end()
    assert (ended.code, ended.log.count(f"The job was cancelled ({number.name}).")) == (
        SIGNALS[number],
        1,
    ), ended.log
    assert "Traceback" not in ended.log
    assert ended.outputs["results-file"]
    assert not job.emulator.state()["requests"]


def popen(job: Job, command: list[str]) -> subprocess.Popen[bytes]:
    """A process in the job's environment, for a Play release."""
    environment = job.environment(PLAY)
    job.empty_files()
    pipe = subprocess.PIPE
    return subprocess.Popen(
        command,
        env=environment,
        cwd=job.workspace,
        stdout=pipe,
        stderr=subprocess.STDOUT,
    )


def test_a_hang_up_that_is_ignored_stays_so(job: Job) -> None:
    """Under nohup the run outlives the terminal that it was started from."""
    job.emulator.add_fault("resumable.start", "stall", seconds=1)
    running = Running(job, popen(job, ["nohup", sys.executable, str(ENTRYPOINT)])).when(
        lambda state: bool(state["faults"]["fired"])
    )
    assert running.send(signal.SIGHUP).end().code == 0


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such switch")
def test_no_process_of_the_same_user_may_look_inside(job: Job) -> None:
    """The kernel is told to give memory and environment, which hold the secrets, to no debugger and
    no core file.
    """
    tell = "atexit.register(lambda: print('dumpable', ctypes.CDLL(None).prctl(3, 0, 0, 0, 0)))"
    run = f"runpy.run_path({str(ENTRYPOINT)!r}, run_name='__main__')"
    ended = Running(
        job,
        popen(
            job, [sys.executable, "-c", f"import atexit, ctypes, runpy; {tell}; {run}"]
        ),
    ).end()
    assert ended.code == 0
    assert "dumpable 0" in ended.log


def test_a_signal_is_heard_while_a_connection_is_not_made(job: Job) -> None:
    """A server whose queue is full answers no connect; the run ends in time all the same."""
    with socket.socket() as deaf, socket.socket() as first, socket.socket() as second:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen(0)
        first.connect(deaf.getsockname())
        second.setblocking(False)
        second.connect_ex(deaf.getsockname())
        running = job.start(
            {**DRIVE, "api-endpoint": f"http://127.0.0.1:{deaf.getsockname()[1]}"}
        )
        running.when(lambda state: state["requests"].get("oauth.token", 0) == 1)
        assert len(stopped(running, signal.SIGTERM).results) == 4


def test_a_simple_mail_that_is_stopped_says_its_doubt(job: Job) -> None:
    """Where one request was asked for nothing can be resumed: the log says that it may have
    arrived.
    """
    (job.workspace / "mail.eml").write_bytes(
        b"From: a@example.com\r\nTo: b@example.com\r\nSubject: c\r\n\r\nd\r\n"
    )
    job.emulator.add_fault("simple", "slow-answer", seconds=30)
    mail = {
        "target": "gmail",
        "message-file": "mail.eml",
        "impersonate-user": "a@example.com",
    }
    running = job.start({**mail, "upload-protocol": "simple"}).when(
        lambda state: bool(state["faults"]["fired"])
    )
    assert (
        "the run ended before the answer came" in stopped(running, signal.SIGTERM).log
    )


def test_a_run_that_can_not_end_is_left_behind() -> None:
    """Work that can't be interrupted, such as resolving a name, does not keep the process from
    ending in time.
    """
    cancellation, forever = Cancellation(), threading.Event()
    threading.Timer(0.05, cancellation.cancel, (signal.SIGTERM,)).start()
    began = time.monotonic()
    with pytest.raises(Interrupted) as caught:
        run_in_thread(forever.wait, cancellation, grace_period=0.1)
    forever.set()
    assert caught.value.exit_code == 143
    assert time.monotonic() - began < 10


def test_a_signal_that_another_thread_receives_ends_the_run() -> None:
    """The system may choose any thread; Python's handler runs in the main one, which has to wake up
    for it.
    """
    cancellation, forever = Cancellation(), threading.Event()

    def work() -> None:
        time.sleep(0.05)  # until the main thread waits
        signal.pthread_kill(threading.get_ident(), signal.SIGUSR1)
        forever.wait(20)

    before = signal.signal(
        signal.SIGUSR1, lambda number, _: cancellation.cancel(number)
    )
    began = time.monotonic()
    try:
        with pytest.raises(Interrupted):
            run_in_thread(work, cancellation, grace_period=0.1)
    finally:
        signal.signal(signal.SIGUSR1, before)
        forever.set()
    assert time.monotonic() - began < 10
