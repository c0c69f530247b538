"""The libraries that a run stands on: without one it ends at once, with the error for a missing
dependency.
"""

from __future__ import annotations

import fcntl
import os
import struct
import subprocess
import sys
import termios
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from google_emulator import specimens
from tests.support.job import ENTRYPOINT, Job, Running

# Runs the program with a stand-in for a module that raises as soon as it is imported.
WITHOUT = """
import runpy, sys

class Refusing:
    def find_spec(self, name, *_):
        if name == module:
            raise ImportError(f"{name} is not here")

_, program, module = sys.argv
del sys.argv[1:]
sys.meta_path.insert(0, Refusing())
runpy.run_path(program, run_name="__main__")
"""


def run_without(
    module: str, job: Job, inputs: dict[str, str], stderr: int, **more: str
) -> tuple[int, str]:
    """The exit code and the standard output of a run that lacks a module."""
    bundle = job.workspace / "app.aab"
    specimens.make_bundle(
        bundle, "com.example.app", 42, "1.0", size_bytes=2 * 1024 * 1024
    )
    environment = {
        **job.environment({"target": "play", "tracks": "internal", **inputs}),
        **more,
    }
    command = [sys.executable, "-c", WITHOUT, str(ENTRYPOINT), module]
    ended = subprocess.run(
        command,
        env=environment,
        cwd=job.workspace,
        stdout=subprocess.PIPE,
        stderr=stderr,
        text=True,
        check=False,
    )
    return ended.returncode, ended.stdout


@pytest.mark.parametrize(("given", "code"), [("input", 0), ("env file", 2)])
def test_an_env_file_alone_needs_python_dotenv(
    job: Job, tmp_path: Path, given: str, code: int
) -> None:
    """A run that is given none does not load it."""
    (tmp_path / "given.env").write_text("UPLOADER_FILES=app.aab\n")
    inputs = {"files": "app.aab"} if given == "input" else {}
    more = {} if inputs else {"UPLOADER_ENV_FILE": str(tmp_path / "given.env")}
    ended, log = run_without("dotenv", job, inputs, subprocess.STDOUT, **more)
    assert ended == code, log
    assert ("module dotenv" in log) == bool(more)


@pytest.mark.parametrize(
    "terminal", [pytest.param(False, marks=pytest.mark.slow), True]
)
def test_a_terminal_alone_needs_tqdm(job: Job, terminal: bool) -> None:
    """Without one the progress is told in lines."""
    far, near = os.openpty()
    fcntl.ioctl(near, termios.TIOCSWINSZ, struct.pack("4H", 24, 80, 0, 0))
    on = replace(job, kind="console")
    ended, log = run_without(
        "tqdm", on, {"files": "app.aab"}, near if terminal else subprocess.STDOUT
    )
    os.close(near)
    shown = b""
    with suppress(OSError):  # how a terminal says that nobody writes to it any more
        while data := os.read(far, 4096):
            shown += data
    os.close(far)
    assert ended == (1 if terminal else 0), log
    assert (b"tqdm is not here" in shown) == terminal


@pytest.mark.parametrize(
    "module",
    [
        "google.oauth2.service_account",
        pytest.param("google.auth", marks=pytest.mark.slow),
        pytest.param("requests", marks=pytest.mark.slow),
    ],
)
def test_no_login_goes_past_its_library(job: Job, module: str) -> None:
    """A run with a key signs by google-auth alone: where that can't be loaded nothing is sent, and
    the log says why.
    """
    specimens.make_bundle(job.workspace / "app.aab", "com.example.app", 42, "1.0")
    environment = job.environment(
        {"target": "play", "files": "*.aab", "tracks": "internal"}
    )
    job.empty_files()
    command = [sys.executable, "-c", WITHOUT, str(ENTRYPOINT), module]
    pipe = subprocess.PIPE
    child = subprocess.Popen(
        command,
        env=environment,
        cwd=job.workspace,
        stdout=pipe,
        stderr=subprocess.STDOUT,
    )
    ended = Running(job, child).end()
    assert (ended.code, ended.outputs["failure"]) == (1, "missing-dependency"), (
        ended.log
    )
    assert f"{module} is not here" in ended.log
    assert "Traceback" not in ended.log
    assert not job.emulator.state()["requests"]
