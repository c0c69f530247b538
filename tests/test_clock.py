"""A run's time and chance, as the system has them where no test gives others."""

from __future__ import annotations

import random

from uploader.clock import Clock


def test_a_run_draws_on_nobody_elses_chance() -> None:
    """The jitter of a wait leaves the state of Python's own generator as it was, whoever seeded it."""
    state = random.getstate()
    assert 0 <= Clock(sleep=lambda _: None).fraction() < 1
    assert random.getstate() == state
