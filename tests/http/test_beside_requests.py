"""The transport beside plain requests, on the same raw bytes: the same verdict, or a difference
with its reason.
"""

from __future__ import annotations

import gzip
import socket
from pathlib import Path

import pytest
import requests
import urllib3

from tests.http.conftest import WAYS, Way
from tests.support.raw_server import Handler, read_request, response
from uploader.http.client import HttpClient, Timeouts
from uploader.http.messages import Request, Span, TransportError

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
SECONDS = 0.8
# the status and the body; None where there is no response
Verdict = tuple[int, bytes] | None

# What a server says to a whole request, before it closes the connection.
SAID: dict[str, bytes] = {
    "a length": OK + b"Content-Length: 2\r\n\r\n{}",
    "no length": OK + b"\r\n{}",
    "an old version": b"HTTP/1.0 200 OK\r\n\r\n{}",
    "no headers at all": b'{"id": "1"}',
    "no reason": b"HTTP/1.1 200\r\nContent-Length: 2\r\n\r\n{}",
    "line feeds alone": b"HTTP/1.1 200 OK\nContent-Length: 2\n\n{}",
    "no content": b"HTTP/1.1 204 No\r\n\r\n",
    "not modified": b"HTTP/1.1 304 No\r\nContent-Length: 5\r\n\r\n",
    "a redirect": b"HTTP/1.1 308 R\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n",
    "an error": response(503, b"busy", "Retry-After: 0"),
    "nothing": b"",
    "half a status line": b"HTTP/1.1 2",
    "half a head": OK + b"Content-Le",
    "a head without an end": OK + b"Content-Length: 2\r\n",
    "no number for a status": b"HTTP/1.1 OK\r\n\r\n",
    "a status of four digits": b"HTTP/1.1 2000 OK\r\n\r\n",
    "another protocol": b"SSH-2.0-x\r\n",
    "a header without a colon": OK + b"nonsense\r\nContent-Length: 2\r\n\r\n{}",
    "a folded header": OK + b"X-A: a\r\n b\r\nContent-Length: 2\r\n\r\n{}",
    "too many headers": OK + b"X-A: a\r\n" * 200 + b"Content-Length: 2\r\n\r\n{}",
    "a line that is too long": OK
    + b"X-A: "
    + b"a" * 70_000
    + b"\r\nContent-Length: 2\r\n\r\n{}",
    "more than its length": OK + b"Content-Length: 2\r\n\r\n{}" + response(500),
    "less than its length": OK + b"Content-Length: 9\r\n\r\n{}",
    "a length of letters": OK + b"Content-Length: two\r\n\r\n{}",
    "a negative length": OK + b"Content-Length: -2\r\n\r\n{}",
    "the same length twice": OK + b"Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
    "two lengths": OK + b"Content-Length: 2\r\nContent-Length: 1\r\n\r\n{}",
    "two lengths in a line": OK + b"Content-Length: 2, 1\r\n\r\n{}",
    "chunks": CHUNKED + b"1\r\n{\r\n1;a=b\r\n}\r\n0\r\nX-A: b\r\n\r\n",
    "chunks in capitals": OK
    + b"Transfer-Encoding: CHUNKED\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    "chunks that end early": CHUNKED + b"2\r\n{}\r\n",
    "a chunk that ends early": CHUNKED + b"9\r\n{}",
    "no end behind the last chunk": CHUNKED + b"2\r\n{}\r\n0\r\n",
    "a chunk of no number": CHUNKED + b"two\r\n{}\r\n0\r\n\r\n",
    "a chunk of size -1": CHUNKED + b"-1\r\n{}",
    "a chunk of size -5": CHUNKED + b"-5\r\n{}\r\n0\r\n\r\n",
    "chunks and a length": OK
    + b"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    "a coding behind chunks": OK
    + b"Transfer-Encoding: chunked, identity\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    "a coding before chunks": OK
    + b"Transfer-Encoding: gzip, chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    "a coding that nobody knows": OK + b"Transfer-Encoding: rot13\r\n\r\n{}",
    "gzip": response(200, gzip.compress(b"{}"), "Content-Encoding: gzip"),
    "gzip that is none": response(200, b"{}", "Content-Encoding: gzip"),
    "a cookie": response(200, b"{}", "Set-Cookie: a=b"),
    "100": b"HTTP/1.1 100 Continue\r\n\r\n" + response(200, b"{}"),
    "102": b"HTTP/1.1 102 Processing\r\n\r\n" + response(200, b"{}"),
    "103": b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + response(200, b"{}"),
    "101": b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n",
}
INTERIM = "nobody asks for an interim response, so none is a result; 100 alone is read over by both"
LENGTHS = (
    "where a response ends must not be open (RFC 9112, section 6.3): it could be cut, or hold the "
    "next one"
)
HEADS = (
    "a head that is cut, or that parsers read in different ways, is none (RFC 9112, sections 2.2, "
    "5.2 and 8)"
)
# Where the verdict is another one than that of requests, and why.
DIFFERENT = {
    "101": INTERIM,
    "102": INTERIM,
    "103": INTERIM,
    "no length": LENGTHS,
    "an old version": LENGTHS,
    "a length of letters": LENGTHS,
    "a negative length": LENGTHS,
    "half a head": HEADS,
    "a header without a colon": HEADS,
    "a folded header": HEADS,
    "chunks and a length": LENGTHS,
    "a coding behind chunks": LENGTHS,
    "a coding before chunks": LENGTHS,
    "a coding that nobody knows": LENGTHS,
    "gzip": "compression is never asked for, and what is compressed all the same is not unpacked: "
    "it could be a bomb",
    "gzip that is none": "it is not unpacked",
    "a chunk of size -5": "both refuse it; requests with a ValueError, as the buffer under it does",
}


@pytest.fixture(params=["tcp", "tls1.3", "tls1.3-proxy"])
def way(
    request: pytest.FixtureRequest, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> Way:
    """In clear, over TLS, and through a proxy."""
    return Way(certificate, monkeypatch, *WAYS[request.param])


def mine(url: str, size: int) -> Verdict:
    """What the transport makes of it."""
    request = Request("PUT", url, span=Span(0, size))
    try:
        got = HttpClient().send(
            request, [bytes(size)], "", Timeouts(SECONDS, SECONDS, SECONDS)
        )
    except TransportError:
        return None
    return got.status, got.body


def theirs(url: str, size: int) -> Verdict:
    """What requests makes of it. (Of its exceptions, which differ from case to case, any is a
    refusal.)
    """
    try:
        got = requests.put(
            url, data=bytes(size), timeout=SECONDS, allow_redirects=False
        )
    except requests.RequestException:
        return None
    return got.status_code, got.content


def compare(way: Way, serve: Handler, name: str) -> None:
    """Both on the same bytes."""
    with way.serving(serve) as url:
        one = mine(url, 1000)
        try:
            other: object = theirs(url, 1000)
        # not even what requests promises
        except (ValueError, urllib3.exceptions.HTTPError) as error:
            other = error
    assert (one == other) == (name not in DIFFERENT), f"{name}: {one} beside {other!r}"
    if "two lengths" in name or DIFFERENT.get(name) in (INTERIM, LENGTHS, HEADS):
        assert one is None


@pytest.mark.parametrize("name", SAID)
def test_the_verdict_is_that_of_requests(name: str, way: Way) -> None:
    """Heads, lengths, codings, chunks and truncations, behind a whole request."""

    def serve(connection: socket.socket) -> None:
        read_request(connection)
        connection.sendall(SAID[name])

    compare(way, serve, name)
