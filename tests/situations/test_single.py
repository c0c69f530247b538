"""Situations of uploads in one request: what was sent when, and that a mail never goes twice."""

from __future__ import annotations

import os
from typing import Any

import pytest

from tests.support.scripted_transport import says, scripted
from tests.support.transfer_harness import GRANULE, Bench, data_of, emulated, fault, job
from uploader.errors import ApiError, OutcomeUnknown, ProtocolError

DATA = data_of(2 * GRANULE)
ONE_REQUEST = pytest.mark.parametrize("protocol", ["simple", "multipart"])


@ONE_REQUEST
@pytest.mark.parametrize(
    "trouble",
    [
        {"do": "answer-lost"},
        {"do": "status-after-effect", "status": 500},
        {"do": "reset", "after": "end"},
    ],
    ids=str,
)
def test_what_may_have_arrived_is_not_sent_twice(
    protocol: str, trouble: dict[str, Any]
) -> None:
    """The method has an effect and the answer is lost: exit code 4, one request, and words that say
    so.
    """
    with emulated({"on": protocol, **trouble}, protocol=protocol) as bench:
        result = bench.send(job(DATA))
        assert isinstance(result.failure, OutcomeUnknown)
        assert (
            result.failure.exit_code,
            bench.fired(),
            bench.count("upload"),
            bench.naps,
        ) == (
            4,
            [trouble["do"]],
            1,
            [],
        )
        assert "resumable" in result.error


@ONE_REQUEST
@pytest.mark.parametrize(
    "trouble", [{"do": "answer-lost"}, {"do": "status", "status": 503}], ids=str
)
def test_a_request_that_replaces_is_repeated(
    protocol: str, trouble: dict[str, Any]
) -> None:
    """Where the same request twice leaves one effect, it is tried again after a wait."""
    with emulated({"on": protocol, **trouble}, protocol=protocol) as bench:
        result = bench.send(job(DATA, idempotent=True))
        assert (result.error, bench.naps, result.attempts, bench.fired()) == (
            "",
            [1.0],
            2,
            [trouble["do"]],
        )
        assert bench.stored()[-1] == DATA


@ONE_REQUEST
@pytest.mark.parametrize("status", [408, 429])
def test_a_request_that_was_turned_away_is_repeated(protocol: str, status: int) -> None:
    """408 and 429 come before anything is carried out, so nothing happens twice."""
    with emulated(
        fault(protocol, "status", status=status, after="end"), protocol=protocol
    ) as bench:
        result = bench.send(job(DATA))
        assert (result.error, bench.stored(), bench.naps) == ("", [DATA], [1.0])


@ONE_REQUEST
def test_a_request_that_surely_was_not_received_is_repeated(protocol: str) -> None:
    """A connection that breaks while 24 MiB are on their way leaves a request that the server does
    not have.
    """
    data = os.urandom(24 << 20)
    with emulated(fault(protocol, "reset", after=GRANULE), protocol=protocol) as bench:
        result = bench.send(job(data))
        assert (result.error, bench.stored() == [data], bench.fired(), bench.naps) == (
            "",
            True,
            ["reset"],
            [1.0],
        )


def test_an_early_error_before_a_close_is_about_a_request_that_was_not_received() -> (
    None
):
    """The server answers 503 after the headers of 24 MiB and closes: it can't have the file."""
    refusal = says(503, b"{}", "Retry-After: 3")
    with scripted(
        lambda peer: peer.sendall(refusal), says(200, b'{"id": "1"}')
    ) as server:
        bench = Bench(server.url, protocol="simple")
        result = bench.send(job(bytes(24 << 20)))
    assert (result.error, len(server.requests)) == ("", 2)
    assert bench.naps in (
        [3.0],
        [1.0],
    )  # where the answer was read, or was lost in the close


@ONE_REQUEST
def test_an_early_error_of_a_server_that_reads_on_leaves_it_in_doubt(
    protocol: str,
) -> None:
    """The answer is read behind the body, when the server could have all of it."""
    with emulated(
        fault(protocol, "status", status=503, after=GRANULE), protocol=protocol
    ) as bench:
        result = bench.send(job(os.urandom(24 << 20)))
        assert isinstance(result.failure, OutcomeUnknown)
        assert (bench.fired(), bench.count("upload"), bench.naps) == (["status"], 1, [])


@ONE_REQUEST
def test_an_expired_token_is_renewed_once(protocol: str) -> None:
    """A 401 was turned away, so the request may be sent again with a fresh token."""
    with emulated(
        fault(protocol, "token-expired", after="end"), protocol=protocol
    ) as bench:
        result = bench.send(job(DATA))
        assert (result.error, bench.stored(), bench.login.renewals, bench.naps) == (
            "",
            [DATA],
            1,
            [],
        )


@ONE_REQUEST
@pytest.mark.parametrize("status", [400, 403, 404, 413])
def test_a_refusal_is_the_servers_word(protocol: str, status: int) -> None:
    """No repeat, and the service's own message."""
    with emulated(
        fault(protocol, "status", status=status, message="Too much."), protocol=protocol
    ) as bench:
        result = bench.send(job(DATA))
        assert isinstance(result.failure, ApiError)
        assert "Too much." in result.error
        assert bench.count("upload") == 1


@ONE_REQUEST
@pytest.mark.parametrize(
    "spoilt",
    [{"do": "html"}, {"do": "empty-body"}, {"do": "replace-body", "body": "{}"}],
)
def test_success_without_a_resource_is_a_lost_answer(
    protocol: str, spoilt: dict[str, str]
) -> None:
    """A page or nothing in place of the resource: sent again where that replaces, else nobody
    knows.
    """
    with emulated({"on": protocol, **spoilt}, protocol=protocol) as bench:
        assert isinstance(bench.send(job(DATA)).failure, OutcomeUnknown)
        assert bench.count("upload") == 1
    with emulated({"on": protocol, **spoilt}, protocol=protocol) as bench:
        assert (bench.send(job(DATA, idempotent=True)).error, bench.naps) == ("", [1.0])


def test_success_while_the_body_is_on_its_way_is_not_believed() -> None:
    """A 200 that comes before the file was sent can't be about the file."""
    with scripted(lambda peer: peer.sendall(says(200, b'{"id": "1"}'))) as server:
        result = Bench(server.url, protocol="simple").send(job(bytes(24 << 20)))
    assert isinstance(result.failure, ProtocolError)


WITHOUT_ID = [
    b"{}",
    b'{"id": ""}',
    b'{"id": null}',
    b'{"id": {"id": 1}}',
    b'{"kind": "drive#file"}',
]


@ONE_REQUEST
@pytest.mark.parametrize("body", WITHOUT_ID)
def test_a_success_without_the_promised_id_is_a_lost_answer(
    protocol: str, body: bytes
) -> None:
    """A single request leaves nothing to ask: exit 4 and no id, instead of success with an empty
    one.
    """
    with scripted(says(200, body)) as script:
        result = Bench(script.url, protocol=protocol).send(job(DATA, id_promised=True))
        assert isinstance(result.failure, OutcomeUnknown)
        assert not result.id
