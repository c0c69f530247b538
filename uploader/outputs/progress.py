"""How an upload's progress is shown: lines now and then in a log, one moving bar on a terminal,
never both.

Sent and stored are two numbers. Stored is what the server last said that it holds, also where that
is less than before; sent is every byte that this run handed on, and the speed is its alone.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import Any, TextIO

from uploader.text import format_size, share

MAX_SILENCE = 30.0  # seconds after which a line is due although less than a tenth was sent
MIN_INTERVAL = 1.0  # seconds that pass between two lines at least, however fast the upload is


class _ProgressDisplay:
    """What both displays share: how much this run sent, how much the server holds, one end, one
    lock.
    """

    def __init__(self, log: Callable[[str], None], label: str, total: int | None) -> None:
        self._log = log
        self._label = label
        self._total = total
        # the offset that is sent next; bytes of this run, resent ones too
        self._at = self._sent = self._stored = 0
        self._ended = False
        self._lock = threading.Lock()

    def sent(self, offset: int) -> None:
        with self._lock:
            self._sent += max(offset - self._at, 0)
            self._move(offset)

    def stored(self, offset: int) -> None:
        with self._lock:
            self._stored = offset
            self._move(offset)

    def done(self, ok: bool) -> None:
        with self._lock:
            if self._ended:
                return
            self._ended = True
            if ok:
                self._at = self._stored = self._at if self._total is None else self._total
            self._end(ok)

    def _move(self, offset: int) -> None:
        self._at = offset
        if not self._ended:
            self._show()

    def _show(self) -> None:
        raise NotImplementedError

    def _end(self, ok: bool) -> None:
        if not ok:
            held = (
                f"{share(self._stored, self._total)} stored"
                if self._stored
                else "nothing confirmed as stored"
            )
            self._log(f"{self._label}: stopped, {held} ({format_size(self._sent)} sent)")


class ProgressLines(_ProgressDisplay):
    """A line at every tenth or every half minute, at most one a second, and one at the end."""

    def __init__(
        self, log: Callable[[str], None], label: str, total: int | None, clock: Callable[[], float]
    ) -> None:
        super().__init__(log, label, total)
        self._clock = clock
        self._began = self._said = clock()
        self._tenth = 0

    def _show(self) -> None:
        silent = self._clock() - self._said
        tenth = 10 * self._at // self._total if self._total else 0
        if silent < MIN_INTERVAL or (tenth == self._tenth and silent < MAX_SILENCE):
            return
        self._said += silent
        self._tenth = tenth
        where = f"{share(self._stored, self._total)} stored{self._apart()}"
        if not self._stored:  # an upload in one request hears nothing until its end
            where = f"{share(self._at, self._total)} sent"
        self._log(f"{self._label}: {where}, {speed(self._sent, self._clock() - self._began)}")

    def _end(self, ok: bool) -> None:
        super()._end(ok)
        if ok:
            seconds = self._clock() - self._began
            pace = f", {speed(self._sent, seconds)}" if self._sent else ""
            self._log(
                f"{self._label}: {format_size(self._stored)} stored in {seconds:.1f} "
                f"s{self._apart()}{pace}"
            )

    def _apart(self) -> str:
        """What this run sent, where that is another number than what is stored."""
        return "" if self._sent == self._stored else f" ({format_size(self._sent)} sent)"


class ProgressBar(_ProgressDisplay):
    """A tqdm bar. Where the stream is no terminal after all, tqdm itself stays silent
    (`disable=None`).
    """

    def __init__(
        self, log: Callable[[str], None], label: str, total: int | None, stream: Any
    ) -> None:
        super().__init__(log, label, total)
        self._bar = _tqdm()(
            total=total,
            desc=label,
            file=stream,
            disable=None,
            smoothing=0,
            unit="B",
            unit_scale=True,
            unit_divisor=1024,
            dynamic_ncols=True,
            leave=True,
        )

    @staticmethod
    def write_above(text: str, stream: TextIO) -> None:
        """Writes `text` where bars are shown: they are taken away and drawn again below it."""
        _tqdm().write(text, file=stream, end="")
        stream.flush()

    def _show(self) -> None:
        with contextlib.suppress(OSError):  # a terminal that went away must not end the run
            self._bar.initial = self._at - self._sent  # tqdm's speed is what came since
            self._bar.set_postfix_str(f"{format_size(self._stored)} stored", refresh=False)
            self._bar.update(self._at - self._bar.n)

    def _end(self, ok: bool) -> None:
        self._show()
        with contextlib.suppress(OSError):
            self._bar.close()
        super()._end(ok)


def _tqdm() -> Any:
    from tqdm import tqdm  # only a terminal needs it

    tqdm.monitor_interval = 0  # no thread of its own: the transfer reports often enough
    return tqdm


def speed(count: int, seconds: float) -> str:
    """Bytes over seconds as people read it; no time at all has no speed."""
    return f"{format_size(count / seconds)}/s" if seconds > 0 else "speed unknown"
