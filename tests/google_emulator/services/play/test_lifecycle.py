"""What Play tells of releases after a commit: the state of their review, by looks, by time and by
what people do.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from google_emulator import Emulator
from google_emulator.services.play.lifecycle import read_course
from tests.google_emulator.conftest import StartEmulator
from tests.support.emulator_client import APP, PACKAGE, EmulatorClient, Reply

LIVE = {
    PACKAGE: {
        "tracks": {
            "production": [
                {"status": "completed", "versionCodes": [7], "name": "Seven"}
            ],
            "beta": [
                {"status": "draft", "versionCodes": [9]},
                {"status": "completed", "versionCodes": [6]},
            ],
        }
    }
}
REVIEW = ["IN_REVIEW", "APPROVED_NOT_PUBLISHED", "PUBLISHED"]
DAY = 86_400  # seconds


def release(code: int, **changed: Any) -> dict[str, Any]:
    return {"status": "completed", "versionCodes": [str(code)], **changed}


def commit(
    client: EmulatorClient,
    *releases: dict[str, Any],
    track: str = "production",
    query: str = "",
) -> Reply:
    """Puts releases on a track, as the edit of a release does; artifacts are there already."""
    edit = client.edit()
    put = client.request(
        "PUT",
        f"{edit}/tracks/{track}",
        json={"track": track, "releases": list(releases)},
    )
    assert put.status == 200, put.body
    return client.request("POST", f"{edit}:commit{query}", b"")


def look(client: EmulatorClient, track: str = "production") -> dict[int, str]:
    """The states that one call tells, by version code."""
    reply = client.request("GET", f"{APP}/tracks/{track}/releases")
    assert reply.status == 200, reply.body
    return {
        one["activeArtifacts"][0]["versionCode"]: one[
            "releaseLifecycleState"
        ].removeprefix("RELEASE_LIFECYCLE_STATE_")
        for one in reply.json.get("releases", [])
    }


@pytest.fixture
def with_course() -> Iterator[Any]:
    """Starts an emulator whose reviews take this course; version code 8 waits in its library."""
    with ExitStack() as stack:

        def start(*course: Any, **more: Any) -> EmulatorClient:
            apps = {
                PACKAGE: LIVE[PACKAGE]
                | {"artifacts": [{"versionCode": code} for code in (8, 9, 10)]}
            }
            config = (
                {"apps": apps, "lifecycle": {PACKAGE: list(course)}}
                if course
                else {"apps": apps}
            )
            client = EmulatorClient(
                stack.enter_context(Emulator(config={**config, **more}))
            )
            stack.callback(client.close)
            return client

        yield start


def test_a_release_is_summed_up(start_emulator: StartEmulator) -> None:
    """Name, track, version codes and state as the discovery document has them; neither status nor
    fraction.
    """
    client = start_emulator(apps=LIVE)
    assert client.request("GET", f"{APP}/tracks/production/releases").json == {
        "releases": [
            {
                "releaseName": "Seven",
                "track": "production",
                "activeArtifacts": [{"versionCode": 7}],
                "releaseLifecycleState": "RELEASE_LIFECYCLE_STATE_PUBLISHED",
            }
        ]
    }
    assert look(client, "beta") == {9: "DRAFT", 6: "PUBLISHED"}
    assert client.request("GET", f"{APP}/tracks/alpha/releases").json == {}


def test_a_review_by_looks(with_course: Any) -> None:
    """Each state is told as often as scripted; the release before stays listed until the new one is
    published.
    """
    stages = [{"state": state, "looks": 2} for state in REVIEW[:2]]
    client = with_course(*stages, "PUBLISHED")
    commit(client, release(8))
    states = [look(client) for _ in range(5)]
    assert [one[8] for one in states] == ["IN_REVIEW"] * 2 + [
        "APPROVED_NOT_PUBLISHED"
    ] * 2 + ["PUBLISHED"]
    assert [one.get(7) for one in states] == ["PUBLISHED"] * 4 + [None]


def test_a_review_by_time(with_course: Any) -> None:
    """The emulator's clock decides, however often one looks; over HTTP it is moved by a control
    route.
    """
    client = with_course(
        *({"state": state, "seconds": DAY} for state in REVIEW[:2]), "PUBLISHED"
    )
    commit(client, release(8))
    assert [look(client)[8] for _ in range(3)] == ["IN_REVIEW"] * 3
    client.emulator.clock.advance(DAY + 1)
    assert look(client)[8] == "APPROVED_NOT_PUBLISHED"
    assert (
        "T"
        in client.request("POST", "/__emulator/clock", json={"advance": DAY}).json[
            "time"
        ]
    )
    assert look(client)[8] == "PUBLISHED"


def test_changes_that_were_not_sent_wait_for_a_person(with_course: Any) -> None:
    """A commit with changesNotSentForReview leaves a release unsent until a person sends it."""
    client = with_course({"state": "IN_REVIEW", "looks": 1}, "PUBLISHED")
    commit(client, release(8), query="?changesNotSentForReview=true")
    assert [look(client)[8] for _ in range(2)] == ["NOT_SENT_FOR_REVIEW"] * 2
    client.emulator.console.send_for_review(PACKAGE)
    assert [look(client)[8] for _ in range(2)] == ["IN_REVIEW", "PUBLISHED"]


def test_a_review_in_flight_is_cancelled_or_an_error(with_course: Any) -> None:
    """ERROR_IF_IN_REVIEW leaves the edit open; without it the commit begins the review anew."""
    client = with_course({"state": "IN_REVIEW", "looks": 2}, "PUBLISHED")
    commit(client, release(8))
    assert look(client)[8] == "IN_REVIEW"
    refused = commit(
        client,
        release(8, name="Eight"),
        query="?changesInReviewBehavior=ERROR_IF_IN_REVIEW",
    )
    assert (refused.status, refused.message) == (400, "Changes are already in review.")
    assert commit(client, release(8, name="Eight")).status == 200
    assert [look(client)[8] for _ in range(3)] == [
        "IN_REVIEW",
        "IN_REVIEW",
        "PUBLISHED",
    ]


@pytest.mark.parametrize(
    ("course", "words"),
    [
        ([], "a course is a list of states"),
        ("PUBLISHED", "a course is a list of states"),
        (["DRAFT"], "unknown state 'DRAFT'"),
        ([{"state": "IN_REVIEW", "days": 1}], "unknown key days"),
        ([{"state": "IN_REVIEW", "looks": -1}], "looks in a course"),
        ([{"state": "IN_REVIEW", "seconds": "1"}], "seconds in a course"),
    ],
)
def test_a_course_that_makes_no_sense_is_refused(course: Any, words: str) -> None:
    """A misspelt script can't pass for a test."""
    with pytest.raises(ValueError, match=words):
        read_course(course)
    with pytest.raises(ValueError, match=words):
        Emulator(config={"lifecycle": {"*": course}})
