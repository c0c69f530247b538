"""The machines that a test may run on: each engine of GitHub's runner, where this machine has what it needs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from google_emulator import Emulator
from tests.container.conftest import HOW
from tests.support import secret_watch
from tests.support.runner.github import Container, Engine, Process, Runner
from tests.support.runner.log import Step

MakeRunner = Callable[..., Runner]
ENGINES = ("process", "container")


def engine_named(name: str) -> Engine:
    """The engine; skips the test, with the way to change it, when there is no image for the container."""
    if name == "process":
        return Process()
    image = os.environ.get("UPLOADER_TEST_IMAGE")
    if not image:
        pytest.skip(HOW)
    return Container(image)


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> Engine:
    """Both engines, one test each."""
    return engine_named(request.param)


@pytest.fixture
def machine(engine: Engine, tmp_path: Path) -> MakeRunner:
    """Makes the test's one runner; takes what `Runner` takes beside its folder and engine."""

    def make(**job: Any) -> Runner:
        return Runner(tmp_path / "runner", engine, **job)

    return make


def leaks(runner: Runner, google: Emulator, *steps: Step) -> list[str]:
    """The secrets in all that these steps printed, in what the page shows of it, and in every file of the machine."""
    said = {f"the output of step {number}": step.raw.encode() for number, step in enumerate(steps, 1)}
    shown = {f"the log of step {number}": step.log.encode() for number, step in enumerate(steps, 1)}
    return secret_watch.leaks(google, {**said, **shown, **dict(secret_watch.files(runner.folder))})


@pytest.fixture
def google() -> Iterator[Emulator]:
    """Google's servers with every setting at its default."""
    with Emulator() as emulator:
        yield emulator
