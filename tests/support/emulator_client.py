"""A plain HTTP client for the tests of the emulator: one connection, no cleverness."""

from __future__ import annotations

import http.client
import json as json_module
import socket
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from email.message import Message
from typing import Any

from google_emulator import Emulator

PACKAGE = "com.example.app"
APP = f"/androidpublisher/v3/applications/{PACKAGE}"
STORAGE = "/upload/storage/v1/b/bucket/o"
GRANULE = 256 * 1024


@dataclass(frozen=True)
class Reply:
    """An answer as it came."""

    status: int
    headers: Message
    body: bytes

    @property
    def json(self) -> Any:
        return json_module.loads(self.body)

    @property
    def message(self) -> str:
        return str(self.json["error"]["message"])

    @property
    def reason(self) -> str:
        return str(self.json["error"]["errors"][0]["reason"])

    def header(self, name: str) -> str:
        return str(self.headers.get(name, ""))


class EmulatorClient:
    """One connection to an emulator, with a token for everything that the tests do."""

    def __init__(self, emulator: Emulator, token: str | None = None) -> None:
        self.emulator = emulator
        scopes = (
            "androidpublisher",
            "devstorage.read_write",
            "drive",
            "gmail.modify",
            "android_partner_over_the_air",
        )
        self.token = (
            emulator.token(*scopes, user="me@example.com") if token is None else token
        )
        self.connection = http.client.HTTPConnection(
            "127.0.0.1", emulator.port, timeout=10
        )

    def close(self) -> None:
        self.connection.close()

    def request(
        self,
        method: str,
        url: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        json: Any = None,
    ) -> Reply:
        path = url.removeprefix(self.emulator.url)
        sent = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        if json is not None:
            body, sent["Content-Type"] = (
                json_module.dumps(json).encode(),
                "application/json; charset=UTF-8",
            )
        self.connection.request(method, path, body, {**sent, **(headers or {})})
        response = self.connection.getresponse()
        return Reply(response.status, response.headers, response.read())

    # Dialect A

    def start_session(
        self,
        path: str = STORAGE + "?name=x",
        size: int | None = None,
        kind: str = "text/plain",
    ) -> str:
        """Starts a resumable session; the answer is its URI."""
        length = {} if size is None else {"X-Upload-Content-Length": str(size)}
        query = "&" if "?" in path else "?"
        reply = self.request(
            "POST",
            f"{path}{query}uploadType=resumable",
            b"",
            {"X-Upload-Content-Type": kind, **length},
        )
        assert reply.status == 200, reply.body
        return reply.header("Location")

    def put(self, uri: str, data: bytes, content_range: str = "") -> Reply:
        return self.request(
            "PUT", uri, data, {"Content-Range": content_range} if content_range else {}
        )

    def offset(self, uri: str, total: int | str) -> Reply:
        return self.request("PUT", uri, b"", {"Content-Range": f"bytes */{total}"})

    # Dialect B

    def goog(self, url: str, command: str, data: bytes = b"", **headers: str) -> Reply:
        named = {
            f"X-Goog-Upload-{name.replace('_', '-')}": value
            for name, value in headers.items()
        }
        return self.request(
            "POST", url, data, {"X-Goog-Upload-Command": command, **named}
        )

    def start_goog_session(
        self,
        path: str = STORAGE + "?name=x",
        size: int | None = None,
        kind: str = "text/plain",
    ) -> str:
        length = {} if size is None else {"Header_Content_Length": str(size)}
        reply = self.goog(
            path, "start", b"", Protocol="resumable", Header_Content_Type=kind, **length
        )
        assert reply.status == 200, reply.body
        return reply.header("X-Goog-Upload-URL")

    # Play

    def edit(self) -> str:
        """Opens an edit; the answer is its path."""
        reply = self.request("POST", f"{APP}/edits", json={})
        assert reply.status == 200, reply.body
        return f"{APP}/edits/{reply.json['id']}"

    def upload(
        self, path: str, data: bytes, kind: str = "application/octet-stream"
    ) -> Reply:
        return self.request(
            "POST", f"/upload{path}?uploadType=media", data, {"Content-Type": kind}
        )


def raw_request(
    emulator: Emulator, method: str, url: str, token: str, *headers: str
) -> socket.socket:
    """A socket on which the head of a request was sent, and nothing of its body."""
    path = url.removeprefix(emulator.url)
    lines = [
        f"{method} {path} HTTP/1.1",
        "Host: localhost",
        f"Authorization: Bearer {token}",
        *headers,
        "",
        "",
    ]
    connection = socket.create_connection(("127.0.0.1", emulator.port), timeout=10)
    connection.sendall("\r\n".join(lines).encode())
    return connection


def wait_until(true: Callable[[], bool]) -> None:
    """Returns as soon as something is true; what a server does with a broken connection has no
    answer to wait for.
    """
    end = time.monotonic() + 20
    while not true():
        assert time.monotonic() < end, "it never came true"


def read_reply(connection: socket.socket) -> Reply:
    """The next answer on a socket."""
    response = http.client.HTTPResponse(connection)
    response.begin()
    return Reply(response.status, response.headers, response.read())
