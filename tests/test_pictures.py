"""The README's pictures show what the program says today: the demo is run again and held against them."""

from __future__ import annotations

from scripts import make_pictures
from scripts.drawing import source_of


def test_the_demo_ends_well_and_looks_like_its_pictures() -> None:
    """Every run of `make demo` passes, and the pictures show what it prints today."""
    lines, summary = make_pictures.record()
    assert "  yes  every fault was injected" in [line for _, line in lines]
    shown = "\n".join(line for _, line in make_pictures.without_summaries(lines))
    for picture, today in ((make_pictures.DEMO, shown), (make_pictures.SUMMARY, summary)):
        drawn = source_of(picture.read_text(encoding="utf-8"))
        assert make_pictures.shape(drawn) == make_pictures.shape(today), f"run scripts/make_pictures.py: {picture}"
