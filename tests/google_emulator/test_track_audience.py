"""Who gets the releases of a track, and where; and tracks that come to an app."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.emulator_client import EmulatorClient

GROUPS = {"googleGroups": ["qa@googlegroups.com", "press@googlegroups.com"]}
CLOSED = {"type": "CLOSED_TESTING", "formFactor": "DEFAULT"}


def test_testers_are_groups(client: EmulatorClient) -> None:
    """An update replaces them, a patch without them keeps them; they go live with the commit."""
    edit = client.edit()
    path = f"{edit}/testers/alpha"
    assert client.request("GET", path).json == {}
    assert client.request("PUT", path, json=GROUPS).json == GROUPS
    assert client.request("PATCH", path, json={}).json == GROUPS
    assert client.request("PATCH", path, json={"googleGroups": None}).json == GROUPS
    assert client.request("GET", f"{edit}/testers/beta").json == {}
    client.request("POST", f"{edit}:commit", b"")
    edit = client.edit()
    assert client.request("GET", f"{edit}/testers/alpha").json == GROUPS
    assert client.request("PUT", f"{edit}/testers/alpha", json={}).json == {}


@pytest.mark.parametrize(
    ("wanted", "status"),
    [
        ({**CLOSED}, 400),
        ({**CLOSED, "track": "friends", "type": "TRACK_TYPE_UNSPECIFIED"}, 400),
        ({**CLOSED, "track": "friends", "type": "OPEN"}, 400),
        ({**CLOSED, "track": "friends", "type": None}, 400),
        ({**CLOSED, "track": "friends", "formFactor": "FORM_FACTOR_UNSPECIFIED"}, 400),
        ({**CLOSED, "track": "friends", "formFactor": "WEAR"}, 400),
        ({**CLOSED, "track": "wear:", "formFactor": "WEAR"}, 400),
        ({**CLOSED, "track": "wear:friends"}, 400),
        ({**CLOSED, "track": "production"}, 409),
        ({**CLOSED, "track": "wear:beta", "formFactor": "WEAR"}, 409),
    ],
)
def test_what_is_no_new_closed_track_is_refused(client: EmulatorClient, wanted: dict[str, Any], status: int) -> None:
    """Its type, its form factor and a name that fits are required, and the name must be new."""
    assert client.request("POST", f"{client.edit()}/tracks", json=wanted).status == status
