"""How an upload's progress is shown: lines now and then in a log, one moving bar on a terminal, never both.

What is shown only grows. A server that stored less than was sent takes the offset back: that is said once, in words,
and the display waits until the upload has caught up.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import Any, Final, TextIO

from uploader.text import format_size

_MAX_SILENCE: Final = 30.0  # seconds after which a line is due although less than a tenth was sent
_MIN_INTERVAL: Final = 1.0  # seconds that pass between two lines at least, however fast the upload is


class _ProgressDisplay:
    """What both displays share: an offset that only grows, one end, one lock."""

    def __init__(self, log: Callable[[str], None], label: str, total: int | None) -> None:
        self._log = log
        self._label = label
        self._total = total
        self._last = self._top = 0
        self._ended = False
        self._lock = threading.Lock()

    def to(self, offset: int) -> None:
        with self._lock:
            if self._ended:
                return
            if offset < self._last:
                stored = f"{format_size(offset)} of {format_size(self._last)}"
                self._log(f"{self._label}: {stored} were stored; the rest is sent again")
            self._last = offset
            self._top = max(self._top, offset)
            self._show()

    def done(self, ok: bool) -> None:
        with self._lock:
            if not self._ended:
                self._ended = True
                self._end(ok)

    def _show(self) -> None:
        raise NotImplementedError

    def _end(self, ok: bool) -> None:
        if not ok:  # what was sent need not have been stored
            whole = "" if self._total is None else f" of {format_size(self._total)}"
            self._log(f"{self._label}: stopped, {format_size(self._top)}{whole} had been sent")


class ProgressLines(_ProgressDisplay):
    """A line at every tenth or every half minute, at most one a second, and one at the end."""

    def __init__(self, log: Callable[[str], None], label: str, total: int | None, clock: Callable[[], float]) -> None:
        super().__init__(log, label, total)
        self._clock = clock
        self._began = self._said = clock()
        self._tenth = self._tenths()

    def _show(self) -> None:
        silent = self._clock() - self._said
        if silent < _MIN_INTERVAL or (self._tenths() == self._tenth and silent < _MAX_SILENCE):
            return
        self._said += silent
        self._tenth = self._tenths()
        self._log(f"{self._label}: {self._where()}, {self._speed()}")

    def _end(self, ok: bool) -> None:
        super()._end(ok)
        if ok:
            seconds = self._clock() - self._began
            self._log(f"{self._label}: {format_size(self._top)} in {seconds:.1f} s, {self._speed()}")

    def _tenths(self) -> int:
        return 10 * self._top // self._total if self._total else 0

    def _where(self) -> str:
        if not self._total:
            return format_size(self._top)
        return f"{100 * self._top // self._total} %, {format_size(self._top)} of {format_size(self._total)}"

    def _speed(self) -> str:
        return speed(self._top, self._clock() - self._began)


class ProgressBar(_ProgressDisplay):
    """A tqdm bar. Where the stream is no terminal after all, tqdm itself stays silent (`disable=None`)."""

    def __init__(self, log: Callable[[str], None], label: str, total: int | None, stream: Any) -> None:
        super().__init__(log, label, total)
        self._bar = _tqdm()(
            total=total, desc=label, file=stream, disable=None,
            unit="B", unit_scale=True, unit_divisor=1024, dynamic_ncols=True, leave=True,
        )  # fmt: skip

    @staticmethod
    def write_above(text: str, stream: TextIO) -> None:
        """Writes `text` where bars are shown: they are taken away and drawn again below it."""
        _tqdm().write(text, file=stream, end="")
        stream.flush()

    def _show(self) -> None:
        with contextlib.suppress(OSError):  # a terminal that went away must not end the run
            self._bar.update(max(0, self._top - self._bar.n))

    def _end(self, ok: bool) -> None:
        with contextlib.suppress(OSError):
            self._bar.close()
        super()._end(ok)


def _tqdm() -> Any:
    from tqdm import tqdm  # only a terminal needs it, and start-up counts

    tqdm.monitor_interval = 0  # no thread of its own: the transfer reports often enough
    return tqdm


def speed(count: int, seconds: float) -> str:
    """Bytes over seconds as people read it; no time at all has no speed."""
    return f"{format_size(count / seconds)}/s" if seconds > 0 else "speed unknown"
