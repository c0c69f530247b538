"""Downloads against scripted servers: what is asked for after a break, and every lie about lengths
and digests.
"""

from __future__ import annotations

import base64
import hashlib
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

import google_crc32c as crc32c
import pytest

from tests.support.scripted_transport import Script, says, scripted
from tests.support.transfer_harness import Bench, data_of, schedule
from uploader.errors import (
    ApiError,
    CredentialsError,
    IntegrityError,
    ProtocolError,
    TemporaryError,
)
from uploader.files.destination import Destination
from uploader.files.workspace import Workspace
from uploader.services.base import Context, Download, Downloaded, Outcome

DATA = data_of(300_000)
ETAG = '"one"'
CRC32C = base64.b64encode(crc32c.value(DATA).to_bytes(4, "big")).decode()
MD5 = base64.b64encode(hashlib.md5(DATA, usedforsecurity=False).digest()).decode()


def response(status: int, body: bytes, length: int, *headers: str) -> bytes:
    """An answer that says it has `length` bytes, whatever it has."""
    lines = [
        f"HTTP/1.1 {status} Text",
        f"Content-Length: {length}",
        "Connection: close",
        *headers,
    ]
    return "\r\n".join([*lines, "", ""]).encode() + body


def cut(at: int, *headers: str) -> bytes:
    """The whole file is promised, and its first bytes come."""
    return response(200, DATA[:at], len(DATA), *headers)


def rest(start: int, *headers: str, total: int | str = len(DATA)) -> bytes:
    """The file from an offset on."""
    return says(
        206,
        DATA[start:],
        f"Content-Range: bytes {start}-{len(DATA) - 1}/{total}",
        *headers,
    )


def passes(file: BinaryIO) -> str:
    """A check that finds nothing wrong."""
    assert file.read(1) == DATA[:1]
    return ""


def fetch(
    server: Script,
    folder: Path,
    check: Callable[[BinaryIO], str] = passes,
    *,
    max_size: int = 1_000_000,
    sha256: str = "",
    public: bool = False,
    bench: Bench | None = None,
) -> Downloaded:
    """One download into `folder/file.bin`."""
    found: list[Downloaded] = []

    def flow(context: Context) -> Outcome:
        destination = Destination(Workspace(folder), "universal-apk", "file.bin")
        step = Download(
            server.url,
            "/file?alt=media",
            destination,
            max_size,
            "the file",
            check,
            public=public,
            sha256=sha256,
        )
        found.append(context.download(step))
        return Outcome("done")

    (bench or Bench(server.url, stall=1.0)).engine.run(flow)
    return found[0]


def ranges(server: Script) -> list[str]:
    """What each request asked for, with its condition."""
    asked = (
        (one.headers.get("range", ""), one.headers.get("if-range", ""))
        for one in server.requests
    )
    return [" ".join(filter(None, each)) for each in asked]


def test_a_file_comes_whole(tmp_path: Path) -> None:
    """Its digest is computed while it comes, and nothing else is left beside it."""
    with scripted(says(200, DATA, f"x-goog-hash: crc32c={CRC32C},md5={MD5}")) as server:
        found = fetch(server, tmp_path)
    assert found == Downloaded("file.bin", hashlib.sha256(DATA).hexdigest(), len(DATA))
    assert [path.name for path in tmp_path.iterdir()] == ["file.bin"]
    assert (tmp_path / "file.bin").read_bytes() == DATA


@pytest.mark.parametrize(
    "etag", [f"ETag: {ETAG}", 'ETag: W/"weak"', "ETag: two words", "X-Nothing: 1"]
)
def test_what_came_is_kept_and_only_the_rest_is_asked_for(
    etag: str, tmp_path: Path
) -> None:
    """Under the condition that it is the same file, where the server has named a version of its
    bytes.
    """
    condition = f" {ETAG}" if ETAG in etag else ""
    bench: Bench
    with scripted(
        cut(100_000, etag),
        response(
            206,
            DATA[100_000:200_000],
            200_000,
            etag,
            "Content-Range: bytes 100000-299999/300000",
        ),
        rest(200_000, etag),
    ) as server:
        bench = Bench(server.url)
        fetch(server, tmp_path, bench=bench)
    assert ranges(server) == [
        "",
        f"bytes=100000-{condition}",
        f"bytes=200000-{condition}",
    ]
    assert bench.naps == [1.0, 1.0]  # progress gives the waits back
    assert (tmp_path / "file.bin").read_bytes() == DATA


@pytest.mark.parametrize(
    "second",
    [
        says(200, DATA),
        says(206, DATA[7:], "Content-Range: bytes 7-299999/300000"),
        says(206, DATA[100_000:], "Content-Range: bytes 100000-299999/300001"),
        says(206, DATA[100_000:]),
        says(206, DATA[100_000:], "Content-Range: bytes 100000-99/x"),
        says(
            206, DATA[100_000:] + b"more", "Content-Range: bytes 100000-299999/300000"
        ),
        says(
            206,
            DATA[100_000:],
            "Content-Range: bytes 100000-299999/300000",
            'ETag: "two"',
        ),
        says(416, b"", "Content-Range: bytes */5"),
    ],
    ids=[
        "whole",
        "another-start",
        "another-total",
        "no-range",
        "no-numbers",
        "too-much",
        "another-version",
        "not-satisfiable",
    ],
)
def test_an_answer_that_does_not_continue_begins_the_file_anew(
    second: bytes, tmp_path: Path
) -> None:
    """Bytes of two files are never joined."""
    with scripted(cut(100_000), second, says(200, DATA)) as server:
        fetch(server, tmp_path)
    assert ranges(server)[1] == "bytes=100000-"
    assert set(ranges(server)[2:]) <= {""}
    assert (tmp_path / "file.bin").read_bytes() == DATA


def test_a_5xx_in_the_middle_is_waited_for(tmp_path: Path) -> None:
    """The offset stays, and the waits follow the schedule."""
    with scripted(cut(65_536), says(503, b"busy"), says(500), rest(65_536)) as server:
        bench = Bench(server.url)
        fetch(server, tmp_path, bench=bench)
    assert ranges(server) == ["", *["bytes=65536-"] * 3]
    assert bench.naps == list(schedule(3))


def test_a_server_that_stalls_is_left_and_asked_for_the_rest(tmp_path: Path) -> None:
    """Without a byte for the stall limit the connection counts as broken, however long the whole
    may take.
    """

    def stalls(connection: socket.socket) -> None:
        connection.sendall(cut(131_072))
        connection.settimeout(20)
        connection.recv(1)  # until the client goes

    with scripted(stalls, rest(131_072)) as server:
        fetch(server, tmp_path)
    assert ranges(server) == ["", "bytes=131072-"]
    assert (tmp_path / "file.bin").read_bytes() == DATA


def drips(connection: socket.socket) -> None:
    """Sends the file a byte at a time, until the client goes."""
    connection.sendall(cut(0))
    with suppress(OSError):
        for place in range(len(DATA)):
            connection.sendall(DATA[place : place + 1])
            time.sleep(0.02)


@pytest.mark.slow
def test_a_server_that_drips_is_given_up(tmp_path: Path) -> None:
    """A byte now and then is neither a connection that lives nor progress."""
    with scripted(*[drips] * 4) as server:
        bench = Bench(server.url, stall=0.3, max_retries=2)
        with pytest.raises(TemporaryError, match="the answer came too slowly"):
            fetch(server, tmp_path, bench=bench)
    assert bench.naps == list(schedule(2))
    assert list(tmp_path.iterdir()) == []


def test_a_few_bytes_between_breaks_are_no_progress(tmp_path: Path) -> None:
    parts = [cut(100)]
    for start in range(100, 2000, 100):
        range_header = f"Content-Range: bytes {start}-{len(DATA) - 1}/{len(DATA)}"
        parts.append(
            response(206, DATA[start : start + 100], len(DATA) - start, range_header)
        )
    with scripted(*parts) as server:
        bench = Bench(server.url)
        with pytest.raises(TemporaryError):
            fetch(server, tmp_path, bench=bench)
    assert bench.naps == list(schedule(5))


def test_a_server_that_never_gets_further_ends_the_run(tmp_path: Path) -> None:
    """Beginning anew is no progress, so the retries are spent; nothing is left."""
    with scripted(*[cut(1000), says(416)] * 9) as server:
        bench = Bench(server.url)
        with pytest.raises(TemporaryError):
            fetch(server, tmp_path, bench=bench)
    assert bench.naps == list(schedule(5))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "length", ["Content-Length: 9999999999999", "Content-Length: 1000001"]
)
def test_a_length_beyond_the_limit_ends_the_run_at_once(
    length: str, tmp_path: Path
) -> None:
    """Not a byte of it is taken."""
    head = f"HTTP/1.1 200 OK\r\nConnection: close\r\n{length}\r\n\r\n".encode()
    with (
        scripted(head + DATA) as server,
        pytest.raises(ProtocolError, match=r"larger than"),
    ):
        fetch(server, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_body_beyond_the_limit_ends_the_run(tmp_path: Path) -> None:
    """A body that comes in chunks is counted while it comes."""
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    chunked = head + b"%x\r\n" % len(DATA) + DATA + b"\r\n0\r\n\r\n"
    with (
        scripted(chunked) as server,
        pytest.raises(ProtocolError, match=r"larger than"),
    ):
        fetch(server, tmp_path, max_size=299_999)
    assert list(tmp_path.iterdir()) == []


def test_a_broken_chunk_is_a_broken_connection(tmp_path: Path) -> None:
    """What came before it is kept, since the next answer has to continue it."""
    chunk = b"%x\r\n" % 70_000 + DATA[:70_000] + b"\r\n-5\r\n"
    broken = (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
        + chunk
    )
    with scripted(broken, says(200, DATA)) as server:
        fetch(server, tmp_path)
    assert ranges(server)[1].startswith("bytes=")
    assert (tmp_path / "file.bin").read_bytes() == DATA


def test_a_wrong_digest_ends_the_run(tmp_path: Path) -> None:
    """Whichever the server states, or the step knows."""
    other = "0" * 64
    for algorithm, digest in (
        ("md5", "AAAAAAAAAAAAAAAAAAAAAA=="),
        ("crc32c", "AAAAAA=="),
    ):
        stated = says(200, DATA, f"x-goog-hash: {algorithm}={digest}")
        with scripted(stated) as server, pytest.raises(IntegrityError, match=algorithm):
            fetch(server, tmp_path)
    with (
        scripted(says(200, DATA)) as server,
        pytest.raises(IntegrityError, match="sha256"),
    ):
        fetch(server, tmp_path, sha256=other)
    assert list(tmp_path.iterdir()) == []


def test_what_the_check_refuses_gets_no_name(tmp_path: Path) -> None:
    """And what stood there before stays."""

    def refuses(file: BinaryIO) -> str:
        raise IntegrityError(f"{len(file.read())} bytes are wrong")

    (tmp_path / "file.bin").write_bytes(b"before")
    with (
        scripted(says(200, DATA)) as server,
        pytest.raises(IntegrityError, match="300000"),
    ):
        fetch(server, tmp_path, refuses)
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [
        ("file.bin", b"before")
    ]


def test_the_token_goes_to_the_api_alone(tmp_path: Path) -> None:
    """A file that everybody may fetch is asked for without it."""
    with scripted(says(200, DATA), says(200, DATA)) as server:
        fetch(server, tmp_path)
        fetch(server, tmp_path, public=True)
    assert [one.headers.get("authorization", "")[:7] for one in server.requests] == [
        "Bearer ",
        "",
    ]


def test_a_401_is_answered_with_a_fresh_token_and_another_refusal_with_its_words(
    tmp_path: Path,
) -> None:
    """As for any call; a redirect is not followed."""
    with scripted(says(401), says(200, DATA)) as server:
        fetch(server, tmp_path)
    with scripted(says(401), says(401)) as server, pytest.raises(CredentialsError):
        fetch(server, tmp_path)
    with (
        scripted(says(403, b'{"error": {"message": "No."}}')) as server,
        pytest.raises(ApiError, match=r"No\."),
    ):
        fetch(server, tmp_path)
    with (
        scripted(says(302, b"", "Location: https://example.net/")) as server,
        pytest.raises(Exception, match="redirect"),
    ):
        fetch(server, tmp_path)
