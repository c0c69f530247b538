"""The interface between the transfer and the reporters; `uploader.outputs` has one reporter for
each CI system.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol


class Progress(Protocol):
    """Follows one upload; may be called from any thread."""

    def sent(self, offset: int) -> None:
        """Everything before byte `offset` was sent, which says nothing of what is stored; back
        there, it is resent.
        """

    def stored(self, offset: int) -> None:
        """The server says that it holds everything before byte `offset`; what is sent next begins
        there.
        """

    def done(self, ok: bool) -> None:
        """The upload has ended: all of it is stored, or it failed. Further calls change nothing."""


class Reporter(Protocol):
    """Tells people what happens; may be called from any thread."""

    def info(self, text: str) -> None:
        """Logs a line."""

    def warning(self, text: str) -> None:
        """Logs a line that deserves attention though the run goes on."""

    def group(self, title: str, *, folded: bool = True) -> AbstractContextManager[None]:
        """Holds together what is logged inside, under a title of its own; `folded` where the
        platform can.
        """

    def redact_session(self, uri: str, endpoint: str) -> None:
        """Never shows from now on what a session URI holds beyond the public URL of its
        endpoint.
        """

    def progress(self, label: str, total: int | None) -> Progress:
        """Follows one upload of `total` bytes (None: unknown)."""
