"""The transport on real sockets: what it does with servers that answer late, never, too much or in
pieces.
"""

from __future__ import annotations

import re
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.raw_server import Handler, read_head, read_request, reset, serving
from tests.support.raw_server import response as answer
from uploader.auth.destinations import Destinations
from uploader.auth.google import TokenRequest, Unavailable
from uploader.errors import CredentialsError, InputError, ServiceError
from uploader.http.client import HttpClient, Timeouts
from uploader.http.messages import Request, Span, TransportError

QUICK = Timeouts(connect=5, stall=0.3, response=0.5)
# where the answer comes at once, also from a machine that is busy
PATIENT = Timeouts(connect=20, stall=20, response=20)
BLOCK = 256 * 1024


def put(url: str, size: int = 0) -> Request:
    """A PUT of so many bytes."""
    return Request(
        "PUT", url + "/session", (("Content-Range", "bytes 0-1/2"),), span=Span(0, size)
    )


def blocks(size: int) -> Iterator[bytes]:
    """So many bytes in blocks."""
    for start in range(0, size, BLOCK):
        yield bytes(min(BLOCK, size - start))


@pytest.fixture
def transport() -> HttpClient:
    """A fresh transport."""
    return HttpClient()


@pytest.fixture
def context(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> ssl.SSLContext:
    """The TLS of a server whom clients trust."""
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(certificate))
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate)
    return context


def saying(said: bytes) -> Handler:
    """A server that reads a request, says this and hangs up."""

    def serve(connection: socket.socket) -> None:
        read_request(connection)
        connection.sendall(said)

    return serve


def token_request(url: str) -> TokenRequest:
    """What a login that may ask this URL sends its requests with."""
    return TokenRequest(
        HttpClient(), on_secret=lambda _: None, destinations=Destinations.of([url])
    )


@pytest.mark.parametrize("size", [0, 600_000])
def test_sends_headers_token_length_and_bytes(transport: HttpClient, size: int) -> None:
    """A request carries its own headers, the bearer token, the exact length (0, too) and the bytes,
    nothing chunked.
    """
    seen: list[tuple[bytes, bytes]] = []

    def serve(connection: socket.socket) -> None:
        seen.append(read_request(connection))
        connection.sendall(answer(200, b'{"id": "1"}', "X-Two:  b "))

    with serving(serve) as url:
        got = transport.send(put(url, size), blocks(size), "token", Timeouts())
    head = seen[0][0].lower()
    assert (got.status, got.json(), got.headers.get("x-two"), got.sent_whole) == (
        200,
        {"id": "1"},
        "b",
        True,
    )
    assert b"authorization: bearer token" in head
    assert b"content-length: %d\r" % size in head
    assert b"content-range: bytes 0-1/2" in head
    assert b"transfer-encoding" not in head
    assert len(seen[0][1]) == size


def test_what_is_unread_of_an_answer_is_not_read_as_the_next_one(
    transport: HttpClient,
) -> None:
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


def test_a_body_may_come_from_requests_of_its_own(transport: HttpClient) -> None:
    """What is sent between two blocks, from the same thread, takes nothing from the request around
    it.
    """
    nested_is_over = threading.Event()

    def inner(connection: socket.socket) -> None:
        read_request(connection)
        connection.sendall(answer(201, b"{}"))

    def serve(connection: socket.socket) -> None:
        read_head(connection)
        nested_is_over.wait(5)
        connection.sendall(answer(403, b"early"))
        time.sleep(0.5)

    size = 32 << 20
    with serving(serve) as url, serving(inner) as other:

        def nested() -> Iterator[bytes]:
            yield bytes(BLOCK)
            assert transport.send(put(other), (), "", QUICK).status == 201
            nested_is_over.set()
            yield from blocks(size - BLOCK)

        got = transport.send(
            put(url, size), nested(), "", Timeouts(connect=5, stall=5, response=5)
        )
    assert (got.status, got.body, got.sent_whole) == (403, b"early", False)


def test_headers_that_come_in_parts_are_joined(transport: HttpClient) -> None:
    """A header that is repeated is one (RFC 9110, section 5.3)."""
    with serving(
        saying(answer(200, b"{}", "x-goog-hash: crc32c=a", "x-goog-hash: md5=b"))
    ) as url:
        headers = transport.send(put(url), (), "", Timeouts()).headers
    assert headers.get("x-goog-hash") == "crc32c=a, md5=b"


OK = b"HTTP/1.1 200 OK\r\n"
LENGTH = b"Content-Length: 2\r\n\r\n{}"
REFUSED_HEADS = {
    "folded by a space": (
        OK + b"X-A: b\r\n Content-Length: 0\r\n" + LENGTH,
        "a folded header",
    ),
    "folded by a tab": (OK + b"X-A: b\r\n\tc\r\n" + LENGTH, "a folded header"),
    "folded behind the status": (OK + b" X-A: b\r\n" + LENGTH, "a folded header"),
    "broken by a carriage return": (
        OK + b"X-A: b\rContent-Length: 0\r\n" + LENGTH,
        "a malformed header",
    ),
    "with a zero byte": (OK + b"X-A: b\0\r\n" + LENGTH, "a malformed header"),
    "with a space before the colon": (
        OK + b"X-A : b\r\n" + LENGTH,
        "a malformed header",
    ),
    "without a colon": (OK + b"nonsense\r\n" + LENGTH, "a malformed header"),
    "without a name": (OK + b": b\r\n" + LENGTH, "a malformed header"),
    "of 181 KB": (
        OK + b"".join(b"X-%d: %s\r\n" % (n, b"a" * 2000) for n in range(90)) + LENGTH,
        "were too large",
    ),
    "of little more than 64 KiB": (
        OK + (b"X: " + b"a" * 6549 + b"\r\n") * 10 + LENGTH,
        "were too large",
    ),
    "cut in its status": (b"HTTP/1.1 20", "ended inside the headers"),
    "cut in a header": (
        OK + b"Content-Type: application/json\r\nContent-Le",
        "ended inside the headers",
    ),
    "cut behind a header": (
        OK + b"Content-Type: application/json\r\n",
        "ended inside the headers",
    ),
    "cut before its empty line": (
        OK + b"Content-Length: 0\r\n",
        "ended inside the headers",
    ),
}


@pytest.mark.parametrize("name", REFUSED_HEADS)
@pytest.mark.parametrize("secure", [False, True], ids=["http", "tls"])
def test_a_head_that_is_cut_or_ambiguous_is_no_answer(
    name: str, secure: bool, context: ssl.SSLContext, caplog: pytest.LogCaptureFixture
) -> None:
    """It is refused before anything is parsed, over TLS as well, where anybody on the way can end
    the connection.
    """
    said, words = REFUSED_HEADS[name]

    def serve(connection: socket.socket) -> None:
        read_request(connection)
        connection.sendall(said)
        # without TLS's own goodbye
        socket.socket.shutdown(connection, socket.SHUT_RDWR)

    with (
        serving(serve, tls=context if secure else None) as url,
        pytest.raises(TransportError, match=words) as broke,
    ):
        HttpClient().send(put(url), (), "", PATIENT)
    assert broke.value.sent_whole
    assert caplog.text == "", "urllib3 warned of it, with the URL"


def test_a_head_of_up_to_64_kib_is_read(transport: HttpClient) -> None:
    """Sixty headers of a thousand bytes are none too many."""
    with serving(saying(OK + (b"X: " + b"a" * 995 + b"\r\n") * 60 + LENGTH)) as url:
        assert transport.send(put(url), (), "", PATIENT).json() == {}


@pytest.mark.parametrize("status", [200, 201, 308, 400, 503])
@pytest.mark.parametrize("secure", [False, True], ids=["http", "tls"])
def test_an_answer_that_does_not_say_where_it_ends_is_none(
    status: int, secure: bool, context: ssl.SSLContext
) -> None:
    """Without a length or chunks the end of the connection would be the end of the body, wherever
    it comes.
    """
    said = saying(
        b"HTTP/1.1 %d Answer\r\nContent-Type: application/json\r\n\r\n{}" % status
    )
    with (
        serving(said, tls=context if secure else None) as url,
        pytest.raises(TransportError) as broke,
    ):
        HttpClient().send(put(url), (), "", QUICK)
    assert broke.value.sent_whole


@pytest.mark.parametrize(
    ("method", "status"), [("PUT", 204), ("PUT", 304), ("HEAD", 200)]
)
def test_an_answer_without_a_body_needs_no_length(
    transport: HttpClient, method: str, status: int
) -> None:
    """204, 304 and the answer to HEAD end with their headers."""
    with serving(saying(b"HTTP/1.1 %d Answer\r\n\r\n" % status)) as url:
        got = transport.send(replace(put(url), method=method), (), "", QUICK)
    assert (got.status, got.body) == (status, b"")


def test_no_cookie_is_parsed(
    transport: HttpClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cookie is never kept, so a server's text is not even read as one."""
    parsed: list[object] = []
    monkeypatch.setattr(
        "http.cookiejar.CookieJar.extract_cookies", lambda *given: parsed.append(given)
    )
    cookies = (
        "Set-Cookie: a=b; Max-Age=99999999999999999999; port=x",
        "Set-Cookie2: a=b; Version=" + "9" * 5000,
    )
    with serving(saying(answer(200, b"{}", *cookies))) as url:
        assert transport.send(put(url), (), "", PATIENT).json() == {}
    assert parsed == []


@pytest.mark.parametrize(
    ("name", "value"), [("X-Bad", "a\r\nHost: b"), ("X-Bad", "\u2603"), ("X Bad:", "a")]
)
def test_a_request_that_can_not_be_written_is_not_sent(
    transport: HttpClient, name: str, value: str
) -> None:
    """What would end a header, or is no header, breaks off before the first byte."""
    heads: list[bytes] = []
    with (
        serving(lambda connection: heads.append(connection.recv(1))) as url,
        pytest.raises(TransportError) as broke,
    ):
        transport.send(replace(put(url), headers=((name, value),)), (), "", Timeouts())
    assert (broke.value.sent_whole, heads) in ((False, []), (False, [b""]))


def test_a_refused_connection_was_not_sent(transport: HttpClient) -> None:
    """Nothing listens: nothing was sent."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(TransportError, match="refused") as broke:
        transport.send(put(f"http://127.0.0.1:{port}", 10), [bytes(10)], "", QUICK)
    assert broke.value.sent_whole is False


def test_a_slow_reader_is_no_stall(transport: HttpClient) -> None:
    """A server that reads slowly but steadily is waited for, well beyond the stall limit as a
    whole.
    """

    def serve(connection: socket.socket) -> None:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        _, body = read_head(connection)
        count = len(body)
        while count < 12 << 20:
            count += len(connection.recv(1 << 20))
            time.sleep(0.004)
        connection.sendall(answer(200, b"{}"))

    with serving(serve) as url:
        assert (
            transport.send(
                put(url, 12 << 20),
                blocks(12 << 20),
                "",
                Timeouts(stall=0.3, response=5),
            ).status
            == 200
        )


@pytest.mark.parametrize("dripping", [0, 400])
def test_a_server_that_never_shakes_hands_is_given_up(
    certificate: Path, monkeypatch: pytest.MonkeyPatch, dripping: int
) -> None:
    """Whoever says half of a TLS record, and then nothing or a byte at times, has as long as a
    connection may take.
    """
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(certificate))

    def serve(connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(b"\x16\x03\x03\x01\x00half")
        for _ in range(dripping):
            time.sleep(0.05)
            connection.sendall(b"x")
        connection.recv(1)

    began = time.monotonic()
    with serving(serve) as url, pytest.raises(TransportError, match="time limit"):
        HttpClient().send(
            put(url.replace("http:", "https:")),
            (),
            "",
            Timeouts(connect=0.3, stall=30, response=30),
        )
    assert time.monotonic() - began < 10


def test_an_answer_whose_tls_ends_too_early_is_none(context: ssl.SSLContext) -> None:
    """The end of the connection in the middle of a body is no end of the body, with or without
    TLS's own goodbye.
    """
    with (
        serving(
            saying(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{}"), tls=context
        ) as url,
        pytest.raises(TransportError, match="complete answer"),
    ):
        HttpClient().send(put(url), (), "", QUICK)


@pytest.mark.parametrize(
    "content", [None, "no certificate\n"], ids=["missing", "damaged"]
)
def test_a_useless_file_of_authorities_is_an_input_that_is_wrong(
    content: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file of certificates that can't be read is named at once: no retry makes it readable."""
    path = tmp_path / "authorities.pem"
    if content:
        path.write_text(content)
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(path))
    with (
        pytest.raises(InputError, match=r"REQUESTS_CA_BUNDLE.*authorities\.pem"),
        serving(reset) as url,
    ):
        HttpClient().send(put(url.replace("http:", "https:")), (), "", QUICK)


def test_a_trusted_certificate_serves_no_other_host(context: ssl.SSLContext) -> None:
    """A certificate from a trusted authority that names another host is refused like any other."""
    with (
        serving(lambda _: None, tls=context) as url,
        pytest.raises(ServiceError, match="not trusted"),
    ):
        HttpClient().send(put(url.replace("localhost", "127.0.0.1")), (), "", QUICK)


def test_nothing_is_sent_after_an_abort(transport: HttpClient) -> None:
    """A request that was about to begin when the run was asked to end ends before its first
    byte.
    """
    heads: list[bytes] = []
    transport.abort()
    with (
        serving(lambda connection: heads.append(connection.recv(1))) as url,
        pytest.raises(TransportError),
    ):
        transport.send(put(url), (), "token", Timeouts())
    assert heads in ([], [b""])


PROXIES = (
    "http_proxy",
    "HTTP_PROXY",
    "https_proxy",
    "HTTPS_PROXY",
    "all_proxy",
    "ALL_PROXY",
)


@pytest.fixture
def proxy(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[bytes]]:
    """Every kind of proxy in the environment; the first line and the headers of what it is
    asked.
    """
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


@pytest.mark.parametrize(
    "host", ["upload.example", "www.googleapis.com", "oauth2.googleapis.com:443"]
)
def test_a_proxy_learns_the_host_alone(
    transport: HttpClient, proxy: list[bytes], host: str
) -> None:
    """What goes to a proxy is a tunnel: neither the path, which may be a session's, nor the token
    is told to it.
    """
    with pytest.raises(TransportError, match="proxy"):
        transport.send(put(f"https://{host}", 10), [bytes(10)], "the-token", QUICK)
    assert [head.split(b"\r\n")[0].split()[0] for head in proxy] == [b"CONNECT"]
    assert b"the-token" not in proxy[0]
    assert b"session" not in proxy[0]


@pytest.mark.parametrize("secure", [False, True], ids=["http", "tls"])
@pytest.mark.parametrize("name", ["localhost", "127.0.0.1", "127.0.0.2"])
def test_this_machine_is_reached_past_every_proxy(
    secure: bool, name: str, proxy: list[bytes], context: ssl.SSLContext
) -> None:
    """A token for a loopback address stays on this machine, whatever proxies are configured."""
    heads: list[bytes] = []

    def serve(connection: socket.socket) -> None:
        heads.append(read_request(connection)[0])
        connection.sendall(answer(200, b"{}"))

    with serving(serve, tls=context if secure else None) as url:
        # the certificate is localhost's, and 127.0.0.2 may not listen
        with suppress(ServiceError, TransportError):
            HttpClient().send(
                put(re.sub(r"//[^:]+", f"//{name}", url)), (), "the-token", QUICK
            )
        if name == "localhost":
            assert b"the-token" in heads[0]
    assert proxy == []


MALFORMED = [
    "http://[bad",
    "http://127.0.0.1:99999",
    "127.0.0.1:port",
    "::::",
    " http://127.0.0.1:1",
    "ftp://a:1",
]


@pytest.mark.parametrize("named", MALFORMED)
def test_a_malformed_url_of_a_proxy_is_named(
    transport: HttpClient,
    named: str,
    proxy: list[bytes],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What is no URL of a proxy that can be used is told as such, with the variable that it comes
    from.
    """
    monkeypatch.setenv("https_proxy", named)
    with pytest.raises(
        TransportError, match=r"\(from https_proxy\) is malformed"
    ) as broke:
        transport.send(put("https://upload.example"), (), "", QUICK)
    assert broke.value.code == "proxy-unreachable"
    assert proxy == []


def test_nothing_in_clear_goes_to_a_proxy(
    transport: HttpClient, proxy: list[bytes]
) -> None:
    """A metadata server is asked directly or not at all: its answer is a token."""
    with pytest.raises(TransportError):
        transport.send(put("http://metadata.google.internal.invalid"), (), "", QUICK)
    assert proxy == []


def test_a_client_certificate_that_is_missing_is_named(
    context: ssl.SSLContext, tmp_path: Path
) -> None:
    """A login that names a file which is not there fails at once, and not as a broken
    connection.
    """
    gone = str(tmp_path / "gone.pem")
    with (
        serving(lambda _: None, tls=context) as url,
        pytest.raises(CredentialsError, match="client certificate"),
    ):
        token_request(url)(url, method="POST", body=b"grant_type=x", cert=(gone, gone))


@pytest.mark.parametrize(
    "drip",
    [
        b"HTTP/1.1 200 OK\r\nX-Slow: ",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n",
    ],
)
def test_a_token_endpoint_that_drips_has_an_end_too(drip: bytes) -> None:
    """The login's requests stand on the same connections: their answers are limited in time as a
    whole.
    """

    def serve(connection: socket.socket) -> None:
        read_request(connection)
        connection.sendall(drip)
        for _ in range(400):
            time.sleep(0.05)
            connection.sendall(b"x")

    began = time.monotonic()
    with serving(serve) as url, pytest.raises(Unavailable):
        token_request(url)(url, method="POST", body=b"grant_type=x", timeout=0.5)
    assert time.monotonic() - began < 10


# --- interim responses (1xx) ----------------------------------------------------------------------

CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
PROCESSING = b"HTTP/1.1 102 Processing\r\n\r\n"
HINTS = b"HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\nLink: </a.js>\r\n\r\n"
INTERIM_WITHOUT_END = [
    pytest.param(HINTS[:-2], b"Link: <x>\r\n", id="one without end"),
    pytest.param(b"", PROCESSING, id="many without end"),
    pytest.param(b"", CONTINUE, id="many that are read over"),
    pytest.param(
        b"", b"HTTP/1.1 103 " + b"x" * 60_000 + b"\r\n\r\n", id="large ones without end"
    ),
]


@pytest.mark.parametrize(
    "size",
    [
        pytest.param(0, id="after the request"),
        pytest.param(24 << 20, id="during the body", marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize(("first", "again"), INTERIM_WITHOUT_END)
def test_interim_answers_without_end_are_no_answer(
    first: bytes, again: bytes, size: int
) -> None:
    """Neither memory nor time is theirs: a broken connection within the limits."""

    def serve(connection: socket.socket) -> None:
        read_head(connection)
        connection.sendall(first)
        while True:
            connection.sendall(again)

    began = time.monotonic()
    with serving(serve) as url, pytest.raises(TransportError):
        HttpClient().send(
            put(url, size), blocks(size), "", Timeouts(connect=5, stall=1, response=3)
        )
    assert time.monotonic() - began < 10


def test_a_login_reads_over_100_continue_too() -> None:
    """A token endpoint may say it unasked."""
    with serving(saying(CONTINUE + answer(200, b'{"access_token": "a"}'))) as url:
        got = token_request(url)(url, method="POST", body=b"grant_type=x")
    assert (got.status, got.data) == (200, b'{"access_token": "a"}')


# --- certificates ---------------------------------------------------------------------------------


def test_a_certificate_counts_by_its_alternative_names_alone(
    context: ssl.SSLContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The common name of a subject is no host's name (RFC 9525, section 2)."""
    path = tmp_path / "common-name.pem"
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-subj",
        "/CN=localhost",
        "-keyout",
        "-",
    ]
    path.write_bytes(subprocess.run(command, check=True, capture_output=True).stdout)
    context.load_cert_chain(path)
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(path))
    with (
        serving(lambda _: None, tls=context) as url,
        pytest.raises(ServiceError, match="not trusted"),
    ):
        HttpClient().send(put(url), (), "", QUICK)


def test_an_encrypted_key_of_a_client_asks_nobody_for_its_password(
    context: ssl.SSLContext, certificate: Path, tmp_path: Path
) -> None:
    """Nobody is there to type one, and the standard input may be the file that is uploaded."""
    key = tmp_path / "key.pem"
    command = [
        "openssl",
        "rsa",
        "-aes256",
        "-passout",
        "pass:secret",
        "-in",
        str(certificate),
        "-out",
        str(key),
    ]
    subprocess.run(command, check=True, capture_output=True)
    with serving(lambda _: None, tls=context) as url:
        code = (
            "from uploader.http.client import HttpClient, Timeouts\nfrom uploader.http.messages "
            f"import Request\nrequest = Request('GET', {url!r}, "
            f"client_certificate=({str(certificate)!r}, {str(key)!r}))\nHttpClient().send(request, "
            "(), '', Timeouts())"
        )
        run = [sys.executable, "-c", code]
        ended = subprocess.run(
            run,
            input=b"secret\n",
            capture_output=True,
            start_new_session=True,
            check=False,
        )
    assert b"TransportError" in ended.stderr
    assert b"pass phrase" not in ended.stdout + ended.stderr
