"""How the shares and the limits of a rollout are written, and what is refused."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from uploader.inputs.parsers import InvalidValue, Limit, limits, rollout_steps


def test_steps_are_the_very_numbers_that_google_play_has() -> None:
    """A share is the nearest number to what was written, in lines or with commas, with a blank or without."""
    assert rollout_steps("1%, 5 %\n20%,50%, 100%") == (0.01, 0.05, 0.2, 0.5, 1.0)
    assert rollout_steps("1.1%") == (0.011,)
    assert rollout_steps("0.01, 5%, .5, 1") == (0.01, 0.05, 0.5, 1.0)


@given(st.lists(st.integers(1, 99_999), min_size=1, max_size=9, unique=True))
def test_every_ascending_list_is_read_exactly(thousandths: list[int]) -> None:
    """What JSON makes of the decimal share is what the steps make of the percentage."""
    texts = [f"{value // 1000}.{value % 1000:03}%" for value in sorted(thousandths)]
    assert rollout_steps(", ".join(texts)) == tuple(
        json.loads(f"{value / 100_000:.5f}") for value in sorted(thousandths)
    )


@pytest.mark.parametrize(
    "text",
    ["5%, 1%", "5%, 5.0%", "0%", "101%", "1", "1, 5, 20", "0.5, 2", "1%; 5%", "one%", "-1%", "1e1%", "1%, , x", "٣%"],
)
def test_other_steps_are_refused(text: str) -> None:
    """What does not ascend, is no share, or has no sign."""
    with pytest.raises(InvalidValue):
        rollout_steps(text)


def test_limits_are_shares_or_multiples() -> None:
    """One a line or separated by commas."""
    assert limits("crash-rate 1.09%, anr-rate 0.47 %\ncrash-rate 1.5x") == (
        Limit("crash-rate", 0.0109),
        Limit("anr-rate", 0.0047),
        Limit("crash-rate", 1.5, relative=True),
    )


@pytest.mark.parametrize(
    "text",
    [
        "crash-rate: 1.09 %",
        "crash-rate 1,09%",
        "anr-rate 0",
        "crash-rate",
        "crash-rate 1.09",
        "1.09%",
        "crashes 1%",
        "crash-rate 0%",
        "crash-rate 100%",
        "anr-rate 0.9x",
    ],
)
def test_other_limits_are_refused(text: str) -> None:
    """Without a sign, of another metric, or one that nothing or everything passes."""
    with pytest.raises(InvalidValue):
        limits(text)
