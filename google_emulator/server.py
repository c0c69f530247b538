"""HTTP/1.1 over real sockets: one thread for each connection, connections kept open, bodies never read ahead.

When an answer is given while the body is still on its way, it is sent at once and the rest is read and thrown away, as
Google's front ends do, so that a client that reads it can stop and one that does not is not reset.
"""

from __future__ import annotations

import contextlib
import http.client
import socket
import socketserver
import struct
import threading
from email.message import Message
from typing import cast
from urllib.parse import parse_qsl, urlsplit

from google_emulator import service
from google_emulator.answers import Answer, Cut, Refusal, Vanished, phrase
from google_emulator.body import BLOCK, LINE_LIMIT, Body, Source, chunked, sized, stream_of
from google_emulator.exchange import Exchange
from google_emulator.world import World

LINGER = 5.0
_FILLER = b"x" * BLOCK


class Server(socketserver.ThreadingTCPServer):
    """The listening socket on loopback, and the connections that are open."""

    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 256

    def __init__(self, port: int) -> None:
        super().__init__(("127.0.0.1", port), Connection)
        self.world: World
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()

    @property
    def port(self) -> int:
        """The port that the system gave."""
        return int(self.server_address[1])

    def opened(self, connection: socket.socket) -> None:
        """Remembers a connection, so that the end of the server ends it."""
        with self._lock:
            self._open.add(connection)
            self.world.connections += 1

    def closed(self, connection: socket.socket) -> None:
        """Forgets a connection."""
        with self._lock:
            self._open.discard(connection)

    def stop(self) -> None:
        """Stops listening and breaks every connection, without waiting for what is under way."""
        self.shutdown()
        self.server_close()
        with self._lock:
            connections = list(self._open)
        for connection in connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


class Connection(socketserver.StreamRequestHandler):
    """One connection: requests one after the other until either side has had enough."""

    rbufsize = BLOCK
    disable_nagle_algorithm = True
    server: Server

    def handle(self) -> None:
        """Serves the connection; a client that breaks it is no error here."""
        self.server.opened(self.connection)
        try:
            with contextlib.suppress(OSError, Vanished):
                while self._exchange():
                    pass
        finally:
            self.server.closed(self.connection)

    def _exchange(self) -> bool:
        """One request and its answer; whether the connection stays open."""
        try:
            request = self._read_request()
        except Refusal as refusal:
            self._send(refusal.answer(), close=True)
            return False
        if request is None:
            return False
        try:
            answer: Answer | None = service.answer(request)
        except Cut as cut:
            answer = cut.answer
            if answer is None:
                self._abort(reset=cut.reset)
                return False
        return self._reply(request, cast("Answer", answer))

    def _reply(self, request: Exchange, answer: Answer) -> bool:
        early = not request.body.ended and (request.body.length is None or self._left(request) > BLOCK)
        close = early or request.header("Connection").lower() == "close"
        if not early:
            with contextlib.suppress(Refusal):
                request.body.drain()
        self._send(answer, close=close)
        if early:
            self._linger()
        return not close

    @staticmethod
    def _left(request: Exchange) -> int:
        return (request.body.length or 0) - request.body.received

    def _linger(self) -> None:
        """Reads what a client goes on sending behind an answer, until it stops."""
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_WR)
            self.connection.settimeout(LINGER)
            while data := self.connection.recv(BLOCK):
                self.server.world.discard(len(data))

    def _abort(self, *, reset: bool) -> None:
        if reset:
            # With a linger time of zero, close() sends RST and throws away what was not read.
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.rfile.close()
        self.connection.close()

    def _read_request(self) -> Exchange | None:
        line = self.rfile.readline(LINE_LIMIT)
        if not line:
            return None
        words = line.decode("latin-1").split()
        if len(words) != 3 or not words[2].startswith("HTTP/1."):
            raise Refusal(400, "Your client has issued a malformed or illegal request.")
        method, target, _ = words
        try:
            headers = http.client.parse_headers(self.rfile)
        except http.client.HTTPException as error:
            raise Refusal(431, f"Request header fields too large: {error}") from None
        url = urlsplit(target)
        query = dict(parse_qsl(url.query, keep_blank_values=True))
        return Exchange(self.server.world, method, url.path, query, headers, self._body(headers))

    def _body(self, headers: Message) -> Body:
        source, length = self._source(headers)
        if headers.get("Expect", "").lower() == "100-continue":
            source = self._continuing(source)
        return Body(source, length, self._pace)

    def _source(self, headers: Message) -> tuple[Source, int | None]:
        stream = stream_of(self.rfile)
        if headers.get("Transfer-Encoding", "").lower() == "chunked":
            return chunked(stream), None
        text = str(headers.get("Content-Length", "0"))
        if not text.isdecimal():
            raise Refusal(400, "Invalid Content-Length.")
        return sized(stream, int(text)), int(text)

    def _continuing(self, source: Source) -> Source:
        """Says `100 Continue` when the body is first wanted, and not before."""
        told = False

        def fill(view: memoryview) -> int:
            nonlocal told
            if not told:
                told = True
                self.connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
            return source(view)

        return fill

    def _pace(self, count: int) -> None:
        rate = self.server.world.config.read_rate
        if rate > 0:
            self.server.world.sleep(count / rate)

    def _send(self, answer: Answer, *, close: bool) -> None:
        lines = [f"HTTP/1.1 {answer.status} {phrase(answer.status)}"]
        lines += [f"{name}: {value}" for name, value in answer.headers]
        if answer.status != 204:
            lines.append(f"Content-Length: {len(answer.body) + answer.filler}")
        if close:
            lines.append("Connection: close")
        data = "\r\n".join([*lines, "", ""]).encode("latin-1", "replace") + answer.body
        if answer.drip:
            for byte in data:
                self.connection.sendall(bytes([byte]))
                self.server.world.sleep(answer.drip)
        else:
            self.connection.sendall(data)
        for start in range(0, answer.filler, BLOCK):
            self.connection.sendall(_FILLER[: min(BLOCK, answer.filler - start)])
