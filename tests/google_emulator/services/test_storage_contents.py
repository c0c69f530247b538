"""Cloud Storage and Drive around an upload: what is there, its bytes, copies, deletion; what
strangers' clients ask.
"""

from __future__ import annotations

import base64
from typing import Any
from urllib.parse import quote

import google_crc32c
import pytest

from tests.google_emulator.conftest import StartEmulator
from tests.support.emulator_client import STORAGE, EmulatorClient

OBJECTS = "/storage/v1/b/bucket/o"
DATA = bytes(range(250)) * 4


def put(client: EmulatorClient, name: str, data: bytes = DATA, query: str = "") -> Any:
    """An object of this name."""
    path = f"{STORAGE}?uploadType=media&name={quote(name, safe='')}{query}"
    reply = client.request("POST", path, data, {"Content-Type": "text/plain"})
    assert reply.status == 200, reply.body
    return reply.json


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
def test_an_object_is_downloaded(
    client: EmulatorClient, asked: str, status: int, part: bytes
) -> None:
    """`alt=media`, on either path, whole or the range that is asked for, with the digests of the
    whole.
    """
    made = put(client, "d/a")
    for path in (made["selfLink"] + "?alt=media", made["mediaLink"]):
        reply = client.request("GET", path, None, {"Range": asked} if asked else {})
        assert (reply.status, reply.body) == (status, part)
        if status != 416:
            assert (
                reply.header("X-Goog-Hash")
                == f"crc32c={made['crc32c']},md5={made['md5Hash']}"
            )
            assert reply.header("Content-Type") == "text/plain"


def test_a_client_may_have_no_token(start_emulator: StartEmulator) -> None:
    """Google's storage clients send none to STORAGE_EMULATOR_HOST: a setting takes them as the
    service account.
    """
    client = start_emulator(anonymous=True)
    client.token = ""
    put(client, "a")
    assert (
        client.emulator.state()["objects"][0]["account"]
        == client.emulator.service_account
    )
    assert (
        client.request("GET", OBJECTS, None, {"Authorization": "Bearer wrong"}).status
        == 401
    )
    assert (
        start_emulator().request("GET", OBJECTS, None, {"Authorization": ""}).status
        == 401
    )


WRONG, TRUE = (
    "AAAAAA==",
    base64.b64encode(google_crc32c.value(DATA).to_bytes(4, "big")).decode(),
)


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
    client: EmulatorClient,
    metadata: dict[str, str],
    headers: dict[str, str],
    status: int,
) -> None:
    """A digest in the metadata, or in X-Goog-Hash beside the bytes, has to be that of the bytes."""
    uri = client.request(
        "POST", f"{STORAGE}?uploadType=resumable&name=x", json=metadata
    ).header("Location")
    reply = client.request("PUT", uri, DATA, headers)
    assert reply.status == status
    assert (client.request("GET", f"{OBJECTS}/x").status == 200) is (status == 200)
