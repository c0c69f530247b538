"""HTTP/1.1 over real sockets: one thread for each connection, connections kept open, bodies never
read ahead.

A response that is given while the body is still arriving is sent at once, and the rest of the body
is read and thrown away, as by Google's front ends. So a client that reads the response can stop,
and one that does not is not reset.
"""

from __future__ import annotations

import contextlib
import re
import socket
import socketserver
import struct
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from email.message import Message
from io import BufferedReader
from typing import cast
from urllib.parse import parse_qsl

from google_emulator.config import Config
from google_emulator.http.request import Request
from google_emulator.http.response import (
    ApiError,
    Disconnected,
    Interrupted,
    Response,
    reason_phrase,
)
from google_emulator.http.wire import (
    BLOCK,
    Body,
    Source,
    decompressed,
    framed,
    read_head,
)
from google_emulator.traffic import Traffic

# seconds without a byte after which a client that was answered early counts as having stopped
LINGER = 5.0
# A stored value can be returned in a header, where a line break would begin another header.
_LINE_BREAK = re.compile("[\r\n\0]+")


class Server(socketserver.ThreadingTCPServer):
    """The listening socket on loopback, and the open connections.

    `url` is the root URL for clients. `respond` returns the response to a request, or raises
    `Interrupted` or `Disconnected`; it is set before the server is started.
    """

    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 256

    def __init__(
        self,
        port: int,
        config: Config,
        traffic: Traffic,
        connection: type[Connection] | None = None,
    ) -> None:
        super().__init__(("127.0.0.1", port), connection or Connection)
        self.url = f"http://127.0.0.1:{self.port}"
        self.respond: Callable[[Request], Response]
        self.traffic = traffic
        self._config = config
        self._stopping = threading.Event()
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()

    @property
    def port(self) -> int:
        """The port, which the system chose if it was given as 0."""
        return int(self.server_address[1])

    @property
    def is_stopping(self) -> bool:
        """Whether the server was told to stop."""
        return self._stopping.is_set()

    @contextlib.contextmanager
    def opened(self, connection: socket.socket) -> Iterator[None]:
        """Register a connection while it is served, so that `stop` can break it."""
        self.traffic.connected()
        with self._lock:
            self._open.add(connection)
        try:
            yield
        finally:
            with self._lock:
                self._open.discard(connection)

    def sleep(self, seconds: float) -> None:
        """Wait so many seconds, or until the server stops."""
        self._stopping.wait(seconds)

    def pace(self, count: int) -> None:
        """Wait as long as `count` bytes take at the configured rate."""
        if self._config.read_rate > 0:
            self.sleep(count / self._config.read_rate)

    def stop(self) -> None:
        """Stop listening and break every connection, without waiting for requests in progress."""
        self._stopping.set()
        # Wake the loop that accepts connections, which would otherwise sleep until its poll ends.
        # On macOS this is an error, and the loop wakes at the end of its poll.
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)
        self.shutdown()
        self.server_close()
        with self._lock:
            connections = list(self._open)
        for connection in connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


class Connection(socketserver.StreamRequestHandler):
    """One connection: requests one after the other, until either side closes it.

    `root` is the root URL under which the client reached it, empty for the server's own.
    """

    rbufsize = BLOCK
    root = ""
    disable_nagle_algorithm = True
    server: Server

    def handle(self) -> None:
        """Serve the connection. A client that breaks it is not an error here."""
        with (
            self.server.opened(self.connection),
            contextlib.suppress(OSError, Disconnected),
        ):
            while self._serve_one():
                pass

    def _serve_one(self) -> bool:
        """Serve one request. Return whether the connection stays open."""
        try:
            head = read_head(cast("BufferedReader", self.rfile))
            if head is None:
                return False
            query = dict(parse_qsl(head.url.query, keep_blank_values=True))
            root, body = self.root or self.server.url, self._body(head.headers)
            request = Request(
                root,
                head.method,
                head.url.path,
                query,
                head.headers,
                body,
                raw_query=head.url.query,
            )
        except ApiError as error:
            return self._refuse(error)
        try:
            response = self._respond(request)
        except Interrupted as interruption:
            if interruption.response is None:
                if interruption.reset:
                    # With a linger time of zero, close() sends RST and throws away what was not
                    # read.
                    self.connection.setsockopt(
                        socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
                    )
                self.rfile.close()
                self.connection.close()
                return False
            response = interruption.response
        except Disconnected:
            return self._refuse(
                ApiError(400, "The request body ended before it was complete.")
            )
        return self._reply(request, response, keep_open=head.keeps_open)

    def _respond(self, request: Request) -> Response:
        """Return the response to a request. A defect of the emulator is printed to stderr, and the
        client gets a 500.
        """
        try:
            return self.server.respond(request)
        except (Interrupted, Disconnected):
            raise
        except Exception:  # noqa: BLE001 - whatever it is, the client gets an answer
            # While the server stops, the uploaded files may be gone already.
            if not self.server.is_stopping:
                traceback.print_exc(file=sys.stderr)
            return ApiError(500, "Internal error encountered.").response()

    def _refuse(self, error: ApiError) -> bool:
        """Send an error and end the connection: nobody knows where the next request would begin."""
        self._send(error.response(), close=True)
        self._linger()
        return False

    def _reply(self, request: Request, response: Response, *, keep_open: bool) -> bool:
        body = request.body
        early = not body.ended and (
            body.length is None or body.length - body.received > BLOCK
        )
        if not early:
            try:
                body.drain()
            except (ApiError, Disconnected):
                early = True  # nobody knows where the next request would begin
        goes_on = keep_open and not early
        self._send(response, close=not goes_on, with_body=request.method != "HEAD")
        if not goes_on:
            self._linger()
        return goes_on

    def _linger(self) -> None:
        """Read what a client continues to send after a response, until it stops. If the connection
        were closed before, the response could be lost.
        """
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_WR)
            self.connection.settimeout(LINGER)
            while data := self.connection.recv(BLOCK):
                self.server.traffic.discarded(len(data))

    def _body(self, headers: Message) -> Body:
        """Return the body behind a head. The length of one that is compressed on the way is
        unknown.
        """
        source, length = framed(cast("BufferedReader", self.rfile), headers)
        if headers.get("Expect", "").lower() == "100-continue":
            source = self._continuing(source)
        if (
            length != 0
            and headers.get("Content-Encoding", "").strip().lower() == "gzip"
        ):
            del headers["Content-Encoding"]  # the source below is decompressed
            source, length = decompressed(source), None
        return Body(source, length, self.server.pace)

    def _continuing(self, source: Source) -> Source:
        """Return a source that sends `100 Continue` when the body is first read, not before."""
        is_announced = False

        def fill(view: memoryview) -> int:
            nonlocal is_announced
            if not is_announced:
                is_announced = True
                self.connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
            return source(view)

        return fill

    def _send(self, response: Response, *, close: bool, with_body: bool = True) -> None:
        data = _head(response, close=close)
        if response.cut_head is not None:
            self.connection.sendall(data[: min(response.cut_head, len(data) - 2)])
            raise Disconnected("a fault cut the answer")
        if not with_body:
            self.connection.sendall(data)
            return
        data += response.body[: response.cut]
        if response.cut is not None:
            self.connection.sendall(data)
            self.server.sleep(response.pause)
            raise Disconnected("a fault cut the answer")
        if response.drip:
            for byte in data:
                self.connection.sendall(bytes([byte]))
                self.server.sleep(response.drip)
        else:
            self.connection.sendall(data)


def _head(response: Response, *, close: bool) -> bytes:
    lines = [f"HTTP/1.1 {response.status} {reason_phrase(response.status)}"]
    lines += [
        f"{name}: {_LINE_BREAK.sub(' ', value)}" for name, value in response.headers
    ]
    if response.status != 204 and not response.header("Content-Length"):
        lines.append(f"Content-Length: {len(response.body)}")
    if close:
        lines.append("Connection: close")
    return "\r\n".join([*lines, "", ""]).encode("latin-1", "replace")
