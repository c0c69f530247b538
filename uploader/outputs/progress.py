"""How an upload's progress is told: lines now and then in a log, one moving bar on a terminal, never both.

What is shown only grows. A server that stored less than was sent takes the offset back: that is said once, in words,
and the display waits until the upload has caught up.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import Any, Final, Protocol

from uploader.results import size

TENTHS: Final = 10
SILENCE: Final = 30.0  # seconds after which a line is due although less than a tenth was sent
PACE: Final = 1.0  # seconds that pass between two lines at least, however fast the upload is


class Progress(Protocol):
    """Follows one upload; may be called from any thread."""

    def to(self, offset: int) -> None:
        """The server has, or was sent, everything before byte `offset`."""

    def done(self, ok: bool) -> None:
        """The upload has ended, well or not; further calls change nothing."""


class _Steps:
    """What both ways of telling share: an offset that only grows, one end, one lock."""

    def __init__(self, say: Callable[[str], None], label: str, total: int | None, start: int) -> None:
        self._say = say
        self._label = label
        self._total = total
        self._start = self._last = self._top = start
        self._ended = False
        self._lock = threading.Lock()

    def to(self, offset: int) -> None:
        """See `Progress.to`."""
        with self._lock:
            if self._ended:
                return
            if offset < self._last:
                self._say(f"{self._label}: {size(offset)} of {size(self._last)} were stored, the rest goes again")
            self._last = offset
            self._top = max(self._top, offset)
            self._show()

    def done(self, ok: bool) -> None:
        """See `Progress.done`."""
        with self._lock:
            if not self._ended:
                self._ended = True
                self._end(ok)

    def _stopped(self) -> str:
        """What was sent, which need not have been stored."""
        whole = "" if self._total is None else f" of {size(self._total)}"
        return f"{self._label}: stopped, {size(self._top)}{whole} had been sent"

    def _show(self) -> None:
        raise NotImplementedError

    def _end(self, ok: bool) -> None:
        raise NotImplementedError


class Lines(_Steps):
    """A line at every tenth or every half minute, at most one a second, and one at the end."""

    def __init__(
        self, say: Callable[[str], None], label: str, total: int | None, start: int, clock: Callable[[], float]
    ) -> None:
        super().__init__(say, label, total, start)
        self._clock = clock
        self._began = self._said = clock()
        self._tenth = self._tenths()

    def _show(self) -> None:
        silent = self._clock() - self._said
        if silent < PACE or (self._tenths() == self._tenth and silent < SILENCE):
            return
        self._said += silent
        self._tenth = self._tenths()
        self._say(f"{self._label}: {self._where()}, {self._speed()}")

    def _end(self, ok: bool) -> None:
        if ok:
            seconds = self._clock() - self._began
            self._say(f"{self._label}: {size(self._top)} in {seconds:.1f} s, {self._speed()}")
        else:
            self._say(self._stopped())

    def _tenths(self) -> int:
        return TENTHS * self._top // self._total if self._total else 0

    def _where(self) -> str:
        if not self._total:
            return size(self._top)
        return f"{100 * self._top // self._total} %, {size(self._top)} of {size(self._total)}"

    def _speed(self) -> str:
        return speed(self._top - self._start, self._clock() - self._began)


class Bar(_Steps):
    """A tqdm bar. Where the stream is no terminal after all, tqdm itself stays silent (`disable=None`)."""

    def __init__(self, say: Callable[[str], None], label: str, total: int | None, start: int, stream: Any) -> None:
        super().__init__(say, label, total, start)
        from tqdm import tqdm  # only a terminal needs it, and start-up counts

        tqdm.monitor_interval = 0  # no thread of its own: the transfer reports often enough
        self._bar = tqdm(
            total=total, initial=start, desc=label, file=stream, disable=None,
            unit="B", unit_scale=True, unit_divisor=1024, dynamic_ncols=True, leave=True,
        )  # fmt: skip

    def _show(self) -> None:
        with contextlib.suppress(OSError):  # a terminal that went away must not end the run
            self._bar.update(max(0, self._top - self._bar.n))

    def _end(self, ok: bool) -> None:
        with contextlib.suppress(OSError):
            self._bar.close()
        if not ok:
            self._say(self._stopped())


def speed(count: int, seconds: float) -> str:
    """Bytes over seconds as people read it; no time at all has no speed."""
    return f"{size(count / seconds)}/s" if seconds > 0 else "at once"
