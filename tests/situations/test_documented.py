"""The documented protocols, sentence by sentence: what goes over the wire in each of them, as the server saw it."""

from __future__ import annotations

import json

import pytest

from google_emulator import Emulator
from tests.support.scripted_transport import finished, says, scripted, started, stored
from tests.support.transfer_harness import DIALECTS, GRANULE, Bench, data_of, fault, job
from uploader.protocol.media import JSON_TYPE
from uploader.services.base import Dialect

DATA = data_of(2 * GRANULE + 500)
DONE = says(200, b'{"id": "1"}')
METHODS = pytest.mark.parametrize("method", ["POST", "PUT", "PATCH"])


@METHODS
def test_simple_is_one_request_with_the_file_as_its_body(method: str) -> None:
    """`uploadType=media`: the method, the media type, the length, the bytes."""
    with scripted(DONE) as server:
        result = Bench(server.url, protocol="simple").send(job(DATA, media_type="image/png", http_method=method))
    request = server.requests[0]
    assert (result.error, request.line) == ("", f"{method} /upload/things/v1/items?uploadType=media HTTP/1.1")
    assert (request.headers["content-type"], request.headers["content-length"]) == ("image/png", str(len(DATA)))
    assert request.body == DATA
    assert "transfer-encoding" not in request.headers


@METHODS
def test_multipart_is_metadata_then_media(method: str) -> None:
    """Exactly two parts in this order, each with its type; the length is that of the whole body."""
    with scripted(DONE) as server:
        bench = Bench(server.url, protocol="multipart")
        result = bench.send(job(DATA, metadata={"name": "a"}, media_type="image/png", http_method=method))
    request = server.requests[0]
    kind, _, boundary = request.headers["content-type"].partition("; boundary=")
    assert (result.error, kind) == ("", "multipart/related")
    assert request.line == f"{method} /upload/things/v1/items?uploadType=multipart HTTP/1.1"
    assert boundary.isalnum()
    assert request.headers["content-length"] == str(len(request.body))
    before, metadata, media, after = request.body.split(f"--{boundary}".encode())
    assert (before, after) == (b"", b"--\r\n")
    assert metadata == f'\r\nContent-Type: {JSON_TYPE}\r\n\r\n{{"name":"a"}}\r\n'.encode()
    assert media == b"\r\nContent-Type: image/png\r\n\r\n" + DATA + b"\r\n"


def test_two_multipart_requests_have_different_boundaries() -> None:
    """A boundary that could be foreseen could be put into a file."""
    with scripted(says(429), DONE) as server:
        assert Bench(server.url, protocol="multipart").send(job(DATA)).error == ""
    first, second = (request.headers["content-type"] for request in server.requests)
    assert first != second


def test_multipart_of_dialect_b_is_named_in_a_header() -> None:
    """`X-Goog-Upload-Protocol: multipart`; 200 without a body is success where the service says so."""
    with scripted(says(200)) as server:
        metadata = {"deployment": "id", "package_title": "title"}
        bench = Bench(server.url, protocol="multipart")
        result = bench.send(
            job(DATA, "goog-upload", metadata=metadata, media_type="application/zip", empty_response=True)
        )
    request = server.requests[0]
    assert (result.error, request.headers["x-goog-upload-protocol"]) == ("", "multipart")
    assert b'{"deployment":"id","package_title":"title"}\r\n' in request.body
    assert "uploadType" not in request.line


@pytest.mark.parametrize("protocol", ["simple", "multipart"])
@pytest.mark.parametrize("size", [0, 1, GRANULE, 3 * GRANULE + 7])
def test_one_request_is_stored_identical(protocol: str, size: int) -> None:
    """Every edge of a size, in one request, is stored as it was."""
    data = data_of(size)
    with Emulator() as emulator:
        bench = Bench(emulator, protocol=protocol)
        result = bench.send(job(data, metadata={"name": "x"} if protocol == "multipart" else None))
        assert (result.error, bench.stored(), bench.count(protocol)) == ("", [data], 1)


def test_a_file_that_holds_line_ends_and_dashes_is_stored_identical() -> None:
    """Nothing in a file can be taken for a boundary."""
    data = b"\r\n--\r\n--boundary--\r\n\r\n" * 100
    with Emulator() as emulator:
        bench = Bench(emulator, protocol="multipart")
        assert bench.send(job(data, metadata={"name": "x"})).error == ""
        assert bench.stored() == [data]


@METHODS
def test_dialect_a_starts_with_the_type_and_the_length(method: str) -> None:
    """The start: `uploadType=resumable`, the two X-Upload headers, the metadata as the body or nothing at all."""
    for metadata in (None, {"name": "x"}):
        with scripted(started("content-range"), finished("content-range")) as server:
            upload = job(DATA, metadata=metadata, media_type="image/png", http_method=method)
            assert Bench(server.url).send(upload).error == ""
        request = server.requests[0]
        assert request.line == f"{method} /upload/things/v1/items?uploadType=resumable HTTP/1.1"
        assert request.headers["x-upload-content-type"] == "image/png"
        assert request.headers["x-upload-content-length"] == str(len(DATA))
        assert request.headers.get("content-type") == (JSON_TYPE if metadata else None)
        assert request.body == (json.dumps(metadata, separators=(",", ":")).encode() if metadata else b"")
        assert request.headers["content-length"] == str(len(request.body))


def test_dialect_a_asks_with_an_empty_put() -> None:
    """After a 5xx: no body, `Content-Length: 0`, `bytes */total`; then the rest from byte 43."""
    a: Dialect = "content-range"
    with scripted(started(a), says(503), says(308, b"", "Range: 0-42"), finished(a)) as server:
        assert Bench(server.url).send(job(DATA)).error == ""
    question = server.requests[2]
    assert (question.method, question.body, question.headers["content-length"]) == ("PUT", b"", "0")
    assert question.headers["content-range"] == f"bytes */{len(DATA)}"
    assert server.lines()[3] == f"PUT bytes 43-{len(DATA) - 1}/{len(DATA)}"
    assert server.requests[3].body == DATA[43:]


def test_dialect_b_is_posts_with_commands() -> None:
    """start, upload, upload-and-finalize: every command a POST, the offset with every one that has bytes."""
    b: Dialect = "goog-upload"
    with scripted(started(b), stored(b, GRANULE), stored(b, 2 * GRANULE), finished(b)) as server:
        upload = job(DATA, b, metadata={"package_title": "t"}, media_type="application/zip")
        assert Bench(server.url, chunk=GRANULE).send(upload).error == ""
    assert server.lines() == ["POST start", "POST upload", "POST upload", "POST upload, finalize"]
    start = server.requests[0].headers
    assert start["x-goog-upload-protocol"] == "resumable"
    assert start["x-goog-upload-header-content-type"] == "application/zip"
    assert start["x-goog-upload-header-content-length"] == str(len(DATA))
    assert start["content-type"] == JSON_TYPE
    assert server.requests[0].body == b'{"package_title":"t"}'
    assert [one.headers["x-goog-upload-offset"] for one in server.requests[1:]] == ["0", str(GRANULE), str(2 * GRANULE)]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_token_goes_with_every_request_of_a_session(dialect: Dialect) -> None:
    """Start, bytes, question: each bears the token, as from Google's own clients."""
    with scripted(started(dialect), says(503), stored(dialect, 5), finished(dialect)) as server:
        assert Bench(server.url).send(job(DATA, dialect)).error == ""
    assert [request.headers["authorization"] for request in server.requests] == ["Bearer token-0"] * 4


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_documented_waits_have_their_milliseconds(dialect: Dialect) -> None:
    """2^n seconds plus up to a second, drawn anew each time."""
    with Emulator([fault("any", "status", status=500, times=3)]) as emulator:
        bench = Bench(emulator)
        draws = iter([0.0, 0.5, 0.999])
        bench.client.policy.clock.fraction = lambda: next(draws)
        assert bench.send(job(DATA, dialect)).error == ""
        assert bench.naps == [pytest.approx(1.0), pytest.approx(2.5), pytest.approx(4.999)]
