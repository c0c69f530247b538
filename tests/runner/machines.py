"""The machines that a test may run on: each engine of GitHub's runner, where this machine has what it needs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.container.conftest import HOW
from tests.runner.github import Container, Engine, Process, Runner
from uploader.emulator import Emulator

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


@pytest.fixture
def google() -> Iterator[Emulator]:
    """Google's servers with every setting at its default."""
    with Emulator() as emulator:
        yield emulator
