"""Runs the program as a CI job does: a child process, inputs in its environment, files where the
platform puts them.
"""

from __future__ import annotations

import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from google_emulator import Emulator
from tests.support import fork_server, secret_watch
from tests.support.discovery import refused_by_google
from tests.support.fork_server import ForkedRun
from tests.support.platforms import file_commands
from tests.support.transfer_harness import FakeTime
from uploader.cancellation import Cancellation
from uploader.http.client import HttpClient
from uploader.inputs import read as read_inputs
from uploader.outputs import make_reporter
from uploader.run import Run

ENTRYPOINT = fork_server.ENTRYPOINT
# GitHub's runner names the files of each step by another one
STEP = "0b0a2a5c-7bfa-4b5e-9e44-0d3a3f1f4a51"


@dataclass(frozen=True)
class Ended:
    """How a run ended: its exit code, everything it said, and what it left in the files."""

    code: int
    log: str
    outputs: dict[str, str]
    summary: str
    results: list[dict[str, Any]]
    peak: int  # bytes of resident memory of a fresh run, else 0

    @property
    def last_line(self) -> str:
        """The last line of the log, without how long the run took."""
        return re.sub(
            r" Took \d+\.\d s, \d+\.\d s of that waiting for answers\.$", "", self._last
        )

    @property
    def _last(self) -> str:
        return self.log.rstrip().splitlines()[-1]


@dataclass(frozen=True)
class Job:
    """A workspace and an emulator; `run` starts the program in it with inputs by their contract
    names.

    `stdin` is a descriptor that the program reads as its standard input; there is none unless it is
    given. A `fresh` run has a Python of its own: where its memory counts, or how it starts.

    A run from start to end sleeps a hundredth of its waits (`fork_server.quick_clock`). It sleeps
    all of them if it has a Python of its own, if the test does something to it meanwhile (`start`),
    or in `real_time`: where others keep time with it.
    """

    workspace: Path
    emulator: Emulator
    kind: str = "github"
    stdin: int = subprocess.DEVNULL
    fresh: bool = False
    real_time: bool = False

    def environment(self, inputs: Mapping[str, str]) -> dict[str, str]:
        """What the CI system would set, and nothing of this process but the path."""
        common = {
            "api-endpoint": self.emulator.url,
            "credentials": json.dumps(self.emulator.key),
        }
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self._private),
            "RUNNER_TEMP": str(self._private),
        }
        if self.kind == "github":
            environment |= {
                "GITHUB_ACTIONS": "true",
                "GITHUB_WORKSPACE": str(self.workspace),
            }
            environment |= {
                "GITHUB_OUTPUT": str(self._outputs),
                "GITHUB_STEP_SUMMARY": str(self._summary),
            }
            return environment | {
                f"INPUT_{name.upper()}": value
                for name, value in {**common, **inputs}.items()
            }
        environment |= (
            {"GITLAB_CI": "true", "CI_PROJECT_DIR": str(self.workspace)}
            if self.kind == "gitlab"
            else {}
        )
        return environment | {
            f"UPLOADER_{name.upper().replace('-', '_')}": value
            for name, value in {**common, **inputs}.items()
        }

    def run(self, inputs: Mapping[str, str], **more: str) -> Ended:
        """One run from start to end."""
        return self._start(inputs, more, quick=not self.real_time).end()

    def succeed(self, inputs: Mapping[str, str], **more: str) -> Ended:
        """One run that has to end well."""
        ended = self.run(inputs, **more)
        assert ended.code == 0, ended.log
        return ended

    def fail(self, code: int, inputs: Mapping[str, str], **more: str) -> Ended:
        """One run that has to end with this exit code."""
        ended = self.run(inputs, **more)
        assert ended.code == code, ended.log
        return ended

    def start(self, inputs: Mapping[str, str], **more: str) -> Running:
        """A run that goes on while the test does something to it."""
        return self._start(inputs, more, quick=False)

    def _start(
        self, inputs: Mapping[str, str], more: Mapping[str, str], *, quick: bool
    ) -> Running:
        self.empty_files()
        environment = {**self.environment(inputs), **more}
        if fork_server.can_fork(environment) and not self.fresh:
            server = fork_server.fork_server()
            return Running(
                self, server.start(environment, self.workspace, self.stdin, quick=quick)
            )
        child = subprocess.Popen(
            [sys.executable, str(ENTRYPOINT)],
            env=environment,
            cwd=self.workspace,
            stdin=self.stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        return Running(self, child)

    def empty_files(self) -> None:
        """Makes the files for the outputs and the summary, as the runner does before each step."""
        for file in (self._outputs, self._summary):
            file.write_text("")

    def run_here(
        self, inputs: Mapping[str, str], time: FakeTime, **more: str
    ) -> tuple[int, str]:
        """One run inside this process, which sleeps on `time`: its exit code and its log."""
        self.empty_files()
        given, problems = read_inputs({**self.environment(inputs), **more}, [])
        log = io.StringIO()
        reporter = make_reporter(given.platform, stdout=log, names=given.names)
        run = Run(given, reporter, Cancellation(), time.clock(), HttpClient())
        code = run.to_its_end(problems)
        self.check_for_leaks(log.getvalue().encode())
        return code, log.getvalue()

    def check_for_leaks(self, log: bytes, arguments: bytes = b"") -> None:
        """Raise AssertionError if a secret is in the log, in the arguments of the process or in a
        file that the run has written.
        """
        written = secret_watch.files(
            self._private,
            self.workspace / "uploader-results.json",
            self.workspace / "uploader.env",
        )
        channels = {"the log": log, "the arguments": arguments, **dict(written)}
        leaks = secret_watch.leaks(self.emulator, channels, masks=self.kind == "github")
        assert not leaks, leaks

    @property
    def state_folder(self) -> Path:
        """Where a run keeps its state unless it is told otherwise."""
        states = (
            self._private / ".local" / "state"
            if self.kind == "gitlab"
            else self._private
        )
        return states / "uploader"

    def stored(self) -> list[bytes]:
        """What the emulator has got, upload by upload."""
        return [
            Path(one["file"]).read_bytes() for one in self.emulator.state()["objects"]
        ]

    @property
    def _private(self) -> Path:
        folder = self.workspace.parent / f"{self.workspace.name}.private"
        folder.mkdir(exist_ok=True)
        return folder

    @property
    def _outputs(self) -> Path:
        return self._commands / f"set_output_{STEP}"

    @property
    def _summary(self) -> Path:
        return self._commands / f"step_summary_{STEP}"

    @property
    def _commands(self) -> Path:
        folder = self._private / "_temp" / "_runner_file_commands"
        folder.mkdir(parents=True, exist_ok=True)
        return folder


@dataclass(frozen=True)
class Running:
    """A run that has not ended."""

    job: Job
    child: subprocess.Popen[bytes] | ForkedRun

    def when(
        self, true: Callable[[dict[str, Any]], bool], seconds: float = 60.0
    ) -> Running:
        """Waits until the emulator's state is as wanted."""
        limit = time.monotonic() + seconds
        while not true(self.job.emulator.state()):
            assert time.monotonic() < limit, (
                "the state that was waited for did not come"
            )
            assert self.child.poll() is None, (
                "the run ended before the state that was waited for came"
            )
            time.sleep(0.005)
        return self

    def send(self, number: signal.Signals) -> Running:
        """Sends a signal."""
        self.child.send_signal(number)
        return self

    def end(self) -> Ended:
        """Waits for the end and reads what was left."""
        assert self.child.stdout is not None
        arguments = self._told("cmdline")
        log, peak = b"", 0
        for line in self.child.stdout:
            log += line
            if self.job.fresh:
                peak = max(peak, self._high_water())
        self.child.stdout.close()
        code = self.child.wait()
        self.job.check_for_leaks(log, arguments)
        refused = refused_by_google(self.job.emulator.requests)
        assert not refused, f"Google would refuse {refused}"
        sessions = self.job.emulator.state()["sessions"]
        assert not any(one["uneven_chunks"] for one in sessions), (
            "a chunk was no multiple of the granularity"
        )
        results = self.job.workspace / "uploader-results.json"
        return Ended(
            code=code,
            log=log.decode(),
            outputs=file_commands(self.job._outputs.read_bytes()),
            summary=self.job._summary.read_text(),
            results=json.loads(results.read_text()) if results.exists() else [],
            peak=peak,
        )

    def _high_water(self) -> int:
        """The most memory in bytes so far. (ru_maxrss would begin with that of the process that
        started this one.)
        """
        found = re.search(rb"^VmHWM:\s+(\d+) kB", self._told("status"), re.MULTILINE)
        return int(found[1]) * 1024 if found else 0

    def _told(self, what: str) -> bytes:
        """What the system tells of the process; nothing once it is gone."""
        try:
            return Path(f"/proc/{self.child.pid}/{what}").read_bytes()
        except OSError:
            return b""
