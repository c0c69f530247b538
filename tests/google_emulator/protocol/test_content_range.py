"""Resumable uploads in the dialect of uploadType, against the documents' sentences one by one."""

from __future__ import annotations

import gzip
import hashlib
import os

import pytest

from tests.google_emulator.conftest import StartEmulator
from tests.support.emulator_client import (
    GRANULE,
    STORAGE,
    EmulatorClient,
    raw_request,
    read_reply,
    wait_until,
)

DATA = os.urandom(2 * GRANULE + 1000)


def stored(client: EmulatorClient) -> list[tuple[int, str]]:
    return [(one["size"], one["sha256"]) for one in client.emulator.state()["objects"]]


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


GAP = (
    f"the upload offset is {GRANULE} byte(s), which exceeds already uploaded size of 0"
)
TOO_SMALL = "contained 1024 bytes, which does not meet this requirement."


@pytest.mark.parametrize(
    ("start", "end", "status", "words"),
    [
        (GRANULE, len(DATA), 503, [GAP]),
        (0, 1024, 400, [TOO_SMALL, "required to be equal or greater than 262144"]),
    ],
)
def test_a_gap_and_a_chunk_that_is_too_small_are_refused(
    client: EmulatorClient, start: int, end: int, status: int, words: list[str]
) -> None:
    """In Google's words, as plain text, and nothing is stored."""
    uri = client.start_session(size=len(DATA))
    reply = client.put(uri, DATA[start:end], f"bytes {start}-{end - 1}/{len(DATA)}")
    assert (reply.status, reply.header("Content-Type")) == (
        status,
        "text/plain; charset=utf-8",
    )
    assert all(word in reply.body.decode() for word in words)
    assert client.offset(uri, len(DATA)).header("Range") == ""
    assert client.put(uri, DATA).status == 200


def test_a_repeated_range_is_passed_over(client: EmulatorClient) -> None:
    """Bytes that are stored already are read and ignored, those behind them stored."""
    uri = client.start_session(size=len(DATA))
    client.put(uri, DATA[:GRANULE], f"bytes 0-{GRANULE - 1}/{len(DATA)}")
    assert client.put(uri, DATA, f"bytes 0-{len(DATA) - 1}/{len(DATA)}").status == 200
    assert stored(client) == [(len(DATA), sha256(DATA))]
    assert client.emulator.state()["sessions"][0]["bytes_repeated"] == GRANULE


def test_a_chunk_that_is_no_multiple_is_stored_down_to_one(
    client: EmulatorClient,
) -> None:
    """As Google recorded: of 300000 bytes 262144 are stored; the state tells what the client
    did.
    """
    uri = client.start_session()
    reply = client.put(uri, DATA[:300_000], "bytes 0-299999/*")
    assert (reply.status, reply.header("Range")) == (308, f"bytes=0-{GRANULE - 1}")
    again = client.put(uri, DATA[:300_000], "bytes 0-299999/*")
    assert (again.status, again.header("Range")) == (308, f"bytes=0-{GRANULE - 1}")
    assert (
        client.put(
            uri, DATA[GRANULE:], f"bytes {GRANULE}-{len(DATA) - 1}/{len(DATA)}"
        ).status
        == 200
    )
    assert stored(client) == [(len(DATA), sha256(DATA))]
    assert client.emulator.state()["sessions"][0]["uneven_chunks"] == 2


def test_a_308_has_the_digest_of_what_is_stored(client: EmulatorClient) -> None:
    """X-Range-MD5 is that of all stored bytes, in hexadecimal; without any byte it is missing."""
    uri = client.start_session(size=len(DATA))
    assert client.offset(uri, len(DATA)).header("X-Range-MD5") == ""
    reply = client.put(uri, DATA[:GRANULE], f"bytes 0-{GRANULE - 1}/{len(DATA)}")
    assert reply.header("X-Range-MD5") == hashlib.md5(DATA[:GRANULE]).hexdigest()


@pytest.mark.parametrize(
    "content_range",
    [
        "bytes 0-1",
        "0-9/10",
        "bytes 9-0/10",
        "bytes 0-9/5",
        "bytes 0-5/10",
        "bytes=0-9/10",
        "bytes a-b/10",
        "bytes 0-9/11",
        "bytes 11-*/10",
        "bytes *-9/10",
        "bytes 0-9999999999999999999/*",
    ],
)
def test_a_range_that_contradicts_itself_is_refused(
    client: EmulatorClient, content_range: str
) -> None:
    """Content-Range has to parse, and to agree with Content-Length and with the announced size of
    10.
    """
    assert (
        client.put(client.start_session(size=10), b"0123456789", content_range).status
        == 400
    )


@pytest.mark.parametrize("total", ["*", len(DATA)])
def test_a_range_may_leave_its_end_open(
    client: EmulatorClient, total: int | str
) -> None:
    """`bytes 0-*/*`, in chunked transfer coding, is the rest of the file, from wherever it
    begins.
    """
    uri = client.start_session()
    assert client.put(uri, DATA[:GRANULE], f"bytes 0-{GRANULE - 1}/*").status == 308
    headers = {
        "Content-Range": f"bytes {GRANULE}-*/{total}",
        "Authorization": f"Bearer {client.token}",
    }
    client.connection.request(
        "PUT", uri.removeprefix(client.emulator.url), iter([DATA[GRANULE:]]), headers
    )
    answer = client.connection.getresponse()
    answer.read()
    assert answer.status == 200
    assert stored(client) == [(len(DATA), sha256(DATA))]


def test_a_body_may_be_compressed_on_its_way(client: EmulatorClient) -> None:
    """Metadata and media with Content-Encoding gzip, as Google's Java client sends them, are what
    was compressed.
    """
    packed = {"Content-Encoding": "gzip", "Content-Type": "application/json"}
    start = client.request(
        "POST",
        f"{STORAGE}?uploadType=resumable",
        gzip.compress(b'{"name": "x"}'),
        packed,
    )
    data = gzip.compress(DATA[:1000]) + gzip.compress(DATA[1000:])
    done = client.request(
        "PUT", start.header("Location"), data, {"Content-Encoding": "gzip"}
    )
    assert (done.status, done.json["name"]) == (200, "x")
    assert stored(client) == [(len(DATA), sha256(DATA))]


@pytest.mark.parametrize(
    "body", [b"plain", gzip.compress(DATA)[:-20], gzip.compress(DATA) + b"behind"]
)
def test_a_body_that_is_not_what_its_encoding_says_is_refused(
    client: EmulatorClient, body: bytes
) -> None:
    """Content-Encoding gzip is believed, and checked."""
    path = f"{STORAGE}?uploadType=media&name=x"
    assert (
        client.request("POST", path, body, {"Content-Encoding": "gzip"}).status == 400
    )
    assert client.request("GET", "/storage/v1/b/bucket/o/x").status == 404


def test_a_cancelled_session_answers_499(client: EmulatorClient) -> None:
    """DELETE ends a session with 499; so is every later request, and nothing is stored."""
    uri = client.start_session(size=3)
    assert client.request("DELETE", uri).status == 499
    assert client.put(uri, b"abc").status == 499
    assert client.offset(uri, 3).status == 499
    assert stored(client) == []


def test_an_expired_session_is_404(start_emulator: StartEmulator) -> None:
    """A session lives as long as the service says."""
    client = start_emulator(session_lifetime=-1.0)
    assert client.put(client.start_session(size=3), b"abc").status == 404


def test_a_broken_connection_leaves_whole_granules(client: EmulatorClient) -> None:
    """What came before the break is kept in multiples of 256 KiB, as Google's servers do."""
    uri = client.start_session(size=len(DATA))
    broken = raw_request(
        client.emulator, "PUT", uri, client.token, f"Content-Length: {len(DATA)}"
    )
    broken.sendall(DATA[: GRANULE + 5000])
    wait_until(lambda: client.emulator.state()["sessions"][0]["requests"] == 1)
    broken.close()
    assert client.offset(uri, len(DATA)).header("Range") == f"bytes=0-{GRANULE - 1}"
    rest = client.put(
        uri, DATA[GRANULE:], f"bytes {GRANULE}-{len(DATA) - 1}/{len(DATA)}"
    )
    assert rest.status == 200
    assert stored(client) == [(len(DATA), sha256(DATA))]


def test_a_newer_request_supersedes_an_older_one(client: EmulatorClient) -> None:
    """A request that still hangs can't write any more once the client has come back on another
    connection.
    """
    uri = client.start_session(size=len(DATA))
    hanging = raw_request(
        client.emulator, "PUT", uri, client.token, f"Content-Length: {len(DATA)}"
    )
    hanging.sendall(b"\0" * GRANULE)
    wait_until(lambda: client.emulator.state()["sessions"][0]["requests"] == 1)
    assert client.offset(uri, len(DATA)).header("Range") == f"bytes=0-{GRANULE - 1}"
    hanging.sendall(b"\0" * (len(DATA) - GRANULE))
    assert read_reply(hanging).status == 503
    hanging.close()
    assert client.offset(uri, len(DATA)).header("Range") == f"bytes=0-{GRANULE - 1}"


def test_media_type_and_size_are_checked_at_the_start(client: EmulatorClient) -> None:
    """A type that the method does not take is a 400, a size above its limit a 413, before any byte
    is sent.
    """
    path = f"/upload{client.edit()}/listings/en-US/icon?uploadType=resumable"
    wrong_type = client.request(
        "POST", path, b"", {"X-Upload-Content-Type": "video/mp4"}
    )
    too_large = client.request(
        "POST",
        path,
        b"",
        {
            "X-Upload-Content-Type": "image/png",
            "X-Upload-Content-Length": str(16 << 20),
        },
    )
    assert (wrong_type.status, too_large.status) == (400, 413)


def test_the_uri_of_a_session_is_a_credential(client: EmulatorClient) -> None:
    """Without a token nobody starts a session, but whoever has its URI goes on with it; a wrong
    token is refused.
    """
    stranger = EmulatorClient(client.emulator, "")
    assert (
        stranger.request("POST", f"{STORAGE}?uploadType=resumable&name=x", b"").status
        == 401
    )
    uri = client.start_session(size=3)
    assert (
        stranger.request("PUT", uri, b"abc", {"Authorization": "Bearer wrong"}).status
        == 401
    )
    assert stranger.put(uri, b"abc").status == 200
    assert (
        client.emulator.state()["objects"][0]["account"]
        == client.emulator.service_account
    )
    stranger.close()
