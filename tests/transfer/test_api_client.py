"""The requests of a run: what a signal may not take away, and what is said of a token that is not accepted."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterable

import pytest

from tests.support.transfer_harness import ITEMS, Bench
from uploader.errors import CredentialsError, Interrupted
from uploader.http.client import HttpClient, Timeouts
from uploader.http.messages import Block, Request, Response, TransportError
from uploader.services.base import Call
from uploader.transfer.api_client import call

SEND = Call("POST", ITEMS.root, "/things/v1/items:send", what="the mail", idempotent=False)


class AnsweringTransport(HttpClient):
    """Answers every request with the next of `answers`; `before` is called while it is under way."""

    def __init__(self, *responses: Response | TransportError, before: Callable[[], None] = lambda: None) -> None:
        super().__init__()
        self.responses = list(responses)
        self.before: Callable[[], None] = before

    def send(self, request: Request, blocks: Iterable[Block], token: str, timeouts: Timeouts) -> Response:
        del request, token, timeouts
        list(blocks)
        self.before()
        response = self.responses.pop(0)
        if isinstance(response, TransportError):
            raise response
        return response


def interrupted_bench(response: Response | TransportError) -> Bench:
    """A run that gets SIGTERM while a request is under way."""
    transport = AnsweringTransport(response)
    bench = Bench("https://things.googleapis.com", transport=transport)
    transport.before = lambda: bench.cancellation.cancel(signal.SIGTERM)
    return bench


def test_an_answer_that_came_survives_a_signal() -> None:
    """What was done is known although the run is told to stop: a commit or a mail must not be sent again."""
    bench = interrupted_bench(Response(200, body=b'{"id": "1"}'))
    assert call(SEND, bench.client, bench.reporter) == {"id": "1"}
    with pytest.raises(Interrupted):
        call(SEND, bench.client, bench.reporter)


def test_a_request_that_a_signal_breaks_is_an_interruption() -> None:
    """The connection is broken by the signal itself: nothing went wrong with the network."""
    bench = interrupted_bench(TransportError("the connection was closed", sent_whole=True))
    with pytest.raises(Interrupted):
        call(SEND, bench.client, bench.reporter)


def test_a_token_that_is_not_accepted_is_told_and_named() -> None:
    """The log says that a call was sent again with a fresh token, and the error for what it was refused."""
    expired = Response(401, body=b'{"error": {"code": 401, "message": "Expired."}}')
    bench = Bench("https://things.googleapis.com", transport=AnsweringTransport(expired, expired))
    with pytest.raises(CredentialsError, match="did not accept the credentials for the mail"):
        call(SEND, bench.client, bench.reporter)
    assert bench.login.renewals == 1
    assert bench.reporter.infos == ["The mail: The access token was rejected; trying again at once."]
