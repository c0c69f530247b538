"""Sends the requests that carry bytes of one file, and reports to its upload what is sent."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import PurePosixPath

from uploader import tasks
from uploader.errors import Interrupted, ProtocolError
from uploader.http.messages import Block, Request, Response, Span, TransportError
from uploader.protocol.media import Media
from uploader.reporting import Reporter
from uploader.retry import Wait
from uploader.services.base import Upload
from uploader.transfer.api_client import ApiClient
from uploader.upload.file_upload import FileUpload
from uploader.upload.sources import Source


class FileSender:
    """Everything that the requests of one upload need: the client, the bytes, the waits, the log.

    `media` describes the upload to the protocol. `retrier` has the waits of all its requests.
    """

    def __init__(
        self,
        upload: FileUpload,
        client: ApiClient,
        source: Source,
        reporter: Reporter,
    ) -> None:
        self.upload = upload
        self.client = client
        self.source = source
        self.reporter = reporter
        self.media = _media_of(upload.job, client)
        self.retrier = client.policy.retrier(self._report_wait, upload.name)

    def send(
        self,
        request: Request,
        span: Span,
        *,
        final: bool,
    ) -> Response | TransportError:
        """Send a request with the bytes of `span`; `final` when its response ends the upload."""
        self.upload.begin_request(span.start)
        blocks = self._blocks(request, span, final=final)
        try:
            return self.client.exchange(request, blocks, final=final)
        finally:
            self.upload.end_request()

    def _blocks(
        self,
        request: Request,
        span: Span,
        *,
        final: bool,
    ) -> Iterator[Block]:
        # The transport asks for the first block once the connection is made: a request that never
        # had a connection is no attempt.
        self.upload.count_attempt()
        if final and not span.size:
            self.upload.announce_last_block()
        if request.prefix:
            yield request.prefix
        for block in self.source.blocks(span):
            self.client.policy.cancellation.check()
            tasks.check()
            if final and self.upload.position + len(block) == span.stop:
                self.upload.announce_last_block()
            # Counted before it leaves: what the server may hold must never be more than what is
            # known here.
            self.upload.count_sent(len(block))
            yield block
        if request.suffix:
            yield request.suffix
        self.upload.end_body()

    def info(self, text: str) -> None:
        """Log a line about this file."""
        self.reporter.info(f"{self.upload.name}: {text}")

    def warning(self, text: str) -> None:
        """Log a line about this file that deserves attention."""
        self.reporter.warning(f"{self.upload.name}: {text}")

    def warn_of_doubt(self, stopped: Interrupted) -> Interrupted:
        """Say that the file may have arrived, and return the error that says so at the end."""
        look = "Check whether the service has it before you run again"
        self.warning(
            f"The file was sent, but the run ended before the answer came. {look}."
        )
        return Interrupted(
            stopped.signal_number,
            hint=f"{self.upload.name} may have arrived. {look}: a run that can't ask would send it "
            "a second time.",
            unanswered=stopped.unanswered,
            in_doubt=True,
        )

    def violation(self, why: str) -> ProtocolError:
        """Return the error for a server that violates the upload protocol."""
        return ProtocolError(
            f"The server violated the upload protocol for {self.upload.name}: {why}.",
            cause="A proxy changed the answer, or the service has a fault.",
            hint="The upload was abandoned so that it could not be corrupted. Run again; report "
            "the error if it recurs.",
        )

    def _report_wait(self, wait: Wait) -> None:
        self.info(str(wait))
        self.upload.wait(wait.why, wait.seconds)


def _media_of(job: Upload, client: ApiClient) -> Media:
    """Describe an upload in the protocol's terms."""
    endpoint = job.endpoint
    metadata: bytes | None = None
    if job.metadata is not None:
        metadata = json.dumps(job.metadata, separators=(",", ":")).encode()
    promised_id: tuple[str, ...] = ()
    if endpoint.id_promised:
        promised_id = endpoint.id_fields
        if endpoint.completion:
            promised_id += endpoint.completion.signs
    return Media(
        method=endpoint.http_method,
        url=client.url(endpoint.root, endpoint.upload_path),
        query=endpoint.query,
        media_type=job.media_type,
        size=job.artifact.size,
        metadata=metadata,
        empty_response=endpoint.empty_response,
        promised_id=promised_id,
        file_name=PurePosixPath(job.artifact.name).name,
        partial=endpoint.partial,
    )
