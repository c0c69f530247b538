"""A server that takes uploads and keeps nothing: it counts them, delays its answers and fails once,
both on request.

`python -m benchmarks.sink PORT_FILE CERTIFICATE` serves TLS on loopback. It speaks just enough of
Google's upload protocols for every client here. `POST /__sink` sets it up, and `GET /__sink`
returns what it has seen since then.
"""

from __future__ import annotations

import itertools
import json
import ssl
import struct
import sys
import threading
import time
from dataclasses import asdict, dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socket import SO_LINGER, SOL_SOCKET
from typing import Any
from urllib.parse import parse_qs, urlsplit

BLOCK = 1 << 20  # bytes


@dataclass
class Seen:
    """The settings, and what has been seen since they were made. `fault` is `{"at": offset, "do":
    "503" | "reset"}` and fires once.

    `digests` are those that the service states for the file; `latency` is in seconds, and
    `first_request` is a time of the monotonic clock.
    """

    latency: float = 0.0
    fault: dict[str, Any] = field(default_factory=dict)
    digests: dict[str, str] = field(default_factory=dict)
    received: int = 0
    first_request: float = 0.0


class Sink(ThreadingHTTPServer):
    """The state that all connections share. `sessions` has the number of stored bytes of each
    session.
    """

    daemon_threads = True
    request_queue_size = 256

    def __init__(self, context: ssl.SSLContext) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.socket = context.wrap_socket(
            self.socket, server_side=True, do_handshake_on_connect=False
        )
        self.lock = threading.Lock()
        self.seen = Seen()
        self.sessions: dict[str, int] = {}
        self.numbers = itertools.count(1)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Log nothing: a client may go away."""


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Sink

    def log_message(self, *_: Any) -> None:
        """Log nothing."""

    def handle_request(self) -> None:
        """Answer a request of the sink's own, a token request or a request of an upload."""
        sink, url = self.server, urlsplit(self.path)
        if url.path == "/__sink":
            if self.command == "POST":
                sink.seen = Seen(
                    **json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                )
            self.respond(200, asdict(sink.seen))
            return
        sink.seen.first_request = sink.seen.first_request or time.monotonic()
        self.upload(url.path, parse_qs(url.query).get("uploadType", [""])[0])

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = handle_request  # noqa: N815  # the names that http.server calls

    def upload(self, path: str, kind: str) -> None:
        """Start a session, take bytes for one, or take a whole file."""
        sink = self.server
        if path == "/token":
            self.take(0)
            self.respond(
                200,
                {"access_token": "sink", "expires_in": 3600, "token_type": "Bearer"},
            )
        elif self.command in ("GET", "HEAD"):
            # Some clients look first whether the object exists.
            self.respond(404, {"error": {"code": 404, "message": "not found"}})
        elif kind == "resumable" and not path.startswith("/upload/session/"):
            self.take(0)
            session = f"/upload/session/{next(sink.numbers)}"
            sink.sessions[session] = 0
            self.respond(
                200, {}, Location=f"https://{self.headers['Host']}{session}?upload_id=1"
            )
        elif path in sink.sessions:
            self.session(path)
        elif self.take(0, path):
            self.respond(200, self.resource())

    def session(self, path: str) -> None:
        """Take the bytes of a range, or answer how many are stored."""
        span = self.headers.get("Content-Range", "").removeprefix("bytes ")
        start, total = span.split("-")[0], span.rpartition("/")[2]
        if not self.take(int(start) if start.isdigit() else 0, path):
            return
        stored = self.server.sessions[path]
        if not span or (total.isdigit() and stored == int(total)):
            self.respond(200, self.resource())
        else:
            # Go's client asks for the status in a header.
            no_308 = "X-GUploader-No-308" in self.headers
            known = {"Range": f"bytes=0-{stored - 1}"} if stored else {}
            override = {"X-Http-Status-Code-Override": "308"} if no_308 else {}
            self.respond(200 if no_308 else 308, None, **known, **override)

    def take(self, start: int, path: str = "") -> bool:
        """Read the body, which begins at the offset `start`, and throw it away. Return False if the
        fault fired in its middle.
        """
        sink, offset, fault = self.server, start, self.server.seen.fault
        buffer = memoryview(bytearray(BLOCK))
        for piece in self.pieces():
            end = offset + piece
            while offset < end:
                stop = min(end - offset, BLOCK)
                if path and fault and start <= fault["at"] < offset + stop:
                    self.fail(path, offset, fault)
                    return False
                count = self.rfile.readinto(buffer[:stop])
                if not count:
                    raise ConnectionAbortedError
                offset += count
                if path:
                    with sink.lock:
                        sink.seen.received += count
        if path and "bytes */" not in self.headers.get("Content-Range", ""):
            sink.sessions[path] = offset
        return True

    def fail(self, path: str, offset: int, fault: dict[str, Any]) -> None:
        """Fire the fault: the bytes before `offset` stay stored, and the connection ends."""
        self.server.seen.fault = {}
        self.server.sessions[path] = offset
        self.close_connection = True
        if fault["do"] == "503":
            self.respond(
                503, {"error": {"code": 503, "message": "busy"}}, Connection="close"
            )
        else:
            self.connection.setsockopt(SOL_SOCKET, SO_LINGER, struct.pack("ii", 1, 0))

    def pieces(self) -> Any:
        """Yield the sizes of the parts of the body: one, or those of its chunks."""
        if self.headers.get("Transfer-Encoding", "") != "chunked":
            yield int(self.headers.get("Content-Length", 0))
            return
        while size := int(self.rfile.readline().split(b";")[0], 16):
            yield size
            self.rfile.readline()
        self.rfile.readline()

    def resource(self) -> dict[str, Any]:
        """Return the resource of an uploaded file, with its digests if they are known."""
        stated = self.server.seen.digests
        if "/bundles" in self.path:
            return {
                "versionCode": 1,
                **{name: stated.get(name, "") for name in ("sha1", "sha256")},
            }
        return {"id": "1", "name": "o", "bucket": "b", "generation": "1", **stated}

    def respond(
        self, status: int, content: dict[str, Any] | None, **headers: str
    ) -> None:
        """Respond with JSON, or with nothing."""
        if self.path != "/__sink":
            time.sleep(self.server.seen.latency)
        body = (
            b""
            if content is None or self.command == "HEAD"
            else json.dumps(content).encode()
        )
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


def main() -> None:
    """Serve until it is killed."""
    port_file, certificate = map(Path, sys.argv[1:])
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate)
    sink = Sink(context)
    port_file.with_suffix(".part").write_text(str(sink.server_port))
    port_file.with_suffix(".part").rename(port_file)
    sink.serve_forever()


if __name__ == "__main__":
    main()
