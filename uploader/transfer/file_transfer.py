"""One file's bytes going out: each request is made, timed and counted here, whichever way the upload goes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from uploader.errors import ProtocolError
from uploader.http.messages import Block, Broken, Request, Response, Span
from uploader.protocol.media import Media
from uploader.results import Moment
from uploader.retrier import Wait
from uploader.services.base import Upload
from uploader.transfer.api_client import ApiClient
from uploader.transfer.file_source import Source
from uploader.transfer.stream_source import Stream


class UploadObserver(Protocol):
    """Who is told how an upload goes."""

    def to(self, offset: int) -> None:
        """The upload stands at so many bytes."""

    def say(self, text: str) -> None:
        """Something happened that people want to know."""

    def warn(self, text: str) -> None:
        """Something happened that deserves attention."""


@dataclass(slots=True)
class TransferCounts:
    """What happened so far to one file, written down while it happens. Bytes; seconds of the monotonic clock.

    `reached` is the end of what the current request handed on, `furthest` the furthest that any did, `stored` what the
    server confirmed, `resumed_from` where a session of an earlier run was continued.
    """

    began: float
    size: int
    sha256: str = ""
    resource: dict[str, Any] = field(default_factory=dict)
    attempts: int = 0
    reached: int = 0
    furthest: int = 0
    resent: int = 0
    stored: int = 0
    resumed_from: int | None = None
    timeline: list[Moment] = field(default_factory=list)

    def count(self, length: int) -> None:
        """Counts bytes as sent before they are: what may have arrived must never be more than what is known here."""
        self.resent += max(min(self.furthest, self.reached + length) - self.reached, 0)
        self.reached += length
        self.furthest = max(self.furthest, self.reached)


class FileTransfer:
    """The requests of one file, with the waits between them and the records of both."""

    def __init__(self, job: Upload, wire: ApiClient, watcher: UploadObserver, source: Source | Stream) -> None:
        self.job = job
        self.wire = wire
        self.watcher = watcher
        self.source = source
        self.media = _media(job, wire)
        self.retrier = wire.policy.retrier(self._waiting)
        self._clock = wire.policy.clock
        self.tally = TransferCounts(self._clock.monotonic(), job.artifact.size or 0)

    def transfer(self, request: Request, span: Span, *, final: bool) -> Response | Broken:
        """A request that carries bytes of the file; `final` when its answer ends the upload."""
        tally = self.tally
        tally.attempts += 1
        tally.reached = span.start
        began = self._clock.monotonic()
        try:
            return self.wire.exchange(request, self._blocks(request, span), final=final)
        finally:
            seconds = self._clock.monotonic() - began
            tally.timeline.append(Moment(began - tally.began, "sent", "", seconds, bytes=tally.reached - span.start))

    def renew(self, answer: Response) -> None:
        """Takes a fresh token after a 401; see `ApiClient.renew`."""
        self.wire.renew(self.retrier, answer)
        self.watcher.say("The token was not accepted; a fresh one is fetched.")

    def _waiting(self, wait: Wait) -> None:
        self.watcher.say(str(wait))
        if wait.seconds:
            self.tally.timeline.append(Moment(self.seconds(), "wait", wait.why, wait.seconds))

    def mark(self, kind: Literal["resumed", "restarted", "done", "failed"], text: str) -> None:
        """Writes a moment into the file's timeline."""
        self.tally.timeline.append(Moment(self._clock.monotonic() - self.tally.began, kind, text))

    def seconds(self) -> float:
        """Wall time since this file was begun."""
        return self._clock.monotonic() - self.tally.began

    def broken(self, why: str) -> ProtocolError:
        """The error for a server that does not keep to the protocol."""
        return ProtocolError(
            f"The server broke the upload protocol for {self.job.artifact.name}: {why}.",
            cause="A proxy changed the answer, or the service has a fault.",
            cure="Going on could have damaged the upload, so it was given up. Run again; report it if it repeats.",
        )

    def _blocks(self, request: Request, span: Span) -> Iterator[Block]:
        if request.body.prefix:
            yield request.body.prefix
        for block in self.source.blocks(span):
            self.wire.policy.cancellation.check()
            self.tally.count(len(block))
            yield block
            self.watcher.to(self.tally.reached)
        if request.body.suffix:
            yield request.body.suffix


def own_bytes(request: Request) -> tuple[bytes, ...]:
    """The body of a request that carries nothing of the file."""
    return (request.body.prefix,) if request.body.prefix else ()


def _media(job: Upload, wire: ApiClient) -> Media:
    endpoint, metadata = job.endpoint, job.metadata
    return Media(
        method=endpoint.http_method,
        url=wire.url(endpoint.root, endpoint.upload_path),
        query=endpoint.query,
        media_type=job.media_type,
        size=job.artifact.size,
        metadata=None if metadata is None else json.dumps(metadata, separators=(",", ":")).encode(),
        empty_answer=endpoint.empty_answer,
    )
