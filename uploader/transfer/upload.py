"""One file on its way: chooses how it is sent, and checks what the service says it holds against what was sent."""

from __future__ import annotations

from uploader.errors import IntegrityError, UploaderError
from uploader.http.messages import Response
from uploader.protocol import digests
from uploader.results import FileResult
from uploader.services.base import Endpoint, Upload
from uploader.state.journal import Journal
from uploader.transfer import single
from uploader.transfer.api_client import ApiClient, TransferSettings
from uploader.transfer.file_source import Source
from uploader.transfer.file_transfer import FileTransfer, UploadObserver
from uploader.transfer.resumable import Resumable
from uploader.transfer.stream_source import Stream

SMALL = 1024 * 1024  # bytes: up to here one request saves a round trip worth saving


def upload(
    job: Upload, wire: ApiClient, settings: TransferSettings, journal: Journal, watcher: UploadObserver
) -> FileResult:
    """Brings one file to its endpoint. What goes wrong stands in the result's `error` and `failure`."""
    try:
        source = Stream(job.artifact) if job.artifact.size is None else Source(job.artifact)
    except UploaderError as error:
        return FileResult(job.artifact.name, job.artifact.size or 0, error=str(error), failure=error)
    with source:
        sending = FileTransfer(job, wire, watcher, source)
        try:
            _verify(_send(sending, settings, journal), sending)
        except UploaderError as error:
            if isinstance(error, IntegrityError):
                journal.drop(job)  # a finished session would only tell the next run of the same damage
            sending.mark("failed", error.what)
            return _result(sending, error)
        sending.mark("done", "stored and checked")
        return _result(sending)


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
    small = size <= SMALL and endpoint.repeatable and offered
    return one_request if small or not endpoint.resumable else "resumable"


def _send(sending: FileTransfer, settings: TransferSettings, journal: Journal) -> Response:
    endpoint, media = sending.job.endpoint, sending.media
    protocol = protocol_for(endpoint, media.size, settings.protocol, has_metadata=media.metadata is not None)
    if protocol == "resumable" or media.size is None:
        return Resumable(sending, journal, settings.chunk_size).run()
    return single.upload(sending, media.size, multipart=protocol == "multipart")


def _verify(answer: Response, sending: FileTransfer) -> None:
    """Compares every digest that the service states with what was sent. Raises `IntegrityError` with both."""
    tally, source = sending.tally, sending.source
    tally.stored = tally.size
    tally.resource = answer.json() or {}
    sent = source.digests()
    tally.sha256 = sent["sha256"]
    stated = digests.stated_size(tally.resource)
    if stated is not None and stated != tally.size:
        raise _damaged(sending, f"the service states {stated} bytes, {tally.size} were sent")
    for claim in digests.claims(tally.resource, answer.headers):
        mine = sent.get(claim.algorithm) or source.digest(claim.algorithm)
        if mine != claim.value:
            raise _damaged(sending, f"the service states {claim.field} {claim.value}, what was sent has {mine}")


def _damaged(sending: FileTransfer, how: str) -> IntegrityError:
    return IntegrityError(
        f"{sending.job.artifact.name} arrived damaged: {how}.",
        cause="Bytes were changed on the way, or the service stored something else.",
        cure="Do not use what was stored. Run again, and report it to Google if it repeats.",
    )


def _result(sending: FileTransfer, error: UploaderError | None = None) -> FileResult:
    tally = sending.tally
    return FileResult(
        path=sending.job.artifact.name,
        bytes=tally.size,
        sha256=tally.sha256,
        resource=tally.resource,
        attempts=tally.attempts,
        bytes_uploaded=max(tally.stored - (tally.resumed_from or 0), 0),
        bytes_resent=tally.resent,
        retries=sending.retrier.retries,
        waited=sending.retrier.waited,
        seconds=sending.seconds(),
        resumed_from=tally.resumed_from,
        error="" if error is None else str(error),
        timeline=tuple(tally.timeline),
        failure=error,
    )
