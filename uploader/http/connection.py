"""Connections that notice a stalled write, and stop the body when an answer comes early.

An answer that comes while the body is on its way stops the body at once (RFC 9110, section 7.5). An interim answer
(1xx: 100 Continue, 102 Processing, 103 Early Hints) does not.
"""

from __future__ import annotations

import re
import select
import socket
import ssl
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from http.client import HTTPConnection, HTTPException
from io import BufferedReader
from typing import Any, cast

from uploader.http.messages import Block
from uploader.http.response import (
    AROUND_A_BODY,
    LARGEST_ANSWER,
    AnswerReader,
    CheckedResponse,
    pending,
    waits_by_itself,
)

_TOGETHER = 64 * 1024  # bytes of a block that goes in one write with the head of its request
_MOST_EARLY = 64 * 1024  # bytes of interim answers while the body is on its way
_INTERIM = re.compile(rb"(?:HTTP/1\.[01] 1\d\d[^\n]*\n(?:[^\r\n][^\n]*\n)*\r?\n)*")
_STATUS_OF_INTERIM = re.compile(rb"HTTP/1\.[01] 1")


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
                # The plain socket's own: that of `ssl`'s, as in a proxy's tunnel, first drops the cipher, and another
                # thread may be writing. Other TLS is no socket, but holds one.
                socket.socket.shutdown(getattr(sock, "socket", sock), socket.SHUT_RDWR)


class WatchedConnection(HTTPConnection):
    """A connection that watches its writes and its answers: see the head of this file."""

    sock: Any  # what http.client, ssl or urllib3 make; None while it is closed
    _outgoing: Outgoing = Outgoing((), 60.0)
    _early: bytes = b""
    _head: bytes | None = None  # of a request, from its end on, until the first block goes with it
    _out_of_step = False
    _polls: tuple[Any, dict[int, select.poll]] = (None, {})

    @property
    def is_open(self) -> bool:
        """Whether it is connected, and stands between two requests."""
        return self.sock is not None and not self._out_of_step

    @property
    def is_usable(self) -> bool:
        """Whether another request may be sent: the server has neither closed it by now nor said anything unasked."""
        return self.is_open and not pending(self.sock) and not self._poll(select.POLLIN).poll(0)

    def connect(self) -> None:
        """Opens it. From then on no call to the socket waits: all waiting is done beforehand, for what may happen."""
        super().connect()
        if not waits_by_itself(self.sock):
            self.sock.settimeout(0)

    def begin(self, outgoing: Outgoing, seconds: float) -> None:
        """Begins an exchange; a connection that is not open is opened, for which each step has so many seconds."""
        self._early, self._outgoing, outgoing.connection = b"", outgoing, self
        if self.sock is None:
            self.timeout = seconds
            self.connect()

    def send_request(self, method: str, target: str, headers: Mapping[str, str]) -> None:
        """Sends the request and its body; if the server cuts that short, its answer may be there to be read."""
        try:
            self.putrequest(method, target, skip_accept_encoding=True)
            for name, value in headers.items():
                self.putheader(name, value)
        except ValueError as error:
            raise HTTPException("the request holds what can't be sent") from error
        try:
            self._head = b""
            self.endheaders()
            for block in self._outgoing:
                self.send(block)
            self._send_head_with(b"")
        except (BrokenPipeError, ConnectionResetError):
            self._out_of_step = True  # what is left of the body would be read as the next request
        else:
            self._outgoing.sent_whole = True

    def receive(self, seconds: float) -> CheckedResponse:
        """The answer with its headers; all of it, the body too, has to come within so many seconds."""
        self.timeout = seconds
        return cast(CheckedResponse, HTTPConnection.getresponse(self))  # whatever urllib3 makes of it

    def send(self, data: Any) -> None:
        """Sends all of `data`, unless the server has begun to answer or no byte moves for the stall limit.

        The head of a request waits for the first block of its body, if that is a small one.
        """
        if self._head == b"":
            self._head = bytes(data)
        elif self._head and len(data) <= _TOGETHER:
            self._send_head_with(data)
        else:
            self._send_head_with(b"")
            self._send_all(memoryview(data))

    def _send_head_with(self, block: Block) -> None:
        if self._head:
            whole, self._head = b"".join((self._head, block)), None
            self._send_all(memoryview(whole))

    def _send_all(self, view: memoryview) -> None:
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
        deadline, poll = time.monotonic() + stall, self._poll(select.POLLIN | select.POLLOUT)
        happened = 0
        while not happened & select.POLLOUT:
            left = deadline - time.monotonic()
            found = poll.poll(left * 1000) if left > 0 else []
            if not found:
                raise TimeoutError("no byte moved")
            happened = found[0][1]
            if happened & ~select.POLLOUT and self._has_answer():
                raise BrokenPipeError("answered before the body was sent")
        if waits_by_itself(self.sock):
            self.sock.settimeout(stall)

    def _poll(self, events: int) -> select.poll:
        """What waits for such events, made once for each socket."""
        sock, polls = self._polls
        if sock is not self.sock:
            self._polls = self.sock, (polls := {})
        if events not in polls:
            polls[events] = select.poll()  # select.select refuses descriptors from 1024 on
            polls[events].register(self.sock, events)
        return polls[events]

    def _has_answer(self) -> bool:
        """Whether the answer itself has begun. Under TLS a readable socket may hold a session ticket only."""
        if waits_by_itself(self.sock):
            self.sock.settimeout(0)
        try:
            while received := self.sock.recv(65536):
                self._early += received
                if not _only_interim(self._early):
                    return True
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError, BlockingIOError):
            return False
        return True

    def response_class(  # type: ignore[override]  # a class there; http.client does nothing but call it
        self, sock: Any, *args: Any, **options: Any
    ) -> CheckedResponse:
        """http.client's response over a reader that begins with the early bytes and is limited in time and size."""
        response = CheckedResponse(sock, *args, **options)
        outgoing, seconds = self._outgoing, float(self.timeout or 0)
        limits = (seconds, outgoing.stall if outgoing.watched else seconds, outgoing.largest + AROUND_A_BODY)
        raw: Any = cast(Any, response.fp).detach()
        response.fp = BufferedReader(AnswerReader(raw, sock, self._poll(select.POLLIN), self._early, *limits))
        return response

    def close(self) -> None:
        """Closes the socket; the connection may be opened again."""
        self._out_of_step, self._head = False, None
        super().close()


def _only_interim(received: bytes) -> bool:
    """Whether these bytes are interim answers alone, the last perhaps not whole yet; too many of them are not."""
    whole = _INTERIM.match(received)
    rest = received[whole.end() if whole else 0 :][:10]
    begun = _STATUS_OF_INTERIM.match(rest + b"HTTP/1.1 1"[len(rest) :])
    return len(received) <= _MOST_EARLY and begun is not None
