"""Google's known messages: each is recognised, has one sentence of cause and one of cure, and is documented."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts import make_troubleshooting
from tests.support.fake_play import AUTOMATIC, BY_HAND, refused
from uploader.errors import ApiError, CredentialsError
from uploader.services.play import known_errors
from uploader.services.play.known_errors import KNOWN_ERRORS, KnownError, explained, find

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "TROUBLESHOOTING.md"


@pytest.mark.parametrize("known", KNOWN_ERRORS, ids=lambda known: known.words)
def test_each_known_message_is_recognised_as_itself(known: KnownError) -> None:
    """No earlier entry of the table takes a later one's words for its own."""
    assert find(refused(400, known.words)) is known


@pytest.mark.parametrize(
    ("message", "known"),
    [
        (BY_HAND, known_errors.REVIEW_BY_HAND),
        (AUTOMATIC, known_errors.REVIEW_AUTOMATIC),
        ("APK specifies a version code that has already been used.", known_errors.VERSION_TAKEN),
        ("This edit has expired, please create a new Edit.", known_errors.EDIT_GONE),
        ("This edit has already been successfully committed, please create a new Edit.", known_errors.EDIT_GONE),
        (
            "A change was made to the application outside of this Edit, please create a new edit.",
            known_errors.EDIT_GONE,
        ),
        ("Edit not found: 123.", known_errors.EDIT_GONE),
        ("Something entirely new.", known_errors.OTHER),
        ("The edit could not be committed: release notes not found.", known_errors.OTHER),
    ],
)
def test_other_spellings_are_recognised_too(message: str, known: KnownError) -> None:
    """Google words one thing in several ways."""
    assert find(refused(400, message)) is known


@pytest.mark.parametrize("known", KNOWN_ERRORS, ids=lambda known: known.words)
def test_a_reason_is_enough_when_the_words_are_new(known: KnownError) -> None:
    """Codes change less often than sentences."""
    for reason in known.reasons:
        assert find(refused(403, "New words for an old thing.", reason)) is known


def test_a_reason_means_one_thing() -> None:
    """No code stands in two entries."""
    reasons = [reason for known in KNOWN_ERRORS for reason in known.reasons]
    assert len(reasons) == len(set(reasons))


@pytest.mark.parametrize("known", [*KNOWN_ERRORS, known_errors.OTHER], ids=lambda known: known.words)
def test_cause_and_cure_are_one_sentence_each(known: KnownError) -> None:
    """What happened, why, what to do: people read three sentences."""
    for sentence in (known.cause, known.hint):
        assert sentence.endswith(".")
        assert ". " not in sentence


@pytest.mark.parametrize("known", KNOWN_ERRORS, ids=lambda known: known.words)
def test_google_s_own_words_are_kept(known: KnownError) -> None:
    """The error says what the service said, and what it means; rights are the credentials' matter (exit code 3)."""
    error = explained(refused(400, known.words, "someReason"))
    assert known.words in error.what
    assert (error.cause, error.hint) == (known.cause, known.hint)
    assert isinstance(error, CredentialsError if known.permission else ApiError)


def test_an_explanation_that_is_there_already_is_not_overwritten() -> None:
    """Who raised the refusal may know better than the table."""
    known = ApiError("No.", status=400, message="Unknown error.", cause="Ours.", hint="Do that.")
    error = explained(known)
    assert (error.cause, error.hint) == ("Ours.", "Do that.")
    assert "Unknown error." in error.what


def test_the_documents_have_the_same_table() -> None:
    """docs/TROUBLESHOOTING.md is up to date; scripts/make_troubleshooting.py writes it anew."""
    text = DOCUMENT.read_text(encoding="utf-8")
    assert make_troubleshooting.renewed(text) == text
