"""The collector of mistakes: what it keeps, what it catches, and when it raises."""

from __future__ import annotations

import pytest

from uploader.errors import CredentialsError, InputError, Problem
from uploader.input_problems import Problems

WRONG = Problem("files", "is wrong.", covers=("tracks",))
OTHER = Problem("status", "is wrong too.")


def refuse() -> str:
    """A check that can't go on."""
    raise InputError(WRONG, OTHER)


def test_each_mistake_is_kept_once_in_the_order_of_finding() -> None:
    """Two checks that come upon the same mistake tell it once."""
    problems = Problems([WRONG])
    problems.add("status", "is wrong too.")
    problems.extend([WRONG, OTHER])
    assert list(problems) == [WRONG, OTHER]
    assert problems.names == {"files", "tracks", "status"}


def test_a_check_that_raises_becomes_problems_and_one_that_does_not_its_value() -> None:
    """`collect` goes on after a mistake."""
    problems = Problems()
    assert problems.collect(refuse) is None
    assert problems.collect(lambda: 7) == 7
    assert list(problems) == [WRONG, OTHER]


def test_an_input_that_is_known_to_be_wrong_need_not_be_reported_again() -> None:
    """A check that lacks a value because of an earlier mistake would complain of that same input."""
    problems = Problems([Problem("files", "matches nothing.")])
    problems.collect(refuse, skip_known=True)
    assert [problem.what for problem in problems] == ["matches nothing.", "is wrong too."]


def test_any_other_error_passes_through() -> None:
    """Only mistakes in the inputs are collected."""

    def fail() -> None:
        raise CredentialsError("No login.")

    with pytest.raises(CredentialsError):
        Problems().collect(fail)


def test_it_raises_only_when_something_is_wrong() -> None:
    """Warnings end no run; a mistake does, with all the others."""
    problems = Problems()
    problems.warn("This is odd.")
    problems.raise_if_any()
    problems.extend([WRONG, OTHER])
    with pytest.raises(InputError) as caught:
        problems.raise_if_any()
    assert caught.value.problems == (WRONG, OTHER)
    assert problems.warnings == ["This is odd."]
