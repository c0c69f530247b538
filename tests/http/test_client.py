"""The transport on real sockets: what it does with servers that answer early, late, never, too much or in pieces."""

from __future__ import annotations

import os
import re
import resource
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.malformed import ENDLESS
from tests.support.raw_server import read_head, read_request, reset, serving
from tests.support.raw_server import response as answer
from uploader.auth.google import TokenRequest, Unavailable
from uploader.errors import CredentialsError, InputError, ProtocolError, ServiceError
from uploader.http.client import MAX_BODY, HttpClient, Timeouts
from uploader.http.messages import Body, Request, Response, Span, TransportError

QUICK = Timeouts(connect=5, stall=0.3, response=0.5)
BLOCK = 256 * 1024


def put(url: str, size: int = 0) -> Request:
    """A PUT of so many bytes."""
    return Request("PUT", url + "/session", (("Content-Range", "bytes 0-1/2"),), Body(span=Span(0, size)))


def blocks(size: int) -> Iterator[bytes]:
    """So many bytes in blocks."""
    for start in range(0, size, BLOCK):
        yield bytes(min(BLOCK, size - start))


@pytest.fixture
def transport() -> HttpClient:
    """A fresh transport."""
    return HttpClient()


def token_request() -> TokenRequest:
    """What a login sends its requests with."""
    return TokenRequest(HttpClient(), on_secret=lambda _: None)


def test_sends_headers_token_length_and_bytes(transport: HttpClient) -> None:
    """A request carries its own headers, the bearer token, the exact length and the bytes, and nothing is chunked."""
    seen: list[tuple[bytes, bytes]] = []

    def serve(connection: socket.socket) -> None:
        seen.append(read_request(connection))
        connection.sendall(answer(200, b'{"id": "1"}', "X-Two: b"))

    with serving(serve) as url:
        got = transport.send(put(url, 600_000), blocks(600_000), "token", Timeouts())
    head = seen[0][0].lower()
    assert (got.status, got.json(), got.headers.get("x-two"), got.sent_whole) == (200, {"id": "1"}, "b", True)
    assert b"authorization: bearer token" in head
    assert b"content-length: 600000" in head
    assert b"content-range: bytes 0-1/2" in head
    assert b"transfer-encoding" not in head
    assert len(seen[0][1]) == 600_000


def test_an_empty_body_says_length_zero(transport: HttpClient) -> None:
    """An offset query has `Content-Length: 0`, which the protocol demands."""
    heads: list[bytes] = []

    def serve(connection: socket.socket) -> None:
        heads.append(read_request(connection)[0])
        connection.sendall(answer(308))

    with serving(serve) as url:
        assert transport.send(put(url), (), "", Timeouts()).status == 308
    assert b"content-length: 0" in heads[0].lower()
    assert b"authorization" not in heads[0].lower()


@pytest.mark.threat(
    "server", "sends the token to another host", rule="no redirect is followed; a session on a foreign host is refused"
)
@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_no_redirect_is_followed(transport: HttpClient, status: int) -> None:
    """A Location header is handed back, not followed: the bearer token stays where it was sent."""
    count = []

    def serve(connection: socket.socket) -> None:
        count.append(read_request(connection))
        connection.sendall(answer(status, b"", "Location: http://127.0.0.1:9/elsewhere"))

    with serving(serve) as url:
        assert transport.send(put(url), (), "token", Timeouts()).status == status
    assert len(count) == 1


@pytest.mark.parametrize("secure", [False, True], ids=["http", "tls"])
def test_an_answer_during_the_body_stops_the_body(
    secure: bool, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An error that comes while 64 MiB are on their way is read, and the rest of the body is never sent."""
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(certificate))
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate)

    def serve(connection: socket.socket) -> None:
        _, body = read_head(connection)
        while len(body) < 3 * BLOCK:
            body += connection.recv(65536)
        connection.sendall(answer(503, b"busy", "Retry-After: 7"))
        time.sleep(0.2)  # a server that goes on reading nothing, as a front end does before it closes

    sent = 0

    def counting() -> Iterator[bytes]:
        nonlocal sent
        for block in blocks(64 << 20):
            sent += len(block)
            yield block

    with serving(serve, tls=context if secure else None) as url:
        got = HttpClient().send(put(url, 64 << 20), counting(), "", Timeouts(stall=10, response=10))
    assert (got.status, got.body, got.headers.get("retry-after"), got.sent_whole) == (503, b"busy", "7", False)
    assert sent < 32 << 20


@pytest.mark.parametrize("secure", [False, True], ids=["http", "tls"])
def test_an_interim_answer_during_the_body_does_not_stop_it(
    secure: bool, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hints and a "still processing" while 8 MiB are on their way: all of it is sent, and the answer counts."""
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(certificate))
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate)

    def serve(connection: socket.socket) -> None:
        _, body = read_head(connection)
        for piece in (b"HTTP/1.1 103 Early Hints\r\nLink: <", b"/a>\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n", b""):
            body += connection.recv(65536)
            connection.sendall(piece)
            time.sleep(0.02)
        taken = len(body)
        while taken < 8 << 20:
            taken += len(connection.recv(1 << 20))
        connection.sendall(answer(200, b'{"id": "1"}'))

    with serving(serve, tls=context if secure else None) as url:
        got = HttpClient().send(put(url, 8 << 20), blocks(8 << 20), "", Timeouts(stall=10, response=10))
    assert (got.status, got.json(), got.sent_whole) == (200, {"id": "1"}, True)


def test_a_connection_whose_body_was_cut_short_is_not_used_again(transport: HttpClient) -> None:
    """After an early answer the next request has a connection of its own, so that no old bytes can be taken for it."""
    heads: list[bytes] = []

    def serve(connection: socket.socket) -> None:
        heads.append(read_head(connection)[0])
        if len(heads) == 1:
            connection.sendall(answer(503))
            time.sleep(0.1)
        else:
            connection.sendall(answer(200, b"{}"))

    with serving(serve) as url:
        first = transport.send(put(url, 32 << 20), blocks(32 << 20), "", Timeouts(stall=5))
        second = transport.send(put(url), (), "", Timeouts())
    assert (first.status, first.sent_whole, second.status) == (503, False, 200)


def test_connections_are_kept_for_the_next_request(transport: HttpClient) -> None:
    """Two requests in a row travel over one connection."""
    connections: list[int] = []

    def serve(connection: socket.socket) -> None:
        connections.append(1)
        for _ in range(2):
            read_request(connection)
            connection.sendall(answer(200, b"{}"))

    with serving(serve) as url:
        for _ in range(2):
            transport.send(put(url, 10), [bytes(10)], "", Timeouts())
    assert len(connections) == 1


def test_what_is_unread_of_an_answer_is_not_read_as_the_next_one(transport: HttpClient) -> None:
    """What lies beyond the limit on an answer's body is no answer to the next request."""

    def serve(connection: socket.socket) -> None:
        read_request(connection)
        connection.sendall(answer(200, b"x" * 10 + answer(500) * 5000))
        read_request(connection)
        connection.sendall(answer(201, b"{}"))

    with serving(serve) as url:
        first = transport.send(put(url), (), "", Timeouts(max_size=10))
        second = transport.send(put(url), (), "", Timeouts(max_size=10))
    assert (first.status, first.body, second.status) == (200, b"x" * 10, 200)


def test_headers_that_come_in_parts_are_joined(transport: HttpClient) -> None:
    """A header on several lines, folded or repeated, is one (RFC 9112, section 5.2; RFC 9110, section 5.3)."""

    def serve(connection: socket.socket) -> None:
        read_request(connection)
        connection.sendall(answer(200, b"{}", "x-goog-hash: crc32c=a", "x-goog-hash: md5=b", "X-Folded: one\r\n  two"))

    with serving(serve) as url:
        headers = transport.send(put(url), (), "", Timeouts()).headers
    assert headers.get("x-goog-hash") == "crc32c=a, md5=b"
    assert (headers.get("x-folded") or "").split() == ["one", "two"]
    assert "\n" not in (headers.get("x-folded") or "")
    assert "\r" not in (headers.get("x-folded") or "")


@pytest.mark.parametrize(("name", "value"), [("X-Bad", "a\r\nHost: b"), ("X-Bad", "\u2603"), ("X Bad:", "a")])
def test_a_request_that_can_not_be_written_is_not_sent(transport: HttpClient, name: str, value: str) -> None:
    """What would end a header, or is no header, breaks off before the first byte."""
    heads: list[bytes] = []
    with serving(lambda connection: heads.append(connection.recv(1))) as url, pytest.raises(TransportError) as broke:
        transport.send(replace(put(url), headers=((name, value),)), (), "", Timeouts())
    assert (broke.value.sent_whole, heads) in ((False, []), (False, [b""]))


def test_a_reset_in_the_body_is_a_broken_connection_that_was_not_sent_whole(transport: HttpClient) -> None:
    """A reset while sending says so, and that the server can't have the whole request."""

    def serve(connection: socket.socket) -> None:
        read_head(connection)
        reset(connection)

    with serving(serve) as url, pytest.raises(TransportError) as broke:
        transport.send(put(url, 64 << 20), blocks(64 << 20), "", Timeouts(stall=5, response=5))
    assert broke.value.sent_whole is False


def test_a_lost_answer_is_a_broken_connection_that_was_sent_whole(transport: HttpClient) -> None:
    """When the connection ends after the last byte, the server may have everything, and the failure says so."""

    def serve(connection: socket.socket) -> None:
        read_request(connection)

    with serving(serve) as url, pytest.raises(TransportError) as broke:
        transport.send(put(url, 1000), [bytes(1000)], "", Timeouts())
    assert broke.value.sent_whole is True


def test_a_refused_connection_was_not_sent(transport: HttpClient) -> None:
    """Nothing listens: nothing was sent."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(TransportError, match="refused") as broke:
        transport.send(put(f"http://127.0.0.1:{port}", 10), [bytes(10)], "", QUICK)
    assert broke.value.sent_whole is False


def test_a_server_that_stops_reading_is_noticed(transport: HttpClient) -> None:
    """A write that blocks longer than the stall limit breaks the connection."""
    over = threading.Event()

    def serve(connection: socket.socket) -> None:
        read_head(connection)
        over.wait(5)

    began = time.monotonic()
    with serving(serve) as url, pytest.raises(TransportError, match="no data was transferred"):
        transport.send(put(url, 256 << 20), blocks(256 << 20), "", QUICK)
    over.set()
    assert time.monotonic() - began < 3


def test_a_slow_reader_is_no_stall(transport: HttpClient) -> None:
    """A server that reads slowly but steadily is waited for, well beyond the stall limit as a whole."""

    def serve(connection: socket.socket) -> None:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        _, body = read_head(connection)
        count = len(body)
        while count < 12 << 20:
            count += len(connection.recv(1 << 20))
            time.sleep(0.004)
        connection.sendall(answer(200, b"{}"))

    with serving(serve) as url:
        assert transport.send(put(url, 12 << 20), blocks(12 << 20), "", Timeouts(stall=0.3, response=5)).status == 200


@pytest.mark.threat("server", "an endless response fills the memory or blocks the run")
@pytest.mark.parametrize(
    "drip", [b"HTTP/1.1 200 OK\r\nX-Slow: ", b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n", b""]
)
def test_an_answer_that_drips_has_an_end(transport: HttpClient, drip: bytes) -> None:
    """A byte now and then, in the headers or in the body, does not hold the run beyond the limit for the answer."""

    def serve(connection: socket.socket) -> None:
        read_request(connection)
        connection.sendall(drip)
        for _ in range(30):
            time.sleep(0.05)
            connection.sendall(b"H" if not drip else b"x")

    began = time.monotonic()
    with serving(serve) as url, pytest.raises(TransportError, match="the answer did not arrive in time"):
        transport.send(put(url), (), "", QUICK)
    assert time.monotonic() - began < 1.3


def test_a_huge_answer_is_cut(transport: HttpClient) -> None:
    """No more than the cap is ever read, however much the server sends."""

    def serve(connection: socket.socket) -> None:
        read_request(connection)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n")
        for _ in range(200):
            connection.sendall(bytes(1 << 20))

    with serving(serve) as url:
        got = transport.send(put(url), (), "", Timeouts(response=10))
    assert len(got.body) == MAX_BODY
    assert got.json() is None


@pytest.mark.threat(
    "server",
    "an endless response fills the memory or blocks the run",
    rule="what is read from the socket for one response is limited in bytes and in time",
)
@pytest.mark.parametrize("name", ENDLESS)
@pytest.mark.parametrize("kind", ["call", "session", "login"])
def test_no_answer_is_read_without_end(name: str, kind: str) -> None:
    """However an answer is framed, little more than the cap is taken off the socket: 4 MiB, a login 1."""
    head, part = ENDLESS[name]
    sent = 0

    def serve(connection: socket.socket) -> None:
        nonlocal sent
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 65536)
        read_request(connection)
        connection.sendall(head)
        for _ in range((64 << 20) // len(part)):
            connection.sendall(part)
            sent += len(part)

    with serving(serve) as url:
        if kind == "login":
            with pytest.raises((Unavailable, ProtocolError)):
                token_request()(url, method="POST", body=b"grant_type=x")
        else:
            size = BLOCK if kind == "session" else 0
            try:
                got = HttpClient().send(put(url, size), blocks(size), "", Timeouts(response=20))
                assert len(got.body) == MAX_BODY
            except TransportError as broke:
                assert broke.sent_whole  # noqa: PT017  # both ends are right
    assert sent < ((1 if kind == "login" else 4) << 20) + (8 << 20)  # what the sockets' own buffers hold, as well


@pytest.mark.parametrize("lengths", ["3\r\nContent-Length: 4", "3, 4"], ids=["two lines", "one line"])
def test_an_answer_of_two_lengths_is_none(transport: HttpClient, lengths: str) -> None:
    """Lengths that contradict each other leave open where the answer ends (RFC 9112, section 6.3)."""

    def serve(connection: socket.socket) -> None:
        read_request(connection)
        connection.sendall(f"HTTP/1.1 200 OK\r\nContent-Length: {lengths}\r\n\r\n{{}}  ".encode())

    with serving(serve) as url, pytest.raises(TransportError):
        transport.send(put(url), (), "", QUICK)


@pytest.mark.parametrize("size", [b"-1", b"-5", b"-ffff"])
def test_an_answer_with_a_negative_chunk_is_none(transport: HttpClient, size: bytes) -> None:
    """A chunk of negative size, which http.client reads to the end of the connection, does not become a resource."""

    def serve(connection: socket.socket) -> None:
        read_request(connection)
        connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + size + b'\r\n{"id": "1"}')

    with serving(serve) as url, pytest.raises(TransportError):
        transport.send(put(url), (), "", QUICK)


@pytest.fixture
def many_open_files() -> Iterator[None]:
    """So many open descriptors that every further one has a number beyond 1024."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, hard), hard))
    opened = [os.open(os.devnull, os.O_RDONLY) for _ in range(1100)]
    yield
    for descriptor in opened:
        os.close(descriptor)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.usefixtures("many_open_files")
def test_a_body_is_sent_on_a_high_descriptor(transport: HttpClient) -> None:
    """A process with more than a thousand open files sends like any other: `select` knows no such number."""

    def serve(connection: socket.socket) -> None:
        assert connection.fileno() > 1024
        assert len(read_request(connection)[1]) == 3 * BLOCK
        connection.sendall(answer(200, b"{}"))

    with serving(serve) as url:
        assert transport.send(put(url, 3 * BLOCK), blocks(3 * BLOCK), "", Timeouts(stall=5)).status == 200


@pytest.mark.parametrize(
    "nonsense",
    [
        b"\x00\xff\r\n\r\n",
        b"SSH-2.0-x\r\n",
        b"HTTP/1.1 abc\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n{}",
    ],
)
def test_nonsense_is_a_broken_connection_or_no_json(transport: HttpClient, nonsense: bytes) -> None:
    """What is no HTTP never becomes a success with a resource, nor an exception of another kind."""

    def serve(connection: socket.socket) -> None:
        read_request(connection)
        connection.sendall(nonsense)

    with serving(serve) as url:
        try:
            got: Response | None = transport.send(put(url), (), "", QUICK)
        except TransportError:
            got = None
    assert got is None or not got.json()


def test_a_server_that_never_shakes_hands_is_given_up(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever takes the connection and then says half of a TLS record has as long as a connection may take."""
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(certificate))

    def serve(connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(b"\x16\x03\x03\x01\x00half")
        connection.recv(1)

    began = time.monotonic()
    with serving(serve) as url, pytest.raises(TransportError, match="time limit"):
        HttpClient().send(put(url.replace("http:", "https:")), (), "", Timeouts(connect=0.3, stall=9, response=9))
    assert time.monotonic() - began < 2


def test_an_answer_whose_tls_ends_too_early_is_none(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The end of the connection in the middle of a body is no end of the body, with or without TLS's own goodbye."""
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(certificate))
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate)

    def serve(connection: socket.socket) -> None:
        read_request(connection)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{}")

    with serving(serve, tls=context) as url, pytest.raises(TransportError, match="complete answer"):
        HttpClient().send(put(url), (), "", QUICK)


@pytest.mark.threat(
    "server",
    "reads or changes data in transit",
    rule="https with certifi's certificates, or those that the job names; http on loopback only; no `.netrc`",
)
def test_an_untrusted_certificate_is_refused_at_once(certificate: Path) -> None:
    """A certificate that the system does not know is no reason to try again, and the remedy is named."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate)
    with serving(lambda _: None, tls=context) as url, pytest.raises(ServiceError, match="REQUESTS_CA_BUNDLE"):
        HttpClient().send(put(url), (), "", QUICK)


@pytest.mark.parametrize("content", [None, "no certificate\n"], ids=["missing", "damaged"])
def test_a_useless_file_of_authorities_is_an_input_that_is_wrong(
    content: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file of certificates that can't be read is named at once: no retry makes it readable."""
    path = tmp_path / "authorities.pem"
    if content:
        path.write_text(content)
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(path))
    with pytest.raises(InputError, match=r"REQUESTS_CA_BUNDLE.*authorities\.pem"), serving(reset) as url:
        HttpClient().send(put(url.replace("http:", "https:")), (), "", QUICK)


def test_the_file_of_authorities_may_be_below_the_home_directory(
    certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No shell replaces the `~` of a variable that is set in YAML."""
    monkeypatch.setenv("HOME", str(certificate.parent))
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", f"~/{certificate.name}")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate)

    def serve(connection: socket.socket) -> None:
        read_request(connection)
        connection.sendall(answer(200, b"{}"))

    with serving(serve, tls=context) as url:
        assert HttpClient().send(put(url), (), "", QUICK).status == 200


def test_a_trusted_certificate_serves_no_other_host(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A certificate from a trusted authority that names another host is refused like any other."""
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(certificate))
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate)
    with serving(lambda _: None, tls=context) as url, pytest.raises(ServiceError, match="not trusted"):
        HttpClient().send(put(url.replace("localhost", "127.0.0.1")), (), "", QUICK)


def test_a_client_certificate_is_shown_to_its_own_server_only(
    certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A login with a certificate of its own leaves nothing behind in what later connections share."""
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(certificate))
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(certificate))
    context.load_cert_chain(certificate)
    context.verify_mode = ssl.CERT_OPTIONAL
    shown: list[bool] = []

    def serve(connection: socket.socket) -> None:
        read_request(connection)
        assert isinstance(connection, ssl.SSLSocket)
        shown.append(bool(connection.getpeercert()))
        connection.sendall(answer(200, b"{}", "Connection: close"))

    with serving(serve, tls=context) as url:
        client = HttpClient()
        for mine in (None, (str(certificate), str(certificate)), None):
            assert client.send(replace(put(url), client_certificate=mine), (), "", QUICK).status == 200
    assert shown == [False, True, False]


@pytest.mark.threat("server", "reads or changes data in transit")
def test_a_netrc_does_not_replace_the_token(
    transport: HttpClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A .netrc for the host, which requests would prefer, changes nothing."""
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login mallory password secret\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    heads: list[bytes] = []

    def serve(connection: socket.socket) -> None:
        heads.append(read_request(connection)[0])
        connection.sendall(answer(200, b"{}"))

    with serving(serve) as url:
        transport.send(put(url), (), "token", Timeouts())
    assert b"Authorization: Bearer token" in heads[0]
    assert b"Basic" not in heads[0]


def test_abort_breaks_a_request_at_once(transport: HttpClient) -> None:
    """From another thread, abort ends a request that waits for its answer."""

    def serve(connection: socket.socket) -> None:
        read_request(connection)
        transport.abort()
        connection.recv(1)

    began = time.monotonic()
    with serving(serve) as url, pytest.raises(TransportError):
        transport.send(put(url), (), "", Timeouts())
    assert time.monotonic() - began < 5


def test_nothing_is_sent_after_an_abort(transport: HttpClient) -> None:
    """A request that was about to begin when the run was asked to end ends before its first byte."""
    heads: list[bytes] = []
    transport.abort()
    with serving(lambda connection: heads.append(connection.recv(1))) as url, pytest.raises(TransportError):
        transport.send(put(url), (), "token", Timeouts())
    assert heads in ([], [b""])


PROXIES = ("http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY")


@pytest.fixture
def proxy(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[bytes]]:
    """Every kind of proxy in the environment; the first line and the headers of what it is asked."""
    heads: list[bytes] = []

    def serve(connection: socket.socket) -> None:
        heads.append(read_head(connection)[0])
        connection.sendall(answer(403))

    with serving(serve) as url:
        for name in PROXIES:
            monkeypatch.setenv(name, url)
        for name in ("no_proxy", "NO_PROXY"):
            monkeypatch.delenv(name, raising=False)
        yield heads


@pytest.mark.parametrize("host", ["upload.example", "www.googleapis.com", "oauth2.googleapis.com:443"])
def test_a_proxy_learns_the_host_alone(transport: HttpClient, proxy: list[bytes], host: str) -> None:
    """What goes to a proxy is a tunnel: neither the path, which may be a session's, nor the token is told to it."""
    with pytest.raises(TransportError, match="proxy"):
        transport.send(put(f"https://{host}", 10), [bytes(10)], "the-token", QUICK)
    assert [head.split(b"\r\n")[0].split()[0] for head in proxy] == [b"CONNECT"]
    assert b"the-token" not in proxy[0]
    assert b"session" not in proxy[0]


@pytest.mark.parametrize("secure", [False, True], ids=["http", "tls"])
@pytest.mark.parametrize("name", ["localhost", "127.0.0.1", "127.0.0.2"])
def test_this_machine_is_reached_past_every_proxy(
    secure: bool, name: str, proxy: list[bytes], certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A token for a loopback address stays on this machine, whatever proxies are configured."""
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(certificate))
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate)
    heads: list[bytes] = []

    def serve(connection: socket.socket) -> None:
        heads.append(read_request(connection)[0])
        connection.sendall(answer(200, b"{}"))

    with serving(serve, tls=context if secure else None) as url:
        with suppress(ServiceError, TransportError):  # the certificate is localhost's, and 127.0.0.2 may not listen
            HttpClient().send(put(re.sub(r"//[^:]+", f"//{name}", url)), (), "the-token", QUICK)
        if name == "localhost":
            assert b"the-token" in heads[0]
    assert proxy == []


MALFORMED = ["http://[bad", "http://127.0.0.1:99999", "127.0.0.1:port", "::::", " http://127.0.0.1:1", "socks5://a:1"]


@pytest.mark.parametrize("named", MALFORMED)
def test_a_malformed_url_of_a_proxy_is_named(
    transport: HttpClient, named: str, proxy: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is no URL of a proxy that can be used is told as such, with the variable that it comes from."""
    monkeypatch.setenv("https_proxy", named)
    with pytest.raises(TransportError, match=r"\(from https_proxy\) is malformed") as broke:
        transport.send(put("https://upload.example"), (), "", QUICK)
    assert broke.value.code == "proxy-unreachable"
    assert proxy == []


def test_nothing_in_clear_goes_to_a_proxy(transport: HttpClient, proxy: list[bytes]) -> None:
    """A metadata server is asked directly or not at all: its answer is a token."""
    with pytest.raises(TransportError):
        transport.send(put("http://metadata.google.internal.invalid"), (), "", QUICK)
    assert proxy == []


def test_a_client_certificate_that_is_missing_is_named(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A login that names a file which is not there fails at once, and not as a broken connection."""
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(certificate))
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate)
    gone = str(certificate.with_name("gone.pem"))
    with serving(lambda _: None, tls=context) as url, pytest.raises(CredentialsError, match="client certificate"):
        token_request()(url, method="POST", body=b"grant_type=x", cert=(gone, gone))


@pytest.mark.parametrize("drip", [b"HTTP/1.1 200 OK\r\nX-Slow: ", b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"])
def test_a_token_endpoint_that_drips_has_an_end_too(drip: bytes) -> None:
    """The login's requests stand on the same connections: their answers are limited in time as a whole."""

    def serve(connection: socket.socket) -> None:
        read_request(connection)
        connection.sendall(drip)
        for _ in range(60):
            time.sleep(0.05)
            connection.sendall(b"x")

    began = time.monotonic()
    with serving(serve) as url, pytest.raises(Unavailable):
        token_request()(url, method="POST", body=b"grant_type=x", timeout=0.5)
    assert time.monotonic() - began < 1.5
