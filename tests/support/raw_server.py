"""A server that does exactly what a test says, on a real socket: each connection goes to a function
of the test.
"""

from __future__ import annotations

import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Handler = Callable[[socket.socket], None]


@contextmanager
def serving(handler: Handler, *, tls: ssl.SSLContext | None = None) -> Iterator[str]:
    """Runs `handler` for every connection, one after the other, and gives the server's root URL."""
    listener = socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(
        target=_accept, args=(listener, handler, tls), daemon=True
    )
    thread.start()
    port = listener.getsockname()[1]
    try:
        yield f"https://localhost:{port}" if tls else f"http://127.0.0.1:{port}"
    finally:
        listener.close()


def _accept(
    listener: socket.socket, handler: Handler, tls: ssl.SSLContext | None
) -> None:
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        try:
            with (
                tls.wrap_socket(connection, server_side=True)
                if tls
                else connection as peer
            ):
                handler(peer)
        except OSError:
            continue


def read_head(connection: socket.socket) -> tuple[bytes, bytes]:
    """The head of one request (with its empty line), and the body bytes that came with it."""
    data = b""
    while b"\r\n\r\n" not in data:
        part = connection.recv(65536)
        if not part:
            raise ConnectionError("the client went away")
        data += part
    head, _, rest = data.partition(b"\r\n\r\n")
    return head, rest


def read_request(connection: socket.socket) -> tuple[bytes, bytes]:
    """The head of one request and its whole body."""
    head, body = read_head(connection)
    length = next(
        (
            int(line.split(b":")[1])
            for line in head.split(b"\r\n")
            if line.lower().startswith(b"content-length:")
        ),
        0,
    )
    while len(body) < length:
        body += connection.recv(1 << 20)
    return head, body


def response(status: int, body: bytes = b"", *headers: str) -> bytes:
    """One response, ready to send."""
    lines = [
        f"HTTP/1.1 {status} Answer",
        f"Content-Length: {len(body)}",
        *headers,
        "",
        "",
    ]
    return "\r\n".join(lines).encode() + body


def reset(connection: socket.socket) -> None:
    """Ends the connection with a TCP reset instead of an orderly end."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()
