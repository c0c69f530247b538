"""TLS on a socket, a whole block in one write: `ssl`'s own socket asks the system once for each record of 16 KiB."""

from __future__ import annotations

import socket
import ssl
import time
from contextlib import suppress
from io import BufferedReader
from typing import cast

_PIECE = 64 * 1024  # bytes taken off the socket at once


class TLSSocket:
    """What a connection needs of a socket, encrypted. After the handshake it waits as little as its `socket` does."""

    def __init__(self, sock: socket.socket, context: ssl.SSLContext, host: str) -> None:
        """Shakes hands with `host` within the socket's timeout as a whole. Raises OSError, and closes the socket."""
        self.socket = sock
        self._received, self._to_send = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._received, self._to_send, server_hostname=host)
        self._encrypted = memoryview(b"")  # what the socket has not taken yet, of so many bytes in clear
        self._taken = 0
        try:
            self._shake_hands(time.monotonic() + (sock.gettimeout() or 0.0))
        except BaseException:
            with suppress(OSError):
                sock.sendall(self._to_send.read())  # the alert that says what was wrong
            sock.close()
            raise

    def send(self, data: memoryview) -> int:
        """How many bytes of `data` are gone: all, or none yet, and then they have to be given once more.

        Raises `BlockingIOError` while there is no room.
        """
        if not self._encrypted:
            self._taken = self._tls.write(data)
            self._encrypted = memoryview(self._to_send.read())
        self._encrypted = self._encrypted[self.socket.send(self._encrypted) :]
        return 0 if self._encrypted else self._taken

    def recv_into(self, buffer: memoryview) -> int:
        """Puts the next bytes into `buffer`: how many, 0 at the end. Raises `BlockingIOError` while there are none."""
        while (count := self._decrypt(buffer)) is None:
            self._receive()
        return count

    def recv(self, size: int) -> bytes:
        """The next bytes, at most so many; see `recv_into`."""
        buffer = memoryview(bytearray(size))
        return bytes(buffer[: self.recv_into(buffer)])

    def pending(self) -> int:
        """How many bytes have been taken off the socket and not been given out."""
        return self._tls.pending() + self._received.pending

    def fileno(self) -> int:
        """The socket's descriptor, to wait for."""
        return self.socket.fileno()

    def settimeout(self, seconds: float) -> None:
        """How long the socket waits."""
        self.socket.settimeout(seconds)

    def makefile(self, mode: str) -> BufferedReader:
        """What keeps the socket open until it is closed as well; http.client wants it."""
        del mode
        return self.socket.makefile("rb")

    def close(self) -> None:
        """Closes the socket."""
        self.socket.close()

    def _shake_hands(self, deadline: float) -> None:
        done = False
        while not done:
            with suppress(ssl.SSLWantReadError):
                self._tls.do_handshake()
                done = True
            self.socket.settimeout(max(deadline - time.monotonic(), 0.001))
            self.socket.sendall(self._to_send.read())
            if not done:
                self._receive()

    def _decrypt(self, buffer: memoryview) -> int | None:
        """How many of the bytes that have come are in `buffer` now; None where more have to come first."""
        try:
            return cast(int, self._tls.read(len(buffer), buffer))
        except ssl.SSLWantReadError:
            return None
        except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
            return 0

    def _receive(self) -> None:
        piece = self.socket.recv(_PIECE)
        if piece:
            self._received.write(piece)
        else:
            self._received.write_eof()
