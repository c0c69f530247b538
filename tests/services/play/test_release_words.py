"""How releases are told to people."""

from __future__ import annotations

import pytest

from uploader.services.play.model import Release
from uploader.services.play.release_words import describe_all

COMPLETED = Release.of(("1",), "completed")
STAGED = Release.of(("2",), "inProgress", 0.1)
HALTED = Release.of(("2",), "halted", 0.1)
DRAFT = Release.of(("3",), "draft")


@pytest.mark.parametrize(
    ("on_track", "told"),
    [
        ((), "empty"),
        ((COMPLETED,), "1 (all users, completed)"),
        (
            (STAGED, COMPLETED),
            "2 (10 % of users, in progress); 1 (all other users, completed)",
        ),
        (
            (HALTED, COMPLETED),
            "2 (10 % of users, halted); 1 (all users, completed)",
        ),
        ((DRAFT, COMPLETED), "3 (draft); 1 (all users, completed)"),
    ],
)
def test_a_completed_release_has_all_other_users_beside_a_staged_one(
    on_track: tuple[Release, ...], told: str
) -> None:
    assert describe_all(on_track) == told
