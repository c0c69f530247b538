"""The documented protocols, sentence by sentence: what goes over the wire in each of them, as the
server saw it.
"""

from __future__ import annotations

import pytest

from tests.support.scripted_transport import finished, says, scripted, started, stored
from tests.support.transfer_harness import (
    DIALECTS,
    GRANULE,
    Bench,
    data_of,
    emulated,
    fault,
    job,
)
from uploader.services.base import Dialect

DATA = data_of(2 * GRANULE + 500)
DONE = says(200, b'{"id": "1"}')


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
    with emulated(protocol=protocol) as bench:
        result = bench.send(
            job(data, metadata={"name": "x"} if protocol == "multipart" else None)
        )
        assert (result.error, bench.stored(), bench.count(protocol)) == ("", [data], 1)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_token_goes_with_every_request_of_a_session(dialect: Dialect) -> None:
    """Start, bytes, query: each bears the token, as from Google's own clients."""
    with scripted(
        started(dialect), says(503), stored(dialect, 5), finished(dialect)
    ) as server:
        assert Bench(server.url).send(job(DATA, dialect)).error == ""
    assert [request.headers["authorization"] for request in server.requests] == [
        "Bearer token-0"
    ] * 4


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_documented_waits_have_their_milliseconds(dialect: Dialect) -> None:
    """2^n seconds plus up to a second, drawn anew each time."""
    with emulated(fault("any", "status", status=500, times=3)) as bench:
        draws = iter([0.0, 0.5, 0.999])
        bench.client.policy.clock.fraction = lambda: next(draws)
        assert bench.send(job(DATA, dialect)).error == ""
        assert bench.naps == [
            pytest.approx(1.0),
            pytest.approx(2.5),
            pytest.approx(4.999),
        ]
