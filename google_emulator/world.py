"""Everything the emulator remembers, in one place, so that every part of it sees the same world."""

from __future__ import annotations

import itertools
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from google_emulator.blobs import Blob

if TYPE_CHECKING:
    from google_emulator.answers import Json
    from google_emulator.config import Config
    from google_emulator.faults import Faults
    from google_emulator.mailbox import Mailbox
    from google_emulator.oauth import Authority
    from google_emulator.play.model import PlayStore
    from google_emulator.sessions import Session


@dataclass(slots=True)
class StoredObject:
    """One upload that was completed: how it came, what it is, and where its bytes are."""

    method: str
    http_method: str
    path: str
    protocol: str
    media_type: str
    metadata: dict[str, Json]
    blob: Blob
    resource: dict[str, Json]
    account: str
    received: int
    requests: int


@dataclass(slots=True)
class World:
    """State and services shared by all requests. `lock` guards every change that takes more than one step."""

    base: str
    root: Path
    config: Config
    clock: Callable[[], float]
    faults: Faults
    authority: Authority
    play: PlayStore
    mail: Mailbox
    lock: threading.RLock = field(default_factory=threading.RLock)
    stopping: threading.Event = field(default_factory=threading.Event)
    sessions: dict[str, Session] = field(default_factory=dict)
    objects: list[StoredObject] = field(default_factory=list)
    files: dict[str, dict[str, Json]] = field(default_factory=dict)
    packages: list[dict[str, Json]] = field(default_factory=list)
    requests: Counter[str] = field(default_factory=Counter)
    connections: int = 0
    bytes_received: int = 0
    bytes_discarded: int = 0
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def new_blob(self, algorithms: tuple[str, ...]) -> Blob:
        """An empty file of its own under the root; sha256 is always computed."""
        folder = self.root / "blobs"
        folder.mkdir(parents=True, exist_ok=True)
        return Blob(folder / str(self.number()), tuple(dict.fromkeys(("sha256", *algorithms))))

    def number(self) -> int:
        """The next number of a series that never repeats."""
        with self.lock:
            return next(self._numbers)

    def discard(self, count: int) -> None:
        """Adds bytes that a client sent behind an early answer."""
        with self.lock:
            self.bytes_discarded += count

    def sleep(self, seconds: float) -> None:
        """Waits, but no longer than the emulator lives."""
        self.stopping.wait(seconds)

    def count(self, names: frozenset[str], received: int) -> None:
        """Adds one finished request to the figures."""
        with self.lock:
            self.requests.update(names)
            self.bytes_received += received
