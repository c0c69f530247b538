"""How many files may be in flight: more while that brings throughput, fewer when the service asks for less.

It doubles from round to round, as in TCP's slow start, and stays where twice the files bring less than a quarter more.
A throttled request halves it; from then on it grows by one a round. Times are seconds of any clock, told from outside.
"""

from __future__ import annotations

from dataclasses import dataclass

from uploader.http.messages import Response, TransportError
from uploader.protocol import google_error

FIRST, MOST = 4, 32  # files in flight
WORTH = 1.25  # times the throughput that twice the files must bring
PATIENCE = 4  # rounds before growth is tried again where it brought nothing; twice as many each time


@dataclass(frozen=True)
class Throughput:
    """What ended in a second. Small files show by their number what is gained, large ones by their bytes."""

    files: float
    bytes: float

    def pays(self, before: Throughput) -> bool:
        """Whether it was worth twice the files in flight."""
        return self.files >= WORTH * before.files or self.bytes >= WORTH * before.bytes


class Concurrency:
    """The number that is `allowed` now, between `least` and `most`. A round is as many files ended as are allowed.

    Not safe for several threads by itself.
    """

    def __init__(self, least: int, allowed: int, most: int) -> None:
        self.least, self.allowed, self.most = least, allowed, most
        self._ceiling = 0
        self._began = 0.0
        self._files = self._bytes = 0
        self._before: Throughput | None = None  # the throughput of `_paid` files in flight
        self._paid = 0
        self._halved = float("-inf")
        self._careful = False
        self._rest = 0
        self._patience = PATIENCE

    def begin(self, now: float, most: int | None = None) -> None:
        """Files begin to be sent, of which the service takes at most so many at once."""
        self._ceiling = max(self.least, min(self.most, most or self.most))
        self.allowed = min(self.allowed, self._ceiling)
        self._new_round(now)

    def finished(self, now: float, size: int) -> None:
        """A file of `size` bytes has been stored."""
        self._files += 1
        self._bytes += size
        if self._files >= self.allowed:
            seconds = max(now - self._began, 1e-9)
            self._adapt(Throughput(self._files / seconds, self._bytes / seconds))
            self._new_round(now)

    def throttled(self, now: float, began: float) -> None:
        """A request that `began` then was answered that there are too many; others of the same burst count once."""
        if began < self._halved:
            return
        self.allowed = max(self.least, self.allowed // 2)
        self._halved, self._careful, self._before, self._rest = now, True, None, 0
        self._new_round(now)

    def _new_round(self, now: float) -> None:
        self._began, self._files, self._bytes = now, 0, 0

    def _adapt(self, found: Throughput) -> None:
        if self._before is None or self.allowed <= self._paid:
            self._paid, self._before = self.allowed, found
        elif self.allowed >= min(2 * self._paid, self._ceiling):
            if not found.pays(self._before):
                self.allowed, self._rest, self._patience = self._paid, self._patience, 2 * self._patience
                return
            self._paid, self._before, self._patience = self.allowed, found, PATIENCE
        if self._rest:
            self._rest -= 1
        else:
            self.allowed = min(self.allowed + (1 if self._careful else self.allowed), self._ceiling)


def concurrency(number: int | None) -> Concurrency:
    """One that adapts, or stays at the number that was given."""
    return Concurrency(1, FIRST, MOST) if number is None else Concurrency(number, number, number)


def asks_for_less(response: Response | TransportError) -> bool:
    """Whether a service says that it gets too many requests: a 429, a 503, or a 403 for its rate limit."""
    if isinstance(response, TransportError):
        return False
    return response.status in (429, 503) or (response.status == 403 and google_error.read(response).rate_limited)
