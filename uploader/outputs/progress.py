"""Show an upload's progress: lines now and then in a log, or one moving bar on a terminal.

Sent and stored are two numbers. Stored is what the server last said that it holds, even if that is
less than before. Sent is every byte that this run handed on; the speed is that of sending.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any, TextIO

from uploader.errors import UploaderError
from uploader.reporting import UploadListener, UploadProgress
from uploader.text import format_size, share

# seconds after which a line is due although less than a tenth was sent
MAX_SILENCE = 30.0
# seconds between two lines at least, however fast the upload is
MIN_INTERVAL = 1.0


class _ProgressDisplay(UploadListener):
    """What both displays share: when something is shown, and the last line of a failed upload."""

    def __init__(
        self,
        log: Callable[[str], None],
        label: str,
        upload: UploadProgress,
    ) -> None:
        self._log = log
        self._label = label
        self._upload = upload
        # The scale stays the same, even if the size of a stream becomes known later.
        self._total = upload.size
        self._has_ended = False

    def progressed(self) -> None:
        """Show how much was sent."""
        if not self._has_ended:
            self._show()

    def offset_confirmed(self) -> None:
        """Show how much is stored."""
        if not self._has_ended:
            self._show()

    def finished(self) -> None:
        """Show that all of the file is stored. Whatever follows is not shown."""
        if not self._has_ended:
            self._has_ended = True
            self._show_success()

    def failed(self, error: UploaderError) -> None:  # noqa: ARG002  # it is reported elsewhere
        """Show how much is stored where it stopped. Whatever follows is not shown."""
        if not self._has_ended:
            self._has_ended = True
            self._show_failure()

    def _extent(self) -> str:
        """Return how far the upload is: what is stored or, as long as nothing is, what was sent."""
        upload = self._upload
        if upload.stored:
            stored = share(upload.stored, self._total)
            return f"{stored} stored{self._sent_apart()}"
        # In an upload with one request, the server confirms nothing until the end.
        sent = share(upload.position, self._total)
        return f"{sent} sent"

    def _sent_apart(self) -> str:
        """Return what this run sent if that differs from what is stored, else ""."""
        if self._upload.bytes_sent == self._upload.stored:
            return ""
        sent = format_size(self._upload.bytes_sent)
        return f" ({sent} sent)"

    def _show(self) -> None:
        raise NotImplementedError

    def _show_success(self) -> None:
        raise NotImplementedError

    def _show_failure(self) -> None:
        held = "nothing confirmed as stored"
        if self._upload.stored:
            stored = share(self._upload.stored, self._total)
            held = f"{stored} stored"
        sent = format_size(self._upload.bytes_sent)
        self._log(f"{self._label}: stopped, {held} ({sent} sent)")


class ProgressLines(_ProgressDisplay):
    """A line at every tenth or every half minute, at most one a second, and one at the end."""

    def __init__(
        self,
        log: Callable[[str], None],
        label: str,
        upload: UploadProgress,
    ) -> None:
        super().__init__(log, label, upload)
        self._shown_at = upload.seconds
        self._shown_tenth = 0

    def _show(self) -> None:
        upload = self._upload
        seconds = upload.seconds
        silence = seconds - self._shown_at
        if silence < MIN_INTERVAL:
            return
        tenth = 0
        if self._total:
            tenth = 10 * upload.position // self._total
        if tenth == self._shown_tenth and silence < MAX_SILENCE:
            return
        self._shown_at = seconds
        self._shown_tenth = tenth
        pace = speed(upload.bytes_sent, seconds)
        extent = self._extent()
        self._log(f"{self._label}: {extent}, {pace}")

    def _show_success(self) -> None:
        upload = self._upload
        seconds = upload.seconds
        stored = format_size(upload.stored)
        sent_apart = self._sent_apart()
        line = f"{self._label}: {stored} stored in {seconds:.1f} s{sent_apart}"
        if upload.bytes_sent:
            pace = speed(upload.bytes_sent, seconds)
            line += f", {pace}"
        self._log(line)


class ProgressBar(_ProgressDisplay):
    """A tqdm bar. If the stream is no terminal after all, tqdm shows nothing (`disable=None`)."""

    def __init__(
        self,
        log: Callable[[str], None],
        label: str,
        upload: UploadProgress,
        stream: Any,
    ) -> None:
        super().__init__(log, label, upload)
        bar_format = "{percentage:3.0f}% |{bar}| {desc}"
        if upload.size is None:
            bar_format = "{desc}"
        self._bar = _tqdm()(
            total=upload.size,
            desc=label,
            file=stream,
            disable=None,
            bar_format=bar_format,
            dynamic_ncols=True,
            leave=True,
        )

    @staticmethod
    def write_above(text: str, stream: TextIO) -> None:
        """Write `text` where bars are shown: they are taken away and drawn again below it."""
        _tqdm().write(text, file=stream, end="")
        stream.flush()

    def _show(self) -> None:
        upload = self._upload
        # a terminal that went away must not end the run
        with contextlib.suppress(OSError):
            pace = speed(upload.bytes_sent, upload.seconds)
            text = f"{self._label}: {self._extent()}, {pace}"
            self._bar.set_description_str(text, refresh=False)
            self._bar.update(upload.position - self._bar.n)

    def _show_success(self) -> None:
        self._close()

    def _show_failure(self) -> None:
        self._close()
        super()._show_failure()

    def _close(self) -> None:
        self._show()
        with contextlib.suppress(OSError):
            self._bar.close()


def _tqdm() -> Any:
    from tqdm import tqdm  # only a terminal needs it

    tqdm.monitor_interval = 0  # no thread of its own: the transfer reports often enough
    return tqdm


def speed(count: int, seconds: float) -> str:
    """Return the speed of `count` bytes in so many seconds as people read it."""
    if seconds <= 0:
        return "speed unknown"
    return f"{format_size(count / seconds)}/s"
