"""Packages that no memory should hold: an OTA image takes as much of it as a small file does."""

from __future__ import annotations

from pathlib import Path

from google_emulator import Emulator
from tests.support.destinations import MIB, package
from tests.support.job import Job

LARGE = 384 * MIB
OTA = {"target": "ota", "deployment": "d", "package-title": "t", "files": "ota.zip"}


def test_a_large_package_takes_constant_memory(tmp_path: Path) -> None:
    """A package that is sent, broken off in its middle and resumed needs no more memory than a small one."""
    peaks = []
    for size in (MIB, LARGE):
        workspace = tmp_path / str(size)
        workspace.mkdir()
        package(workspace, size, sparse=True)
        faults = [{"on": "goog.upload", "do": "status", "status": 503, "after": size // 2, "retry_after": 0}]
        with Emulator(faults) as emulator:
            ended = Job(workspace, emulator).run(OTA)
            assert ended.code == 0, ended.log
            state = emulator.state()
        assert [receipt["do"] for receipt in state["faults"]["fired"]] == ["status"]
        assert [one["size"] for one in state["packages"]] == [size]
        assert state["packages"][0]["sha256"] == ended.results[0]["sha256"]
        peaks.append(ended.peak)
    assert peaks[1] < peaks[0] + 16 * MIB
