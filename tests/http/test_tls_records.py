"""TLS whose records are in a test's hands: in which pieces they come, what they hold, and how they end."""

from __future__ import annotations

import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from itertools import repeat
from pathlib import Path
from typing import Any

import pytest

from tests.support.raw_server import response, serving
from uploader.errors import ServiceError
from uploader.http.client import HttpClient, Timeouts
from uploader.http.messages import Body, Request, Response, Span, TransportError

PATIENT = Timeouts(connect=5, stall=5, response=5)
SOON = 2.0  # seconds; less than any of the limits
LARGE = 32 << 20  # bytes; more than what waits on a connection that nobody reads
BLOCK = 256 * 1024


class Peer:
    """The server's side of TLS on a connection; what it sends leaves only when a test says so."""

    def __init__(self, connection: socket.socket, context: ssl.SSLContext) -> None:
        self.connection = connection
        self._in, self._out = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._in, self._out, server_side=True)

    def shake_hands(self, beside: bytes = b"") -> bytes:
        """Sends `beside` together with the server's part of the handshake; gives the session tickets, not sent yet."""
        self._await(self._tls.do_handshake, beside)
        return self._out.read()

    def read_head(self) -> bytes:
        """All bytes up to the end of a request's head."""
        data = b""
        while b"\r\n\r\n" not in data:
            data += self._await(lambda: self._tls.read(65536))
        return data

    def record(self, data: bytes) -> bytes:
        """The data encrypted, as one record."""
        self._tls.write(data)
        return self._out.read()

    def end(self) -> bytes:
        """The record that announces the end (`close_notify`), after which the connection stays open."""
        with suppress(ssl.SSLError):
            self._tls.unwrap()
        return self._out.read()

    def _await(self, step: Callable[[], Any], beside: bytes = b"") -> Any:
        try:
            return step()
        except ssl.SSLWantReadError:
            if begun := self._out.read():
                self.connection.sendall(begun + beside)
        if not (received := self.connection.recv(65536)):
            raise ConnectionError("the client went away")
        self._in.write(received)
        return self._await(step, beside)


@pytest.fixture
def context(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> ssl.SSLContext:
    """The server's, whom clients trust."""
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(certificate))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


def send(url: str, size: int = 0) -> Response:
    """What comes of a PUT of so many bytes over TLS, which must be over soon."""
    request = Request("PUT", url.replace("http://127.0.0.1", "https://localhost"), body=Body(span=Span(0, size)))
    began = time.monotonic()
    try:
        return HttpClient().send(request, repeat(bytes(BLOCK), size // BLOCK), "", PATIENT)
    finally:
        assert time.monotonic() - began < SOON


def saying(context: ssl.SSLContext, *said: bytes) -> Callable[[socket.socket], None]:
    """A server that reads the head of a request, says this, a record each, announces the end and does not hang up."""

    def serve(connection: socket.socket) -> None:
        peer = Peer(connection, context)
        connection.sendall(peer.shake_hands())
        peer.read_head()
        connection.sendall(b"".join(map(peer.record, said)) + peer.end())
        threading.Event().wait(SOON + 1)

    return serve


def test_an_answer_ends_where_the_server_announces_the_end(context: ssl.SSLContext) -> None:
    """An answer without a length is whole then, although the connection stays open: nothing is waited for."""
    with serving(saying(context, b"HTTP/1.1 200 OK\r\n\r\n{}")) as url:
        assert send(url).json() == {}


@pytest.mark.parametrize("said", [(), (response(200, bytes(100))[:-50],)], ids=["before", "inside"])
@pytest.mark.parametrize("size", [0, LARGE], ids=["after the request", "during the body"])
def test_an_announced_end_breaks_the_connection_at_once(
    size: int, said: tuple[bytes, ...], context: ssl.SSLContext
) -> None:
    """Before the answer or inside it, the end is the end, although the connection stays open."""
    with serving(saying(context, *said)) as url, pytest.raises(TransportError):
        send(url, size)


def test_an_answer_close_behind_an_interim_one_stops_the_body(context: ssl.SSLContext) -> None:
    """Two records come in one piece: the second is not overlooked, or the body would wait for its stall."""
    hints = b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
    with serving(saying(context, hints, response(503, b"busy"))) as url:
        got = send(url, LARGE)
    assert (got.status, got.body, got.sent_whole) == (503, b"busy", False)


def test_a_proxy_whose_record_is_not_whole_yet_is_asked_for_the_tunnel(
    context: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The beginning of a session ticket comes before the request for the tunnel, its rest afterwards."""
    asked: list[bytes] = []

    def serve(connection: socket.socket) -> None:
        peer = Peer(connection, context)
        begun = b"\x17\x03\x03"  # of every record after a handshake (RFC 8446, section 5.2)
        tickets = peer.shake_hands(beside=begun)
        asked.append(peer.read_head())
        connection.sendall(tickets.removeprefix(begun) + peer.record(response(403)))

    with serving(serve) as url:
        monkeypatch.setenv("https_proxy", url.replace("http://127.0.0.1", "https://localhost"))
        with pytest.raises(TransportError, match="HTTP 403"):
            send("https://upload.example")
    assert asked[0].startswith(b"CONNECT upload.example:443 ")


def test_a_certificate_counts_by_its_alternative_names_alone(
    context: ssl.SSLContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The common name of a subject is no host's name (RFC 9525, section 2)."""
    path = tmp_path / "common-name.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost", "-keyout", "-"]
    path.write_bytes(subprocess.run(command, check=True, capture_output=True).stdout)
    context.load_cert_chain(path)
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(path))
    with serving(lambda _: None, tls=context) as url, pytest.raises(ServiceError, match="not trusted"):
        send(url)


def test_an_encrypted_key_of_a_client_asks_nobody_for_its_password(
    context: ssl.SSLContext, certificate: Path, tmp_path: Path
) -> None:
    """Nobody is there to type one, and the standard input may be the file that is uploaded."""
    key = tmp_path / "key.pem"
    command = ["openssl", "rsa", "-aes256", "-passout", "pass:secret", "-in", str(certificate), "-out", str(key)]
    subprocess.run(command, check=True, capture_output=True)
    with serving(lambda _: None, tls=context) as url:
        code = (
            "from uploader.http.client import HttpClient, Timeouts\nfrom uploader.http.messages import Request\n"
            f"request = Request('GET', {url!r}, client_certificate=({str(certificate)!r}, {str(key)!r}))\n"
            "HttpClient().send(request, (), '', Timeouts())"
        )
        run = [sys.executable, "-c", code]
        ended = subprocess.run(run, input=b"secret\n", capture_output=True, start_new_session=True, check=False)
    assert b"TransportError" in ended.stderr
    assert b"pass phrase" not in ended.stdout + ended.stderr
