"""One connection as the sink sees it: requests with their heads read, their bodies counted and thrown away."""

from __future__ import annotations

import json
import socket
import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks.tls_side import TlsSocket

_BUFFER = 1 << 20  # bytes
_AT_ONCE = 1 << 18  # bytes that must have come before a sink wakes that expects many more


class Gone(Exception):
    """The client closed the connection."""


@dataclass(frozen=True)
class Head:
    """The start of a request. Header names are in lower case."""

    method: str
    path: str
    headers: Mapping[str, str]

    @property
    def length(self) -> int | None:
        """How many bytes the body has; None when it comes in chunks."""
        chunked = "chunked" in self.headers.get("transfer-encoding", "")
        return None if chunked else int(self.headers.get("content-length", 0))


class Peer:
    """A client's connection. `received` is told of every piece of a body, in bytes."""

    def __init__(self, sock: socket.socket | TlsSocket, received: Callable[[int], None]) -> None:
        self.scheme = "https" if isinstance(sock, TlsSocket) else "http"
        self._sock = sock
        self._received = received
        self._buffer = memoryview(bytearray(_BUFFER))
        self._rest = b""
        self._waking = 1

    def head(self) -> Head:
        """The next request's head. Raises `Gone` when there is none."""
        data = self._rest
        while (end := data.find(b"\r\n\r\n")) < 0:
            data += self._more()
        self._rest = data[end + 4 :]
        first, *lines = data[:end].decode("latin-1").split("\r\n")
        method, path, _ = first.split(" ")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        if headers.get("expect") == "100-continue":
            self._sock.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        return Head(method, path, headers)

    def body(self, head: Head, stop: int | None = None) -> int:
        """Swallows the body, or its first `stop` bytes, and returns how many bytes that were."""
        if head.length is not None:
            return self._swallow(head.length if stop is None else min(head.length, stop))
        taken = 0
        for size in self._chunks():
            if stop is not None and taken + size > stop:
                return taken + self._swallow(stop - taken)
            taken += self._swallow(size)
        return taken

    def text(self, head: Head) -> bytes:
        """A small body as it is."""
        sizes = self._chunks() if head.length is None else (head.length,)
        return b"".join(map(self._exactly, sizes))

    def answer(self, status: int, content: Mapping[str, Any] | None = None, **headers: str) -> None:
        """Answers with JSON, or with nothing; a header's underscores stand for hyphens."""
        body = b"" if content is None else json.dumps(content).encode()
        lines = [f"HTTP/1.1 {status} -", "Content-Type: application/json", f"Content-Length: {len(body)}"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        self._sock.sendall("\r\n".join([*lines, "", ""]).encode() + body)

    def drain(self) -> None:
        """Reads what the client still sends after an early answer, as a front end does, until it goes away."""
        self._sock.settimeout(1.0)
        while self._sock.recv_into(self._buffer):
            pass

    def reset(self) -> None:
        """Ends the connection with a TCP reset."""
        self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._sock.close()

    def _chunks(self) -> Iterator[int]:
        while True:
            while b"\r\n" not in self._rest:
                self._rest += self._more()
            line, _, self._rest = self._rest.partition(b"\r\n")
            size = int(line.split(b";")[0], 16)
            yield size
            self._swallow(2, quiet=True)  # the line's end after the bytes
            if not size:
                return

    def _exactly(self, size: int) -> bytes:
        while len(self._rest) < size:
            self._rest += self._more()
        text, self._rest = self._rest[:size], self._rest[size:]
        return text

    def _swallow(self, size: int, *, quiet: bool = False) -> int:
        left = size
        while left:
            self._wake_at(_AT_ONCE if left > _BUFFER else 1)
            if self._rest:
                count = min(left, len(self._rest))
                self._rest = self._rest[count:]
            else:
                count = self._pass_over(min(left, _BUFFER))
            if not count:
                raise Gone
            left -= count
            if not quiet:
                self._received(count)
        return size

    def _pass_over(self, most: int) -> int:
        """Takes what has come. Without TLS it is counted where it is: the kernel need not copy what nobody reads."""
        if isinstance(self._sock, socket.socket):
            return self._sock.recv_into(self._buffer, most, socket.MSG_TRUNC)
        return self._sock.recv_into(self._buffer, most)

    def _wake_at(self, count: int) -> None:
        """Sleeps from now on until so many bytes are there: who wakes for each packet takes the sender's time."""
        if count != self._waking:
            self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, struct.pack("i", count))
            self._waking = count

    def _more(self) -> bytes:
        data = self._sock.recv(65536)
        if not data:
            raise Gone
        return data
