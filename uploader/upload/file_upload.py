"""One file on its way: every request that carries its bytes is counted here, and what arrived is
held against it.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, Literal

from uploader.errors import (
    ApiError,
    IntegrityError,
    Interrupted,
    OutcomeUnknown,
    ProtocolError,
    TemporaryError,
    UploaderError,
)
from uploader.http.messages import Block, Request, Response, Span, TransportError
from uploader.protocol import single_request, stated_digests
from uploader.protocol.media import Media
from uploader.protocol.responses import UNREADABLE, Verdict, as_answer, verdict
from uploader.reporting import Progress, Reporter
from uploader.results import FileResult, TimelineEvent
from uploader.retry import Wait
from uploader.services.base import Upload
from uploader.transfer.api_client import ApiClient, as_reason, last_failure
from uploader.upload.sources import FileSource, Source


class FileUpload:
    """The requests of one file, with the waits between them and the records of both, kept while it
    happens.

    Bytes: `reached` is the end of what the current request handed on, `furthest` the furthest that
    any did, `stored` what the server confirmed, `resumed_from` where a session of an earlier run
    was continued.
    """

    def __init__(
        self, job: Upload, client: ApiClient, reporter: Reporter, progress: Progress, source: Source
    ) -> None:
        endpoint, metadata = job.endpoint, job.metadata
        self.job = job
        self.name = job.artifact.name
        self.client = client
        self.reporter = reporter
        self.progress = progress
        self.source = source
        self.media = Media(
            method=endpoint.http_method,
            url=client.url(endpoint.root, endpoint.upload_path),
            query=endpoint.query,
            media_type=job.media_type,
            size=job.artifact.size,
            metadata=None
            if metadata is None
            else json.dumps(metadata, separators=(",", ":")).encode(),
            empty_response=endpoint.empty_response,
            promised_id=endpoint.id_fields if endpoint.id_promised else (),
            partial=endpoint.partial,
        )
        self.retrier = client.policy.retrier(self._report_wait, self.name)
        self.size = job.artifact.size or 0
        self.attempts = 0
        self.reached = 0
        self.furthest = 0
        self.resent = 0
        self.stored = 0
        self.resumed_from: int | None = None
        self._sha256 = ""
        self._resource: dict[str, Any] = {}
        self._clock = client.policy.clock
        self._began = self._clock.monotonic()
        self._timeline: list[TimelineEvent] = []

    def send(
        self,
        request: Request,
        span: Span,
        *,
        final: bool,
        before_last: Callable[[], object] = lambda: None,
    ) -> Response | TransportError:
        """A request that carries bytes of the file; `final` when its response ends the upload.

        `before_last` is called when all that is left to send of the file is one block, or nothing.
        """
        self.reached = span.start
        self.progress.sent(span.start)
        began = self._clock.monotonic()
        blocks = self._blocks(request, span, before_last if final else lambda: None)
        try:
            return self.client.exchange(request, blocks, final=final)
        finally:
            seconds = self._clock.monotonic() - began
            self._timeline.append(
                TimelineEvent(began, "sent", "", seconds, bytes=self.reached - span.start)
            )

    def _blocks(
        self, request: Request, span: Span, before_last: Callable[[], object]
    ) -> Iterator[Block]:
        self.attempts += 1  # not before the connection stands and takes the first byte
        if not span.size:
            before_last()
        if request.prefix:
            yield request.prefix
        for block in self.source.blocks(span):
            self.client.policy.cancellation.check()
            if self.reached + len(block) == span.stop:
                before_last()
            # Counted as sent before they are: what may have arrived must never be more than what is
            # known here.
            self.resent += max(min(self.furthest, self.reached + len(block)) - self.reached, 0)
            self.reached += len(block)
            self.furthest = max(self.furthest, self.reached)
            self.progress.sent(self.reached)
            yield block
        if request.suffix:
            yield request.suffix

    def send_whole(self, size: int, *, multipart: bool) -> Response:
        """The service's response to the whole file in one request, sent again only where that can't
        have two effects.

        Raises `OutcomeUnknown` when it may have arrived and may not be sent again, besides what
        every upload raises.
        """
        endpoint, doubted = self.job.endpoint, False

        def attempt() -> Response | TransportError:
            request, goog_upload = (
                single_request.simple(self.media, size),
                endpoint.dialect == "goog-upload",
            )
            if multipart:
                boundary = secrets.token_hex(16)
                request = single_request.multipart(
                    self.media, size, boundary, goog_upload=goog_upload
                )
            try:
                return self._as_resource(self.send(request, Span(0, size), final=True))
            except Interrupted as stopped:
                if stopped.unanswered and endpoint.adds:
                    self.warn_of_doubt(stopped)
                raise

        def in_doubt(response: Response | TransportError) -> OutcomeUnknown | None:
            nonlocal doubted
            doubted = True
            if endpoint.idempotent:
                return None
            return OutcomeUnknown(
                f"It is not known whether {self.name} arrived: {last_failure(response)}.",
                cause="A single-request upload can't be queried, and repeating it could add the "
                "file twice.",
                hint="Check whether the service has it before you run again. "
                "`upload-protocol: resumable` can ask the server.",
            )

        try:
            response = self.client.request_with_retries(
                attempt, self.retrier, self.name, in_doubt=in_doubt
            )
        except ApiError as refused:
            if not doubted:
                raise
            return self.stored_before(refused)
        if not response.sent_whole:
            raise self.violation("the server called the upload finished before it was sent")
        return response

    def _as_resource(self, response: Response | TransportError) -> Response | TransportError:
        """The response, or a broken connection in place of a success without the resource that the
        method returns.
        """
        if (
            isinstance(response, TransportError)
            or verdict(response) is not Verdict.SUCCESS
            or not response.sent_whole
        ):
            return response
        if self.media.is_resource(response):
            return response
        return TransportError(
            "the answer is not the resource that the method returns", True, UNREADABLE
        )

    def info(self, text: str) -> None:
        """Logs a line about this file."""
        self.reporter.info(f"{self.name}: {text}")

    def warning(self, text: str) -> None:
        """Logs a line about this file that deserves attention."""
        self.reporter.warning(f"{self.name}: {text}")

    def warn_of_doubt(self, stopped: Interrupted) -> None:
        """Says, also in the error that ends the run, that the file may have arrived."""
        look = "Check whether the service has it before you run again"
        self.warning(f"The file was sent, but the run ended before the answer came. {look}.")
        stopped.in_doubt = True
        stopped.hint = (
            f"{self.name} may have arrived. {look}: a run that can't ask would send it a second "
            "time."
        )

    def add_event(self, kind: Literal["resumed", "restarted", "done", "failed"], text: str) -> None:
        """Writes an event into the file's timeline."""
        self._timeline.append(TimelineEvent(self._clock.monotonic(), kind, text))

    def _report_wait(self, wait: Wait) -> None:
        self.info(str(wait))
        if wait.seconds:
            self._timeline.append(
                TimelineEvent(self._clock.monotonic(), "wait", wait.why, wait.seconds)
            )

    def violation(self, why: str) -> ProtocolError:
        """The error for a server that violates the upload protocol."""
        return ProtocolError(
            f"The server violated the upload protocol for {self.name}: {why}.",
            cause="A proxy changed the answer, or the service has a fault.",
            hint="The upload was abandoned so that it could not be corrupted. Run again; report "
            "the error if it recurs.",
        )

    # --- how it ends ------------------------------------------------------------------------------

    def verify(self, response: Response) -> None:
        """Compares what the service states of the bytes with what was sent. Raises `IntegrityError`
        with both.
        """
        self.stored = self.size
        self._resource = response.json() or {}
        self._sha256 = self.source.digests()["sha256"]
        stated = stated_digests.claims(self._resource, response.headers)
        comparable = self._comparable(stated)
        if how := self._difference(self._resource, comparable):
            raise IntegrityError(
                f"{self.name} arrived damaged: {how}.",
                cause="The data was altered in transit, or the service stored something else.",
                hint="Do not use what was stored. Run again, and report it to Google if it happens "
                "again.",
                code="damaged-in-transit",
            )
        if stated and not comparable:
            self.warning("none of the digests that the service states was computed for the stream.")

    def _comparable(
        self, stated: Collection[stated_digests.Claim]
    ) -> tuple[stated_digests.Claim, ...]:
        """Which digests in a response are compared: of a stream, which can't be read again, only
        what was computed.
        """
        sent = self.source.digests()
        found = stated_digests.decisive(stated, sent)
        return tuple(
            claim
            for claim in found
            if claim.algorithm in sent or isinstance(self.source, FileSource)
        )

    def _difference(
        self, resource: Mapping[str, Any], comparable: Iterable[stated_digests.Claim]
    ) -> str:
        """Where what the service says of the bytes it has is not true of those that were sent;
        empty if nowhere.
        """
        sent, size = self.source.digests(), stated_digests.stated_size(resource)
        if size is not None and size != self.size:
            return f"the service reports {size} bytes, {self.size} were sent"
        for claim in comparable:
            actual = sent.get(claim.algorithm)
            if actual is None and isinstance(self.source, FileSource):
                actual = self.source.digest(claim.algorithm)
            if actual != claim.value:
                return (
                    f"the service reports {claim.field} {claim.value}, but what was sent has "
                    f"{actual}"
                )
        return ""

    def stored_before(self, refused: ApiError) -> Response:
        """What an attempt whose response was lost has stored, where that is why the repeat was
        refused.

        A request that is obeyed makes the precondition of its repeat false (412), so that refusal
        says neither that the file is there nor that it is not: the object shows it. Raises
        `refused` where it is none of a precondition, and `OutcomeUnknown` unless the object holds
        the bytes of the file and its `generation` changed.
        """
        endpoint = self.job.endpoint
        if refused.status != 412 or not endpoint.lookup:
            raise refused
        request = Request("GET", self.client.url(endpoint.root, endpoint.lookup))
        self.info(
            "The precondition failed (412), perhaps due to an attempt whose answer was lost; "
            "checking the object."
        )
        try:
            response = self.client.request_with_retries(
                lambda: as_answer(
                    self.client.exchange(request, path=endpoint.lookup),
                    ("name", "id", "generation"),
                ),
                self.retrier,
                "the lookup of the object",
            )
        except (ApiError, TemporaryError) as error:
            raise self._unknown(refused, as_reason(error)) from None
        resource = response.json() or {}
        known = self._comparable(stated_digests.claims(resource, response.headers))
        how = (
            self._difference(resource, known)
            if known
            else "the service states no digest of the object's contents"
        )
        if not how and str(resource.get("generation")) == dict(endpoint.query).get(
            "ifGenerationMatch"
        ):
            how = "the object is still the one that was to be replaced"
        if how:
            raise self._unknown(refused, how)
        self.info("The object holds exactly the bytes of this file: nothing is left to send.")
        return response

    def _unknown(self, refused: ApiError, why: str) -> OutcomeUnknown:
        """The error that says both: what was refused, and what is not known."""
        return OutcomeUnknown(
            f"It is not known whether {self.name} was stored: the answer to one attempt was lost, "
            f"and the next was refused ({refused.status}: {refused.message.rstrip('.')}); {why}.",
            cause="Either the attempt whose answer was lost or somebody else wrote the object.",
            hint="Compare the object with the file before you run again, perhaps with another "
            "precondition.",
        )

    def result(self, error: UploaderError | None = None) -> FileResult:
        """What came of the file."""
        return FileResult(
            path=self.name,
            bytes=self.size,
            sha256=self._sha256,
            id=self.job.endpoint.identify(self._resource),
            resource=self._resource,
            attempts=self.attempts,
            bytes_uploaded=max(self.stored - (self.resumed_from or 0), 0),
            bytes_resent=self.resent,
            retries=self.retrier.retries,
            seconds=self._clock.monotonic() - self._began,
            resumed_from=self.resumed_from,
            error="" if error is None else str(error),
            certificate_sha256=self.job.artifact.certificate_sha256,
            version=self.job.artifact.version,
            timeline=tuple(self._timeline),
            failure=error,
        )
