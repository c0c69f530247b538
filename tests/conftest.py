"""What tests of several folders share: the fixtures, how hypothesis is used, and which tests are slow."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings

pytest_plugins = ["tests.support.fixtures"]

# A property is judged by its results alone: a busy machine is no finding.
settings.register_profile("suite", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("suite")

# What `make test` leaves to `make check`: what needs other programs, kills at every moment, walks through every case.
SLOW = (
    "tests/container/",
    "tests/fuzz/",
    "tests/soak/",
    "tests/strangers/",
    "tests/files/test_signatures.py",
    "tests/protocol/test_exhaustive.py",
    "tests/services/test_play_edit_exhaustive.py",
    "tests/services/test_play_rollout_property.py",
    "tests/state/test_restored_state.py",
    "tests/test_benchmarks.py",
    "tests/test_gitlab.py",
    "tests/test_kills.py",
    "tests/test_native.py",
    "tests/test_wheel.py",
    "tests/transfer/test_schedules.py",
    "tests/test_play_life.py::test_the_whole_life_of_a_release",
    "tests/test_play_run.py::test_a_gibibyte_needs_little_memory",
    "tests/test_signals.py::test_a_signal_at_any_moment",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks the slow ones."""
    for item in items:
        if item.nodeid.startswith(SLOW):
            item.add_marker(pytest.mark.slow)
