"""Generated APKs: when they are there, what is in them, and how their download answers to a Range."""

from __future__ import annotations

import hashlib

import pytest

from google_emulator.specimens.signature_writer import certificate
from tests.google_emulator.conftest import StartEmulator
from tests.support.emulator_client import EmulatorClient

APP = "com.example.app"
PATH = f"/androidpublisher/v3/applications/{APP}/generatedApks/42"


@pytest.fixture
def client(start_emulator: StartEmulator) -> EmulatorClient:
    """A client of an emulator on which version 42 of a bundle is live; its APKs take two looks and a minute."""
    client = start_emulator(generated_apks={APP: {"looks": 1, "seconds": 60, "signer": "Me", "keys": 2}})
    client.emulator.console.add_release(APP, "internal", {"versionCodes": ["42"]})
    return client


def ready(client: EmulatorClient) -> str:
    """The path of the download, once the APKs are there."""
    client.request("GET", PATH)
    client.emulator.clock.advance(60)
    entry = client.request("GET", PATH).json["generatedApks"][0]
    return f"{PATH}/downloads/{entry['generatedUniversalApk']['downloadId']}:download?alt=media"


def test_they_come_after_the_looks_and_the_time_that_were_scripted(client: EmulatorClient) -> None:
    """Until then there are none; then one for each key, the first of which signs."""
    assert client.request("GET", PATH).json == {}
    assert client.request("GET", PATH).json == {}
    client.emulator.clock.advance(60)
    found = client.request("GET", PATH).json["generatedApks"]
    assert len(found) == 2
    assert found[0]["certificateSha256Hash"] == hashlib.sha256(certificate("Me")).hexdigest()


def test_a_range_is_answered_while_the_file_is_the_same(client: EmulatorClient) -> None:
    """RFC 9110: 206 with the rest; the whole file where the condition fails; 416 beyond its end."""
    path = ready(client)
    whole = client.request("GET", path)
    etag, size = whole.header("ETag"), len(whole.body)
    assert whole.status == 200
    rest = client.request("GET", path, headers={"Range": "bytes=100-", "If-Range": etag})
    assert (rest.status, rest.body) == (206, whole.body[100:])
    assert rest.header("Content-Range") == f"bytes 100-{size - 1}/{size}"
    assert client.request("GET", path, headers={"Range": "bytes=100-", "If-Range": '"other"'}).status == 200
    beyond = client.request("GET", path, headers={"Range": f"bytes={size}-"})
    assert (beyond.status, beyond.header("Content-Range")) == (416, f"bytes */{size}")


def test_what_is_not_there_is_not_found(client: EmulatorClient) -> None:
    """A version, a download; without alt=media the method has nothing to say."""
    path = ready(client)
    assert client.request("GET", PATH.replace("42", "43")).status == 404
    assert client.request("GET", path.replace("universal", "other")).status == 404
    assert client.request("GET", path.partition("?")[0]).status == 400
