"""Carries releases through their troubles until each is whole, and writes down what that took and
what went wrong.
"""

from __future__ import annotations

import io
import random
import signal
import threading
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from google_emulator import Emulator
from tests.soak import releases, troubles
from tests.soak.releases import Release
from tests.support import secret_watch
from tests.support.job import Job
from uploader import inputs
from uploader.cancellation import Cancellation
from uploader.errors import IntegrityError, Interrupted, OutcomeUnknown, UploaderError
from uploader.outputs import make_reporter
from uploader.run import Run
from uploader.transfer.engine import Engine

MOST_RUNS = 40  # of one release; more would mean that it never ends
PATIENT = {"max-retries": "6", "stall-timeout": "5s", "finalize-timeout": "5s"}


@dataclass
class Ledger:
    """The figures of a soak, counted while it goes. Sizes are in bytes, times in seconds."""

    releases: int = 0
    runs: int = 0
    codes: Counter[str] = field(default_factory=Counter)
    targets: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    kills: int = 0
    real_kills: int = 0
    signals: int = 0
    jumps: int = 0
    rivals: int = 0
    commits: int = 0
    resumed: int = 0
    doubts: int = 0
    size: int = 0
    received: int = 0
    waited: float = 0.0
    wrong: list[str] = field(default_factory=list)
    memory: list[tuple[int, int]] = field(default_factory=list)
    descriptors: list[tuple[int, int]] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)

    @property
    def seconds(self) -> float:
        """Real time since the beginning."""
        return time.monotonic() - self.began

    def measure(self) -> None:
        """Writes down this process's memory and open files, after so many releases."""
        status = dict(
            line.split(":", 1)
            for line in Path("/proc/self/status").read_text().splitlines()
        )
        self.memory.append((self.releases, int(status["VmRSS"].split()[0]) * 1024))
        self.descriptors.append(
            (self.releases, len(list(Path("/proc/self/fd").iterdir())))
        )


class Chaos:
    """One soak: `release` carries the next release through; everything is drawn from the seed."""

    def __init__(self, folder: Path, seed: int) -> None:
        self._folder = folder
        self._seed = seed
        self._chance = random.Random(seed)
        self._lock = threading.Lock()
        self.ledger = Ledger()

    def release(self, *, children: bool = False) -> None:
        """The next release, with runs inside this process, or as child processes that are really
        killed.
        """
        number = self.ledger.releases
        # each can be repeated by itself
        self._chance = random.Random(f"{self._seed}:{number}")
        workspace = self._folder / f"{number}" / "workspace"
        one = releases.make(number, workspace, self._chance)
        rate = 3 << 20 if children else 0.0
        faults = troubles.faults(self._chance, one.size)
        if children:  # whose waits are real
            faults = [fault for fault in faults if "retry_after" not in fault]
        with Emulator(faults, config={"read_rate": rate}) as emulator:
            if self._chance.random() < 0.1:
                emulator.faults.add([self._chance.choice(troubles.HARD)])
            job = Job(workspace, emulator)
            most = self._children(job, one) if children else self._runs(job, one)
            self._settle(one, job, most)

    def _settle(self, one: Release, job: Job, most: int) -> None:
        """Holds the server and the disk against what the release should have made of them."""
        ledger, state = self.ledger, job.emulator.state()
        wrong = one.wrong(state, most=most)
        wrong += [f"left {path.name}" for path in job.state_folder.glob("*.new")]
        ledger.wrong += [
            f"release {one.number} ({one.inputs['target']}): {what}" for what in wrong
        ]
        ledger.releases += 1
        ledger.targets[one.inputs["target"]] += 1
        ledger.faults.update(receipt["do"] for receipt in state["faults"]["fired"])
        ledger.commits += max(one.commits(state) - 1, 0)
        ledger.size += one.size
        ledger.received += sum(
            session["bytes_received"] for session in state["sessions"]
        )

    # --- inside this process ----------------------------------------------------------------------

    def _runs(self, job: Job, one: Release) -> int:
        """Runs until one ends well; how often each content may be there.

        Once more for each that arrived damaged, and for each run that said that it may have arrived
        already: nobody looks here before the next run.
        """
        clock = troubles.Time(1000.0, time.time() - 1000.0, self._chance)
        most = 1
        if (
            one.inputs["target"] == "storage.objects.insert"
            and self._chance.random() < 0.3
        ):
            self._rival(job, one, clock)
        for _ in range(MOST_RUNS):
            self.ledger.jumps += clock.jump()
            doubts = self.ledger.doubts
            code = self._run(job, one, clock)
            most += (code == "5") + (self.ledger.doubts > doubts)
            if code == "0":
                break
        else:
            self.ledger.wrong.append(f"release {one.number} never ended")
        self.ledger.waited += clock.slept
        return most

    def _rival(self, job: Job, one: Release, clock: troubles.Time) -> None:
        """Two runs of the same release on the same state folder at the same time."""
        self.ledger.rivals += 1
        both = [
            threading.Thread(target=self._run, args=(job, one, clock)) for _ in range(2)
        ]
        for thread in both:
            thread.start()
        for thread in both:
            thread.join()

    def _run(self, job: Job, one: Release, clock: troubles.Time) -> str:
        """One run, which may be killed or told to stop; its exit code as text."""
        fate = self._chance.random()
        dies = self._chance.randrange(1, one.requests) if fate < 0.5 else None
        transport = troubles.Mortal(dies, self._chance.random())
        cancellation, out = Cancellation(), io.StringIO()
        if 0.5 <= fate < 0.6:
            left = self._chance.randrange(1, one.requests)
            transport = _Stopping(cancellation, left)
        environ = job.environment({**one.inputs, **PATIENT})
        asked, problems = inputs.read(environ, [])
        reporter = make_reporter(asked.platform, stdout=out)
        code = "killed"
        this_run = Run(asked, reporter, cancellation, clock.clock(), transport)
        try:
            with suppress(troubles.Killed):
                this_run.carry_out(problems)
                code = "0"
        except Interrupted:
            code = "130"
        except UploaderError as error:
            code = str(error.exit_code)
        if this_run.engine is not None and code == "killed":
            this_run.engine._journal.close()  # the lock of the folder ends with a process
        elif this_run.engine is not None:
            this_run.engine.clear_journal(ok=code == "0")
        self._count(code, this_run.engine, job, out.getvalue())
        return code

    def _count(self, code: str, engine: Engine | None, job: Job, log: str) -> None:
        ledger, results = (
            self.ledger,
            engine.record.results if engine is not None else [],
        )
        damaged = [
            result for result in results if isinstance(result.failure, IntegrityError)
        ]
        with self._lock:
            ledger.runs += 1
            ledger.codes[code] += 1
            ledger.kills += code == "killed"
            ledger.signals += code == "130"
            ledger.resumed += any(result.resumed_from is not None for result in results)
            ledger.doubts += any(
                isinstance(result.failure, OutcomeUnknown) for result in results
            )
            ledger.wrong += [
                f"{result.path}: {result.error}"
                for result in damaged
                if "changed during" in result.error
            ]
            ledger.wrong += secret_watch.leaks(job.emulator, {"the log": log.encode()})

    # --- child processes --------------------------------------------------------------------------

    def _children(self, job: Job, one: Release) -> int:
        """Real processes: killed or signalled at real moments, until one of them ends well."""
        most = 1
        for attempt in range(MOST_RUNS):
            running_job = job.start({**one.inputs, **PATIENT, "max-retries": "2"})
            if attempt < 3:
                time.sleep(self._chance.uniform(0.2, 1.2))
                number = self._chance.choice(
                    (signal.SIGKILL, signal.SIGKILL, signal.SIGTERM)
                )
                running_job.send(number)
            ended = running_job.end()
            killed = ended.code == -signal.SIGKILL
            self.ledger.runs += 1
            self.ledger.real_kills += killed
            self.ledger.codes["killed" if killed else str(ended.code)] += 1
            self.ledger.signals += ended.code == 143
            self.ledger.resumed += ended.outputs.get("resumed") == "true"
            doubted = ended.outputs.get("failure") == "outcome-unknown"
            self.ledger.doubts += doubted
            most += (ended.code == 5) + doubted
            if ended.code == 0 or (killed and _told(ended.log)):
                return most
        self.ledger.wrong.append(f"release {one.number} never ended")
        return most


def _told(log: str) -> bool:
    """Whether a run had said that it is done, after its outputs, before it was killed."""
    after = log.rpartition("results-file=")[2] if "results-file=" in log else ""
    return len(after.splitlines()) > 2 and "::error" not in after


class _Stopping(troubles.Mortal):
    """A transport during whose request a signal comes."""

    def __init__(self, cancellation: Cancellation, left: int) -> None:
        super().__init__(None, 0.0)
        self._cancellation = cancellation
        self._until_signal = left

    def send(self, *args: object, **options: object) -> object:  # type: ignore[override]  # passed on as they are
        self._until_signal -= 1
        if self._until_signal == 0:
            self._cancellation.cancel(signal.SIGINT)
        return super().send(*args, **options)  # type: ignore[arg-type]  # passed on as they are, too
