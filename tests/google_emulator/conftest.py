"""Emulators and plain clients for the tests; all that a test starts end with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from google_emulator import Emulator
from tests.support.emulator_client import EmulatorClient

StartEmulator = Callable[..., EmulatorClient]


@pytest.fixture
def start_emulator() -> Iterator[StartEmulator]:
    """Starts an emulator with faults and settings; all that were started end with the test."""
    with ExitStack() as stack:

        def start(*faults: dict[str, Any], **config: Any) -> EmulatorClient:
            client = EmulatorClient(
                stack.enter_context(Emulator(faults, config=config))
            )
            stack.callback(client.close)
            return client

        yield start


@pytest.fixture
def client(start_emulator: StartEmulator) -> EmulatorClient:
    """A client of an emulator that has no faults and every setting at its default."""
    return start_emulator()
