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
    """Switch the garbage collector off while tests are collected: they all stay to the end."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Exempt the collected tests from garbage collection, and switch it on again."""
    gc.freeze()
    gc.enable()
