"""Who gets the releases of a track, and where; and tracks that come to an app."""

from __future__ import annotations

from tests.support.emulator_client import EmulatorClient

GROUPS = {"googleGroups": ["qa@googlegroups.com", "press@googlegroups.com"]}


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
