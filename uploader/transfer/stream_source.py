"""A pipe as a source: read once, ahead of what is sent, and held in memory only until the server has confirmed it."""

from __future__ import annotations

import io
import os
import select
import sys
from collections.abc import Iterator

from uploader.clock import Clock
from uploader.errors import IntegrityError, TemporaryError
from uploader.files.artifacts import STREAM, Artifact
from uploader.http.messages import Block, Span
from uploader.transfer.file_source import BLOCK
from uploader.transfer.hashing import Hasher

_GLANCE = 0.05  # seconds between two looks whether a pipe has a writer


class StreamSource:
    """A pipe: its size is known when it ends, and only what the server has not confirmed yet is held in memory.

    For the writer of a named pipe it waits `limit` seconds at most. `algorithms` are the digests that are computed.
    """

    def __init__(
        self, artifact: Artifact, clock: Clock, limit: float, algorithms: tuple[str, ...] = ("sha256",)
    ) -> None:
        self.size: int | None = None
        self._hasher = Hasher(algorithms, overlap=False)
        self._base = 0
        self._window = bytearray()
        self._name = artifact.name
        self._file = self._open(artifact)
        if artifact.location != STREAM:
            self._await_writer(clock, limit)

    def __enter__(self) -> StreamSource:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def available(self, span: Span) -> tuple[Span, bool]:
        """Reads until `span` is held, and one byte more to see the end: what there is, and whether it ends there.

        Raises `TemporaryError` when the server went back behind what is still held.
        """
        if span.start < self._base:
            raise TemporaryError(
                "The server lost bytes of a stream, which can't be read a second time.",
                hint="Run the job again, or give a file instead of a stream: a file can be resumed.",
                code="stream-bytes-lost",
            )
        # A new buffer each time: views of the old one may still be on their way to the socket.
        window = self._window[span.start - self._base :]
        while len(window) <= span.size and (block := self._next(span.size + 1 - len(window))):
            window += block
        self._window, self._base = window, span.start
        ended = len(self._window) <= span.size
        if ended:
            self.size = self._base + len(self._window)
        return Span(span.start, min(span.stop, self._base + len(self._window))), ended

    def blocks(self, span: Span) -> Iterator[Block]:
        """The bytes of `span`, which `available` has read."""
        held = memoryview(self._window)[span.start - self._base : span.stop - self._base]
        for start in range(0, len(held), BLOCK):
            yield held[start : start + BLOCK]

    def digests(self) -> dict[str, str]:
        """The digests of everything that came out of the pipe."""
        return self._hasher.finish()

    def digest(self, algorithm: str) -> str:
        """Empty: a stream can't be read again for a digest that was not computed on the way."""
        del algorithm
        return ""

    def _next(self, most: int) -> bytes:
        try:
            block = self._file.read(min(BLOCK, most))
        except OSError as error:
            raise self._unreadable(error.strerror) from None
        self._hasher.update(block)
        return block

    def _open(self, artifact: Artifact) -> io.BufferedReader:
        if artifact.location != STREAM:
            return io.BufferedReader(artifact.open())
        try:
            return open(os.dup(0), "rb")  # the process's own standard input stays open for whoever else wants it
        except OSError as error:
            raise self._unreadable(error.strerror) from None

    def _await_writer(self, clock: Clock, limit: float) -> None:
        """Until a process has opened the pipe: before that, a read finds its end; after it, bytes, or none as yet."""
        descriptor, until = self._file.fileno(), clock.monotonic() + limit
        pipe = select.poll()
        pipe.register(descriptor, select.POLLIN)
        while (first := _first_bytes(descriptor, pipe)) is None:
            if clock.monotonic() >= until:
                self._file.close()
                raise self._unreadable(f"no process opened it for writing within {limit:g} s")
            clock.sleep(_GLANCE if pipe.poll(_GLANCE * 1000) else 0)  # which also ends when the run does
        os.set_blocking(descriptor, True)
        self._hasher.update(first)
        self._window += first

    def _unreadable(self, reason: str | None) -> IntegrityError:
        return IntegrityError(
            f"The stream {self._name} can't be read: {reason or 'input/output error'}.",
            cause="The command that writes to it is missing or has failed.",
            hint="Check the command that produces the stream. The incomplete upload was not finished.",
            code="stream-unreadable",
        )


def _first_bytes(descriptor: int, pipe: select.poll) -> bytes | None:
    """What a pipe that does not block has to say; none yet, or for good, from its writer; None while it has no writer.

    A pipe is at its end before its first writer as well as after its last. Linux alone tells the two apart: only a
    writer that is gone hangs up.
    """
    try:
        if block := os.read(descriptor, BLOCK):
            return block
    except BlockingIOError:
        return b""
    return b"" if sys.platform == "linux" and pipe.poll(0) else None
