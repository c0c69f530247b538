"""Who gets the releases of a track, and where; and tracks that come to an app."""

from __future__ import annotations

from typing import Any

import pytest

from tests.google_emulator.conftest import StartEmulator
from tests.support.emulator_client import PACKAGE, EmulatorClient

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


def test_a_track_is_to_be_had_where_production_is(start_emulator: StartEmulator) -> None:
    """Unless it has countries of its own; production is to be had everywhere, unless it was said where."""
    apps = {PACKAGE: {"countries": {"production": ["US", "DE"], "beta": ["DE"]}, "testers": {"beta": ["a@b.example"]}}}
    client = start_emulator(apps=apps)
    edit = client.edit()

    def available(track: str) -> Any:
        return client.request("GET", f"{edit}/countryAvailability/{track}").json

    assert available("production") == {"countries": [{"countryCode": "DE"}, {"countryCode": "US"}]}
    assert available("alpha") == {**available("production"), "syncWithProduction": True}
    assert available("beta") == {"countries": [{"countryCode": "DE"}]}
    assert client.request("GET", f"{edit}/testers/beta").json == {"googleGroups": ["a@b.example"]}
    other = "/androidpublisher/v3/applications/com.other/edits/"
    edit = other + client.request("POST", other[:-1], json={}).json["id"]
    assert available("production")["restOfWorld"] is True
    assert {"countryCode": "DK"} in available("production")["countries"]


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
