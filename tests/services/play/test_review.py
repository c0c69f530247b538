"""Waiting for the review: which states end it, what a look that fails is, and what is read of
foreign answers.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from tests.support.factory import answers
from tests.support.fake_play import PACKAGE, artifact, refused, release
from tests.support.play_driver import release_job
from tests.support.rollout_console import TIRED, Console, RolloutEngine
from uploader.errors import ProtocolError, ReleaseTrouble, TemporaryError, UploaderError
from uploader.services.base import Outcome
from uploader.services.play.release import flow
from uploader.services.play.review import (
    Listed,
    ReviewGoal,
    list_releases,
    state_of,
    state_of_release,
    wait_for_review,
)

APPROVED, PUBLISHED = ReviewGoal("approved", 60), ReviewGoal("published", 60)


def wait(
    play: Console, goal: ReviewGoal, pauses: int = 0, codes: tuple[str, ...] = ("42",)
) -> RolloutEngine:
    """The wait for a release on production and beta."""
    engine = RolloutEngine(play, pauses=pauses)
    tracks, outcome = ("production", "beta"), Outcome("Released.")
    engine.ended(
        lambda context: wait_for_review(PACKAGE, tracks, codes, goal, outcome, context)
    )
    return engine


def on_two_tracks(state: str = "PUBLISHED") -> Console:
    """42 on both tracks, beside an older one."""
    play = Console(
        production=[release(42), release(41, status="draft")], beta=[release(42)]
    )
    play.reviews["42"] = state
    return play


@pytest.mark.parametrize(
    ("state", "goal", "ends"),
    [
        ("PUBLISHED", PUBLISHED, None),
        ("PUBLISHED", APPROVED, None),
        ("APPROVED_NOT_PUBLISHED", APPROVED, None),
        ("APPROVED_NOT_PUBLISHED", PUBLISHED, TemporaryError),
        ("IN_REVIEW", APPROVED, TemporaryError),
        ("NOT_SENT_FOR_REVIEW", APPROVED, TemporaryError),
        ("UNHEARD_OF", PUBLISHED, TemporaryError),
        ("NOT_APPROVED", APPROVED, ReleaseTrouble),
        ("NOT_APPROVED", PUBLISHED, ReleaseTrouble),
    ],
)
def test_each_state_ends_the_waiting_or_goes_on(
    state: str, goal: ReviewGoal, ends: type[UploaderError] | None
) -> None:
    """What is approved may still wait for someone to publish it; a state that nobody knows is no
    success.
    """
    play = on_two_tracks(state)
    if ends is None:
        assert wait(play, goal).outputs["lifecycle"] == state
    else:
        with pytest.raises(ends):
            wait(play, goal, pauses=3)
        assert len(play.asked) == (2 if ends is ReleaseTrouble else 8)


@pytest.mark.parametrize(
    ("state", "cause"),
    [
        ("APPROVED_NOT_PUBLISHED", "The review is over. With managed publishing, "),
        ("IN_REVIEW", "A review takes hours or days; "),
    ],
)
def test_what_waits_for_a_person_is_not_told_as_a_slow_review(
    state: str, cause: str
) -> None:
    with pytest.raises(TemporaryError) as caught:
        wait(on_two_tracks(state), PUBLISHED)
    assert caught.value.cause.startswith(cause)


def test_what_is_approved_is_not_told_as_published() -> None:
    """With managed publishing someone still has to publish it."""
    play, job = Console(), release_job(artifact(42), review=APPROVED)
    play.reviews["42"] = "APPROVED_NOT_PUBLISHED"
    outcome = RolloutEngine(play).ended(partial(flow, job))
    assert outcome.heading is not None
    assert outcome.heading.text.endswith("; internal: approved, not published")


def test_without_version_codes_the_newest_is_meant() -> None:
    """A release of yesterday that was published does not count for today's."""
    play = Console(production=[release(42), release(41)], beta=[release(42)])
    play.reviews = {"42": "IN_REVIEW"}
    with pytest.raises(TemporaryError):
        wait(play, PUBLISHED, codes=())


def test_a_look_that_fails_is_tried_again_while_there_is_time() -> None:
    """Google's bad minutes end no wait of hours; at the deadline they are what is told."""
    play = on_two_tracks()
    play.response = failing(play, 2)  # type: ignore[method-assign]  # the first looks fail, whatever they ask
    engine = wait(play, PUBLISHED, pauses=2)
    assert len(engine.warnings) == 2
    play.response = failing(play, 9)  # type: ignore[method-assign]  # all of them
    with pytest.raises(TemporaryError, match="could not be looked up"):
        wait(play, PUBLISHED)


def failing(play: Console, times: int) -> Any:
    """An `answer` that fails so often first."""
    left = [TIRED] * times

    def response(step: Any) -> Any:
        if left:
            raise left.pop()
        return Console.response(play, step)

    return response


@pytest.mark.parametrize("in_doubt", [True, False])
def test_a_release_is_committed_once_however_often_it_is_waited_for(
    *, in_doubt: bool
) -> None:
    """The wait begins after the commit, and a second run finds the release there."""
    play, job = Console(), release_job(artifact(42), review=ReviewGoal("published", 0))
    play.reviews["42"] = "IN_REVIEW"
    if in_doubt:
        play.fail("commit", TIRED, after=True)
    for _ in range(2):
        with pytest.raises(TemporaryError):
            RolloutEngine(play, {}).ended(partial(flow, job))
    play.reviews.clear()
    engine = RolloutEngine(play)
    outcome = engine.ended(partial(flow, job))
    assert (len(play.commits), engine.outputs["committed"]) == (1, "true")
    assert "Review: internal: published." in outcome.headline


def test_of_several_entries_the_least_advanced_counts() -> None:
    """A change of a release that is published may be in review, or be rejected, by itself."""
    found = [Listed(("42",), "", state) for state in ("PUBLISHED", "IN_REVIEW")]
    assert state_of(found, ["42"]) == "IN_REVIEW"
    assert (
        state_of([*found, Listed(("42", "43"), "", "NOT_APPROVED")], ["42"])
        == "NOT_APPROVED"
    )
    assert state_of(found, ["7"]) == ""


def test_what_a_later_release_retains_has_its_own_state() -> None:
    """42 is published, whatever becomes of the release that keeps it beside 43."""
    found = [Listed(("43", "42"), "", "IN_REVIEW"), Listed(("42",), "", "PUBLISHED")]
    assert state_of_release(found, ["42"]) == "PUBLISHED"
    assert state_of_release(found, ["42", "43"]) == "IN_REVIEW"
    assert state_of_release(found, ["43"]) == "IN_REVIEW"


@pytest.mark.parametrize(
    "response",
    [
        [],
        {"releases": {}},
        {"releases": ["42"]},
        {"releases": [{"activeArtifacts": [{"versionCode": "x"}]}]},
        {"releases": [{"activeArtifacts": [{}]}]},
        {"releases": [{"releaseLifecycleState": 5}]},
        {"releases": [{"releaseName": []}]},
    ],
)
def test_an_answer_in_no_documented_form_is_refused(response: Any) -> None:
    """Nothing is concluded from what can't be read."""
    with pytest.raises(ProtocolError):
        list_releases(answers(lambda _: response), PACKAGE, "production")


def test_a_track_that_was_never_used_is_empty_and_an_unknown_app_is_not() -> None:
    """Both are answered with 404."""
    unused = refused(404, "Track not found: production.")
    assert list_releases(answers(lambda _: unused), PACKAGE, "production") == ()
    unknown = refused(404, "Package not found: com.example.app.")
    with pytest.raises(UploaderError):
        list_releases(answers(lambda _: unknown), PACKAGE, "production")
