"""People in the Play Console: what they change between two runs is live, and ends the edits that
are open.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.google_emulator.conftest import StartEmulator
from tests.support.emulator_client import PACKAGE, EmulatorClient

ROLLOUT = {"status": "inProgress", "versionCodes": ["8"], "userFraction": 0.1}
LIVE = {
    PACKAGE: {
        "tracks": {
            "production": [ROLLOUT, {"status": "completed", "versionCodes": ["7"]}]
        }
    }
}
ON_PRODUCTION = {"package": PACKAGE, "track": "production"}


@pytest.fixture
def client(start_emulator: StartEmulator) -> EmulatorClient:
    """An app with a rollout at 10 %."""
    return start_emulator(apps=LIVE)


def releases(
    client: EmulatorClient, track: str = "production"
) -> dict[str, tuple[str, Any]]:
    """Status and fraction of what is live on a track, by version code."""
    tracks = client.emulator.state()["tracks"][PACKAGE]
    return {
        one["versionCodes"][0]: (one["status"], one.get("userFraction"))
        for one in tracks[track]
    }


def act(client: EmulatorClient, do: str, **options: Any) -> int:
    """One operation over HTTP; the answer is its status."""
    operation = {"do": do, **ON_PRODUCTION, **options}
    return client.request(
        "POST", "/__emulator/console", json={"operations": [operation]}
    ).status


def test_a_rollout_in_the_hands_of_people(client: EmulatorClient) -> None:
    """Its fraction is changed, it is halted, resumed and completed; the release that everybody had
    goes then.
    """
    old = ("completed", None)
    assert act(client, "set-fraction", fraction=0.3) == 200
    assert releases(client) == {"8": ("inProgress", 0.3), "7": old}
    assert act(client, "halt") == 200
    assert releases(client) == {"8": ("halted", 0.3), "7": old}
    assert act(client, "resume", fraction=0.2) == 200
    assert releases(client) == {"8": ("inProgress", 0.2), "7": old}
    assert act(client, "complete", code=8) == 200
    assert releases(client) == {"8": old}


def test_releases_and_tracks_are_added_and_removed(client: EmulatorClient) -> None:
    """A release takes the place of the one in its status; its version code is used up and its
    artifact there.
    """
    console = client.emulator.console
    console.add_release(
        PACKAGE,
        "production",
        {"versionCodes": [12], "status": "inProgress", "userFraction": 0.01},
    )
    assert releases(client) == {"12": ("inProgress", 0.01), "7": ("completed", None)}
    assert 12 in client.emulator.state()["apps"][PACKAGE]["usedVersionCodes"]
    console.add_track(PACKAGE, "friends")
    console.add_release(PACKAGE, "friends", {"versionCodes": [13]})
    assert releases(client, "friends") == {"13": ("completed", None)}
    console.remove(PACKAGE, "friends", 13)
    assert releases(client, "friends") == {}


@pytest.mark.parametrize(
    ("do", "options"),
    [
        ("set-fraction", {"fraction": 0.5}),
        ("halt", {}),
        ("complete", {}),
        ("remove", {"code": 8}),
        ("add-release", {"release": {"versionCodes": [9]}}),
        ("add-track", {"track": "friends"}),
    ],
)
def test_open_edits_end(
    client: EmulatorClient, do: str, options: dict[str, Any]
) -> None:
    """After a change from outside an edit can neither be read nor committed, in Google's words."""
    edit = client.edit()
    assert act(client, do, **options) == 200
    for method, path in (("GET", f"{edit}/tracks"), ("POST", f"{edit}:commit")):
        reply = client.request(method, path, b"")
        assert reply.status == 400
        assert reply.message.startswith(
            "A change was made to the application outside of this Edit"
        )


@pytest.mark.parametrize(
    ("do", "options", "words"),
    [
        ("explode", {}, "unknown operation 'explode'"),
        ("halt", {"speed": 1}, "halt: got an unexpected keyword argument 'speed'"),
        ("set-fraction", {}, "set-fraction: missing a required argument"),
        ("set-fraction", {"fraction": 1}, "greater than 0 and less than 1"),
        (
            "set-fraction",
            {"fraction": 0.5, "code": 7},
            "no release 7 on production that is inProgress or halted",
        ),
        (
            "add-release",
            {"release": {"versionCodes": [9], "status": "inProgress"}},
            "must have a user fraction",
        ),
        ("resume", {}, "no release on production that is halted"),
        ("remove", {"code": 99}, "no release 99 on production that is there"),
        ("add-track", {}, "the track production exists"),
        ("review", {"course": ["DONE"]}, "unknown state"),
        ("halt", {"package": "com.example.other"}, "Package not found"),
    ],
)
def test_what_the_console_does_not_offer_is_refused(
    start_emulator: StartEmulator, do: str, options: dict[str, Any], words: str
) -> None:
    """A script that asks for it is wrong; nothing changes, and open edits live on."""
    client = start_emulator(apps=LIVE, any_app=False)
    edit, before = client.edit(), releases(client)
    operation = {"do": do, **ON_PRODUCTION, **options}
    reply = client.request(
        "POST", "/__emulator/console", json={"operations": [operation]}
    )
    assert (reply.status, words in reply.message) == (400, True), reply.message
    assert releases(client) == before
    assert client.request("GET", f"{edit}/tracks").status == 200
