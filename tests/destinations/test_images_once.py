"""A listing's images, and artifacts by one request: whatever becomes of the answer, each is in the
edit once.
"""

from __future__ import annotations

from typing import Any

import pytest

from google_emulator import specimens
from tests.support.destinations import PACKAGE, bundle
from tests.support.job import Ended, Job

# By sessions, as large images are sent; small ones take one request.
LISTING = {
    "target": "play",
    "package-name": PACKAGE,
    "images-directory": "listing",
    "upload-protocol": "resumable",
}
PLAY = {"target": "play", "files": "*.aab", "tracks": "internal"}
PHONE = "en-US/phoneScreenshots"
FINAL, QUERY = "play.images.upload+resumable.final", "resumable.query"


@pytest.fixture
def job(job: Job) -> Job:
    """An app that is there, and a folder with two new screenshots."""
    bundle(job.workspace)
    job.succeed(PLAY)
    for number in (1, 2):
        picture(job, f"{number}.png", number)
    return job


def picture(job: Job, name: str, number: int) -> None:
    """A screenshot that differs from every other by its number."""
    folder = job.workspace / "listing" / "en-US" / "images" / "phoneScreenshots"
    folder.mkdir(parents=True, exist_ok=True)
    specimens.make_image(folder / name, 320 + number, 640)


def live(job: Job) -> list[str]:
    """The digests of the screenshots that users see, in order."""
    return [
        image["sha256"]
        for image in job.emulator.state()["apps"][PACKAGE]["images"].get(PHONE, [])
    ]


def sent(ended: Ended) -> list[str]:
    """The digests of the screenshots as the results have them."""
    assert not [result for result in ended.results if result["error"]]
    assert all(result["id"] for result in ended.results)
    return [result["sha256"] for result in ended.results]


@pytest.mark.parametrize("status", [404, 410])
def test_an_image_whose_session_is_lost_behind_its_last_byte_is_not_doubled(
    job: Job, status: int
) -> None:
    """It is in the edit, which is asked before anything is sent again."""
    job.emulator.faults.add(
        [
            {"on": FINAL, "do": "answer-lost"},
            {"on": QUERY, "do": "session-lost", "status": status},
        ]
    )
    ended = job.succeed(LISTING)
    assert live(job) == sent(ended)
    assert len(set(live(job))) == 2
    assert "shows it: nothing is left to send" in ended.log


def test_an_image_that_did_not_arrive_is_sent_again(job: Job) -> None:
    """The service failed before it stored the image, and forgot the session."""
    job.emulator.faults.add(
        [
            {"on": FINAL, "do": "status", "after": "end", "status": 503},
            {"on": QUERY, "do": "session-lost"},
        ]
    )
    ended = job.succeed(LISTING)
    assert live(job) == sent(ended)
    assert "does not show it; it is sent again" in ended.log
    assert ended.outputs["attempts"] == "3"


def test_an_image_that_is_wanted_twice_is_there_twice(job: Job) -> None:
    """The first of the two is not taken for the second, whose answer is lost as well."""
    picture(job, "2.png", 1)
    lost = [{"on": FINAL, "do": "answer-lost"}, {"on": QUERY, "do": "session-lost"}]
    job.emulator.faults.add(
        [
            *lost,
            {"on": FINAL, "do": "status", "after": "end"},
            {"on": QUERY, "do": "session-lost"},
        ]
    )
    assert live(job) == []
    ended = job.succeed(LISTING)
    assert live(job) == sent(ended)
    assert len(live(job)) == 2


@pytest.mark.parametrize(
    "trouble",
    [{"do": "answer-lost"}, {"do": "status", "after": "end", "status": 503}],
    ids=str,
)
def test_an_image_by_one_request_is_looked_for(
    job: Job, trouble: dict[str, Any]
) -> None:
    """There is no session to ask, but the edit shows whether it is there."""
    job.emulator.faults.add([{"on": "play.images.upload+multipart", **trouble}])
    ended = job.run({**LISTING, "upload-protocol": "multipart"})
    assert ended.code == 0, ended.log
    assert live(job) == sent(ended)


def test_an_image_that_nobody_can_look_for_is_temporary(job: Job) -> None:
    """The edit is kept, and the next run finds the image there: running again does no harm."""
    job.emulator.faults.add(
        [
            {"on": FINAL, "do": "answer-lost"},
            {"on": QUERY, "do": "session-lost"},
            {
                "on": "play.images.list",
                "do": "status",
                "status": 503,
                "nth": 2,
                "times": 2,
            },
        ]
    )
    ended = job.fail(75, {**LISTING, "max-retries": "1"})
    assert ended.outputs["failure"] == "temporary-failure"
    assert "Check whether" not in ended.log
    ended = job.succeed(LISTING)
    assert live(job) == sent(ended)
    assert len(live(job)) == 2


def test_an_image_of_a_kept_edit_is_found_by_the_next_run(job: Job) -> None:
    """Its session was never answered, and the edit shows it."""
    job.emulator.faults.add(
        [
            {"on": FINAL, "do": "answer-lost"},
            {"on": QUERY, "do": "status", "status": 503, "times": 2},
        ]
    )
    job.fail(75, {**LISTING, "max-retries": "1"})
    ended = job.succeed(LISTING)
    assert live(job) == sent(ended)
    assert len(live(job)) == 2


NOT_STORED: dict[str, Any] = {"do": "status", "after": "end", "status": 503}


def next_bundle(job: Job) -> None:
    (job.workspace / "app-7.aab").unlink()
    bundle(job.workspace, code=8)


def released(job: Job) -> list[str]:
    [release] = job.emulator.state()["tracks"][PACKAGE]["internal"]
    return list(release["versionCodes"])


@pytest.mark.parametrize(
    "trouble", [{"do": "answer-lost"}, NOT_STORED], ids=["stored", "not stored"]
)
@pytest.mark.parametrize("protocol", ["simple", "multipart"])
def test_a_bundle_by_one_request_is_looked_for(
    job: Job, protocol: str, trouble: dict[str, Any]
) -> None:
    """The edit lists the version code, or it is sent again: it can't be there twice."""
    next_bundle(job)
    job.emulator.faults.add([{"on": f"play.bundles.upload+{protocol}", **trouble}])
    job.succeed({**PLAY, "upload-protocol": protocol})
    assert released(job) == ["8"]


def test_a_bundle_by_one_request_that_never_arrives_is_temporary(job: Job) -> None:
    """The edit is kept, and the next run sends the bundle into it."""
    next_bundle(job)
    job.emulator.faults.add(
        [{"on": "play.bundles.upload+simple", **NOT_STORED, "times": 2}]
    )
    given = {**PLAY, "upload-protocol": "simple"}
    ended = job.fail(75, {**given, "max-retries": "1"})
    assert ended.outputs["failure"] == "temporary-failure"
    assert "Check whether the service has it" not in ended.log
    job.succeed(given)
    assert released(job) == ["8"]
