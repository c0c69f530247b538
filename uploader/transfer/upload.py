"""One file on its way: chooses how it is sent, and checks what the service says it holds against what was sent."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from uploader.errors import ApiError, IntegrityError, UploaderError
from uploader.http.messages import Response
from uploader.protocol import digests
from uploader.reporting import Reporter
from uploader.results import FileResult
from uploader.services.base import Endpoint, Upload
from uploader.state.journal import Journal
from uploader.transfer import single
from uploader.transfer.api_client import ApiClient, TransferSettings
from uploader.transfer.file_source import FileSource
from uploader.transfer.file_transfer import FileTransfer
from uploader.transfer.hashing import while_sending
from uploader.transfer.resumable import Resumable
from uploader.transfer.stream_source import StreamSource

SMALL = 1024 * 1024  # bytes: up to here one request saves a round trip worth saving


def upload(
    job: Upload, client: ApiClient, settings: TransferSettings, journal: Journal, reporter: Reporter
) -> FileResult:
    """Brings one file to its endpoint. What goes wrong stands in the result's `error` and `failure`."""
    progress, response_digest = reporter.progress(job.artifact.name, job.artifact.size), job.endpoint.response_digest
    try:
        if job.artifact.size is None:
            algorithms = while_sending(response_digest, readable_again=False)
            limit = settings.stall_timeout
            source: FileSource | StreamSource = StreamSource(job.artifact, client.policy.clock, limit, algorithms)
        else:
            source = FileSource(job.artifact, while_sending(response_digest, readable_again=True))
    except UploaderError as error:
        progress.done(False)
        return FileResult(job.artifact.name, job.artifact.size or 0, error=str(error), failure=error)
    with source:
        result = _transfer(FileTransfer(job, client, reporter, progress, source), settings, journal)
    progress.done(not result.error)
    return result


def _transfer(transfer: FileTransfer, settings: TransferSettings, journal: Journal) -> FileResult:
    try:
        _verify(_sent(transfer, settings, journal), transfer)
    except UploaderError as error:
        if isinstance(error, IntegrityError):
            journal.drop(transfer.job)  # a finished session would only tell the next run of the same damage
        transfer.add_event("failed", error.what)
        error.__traceback__ = error.__context__ = None  # whose frames hold all of the transfer, for each failed file
        return _result(transfer, error)
    transfer.add_event("done", "stored and checked")
    return _result(transfer)


def protocol_for(endpoint: Endpoint, size: int | None, wanted: str, *, has_metadata: bool) -> str:
    """`resumable`, `multipart` or `simple`: what was asked for, or what `auto` chooses.

    `auto` is resumable, except where the method has none, or where a small file saves a round trip and sending it twice
    would replace instead of add. A stream is always resumable: what was sent of it can't be read a second time.
    """
    if size is None:
        return "resumable"
    if wanted != "auto":
        return wanted
    one_request = "multipart" if has_metadata else "simple"
    offered = endpoint.multipart if has_metadata else endpoint.simple
    small = size <= SMALL and endpoint.idempotent and offered
    return one_request if small or not endpoint.resumable else "resumable"


def _sent(transfer: FileTransfer, settings: TransferSettings, journal: Journal) -> Response:
    """The resource that the upload ended with, or that a try stored whose answer was lost."""
    endpoint, media = transfer.job.endpoint, transfer.media
    protocol = protocol_for(endpoint, media.size, settings.protocol, has_metadata=media.metadata is not None)
    try:
        if protocol == "resumable" or media.size is None:
            return Resumable(transfer, journal, settings.chunk_size).run()
        return single.upload(transfer, media.size, multipart=protocol == "multipart")
    except ApiError as refused:
        return _stored_before(transfer, refused)


def _stored_before(transfer: FileTransfer, refused: ApiError) -> Response:
    """What an earlier try stored, where that is why the last one was refused; raises the refusal everywhere else."""
    from uploader.transfer import precondition  # few uploads have any

    response = precondition.look_up(transfer, refused)
    resource = response.json() or {}
    known = _comparable(transfer, digests.claims(resource, response.headers))
    how = _difference(transfer, resource, known) if known else "the service states no digest of the object's contents"
    precondition.require_own(transfer, refused, response, how)
    return response


def _verify(response: Response, transfer: FileTransfer) -> None:
    """Compares what the service states of the bytes with what was sent. Raises `IntegrityError` with both."""
    counts = transfer.counts
    counts.stored = counts.size
    counts.resource = response.json() or {}
    counts.sha256 = transfer.source.digests()["sha256"]
    stated = digests.claims(counts.resource, response.headers)
    comparable = _comparable(transfer, stated)
    if how := _difference(transfer, counts.resource, comparable):
        raise IntegrityError(
            f"{transfer.name} arrived damaged: {how}.",
            cause="The data was altered in transit, or the service stored something else.",
            hint="Do not use what was stored. Run again, and report it to Google if it happens again.",
            code="damaged-in-transit",
        )
    if stated and not comparable:
        transfer.warning("none of the digests that the service states was computed for the stream.")


def _difference(transfer: FileTransfer, resource: Mapping[str, Any], comparable: Iterable[digests.Claim]) -> str:
    """Where what the service says of the bytes that it has is not true of those that were sent; empty if nowhere."""
    source, size = transfer.source, transfer.counts.size
    sent = source.digests()
    stated = digests.stated_size(resource)
    if stated is not None and stated != size:
        return f"the service reports {stated} bytes, {size} were sent"
    for claim in comparable:
        actual = sent.get(claim.algorithm) or source.digest(claim.algorithm)
        if actual != claim.value:
            return f"the service reports {claim.field} {claim.value}, but what was sent has {actual}"
    return ""


def _comparable(transfer: FileTransfer, stated: Collection[digests.Claim]) -> tuple[digests.Claim, ...]:
    """Which digests in the answer are compared: of a stream, which can't be read again, only what was computed."""
    sent = transfer.source.digests()
    found = digests.decisive(stated, sent)
    return tuple(claim for claim in found if claim.algorithm in sent or isinstance(transfer.source, FileSource))


def _result(transfer: FileTransfer, error: UploaderError | None = None) -> FileResult:
    counts = transfer.counts
    return FileResult(
        path=transfer.name,
        bytes=counts.size,
        sha256=counts.sha256,
        id=transfer.job.endpoint.identify(counts.resource),
        resource=counts.resource,
        attempts=counts.attempts,
        bytes_uploaded=max(counts.stored - (counts.resumed_from or 0), 0),
        bytes_resent=counts.resent,
        retries=transfer.retrier.retries,
        seconds=transfer.seconds(),
        resumed_from=counts.resumed_from,
        error="" if error is None else str(error),
        certificate_sha256=transfer.job.artifact.certificate_sha256,
        timeline=tuple(counts.timeline),
        failure=error,
    )
