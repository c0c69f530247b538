"""Whatever a client sends to the emulator, over a real socket, has an answer in HTTP, and has it soon."""

from __future__ import annotations

import gzip
import http.client
import json
import socket
import time
from collections.abc import Iterator
from functools import cache

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from google_emulator import Emulator
from tests.support.emulator_client import STORAGE

PATIENCE = 10.0  # seconds


@pytest.fixture(scope="module")
def emulator() -> Iterator[Emulator]:
    """One for all requests: none of them may harm it."""
    with Emulator() as started:
        yield started


def response(emulator: Emulator, sent: bytes) -> http.client.HTTPResponse | None:
    """The first answer to these bytes, read to its end; None when the connection was closed without one."""
    with socket.create_connection(("127.0.0.1", emulator.port), timeout=PATIENCE) as connection:
        connection.sendall(sent)
        connection.shutdown(socket.SHUT_WR)
        found = http.client.HTTPResponse(connection, method="HEAD" if sent.lstrip().startswith(b"HEAD ") else "GET")
        try:
            found.begin()
        except http.client.RemoteDisconnected:
            return None
        found.read()
        return found


def request(line: str, *headers: str, body: bytes = b"", token: str = "") -> bytes:
    lines = [f"{line} HTTP/1.1", "Host: localhost", *([f"Authorization: Bearer {token}"] if token else []), *headers]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


def sized(line: str, *headers: str, body: bytes, token: str = "") -> bytes:
    return request(line, *headers, f"Content-Length: {len(body)}", body=body, token=token)


DEEP = b"[" * 100_000 + b"]" * 100_000
MULTIPART = "Content-Type: multipart/related; boundary=b"
JSON = "Content-Type: application/json"
MEDIA = f"POST {STORAGE}?uploadType=media&name=x"
NAMED = {
    "not HTTP": (b"hello\r\n\r\n", 400),
    "another version": (b"GET / HTTP/2.0\r\n\r\n", 400),
    "no version": (b"GET /\r\n\r\n", 400),
    "TLS": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400),
    "no end of the line": (b"GET / HTTP/1.1", 400),
    "a long target": (b"GET /" + b"x" * 100_000, 414),
    "a target that is no URL": (request("GET http://[/"), 400),
    "bad percent escapes": (request("GET /%/%zz/%ff?%=%ff&=&%00"), 404),
    "a method nobody knows": (request("BREW /storage/v1/b"), 404),
    "a method that is none": (request("G(T /storage/v1/b"), 400),
    "headers without an end": (b"GET / HTTP/1.1\r\nHost: x\r\n", 400),
    "a header without a colon": (request("GET /", "nonsense"), 400),
    "a header without a name": (request("GET /", ": x"), 400),
    "a null in a header": (request("GET /", "X: a\0b"), 400),
    "a huge header": (request("GET /", "X: " + "x" * 100_000), 431),
    "many headers": (request("GET /", *["X: y"] * 200), 431),
    "a negative length": (request("POST /token", "Content-Length: -1"), 400),
    "a length that is none": (request("POST /token", "Content-Length: 0x10"), 400),
    "an endless length": (request("POST /token", "Content-Length: " + "9" * 5000), 400),
    "two lengths": (request("POST /token", "Content-Length: 1", "Content-Length: 2", body=b"ab"), 400),
    "length and chunks": (request("POST /token", "Content-Length: 1", "Transfer-Encoding: chunked", body=b"a"), 400),
    "another coding": (request("POST /token", "Transfer-Encoding: gzip, chunked"), 501),
    "a chunk without a size": (request("POST /token", "Transfer-Encoding: chunked", body=b"zz\r\n"), 400),
    "a negative chunk": (request("POST /token", "Transfer-Encoding: chunked", body=b"-5\r\nhello\r\n0\r\n\r\n"), 400),
    "a chunk that is too long": (request("POST /token", "Transfer-Encoding: chunked", body=b"3\r\nabcd\r\n"), 400),
    "endless trailers": (request("POST /token", "Transfer-Encoding: chunked", body=b"0\r\n" + b"a: b\r\n" * 300), 400),
    "a body cut off": (request("POST /token", "Content-Length: 10", body=b"abc"), 400),
    "chunks cut off": (request("POST /token", "Transfer-Encoding: chunked", body=b"a\r\nabc"), 400),
    "a body that is too large": (sized("POST /v1/token", body=bytes(11 << 20)), 413),
    "a token that is none": (request("GET /storage/v1/b", "Authorization: Bearer \xff\xfe"), 401),
    "HEAD": (request("HEAD /storage/v1/b"), 404),
    "old and closed": (b"GET /storage/v1/b HTTP/1.0\r\n\r\nGET", 401),
    "lines before the request": (b"\r\n\r\n" + request("GET /nowhere"), 404),
}
AUTHORISED = {
    "deep JSON": (("POST /storage/v1/b", JSON, DEEP), 400),
    "deep metadata": ((f"POST {STORAGE}?uploadType=resumable", JSON, DEEP), 400),
    "a lone surrogate": ((f"POST {STORAGE}?uploadType=resumable", JSON, b'{"name": "\\ud800"}'), 400),
    "a number without end": (("POST /storage/v1/b", JSON, b'{"name": ' + b"9" * 5000 + b"}"), 400),
    "bytes that are no text": (("POST /storage/v1/b", JSON, b"\xff\xfe{}"), 400),
    "JSON of another kind": (("POST /storage/v1/b", JSON, b"[1]"), 400),
    "no gzip": ((MEDIA, "Content-Encoding: gzip", b"plain"), 400),
    "half a gzip": ((MEDIA, "Content-Encoding: gzip", gzip.compress(bytes(1000))[:-9]), 400),
    "no boundary": ((f"POST {STORAGE}?uploadType=multipart", "Content-Type: multipart/related", b"--b"), 400),
    "an empty boundary": ((f"POST {STORAGE}?uploadType=multipart", MULTIPART[:-1], b"--\r\n\r\n"), 400),
    "a boundary of no alphabet": ((f"POST {STORAGE}?uploadType=multipart", MULTIPART + "\xe9", b"--b"), 400),
    "multipart without an end": ((f"POST {STORAGE}?uploadType=multipart", MULTIPART, b"--b\r\n\r\n{}\r\n--b\r\n"), 400),
    "multipart of a huge head": ((f"POST {STORAGE}?uploadType=multipart", MULTIPART, b"--b\r\n" + b"x" * 2**21), 400),
    "a session that is none": (("PUT /upload/v1/x?upload_id=%ff", "Content-Range: bytes 0-0/1", b"a"), 404),
    "a size that is none": (
        (f"POST {STORAGE}?uploadType=resumable", "X-Upload-Content-Length: " + "9" * 5000, b""),
        400,
    ),
}


@pytest.mark.parametrize("name", NAMED)
def test_a_malformed_request_is_answered(emulator: Emulator, name: str) -> None:
    """Every kind of nonsense has its status."""
    sent, status = NAMED[name]
    found = response(emulator, sent)
    assert found is not None
    assert found.status == status


@pytest.mark.parametrize("name", AUTHORISED)
def test_a_malformed_body_is_answered(emulator: Emulator, name: str) -> None:
    """So has a body that is not what it should be, behind a token that is right."""
    (line, header, body), status = AUTHORISED[name]
    found = response(emulator, sized(line, header, body=body, token=token_of(emulator)))
    assert found is not None
    assert found.status == status


@cache
def token_of(emulator: Emulator) -> str:
    return emulator.token("androidpublisher", "devstorage.read_write", "drive", "gmail.modify", user="me@example.com")


def test_a_client_that_keeps_its_half_open_is_answered_too(emulator: Emulator) -> None:
    """An answer does not wait for what will never come: the connection is not read on behind nonsense."""
    for sent in (b"hello\r\n", b"\x16\x03\x01", request("POST /token", "Content-Length: -1")):
        with socket.create_connection(("127.0.0.1", emulator.port), timeout=PATIENCE) as connection:
            connection.sendall(sent)
            assert connection.recv(12) == b"HTTP/1.1 400"


def test_a_defect_is_a_500(capsys: pytest.CaptureFixture[str]) -> None:
    """An exception of the emulator's own becomes an answer in Google's form, and is told on stderr."""
    with Emulator() as broken:
        broken.config.token_lifetime = "an hour"  # type: ignore[assignment]  # what is no number breaks the login
        assertion = json.dumps({"grant_type": "refresh_token", "refresh_token": broken.authority.refresh_token})
        found = response(broken, sized("POST /token", JSON, body=assertion.encode()))
        assert found is not None
        assert (found.status, found.headers["Content-Type"]) == (500, "application/json; charset=UTF-8")
        assert "ValueError" in capsys.readouterr().err
        assert response(broken, request("GET /nowhere")) is not None


def is_answered(emulator: Emulator, sent: bytes) -> None:
    """Anything but empty lines is; within bounded time, with a status, and completely."""
    before = time.monotonic()
    found = response(emulator, sent)
    assert time.monotonic() - before < PATIENCE
    if sent.strip(b"\r\n"):
        assert found is not None, sent
        assert 100 <= found.status <= 599


patiently = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])


@patiently
@given(sent=some.binary(max_size=300))
def test_any_bytes_are_answered(emulator: Emulator, sent: bytes) -> None:
    """Bytes that are nobody's request."""
    is_answered(emulator, sent)
