"""The interface between an upload and those who listen to it, and between a run and its reporters.

`uploader.outputs` has one reporter for each CI system.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol

from uploader.errors import UploaderError


class UploadProgress(Protocol):
    """How far one upload is; sizes and offsets are in bytes. Listeners only read it."""

    @property
    def name(self) -> str:
        """The file's name as people see it."""

    @property
    def size(self) -> int | None:
        """The file's size; None for a stream until its end is read."""

    @property
    def position(self) -> int:
        """The offset in the file of the byte that is sent next."""

    @property
    def stored(self) -> int:
        """How many bytes the server last confirmed that it holds, which may be less than before."""

    @property
    def bytes_sent(self) -> int:
        """How many bytes this run handed to the network, including those that were sent again."""

    @property
    def seconds(self) -> float:
        """How long the upload has taken so far."""


class UploadListener:
    """A listener to what happens to one upload, in the order in which it happens.

    Every call comes from the thread that carries out the upload, and does nothing unless a subclass
    overrides it. A listener reads the figures from the upload and keeps none of them.
    """

    def session_started(self, uri: str, granularity: int) -> None:
        """The server opened a session at `uri`; its chunks are multiples of `granularity` bytes."""

    def session_resumed(self) -> None:
        """The server was asked for its offset, and the upload goes on from there."""

    def session_lost(self, why: str) -> None:
        """The session is gone with all that was stored in it; the upload starts over at byte 0."""

    def progressed(self) -> None:
        """The position has moved: forward with the bytes that are sent, or back to resend some."""

    def offset_confirmed(self) -> None:
        """The server said how much it holds, and the position has moved there."""

    def last_block_due(self) -> None:
        """The next block to leave is the last one: from now on the server may have all of it."""

    def request_ended(
        self,
        began: float,
        size: int,
        waited: float,
    ) -> None:
        """A request that carried `size` bytes of the file is over.

        `began` is when it began, in seconds of the monotonic clock; for the last `waited` seconds
        all of it had left, and its response was waited for.
        """

    def waiting(self, why: str, seconds: float) -> None:
        """A wait before another attempt begins; it may be of 0 seconds."""

    def interrupted(self) -> None:
        """The run can't go on with the session, but a later run can."""

    def abandoned(self) -> None:
        """Nobody will go on with the session."""

    def completed(self) -> None:
        """The service calls the upload complete; what it stored has not been compared yet."""

    def finished(self) -> None:
        """All of the file is stored, and the digests and size that the service states are right."""

    def failed(self, error: UploaderError) -> None:
        """The upload has failed with this error."""


class Reporter(Protocol):
    """Shows people what happens. It may be called from any thread."""

    def info(self, text: str) -> None:
        """Log a line."""

    def change(self, line: str) -> None:
        """Log a line of a plan: what comes (`+`), goes (`-`), changes (`~`) or stays."""

    def warning(self, text: str) -> None:
        """Log a line that deserves attention though the run goes on."""

    def group(self, title: str, *, folded: bool = True) -> AbstractContextManager[None]:
        """Group what is logged inside under a title, `folded` if the platform can do that."""

    def redact_session(self, uri: str, endpoint: str) -> None:
        """Hide from now on what a session URI has beyond the public URL of its endpoint."""

    def show_progress(self, upload: UploadProgress) -> UploadListener:
        """Show from now on how far an upload is, whenever the returned listener is called."""
