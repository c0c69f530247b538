"""The bytes of one artifact: read span by span, watched for changes, digested once each while they are sent."""

from __future__ import annotations

import hashlib
import itertools
import os
from collections.abc import Iterator

from uploader.files.artifacts import Artifact, changed, difference
from uploader.http.messages import Block, Span
from uploader.transfer.hashing import MAX_HELD, Hasher, new

BLOCK = 256 * 1024  # bytes read and handed on at once
_BUFFERS = MAX_HELD + 1  # the one is read next; fresh memory each time would cost as much again
_SAMPLE = 512 * 1024  # bytes
_OVERLAP_FROM = 4 * 1024 * 1024  # bytes; below this a second thread costs more than it saves


class FileSource:
    """A file, or content held in memory, from which any span can be read again.

    Digests (`algorithms`) follow what is really sent: each byte goes into them the first time it is read. Use as a
    context manager.
    """

    def __init__(self, artifact: Artifact, algorithms: tuple[str, ...] = ("sha256",)) -> None:
        assert artifact.size is not None
        self.size = artifact.size
        self._artifact = artifact
        self._hashed = 0
        self._hasher = Hasher(algorithms, overlap=artifact.size >= _OVERLAP_FROM)
        self._file = artifact.open()
        self._opened = self._touched = 0 if artifact.data is not None else os.fstat(self._file.fileno()).st_ctime_ns

    def __enter__(self) -> FileSource:
        return self

    def __exit__(self, *_: object) -> None:
        self._hasher.close()
        self._file.close()

    def sample(self) -> str:
        """The sha256 of the first and the last 512 KiB, to tell another build of the same size from this one.

        An archive keeps the checksum of every member at its end.
        """
        digest = hashlib.sha256()
        for span in (Span(0, min(_SAMPLE, self.size)), Span(max(self.size - _SAMPLE, 0), self.size)):
            for block in self._read(span):
                digest.update(block)
        return digest.hexdigest()

    def prefix(self) -> tuple[int, str]:
        """How many bytes were read for sending so far, and their sha256."""
        return self._hashed, self._hasher.sha256_so_far()

    def begins_with(self, length: int, sha256: str) -> bool:
        """Whether the first `length` bytes are those that an earlier run sent."""
        self._hash_up_to(length)
        return self.prefix() == (length, sha256)

    def available(self, span: Span) -> tuple[Span, bool]:
        """The part of `span` that exists, and whether the content ends with it."""
        return Span(span.start, min(span.stop, self.size)), span.stop >= self.size

    def blocks(self, span: Span) -> Iterator[Block]:
        """The bytes of `span`. Raises `IntegrityError` as soon as the file is no longer the one that was found."""
        self._hash_up_to(span.start)
        position = span.start
        for block in self._read(span):
            fresh = block[self._hashed - position :] if position < self._hashed else block
            if fresh:
                self._hasher.update(fresh)
                self._hashed += len(fresh)
            position += len(block)
            if position == self.size:
                self._confirm_unchanged()
            yield block

    def _confirm_unchanged(self) -> None:
        """Before the last block leaves: a file that was touched without a trace in its mtime is read once more.

        Rewriting in place and setting mtime back still moves ctime, which nobody can set; so do harmless things (chmod,
        a new link), and only the content tells them apart.
        """
        if self._touched == self._opened:
            return
        if self.digest("sha256") != self._hasher.finish()["sha256"]:
            raise changed(self._artifact, "it was rewritten in place")
        self._opened = self._touched

    def digests(self) -> dict[str, str]:
        """The digests of the whole content, of which the last bytes have just been sent."""
        self._hash_up_to(self.size)
        return self._hasher.finish()

    def digest(self, algorithm: str) -> str:
        """Another digest of the whole content, for a service that was not known to state it; reads it once more."""
        extra = new(algorithm)
        for block in self._read(Span(0, self.size)):
            extra.update(block)
        return extra.hexdigest()

    def _hash_up_to(self, offset: int) -> None:
        """Digests what an earlier run sent, so that the digest is that of the whole content."""
        if self._hashed < offset:
            for block in self._read(Span(self._hashed, offset)):
                self._hasher.update(block)
            self._hashed = offset

    def _read(self, span: Span) -> Iterator[memoryview]:
        buffers = itertools.cycle(memoryview(bytearray(min(BLOCK, span.size))) for _ in range(_BUFFERS))
        self._file.seek(span.start)
        left = span.size
        if not left:
            self._check(complete=True)
        while left:
            block = self._next(next(buffers)[:left])
            left -= len(block)
            self._check(complete=bool(block))
            yield block

    def _next(self, buffer: memoryview) -> memoryview:
        try:
            return buffer[: self._file.readinto(buffer)]
        except OSError as error:
            raise changed(self._artifact, f"it can't be read any more ({error.strerror})") from None

    def _check(self, *, complete: bool) -> None:
        if not complete:
            raise changed(self._artifact, "it is shorter than it was")
        if self._artifact.data is not None:
            return
        # The path is asked, not the descriptor alone: a file that was replaced stays what it was for who has it open.
        try:
            found = os.stat(self._artifact.location)  # noqa: PTH116  # a path object costs more than the call
        except OSError:
            raise changed(self._artifact, "it is gone") from None
        opened = os.fstat(self._file.fileno())
        self._touched = opened.st_ctime_ns
        for status in (found, opened):
            if how := difference(self._artifact, status):
                raise changed(self._artifact, how)


def sha256(artifact: Artifact) -> str:
    """The sha256 of a file, read once. Raises `IntegrityError` when it changes meanwhile."""
    with FileSource(artifact) as source:
        return source.digests()["sha256"]
