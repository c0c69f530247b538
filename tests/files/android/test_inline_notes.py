"""Release notes in an input: what is a text, what is a map of languages, and what is neither."""

from __future__ import annotations

from pathlib import Path

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
        "Fixes: login",
        "Bug fixes/performance",
        "Bugs/fixes",
        "iOS/Android/Web",
        "See CHANGELOG.md",
        "Node.js",
        "1.2.3",
        "Hi-Fi: louder",
        "- one\n- two",
        "- fix: a crash",
        "https://example.com/notes.html",
        "E-mail @all",
        "a=b",
        '"Quoted"',
        "Language: you can now choose German.",
        "- English: better wording\n- Faster start",
        "- it: works again\n- and starts faster",
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
        '{"en-US":"Starts faster.","de-DE":"Startet schneller."}',
        "---\nen-US: Starts faster.\nde-DE: Startet schneller.",
        "'en-US': Starts faster.\n\"de-DE\": Startet schneller.",
    ],
)
def test_a_map_has_a_text_for_each_language(text: str) -> None:
    """YAML or JSON, on one line or on several."""
    assert inline_notes(text) == (
        {"en-US": "Starts faster.", "de-DE": "Startet schneller."},
        [],
    )


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


NO_TEXTS = {
    "whats/whatsnew-en-US": "is the path of a file in the workspace, and would be published as the "
    "text",
    "whats": "is the path of a folder in the workspace",
    "whats/": "is the path of a folder in the workspace",
    "./whats/whatsnew-en-US": "is the path of a file in the workspace",
    "CHANGELOG": "is the path of a file in the workspace",
    "my notes.md": "is the path of a file in the workspace",
    "whats/whatsnew-en-US\nmy notes.md": "is the path of a file in the workspace",
    "distribution/whatsnew/whatsnew-de-DE": "`whats-new-directory: distribution/whatsnew`",
    "distribution/whatsnew/whatsnew-*": "is a path",
    "RELEASE.md": "is a path",
    "/github/workspace/notes": "is a path",
    "..\\notes": "is a path",
    "C:\\notes\\en": "is a path",
    "$GITHUB_WORKSPACE/notes.txt": "is a path",
    "file:RELEASE.md": "is `file:PATH`, which is not read here",
    "file:///notes": "is `file:PATH`",
    "@RELEASE.md": "is `@PATH`",
    '{"language": "en-US", "text": "Fix"}': "is JSON that is not a map from languages to texts",
    '[{"language":"en-US","text":"Fix"}]': "is JSON",
    '{"ref": "refs/tags/v1", "commits": [{"message": "Fix"}]}': "is JSON",
    '{\n  "language": "en-US",\n': "is JSON",
    "{language: en-US, text: Fix}": "is JSON",
    '["Fix", "Faster"]': "is JSON",
    "null": "the expression in the workflow has no value",
    "[]": "the expression in the workflow has no value",
    "None": "the expression in the workflow has no value",
    "[object Object]": "is an object, not a text",
    "FILE:CHANGELOG": "`file:PATH`, which is not read here",
    "file: CHANGELOG": "`file:PATH`, which is not read here",
    "whats/*": "`whats-new-directory: whats`",
    "releaseNotes:\n  en-US: Fix": "below another key",
    "|\n  Fix": "write `en-US: |`",
    "en-US|Fix": "write `en-US: …`",
    "en-US - Fix": "write `en-US: …`",
    "- en-US: Fix": "leave the dash out",
    "- language: en-US\n  text: Fix": "a map with the names of fields",
    "language: en-US\ntext: Fix": "a map with the names of fields",
    "English: Fix": "`English`, which is not a language code. Did you mean `en-US: …`?",
    "english: Fix": "`english`, which is not a language code. Did you mean `en-US: …`?",
    "Deutsch = Fix": "Did you mean `de-DE: …`?",
    "en-US=Fix": "write `en-US: …`",
    "de=Fix": "write `de-DE: …`",
    "EN-US: Fix": "write `en-US: …`",
    "en-US:Fix": "write `en-US: …`",
    "version https://git-lfs.github.com/spec/v1\noid sha256:0": "is a Git LFS pointer",
}


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder with notes."""
    (tmp_path / "whats").mkdir()
    for name in ("whats/whatsnew-en-US", "CHANGELOG", "my notes.md"):
        (tmp_path / name).write_text("Faster.")
    return tmp_path


@pytest.mark.parametrize("text", NO_TEXTS)
def test_what_only_leads_to_a_text_is_a_mistake(checkout: Path, text: str) -> None:
    """A path, or what another tool prints; the message says what to write, in its own words and in
    quotes.
    """
    problems = Problems()
    read(text, problems, checkout)
    (problem,) = problems
    assert problem.name == "whats-new"
    assert NO_TEXTS[text] in str(problem)
    assert problem.accepted


@pytest.mark.parametrize(
    "text",
    [
        "CHANGELOG",
        "whats/whatsnew-en-US",
        "English: Fix",
        "file:a",
        "@all",
        "en-US=Fix",
    ],
)
def test_in_quotes_any_text_is_taken(checkout: Path, text: str) -> None:
    """For the app's language or for one that is named; JSON has nothing but quotes, so they say
    nothing there.
    """
    for written in (f'"{text}"', f"'{text}'"):
        problems = Problems()
        assert read(written, problems, checkout) == {DEFAULT_LANGUAGE: text}
        assert read(f"en-US: {written}", problems, checkout) == {"en-US": text}
        assert not len(problems)
    problems = Problems()
    read(f'{{"en-US": "{text}"}}', problems, checkout)
    assert len(problems) == 1


@pytest.mark.parametrize(
    "text", ["en-US: CHANGELOG", "en-US: whats/whatsnew-en-US\nde-DE: Schneller."]
)
def test_a_path_in_a_map_is_a_mistake(checkout: Path, text: str) -> None:
    """The language is named."""
    problems = Problems()
    read(text, problems, checkout)
    (problem,) = problems
    assert "the text for `en-US` is the path of a file" in str(problem)


@pytest.mark.parametrize("text", ['""', "''"])
def test_quotes_around_nothing_are_no_notes(text: str) -> None:
    notes, (warning,) = inline_notes(text)
    assert notes == {}
    assert "the text is empty" in warning


def test_a_language_without_a_text_is_a_warning() -> None:
    """There are no notes for it then."""
    (warning,) = inline_notes("en-US: a\nde-DE: ''")[1]
    assert "the text for `de-DE` is empty" in warning
    assert (
        "the text has 251 characters but 502 in UTF-16"
        in inline_notes("😀" * 251)[1][0]
    )
