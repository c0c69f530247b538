"""Connections that notice a stalled write, stop the body when an answer comes early, and limit every answer.

An answer that comes while the body is on its way stops the body at once (RFC 9110, section 7.5). An interim answer
(1xx: 100 Continue, 102 Processing, 103 Early Hints) does not: whenever it comes, it is read over. The read timeout is
the time for the whole answer, however it drips, and no more than a set number of bytes is taken off the socket for it,
whatever the answer says about its own length.
"""

from __future__ import annotations

import re
import select
import socket
import ssl
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from http.client import HTTPException, HTTPResponse, parse_headers
from io import BufferedReader, RawIOBase
from typing import Any, cast

from urllib3.connection import HTTPConnection

from uploader.http.messages import Block

LARGEST_ANSWER = 4 * 1024 * 1024  # bytes of a body; no resource that these methods return comes near it
_AROUND_A_BODY = 256 * 1024  # bytes for the head of an answer and for what frames its chunks
_MOST_INTERIM = 100  # interim answers before one answer: a "still processing" every few seconds is the most known
_MOST_EARLY = 64 * 1024  # bytes of interim answers while the body is on its way
_INTERIM = re.compile(rb"(?:HTTP/1\.[01] 1\d\d[^\n]*\n(?:[^\r\n][^\n]*\n)*\r?\n)*")
_STATUS_OF_INTERIM = re.compile(rb"HTTP/1\.[01] 1")


class AnswerTooLarge(OSError):
    """The answer goes on beyond what is ever read of one."""


class AnswerTimeout(TimeoutError):
    """The answer as a whole did not come within its time."""


class Outgoing:
    """One request on its way: its blocks and limits going down to the connection, what became of it coming back.

    `stall` is how many seconds no byte of it may move, `largest` how many bytes the body of its answer may have. With
    `watched` the answer may not stall either.
    """

    def __init__(
        self, blocks: Iterable[Block], stall: float, largest: int = LARGEST_ANSWER, *, watched: bool = False
    ) -> None:
        self._blocks = blocks
        self.stall = stall
        self.largest = largest
        self.watched = watched
        self.sent_whole = False
        self.aborted = False
        self.connection: WatchedConnection | None = None

    def __iter__(self) -> Iterator[Block]:
        return iter(self._blocks)

    def abort(self) -> None:
        """Breaks the connection that the request is on, from any thread."""
        self.aborted = True
        sock = self.connection.sock if self.connection else None
        if sock is not None:
            with suppress(OSError):  # closed already, which is what was wanted
                # The plain socket's own: ssl's shutdown first drops the cipher, and another thread may be writing.
                # TLS inside a proxy's own TLS is no socket, but holds one.
                socket.socket.shutdown(getattr(sock, "socket", sock), socket.SHUT_RDWR)


class WatchedConnection(HTTPConnection):
    """A connection that watches its writes and its answers: see the head of this file."""

    _outgoing: Outgoing = Outgoing((), 60.0)
    _early: bytes = b""
    _out_of_step = False
    _watched: tuple[Any, select.poll] | None = None

    def request(self, method: str, url: str, body: Any = None, headers: Any = None, **options: Any) -> None:
        """Sends one request; a body that the server cuts short with its answer ends in BrokenPipeError (see send)."""
        self._outgoing = body if isinstance(body, Outgoing) else Outgoing((), self._outgoing.stall)
        self._early, self._outgoing.connection = b"", self
        super().request(method, url, body=body, headers=headers, **options)
        self._outgoing.sent_whole = True

    def send(self, data: Any) -> None:
        """Sends all of `data`, unless the server has begun to answer or no byte moves for the stall limit."""
        if self.sock is None:
            self.connect()
        view = memoryview(data)
        while view:
            if self._outgoing.aborted:
                raise ConnectionAbortedError("the run was asked to end while connecting")
            self._await_room()
            try:
                view = view[self.sock.send(view) :]
            except (ssl.SSLWantWriteError, BlockingIOError):
                continue  # TLS took a part, and goes on from there when it is given the same bytes again

    def _await_room(self) -> None:
        """Waits until bytes can move, which is seen even in the middle of a large TLS write, or the answer begins."""
        stall = self._outgoing.stall
        deadline, poll = time.monotonic() + stall, self._poll()
        happened = 0
        while not happened & select.POLLOUT:
            left = deadline - time.monotonic()
            found = poll.poll(left * 1000) if left > 0 else []
            if not found:
                raise TimeoutError("no byte moved")
            happened = found[0][1]
            if happened & ~select.POLLOUT and self._has_answer():
                self._out_of_step = True
                raise BrokenPipeError("answered before the body was sent")  # urllib3 goes on to read the answer
        # Only TLS inside a proxy's own TLS is no real socket: it has to wait for room by itself.
        timeout = 0 if isinstance(self.sock, socket.socket) else stall
        if self.sock.gettimeout() != timeout:
            self.sock.settimeout(timeout)

    def _poll(self) -> select.poll:
        """What waits for room or for an answer, made once for each socket."""
        if self._watched is None or self._watched[0] is not self.sock:
            poll = select.poll()  # select.select refuses descriptors from 1024 on
            poll.register(self.sock, select.POLLIN | select.POLLOUT)
            self._watched = self.sock, poll
        return self._watched[1]

    def _has_answer(self) -> bool:
        """Whether the answer itself has begun. Under TLS a readable socket may hold a session ticket only."""
        self.sock.settimeout(0)
        try:
            received = self.sock.recv(65536)
        except (ssl.SSLWantReadError, BlockingIOError):
            return False
        self._early += received
        return not received or not _only_interim(self._early)

    def response_class(  # type: ignore[override]  # a class there; http.client does nothing but call it
        self, sock: Any, *args: Any, **options: Any
    ) -> HTTPResponse:
        """http.client's response over a reader that begins with the early bytes and is limited in time and size."""
        response = CheckedResponse(sock, *args, **options)
        raw: Any = response.fp.detach()
        # urllib3 has set `timeout` to the read timeout by now, which here is the time for the whole answer.
        seconds, size = float(self.timeout or 0), self._outgoing.largest + _AROUND_A_BODY
        stall = self._outgoing.stall if self._outgoing.watched else seconds
        reader = AnswerReader(raw, sock, self._early, seconds, size, stall)
        response.fp = BufferedReader(reader)
        return response

    @property
    def is_connected(self) -> bool:
        """False after a body was cut short too: what is left of it would be read as the next request."""
        return not self._out_of_step and super().is_connected

    def close(self) -> None:
        """Closes the socket; the connection may be opened again."""
        self._out_of_step = False
        super().close()


def _only_interim(received: bytes) -> bool:
    """Whether these bytes are interim answers alone, the last perhaps not whole yet; too many of them are not."""
    whole = _INTERIM.match(received)
    rest = received[whole.end() if whole else 0 :][:10]
    begun = _STATUS_OF_INTERIM.match(rest + b"HTTP/1.1 1"[len(rest) :])
    return len(received) <= _MOST_EARLY and begun is not None


class CheckedResponse(HTTPResponse):
    """http.client's response, which knows one interim answer alone, and takes a negative chunk size for no end."""

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

    Of the seconds no more than `stall` may pass without a byte.
    The limit is on what really comes from the socket. http.client reads to the end of the connection where an answer
    gives a negative length or chunk size, and a server can make that end never come.
    """

    def __init__(self, raw: Any, sock: socket.socket, early: bytes, seconds: float, size: int, stall: float) -> None:
        self._raw, self._sock, self._early = raw, sock, early
        self._deadline = time.monotonic() + seconds
        self._left = size
        self._stall = stall

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
        remaining = self._deadline - time.monotonic()
        if remaining <= 0:
            raise AnswerTimeout
        self._sock.settimeout(min(remaining, self._stall))
        try:
            return cast(int, self._raw.readinto(buffer))
        except TimeoutError as error:
            raise AnswerTimeout from error

    def close(self) -> None:
        """Closes the socket's side, too."""
        self._raw.close()
        super().close()
