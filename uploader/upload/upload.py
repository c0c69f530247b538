"""Uploads one file: chooses the protocol, opens the file, sends it, and checks that it arrived."""

from __future__ import annotations

from uploader.errors import IntegrityError, UploaderError
from uploader.inputs.records import TransferInputs
from uploader.reporting import Reporter
from uploader.results import FileResult
from uploader.services.base import Endpoint, Upload
from uploader.state.journal import Journal
from uploader.transfer.api_client import ApiClient
from uploader.upload.digests import while_sending
from uploader.upload.file_upload import FileUpload
from uploader.upload.journal_records import ResultInJournal, SessionInJournal
from uploader.upload.proof import prove
from uploader.upload.resumable import ResumableUpload, in_doubt
from uploader.upload.sender import FileSender
from uploader.upload.single_request import SingleRequestUpload
from uploader.upload.sources import open_source, sha256
from uploader.upload.timeline import Timeline

SMALL = 1024 * 1024  # bytes: up to here one request saves a round trip worth saving


def upload_file(
    job: Upload, client: ApiClient, settings: TransferInputs, journal: Journal, reporter: Reporter
) -> FileResult:
    """Bring one file to its endpoint, and return what came of it.

    Nothing is sent where an earlier attempt of this run has sent the file already. What goes wrong
    is in the result's `error` and `failure`.
    """
    result_of_earlier_run = _find_finished(job, journal, reporter)
    if result_of_earlier_run is not None:
        return result_of_earlier_run

    clock = client.policy.clock
    upload = FileUpload(job, clock.monotonic)
    progress = reporter.show_progress(upload)
    digests = while_sending(job.endpoint.response_digest, readable_again=upload.size is not None)
    try:
        source = open_source(job.artifact, digests, clock, settings.stall_timeout)
    except UploaderError as error:
        progress.failed(error)
        return FileResult(upload.name, upload.size or 0, error=str(error), failure=error)

    sender = FileSender(upload, client, source, reporter)
    protocol = protocol_for(
        job.endpoint,
        upload.size,
        settings.upload_protocol,
        has_metadata=job.metadata is not None,
    )
    transfer: ResumableUpload | SingleRequestUpload
    if upload.size is None or protocol == "resumable":
        session = SessionInJournal(upload, journal, source)
        upload.add_listener(session)
        transfer = ResumableUpload(sender, session, settings.chunk_size)
    else:
        upload.add_listener(ResultInJournal(upload, journal))
        transfer = SingleRequestUpload(sender, upload.size, multipart=protocol == "multipart")
    timeline = Timeline(upload, clock.monotonic)
    upload.add_listener(timeline)
    upload.add_listener(progress)

    with source:
        try:
            response = transfer.run()
            prove(sender, response)
            upload.finish()
        except UploaderError as error:
            # The error outlives the upload, and the frames of its traceback hold all of it.
            error.__traceback__ = None
            error.__context__ = None
            upload.fail(error)
    return upload.result(sender.retrier.retries, tuple(timeline.events))


def protocol_for(endpoint: Endpoint, size: int | None, wanted: str, *, has_metadata: bool) -> str:
    """Return `resumable`, `multipart` or `simple`: what was asked for, or what `auto` chooses.

    `auto` is resumable, except where the method has none, or where a small file saves a round trip
    and sending it twice would replace instead of add; a mail is always resumable. So is a stream,
    which can't be read a second time.
    """
    if size is None:
        return "resumable"
    if wanted != "auto":
        return wanted
    one_request = "multipart" if has_metadata else "simple"
    is_offered = endpoint.multipart if has_metadata else endpoint.simple
    if not endpoint.resumable:
        return one_request
    is_mail = endpoint.media_types == ("message/*",)
    is_small = size <= SMALL
    if is_small and is_offered and endpoint.idempotent and not is_mail:
        return one_request
    return "resumable"


def _find_finished(job: Upload, journal: Journal, reporter: Reporter) -> FileResult | None:
    """Return the result of a file that an earlier run added in one request; None if there is none.

    No session could tell that the file is there.
    """
    artifact = job.artifact
    finished = journal.find_finished(job)
    if finished is None or artifact.size is None:
        return None
    try:
        digest = sha256(artifact)
    except IntegrityError as error:
        return FileResult(artifact.name, artifact.size, error=str(error), failure=error)
    if digest != finished.sha256:
        reporter.info(f"{artifact.name}: the file's content is not what an earlier run sent.")
        journal.drop(job)
        return None
    if not finished.own_run:
        how = f"an upload of it that {finished.origin} began is complete, but another run began it"
        doubt = in_doubt(artifact.name, how)
        return FileResult(artifact.name, artifact.size, error=str(doubt), failure=doubt)
    reporter.info(
        f"{artifact.name}: an earlier attempt of this run has sent the file; nothing is sent."
    )
    return FileResult(
        artifact.name,
        artifact.size,
        finished.sha256,
        job.endpoint.identify(finished.resource),
        finished.resource,
        resumed_from=artifact.size,
        certificate_sha256=artifact.certificate_sha256,
        version=artifact.version,
    )
