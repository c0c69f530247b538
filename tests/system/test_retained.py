"""A staged release that retains the version which everybody has: whole runs, from the first share
to all users.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from google_emulator import Emulator, specimens
from tests.support.fake_play import PACKAGE, release
from tests.support.job import Job

pytestmark = pytest.mark.slow

PRODUCTION = {"target": "play", "package-name": PACKAGE, "tracks": "production"}
STAGED = {**PRODUCTION, "files": "app.aab", "user-fraction": "10%"}
ROLLOUT = {
    "target": "play-rollout",
    "package-name": PACKAGE,
    "tracks": "production",
    "rollout-steps": "50%, 100%",
}


@pytest.fixture
def emulator() -> Iterator[Emulator]:
    """An emulator with an app that has version 16 on production."""
    apps = {PACKAGE: {"tracks": {"production": [release(16, name="1.6")]}}}
    with Emulator(config={"apps": apps}) as emulator:
        yield emulator


@pytest.fixture
def job(job: Job) -> Job:
    """A job whose workspace holds version 42."""
    specimens.make_bundle(job.workspace / "app.aab", PACKAGE, 42, "4.2")
    return job


def live(job: Job, track: str = "production") -> list[str]:
    """The releases on a track, in short."""
    found = job.emulator.state()["tracks"][PACKAGE].get(track, [])
    return [
        " ".join(
            map(
                str,
                filter(
                    None, ("+".join(one["versionCodes"]), one["status"], fraction(one))
                ),
            )
        )
        for one in found
    ]


def fraction(one: dict[str, float]) -> float | None:
    return one.get("userFraction")


@pytest.mark.parametrize("retained", ["16", "last-release"])
def test_a_staged_release_leaves_what_it_retains_with_everybody(
    job: Job, retained: str
) -> None:
    """A tenth of the users has 42 and 16, all others have 16; each later run raises the share, and
    takes 16 from nobody.
    """
    staged = {**STAGED, "version-codes-to-retain": retained}
    ended = job.succeed(staged)
    assert live(job) == ["42+16 inProgress 0.1", "16 completed"]
    assert "= 1.6 (16): all other users, completed" in ended.log
    job.succeed(staged)
    assert live(job) == ["42+16 inProgress 0.1", "16 completed"]
    for inputs, after in [
        ({**PRODUCTION, "user-fraction": "20%"}, "42+16 inProgress 0.2"),
        ({**PRODUCTION, "status": "halted"}, "42+16 halted 0.2"),
        ({**PRODUCTION, "status": "inProgress"}, "42+16 inProgress 0.2"),
        (ROLLOUT, "42+16 inProgress 0.5"),
    ]:
        ended = job.succeed(inputs)
        assert live(job) == [after, "16 completed"]
        users = "all users" if "halted" in after else "all other users"
        assert f"= 1.6 (16): {users}, completed" in ended.log
        assert "- 1.6 (16)" not in ended.log
    job.succeed(ROLLOUT)
    assert live(job) == ["42+16 completed"]


def test_a_promotion_may_be_staged_beside_what_it_retains(job: Job) -> None:
    """From internal to a tenth of production, with the version for older devices."""
    job.succeed({**PRODUCTION, "files": "app.aab", "tracks": "internal"})
    promotion = {**PRODUCTION, "promote-from": "internal", "user-fraction": "10%"}
    job.succeed({**promotion, "version-codes-to-retain": "16"})
    assert live(job) == ["42+16 inProgress 0.1", "16 completed"]


def test_a_release_of_what_everybody_has_is_not_staged(job: Job) -> None:
    """With nothing newer in it there is nothing to stage, whatever the input is called."""
    ended = job.fail(
        4, {**PRODUCTION, "version-codes-to-retain": "16", "user-fraction": "10%"}
    )
    assert ended.outputs["failure"] == "user-fraction-lower"
    assert live(job) == ["16 completed"]


@pytest.mark.parametrize("method", ["play.tracks.update", "play.edits.commit"])
def test_a_lost_answer_leaves_both_releases(job: Job, method: str) -> None:
    """The run after it, or the run itself, finds the track as it wrote it."""
    job.emulator.add_fault(method, "answer-lost")
    inputs = {**STAGED, "version-codes-to-retain": "16"}
    job.run(inputs)
    job.succeed(inputs)
    assert live(job) == ["42+16 inProgress 0.1", "16 completed"]
    assert job.emulator.state()["requests"]["play.edits.commit"] == 1
