"""One answer, limited as a whole: its time, however it drips, and what is taken off the socket for it.

Both hold whatever the answer says about its own length. An interim answer (1xx: 100 Continue, 102 Processing, 103 Early
Hints) is read over.
"""

from __future__ import annotations

import select
import socket
import ssl
import time
from http.client import HTTPException, HTTPResponse, IncompleteRead, parse_headers
from io import RawIOBase
from typing import Any, cast

from uploader.http.tls_socket import TLSSocket

LARGEST_ANSWER = 4 * 1024 * 1024  # bytes of a body; no resource that these methods return comes near it
AROUND_A_BODY = 256 * 1024  # bytes for the head of an answer and for what frames its chunks
_MOST_INTERIM = 100  # interim answers before one answer: a "still processing" every few seconds is the most known


class AnswerTooLarge(OSError):
    """The answer goes on beyond what is ever read of one."""


class AnswerTimeout(TimeoutError):
    """The answer as a whole did not come within its time."""


class CheckedResponse(HTTPResponse):
    """http.client's response, which knows one interim answer alone, and takes a negative chunk size for no end."""

    def take(self, most: int) -> bytes:
        """The next bytes of the body, at most so many; none at its end. Raises `IncompleteRead` before that."""
        block = self.read(most)
        if not block and self.length:
            raise IncompleteRead(block, self.length)
        return block

    def _read_status(self) -> tuple[str, int, str]:
        for _ in range(_MOST_INTERIM):
            line: tuple[str, int, str] = super()._read_status()  # type: ignore[misc]  # no name of the public interface
            if not 100 <= line[1] < 200:
                return line
            parse_headers(self.fp)
        raise HTTPException("endless interim answers")

    def _read_next_chunk_size(self) -> int:
        size: int = super()._read_next_chunk_size()  # type: ignore[misc]  # no name of the public interface
        if size < 0:
            raise HTTPException("a chunk has a negative size")
        return size


class AnswerReader(RawIOBase):
    """The reading side of a connection for one answer: `seconds` and `size` in bytes limit the answer as a whole.

    Of the seconds no more than `stall` may pass without a byte. `readable` waits for the socket.
    The limit is on what really comes from the socket. http.client reads to the end of the connection where an answer
    gives a negative length or chunk size, and a server can make that end never come.
    """

    def __init__(
        self, raw: Any, sock: Any, readable: select.poll, early: bytes, seconds: float, stall: float, size: int
    ) -> None:
        self._raw, self._sock, self._poll, self._early = raw, sock, readable, early
        self._deadline = time.monotonic() + seconds
        self._stall = stall
        self._left = size

    def readable(self) -> bool:
        """True, as `io` wants to hear."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Raises `AnswerTooLarge` or `AnswerTimeout` at the limits."""
        if self._left <= 0:
            raise AnswerTooLarge
        count = self._read(memoryview(buffer)[: self._left])
        self._left -= count
        return count

    def _read(self, buffer: memoryview) -> int:
        if self._early:
            count = min(len(self._early), len(buffer))
            buffer[:count], self._early = self._early[:count], self._early[count:]
            return count
        waited = pending(self._sock) > 0
        while True:
            seconds = min(self._deadline - time.monotonic(), self._stall)
            if seconds <= 0:
                raise AnswerTimeout
            try:
                if not waited:
                    self._await_bytes(seconds)
                return cast(int, self._sock.recv_into(buffer))
            except (ssl.SSLWantReadError, BlockingIOError):
                waited = False  # a TLS record that is not whole yet, or holds no bytes of the answer
            except TimeoutError as error:
                raise AnswerTimeout from error

    def _await_bytes(self, seconds: float) -> None:
        if waits_by_itself(self._sock):
            self._sock.settimeout(seconds)
        elif not self._poll.poll(seconds * 1000):
            raise TimeoutError

    def close(self) -> None:
        """Closes the socket's side, too."""
        self._raw.close()
        super().close()


def waits_by_itself(sock: Any) -> bool:
    """Whether it is TLS inside a proxy's own TLS: no real socket, whose calls have to wait for what may happen."""
    return not isinstance(sock, socket.socket | TLSSocket)


def pending(sock: Any) -> int:
    """How many bytes TLS has taken off the socket and not given out: there is no waiting for those."""
    return int(getattr(sock, "pending", int)())
