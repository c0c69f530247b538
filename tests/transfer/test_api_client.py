"""The requests of a run: what a signal may not take away, and what is said of a token that is not
accepted.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterable

import pytest

from tests.support.transfer_harness import ITEMS, Bench
from uploader.errors import (
    CredentialsError,
    Interrupted,
    OutcomeUnknown,
    TemporaryError,
)
from uploader.http.client import HttpClient, Timeouts
from uploader.http.messages import Block, Request, Response, TransportError
from uploader.services.base import Call
from uploader.transfer.api_client import send_call

SEND = Call(
    "POST", ITEMS.root, "/things/v1/items:send", what="the mail", idempotent=False
)


class AnsweringTransport(HttpClient):
    """Answers every request with the next of `answers`; `before` is called while it is under
    way.
    """

    def __init__(
        self,
        *responses: Response | TransportError,
        before: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__()
        self.responses = list(responses)
        self.before: Callable[[], None] = before

    def send(
        self, request: Request, blocks: Iterable[Block], token: str, timeouts: Timeouts
    ) -> Response:
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
    """What was done is known although the run is told to stop: a commit or a mail must not be sent
    again.
    """
    bench = interrupted_bench(Response(200, body=b'{"id": "1"}'))
    assert send_call(SEND, bench.client, bench.reporter) == {"id": "1"}
    with pytest.raises(Interrupted):
        send_call(SEND, bench.client, bench.reporter)


def test_a_request_that_a_signal_breaks_is_an_interruption() -> None:
    """The connection is broken by the signal itself: nothing went wrong with the network."""
    bench = interrupted_bench(
        TransportError("the connection was closed", sent_whole=True)
    )
    with pytest.raises(Interrupted):
        send_call(SEND, bench.client, bench.reporter)


def test_a_token_that_is_not_accepted_is_told_and_named() -> None:
    """The log says that a call was sent again with a fresh token, and the error for what it was
    refused.
    """
    expired = Response(401, body=b'{"error": {"code": 401, "message": "Expired."}}')
    bench = Bench(
        "https://things.googleapis.com", transport=AnsweringTransport(expired, expired)
    )
    with pytest.raises(
        CredentialsError, match="did not accept the credentials for the mail"
    ):
        send_call(SEND, bench.client, bench.reporter)
    assert bench.login.renewals == 1
    assert bench.reporter.infos == [
        "The mail: The access token was rejected; trying again at once."
    ]


ODD: dict[str, bytes] = {
    "no body": b"",
    "blanks": b" \r\n",
    "a page": b"<html>Please log in</html>",
    "a list": b"[]",
    "a text": b'"yes"',
    "half an object": b'{"id": ',
    "another object": b'{"kind": "x"}',
    "no name": b'{"id": ""}',
    "null": b'{"id": null}',
}
READ = Call(
    "GET", ITEMS.root, "/things/v1/items", what="the list", promised=("id", "items")
)
TRUE = Response(200, body=b'{"id": "1"}')


@pytest.mark.parametrize("odd", ODD)
def test_an_odd_answer_is_a_broken_connection(odd: str) -> None:
    """It is asked again on the schedule, and nothing is concluded from it; to the end it is 75."""
    response = Response(200, body=ODD[odd])
    bench = Bench(
        "https://things.googleapis.com",
        transport=AnsweringTransport(response, response, TRUE),
    )
    assert send_call(READ, bench.client, bench.reporter) == {"id": "1"}
    assert bench.naps == [1.0, 2.0]
    bench = Bench(
        "https://things.googleapis.com",
        transport=AnsweringTransport(*[response] * 2),
        max_retries=1,
    )
    with pytest.raises(
        TemporaryError, match=r"the list.*the answer (is|lacks)"
    ) as caught:
        send_call(READ, bench.client, bench.reporter)
    assert caught.value.code == "unreadable-answer"
    assert "`api-endpoint`" in caught.value.hint


@pytest.mark.parametrize("odd", ["no body", "a page", "a list", "half an object"])
def test_an_odd_answer_to_what_must_not_be_repeated_is_a_lost_one(odd: str) -> None:
    """Nobody knows whether it took effect."""
    bench = Bench(
        "https://things.googleapis.com",
        transport=AnsweringTransport(Response(200, body=ODD[odd])),
    )
    with pytest.raises(
        OutcomeUnknown, match="whether the mail took effect: the answer is"
    ):
        send_call(SEND, bench.client, bench.reporter)


@pytest.mark.parametrize(
    ("body", "waits"), [(b"", 0), (b" ", 0), (b"{}", 0), (b"<html>", 1), (b"[]", 1)]
)
def test_a_body_may_be_empty_only_where_that_is_documented(
    body: bytes, waits: int
) -> None:
    """A deletion is answered without one; a page says nothing of it either."""
    answers = [Response(200, body=body), Response(204)]
    bench = Bench(
        "https://things.googleapis.com", transport=AnsweringTransport(*answers)
    )
    deletion = Call("DELETE", ITEMS.root, "/things/v1/items/1", may_be_empty=True)
    assert send_call(deletion, bench.client, bench.reporter) == {}
    assert len(bench.naps) == waits


@pytest.mark.parametrize(
    ("answers", "found", "waits"),
    [
        ([b"{}", b"{}"], {}, 0),
        ([b"{}", b'{"items": [1]}'], {"items": [1]}, 0),
        ([b"{}", b"", b'{"items": [1]}'], {"items": [1]}, 1),
        ([b"{}", b"[]", b"{}"], {}, 1),
        ([b'{"items": [1]}'], {"items": [1]}, 0),
    ],
)
def test_an_object_without_anything_is_believed_when_it_is_said_twice(
    answers: list[bytes], found: object, waits: int
) -> None:
    """A list without entries is {}, but so is much that others say."""
    transport = AnsweringTransport(*(Response(200, body=body) for body in answers))
    bench = Bench("https://things.googleapis.com", transport=transport)
    question = Call("GET", ITEMS.root, "/things/v1/items", ask_twice=True)
    assert send_call(question, bench.client, bench.reporter) == found
    assert (len(bench.naps), transport.responses) == (waits, [])
