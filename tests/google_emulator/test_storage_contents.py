"""Cloud Storage and Drive around an upload: what is there, its bytes, copies, deletion; what strangers' clients ask."""

from __future__ import annotations

import base64
from typing import Any
from urllib.parse import quote

import google_crc32c
import pytest

from tests.google_emulator.conftest import StartEmulator
from tests.support.emulator_client import STORAGE, EmulatorClient, Reply

OBJECTS = "/storage/v1/b/bucket/o"
DATA = bytes(range(250)) * 4


def put(client: EmulatorClient, name: str, data: bytes = DATA, query: str = "") -> Any:
    """An object of this name."""
    path = f"{STORAGE}?uploadType=media&name={quote(name, safe='')}{query}"
    reply = client.request("POST", path, data, {"Content-Type": "text/plain"})
    assert reply.status == 200, reply.body
    return reply.json


def names(reply: Reply) -> tuple[list[str], list[str]]:
    return [one["name"] for one in reply.json.get("items", [])], reply.json.get("prefixes", [])


@pytest.mark.parametrize(
    ("query", "items", "prefixes"),
    [
        ("", ["a", "d/1", "d/2", "d/e/3", "z"], []),
        ("delimiter=/", ["a", "z"], ["d/"]),
        ("delimiter=/&prefix=d/", ["d/1", "d/2"], ["d/e/"]),
        ("prefix=d", ["d/1", "d/2", "d/e/3"], []),
        ("prefix=none", [], []),
    ],
)
def test_objects_are_listed(client: EmulatorClient, query: str, items: list[str], prefixes: list[str]) -> None:
    """Names in order, below a prefix, cut at a delimiter; page by page they are the same."""
    for name in ("z", "d/e/3", "d/1", "a", "d/2"):
        put(client, name)
    whole = client.request("GET", f"{OBJECTS}?{query}")
    assert names(whole) == (items, prefixes)
    found, token = [], ""
    for _ in range(len(items) + len(prefixes)):
        page = client.request("GET", f"{OBJECTS}?{query}&maxResults=1&pageToken={token}")
        found += [*names(page)[0], *names(page)[1]]
        token = page.json.get("nextPageToken", "")
    assert (sorted(found), token) == (sorted([*items, *prefixes]), "")


@pytest.mark.parametrize(
    ("asked", "status", "part"),
    [
        ("", 200, DATA),
        ("bytes=10-19", 206, DATA[10:20]),
        ("bytes=990-", 206, DATA[990:]),
        ("bytes=-5", 206, DATA[-5:]),
        ("bytes=990-5000", 206, DATA[990:]),
        ("bytes=1000-", 416, b""),
        ("bytes=5-4", 416, b""),
    ],
)
def test_an_object_is_downloaded(client: EmulatorClient, asked: str, status: int, part: bytes) -> None:
    """`alt=media`, on either path, whole or the range that is asked for, with the digests of the whole."""
    made = put(client, "d/a")
    for path in (made["selfLink"] + "?alt=media", made["mediaLink"]):
        reply = client.request("GET", path, None, {"Range": asked} if asked else {})
        assert (reply.status, reply.body) == (status, part)
        if status != 416:
            assert reply.header("X-Goog-Hash") == f"crc32c={made['crc32c']},md5={made['md5Hash']}"
            assert reply.header("Content-Type") == "text/plain"


def test_a_client_may_have_no_token(start_emulator: StartEmulator) -> None:
    """Google's storage clients send none to STORAGE_EMULATOR_HOST: a setting takes them as the service account."""
    client = start_emulator(anonymous=True)
    client.token = ""
    put(client, "a")
    assert client.emulator.state()["objects"][0]["account"] == client.emulator.service_account
    assert client.request("GET", OBJECTS, None, {"Authorization": "Bearer wrong"}).status == 401
    assert start_emulator().request("GET", OBJECTS, None, {"Authorization": ""}).status == 401


WRONG, TRUE = "AAAAAA==", base64.b64encode(google_crc32c.value(DATA).to_bytes(4, "big")).decode()


@pytest.mark.parametrize(
    ("metadata", "headers", "status"),
    [
        ({"crc32c": TRUE}, {"X-Goog-Hash": f"crc32c={TRUE}"}, 200),
        ({"crc32c": WRONG}, {}, 400),
        ({}, {"X-Goog-Hash": f"crc32c={WRONG}"}, 400),
        ({}, {"X-Goog-Hash": f"crc32c={TRUE},md5={WRONG}"}, 400),
    ],
)
def test_a_wrong_digest_is_refused(
    client: EmulatorClient, metadata: dict[str, str], headers: dict[str, str], status: int
) -> None:
    """A digest in the metadata, or in X-Goog-Hash beside the bytes, has to be that of the bytes."""
    uri = client.request("POST", f"{STORAGE}?uploadType=resumable&name=x", json=metadata).header("Location")
    reply = client.request("PUT", uri, DATA, headers)
    assert reply.status == status
    assert (client.request("GET", f"{OBJECTS}/x").status == 200) is (status == 200)
