"""The table of foreign clients in docs/EMULATOR.md has every case, and says of each what the cases say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from scripts import make_strangers_page
from tests.strangers.cases import FAULTS, JOBS

PAGE = (Path(__file__).resolve().parents[1] / "docs" / "EMULATOR.md").read_text(encoding="utf-8")


def lines() -> list[list[str]]:
    """The table as it is committed: its head, then a line for each job."""
    text = PAGE.split(make_strangers_page.BEGIN)[1].split(make_strangers_page.END)[0]
    rows = [[cell.strip() for cell in row.strip("|").split(" | ")] for row in text.splitlines() if row.startswith("|")]
    return [row for row in rows if row[0].strip("-| ")]


def test_the_committed_table_is_of_these_cases() -> None:
    """Each client, job, protocol and fault is there, and each was run: run `make strangers` where this fails."""
    head, *rows = lines()
    assert head == ["client", "version", "job", "upload", *FAULTS]
    assert [(row[0], *row[2:4]) for row in rows] == [(job.client, job.name, job.protocol) for job in JOBS]
    for job, row in zip(JOBS, rows, strict=True):
        assert row[1], job
        assert [re.sub(r" \(\d+\)", "", cell) for cell in row[4:]] == [job.expected(fault) for fault in FAULTS], job


def test_the_reasons_are_told() -> None:
    """Every number in the table is one of the reasons below it."""
    reasons = make_strangers_page.numbered_reasons()
    assert all(f"\n{number}. {reason}\n" in PAGE for reason, number in reasons.items())
    assert {int(number) for number in re.findall(r"no \((\d+)\)", PAGE)} == set(reasons.values())


def test_a_run_without_a_tool_says_so() -> None:
    """A case that was not looked at is no success."""
    assert "| not run |" in make_strangers_page.table({})


def test_a_page_without_a_place_is_an_error() -> None:
    """A mark that was lost is noticed."""
    with pytest.raises(ValueError, match="strangers"):
        make_strangers_page.rendered("# The emulator\n", [])
