"""The engine: what stands in a result."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.transfer_harness import Bench, in_memory
from tests.support.transfer_harness import job as upload_of
from tests.transfer.test_api_client import AnsweringTransport
from uploader.http.messages import Response

CONFLICT = Response(
    409, body=b'{"error": {"code": 409, "message": "Busy.", "errors": [{"reason": "conflict"}]}}'
)
STORED = Response(200, body=b'{"id": "1"}')


@pytest.mark.parametrize("max_retries", [1, 5])
def test_the_waits_for_a_conflict_are_in_the_result(max_retries: int) -> None:
    """An upload that starts over after a conflict was retried, whether it ends well or not."""
    transport = AnsweringTransport(CONFLICT, CONFLICT, STORED)
    bench = Bench(
        "https://things.googleapis.com",
        protocol="simple",
        max_retries=max_retries,
        transport=transport,
    )
    job = replace(upload_of(in_memory(b"x")), retry_on=lambda _: "It is being updated.")
    result = bench.send(job)
    assert (result.retries, bool(result.error)) == ((2, False) if max_retries == 5 else (1, True))
