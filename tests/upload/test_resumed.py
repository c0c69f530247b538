"""When an upload counts as one that an earlier run began."""

from __future__ import annotations

from collections.abc import Iterable

from tests.support.transfer_harness import Bench
from tests.support.transfer_harness import job as upload_of
from uploader.http.client import HttpClient, Timeouts
from uploader.http.headers import Headers
from uploader.http.messages import Block, Request, Response, TransportError

SESSION = "https://things.googleapis.com/upload/session?upload_id=1"


class UnreachableOnce(HttpClient):
    """A session is opened, and no connection comes about for its first bytes."""

    def __init__(self) -> None:
        super().__init__()
        self.answers: list[Response | TransportError] = [
            Response(200, Headers({"Location": SESSION})),
            TransportError("the connection was refused", False),
            Response(308),
            Response(200, body=b'{"id": "1"}'),
        ]

    def send(
        self, request: Request, blocks: Iterable[Block], token: str, timeouts: Timeouts
    ) -> Response:
        del request, token, timeouts
        answer = self.answers.pop(0)
        if isinstance(answer, TransportError):
            raise answer
        list(blocks)
        return answer


def test_a_session_of_this_run_is_not_resumed() -> None:
    """Asking for the offset before the first byte is sent does not make it an earlier run's."""
    bench = Bench(
        "https://things.googleapis.com",
        protocol="resumable",
        transport=UnreachableOnce(),
    )
    result = bench.send(upload_of(b"x" * 1000))
    assert not result.error
    assert result.attempts == 1
    assert result.resumed_from is None
