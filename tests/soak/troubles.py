"""What can go wrong, drawn by lot: faults of the server, deaths of the process at any byte, clocks
that jump.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from google_emulator.http.response import Json
from uploader.clock import Clock
from uploader.http.client import HttpClient, Timeouts
from uploader.http.messages import Block, Request, Response

DAY = 86_400.0  # seconds
EVERYWHERE = (
    "any",
    "upload",
    "api",
    "oauth.token",
    "resumable.start",
    "resumable.query",
    "goog.start",
    "goog.query",
)
BODIES = ("resumable.put", "resumable.final", "goog.upload", "goog.finalize")
CALLS = (
    "play.edits.insert",
    "play.bundles.list",
    "play.tracks.get",
    "play.tracks.update",
    "play.images.list",
    "play.images.upload",
    "play.listings.list",
    "play.deobfuscationfiles.upload",
    "play.edits.commit",
)


class Killed(BaseException):
    """The process is gone: nobody catches this, and nothing is cleaned up."""


class Mortal(HttpClient):
    """A transport whose process dies at request number `dies` (None: never): before, inside, or
    after it.
    """

    def __init__(self, dies: int | None, where: float) -> None:
        super().__init__()
        self._left = dies
        self._where = where

    def send(
        self, request: Request, blocks: Iterable[Block], token: str, timeouts: Timeouts
    ) -> Response:
        """As the real one, until the end has come; then every thread finds itself dead."""
        if self._left is not None:
            self._left -= 1
        if self._left is None or self._left > 0:
            return super().send(request, blocks, token, timeouts)
        if self._left < 0 or self._where < 0.2:
            raise Killed
        answer = super().send(
            request, self._until(blocks, request.size), token, timeouts
        )
        del answer  # it arrived, and nobody was there to read it
        raise Killed

    def _until(self, blocks: Iterable[Block], size: int) -> Iterator[Block]:
        """The blocks of a body, up to the byte at which the process dies; all of them where that
        lies beyond.
        """
        left = size * self._where * 1.5
        for block in blocks:
            left -= len(block)
            if left < 0 and size:
                raise Killed
            yield block


@dataclass
class Time:
    """A clock that moves by sleeping alone, and a wall clock, `wall` seconds before it, that may
    jump `ahead`.
    """

    now: float
    wall: float
    chance: random.Random
    ahead: float = 0.0
    slept: float = 0.0
    naps: int = 0

    def clock(self) -> Clock:
        """What a run sees of it."""
        return Clock(
            self._sleep,
            lambda: self.now,
            lambda: self.wall + self.ahead + self.now,
            self.chance.random,
        )

    def _sleep(self, seconds: float) -> None:
        self.now += seconds
        self.slept += seconds
        self.naps += 1

    def jump(self) -> bool:
        """By lot the wall clock goes ahead or back by up to ten days; whether it did."""
        if self.chance.random() > 0.25:
            return False
        self.ahead = (
            self.chance.choice((-10, -1, -0.04, 0.04, 1, 10))
            * DAY
            * self.chance.random()
        )
        return True


def faults(chance: random.Random, size: int) -> list[dict[str, Json]]:
    """From none to eight faults that a patient client survives, for a file of about `size`
    bytes.
    """
    return [_fault(chance, size) for _ in range(chance.choice((0, 1, 2, 3, 5, 8)))]


def _fault(chance: random.Random, size: int) -> dict[str, Any]:
    body = {"on": chance.choice(BODIES), "nth": chance.choice((1, 1, 2, 3))}
    start = {"on": chance.choice(("resumable.start", "goog.start"))}
    after = chance.randrange(max(size, 1))
    call = chance.choice(EVERYWHERE + CALLS)
    kinds: tuple[dict[str, Any], ...] = (
        {
            **body,
            "do": "status",
            "status": chance.choice((500, 502, 503, 504, 408)),
            "after": after,
        },
        {**body, "do": "status", "status": 503, "after": "end"},
        {
            **body,
            "do": "status",
            "status": 429,
            "retry_after": chance.choice((1, 30, 400, "soon", -1)),
        },
        {**body, "do": "status", "status": 403, "reason": "rateLimitExceeded"},
        {**body, "do": "status", "status": 503, "body": "<html>busy</html>"},
        {**body, "do": "status-after-effect", "status": 503},
        {**body, "do": "reset", "after": after},
        {**body, "do": "answer-lost", "reset": chance.random() < 0.5},
        {**body, "do": "short-store", "stored": after // 262_144 * 262_144},
        {
            **body,
            "do": "session-lost",
            "status": chance.choice((404, 410)),
            "after": after,
        },
        {**body, "do": "token-expired"},
        {**body, "do": "no-range"},
        {**body, "do": "range-plain"},
        {**body, "do": "redirect-308"},
        {**body, "do": "slow-answer", "seconds": 0.05},
        {**body, "do": "slow-drip", "seconds": 0.0001},
        {**body, "do": "invalid-json"},
        {**body, "do": "empty-body"},
        {**start, "do": "status", "status": 500},
        {**start, "do": "answer-lost"},
        {"on": call, "do": "status", "status": chance.choice((500, 503, 429))},
        {"on": call, "do": "reset"},
        {"on": call, "do": "answer-lost"},
        {"on": call, "do": "token-expired"}
        if call != "oauth.token"
        else {"on": call, "do": "status", "status": 500},
    )
    return chance.choice(kinds)


HARD = (
    {"on": "resumable.final", "do": "wrong-digest"},
    {"on": "resumable.put", "do": "range-beyond"},
    {"on": "resumable.start", "do": "foreign-session"},
    {"on": "resumable.put", "do": "redirect"},
    {"on": "play.tracks.update", "do": "status", "status": 400, "message": "Not so."},
    {"on": "goog.upload", "do": "final-error"},
    {"on": "oauth.token", "do": "status", "status": 401},
)
"""Faults that end a run for good, as they should; the next run begins anew or goes on."""
