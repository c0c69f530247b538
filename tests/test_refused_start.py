"""What a run loads whose inputs are wrong: people wait for its answer."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PROGRAM = """
import os, sys
from uploader.cli import run
code = run(os.environ, [])
print(code, *sys.modules)
"""
UNUSED = {
    "urllib3",
    "requests",
    "google.auth",
    "uploader.error_table",
    "uploader.outputs.summary",
    "uploader.services.play.plan",
    "uploader.services.play.client",
    "uploader.services.play.release",
}


def test_a_refused_input_loads_neither_the_network_nor_a_release(
    tmp_path: Path,
) -> None:
    """Nor the table of what others refuse, nor the job summary where there is no place for one."""
    environ = {
        "PYTHONPATH": str(ROOT),
        "INPUT_TARGET": "play",
        "INPUT_FILES": "nothing.aab",
        "INPUT_TRACKS": "internal",
    }
    command = [sys.executable, "-c", PROGRAM]
    ended = subprocess.run(
        command, cwd=tmp_path, env=environ, capture_output=True, text=True, check=True
    )
    code, *loaded = ended.stdout.splitlines()[-1].split()
    assert code == "2"
    assert "uploader.services.play.prepare" in loaded
    assert UNUSED.isdisjoint(loaded)
