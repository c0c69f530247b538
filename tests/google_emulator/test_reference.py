"""docs/EMULATOR.md says what the code does: its tables are made from it."""

from __future__ import annotations

from pathlib import Path

import pytest

from google_emulator.reference_tables import TABLES, rendered

PAGE = Path(__file__).parents[2] / "docs" / "EMULATOR.md"


def test_the_page_is_up_to_date() -> None:
    """Faults, operations, settings and paths on the page are the code's own."""
    text = PAGE.read_text(encoding="utf-8")
    assert rendered(text) == text, "run: python -m google_emulator.reference_tables docs/EMULATOR.md"


@pytest.mark.parametrize("name", sorted(TABLES))
def test_a_page_without_a_place_is_an_error(name: str) -> None:
    """A mark that was lost is noticed."""
    with pytest.raises(ValueError, match=name):
        rendered(PAGE.read_text(encoding="utf-8").replace(f"<!-- {name} -->", ""))
