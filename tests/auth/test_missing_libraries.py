"""The libraries that a run stands on: without one it ends at once, with the error for a missing dependency."""

from __future__ import annotations

import subprocess
import sys
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


@pytest.mark.parametrize("module", ["google.oauth2.service_account", "google.auth", "requests"])
def test_no_login_goes_past_its_library(job: Job, module: str) -> None:
    """A run with a key signs by google-auth alone: where that can't be loaded nothing is sent, and the log says why."""
    specimens.make_bundle(job.workspace / "app.aab", "com.example.app", 42, "1.0")
    environment = job.environment({"target": "play", "files": "*.aab", "tracks": "internal"})
    for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY"):
        Path(environment[name]).touch()
    command = [sys.executable, "-c", WITHOUT, str(ENTRYPOINT), module]
    pipe = subprocess.PIPE
    child = subprocess.Popen(command, env=environment, cwd=job.workspace, stdout=pipe, stderr=subprocess.STDOUT)
    ended = Running(job, child).end()
    assert (ended.code, ended.outputs["failure"]) == (1, "missing-dependency"), ended.log
    assert f"{module} is not here" in ended.log
    assert "Traceback" not in ended.log
    assert not job.emulator.state()["requests"]
