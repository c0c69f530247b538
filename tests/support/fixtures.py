"""Fixtures for every test, loaded as a plugin by tests/conftest.py: an emulator, and a job that
runs against it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from google_emulator import Emulator
from tests.support.job import Job


@pytest.fixture
def emulator() -> Iterator[Emulator]:
    """A running emulator without faults; tests queue their own."""
    with Emulator() as emulator:
        yield emulator


@pytest.fixture
def job(tmp_path: Path, emulator: Emulator) -> Job:
    """A job under GitHub with an empty workspace; a module that needs files in it has a `job` of
    its own from this.
    """
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    return Job(workspace, emulator)
