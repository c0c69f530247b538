"""More than three hundred answers that no server should give, each with a name: written by rule,
the same in every run.
"""

from __future__ import annotations

import gzip
import json
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TypeAlias

Answer: TypeAlias = Callable[[socket.socket], None]

ESCAPES = "\x1b[2J\x1b]0;owned\x07 \u202egnp.exe\u2066 \x00\x08 ::error::no ##[error]no %0A<script>"
STATUSES = (
    200,
    201,
    204,
    206,
    301,
    302,
    307,
    308,
    400,
    401,
    403,
    404,
    409,
    410,
    412,
    416,
    429,
    499,
    500,
    503,
    599,
)

STATUS_LINES: dict[str, bytes] = {
    "nothing": b"",
    "a line end": b"\r\n",
    "only line ends": b"\r\n" * 500,
    "zero bytes": bytes(100),
    "no status": b"HTTP/1.1\r\n\r\n",
    "a word for a status": b"HTTP/1.1 OK fine\r\n\r\n",
    "a negative status": b"HTTP/1.1 -200 OK\r\nContent-Length: 2\r\n\r\n{}",
    "a status of two digits": b"HTTP/1.1 20 OK\r\nContent-Length: 2\r\n\r\n{}",
    "a status of four digits": b"HTTP/1.1 2000 OK\r\nContent-Length: 2\r\n\r\n{}",
    "status 999": b"HTTP/1.1 999 What\r\nContent-Length: 2\r\n\r\n{}",
    "status 100 alone": b"HTTP/1.1 100 Continue\r\n\r\n",
    "status 101": b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n",
    "status 103": b"HTTP/1.1 103 Early Hints\r\n\r\n",
    "digits that are no ASCII": "HTTP/1.1 ²٢٢ OK\r\n\r\n".encode(),
    "no reason": b"HTTP/1.1 200\r\nContent-Length: 2\r\n\r\n{}",
    "another protocol": b"SSH-2.0-OpenSSH_9.2p1\r\n",
    "another version": b"HTTP/9.9 200 OK\r\nContent-Length: 2\r\n\r\n{}",
    "an old version": b'{"id": "1"}',
    "ICY": b"ICY 200 OK\r\n\r\n{}",
    "a TLS alert": b"\x15\x03\x01\x00\x02\x02\x28",
    "escapes in the reason": f"HTTP/1.1 400 {ESCAPES}\r\nContent-Length: 0\r\n\r\n".encode(),
    "a line without an end": b"HTTP/1.1 200 " + b"x" * 200_000,
    "line feeds alone": b"HTTP/1.1 200 OK\nContent-Length: 2\n\n{}",
}

HEADERS: dict[str, bytes] = {
    "no colon": b"this is no header",
    "no name": b": value",
    "a zero byte": b"X-A: a\x00b",
    "a folded line": b"X-A: a\r\n b: c",
    "escapes": f"X-A: {ESCAPES}".encode().replace(b"\x00", b""),
    "two hundred": b"\r\n".join(b"X-%d: y" % number for number in range(200)),
    "a megabyte": b"X-A: " + b"y" * (1 << 20),
    "a negative length": b"Content-Length: -5",
    "a length of letters": b"Content-Length: many",
    "a length beyond reason": b"Content-Length: " + b"9" * 300,
    "two lengths": b"Content-Length: 1\r\nContent-Length: 2",
    "a length too long": b"Content-Length: 1000",
    "a length too short": b"Content-Length: 3",
    "chunks that are none": b"Transfer-Encoding: chunked",
    "a coding that nobody knows": b"Transfer-Encoding: rot13",
    "gzip that is none": b"Content-Encoding: gzip",
    "a cookie": b"Set-Cookie: a=b; Domain=.com; Path=/; Expires=never",
    "a location elsewhere": b"Location: http://127.0.0.1:9/upload?upload_id=x",
    "a location with a user": b"Location: https://a:b@www.googleapis.com/upload?upload_id=x",
    "a location that looks like "
    "Google": b"Location: https://www.googleapis.com.example.net/upload_id=x",
    "a location on another port": b"Location: https://www.googleapis.com:8443/x",
    "a location without a scheme": b"Location: //example.net/x",
    "a location of a file": b"Location: file:///etc/passwd",
    "a location that is no address": b"Location: http://[::1",
    "a location with a line": b"Location: http://a\tb",
    "an empty location": b"Location:",
    "a location of a megabyte": b"Location: /" + b"a" * 60_000,
    "a location in UTF-8": "Location: https://www.googleapis.com/é".encode(),
    "a URL elsewhere": b"X-Goog-Upload-Status: active\r\nX-Goog-Upload-URL: http://127.0.0.1:9/x",
    "a URL without a scheme": b"X-Goog-Upload-Status: active\r\nX-Goog-Upload-URL: example.net/x",
    "a status that nobody knows": b"X-Goog-Upload-Status: perhaps",
    "final": b"X-Goog-Upload-Status: final",
    "cancelled": b"X-Goog-Upload-Status: cancelled",
    "a granularity of zero": b"X-Goog-Upload-Status: active\r\nX-Goog-Upload-Chunk-Granularity: 0",
    "a size of letters": b"X-Goog-Upload-Status: active\r\nX-Goog-Upload-Size-Received: all",
    "a size beyond reason": b"X-Goog-Upload-Status: active\r\nX-Goog-Upload-Size-Received: "
    + b"9" * 40,
    "a negative size": b"X-Goog-Upload-Status: active\r\nX-Goog-Upload-Size-Received: -1",
}
RANGES: tuple[str, ...] = (
    "",
    "bytes=",
    "bytes=0-",
    "bytes=-5",
    "bytes=5-2",
    "bytes=1-2",
    "0-0,2-3",
    "bytes=0-1e3",
    "bytes=0-٣",
)
RANGES += (
    "bytes=0-99999999999999999999",
    "bytes=0-9999999999",
    "items=0-42",
    "bytes 0-42/43",
    "\x1b[31m",
    "0--1",
)
RETRIES = (
    "-1",
    "1e9",
    "soon",
    "9" * 400,
    "Thu, 01 Jan 1970 00:00:00 GMT",
    "Fri, 31 Feb 2030 25:61:61 GMT",
    "nan",
    "",
)
HEADERS |= {f"Range {value!r}": f"Range: {value}".encode() for value in RANGES}
HEADERS |= {
    f"Retry-After {value[:30]!r}": f"Retry-After: {value}".encode() for value in RETRIES
}

VALUES: tuple[object, ...] = (
    None,
    True,
    0,
    -1,
    1e300,
    10**25,
    "",
    "x" * 5000,
    ESCAPES,
    [],
    [None],
    {},
    {"a": {}},
    [[[]]],
)
KEYS = (
    "error",
    "access_token",
    "expires_in",
    "id",
    "versionCode",
    "bundles",
    "sha256",
    "releases",
    "image",
)

BODIES: dict[str, bytes] = {
    "nothing": b"",
    "null": b"null",
    "true": b"true",
    "a number": b"0",
    "a text": b'"x"',
    "a list": b"[]",
    "a list of lists": b"[[]]",
    "an object": b"{}",
    "NaN": b'{"id": NaN, "expires_in": Infinity}',
    "a number without an end": b'{"expires_in": ' + b"9" * 5000 + b"}",
    "a depth without an end": b"[" * 100_000,
    "objects without an end": b'{"a":' * 100_000,
    "half an object": b'{"id": "abc',
    "two objects": b"{}{}",
    "twice the same name": b'{"id": 1, "id": 2}',
    "broken UTF-8": b'{"id": "\xff\xfe"}',
    "UTF-16": '{"id": "1"}'.encode("utf-16"),
    "a byte order mark": b'\xef\xbb\xbf{"id": "1"}',
    "half a surrogate": b'{"error": {"message": "\\ud800", "status": "\\udfff"}, "id": "\\ud800"}',
    "half a surrogate as it is": b'{"id": "\xed\xa0\x80", "versionCode": "\xed\xa0\x80"}',
    "HTML": b"<!DOCTYPE html><html><body><h1>Sign in to the proxy</h1></body></html>",
    "plain text": b"upstream connect error or disconnect/reset before headers",
    "escapes": ESCAPES.encode(),
    "escapes in the error": json.dumps(
        {"error": {"message": ESCAPES, "status": ESCAPES}}
    ).encode(),
    "gzip": gzip.compress(b"{}"),
    "errors of all kinds": json.dumps(
        {"error": {"errors": VALUES, "details": VALUES, "message": {}}}
    ).encode(),
    "a message without an end": json.dumps(
        {"error": {"message": "y" * 1_000_000}}
    ).encode(),
    "an OAuth error": json.dumps(
        {"error": "invalid_grant", "error_description": ESCAPES}
    ).encode(),
}
BODIES |= {
    f"{key} {number}": json.dumps({key: value}).encode()
    for key in KEYS
    for number, value in enumerate(VALUES)
}


def _plain(data: bytes) -> Answer:
    return lambda connection: connection.sendall(data)


def _whole(status: int, body: bytes, header: bytes = b"Connection: close") -> bytes:
    return b"HTTP/1.1 %d Answer\r\n%s\r\nContent-Length: %d\r\n\r\n%s" % (
        status,
        header,
        len(body),
        body,
    )


def _endless(head: bytes, block: bytes) -> Answer:
    """Sends as long as anybody listens, for two seconds at most."""

    def send(connection: socket.socket) -> None:
        end = time.monotonic() + 2
        with suppress(OSError):
            connection.sendall(head)
            while time.monotonic() < end:
                connection.sendall(block)

    return send


def _dripping(data: bytes) -> Answer:
    def send(connection: socket.socket) -> None:
        end = time.monotonic() + 2
        for byte in data:
            if time.monotonic() > end:
                return
            connection.sendall(bytes([byte]))
            time.sleep(0.05)

    return send


def _silent(data: bytes) -> Answer:
    def send(connection: socket.socket) -> None:
        connection.sendall(data)
        connection.settimeout(1.5)
        with suppress(OSError):
            while connection.recv(65536):
                pass

    return send


_CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

# What begins an answer, and what follows as long as anybody listens: framings that a reader may
# follow without end.
ENDLESS: dict[str, tuple[bytes, bytes]] = {
    "a body": (b"HTTP/1.1 200 OK\r\n\r\n{", b" " * 65536),
    "a body of negative length": (
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n{",
        b" " * 65536,
    ),
    "a redirect": (b"HTTP/1.1 307 T\r\nLocation: /x\r\n\r\n", b"z" * 65536),
    "one header": (b"HTTP/1.1 200 OK\r\nX-A: ", b"b" * 65536),
    "headers": (b"HTTP/1.1 200 OK\r\n", b"X-A: b\r\n" * 1000),
    "heads of 100 Continue": (b"", b"HTTP/1.1 100 Continue\r\nX-A: b\r\n\r\n" * 2000),
    "small chunks": (_CHUNKED, b"1\r\n{\r\n" * 1000),
    "large chunks": (_CHUNKED, b"8000\r\n" + b"x" * 32768 + b"\r\n"),
    "a chunk of size -1": (_CHUNKED + b"-1\r\n", b"x" * 65536),
    "a chunk of size -5": (_CHUNKED + b"-5\r\n", b"x" * 65536),
    "chunks of size -1": (_CHUNKED, b"-1\r\n\r\n" * 1000),
    "a chunk of an immense size": (_CHUNKED + b"f" * 16 + b"\r\n", b"x" * 65536),
    "a chunk size": (_CHUNKED, b"f" * 65536),
    "chunks without line ends": (_CHUNKED, b"8000" + b"x" * 32768),
    "a chunk extension": (_CHUNKED + b"1;a=", b"b" * 65536),
    "chunk extensions": (_CHUNKED, b"1;a=" + b"b" * 60000 + b"\r\n{\r\n"),
    "one trailer": (_CHUNKED + b"0\r\nX-A: ", b"b" * 65536),
    "trailers": (_CHUNKED + b"0\r\n", b"X-A: b\r\n" * 5000),
}
MANNERS: dict[str, Answer] = {
    **{f"{name} without an end": _endless(*parts) for name, parts in ENDLESS.items()},
    "a body that drips": _dripping(
        _whole(200, b'{"id": "1", "access_token": "abcdefgh"}')
    ),
    "silence": _silent(b""),
    "silence after the status": _silent(b"HTTP/1.1 200 OK\r\n"),
    "silence after the headers": _silent(
        b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n"
    ),
    "silence in the body": _silent(b'HTTP/1.1 503 No\r\nContent-Length: 10\r\n\r\n{"a'),
}


def responses(elsewhere: str) -> Iterator[tuple[str, Answer]]:
    """Every answer with its name; `elsewhere` is a host and port that must never hear of
    anything.
    """
    for name, data in STATUS_LINES.items():
        yield f"status line: {name}", _plain(data)
    for number, (name, header) in enumerate(HEADERS.items()):
        for turn in range(2):
            status = STATUSES[(number * 2 + turn * 7) % len(STATUSES)]
            there = header.replace(b"127.0.0.1:9", elsewhere.encode())
            yield (
                f"header: {name} ({status})",
                _plain(b"HTTP/1.1 %d Answer\r\n%s\r\n\r\n{}" % (status, there)),
            )
    for number, (name, body) in enumerate(BODIES.items()):
        status = STATUSES[number % len(STATUSES)] if number % 3 else 200
        yield f"body: {name} ({status})", _plain(_whole(status, body))
    bomb = gzip.compress(bytes(50 << 20))
    yield (
        "a bomb behind a redirect",
        _plain(_whole(302, bomb, b"Location: /x\r\nContent-Encoding: gzip")),
    )
    for name, manner in MANNERS.items():
        yield f"manner: {name}", manner
