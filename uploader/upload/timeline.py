"""The timeline of one upload, which the job summary draws."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from uploader.errors import UploaderError
from uploader.reporting import UploadListener, UploadProgress
from uploader.results import TimelineEvent
from uploader.text import format_size, share

_LONG_WAIT = 0.5  # seconds; a response that takes less is part of its request


class Timeline(UploadListener):
    """Records the requests and waits of one upload, and what changed its course.

    `lasting` says that the state of this run is kept for the next one on any machine.
    """

    def __init__(
        self,
        upload: UploadProgress,
        monotonic: Callable[[], float],
        *,
        lasting: bool = False,
    ) -> None:
        self._upload = upload
        self._monotonic = monotonic
        self._lasting = lasting
        self._is_kept = False
        self.events: list[TimelineEvent] = []

    def request_ended(
        self,
        began: float,
        size: int,
        waited: float,
    ) -> None:
        """Record a request with the bytes that it carried, and how long its response took."""
        sending = self._monotonic() - began
        if waited >= _LONG_WAIT:
            sending -= waited
        self.events.append(
            TimelineEvent(
                began,
                "sent",
                "",
                sending,
                bytes=size,
            )
        )
        if waited >= _LONG_WAIT:
            self.events.append(
                TimelineEvent(
                    began + sending,
                    "answer",
                    "",
                    waited,
                )
            )

    def waiting(self, why: str, seconds: float) -> None:
        """Record a wait, unless the next attempt follows at once."""
        if seconds:
            self.events.append(
                TimelineEvent(
                    self._monotonic(),
                    "wait",
                    why,
                    seconds,
                )
            )

    def session_resumed(self) -> None:
        """Record where the upload goes on, and whether an earlier run sent what is there."""
        place = f"at {format_size(self._upload.stored)}"
        if self._upload.stored and not any(
            event.kind == "sent" for event in self.events
        ):
            place += ", sent by an earlier run"
        self._add("resumed", place)

    def session_lost(self, why: str) -> None:
        """Record why the upload starts over."""
        self._add("restarted", why)

    def finished(self) -> None:
        """Record that the upload ended well."""
        self._add("done", "stored and checked")

    def interrupted(self) -> None:
        """Note that a later run can go on with the session."""
        self._is_kept = True

    def abandoned(self) -> None:
        """Note that nobody will go on with the session."""
        self._is_kept = False

    def failed(self, error: UploaderError) -> None:
        """Record what ended the upload, and what a later run finds of it."""
        if not self._is_kept:
            self._add("failed", error.what)
            return
        received = f"{share(self._upload.stored, self._upload.size)} received"
        if self._lasting:
            received += " and kept"
        self._add("interrupted", received)

    def _add(
        self,
        kind: Literal["resumed", "restarted", "done", "interrupted", "failed"],
        text: str,
    ) -> None:
        self.events.append(TimelineEvent(self._monotonic(), kind, text))
