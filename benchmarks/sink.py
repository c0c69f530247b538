"""A server that takes uploads and keeps nothing: it counts, waits as long as told, and fails where told.

Run as `python -m benchmarks.sink PORT_FILE CERTIFICATE`, it serves plain HTTP and TLS on loopback, on a port each. It
speaks just enough of Google's upload protocols for every contestant, and it computes no digest: of those that it was
told for a size, it states what the service would (`answers`). `/__sink` is its back door: POST sets it up anew, GET
tells what it saw.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import math
import socket
import ssl
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from benchmarks import answers
from benchmarks.answers import Method
from benchmarks.http_side import Gone, Head, Peer
from benchmarks.tls_side import TlsSocket

CONTROL = "/__sink"
LOGIN = "/token"
_SMALL = 1 << 20  # bytes of a body that is read whole to know where its parts begin


@dataclass
class Sink:
    """What is set up and what was seen since then. `latency` is in seconds and comes before each answer.

    `fault` is `{"at": offset, "do": "503" | "reset"}` and fires once; `stated` maps a size to the digests of
    the file that has it, in hex by their names.
    """

    latency: float = 0.0
    fault: dict[str, Any] | None = None
    stated: dict[str, dict[str, str]] = field(default_factory=dict)
    requests: int = 0
    connections: int = 0
    most_connections: int = 0
    received: int = 0
    first_request: float = 0.0
    first_byte: float = 0.0

    def told(self) -> dict[str, Any]:
        """The counters, and the processor seconds that the sink has taken in its life. Times are monotonic seconds."""
        names = ("requests", "connections", "most_connections", "received", "first_request", "first_byte")
        return {name: getattr(self, name) for name in names} | {"cpu": time.process_time()}


class Server:
    """The sink on its sockets: a thread for each connection."""

    def __init__(self) -> None:
        self._sink = Sink()
        self._stored: dict[str, int] = {}
        self._sessions: dict[str, tuple[Method, int | None]] = {}  # by their paths, with the size if it was told
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        self._open = 0

    def listen(self, tls: ssl.SSLContext | None) -> int:
        """Serves on a free port from now on, and returns it."""
        listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        threading.Thread(target=self._accept, args=(listener, tls), daemon=True).start()
        return int(listener.getsockname()[1])

    def _accept(self, listener: socket.socket, tls: ssl.SSLContext | None) -> None:
        while True:
            sock, _ = listener.accept()
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self._serve, args=(sock, tls), daemon=True).start()

    def _serve(self, sock: socket.socket, tls: ssl.SSLContext | None) -> None:
        counted = False
        with contextlib.suppress(Gone, OSError), sock:
            peer = Peer(TlsSocket(sock, tls) if tls else sock, self._count)
            try:
                while True:
                    head = peer.head()
                    if head.path == CONTROL:
                        self._control(peer, head)
                        continue
                    if not counted and head.path != LOGIN:  # which Google has on another host
                        counted = True
                        self._opened(1)
                    self._answer(peer, head)
            finally:
                if counted:
                    self._opened(-1)

    def _control(self, peer: Peer, head: Head) -> None:
        if head.method == "POST":
            self._sink = Sink(**json.loads(peer.text(head)))
        peer.answer(200, self._sink.told())

    def _opened(self, change: int) -> None:
        with self._lock:
            self._open += change
            self._sink.connections += max(change, 0)
            self._sink.most_connections = max(self._sink.most_connections, self._open)

    def _count(self, count: int) -> None:
        with self._lock:
            self._sink.received += count
            self._sink.first_byte = self._sink.first_byte or time.monotonic()

    def _answer(self, peer: Peer, head: Head) -> None:
        with self._lock:
            self._sink.requests += 1
            self._sink.first_request = self._sink.first_request or time.monotonic()
        url = urlsplit(head.path)
        query = parse_qs(url.query)
        if url.path == LOGIN:
            peer.text(head)
            self._say(peer, 200, {"access_token": "sink", "expires_in": 3600, "token_type": "Bearer"})
        elif head.method in ("GET", "HEAD"):  # some look first whether the object is there
            missing = {"error": {"code": 404, "message": "not found"}}
            self._say(peer, 404, missing if head.method == "GET" else None)
        elif url.path.startswith("/session/"):
            self._session(peer, head, url.path)
        elif query.get("uploadType") == ["resumable"]:
            self._start(peer, head, Method(url.path, query.get("fields", [""])[0]))
        else:
            self._all_at_once(peer, head, Method(url.path, query.get("fields", [""])[0]))

    def _all_at_once(self, peer: Peer, head: Head, method: Method) -> None:
        """A request that holds a whole file, by itself or as the second part of its body."""
        media_type = head.headers.get("content-type", "")
        small = head.length is None or head.length <= _SMALL
        if "/storage/" in method.path and media_type.startswith("multipart/related") and small:
            body = peer.text(head)
            self._count(len(body))
            size = answers.media_size(body, media_type)
        else:
            size = self._take(peer, head, 0)
        self._say(peer, 200, self._resource(method, size))

    def _start(self, peer: Peer, head: Head, method: Method) -> None:
        peer.text(head)
        with self._lock:
            path = f"/session/{next(self._numbers)}"
        size = head.headers.get("x-upload-content-length")
        self._sessions[path] = method, int(size) if size else None
        self._say(peer, 200, Location=f"{peer.scheme}://{head.headers['host']}{path}?upload_id={path[9:]}")

    def _session(self, peer: Peer, head: Head, path: str) -> None:
        method, size = self._sessions[path]
        span = head.headers.get("content-range", "").removeprefix("bytes ")
        start = int(span.split("-")[0]) if "-" in span else None
        total = span.rpartition("/")[2] if span else str(size or head.headers.get("content-length"))
        if start is not None or not span:
            self._take(peer, head, start or 0, path)
        stored = self._stored.get(path, 0)
        if total.isdigit() and stored == int(total):
            self._say(peer, 200, self._resource(method, stored))
        else:
            # Go's client asks that the 308 be written in a header, lest somebody take it for a redirect.
            no_308: dict[str, str] = (
                {"X-Http-Status-Code-Override": "308"} if "x-guploader-no-308" in head.headers else {}
            )
            known: dict[str, str] = {"Range": f"bytes=0-{stored - 1}"} if stored else {}
            self._say(peer, 200 if no_308 else 308, None, **known, **no_308)

    def _take(self, peer: Peer, head: Head, start: int, session: str = "") -> int:
        """Takes a body that begins at `start` and returns where it ends, unless the fault strikes in the middle."""
        fault = self._sink.fault
        end = math.inf if head.length is None else start + head.length
        if fault is None or not start <= fault["at"] < end:
            self._stored[session] = start + peer.body(head)
            return self._stored[session]
        self._sink.fault = None
        self._stored[session] = start + peer.body(head, fault["at"] - start)
        if fault["do"] == "reset":
            peer.reset()
        else:
            self._say(peer, 503, {"error": {"code": 503, "message": "busy"}}, Connection="close")
            peer.drain()
        raise Gone

    def _resource(self, method: Method, size: int) -> dict[str, Any]:
        return answers.resource(method, size, self._sink.stated.get(str(size), {}))

    def _say(self, peer: Peer, status: int, content: dict[str, Any] | None = None, **headers: str) -> None:
        if self._sink.latency:
            time.sleep(self._sink.latency)
        peer.answer(status, content, **headers)


def main() -> None:
    """Serves until it is killed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("port_file", type=Path)
    parser.add_argument("certificate", type=Path)
    arguments = parser.parse_args()
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(arguments.certificate)
    server = Server()
    ports = {"http": server.listen(None), "https": server.listen(tls)}
    temporary = arguments.port_file.with_suffix(".part")
    temporary.write_text(json.dumps(ports))
    temporary.rename(arguments.port_file)
    threading.Event().wait()


if __name__ == "__main__":
    main()
