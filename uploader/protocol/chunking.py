"""How many bytes of a file go into one request of an upload session."""

from __future__ import annotations

from dataclasses import dataclass, replace

AUTO_CHUNK = 8 * 1024 * 1024  # bytes: what `auto` falls back to after an interruption


def rounded(wanted: int, granularity: int) -> int:
    """The number of bytes as a whole multiple of the granularity, at least one of it."""
    return max(wanted // granularity, 1) * granularity


@dataclass(frozen=True)
class Chunking:
    """How many bytes go into one request: a fixed number, or None for `auto`.

    `auto` sends the whole rest at once, which Google calls the preferred way; after an interruption it goes on in
    chunks of 8 MiB that double with every success, so that a bad line loses little and a good one is not slowed down.
    """

    fixed: int | None = None
    current: int | None = None

    def length(self, granularity: int) -> int | None:
        """Bytes for the next request, a multiple of `granularity` and at least one of it; None for the whole rest."""
        wanted = self.fixed if self.fixed is not None else self.current
        if wanted is None:
            return None
        return rounded(wanted, granularity)

    def after_interruption(self) -> Chunking:
        """Chunks of 8 MiB again, unless the length is fixed."""
        return self if self.fixed is not None else replace(self, current=AUTO_CHUNK)

    def after_success(self) -> Chunking:
        """Chunks twice as long, where chunks are sent at all and their length is not fixed."""
        return self if self.current is None else replace(self, current=self.current * 2)
