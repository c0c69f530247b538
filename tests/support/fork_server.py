"""Starts runs of the program by fork from a process that has imported it already: most of the
processor time of a short run goes into its imports.

`tests.support.job` starts this module as a program of its own, apart from pytest, its threads and
its modules, and sends it one request a run. Everything after the imports is as in a process of its
own: entrypoint.py itself, the streams, the environment, the working folder, signals, and the end of
the interpreter. Tests of what comes earlier start a Python for each run.

A `quick` run differs in three ways: entrypoint.py is passed by, the clock is passed in to the
function that it calls, and the interpreter is left without being taken apart object by object,
which costs more than most runs.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import pkgutil
import runpy
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from uploader.cancellation import Cancellation
    from uploader.clock import Clock

ROOT = Path(__file__).resolve().parents[2]
ENTRYPOINT = ROOT / "entrypoint.py"
NUMBER = struct.Struct("=i")
# Python reads variables that begin so when it starts: a fork comes too late for them.
READ_AT_START = ("PYTHON", "LC_", "LANG")
QUICK = 0.01  # the share of its sleep that a run with a quick clock really sleeps
# The program and its libraries import these only when they need them.
LATE = (
    "encodings.idna",
    "encodings.utf_8_sig",
    "google.auth.aws",
    "google.auth.compute_engine",
    "google.auth.external_account_authorized_user",
    "google.auth.identity_pool",
    "google.auth.impersonated_credentials",
    "google.auth.pluggable",
    "google.oauth2.service_account",
    "google_emulator",
    "platform",
)


class ForkedRun:
    """A run that was started by fork, with the methods of `subprocess.Popen` that tests use."""

    def __init__(self, pid: int, stdout: IO[bytes], monitor: socket.socket) -> None:
        self.pid = pid
        self.stdout = stdout
        self.returncode: int | None = None
        self._monitor = monitor

    def poll(self) -> int | None:
        """Return the exit code as subprocess does, or None while the run goes on."""
        if self.returncode is None:
            self._monitor.setblocking(False)
            with suppress(BlockingIOError):
                self._receive_status()
        return self.returncode

    def wait(self) -> int:
        """Wait for the end; return the exit code as subprocess does."""
        if self.returncode is None:
            self._monitor.setblocking(True)
            self._receive_status()
        assert self.returncode is not None
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send a signal unless the run is over."""
        if self.poll() is None:
            # It may have ended since, or the server has yet to say so.
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def _receive_status(self) -> None:
        (status,) = NUMBER.unpack(self._monitor.recv(NUMBER.size))
        self._monitor.close()
        self.returncode = os.waitstatus_to_exitcode(status)


class ForkServer:
    """The process that forks, as the tests see it. It ends with the process of the tests."""

    def __init__(self) -> None:
        self._requests, theirs = socket.socketpair(
            socket.AF_UNIX, socket.SOCK_SEQPACKET
        )
        with theirs:
            self.process = subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "tests.support.fork_server",
                    str(theirs.fileno()),
                ],
                cwd=ROOT,
                env={"PATH": os.environ["PATH"]},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
            )

    def close(self) -> None:
        """End the process; runs that go on are not its concern."""
        self._requests.close()
        self.process.wait()

    def start(
        self,
        environment: Mapping[str, str],
        folder: Path,
        stdin: int,
        *,
        quick: bool = False,
    ) -> ForkedRun:
        """Start a run in `folder`, with exactly this environment, and its outputs in one pipe."""
        output, write = os.pipe()
        streams = (stdin, write, write)
        try:
            pid, monitor = self._fork(environment, folder, (), streams, quick=quick)
        finally:
            os.close(write)
        return ForkedRun(pid, os.fdopen(output, "rb"), monitor)

    def run(
        self, environment: Mapping[str, str], folder: Path, argv: Sequence[str]
    ) -> subprocess.CompletedProcess[str]:
        """Carry out a run whose outputs are kept apart."""
        with TemporaryFile() as stdout, TemporaryFile() as stderr:
            streams = (subprocess.DEVNULL, stdout.fileno(), stderr.fileno())
            pid, monitor = self._fork(environment, folder, argv, streams, quick=True)
            code = ForkedRun(pid, stdout, monitor).wait()
            stdout.seek(0)
            stderr.seek(0)
            return subprocess.CompletedProcess(
                argv, code, stdout.read().decode(), stderr.read().decode()
            )

    def _fork(
        self,
        environment: Mapping[str, str],
        folder: Path,
        argv: Sequence[str],
        streams: tuple[int, int, int],
        *,
        quick: bool = False,
    ) -> tuple[int, socket.socket]:
        """Return the process id of a new run, and the socket that tells its status."""
        details = json.dumps(
            {
                "environment": dict(environment),
                "folder": str(folder),
                "argv": list(argv),
                "quick": quick,
            }
        ).encode()
        monitor, theirs = socket.socketpair()
        stdin, stdout, stderr = streams
        with theirs, open(os.devnull, "rb") as nothing:
            source = nothing.fileno() if stdin == subprocess.DEVNULL else stdin
            descriptors = [theirs.fileno(), source, stdout, stderr]
            socket.send_fds(self._requests, [b"run"], descriptors)
        monitor.sendall(NUMBER.pack(len(details)) + details)
        (pid,) = NUMBER.unpack(monitor.recv(NUMBER.size))
        return pid, monitor


@cache
def fork_server() -> ForkServer:
    """Return the server of this process, started when the first run asks for it."""
    server = ForkServer()
    atexit.register(server.close)
    return server


def can_fork(environment: Mapping[str, str]) -> bool:
    """Return whether a run by fork is like one in a Python of its own under this environment."""
    return not any(name.startswith(READ_AT_START) for name in environment)


def main() -> None:
    """Serve until the tests are over; in each new process, be the program."""
    load()
    details = serve(socket.socket(fileno=int(sys.argv[1])))
    if details["quick"]:
        run_quickly()
    runpy.run_path(str(ENTRYPOINT), run_name="__main__")


def run_quickly() -> NoReturn:
    """Be the program with the quick clock, and end as Python does, but for its memory."""
    from uploader.__main__ import main as run_program

    code = 0
    try:
        run_program(quick_clock)
    except SystemExit as end:
        code = int(end.code or 0)
    threading._shutdown()  # type: ignore[attr-defined]  # waits for the threads that are no daemons
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def quick_clock(cancellation: Cancellation) -> Clock:
    """Return a clock that a sleep moves on by all of its seconds, though it takes a hundredth of
    them.

    The time of day stays real: tokens and sessions are dated by it, on both sides.
    """
    from uploader.clock import Clock

    slept = 0.0

    def sleep(seconds: float) -> None:
        nonlocal slept
        slept += max(seconds, 0.0)
        cancellation.sleep(seconds * QUICK)

    return Clock(sleep, lambda: time.monotonic() + slept)


def load() -> None:
    """Import the whole program, and what it imports only on its way."""
    import uploader
    from google_emulator.auth.authority import SigningKey, process_key
    from tests.support.token_server import SHORT_KEY
    from uploader import inputs

    for module in pkgutil.walk_packages(uploader.__path__, "uploader."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    for name in LATE:
        importlib.import_module(name)
    # The key of every rehearsal, and what reading the inputs compiles on its way.
    SigningKey.size = SHORT_KEY
    process_key()
    inputs.read({"UPLOADER_TARGET": "play", "UPLOADER_DRY_RUN": "perhaps"}, [])
    gc.collect()
    gc.freeze()  # the collector of a run would copy the pages of all that


def serve(requests: socket.socket) -> Mapping[str, Any]:
    """Fork for each request, and tell the tests how each run ends.

    Returns in the new processes alone, where the program is to begin, with what was asked for.
    """
    # by process id: where the tests wait for the end
    runs: dict[int, socket.socket] = {}
    ended, waker = socket.socketpair()
    waker.setblocking(False)
    signal.signal(signal.SIGCHLD, lambda *_: None)  # the byte that Python writes is all
    signal.set_wakeup_fd(waker.fileno(), warn_on_full_buffer=False)
    while True:
        try:
            ready, _, _ = select.select([requests, ended], [], [])
        except KeyboardInterrupt:
            os._exit(0)
        if ended in ready:
            ended.recv(4096)
            tell_ends(runs)
        if requests in ready:
            message, descriptors, _, _ = socket.recv_fds(requests, 16, 4)
            if not message:
                os._exit(0)
            tests, streams = socket.socket(fileno=descriptors[0]), descriptors[1:]
            details = receive_details(tests)
            pid = os.fork()
            if pid == 0:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                for inherited in (requests, ended, waker, tests, *runs.values()):
                    inherited.close()
                set_up(details, streams)
                return details
            for stream in streams:
                os.close(stream)
            runs[pid] = tests
            tests.sendall(NUMBER.pack(pid))


def receive_details(tests: socket.socket) -> Mapping[str, Any]:
    """Return what is asked for."""
    (size,) = NUMBER.unpack(tests.recv(NUMBER.size, socket.MSG_WAITALL))
    details: Mapping[str, Any] = json.loads(tests.recv(size, socket.MSG_WAITALL))
    return details


def tell_ends(runs: dict[int, socket.socket]) -> None:
    """Send the status of each run that is over to the tests that wait for it."""
    with suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            with runs.pop(pid) as tests, suppress(BrokenPipeError):
                tests.sendall(NUMBER.pack(status))  # unless the test has ended before


def set_up(details: Mapping[str, Any], streams: Sequence[int]) -> None:
    """Give this process the streams, the arguments, the environment and the folder of the run."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    for stream in streams:
        os.close(stream)
    sys.stdin = os.fdopen(
        0, "r", -1, sys.stdin.encoding, sys.stdin.errors, closefd=False
    )
    sys.stdout = os.fdopen(
        1, "w", -1, sys.stdout.encoding, sys.stdout.errors, closefd=False
    )
    sys.stderr = os.fdopen(
        2, "w", 1, sys.stderr.encoding, sys.stderr.errors, closefd=False
    )
    # Python itself sets LC_CTYPE where the locale would be C.
    locale = {name: os.environ[name] for name in ("LC_CTYPE",) if name in os.environ}
    os.environ.clear()
    os.environ.update({**locale, **details["environment"]})
    os.chdir(details["folder"])
    sys.argv[:] = [str(ENTRYPOINT), *details["argv"]]


if __name__ == "__main__":
    main()
