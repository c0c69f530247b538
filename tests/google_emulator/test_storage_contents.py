"""Cloud Storage and Drive around an upload: what is there, its bytes, copies, deletion; what strangers' clients ask."""

from __future__ import annotations

import base64
import gzip
from typing import Any
from urllib.parse import quote

import google_crc32c
import pytest

from tests.google_emulator.conftest import StartEmulator
from tests.support.emulator_client import STORAGE, EmulatorClient, Reply

OBJECTS = "/storage/v1/b/bucket/o"
FILES = "/drive/v3/files"
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


def test_an_object_stored_as_gzip_is_decompressed_for_whom_it_must(client: EmulatorClient) -> None:
    """Who takes gzip gets what was stored, everybody else what it was made of."""
    packed = gzip.compress(DATA)
    made = put(client, "a", packed, "&contentEncoding=gzip")
    as_stored = client.request("GET", made["mediaLink"], None, {"Accept-Encoding": "gzip"})
    assert (as_stored.body, as_stored.header("Content-Encoding")) == (packed, "gzip")
    plain = client.request("GET", made["mediaLink"], None, {"Accept-Encoding": "identity"})
    assert (plain.body, plain.header("Content-Encoding")) == (DATA, "")


def test_an_object_is_changed_copied_and_deleted(client: EmulatorClient) -> None:
    """patch, update, copy, rewrite and delete; a generation that is gone is not found."""
    made = put(client, "a")
    path = f"{OBJECTS}/a"
    changed = client.request("PATCH", path, json={"contentType": "x/y", "metadata": {"k": "v", "w": "x"}}).json
    assert (changed["contentType"], changed["metageneration"]) == ("x/y", "2")
    assert client.request("PATCH", path, json={"metadata": {"k": None}}).json["metadata"] == {"w": "x"}
    assert client.request("PUT", path, json={"metadata": {"n": "m"}}).json["metadata"] == {"n": "m"}
    rewritten = client.request("POST", f"{path}/rewriteTo/b/other/o/c%2Fd", json={"contentType": "z/z"}).json
    assert (rewritten["done"], rewritten["resource"]["contentType"]) == (True, "z/z")
    assert client.request("POST", f"{path}/copyTo/b/other/o/e").json["name"] == "e"
    assert client.request("GET", rewritten["resource"]["mediaLink"]).body == DATA
    assert client.request("DELETE", f"{path}?generation=1").status == 404
    assert client.request("DELETE", f"{path}?generation={made['generation']}").status == 204
    assert client.request("DELETE", path).status == 404
    assert set(client.emulator.state()["files"]) == {"b/other/o/c/d", "b/other/o/e"}


def test_a_client_may_have_no_token(start_emulator: StartEmulator) -> None:
    """Google's storage clients send none to STORAGE_EMULATOR_HOST: a setting takes them as the service account."""
    client = start_emulator(anonymous=True)
    client.token = ""
    put(client, "a")
    assert client.emulator.state()["objects"][0]["account"] == client.emulator.service_account
    assert client.request("GET", OBJECTS, None, {"Authorization": "Bearer wrong"}).status == 401
    assert start_emulator().request("GET", OBJECTS, None, {"Authorization": ""}).status == 401


def drive_file(client: EmulatorClient, name: str, data: bytes | None = None, **more: Any) -> str:
    """A file in Drive, or a folder when there is no data; its id."""
    wanted = {"name": name, **more}
    if data is None:
        return str(
            client.request("POST", FILES, json={**wanted, "mimeType": "application/vnd.google-apps.folder"}).json["id"]
        )
    start = client.request("POST", f"/upload{FILES}?uploadType=resumable", json=wanted)
    return str(client.put(start.header("Location"), data).json["id"])


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("", ["it's", "b.zip", "releases"]),
        ("name = 'b.zip'", ["b.zip"]),
        ("  ", ["it's", "b.zip", "releases"]),
        (r"name='it\'s' and trashed=false", ["it's"]),
        ("trashed = true", []),
        ("not (name contains 'B' or mimeType = 'application/vnd.google-apps.folder')", ["it's"]),
        ("trashed=false and ('root' in parents) and (name='b.zip' or name = 'releases')", ["b.zip", "releases"]),
    ],
)
def test_drive_is_searched(client: EmulatorClient, query: str, found: list[str]) -> None:
    """files.list with the search language of its documents, the newest first, page by page."""
    folder = drive_file(client, "releases")
    drive_file(client, "b.zip", DATA)
    drive_file(client, "it's", DATA, parents=[folder])
    query = f"q={quote(query)}&fields=nextPageToken,files/name"
    whole = client.request("GET", f"{FILES}?{query}").json
    assert [one["name"] for one in whole["files"]] == found
    first = client.request("GET", f"{FILES}?{query}&pageSize=1").json
    assert ("nextPageToken" in first) == (len(found) > 1)
    if token := first.get("nextPageToken"):
        assert (
            client.request("GET", f"{FILES}?{query}&pageSize=1&pageToken={token}").json["files"] == whole["files"][1:2]
        )


def test_a_drive_file_is_read_moved_and_deleted(client: EmulatorClient) -> None:
    """Its bytes with `alt=media`, its parents with addParents and removeParents; a folder has no bytes."""
    folder, file = drive_file(client, "releases"), drive_file(client, "a", DATA)
    assert client.request("GET", f"{FILES}/{file}?alt=media", None, {"Range": "bytes=1-"}).body == DATA[1:]
    moved = f"{FILES}/{file}?addParents={folder}&removeParents=root&fields=parents,name,size"
    assert client.request("PATCH", moved, json={"name": "b"}).json == {"parents": [folder], "name": "b", "size": "1000"}
    assert client.request("GET", f"{FILES}/{folder}?alt=media").status == 403
    assert client.request("GET", f"{FILES}/root").json["name"] == "My Drive"
    assert client.request("GET", "/drive/v3/about?fields=user/me").json == {"user": {"me": True}}
    assert client.request("GET", "/drive/v3/about").status == 400
    assert client.request("DELETE", f"{FILES}/{file}").status == 204
    assert client.request("DELETE", f"{FILES}/{file}").status == 404


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
