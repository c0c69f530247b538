"""Workspaces with an emulator of their own; all that a test begins ends with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from google_emulator import Emulator
from tests.support.job import Job

Begin = Callable[..., Job]


@pytest.fixture
def begin(tmp_path: Path) -> Iterator[Begin]:
    """Starts an emulator with faults and makes an empty workspace for a job against it."""
    with ExitStack() as stack:

        def start(*faults: dict[str, Any], kind: str = "github", **config: Any) -> Job:
            emulator = stack.enter_context(Emulator(faults, config=config))
            workspace = tmp_path / f"workspace-{emulator.port}"
            workspace.mkdir()
            return Job(workspace, emulator, kind)

        yield start
