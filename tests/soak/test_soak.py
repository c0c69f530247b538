"""The soak in its short form: what `make soak` does with a thousand releases, with a few dozen."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.soak.__main__ import page, soak

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("seed", [11, 12])
def test_nothing_is_lost_doubled_or_finalised_wrongly(
    tmp_path: Path, seed: int
) -> None:
    """Releases with faults, kills, signals, clock jumps and rivals by lot: each ends whole, each
    byte is there once.
    """
    ledger = soak(tmp_path, seed, releases=30, minutes=5, children=15).ledger
    assert not ledger.wrong
    assert ledger.releases == 30
    assert ledger.kills > 5
    assert ledger.faults.total() > 15  # a kill can come before a fault
    assert ledger.resumed > 0
    assert ledger.received <= 4 * ledger.size
    assert ledger.descriptors[-1][1] < 60
    assert "- releases: 30\n" in page(ledger, seed)
