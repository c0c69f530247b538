"""Uploads one file: chooses the protocol, opens the file, sends it, and checks that it arrived."""

from __future__ import annotations

from dataclasses import dataclass

from uploader.errors import IntegrityError, UploaderError
from uploader.inputs.records import TransferInputs
from uploader.reporting import Reporter, UploadListener
from uploader.results import FileResult
from uploader.services.base import Upload
from uploader.state.journal import Journal
from uploader.transfer.api_client import ApiClient
from uploader.upload.digests import while_sending
from uploader.upload.file_upload import FileUpload
from uploader.upload.journal_records import ResultInJournal, SessionInJournal
from uploader.upload.proof import prove
from uploader.upload.resumable import ResumableUpload, in_doubt
from uploader.upload.sender import FileSender
from uploader.upload.single_request import SingleRequestUpload
from uploader.upload.sources import FileSource, Source, open_source, sha256
from uploader.upload.timeline import Timeline

SMALL = 1024 * 1024  # bytes: up to here one request saves a round trip worth saving


class Uploader:
    """Brings one file to its endpoint: `run` does it, and `begin` does what can be done before.

    Each is called once at most; `close` is for an upload that was begun and is not run.
    """

    def __init__(
        self,
        job: Upload,
        client: ApiClient,
        settings: TransferInputs,
        journal: Journal,
        reporter: Reporter,
    ) -> None:
        self.job = job
        self._client = client
        self._settings = settings
        self._journal = journal
        self._reporter = reporter
        self._monotonic = client.policy.clock.monotonic
        self._upload = FileUpload(job, self._monotonic)
        self._begun: _OpenFile | None = None

    def begin(self) -> None:
        """Open the upload session ahead of the bytes, unless the file needs none, or an earlier run
        has begun or finished its upload. `run` reports the errors.
        """
        in_session = self._upload.size is not None and self._protocol == "resumable"
        if not in_session or self._journal.has(self.job):
            return
        try:
            self._begun = self._open()
        except UploaderError:
            # `run` opens it again, and reports the error.
            return
        try:
            if isinstance(self._begun.transfer, ResumableUpload):
                self._begun.transfer.begin()
        finally:
            if isinstance(self._begun.source, FileSource):
                # Hundreds of files may have a session and wait.
                self._begun.source.pause()

    def close(self, *, cancel: bool) -> None:
        """Give up an upload that was begun. Its session expires by itself, unless it is to be
        cancelled, which takes a request.
        """
        if self._begun is None:
            return
        self._begun.source.close()
        if cancel and isinstance(self._begun.transfer, ResumableUpload):
            self._begun.transfer.abandon()
        else:
            self._journal.drop(self.job)

    def run(self) -> FileResult:
        """Send the file, and return its result.

        Nothing is sent if an earlier attempt of this run has sent the file already. What goes wrong
        is in the result's `error` and `failure`.
        """
        result_of_earlier_run = _find_finished(self.job, self._journal, self._reporter)
        if result_of_earlier_run is not None:
            return result_of_earlier_run

        upload = self._upload
        upload.start_clock()
        progress = UploadListener()
        if not self.job.quiet:
            progress = self._reporter.show_progress(upload)
        try:
            file = self._begun or self._open()
        except UploaderError as error:
            progress.failed(error)
            return FileResult(
                upload.name,
                upload.size or 0,
                error=str(error),
                failure=error,
            )
        timeline = Timeline(upload, self._monotonic, lasting=self._journal.lasting)
        upload.add_listener(timeline)
        upload.add_listener(progress)

        with file.source:
            try:
                response = file.transfer.run()
                prove(file.sender, response)
                upload.finish()
            except UploaderError as error:
                # The error outlives the upload, and the frames of its traceback hold all of it.
                error.__traceback__ = None
                error.__context__ = None
                upload.fail(error)
        return upload.result(file.sender.retrier.retries, tuple(timeline.events))

    @property
    def _protocol(self) -> str:
        return protocol_for(self.job, self._settings.upload_protocol)

    def _open(self) -> _OpenFile:
        """Open the file, and make the objects that send it.

        Raises IntegrityError for a file that is no longer the one that was found, and for a stream
        that can't be read.
        """
        upload = self._upload
        digests = while_sending(
            self.job.endpoint.response_digest, readable_again=upload.size is not None
        )
        source = open_source(
            self.job.artifact,
            digests,
            self._client.policy.clock,
            self._settings.stall_timeout,
        )
        sender = FileSender(upload, self._client, source, self._reporter)
        protocol = self._protocol
        if upload.size is None or protocol == "resumable":
            session = SessionInJournal(upload, self._journal, source)
            upload.add_listener(session)
            resumable = ResumableUpload(sender, session, self._settings.chunk_size)
            return _OpenFile(source, sender, resumable)
        upload.add_listener(ResultInJournal(upload, self._journal))
        is_multipart = protocol == "multipart"
        single = SingleRequestUpload(sender, upload.size, multipart=is_multipart)
        return _OpenFile(source, sender, single)


@dataclass(frozen=True)
class _OpenFile:
    """A file that is open, and the objects that send it."""

    source: Source
    sender: FileSender
    transfer: ResumableUpload | SingleRequestUpload


def protocol_for(job: Upload, wanted: str) -> str:
    """Return `resumable`, `multipart` or `simple`: what was asked for, or what `auto` chooses.

    `auto` is resumable, unless the method has no such uploads, or a small file saves a round trip
    and can't be stored twice after a lost response: a repeat replaces it, or a list shows whether
    it arrived. A mail is always resumable. So is a stream, which can't be read a second time.
    """
    endpoint = job.endpoint
    size = job.artifact.size
    if size is None:
        return "resumable"
    if wanted != "auto":
        return wanted
    one_request = "simple"
    is_offered = endpoint.simple
    if job.metadata is not None:
        one_request = "multipart"
        is_offered = endpoint.multipart
    if not endpoint.resumable:
        return one_request
    is_mail = endpoint.media_types == ("message/*",)
    is_repeatable = endpoint.idempotent or job.search is not None
    if size <= SMALL and is_offered and is_repeatable and not is_mail:
        return one_request
    return "resumable"


def _find_finished(
    job: Upload, journal: Journal, reporter: Reporter
) -> FileResult | None:
    """Return the result of a file whose upload is finished according to the journal; None if it has
    to be sent.

    The result is a failure if the file has changed, or if another run finished the upload and a
    repeat would add a second one.
    """
    artifact = job.artifact
    finished = journal.find_finished(job)
    if finished is None or artifact.size is None:
        return None
    try:
        digest = sha256(artifact)
    except IntegrityError as error:
        return FileResult(
            artifact.name,
            artifact.size,
            error=str(error),
            failure=error,
        )
    if digest != finished.sha256:
        reporter.info(
            f"{artifact.name}: the file's content is not what an earlier run sent."
        )
        journal.drop(job)
        return None
    if not finished.own_run and not job.endpoint.adds:
        journal.drop(job)
        return None
    if not finished.own_run:
        how = f"an upload of it that {finished.origin} began is complete, but another run began it"
        doubt = in_doubt(artifact.name, how)
        return FileResult(
            artifact.name,
            artifact.size,
            error=str(doubt),
            failure=doubt,
        )
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
