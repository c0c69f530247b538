"""Interim answers (1xx) on real sockets: read over wherever an answer is read, and never without end."""

from __future__ import annotations

import socket
import time
from itertools import repeat

import pytest

from tests.support.raw_server import Handler, read_head, read_request, response, serving
from uploader.auth.google import TokenRequest
from uploader.http.client import HttpClient, Timeouts
from uploader.http.messages import Body, Request, Response, Span, TransportError

CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
PROCESSING = b"HTTP/1.1 102 Processing\r\n\r\n"
HINTS = b"HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\nLink: </a.js>\r\n\r\n"
WITHOUT_WORDS = b"HTTP/1.1 199\n\n"
SEVERAL = [
    pytest.param(HINTS, id="hints"),
    pytest.param(CONTINUE + PROCESSING * 3 + HINTS, id="several"),
    pytest.param(WITHOUT_WORDS, id="bare"),
    pytest.param(PROCESSING * 99, id="many"),
]
SIZE = 24 << 20
BLOCK = 256 * 1024
QUICK = Timeouts(connect=5, stall=0.5, response=0.5)
PATIENT = Timeouts(stall=10, response=10)


def put(url: str, size: int = SIZE) -> Request:
    """A PUT of so many bytes."""
    return Request("PUT", url, body=Body(span=Span(0, size)))


def send(url: str, size: int = SIZE, timeouts: Timeouts = PATIENT) -> Response:
    """What comes of a PUT."""
    body = repeat(bytes(BLOCK), size // BLOCK) if size else iter(())
    return HttpClient().send(put(url, size), body, "", timeouts)


@pytest.mark.parametrize("interim", SEVERAL)
def test_interim_answers_before_the_answer_are_read_over(interim: bytes) -> None:
    """The answer behind them is the answer, and the connection serves the next request."""
    served = []

    def serve(connection: socket.socket) -> None:
        for _ in range(2):
            served.append(read_request(connection))
            connection.sendall(interim + response(200, b'{"id": "1"}', "X-Mine: yes"))

    with serving(serve) as url:
        client = HttpClient()
        for _ in range(2):
            got = client.send(put(url, 0), (), "", QUICK)
            assert (got.status, got.json(), got.headers.get("x-mine")) == (200, {"id": "1"}, "yes")
            assert got.headers.get("link") is None
    assert len(served) == 2


@pytest.mark.parametrize("step", [1, 3, 40])
def test_interim_answers_in_pieces_are_read_over(step: int) -> None:
    """Wherever the network cuts them, and however slowly they come."""
    said = HINTS + CONTINUE + response(200, b"{}")

    def serve(connection: socket.socket) -> None:
        read_request(connection)
        for start in range(0, len(said), step):
            connection.sendall(said[start : start + step])

    with serving(serve) as url:
        assert send(url, 0).body == b"{}"


def interrupting(*pieces: bytes, last: bytes) -> Handler:
    """A server that says these pieces while it takes the body, each after another MiB, and `last` at its end."""

    def serve(connection: socket.socket) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        _, body = read_head(connection)
        taken, said = len(body), list(pieces)
        while taken < SIZE:
            taken += len(connection.recv(1 << 20))
            while said and taken > (len(pieces) - len(said) + 1) << 20:
                connection.sendall(said.pop(0))
        connection.sendall(last)

    return serve


@pytest.mark.parametrize(
    "pieces",
    [
        pytest.param([HINTS], id="whole"),
        pytest.param([CONTINUE, PROCESSING, HINTS + HINTS], id="several"),
        pytest.param([HINTS[:4], HINTS[4:9], HINTS[9:30], HINTS[30:-1], HINTS[-1:]], id="in pieces"),
        pytest.param([HINTS + PROCESSING[:5], PROCESSING[5:] + CONTINUE[:-2]], id="cut at the end of the body"),
    ],
)
def test_an_interim_answer_does_not_stop_the_body(pieces: list[bytes]) -> None:
    """All bytes are sent, and the answer at the end counts; what was begun in the middle may end there."""
    rest = CONTINUE[-2:] if pieces[-1].endswith(b"Continue\r\n") else b""
    with serving(interrupting(*pieces, last=rest + response(200, b'{"id": "1"}'))) as url:
        got = send(url)
    assert (got.status, got.json(), got.sent_whole) == (200, {"id": "1"}, True)


def test_an_answer_behind_an_interim_one_stops_the_body() -> None:
    """Hints and then an error while 24 MiB are on their way: the error is read, the rest is not sent."""

    def serve(connection: socket.socket) -> None:
        read_head(connection)
        connection.sendall(HINTS)
        time.sleep(0.05)
        connection.sendall(response(503, b"busy"))
        time.sleep(0.2)

    with serving(serve) as url:
        got = send(url)
    assert (got.status, got.body, got.sent_whole) == (503, b"busy", False)


ENDLESS = [
    pytest.param(HINTS[:-2], b"Link: <x>\r\n", id="one without end"),
    pytest.param(b"", PROCESSING, id="many without end"),
    pytest.param(b"", b"HTTP/1.1 103 " + b"x" * 60_000 + b"\r\n\r\n", id="large ones without end"),
]


@pytest.mark.parametrize("size", [0, SIZE], ids=["after the request", "during the body"])
@pytest.mark.parametrize(("first", "again"), ENDLESS)
def test_interim_answers_without_end_are_no_answer(first: bytes, again: bytes, size: int) -> None:
    """Neither memory nor time is theirs: a broken connection within the limits."""

    def serve(connection: socket.socket) -> None:
        read_head(connection)
        connection.sendall(first)
        while True:
            connection.sendall(again)

    began = time.monotonic()
    with serving(serve) as url, pytest.raises(TransportError):
        send(url, size, Timeouts(connect=5, stall=5, response=5))
    assert time.monotonic() - began < 5


def drip(connection: socket.socket) -> None:
    """One after the other until the client has gone."""
    while True:
        connection.sendall(PROCESSING)
        time.sleep(0.05)


def test_hints_that_drip_are_no_progress_of_the_body() -> None:
    """A server that takes no more bytes is noticed after the stall limit, whatever it says meanwhile."""

    def serve(connection: socket.socket) -> None:
        read_head(connection)
        drip(connection)

    began = time.monotonic()
    with serving(serve) as url, pytest.raises(TransportError, match="no data was transferred"):
        send(url, 64 << 20, QUICK)
    assert time.monotonic() - began < 3


def test_interim_answers_take_nothing_from_the_time_limit() -> None:
    """`102 Processing` for ever is no answer: the limit is for all of it."""

    def serve(connection: socket.socket) -> None:
        read_request(connection)
        drip(connection)

    with serving(serve) as url, pytest.raises(TransportError, match="in time"):
        send(url, 0, QUICK)


def test_a_login_reads_over_them_too() -> None:
    """A token endpoint may give hints as well."""

    def serve(connection: socket.socket) -> None:
        read_request(connection)
        connection.sendall(CONTINUE + HINTS + response(200, b'{"access_token": "a"}'))

    with serving(serve) as url:
        got = TokenRequest(HttpClient(), on_secret=lambda _: None)(url, method="POST", body=b"grant_type=x")
    assert (got.status, got.data) == (200, b'{"access_token": "a"}')
