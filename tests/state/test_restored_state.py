"""A cache may bring back any older state at any time: nothing is doubled or lost, and nobody else's
success is told.
"""

from __future__ import annotations

import json
import random
import shutil
import signal
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from google_emulator import Emulator, specimens
from tests.soak.troubles import Killed
from tests.support.job import Job
from tests.support.transfer_harness import FakeTime, RecordingReporter
from uploader import inputs
from uploader.auth.google import Login
from uploader.cancellation import Cancellation
from uploader.errors import UploaderError
from uploader.http.client import HttpClient, Timeouts
from uploader.http.messages import Block, Request, Response, TransportError
from uploader.inputs import JobRun
from uploader.inputs.records import TransferInputs
from uploader.plan import make_plan
from uploader.retry import RetryPolicy
from uploader.state.journal import Journal
from uploader.state.sealed_store import SealedStore
from uploader.transfer.api_client import ApiClient
from uploader.transfer.engine import Engine

pytestmark = pytest.mark.slow

GRANULE = 256 * 1024  # bytes
BEGAN = time.time()  # seconds since the epoch
SEQUENCES = 30  # of each target and seed, of up to eight attempts each
TARGETS: dict[str, dict[str, str]] = {
    "gmail": {
        "files": "a.bin",
        "mail-from": "a@x.org",
        "mail-to": "b@x.org",
        "mail-subject": "s",
        "mail-body": "b",
    },
    "drive.files.create": {"files": "a.bin"},
    "storage.objects.insert": {"files": "a.bin", "params": "bucket: b"},
    "play": {"files": "app.aab", "tracks": "internal"},
}


@dataclass(frozen=True)
class Fate:
    """What happens at the request of this number: the process dies before or after it, or the
    network does.
    """

    kind: str = "none"
    at: int = 0


class FatedClient(HttpClient):
    """A client with a fate; it notes the sessions whose URI reached the program, which alone can
    know of them.
    """

    def __init__(self, fate: Fate) -> None:
        super().__init__()
        self._fate = fate
        self._count = 0
        self.known: list[str] = []

    def send(
        self, request: Request, blocks: Iterable[Block], token: str, timeouts: Timeouts
    ) -> Response:
        """As the real one, until the fate strikes; then it is down for good."""
        self._count += 1
        struck = self._fate.kind != "none" and self._count >= self._fate.at
        if struck and self._fate.kind == "dies before":
            raise Killed
        if struck and self._fate.kind == "network down":
            raise TransportError("the connection was reset", sent_whole=False)
        response = super().send(request, blocks, token, timeouts)
        if struck and self._fate.kind == "dies after":
            raise Killed
        if struck and self._fate.kind == "answer lost" and self._count == self._fate.at:
            raise TransportError("the connection was reset", sent_whole=True)
        uri = (
            response.headers.get("location")
            or response.headers.get("x-goog-upload-url")
            or ""
        )
        if "upload_id=" in uri:
            self.known.append(uri.rpartition("upload_id=")[2])
        return response


class Tokens(Login):
    """A login that is always right."""

    def __init__(self, token: str) -> None:
        self._token, self.quota_project = token, ""

    def token(self, min_seconds: float = 300) -> str:
        del min_seconds
        return self._token

    def renew(self) -> None:
        raise AssertionError


@dataclass(frozen=True)
class Snapshot:
    """The state folder after an attempt, and the session in it: its id, which run began it.

    `checkouts` is how often the files had been checked out by then.
    """

    folder: Path
    session: str = ""
    begun: JobRun = JobRun("")
    checkouts: int = 0


@dataclass(frozen=True)
class Attempt:
    """How an attempt ended: exit code (None: killed), and the id of the last session that it got to
    know.
    """

    code: int | None
    session: str
    error: str


class World:
    """One job of a CI system, repeated as people and runners repeat it, on a state that comes and
    goes.
    """

    def __init__(
        self, target: str, emulator: Emulator, folder: Path, chance: random.Random
    ) -> None:
        self.target = target
        self.emulator = emulator
        self.chance = chance
        self.time = FakeTime()
        self.checkouts = 0
        self._workspace = folder / "workspace"
        self._state = folder / "state"
        self._folder = folder
        self._workspace.mkdir(parents=True)
        if target == "play":
            self.package = f"com.example.a{chance.getrandbits(60):x}"
            specimens.make_bundle(
                self._workspace / "app.aab",
                self.package,
                7,
                "1.0",
                size_bytes=GRANULE + 999,
            )
        else:
            (self._workspace / "a.bin").write_bytes(
                chance.randbytes(chance.choice((900, GRANULE + 999)))
            )
        self._token = emulator.token(
            "https://mail.google.com/", *SCOPES, user="a@x.org"
        )
        empty = folder / "0"
        empty.mkdir()
        self.snapshots = [Snapshot(empty)]

    def checkout(self) -> None:
        """The same bytes in another file, as a fresh machine has them."""
        self.checkouts += 1
        for path in tuple(self._workspace.iterdir()):
            shutil.copyfile(path, path.with_suffix(".copy"))
            path.with_suffix(".copy").replace(path)

    def restore(self, snapshot: Snapshot) -> None:
        """The state folder as it was then."""
        shutil.rmtree(self._state, ignore_errors=True)
        shutil.copytree(snapshot.folder, self._state)
        self._state.chmod(0o700)

    def keep(self, session: str, begun: JobRun) -> Snapshot:
        """What the cache keeps of the state folder."""
        folder = self._folder / f"{len(self.snapshots)}"
        shutil.copytree(self._state, folder)
        self.snapshots.append(Snapshot(folder, session, begun, self.checkouts))
        return self.snapshots[-1]

    def attempt(self, run: JobRun, fate: Fate) -> Attempt:
        """One process of the job."""
        self.time.now += self.chance.choice((10.0, 3600.0))
        common = {
            "target": self.target,
            "credentials": json.dumps(self.emulator.key),
            "state-dir": str(self._state),
        }
        given = {**common, "api-endpoint": self.emulator.url, **TARGETS[self.target]}
        environ = {f"INPUT_{name.upper()}": value for name, value in given.items()}
        environ |= {"GITHUB_ACTIONS": "true", "GITHUB_WORKSPACE": str(self._workspace)}
        read, problems = inputs.read(environ, [])
        clock = self.time.clock()
        clock.wall = lambda: BEGAN + self.time.now  # files bear the real time
        reporter, client = RecordingReporter(), FatedClient(fate)
        journal = Journal(
            SealedStore(self._state, b"k" * 32, "me", clock, reporter), run
        )
        settings = TransferInputs(api_endpoint=self.emulator.url, chunk_size=GRANULE)
        api = ApiClient(
            client,
            Tokens(self._token),
            RetryPolicy(clock, Cancellation(), 1, 1800.0),
            settings,
        )
        engine = Engine(api, settings, journal, reporter)
        code: int | None = None
        error = ""
        try:
            engine.run(make_plan(read, problems).prepared.flow)
            code = 0
            engine.clear_journal(ok=True)
        except Killed:
            pass
        except UploaderError as failure:
            code, error = failure.exit_code, str(failure)
            engine.clear_journal(ok=False)
        finally:
            journal.close()
            client.abort()
        return Attempt(code, client.known[-1] if client.known else "", error)

    def complete(self, session: str) -> bool:
        """Whether the server has finished a session."""
        return bool(session) and self.emulator.uploads.sessions[session].state == "done"

    def effects(self) -> int:
        """How many uploads took effect so far."""
        return len(self.emulator.uploads.completed)

    def released(self) -> bool:
        """Whether the bundle is live on its track, and was taken at most once by each edit."""
        state = self.emulator.state()
        tracks = state["tracks"].get(self.package, {}).get("internal", [])
        places = [
            one["path"] for one in state["objects"] if self.package in one["path"]
        ]
        assert len(places) == len(set(places)), places
        return [
            code for release in tracks for code in release.get("versionCodes", [])
        ] == ["7"]


SCOPES = (
    "https://www.googleapis.com/auth/cloud-platform",
    "https://www.googleapis.com/auth/drive.file",
    "https://www.googleapis.com/auth/gmail.send",
    "https://www.googleapis.com/auth/androidpublisher",
)


def fate(chance: random.Random, target: str) -> Fate:
    """Half of all attempts live; the others meet their fate at any request of the few that they
    have.
    """
    kind = chance.choice(
        (
            "none",
            "none",
            "none",
            "dies before",
            "dies after",
            "dies after",
            "answer lost",
            "network down",
        )
    )
    return Fate(kind, chance.randrange(1, 13 if target == "play" else 5))


def next_run(run: JobRun, last: Attempt | None, chance: random.Random) -> JobRun:
    """A re-run of what did not end well, or another run of the same job."""
    if last is not None and last.code != 0 and chance.random() < 0.6:
        return replace(run, attempt=run.attempt + 1)
    return JobRun(f"run {int(run.id[4:]) + 1}", 1)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("seed", range(2))
def test_any_older_state_may_come_back(tmp_path: Path, target: str, seed: int) -> None:
    """Whatever dies, whatever is restored: what a session was and who began it decides what every
    attempt must do.
    """
    with Emulator() as emulator:
        for number in range(SEQUENCES):
            chance = random.Random(f"{seed}:{number}")
            world = World(target, emulator, tmp_path / f"{number}", chance)
            follow(world, replaces=target == "storage.objects.insert")
            shutil.rmtree(tmp_path / f"{number}")


def follow(world: World, *, replaces: bool) -> None:
    """Some attempts of some runs, each held against what it must do."""
    run, last = JobRun("run 0"), None
    latest = world.snapshots[0]
    for _ in range(world.chance.randrange(3, 9)):
        run = next_run(run, last, world.chance)
        restored = (
            latest
            if world.chance.random() < 0.5
            else world.chance.choice(world.snapshots)
        )
        if world.target != "gmail" and world.chance.random() < 0.2:
            world.checkout()
        world.restore(restored)
        complete, before = world.complete(restored.session), world.effects()
        struck = fate(world.chance, world.target)
        last = world.attempt(run, struck)
        made = world.effects() - before
        assert last.code is not None or struck.kind.startswith("dies")
        if world.target == "play":
            assert last.code in ((0,) if struck.kind == "none" else (0, 75, None)), (
                last.error
            )
            assert last.code != 0 or world.released()
        elif not complete or replaces:
            check_sent(last, made, done=complete and restored.begun.id == run.id)
        else:
            known = (
                restored.begun.id == run.id and restored.checkouts == world.checkouts
            )
            check_not_sent(last, made, known=known)
        ended = last.code in (0, 4)
        left = (
            (last.session, run) if last.session else (restored.session, restored.begun)
        )
        latest = world.keep(*(("", JobRun("")) if ended else left))


def check_sent(last: Attempt, made: int, *, done: bool) -> None:
    """Nothing that adds is on the server yet (`done`: what replaces is, by this run): a success
    made its effect now.
    """
    assert last.code in (0, 75, None), last.error
    assert made or done or last.code != 0, "told a success and made nothing"


def check_not_sent(last: Attempt, made: int, *, known: bool) -> None:
    """The session that was given is complete: it is this run's success only if known to be, and
    nothing is added.
    """
    assert not made, "doubled"
    assert last.code in (0 if known else 4, 75, None), last.error
    assert last.code != 4 or "an upload of it that run" in last.error


# --- through the entrypoint -----------------------------------------------------------------------


JOBS: dict[str, tuple[dict[str, str], str]] = {
    "mail": (
        {**TARGETS["gmail"], "target": "gmail", "impersonate-user": "a@x.org"},
        "messages",
    ),
    "Drive": ({"target": "drive.files.create", "files": "a.bin"}, "objects"),
}


def ci_run(platform: str, run: int, attempt: int = 1) -> dict[str, str]:
    """How the CI system names a run and its attempts; a shell names nothing."""
    if platform == "github":
        return {
            "GITHUB_RUN_ID": f"{run}",
            "GITHUB_RUN_ATTEMPT": f"{attempt}",
            "GITHUB_JOB": "release",
        }
    if platform == "console":
        return {}
    return {
        "CI_PIPELINE_ID": f"{run}",
        "CI_JOB_NAME": "release",
        "CI_JOB_ID": f"{run * 100 + attempt}",
    }


def killed_after_the_last_byte(job: Job, what: str, **run: str) -> dict[str, str]:
    """The inputs of a run whose file is stored, and which died before it heard so."""
    (job.workspace / "a.bin").write_bytes(b"x" * 1000)
    given = {**JOBS[what][0], "state-dir": str(job.workspace.parent / "state")}
    job.emulator.add_fault("resumable.final", "slow-answer", seconds=30)
    running = job.start(given, **run).when(
        lambda state: any(one["state"] == "done" for one in state["sessions"])
    )
    running.send(signal.SIGKILL).end()
    return given


@pytest.mark.parametrize("protocol", ["simple", "multipart"])
def test_a_mail_in_one_request_whose_run_was_killed_is_not_sent_again_unasked(
    job: Job, protocol: str
) -> None:
    """No session can be asked, so the next run says its doubt once; the one after it sends."""
    mail = {
        **JOBS["mail"][0],
        "upload-protocol": protocol,
        "state-dir": str(job.workspace.parent / "state"),
    }
    (job.workspace / "a.bin").write_bytes(b"x" * 1000)
    job.emulator.add_fault(protocol, "slow-answer", seconds=30)
    job.start(mail).when(lambda state: bool(state["messages"])).send(
        signal.SIGKILL
    ).end()
    ended = job.fail(4, mail)
    assert "a run began it at" in ended.log
    assert len(job.emulator.state()["messages"]) == 1
    assert job.run(mail).code == 0
    assert len(job.emulator.state()["messages"]) == 2


@pytest.mark.parametrize("platform", ["github", "gitlab"])
@pytest.mark.parametrize("what", JOBS)
def test_what_another_run_finished_is_no_success_of_this_one(
    job: Job, platform: str, what: str
) -> None:
    """A restored state ends a new run with 4 and both readings; once that is told, the next attempt
    sends.
    """
    job = replace(job, kind=platform)
    effect, given = (
        JOBS[what][1],
        killed_after_the_last_byte(job, what, **ci_run(platform, 1)),
    )
    ended = job.fail(4, given, **ci_run(platform, 2))
    assert "run 1" in ended.log or "pipeline 1" in ended.log
    assert "ended before it could report success" in ended.log
    assert "was restored to an older state" in ended.log
    assert len(job.emulator.state()[effect]) == 1
    job.succeed(given, **ci_run(platform, 2, 2))
    assert len(job.emulator.state()[effect]) == 2


@pytest.mark.parametrize("platform", ["github", "gitlab", "console"])
@pytest.mark.parametrize("what", JOBS)
def test_a_re_run_finds_what_its_first_attempt_finished(
    job: Job, platform: str, what: str
) -> None:
    """A killed run that is repeated, by GitHub's re-run, GitLab's retry or by hand, ends well and
    adds nothing.
    """
    job = replace(job, kind=platform)
    effect, given = (
        JOBS[what][1],
        killed_after_the_last_byte(job, what, **ci_run(platform, 1)),
    )
    job.succeed(given, **ci_run(platform, 1, 2))
    assert len(job.emulator.state()[effect]) == 1
    assert not list((job.workspace.parent / "state").iterdir())


def test_a_ci_system_that_names_no_run_is_never_believed(job: Job) -> None:
    """Where a re-run can't be told from another run, what is complete is in doubt."""
    job = replace(job, kind="console")
    given = killed_after_the_last_byte(job, "Drive", CI="true")
    ended = job.fail(4, given, CI="true")
    assert "an unknown run" in ended.log
