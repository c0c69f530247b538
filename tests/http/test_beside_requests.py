"""The transport beside plain requests, on the same raw bytes: the same verdict, or a difference with its reason."""

from __future__ import annotations

import contextlib
import gzip
import socket
import ssl
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import requests
import urllib3

from tests.http.conftest import WAYS, Way
from tests.support.raw_server import Handler, read_head, read_request, response
from uploader.http.client import HttpClient, Timeouts
from uploader.http.messages import Body, Request, Span, TransportError

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
SECONDS = 0.8
Verdict = tuple[int, bytes] | None  # the status and the body; None where there is no response

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
    "a line that is too long": OK + b"X-A: " + b"a" * 70_000 + b"\r\nContent-Length: 2\r\n\r\n{}",
    "more than its length": OK + b"Content-Length: 2\r\n\r\n{}" + response(500),
    "less than its length": OK + b"Content-Length: 9\r\n\r\n{}",
    "a length of letters": OK + b"Content-Length: two\r\n\r\n{}",
    "a negative length": OK + b"Content-Length: -2\r\n\r\n{}",
    "the same length twice": OK + b"Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
    "two lengths": OK + b"Content-Length: 2\r\nContent-Length: 1\r\n\r\n{}",
    "two lengths in a line": OK + b"Content-Length: 2, 1\r\n\r\n{}",
    "chunks": CHUNKED + b"1\r\n{\r\n1;a=b\r\n}\r\n0\r\nX-A: b\r\n\r\n",
    "chunks in capitals": OK + b"Transfer-Encoding: CHUNKED\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    "chunks that end early": CHUNKED + b"2\r\n{}\r\n",
    "a chunk that ends early": CHUNKED + b"9\r\n{}",
    "no end behind the last chunk": CHUNKED + b"2\r\n{}\r\n0\r\n",
    "a chunk of no number": CHUNKED + b"two\r\n{}\r\n0\r\n\r\n",
    "a chunk of size -1": CHUNKED + b"-1\r\n{}",
    "a chunk of size -5": CHUNKED + b"-5\r\n{}\r\n0\r\n\r\n",
    "chunks and a length": OK + b"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    "a coding behind chunks": OK + b"Transfer-Encoding: chunked, identity\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    "a coding before chunks": OK + b"Transfer-Encoding: gzip, chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    "a coding that nobody knows": OK + b"Transfer-Encoding: rot13\r\n\r\n{}",
    "gzip": response(200, gzip.compress(b"{}"), "Content-Encoding: gzip"),
    "gzip that is none": response(200, b"{}", "Content-Encoding: gzip"),
    "a cookie": response(200, b"{}", "Set-Cookie: a=b"),
    "100": b"HTTP/1.1 100 Continue\r\n\r\n" + response(200, b"{}"),
    "102": b"HTTP/1.1 102 Processing\r\n\r\n" + response(200, b"{}"),
    "103": b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + response(200, b"{}"),
    "101": b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n",
}
INTERIM = "http.client knows 100 alone; here every interim response is read over, as RFC 9110, section 15.2, has it"
LENGTHS = "where a response ends must not be open (RFC 9112, section 6.3): it could be cut, or hold the next one"
# Where the verdict is another one than that of requests, and why.
DIFFERENT = {
    "101": INTERIM,
    "102": INTERIM,
    "103": INTERIM,
    "chunks and a length": LENGTHS,
    "a coding behind chunks": LENGTHS,
    "a coding before chunks": LENGTHS,
    "a coding that nobody knows": LENGTHS,
    "gzip": "compression is never asked for, and what is compressed all the same is not unpacked: it could be a bomb",
    "gzip that is none": "it is not unpacked",
    "a chunk of size -5": "both refuse it; requests with a ValueError, as the buffer under it does",
    "a drip": "requests waits for each byte anew, and the transport for the response as a whole",
    "early, and nothing more is read": "requests sends until the connection stalls, and never reads the response",
}


@pytest.fixture(params=["tcp", "tls1.3", "tls1.3-proxy"])
def way(request: pytest.FixtureRequest, certificate: Path, monkeypatch: pytest.MonkeyPatch) -> Way:
    """In clear, over TLS, and through a proxy."""
    return Way(certificate, monkeypatch, *WAYS[request.param])


def mine(url: str, size: int) -> Verdict:
    """What the transport makes of it."""
    request = Request("PUT", url, body=Body(span=Span(0, size)))
    try:
        got = HttpClient().send(request, [bytes(size)], "", Timeouts(SECONDS, SECONDS, SECONDS))
    except TransportError:
        return None
    return got.status, got.body


def theirs(url: str, size: int) -> Verdict:
    """What requests makes of it. (Of its exceptions, which differ from case to case, any is a refusal.)"""
    try:
        got = requests.put(url, data=bytes(size), timeout=SECONDS, allow_redirects=False)
    except requests.RequestException:
        return None
    return got.status_code, got.content


def compare(way: Way, serve: Handler, name: str, size: int = 1000) -> None:
    """Both on the same bytes."""
    with way.serving(serve) as url:
        one = mine(url, size)
        try:
            other: object = theirs(url, size)
        except (ValueError, urllib3.exceptions.HTTPError) as error:  # not even what requests promises
            other = error
    assert (one == other) == (name not in DIFFERENT), f"{name}: {one} beside {other!r}"
    if "two lengths" in name or DIFFERENT.get(name) == LENGTHS:
        assert one is None


@pytest.mark.parametrize("name", SAID)
def test_the_verdict_is_that_of_requests(name: str, way: Way) -> None:
    """Heads, lengths, codings, chunks and truncations, behind a whole request."""

    def serve(connection: socket.socket) -> None:
        read_request(connection)
        connection.sendall(SAID[name])

    compare(way, serve, name)


def in_pieces(connection: socket.socket) -> None:
    """The head and the body byte by byte, soon enough."""
    read_request(connection)
    for byte in SAID["chunks"]:
        connection.sendall(bytes([byte]))
        time.sleep(0.001)


def late(connection: socket.socket) -> None:
    """All of it, and too late."""
    read_request(connection)
    time.sleep(SECONDS * 1.5)
    connection.sendall(SAID["a length"])


def dripping(connection: socket.socket) -> None:
    """A byte before every timeout, for twice as long as that."""
    read_request(connection)
    connection.sendall(OK + b"Content-Length: 8\r\n\r\n")
    for _ in range(8):
        time.sleep(SECONDS / 4)
        connection.sendall(b"x")


def early(connection: socket.socket) -> None:
    """Before the body is read, which is read all the same."""
    length = len(read_head(connection)[1])
    connection.sendall(SAID["a length"])
    connection.settimeout(SECONDS)
    with contextlib.suppress(OSError):
        while length < EARLY and (part := connection.recv(1 << 20)):
            length += len(part)


def early_and_deaf(connection: socket.socket) -> None:
    """Before the body is read, which is left where it is."""
    read_head(connection)
    connection.sendall(SAID["a length"])
    time.sleep(SECONDS * 3)


EARLY = 32 << 20
COURSES: dict[str, Callable[[socket.socket], None]] = {
    "in pieces": in_pieces,
    "late": late,
    "a drip": dripping,
    "early": early,
    "early, and nothing more is read": early_and_deaf,
}


@pytest.mark.parametrize("name", COURSES)
def test_the_verdict_is_that_of_requests_in_time(name: str, way: Way) -> None:
    """What comes in pieces, too early, too late or never."""
    compare(way, COURSES[name], name, EARLY if "early" in name else 1000)


# What a proxy says: before it is asked for the tunnel, and then.
PROXIES = {
    "a tunnel": (b"", OK + b"\r\n"),
    "a refusal": (b"", response(403)),
    "a demand for a login": (b"", response(407)),
    "nothing": (b"", b""),
    "another status": (b"", b"HTTP/1.1 201 Created\r\n\r\n"),
    "an interim response": (b"", b"HTTP/1.1 102 Processing\r\n\r\n" + OK + b"\r\n"),
    "a response before it is asked": (response(200, b"forged"), OK + b"\r\n"),
    "a refusal before it is asked": (response(403, b"forged"), b""),
    "half a head": (b"", b"HTTP/1.1 200 Co"),
    "nonsense": (b"", b"\x00\xff\r\n\r\n"),
}


@pytest.mark.parametrize("name", PROXIES)
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_proxy_is_judged_as_by_requests(
    name: str, scheme: str, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever it says: the same response from inside the tunnel, or none; and never the proxy's own."""
    early, answer = PROXIES[name]
    way = replace(Way(certificate, monkeypatch, ssl.TLSVersion.TLSv1_3, scheme), early=early, answer=answer)

    def serve(connection: socket.socket) -> None:
        read_request(connection)
        connection.sendall(SAID["a length"])

    with way.serving(serve) as url:
        verdicts = {mine(url, 1000), theirs(url, 1000)}
    if "before" in name:  # by chance the tunnel may stand all the same
        assert verdicts <= {None, (200, b"{}")}
    else:
        assert verdicts == {(200, b"{}") if name == "a tunnel" else None}
