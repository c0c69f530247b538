"""Release notes that are too long end where a reader expects it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from uploader.errors import Problems
from uploader.files.android.note_cut import ELLIPSIS, cut
from uploader.files.android.notes import shorten

WORDS = "word " * 200
SENTENCES = "One two three four. " * 40
FAMILY = "👨\u200d👩\u200d👧"


@pytest.mark.parametrize(
    ("text", "end", "rest"),
    [
        pytest.param(
            "a" * 300 + "\n\n" + "b" * 150 + "\n" + "c. " * 100,
            "a\n\n…",
            "b",
            id="a paragraph before a line",
        ),
        pytest.param("a\n" * 400, "a\na\n…", "a\na", id="a line"),
        pytest.param(SENTENCES, "four. …", "One two", id="a sentence"),
        pytest.param(
            'He said: "Go!" ' * 60, '"Go!" …', "He said", id="a closing quotation mark"
        ),
        pytest.param(
            "修正了错误。" * 100, "错误。 …", "修正了", id="a sentence in Chinese"
        ),
        pytest.param(WORDS, "word …", "word word", id="a word"),
        pytest.param(
            "Fixes\n\n" + WORDS, "word …", "word", id="a heading alone is no text"
        ),
        pytest.param("x" * 600, "x…", "x", id="no place at all"),
        pytest.param("é" * 600, "é…", "é", id="a mark stays with its letter"),
        pytest.param(FAMILY * 100, f"👧{ELLIPSIS}", "👨", id="an emoji is not divided"),
        pytest.param("👍🏽" * 200, "🏽…", "👍", id="the colour of a skin"),
    ],
)
def test_a_text_ends_at_the_best_place_that_fits(
    text: str, end: str, rest: str
) -> None:
    kept, left_out = cut(text)
    assert kept.endswith(end)
    assert left_out.startswith(rest)
    assert 250 <= len(kept.encode("utf-16-le")) // 2 <= 500


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(
    st.text(st.sampled_from("ab. \n!?。👍🏽é\u0301\u200d"), min_size=501, max_size=900)
)
def test_nothing_is_lost_or_made_up(text: str) -> None:
    """What is kept is how the text begins, what is left out how it ends, and it always fits."""
    text = text.strip()
    kept, left_out = cut(text)
    begin = kept.removesuffix(ELLIPSIS).rstrip()
    assert len(kept.encode("utf-16-le")) // 2 <= 500
    assert text.startswith(begin)
    assert text.endswith(left_out)
    assert "".join((begin + left_out).split()) == "".join(text.split())


def test_only_what_is_too_long_is_cut_and_each_cut_is_told() -> None:
    problems = Problems()
    exact = "x" * 500
    notes = {"en-US": SENTENCES, "de-DE": exact, "": "y" * 501, "fr-FR": "😀" * 251}
    kept, left_out = shorten(notes, "whats-new", problems)
    assert (kept["de-DE"], kept["fr-FR"]) == (exact, "😀" * 251)
    assert set(left_out) == {"en-US", ""}
    assert [warning.partition(";")[0] for warning in problems.warnings] == [
        "whats-new: the text for `en-US` has 800 characters",
        "whats-new: the text has 501 characters",
        "whats-new: the text for `fr-FR` has 251 characters but 502 in UTF-16",
    ]
    assert f"it is cut to {len(kept['en-US'])}" in problems.warnings[0]
