"""The transfer of one file: every request that carries its bytes is sent, timed and counted here."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Literal

from uploader.errors import ProtocolError
from uploader.http.messages import Block, Request, Response, Span, TransportError
from uploader.protocol.media import Media
from uploader.reporting import Progress, Reporter
from uploader.results import TimelineEvent
from uploader.retrier import Wait
from uploader.services.base import Upload
from uploader.transfer.api_client import ApiClient
from uploader.transfer.file_source import FileSource
from uploader.transfer.stream_source import StreamSource


class TransferCounts:
    """What happened so far to one file, written down while it happens. Bytes; seconds of the monotonic clock.

    `reached` is the end of what the current request handed on, `furthest` the furthest that any did, `stored` what the
    server confirmed, `resumed_from` where a session of an earlier run was continued.
    """

    def __init__(self, began: float, size: int) -> None:
        self.began = began
        self.size = size
        self.sha256 = ""
        self.resource: dict[str, Any] = {}
        self.attempts = 0
        self.reached = 0
        self.furthest = 0
        self.resent = 0
        self.stored = 0
        self.resumed_from: int | None = None
        self.timeline: list[TimelineEvent] = []

    def count(self, length: int) -> None:
        """Counts bytes as sent before they are: what may have arrived must never be more than what is known here."""
        self.resent += max(min(self.furthest, self.reached + length) - self.reached, 0)
        self.reached += length
        self.furthest = max(self.furthest, self.reached)


class FileTransfer:
    """The requests of one file, with the waits between them and the records of both."""

    def __init__(
        self, job: Upload, client: ApiClient, reporter: Reporter, progress: Progress, source: FileSource | StreamSource
    ) -> None:
        self.job = job
        self.name = job.artifact.name
        self.client = client
        self.progress = progress
        self.source = source
        self.media = _media(job, client)
        self.retrier = client.policy.retrier(self._report_wait, self.name)
        self._reporter = reporter
        self._clock = client.policy.clock
        self.counts = TransferCounts(self._clock.monotonic(), job.artifact.size or 0)
        self.in_doubt = False  # whether a request whose answer was lost may have stored the whole file

    def send(self, request: Request, span: Span, *, final: bool) -> Response | TransportError:
        """A request that carries bytes of the file; `final` when its answer ends the upload."""
        counts = self.counts
        counts.reached = span.start
        self.progress.sent(span.start)
        began = self._clock.monotonic()
        try:
            return self.client.exchange(request, self._blocks(request, span), final=final)
        finally:
            seconds = self._clock.monotonic() - began
            counts.timeline.append(TimelineEvent(began, "sent", "", seconds, bytes=counts.reached - span.start))

    def renew(self, response: Response) -> None:
        """Takes a fresh token after a 401; see `ApiClient.renew`."""
        self.client.renew(self.retrier, response, self.name)

    def info(self, text: str) -> None:
        """Logs a line about this file."""
        self._reporter.info(f"{self.name}: {text}")

    def warning(self, text: str) -> None:
        """Logs a line about this file that deserves attention."""
        self._reporter.warning(f"{self.name}: {text}")

    def redact(self, uri: str) -> None:
        """Keeps a session URI out of everything that is said from now on."""
        self._reporter.redact_session(uri, self.media.url)

    def add_event(self, kind: Literal["resumed", "restarted", "done", "failed"], text: str) -> None:
        """Writes a moment into the file's timeline."""
        self.counts.timeline.append(TimelineEvent(self._clock.monotonic(), kind, text))

    def seconds(self) -> float:
        """Wall time since this file was begun."""
        return self._clock.monotonic() - self.counts.began

    def _report_wait(self, wait: Wait) -> None:
        self._reporter.info(f"{self.name}: {wait}")
        if wait.seconds:
            self.counts.timeline.append(TimelineEvent(self._clock.monotonic(), "wait", wait.why, wait.seconds))

    def violation(self, why: str) -> ProtocolError:
        """The error for a server that violates the upload protocol."""
        return ProtocolError(
            f"The server violated the upload protocol for {self.name}: {why}.",
            cause="A proxy changed the answer, or the service has a fault.",
            hint="The upload was abandoned so that it could not be corrupted. Run again; report the error if "
            "it recurs.",
        )

    def _blocks(self, request: Request, span: Span) -> Iterator[Block]:
        self.counts.attempts += 1  # not before the connection stands and takes the first byte
        if request.body.prefix:
            yield request.body.prefix
        for block in self.source.blocks(span):
            self.client.policy.cancellation.check()
            self.counts.count(len(block))
            self.progress.sent(self.counts.reached)
            yield block
        if request.body.suffix:
            yield request.body.suffix


def _media(job: Upload, client: ApiClient) -> Media:
    endpoint, metadata = job.endpoint, job.metadata
    return Media(
        method=endpoint.http_method,
        url=client.url(endpoint.root, endpoint.upload_path),
        query=endpoint.query,
        media_type=job.media_type,
        size=job.artifact.size,
        metadata=None if metadata is None else json.dumps(metadata, separators=(",", ":")).encode(),
        empty_response=endpoint.empty_response,
        promised_id=endpoint.id_fields if endpoint.id_promised else (),
    )
