"""Emulators and plain clients for the tests; all that a test starts end with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from google_emulator import Emulator
from tests.support.emulator_client import Talk

Begin = Callable[..., Talk]


@pytest.fixture
def begin() -> Iterator[Begin]:
    """Starts an emulator with faults and settings; all that were started end with the test."""
    with ExitStack() as stack:

        def start(*faults: dict[str, Any], **config: Any) -> Talk:
            talk = Talk(stack.enter_context(Emulator(faults, config=config)))
            stack.callback(talk.close)
            return talk

        yield start


@pytest.fixture
def talk(begin: Begin) -> Talk:
    """A client of an emulator that has no faults and every setting at its default."""
    return begin()
