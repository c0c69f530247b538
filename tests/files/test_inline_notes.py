"""Release notes in an input: what is a text, what is a map of languages, and what is neither."""

from __future__ import annotations

import pytest

from uploader.errors import InputError, Problems
from uploader.files.android.notes import DEFAULT_LANGUAGE
from uploader.files.android.notes import inline_notes as read


def inline_notes(text: str) -> tuple[dict[str, str], list[str]]:
    """The notes and the warnings. Raises InputError with the problems."""
    problems = Problems()
    notes = read(text, problems)
    problems.raise_if_any()
    return notes, problems.warnings


@pytest.mark.parametrize(
    "text",
    [
        "Starts faster.",
        "Fixed: a crash.\nNew: dark mode.",
        "fix: a crash",
        "ios: nothing; android: all",
        "* one\n* two",
        "[1.2] - today",
        "No: really",
        "Version 2: en-US: only",
        "{faster}",
    ],
)
def test_a_text_is_for_the_language_of_the_app(text: str) -> None:
    """Whatever does not begin with a language is taken as it is."""
    assert inline_notes(text) == ({DEFAULT_LANGUAGE: text}, [])


@pytest.mark.parametrize(
    "text",
    [
        "en-US: Starts faster.\nde-DE: Startet schneller.",
        "en-US: |\n  Starts faster.\nde-DE: >\n  Startet\n  schneller.",
        '{"en-US": "Starts faster.", "de-DE": "Startet schneller."}',
        "'en-US': Starts faster.\n\"de-DE\": Startet schneller.",
    ],
)
def test_a_map_has_a_text_for_each_language(text: str) -> None:
    """YAML or JSON, on one line or on several."""
    assert inline_notes(text) == ({"en-US": "Starts faster.", "de-DE": "Startet schneller."}, [])


def test_a_number_stays_as_it_was_written() -> None:
    """`1.10` is no number, and neither is `no` a boolean."""
    assert inline_notes("en-US: 1.10\nfr-FR: no")[0] == {"en-US": "1.10", "fr-FR": "no"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("en-US: Fixed: a crash", "a text with `: ` in it needs quotes"),
        ("en-US: a\nEnglish: b", "`English` is not a language"),
        ("en-US: a\nen-US: b", "two texts for `en-US`"),
        ("de: Text", "`de` is not in Google's list of languages. Did you mean de-DE?"),
        ("en-US: [a, b]", "not a map from languages to texts"),
        ("en-US: a\n'': b", "not a map from languages to texts"),
        ("en-US: " + "x" * 501, "the text for `en-US` has 501 characters"),
        ("x" * 501, "the text has 501 characters; Play accepts at most 500"),
        ("a\x07b", "the text contains the control character U+0007"),
        ("en-US: " + "[" * 5000, "needs quotes"),
    ],
)
def test_what_is_neither_is_a_mistake(text: str, words: str) -> None:
    """Half a map is not published as a text."""
    with pytest.raises(InputError) as caught:
        inline_notes(text)
    assert words in str(caught.value)
    assert {problem.name for problem in caught.value.problems} == {"whats-new"}


def test_a_language_without_a_text_is_a_warning() -> None:
    """There are no notes for it then."""
    (warning,) = inline_notes("en-US: a\nde-DE: ''")[1]
    assert "the text for `de-DE` is empty" in warning
    assert "the text has 251 characters but 502 in UTF-16" in inline_notes("😀" * 251)[1][0]
