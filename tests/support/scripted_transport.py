"""A server that reads one request on each connection and does what its script says; all of it is
written down.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeAlias

from tests.support import raw_server
from uploader.services.base import Dialect

Answer: TypeAlias = "bytes | Callable[[socket.socket], None]"


@dataclass
class ReceivedRequest:
    """One request as it came."""

    line: str
    headers: dict[str, str]
    body: bytes

    @property
    def method(self) -> str:
        return self.line.split()[0]

    @property
    def target(self) -> str:
        return self.line.split()[1]


@dataclass
class Script:
    """The answers in their order; `{url}` in one stands for the server's own root. `requests` is
    what came.
    """

    responses: list[Answer]
    requests: list[ReceivedRequest] = field(default_factory=list)
    url: str = ""

    def serve(self, connection: socket.socket) -> None:
        head, body = raw_server.read_head(connection)
        line, *rest = head.decode("latin-1").split("\r\n")
        headers = {
            name.lower(): value.strip()
            for name, _, value in (one.partition(":") for one in rest)
        }
        length = int(headers.get("content-length", "0"))
        request = ReceivedRequest(line, headers, body)
        self.requests.append(request)
        if not self.responses:
            connection.sendall(
                raw_server.response(500, b"the script is over", "Connection: close")
            )
            return
        response = self.responses.pop(0)
        if callable(response):
            response(connection)
            return
        while len(request.body) < length:
            part = connection.recv(1 << 20)
            if not part:
                return
            request.body += part
        connection.sendall(response.replace(b"{url}", self.url.encode()))

    def lines(self) -> list[str]:
        """Method and what the request says of its place, for each request: `PUT bytes 0-9/10`,
        `POST query`.
        """
        lines = []
        for request in self.requests:
            headers = request.headers
            place = (
                headers.get("content-range")
                or headers.get("x-goog-upload-command")
                or ""
            )
            lines.append(f"{request.method} {place}".strip())
        return lines


def says(status: int, body: bytes = b"", *headers: str) -> bytes:
    """One answer, after which the connection ends."""
    return raw_server.response(status, body, "Connection: close", *headers)


@contextmanager
def scripted(*responses: Answer) -> Iterator[Script]:
    """A server with this script."""
    script = Script(list(responses))
    with raw_server.serving(script.serve) as url:
        script.url = url
        yield script


def silent(connection: socket.socket) -> None:
    """No answer: the connection ends."""
    connection.shutdown(socket.SHUT_RDWR)


# --- the usual answers of each dialect ------------------------------------------------------------


def started(dialect: Dialect, *headers: str) -> bytes:
    """A session was opened."""
    if dialect == "content-range":
        return says(200, b"", "Location: {url}/session?upload_id=1", *headers)
    return says(
        200,
        b"",
        "X-Goog-Upload-Status: active",
        "X-Goog-Upload-URL: {url}/session?upload_id=1",
        *headers,
    )


def stored(dialect: Dialect, count: int) -> bytes:
    """So many bytes are stored."""
    if dialect == "content-range":
        return says(308, b"", *([f"Range: bytes=0-{count - 1}"] if count else []))
    return says(
        200,
        b"",
        "X-Goog-Upload-Status: active",
        f"X-Goog-Upload-Size-Received: {count}",
    )


def finished(dialect: Dialect, body: bytes = b'{"id": "1"}') -> bytes:
    """The upload is complete."""
    return (
        says(201, body)
        if dialect == "content-range"
        else says(200, body, "X-Goog-Upload-Status: final")
    )
