"""What a transfer needs of whoever tells people how it goes; `uploader.outputs` has one reporter for each CI system."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol


class Progress(Protocol):
    """Follows one upload; may be called from any thread."""

    def to(self, offset: int) -> None:
        """The server has, or was sent, everything before byte `offset`."""

    def done(self, ok: bool) -> None:
        """The upload has ended, well or not; further calls change nothing."""


class Reporter(Protocol):
    """Tells people what happens; may be called from any thread."""

    def info(self, text: str) -> None:
        """Logs a line."""

    def warning(self, text: str) -> None:
        """Logs a line that deserves attention though the run goes on."""

    def hide(self, secrets: Iterable[str]) -> None:
        """Shows none of these as long as the upload lasts whose secrets they are."""

    def progress(self, label: str, total: int | None, start: int = 0) -> Progress:
        """Follows one upload from byte `start` to `total` (None: unknown)."""
