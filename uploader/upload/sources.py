"""Where the bytes of an upload come from, a file or a stream: read block by block, digested once
while they are sent.

Digests follow what is really sent: sha256 always, and what the service will state of it. A large
file is digested on a second thread, since hashlib releases the interpreter's lock.
"""

from __future__ import annotations

import hashlib
import io
import os
import select
import sys
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import google_crc32c

from uploader.clock import Clock
from uploader.errors import IntegrityError, TemporaryError
from uploader.files.artifacts import STREAM, Artifact, changed, checked, difference
from uploader.http.messages import Block, Span

BLOCK = 1024 * 1024  # bytes read and handed on at once
LARGE = 8 * 1024 * 1024  # bytes; above this a second thread for the digest pays
# bytes; up to here a file that nobody has checked is digested before it is sent
_READ_TWICE = 64 * 1024 * 1024
_SAMPLE = 512 * 1024  # bytes
# blocks that may wait for their digest; of more, freed memory goes back to the system, page by page
_MAX_PENDING = 2
_PROBE_INTERVAL = 0.05  # seconds between two looks whether a pipe has a writer


def new_digest(algorithm: str) -> Any:
    """A digest of no bytes yet, as of hashlib; CRC32C is that of RFC 3720, appendix B.4."""
    if algorithm == "crc32c":
        return google_crc32c.Checksum()  # type: ignore[no-untyped-call]  # it has no types
    return hashlib.new(algorithm, usedforsecurity=False)


def while_sending(response_digest: str, *, readable_again: bool) -> tuple[str, ...]:
    """The digests to compute of bytes on their way to a service that is known to state
    `response_digest`, if any.

    Whatever else is stated is computed afterwards, unless the bytes can't be read again.
    """
    # in Python it takes minutes for a gigabyte
    if response_digest == "crc32c" and google_crc32c.implementation != "c":
        response_digest = "md5"  # which Cloud Storage states as well
    unknown = () if readable_again else ("sha1", "md5")
    return tuple(
        dict.fromkeys(("sha256", response_digest) if response_digest else ("sha256", *unknown))
    )


class Hasher:
    """Several digests of the same bytes, with `threaded` on a thread of its own; no more than a few
    blocks wait.
    """

    def __init__(self, algorithms: tuple[str, ...], *, threaded: bool) -> None:
        self._digests = {name: new_digest(name) for name in algorithms}
        self._worker = ThreadPoolExecutor(1) if threaded else None
        self._pending: deque[Future[None]] = deque()

    def update(self, block: bytes) -> None:
        """Takes the next bytes."""
        if self._worker is None:
            self._update(block)
            return
        self._pending.append(self._worker.submit(self._update, block))
        if len(self._pending) > _MAX_PENDING:
            self._pending.popleft().result()

    def hexdigests(self) -> dict[str, str]:
        """The digests of everything that was taken until now, in hex, by algorithm."""
        while self._pending:
            self._pending.popleft().result()
        return {name: digest.digest().hex() for name, digest in self._digests.items()}

    def close(self) -> None:
        """Ends the thread, if there is one."""
        if self._worker:
            self._worker.shutdown()

    def _update(self, block: bytes) -> None:
        for digest in self._digests.values():
            digest.update(block)


class FileSource:
    """A file, or content held in memory, from which any span can be read again. Use as a context
    manager.
    """

    def __init__(self, artifact: Artifact, algorithms: tuple[str, ...] = ("sha256",)) -> None:
        assert artifact.size is not None
        self.size = artifact.size
        # What is read again costs little, and then a new mode or link, which moves the ctime as
        # well, is no change.
        self._artifact = (
            checked(artifact) if not artifact.digests and artifact.size <= _READ_TWICE else artifact
        )
        self._hashed = 0
        self._file = self._artifact.open()
        self._opened_at = self._ctime()
        self._hasher = Hasher(algorithms, threaded=artifact.size > LARGE)

    def __enter__(self) -> FileSource:
        return self

    def __exit__(self, *_: object) -> None:
        self._hasher.close()
        self._file.close()

    def sample(self) -> str:
        """The sha256 of the first and the last 512 KiB, to tell another build of the same size from
        this one.

        An archive keeps the checksum of every member at its end.
        """
        digest = hashlib.sha256()
        for span in (
            Span(0, min(_SAMPLE, self.size)),
            Span(max(self.size - _SAMPLE, 0), self.size),
        ):
            for block in self._read(span):
                digest.update(block)
        return digest.hexdigest()

    def prefix(self) -> tuple[int, str]:
        """How many bytes were read for sending so far, and their sha256."""
        return self._hashed, self._hasher.hexdigests()["sha256"]

    def begins_with(self, length: int, sha256: str) -> bool:
        """Whether the first `length` bytes are those that an earlier run sent."""
        self._hash_up_to(length)
        return self.prefix() == (length, sha256)

    def available(self, span: Span) -> tuple[Span, bool]:
        """The part of `span` that exists, and whether the content ends with it."""
        return Span(span.start, min(span.stop, self.size)), span.stop >= self.size

    def blocks(self, span: Span) -> Iterator[Block]:
        """The bytes of `span`. Raises `IntegrityError` as soon as the file is no longer the one
        that was found.
        """
        self._hash_up_to(span.start)
        position = span.start
        for block in self._read(span):
            position += len(block)
            if position > self._hashed:
                fresh = position - self._hashed
                self._hasher.update(block if fresh == len(block) else block[-fresh:])
                self._hashed = position
            if position == self.size and self._ctime() != self._opened_at:
                self._confirm_unchanged()
            yield block

    def digests(self) -> dict[str, str]:
        """The digests of the whole content, of which the last bytes have just been sent."""
        self._hash_up_to(self.size)
        return self._hasher.hexdigests()

    def digest(self, algorithm: str) -> str:
        """Another digest of the whole content, for a service that was not known to state it; reads
        it once more.
        """
        extra = new_digest(algorithm)
        for block in self._read(Span(0, self.size)):
            extra.update(block)
        return str(extra.digest().hex())

    def _hash_up_to(self, offset: int) -> None:
        """Digests what an earlier run sent, so that the digest is that of the whole content."""
        if self._hashed < offset:
            for block in self._read(Span(self._hashed, offset)):
                self._hasher.update(block)
            self._hashed = offset

    def _ctime(self) -> int:
        return 0 if self._artifact.data is not None else os.fstat(self._file.fileno()).st_ctime_ns

    def _confirm_unchanged(self) -> None:
        """Before the last block leaves: a file that was touched is read once more, also where it
        was sent long ago.
        """
        now = self._ctime()
        for _ in self._read(Span(0, self.size)):
            pass  # a block that is not what was checked can't be read
        self._opened_at = now

    def _read(self, span: Span) -> Iterator[bytes]:
        self._file.seek(span.start)
        left = span.size
        if not left:
            self._check(complete=True)
        while left:
            try:
                block = self._file.read(min(BLOCK, left)) or b""
            except OSError as error:
                raise changed(
                    self._artifact, f"it can't be read any more ({error.strerror})"
                ) from None
            left -= len(block)
            self._check(complete=bool(block))
            yield block

    def _check(self, *, complete: bool) -> None:
        if not complete:
            raise changed(self._artifact, "it is shorter than it was")
        if self._artifact.data is not None:
            return
        # The path is asked, not the descriptor alone: a file that was replaced stays what it was
        # for who has it open.
        try:
            found = self._artifact.path.stat()
        except OSError:
            raise changed(self._artifact, "it is gone") from None
        for status in (found, os.fstat(self._file.fileno())):
            if how := difference(self._artifact, status):
                raise changed(self._artifact, how)


def sha256(artifact: Artifact) -> str:
    """The sha256 of a file, read once. Raises `IntegrityError` when it changes meanwhile."""
    with FileSource(artifact) as source:
        return source.digests()["sha256"]


class StreamSource:
    """A pipe: its size is known when it ends, and only what the server has not confirmed yet is
    held in memory.

    For the writer of a named pipe, and then for each byte, it waits `timeout` seconds at most.
    `algorithms` are the digests that are computed. Use as a context manager.
    """

    def __init__(
        self,
        artifact: Artifact,
        clock: Clock,
        timeout: float,
        algorithms: tuple[str, ...] = ("sha256",),
    ) -> None:
        self.size: int | None = None
        self._hasher = Hasher(algorithms, threaded=False)
        self._base = 0
        self._window = bytearray()
        self._clock, self._timeout = clock, timeout
        self._name = artifact.name
        self._file = self._open(artifact)
        if artifact.location != STREAM:
            self._await_writer(clock, timeout)

    def __enter__(self) -> StreamSource:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def available(self, span: Span) -> tuple[Span, bool]:
        """Reads until `span` is held, and one byte more to see the end: what there is, and whether
        it ends there.

        Raises `TemporaryError` when the server went back behind what is still held.
        """
        if span.start < self._base:
            raise TemporaryError(
                "The server lost bytes of a stream, which can't be read a second time.",
                hint="Run the job again, or give a file instead of a stream: a file can be "
                "resumed.",
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
        return self._hasher.hexdigests()

    def _next(self, max_size: int) -> bytes:
        """What comes out of the pipe next, at most `max_size` bytes; nothing at its end."""
        descriptor = self._file.fileno()
        while True:
            self._await_bytes(descriptor)
            try:
                block = os.read(descriptor, min(BLOCK, max_size))
            except BlockingIOError:
                continue  # whoever shares the pipe with us was quicker
            except OSError as error:
                raise self._unreadable(error.strerror) from None
            self._hasher.update(block)
            return block

    def _await_bytes(self, descriptor: int) -> None:
        """Until there is something to read, or the end. Raises `IntegrityError` for a writer that
        says nothing.
        """
        pipe, until = select.poll(), self._clock.monotonic() + self._timeout
        pipe.register(descriptor, select.POLLIN)
        while not pipe.poll(_PROBE_INTERVAL * 1000):
            if self._clock.monotonic() >= until:
                raise IntegrityError(
                    f"The stream {self._name} has said nothing for {self._timeout:g} s, and has "
                    "not ended.",
                    cause="The command that writes to it hangs, or needs more time.",
                    hint="Check the command that produces the stream, or set `stall-timeout` to "
                    "more than it needs. The incomplete upload was not finished.",
                    code="stream-silent",
                )
            self._clock.sleep(0)  # which ends when the run does

    def _open(self, artifact: Artifact) -> io.IOBase:
        if artifact.location != STREAM:
            return artifact.open()
        try:
            # The process's own standard input stays open for whoever else wants it.
            return open(os.dup(0), "rb", buffering=0)
        except OSError as error:
            raise self._unreadable(error.strerror) from None

    def _await_writer(self, clock: Clock, timeout: float) -> None:
        """Until a process has opened the pipe: before that, a read finds its end; after it, bytes,
        or none as yet.

        A pipe is at its end before its first writer as well as after its last. Linux alone tells
        the two apart: only a writer that is gone hangs up.
        """
        descriptor, until = self._file.fileno(), clock.monotonic() + timeout
        pipe = select.poll()
        pipe.register(descriptor, select.POLLIN)
        while True:
            try:
                first = os.read(descriptor, BLOCK)
            except BlockingIOError:
                break  # a writer that says nothing yet
            if first or (sys.platform == "linux" and pipe.poll(0)):
                self._hasher.update(first)
                self._window += first
                break
            if clock.monotonic() >= until:
                self._file.close()
                raise self._unreadable(f"no process opened it for writing within {timeout:g} s")
            # which ends when the run does
            clock.sleep(_PROBE_INTERVAL if pipe.poll(_PROBE_INTERVAL * 1000) else 0)
        os.set_blocking(descriptor, True)

    def _unreadable(self, reason: str | None) -> IntegrityError:
        return IntegrityError(
            f"The stream {self._name} can't be read: {reason or 'input/output error'}.",
            cause="The command that writes to it is missing or has failed.",
            hint="Check the command that produces the stream. The incomplete upload was not "
            "finished.",
            code="stream-unreadable",
        )


Source = FileSource | StreamSource
