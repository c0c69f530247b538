"""Uploads in the dialect of the X-Goog-Upload headers."""

from __future__ import annotations

import json
import os

import pytest

from tests.google_emulator.conftest import StartEmulator
from tests.support.emulator_client import GRANULE, EmulatorClient, Reply

DATA = os.urandom(2 * GRANULE + 10)
PACKAGE = json.dumps({"deployment": "d1", "package_title": "Title"}).encode()
OTA = "/upload/package"


def status(reply: Reply) -> tuple[int, str, str]:
    return (
        reply.status,
        reply.header("X-Goog-Upload-Status"),
        reply.header("X-Goog-Upload-Size-Received"),
    )


def ota_begin(client: EmulatorClient, size: int) -> Reply:
    headers = {
        "Content-Type": "application/json; charset=UTF-8",
        "X-Goog-Upload-Protocol": "resumable",
        "X-Goog-Upload-Command": "start",
        "X-Goog-Upload-Header-Content-Type": "application/zip",
        "X-Goog-Upload-Header-Content-Length": str(size),
    }
    return client.request("POST", OTA, PACKAGE, headers)


@pytest.mark.parametrize("error", ["", "No payload."])
def test_what_became_of_a_package_is_in_the_detailed_view(
    start_emulator: StartEmulator, error: str
) -> None:
    """Its size and the state of its upload, with an error where that failed; another view does not
    exist.
    """
    client = start_emulator(package_error=error)
    start = ota_begin(client, 4)
    client.goog(
        start.header("X-Goog-Upload-URL"), "upload, finalize", b"PK\3\4", Offset="0"
    )
    [listed] = client.request("GET", "/v1/deployments/d1/packages?view=DETAILED").json[
        "packages"
    ]
    state = (
        {"uploadState": "FAILURE", "uploadError": error}
        if error
        else {"uploadState": "SUCCESS"}
    )
    assert listed["details"] == {"sizeBytes": "4", **state}
    [listed] = client.request("GET", "/v1/deployments/d1/packages?view=BASIC").json[
        "packages"
    ]
    assert "details" not in listed
    assert client.request("GET", "/v1/deployments/d1/packages?view=FULL").status == 400


def test_a_refused_start_is_final(client: EmulatorClient) -> None:
    """A start that lacks a field has no session: status final, an error body."""
    reply = client.goog(
        OTA, "start", Protocol="resumable", Header_Content_Type="application/zip"
    )
    assert status(reply)[:2] == (400, "final")
    assert "deployment" in reply.message


def test_a_cancelled_session_is_over(client: EmulatorClient) -> None:
    """cancel: status cancelled, now and whenever it is asked; bytes are refused."""
    url = client.start_goog_session(size=3)
    assert status(client.goog(url, "cancel"))[:2] == (200, "cancelled")
    assert status(client.goog(url, "query"))[:2] == (200, "cancelled")
    assert status(client.goog(url, "upload, finalize", b"abc", Offset="0"))[:2] == (
        400,
        "cancelled",
    )
    assert client.emulator.state()["objects"] == []


@pytest.mark.parametrize(
    ("command", "data", "offset", "received"),
    [
        ("upload", DATA[:GRANULE], "", "0"),
        ("upload", DATA[:1000], "0", "0"),
        ("upload", b"", "0", "0"),
        ("upload, finalize", DATA[:1000], "0", "1000"),
        ("upload, finalize", DATA + b"x", "0", "0"),
        ("finalize", b"abc", "0", "0"),
        ("finalise", b"", "0", "0"),
    ],
)
def test_what_contradicts_the_session_is_refused(
    client: EmulatorClient, command: str, data: bytes, offset: str, received: str
) -> None:
    """Offset, granularity, announced size and commands are checked. The session stays active, and
    keeps bytes only if the file ends before the size that was announced.
    """
    url = client.start_goog_session(size=len(DATA))
    reply = client.goog(url, command, data, Offset=offset)
    assert (reply.status, reply.header("X-Goog-Upload-Status")) == (400, "active")
    assert status(client.goog(url, "query")) == (200, "active", received)
    assert client.emulator.state()["objects"] == []


@pytest.mark.parametrize("offset", ["5", str(GRANULE)])
def test_a_wrong_offset_is_a_conflict(client: EmulatorClient, offset: str) -> None:
    """An offset that is not the number of bytes stored is a 409; the session lives, and tells the
    true one.
    """
    url = client.start_goog_session(size=len(DATA))
    assert status(client.goog(url, "upload", DATA[:GRANULE], Offset=offset)) == (
        409,
        "active",
        "0",
    )
    assert client.goog(url, "upload, finalize", DATA, Offset="0").json["size"] == str(
        len(DATA)
    )


def test_the_upload_url_may_lack_its_scheme(start_emulator: StartEmulator) -> None:
    """The documents show X-Goog-Upload-URL without a scheme."""
    client = start_emulator(upload_url_scheme=False)
    assert client.start_goog_session().startswith("127.0.0.1:")
