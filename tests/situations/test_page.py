"""docs/PROTOCOL.md can't lie: each part of it is made again here, the trials of other clients by running them."""

from __future__ import annotations

import pytest

from scripts.make_protocol_page import PAGE, page, peer_line
from tests.support.peers import CLIENTS, TRIALS, Trial, outcomes
from tests.support.situation_rows import NAMES

REMEDY = "run `python -m scripts.make_protocol_page`"


def recorded(trial: Trial) -> str:
    """The page's line for a trial."""
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    return next((line for line in lines if line.startswith(f"| {trial.title} |")), "")


def test_the_page_is_up_to_date() -> None:
    """The machine's diagram, the situations, their tests, and one line for every trial."""
    lines = [recorded(trial) for trial in TRIALS]
    assert all(lines), REMEDY
    assert PAGE.read_text(encoding="utf-8") == page(lines, list(CLIENTS)), REMEDY


@pytest.mark.parametrize("trial", TRIALS, ids=lambda trial: trial.title)
def test_every_client_does_what_the_page_says(trial: Trial) -> None:
    """The same fault again, for this program and for the others."""
    assert peer_line(trial.title, outcomes(trial)) == recorded(trial), REMEDY


def test_this_program_is_never_behind() -> None:
    """In every trial it stores the file once, or refuses with the cause where storing would be wrong."""
    mine = {trial.title: recorded(trial).split(" | ")[1] for trial in TRIALS}
    assert set(mine.values()) <= {
        "stored once",
        "stored once, after asking",
        "refuses",
        "refuses, though it was stored",
    }
    assert {title for title, words in mine.items() if words.startswith("refuses")} == {
        "a Range beyond what was sent",
        "a Range that begins at 1",
        "a session on another port",
        "another md5Hash than was sent",
    }
    assert {trial.row for trial in TRIALS} <= set(NAMES)
