"""What is kept from the users, a halted release or a draft, is given to them by a written status
alone.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any

import pytest

from google_emulator import Emulator
from tests.support.fake_play import PACKAGE, release
from tests.support.job import Job

NO_FILES = {"target": "play", "package-name": PACKAGE, "tracks": "production"}
ROLLOUT = {
    "target": "play-rollout",
    "package-name": PACKAGE,
    "tracks": "production",
    "rollout-steps": "20%, 100%",
}
HALTED = release(42, status="halted", userFraction=0.05, name="4.2")
DRAFT = release(42, status="draft", name="4.2")


@pytest.fixture
def emulator() -> Iterator[Emulator]:
    """An emulator with an app that has a halted release beside the one that everybody has."""
    tracks = {"production": [HALTED, release(41, name="4.1")]}
    with Emulator(config={"apps": {PACKAGE: {"tracks": tracks}}}) as emulator:
        yield emulator


def live(job: Job, track: str = "production") -> list[dict[str, Any]]:
    """The releases on a track."""
    found: list[dict[str, Any]] = job.emulator.state()["tracks"][PACKAGE][track]
    return found


def fingerprint(job: Job) -> str:
    """Everything that is live in the emulator, to the last field."""
    return hashlib.sha256(
        json.dumps(job.emulator.state()["tracks"], sort_keys=True).encode()
    ).hexdigest()


@pytest.mark.parametrize(
    "wish",
    [{"user-fraction": "50%"}, {"release-name": "5"}, {"in-app-update-priority": "3"}],
)
def test_a_halted_release_stays_halted_without_a_status(
    job: Job, wish: dict[str, str]
) -> None:
    """A fraction, a name or a priority do not say that it goes on."""
    before = fingerprint(job)
    ended = job.fail(4, {**NO_FILES, **wish})
    assert ended.outputs["failure"] == "release-halted"
    assert fingerprint(job) == before


@pytest.mark.parametrize(
    ("wish", "now"),
    [({"status": "inProgress"}, "inProgress"), ({"status": "completed"}, "completed")],
    ids=["inProgress", "completed"],
)
def test_a_written_status_goes_on_with_a_halted_release_and_says_so(
    job: Job, wish: dict[str, str], now: str
) -> None:
    """The plan, a dry run and the last line name the version and what it was."""
    rehearsed = job.succeed({**NO_FILES, **wish, "dry-run": "true"})
    assert rehearsed.last_line.endswith("42 was halted on production.")
    ended = job.succeed({**NO_FILES, **wish})
    assert "      42 was halted on production\n" in ended.log
    assert ended.last_line.endswith("42 was halted on production.")
    assert live(job)[0]["status"] == now


def test_two_tracks_with_a_release_each_are_told_apart(job: Job) -> None:
    """The last line does not name the release of one track with the version code of the other."""
    job.emulator.console.add_release(PACKAGE, "beta", release(30, name="3.0"))
    ended = job.succeed(
        {**NO_FILES, "tracks": "beta, production", "status": "completed"}
    )
    last = ended.last_line
    assert "3.0 (30) on beta is unchanged" in last
    assert "4.2 (42) is rolled out to all users on production" in last
    assert last.endswith("42 was halted on production.")
    assert ended.outputs["version-codes"] == "30,42"


@pytest.fixture
def waiting(job: Job) -> Job:
    """The job with a draft on beta, which waits to be published."""
    job.emulator.console.add_release(PACKAGE, "beta", DRAFT)
    return job


DRAFTS = {
    "a-fraction": {"tracks": "beta", "user-fraction": "10%"},
    "its-version-code": {"tracks": "beta", "version-codes-to-retain": "42"},
}


@pytest.mark.parametrize("wish", DRAFTS)
def test_a_draft_is_not_published_without_a_status(waiting: Job, wish: str) -> None:
    """Neither a fraction nor its version code says that it is to be published."""
    before = fingerprint(waiting)
    ended = waiting.fail(4, {**NO_FILES, **DRAFTS[wish]})
    assert ended.outputs["failure"] == "release-is-draft"
    assert (
        "The release 4.2 (42) on track beta is a draft, and stays a draft." in ended.log
    )
    assert fingerprint(waiting) == before


def test_a_written_status_publishes_a_draft_and_says_so(waiting: Job) -> None:
    """The last line says that the version was a draft."""
    ended = waiting.succeed({**NO_FILES, "tracks": "beta", "status": "completed"})
    assert "      42 was a draft on beta\n" in ended.log
    assert ended.last_line.endswith("42 was a draft on beta.")
    assert live(waiting, "beta")[0]["status"] == "completed"


def test_a_name_for_a_draft_leaves_it_a_draft(waiting: Job) -> None:
    """What publishes nothing needs no status."""
    ended = waiting.succeed({**NO_FILES, "tracks": "beta", "release-name": "Spring"})
    assert (live(waiting, "beta")[0]["status"], live(waiting, "beta")[0]["name"]) == (
        "draft",
        "Spring",
    )
    assert "was a draft" not in ended.log


AT_ANY_REACH = {
    "nothing-else": {},
    "a-fraction": {"user-fraction": "10%"},
    "the-words-for-left-out": {"status": "auto", "user-fraction": "all"},
    "its-name": {"release-name": "Spring"},
}
"""What a step may say without saying that a draft or a halted release goes to users."""


@pytest.mark.parametrize("wish", AT_ANY_REACH)
def test_a_promotion_does_not_serve_a_draft_without_a_status(
    waiting: Job, wish: str
) -> None:
    before = fingerprint(waiting)
    ended = waiting.fail(
        4, {**NO_FILES, "tracks": "alpha", "promote-from": "beta", **AT_ANY_REACH[wish]}
    )
    assert ended.outputs["failure"] == "release-kept-back"
    assert fingerprint(waiting) == before


@pytest.mark.parametrize("wish", AT_ANY_REACH)
def test_a_promotion_does_not_serve_a_halted_release_without_a_status(
    job: Job, wish: str
) -> None:
    before = fingerprint(job)
    promotion = {
        **NO_FILES,
        "tracks": "alpha",
        "promote-from": "production",
        "promote-version-codes": "42",
    }
    ended = job.fail(4, {**promotion, **AT_ANY_REACH[wish]})
    assert ended.outputs["failure"] == "release-kept-back"
    assert fingerprint(job) == before


@pytest.mark.parametrize("wish", AT_ANY_REACH)
def test_a_version_code_does_not_serve_a_draft_of_another_track(
    waiting: Job, wish: str
) -> None:
    # the draft is all that has it
    waiting.emulator.console.remove(PACKAGE, "production", 42)
    before = fingerprint(waiting)
    wishes = {"tracks": "alpha", "version-codes-to-retain": "42", **AT_ANY_REACH[wish]}
    ended = waiting.fail(4, {**NO_FILES, **wishes})
    assert ended.outputs["failure"] == "release-kept-back"
    assert fingerprint(waiting) == before


def test_a_promotion_with_a_written_status_says_that_it_was_a_draft(
    waiting: Job,
) -> None:
    """The plan and the last line name the version, what it was, and where."""
    promotion = {
        **NO_FILES,
        "tracks": "alpha",
        "promote-from": "beta",
        "status": "inProgress",
    }
    ended = waiting.succeed({**promotion, "user-fraction": "10%"})
    assert "      42 was a draft on beta\n" in ended.log
    assert ended.last_line.endswith("42 was a draft on beta.")
    assert live(waiting, "alpha")[0]["status"] == "inProgress"


def test_a_promotion_with_a_written_status_says_that_it_was_halted(job: Job) -> None:
    promotion = {
        **NO_FILES,
        "tracks": "alpha",
        "promote-from": "production",
        "promote-version-codes": "42",
    }
    ended = job.succeed({**promotion, "status": "completed"})
    assert ended.last_line.endswith("42 was halted on production.")
    assert live(job, "alpha")[0]["status"] == "completed"


def test_a_promotion_of_a_draft_as_a_draft_serves_nobody(waiting: Job) -> None:
    ended = waiting.succeed(
        {**NO_FILES, "tracks": "alpha", "promote-from": "beta", "status": "draft"}
    )
    assert live(waiting, "alpha")[0]["status"] == "draft"
    assert "was a draft" not in ended.log


def test_a_rollout_never_goes_on_with_a_halted_release(job: Job) -> None:
    """It ends with exit code 6, and changes nothing."""
    before = fingerprint(job)
    ended = job.fail(6, ROLLOUT)
    assert ended.outputs["decision"] == "halted"
    assert fingerprint(job) == before
