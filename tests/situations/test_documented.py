"""The documented protocols, sentence by sentence: what goes over the wire in each of them, as the server saw it."""

from __future__ import annotations

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
