"""What tests of several folders share: the fixtures, and how hypothesis is used."""

from __future__ import annotations

import gc

import pytest
from hypothesis import HealthCheck, settings

from google_emulator.auth.authority import SigningKey
from tests.support.token_server import SHORT_KEY

SigningKey.size = SHORT_KEY

pytest_plugins = ["tests.support.fixtures"]

# A property is judged by its results alone: a busy machine is no finding.
settings.register_profile(
    "suite", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("suite")


@pytest.hookimpl(tryfirst=True)
def pytest_collection() -> None:
    """What is collected stays to the end: nothing of it is worth the collector's time."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Leaves thousands of tests out of every later collection, and goes on as usual."""
    gc.freeze()
    gc.enable()
