"""TLS as the sink speaks it: read in large pieces, since `ssl`'s own socket asks the kernel twice for each record."""

from __future__ import annotations

import socket
import ssl
from contextlib import suppress

_PIECE = 1 << 20  # bytes


class TlsSocket:
    """What the sink needs of a socket, over TLS. Raises `OSError` when the handshake fails."""

    def __init__(self, sock: socket.socket, context: ssl.SSLContext) -> None:
        self._sock = sock
        self._piece = memoryview(bytearray(_PIECE))
        self._in, self._out = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._in, self._out, server_side=True)
        while not self._shaken():
            if not self._fill():
                raise ConnectionAbortedError("gone during the handshake")

    def recv_into(self, buffer: memoryview, size: int = 0) -> int:
        """As of a socket, but whatever has come is taken at once, however many records that are."""
        buffer = buffer[: size or len(buffer)]
        count = self._take(buffer)
        while not count and self._fill():
            count = self._take(buffer)
        return count

    def recv(self, size: int) -> bytes:
        """As of a socket."""
        buffer = memoryview(bytearray(size))
        return bytes(buffer[: self.recv_into(buffer)])

    def sendall(self, data: bytes) -> None:
        """As of a socket."""
        self._tls.write(data)
        self._flush()

    def settimeout(self, seconds: float) -> None:
        """As of a socket."""
        self._sock.settimeout(seconds)

    def setsockopt(self, level: int, option: int, value: bytes) -> None:
        """As of a socket."""
        self._sock.setsockopt(level, option, value)

    def close(self) -> None:
        """As of a socket."""
        self._sock.close()

    def _shaken(self) -> bool:
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            return False
        finally:
            self._flush()
        return True

    def _take(self, buffer: memoryview) -> int:
        count = 0
        with suppress(ssl.SSLWantReadError, ssl.SSLZeroReturnError):
            while count < len(buffer):
                taken = int(self._tls.read(len(buffer) - count, buffer[count:]))
                if not taken:
                    break
                count += taken
        return count

    def _fill(self) -> int:
        count = self._sock.recv_into(self._piece)
        self._in.write(self._piece[:count])
        return count

    def _flush(self) -> None:
        if self._out.pending:
            self._sock.sendall(self._out.read())
