"""Where the bytes of an upload come from: a file or a stream, read block by block.

The digests of the bytes are computed once, while they are sent, so that they are those of what was
really sent.
"""

from __future__ import annotations

import hashlib
import io
import os
import select
import sys
from collections.abc import Iterator

from uploader.clock import Clock
from uploader.errors import IntegrityError, TemporaryError
from uploader.files.artifacts import (
    STREAM,
    Artifact,
    add_digests,
    difference,
    file_changed_error,
)
from uploader.http.messages import Block, Span
from uploader.upload.digests import Hasher, new_digest

BLOCK = 1024 * 1024  # bytes of one read
LARGE = 8 * 1024 * 1024  # bytes; above this a second thread for the digest pays
# Bytes; up to here a file that nobody has checked is digested before it is sent.
_READ_TWICE = 64 * 1024 * 1024
_SAMPLE = 512 * 1024  # bytes
_PROBE_INTERVAL = 0.05  # seconds between two looks at a pipe


class FileSource:
    """A file, or content held in memory, from which any span can be read again. Use as a context
    manager.
    """

    def __init__(
        self, artifact: Artifact, algorithms: tuple[str, ...] = ("sha256",)
    ) -> None:
        assert artifact.size is not None
        self.size = artifact.size
        if not artifact.digests and self.size <= _READ_TWICE:
            # Reading so little twice costs little. The file is then identified by its content, and
            # a new mode or link, which also changes the ctime, is no change.
            artifact = add_digests(artifact)
        self._artifact = artifact
        self._hashed = 0  # bytes from the start of the file that were digested
        self._file = self._artifact.open()
        self._opened_at = self._ctime()
        self._hasher = Hasher(algorithms, threaded=self.size > LARGE)

    def __enter__(self) -> FileSource:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._hasher.close()
        self._file.close()

    def pause(self) -> None:
        """Close the file until something of it is read again."""
        self._file.close()

    def sample(self) -> str:
        """Return the sha256 of the first and the last 512 KiB together.

        It differs between builds of the same size: an archive keeps the checksum of every member at
        its end.
        """
        size = min(_SAMPLE, self.size)
        beginning = Span(0, size)
        end = Span(self.size - size, self.size)
        digest = hashlib.sha256()
        for span in (beginning, end):
            for block in self._read(span):
                digest.update(block)
        return digest.hexdigest()

    def prefix(self) -> tuple[int, str]:
        """Return how many bytes were read for sending so far, and their sha256."""
        digests = self._hasher.hexdigests()
        return self._hashed, digests["sha256"]

    def begins_with(self, length: int, sha256: str) -> bool:
        """Return whether the first `length` bytes are those that an earlier run sent."""
        self._hash_up_to(length)
        return self.prefix() == (length, sha256)

    def available(self, span: Span) -> tuple[Span, bool]:
        """Return the part of `span` that exists, and whether the content ends with it."""
        stop = min(span.stop, self.size)
        has_ended = stop == self.size
        return Span(span.start, stop), has_ended

    def blocks(self, span: Span) -> Iterator[Block]:
        """Yield the bytes of `span`.

        Raises `IntegrityError` as soon as the file is no longer the one that was found.
        """
        self._hash_up_to(span.start)
        position = span.start
        for block in self._read(span):
            position += len(block)
            if position > self._hashed:
                # The first bytes of the block may have been digested when they were sent before.
                new_size = position - self._hashed
                new_bytes = block
                if new_size < len(block):
                    new_bytes = block[-new_size:]
                self._hasher.update(new_bytes)
                self._hashed = position
            is_last = position == self.size
            if is_last and self._ctime() != self._opened_at:
                self._confirm_unchanged()
            yield block

    def digests(self) -> dict[str, str]:
        """Return the digests of the whole content, whose last bytes have just been sent."""
        self._hash_up_to(self.size)
        return self._hasher.hexdigests()

    def digest(self, algorithm: str) -> str:
        """Return another digest of the whole content, for which it is read once more.

        It is for a service that was not known to state this digest.
        """
        extra = new_digest(algorithm)
        everything = Span(0, self.size)
        for block in self._read(everything):
            extra.update(block)
        return str(extra.digest().hex())

    def _hash_up_to(self, offset: int) -> None:
        """Digest the bytes before `offset` that were not read for sending, so that the digest is
        that of the whole content.
        """
        if self._hashed >= offset:
            return
        skipped = Span(self._hashed, offset)
        for block in self._read(skipped):
            self._hasher.update(block)
        self._hashed = offset

    def _ctime(self) -> int:
        if self._artifact.data is not None:
            return 0
        return os.fstat(self._file.fileno()).st_ctime_ns

    def _confirm_unchanged(self) -> None:
        """Read the whole file again, because its ctime has changed, before the last block is sent.

        Bytes that were sent long ago may have been changed as well. Raises `IntegrityError` if they
        were.
        """
        now = self._ctime()
        everything = Span(0, self.size)
        for _ in self._read(everything):
            # Reading raises the error for a block that is not what was checked.
            pass
        self._opened_at = now

    def _read(self, span: Span) -> Iterator[bytes]:
        """Yield the bytes of `span` from the file, which is the one that was found."""
        if self._file.closed:
            self._file = self._artifact.open()
        self._file.seek(span.start)
        left = span.size
        if not left:
            self._check_identity()
        while left:
            size = min(BLOCK, left)
            try:
                block = self._file.read(size)
            except OSError as error:
                change = f"it can't be read any more ({error.strerror})"
                raise file_changed_error(self._artifact, change) from None
            if not block:
                raise file_changed_error(self._artifact, "it is shorter than it was")
            left -= len(block)
            self._check_identity()
            yield block

    def _check_identity(self) -> None:
        """Raise `IntegrityError` for a file that is no longer the one that was found."""
        if self._artifact.data is not None:
            return
        # The path is checked as well as the descriptor: a file that was replaced stays what it was
        # for a process that has it open.
        try:
            status_of_path = self._artifact.path.stat()
        except OSError:
            raise file_changed_error(self._artifact, "it is gone") from None
        status_of_file = os.fstat(self._file.fileno())
        for status in (status_of_path, status_of_file):
            change = difference(self._artifact, status)
            if change:
                raise file_changed_error(self._artifact, change)


def sha256(artifact: Artifact) -> str:
    """Return the sha256 of a file, read once. Raises `IntegrityError` when it changes meanwhile."""
    with FileSource(artifact) as source:
        digests = source.digests()
    return digests["sha256"]


class StreamSource:
    """A pipe, or standard input. Use as a context manager.

    Its size is known when it ends. Only what the server has not confirmed yet is held in memory. It
    waits at most `timeout` seconds for the writer of a named pipe, and then for each byte.
    `algorithms` are the digests that are computed.
    """

    def __init__(
        self,
        artifact: Artifact,
        clock: Clock,
        timeout: float,
        algorithms: tuple[str, ...] = ("sha256",),
    ) -> None:
        self._hasher = Hasher(algorithms, threaded=False)
        self._window = bytearray()  # what was read and not confirmed
        self._window_start = 0  # its offset in the stream
        self._clock = clock
        self._timeout = timeout
        self._name = artifact.name
        self._file = self._open(artifact)
        if artifact.location != STREAM:
            self._await_writer()

    def __enter__(self) -> StreamSource:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the stream."""
        self._file.close()

    def available(self, span: Span) -> tuple[Span, bool]:
        """Read until all of `span` is held; return the part of it that exists, and whether the
        stream ends there.

        One byte more is read to see the end. Bytes before `span` are let go. Raises
        `TemporaryError` when the server went back behind what is still held.
        """
        if span.start < self._window_start:
            raise TemporaryError(
                "The server lost bytes of a stream, which can't be read a second time.",
                hint="Run the job again, or give a file instead of a stream: a file can be "
                "resumed.",
                code="stream-bytes-lost",
            )
        confirmed = span.start - self._window_start
        # A new buffer each time: views of the old one may still be on their way to the socket.
        window = self._window[confirmed:]
        while len(window) <= span.size:
            missing = span.size + 1 - len(window)
            block = self._next(missing)
            if not block:
                break
            window += block
        self._window = window
        self._window_start = span.start
        has_ended = len(window) <= span.size
        window_end = span.start + len(window)
        stop = min(span.stop, window_end)
        return Span(span.start, stop), has_ended

    def blocks(self, span: Span) -> Iterator[Block]:
        """Yield the bytes of `span`, which `available` has read."""
        first = span.start - self._window_start
        last = span.stop - self._window_start
        held = memoryview(self._window)[first:last]
        for start in range(0, len(held), BLOCK):
            stop = start + BLOCK
            yield held[start:stop]

    def digests(self) -> dict[str, str]:
        """Return the digests of everything that came out of the pipe."""
        return self._hasher.hexdigests()

    def _next(self, max_size: int) -> bytes:
        """Return what comes out of the pipe next, at most `max_size` bytes; nothing at its end."""
        descriptor = self._file.fileno()
        while True:
            self._await_bytes(descriptor)
            try:
                block = os.read(descriptor, min(BLOCK, max_size))
            except BlockingIOError:
                # Another reader of the same pipe was quicker.
                continue
            except OSError as error:
                raise self._unreadable(error.strerror) from None
            self._hasher.update(block)
            return block

    def _await_bytes(self, descriptor: int) -> None:
        """Wait until there is something to read, or the end. Raises `IntegrityError` if the writer
        sends nothing for `timeout` seconds.
        """
        pipe = select.poll()
        pipe.register(descriptor, select.POLLIN)
        deadline = self._clock.monotonic() + self._timeout
        while not pipe.poll(_PROBE_INTERVAL * 1000):
            if self._clock.monotonic() >= deadline:
                raise IntegrityError(
                    f"The stream {self._name} has sent nothing for {self._timeout:g} s, and has "
                    "not ended.",
                    cause="The command that writes to it hangs, or needs more time.",
                    hint="Check the command that produces the stream, or set `stall-timeout` to "
                    "more than it needs. The incomplete upload was not finished.",
                    code="stream-silent",
                )
            # It raises when the run is to end.
            self._clock.sleep(0)

    def _open(self, artifact: Artifact) -> io.IOBase:
        if artifact.location != STREAM:
            return artifact.open()
        try:
            # A duplicate, so that the process's own standard input stays open.
            duplicate = os.dup(0)
            return open(duplicate, "rb", buffering=0)
        except OSError as error:
            raise self._unreadable(error.strerror) from None

    def _await_writer(self) -> None:
        """Wait until a process has opened the pipe for writing.

        Before that, a read finds the end; after it, bytes, or none as yet. A pipe is at its end
        before its first writer as well as after its last. Only Linux distinguishes the two: it
        reports a hang-up only if there was a writer. Raises `IntegrityError` if none comes within
        `timeout` seconds.
        """
        descriptor = self._file.fileno()
        deadline = self._clock.monotonic() + self._timeout
        pipe = select.poll()
        pipe.register(descriptor, select.POLLIN)
        while True:
            try:
                block = os.read(descriptor, BLOCK)
            except BlockingIOError:
                # There is a writer, which has sent nothing yet.
                break
            had_writer = False
            if sys.platform == "linux":
                had_writer = bool(pipe.poll(0))
            if block or had_writer:
                self._hasher.update(block)
                self._window += block
                break
            if self._clock.monotonic() >= deadline:
                self._file.close()
                raise self._unreadable(
                    f"no process opened it for writing within {self._timeout:g} s"
                )
            pause = 0.0
            if pipe.poll(_PROBE_INTERVAL * 1000):
                # It returned at once, so the sleep is the pause between two looks.
                pause = _PROBE_INTERVAL
            # The sleep raises when the run is to end.
            self._clock.sleep(pause)
        os.set_blocking(descriptor, True)

    def _unreadable(self, reason: str | None) -> IntegrityError:
        if not reason:
            reason = "input/output error"
        return IntegrityError(
            f"The stream {self._name} can't be read: {reason}.",
            cause="The command that writes to it is missing or has failed.",
            hint="Check the command that produces the stream. The incomplete upload was not "
            "finished.",
            code="stream-unreadable",
        )


Source = FileSource | StreamSource


def open_source(
    artifact: Artifact,
    algorithms: tuple[str, ...],
    clock: Clock,
    timeout: float,
) -> Source:
    """Open the file or the stream of an upload; `algorithms` are the digests to compute of it.

    `timeout` is how many seconds a stream may be silent. Raises `IntegrityError` for a file that is
    no longer the one that was found, and for a stream that can't be read.
    """
    if artifact.size is None:
        return StreamSource(artifact, clock, timeout, algorithms)
    return FileSource(artifact, algorithms)
