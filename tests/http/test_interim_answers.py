"""Interim answers (1xx) on real sockets: read over wherever an answer is read, and never without end."""

from __future__ import annotations

import socket
import time
from itertools import repeat

import pytest

from tests.support.raw_server import read_head, read_request, response, serving
from uploader.auth.google import TokenRequest
from uploader.http.client import HttpClient, Timeouts
from uploader.http.messages import Body, Request, Response, Span, TransportError

CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
PROCESSING = b"HTTP/1.1 102 Processing\r\n\r\n"
HINTS = b"HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\nLink: </a.js>\r\n\r\n"
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
