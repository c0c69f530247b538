"""What the journal holds of one upload, so that a later run of the same job knows of it."""

from __future__ import annotations

from dataclasses import replace

from uploader.errors import IntegrityError, UploaderError
from uploader.reporting import UploadListener
from uploader.state.journal import Journal, SessionRecord
from uploader.upload.file_upload import FileUpload
from uploader.upload.sources import BLOCK, FileSource, Source


class SessionInJournal(UploadListener):
    """The session of one resumable upload, kept so that a later run can go on with it.

    It is kept before the first byte is sent, and updated before each step that would make it out of
    date. The session of a stream is not kept: no other run can read the stream again. `inherited`
    is the record of the earlier run whose session this is, None once this run has begun one of its
    own. `is_kept` says whether the journal holds the session.
    """

    def __init__(
        self,
        upload: FileUpload,
        journal: Journal,
        source: Source,
    ) -> None:
        self.inherited: SessionRecord | None = None
        self.is_kept = False
        self._upload = upload
        self._job = upload.job
        self._journal = journal
        self._file: FileSource | None = None
        if isinstance(source, FileSource):
            self._file = source
        self._record: SessionRecord | None = None  # what the journal is to hold

    @property
    def is_found_by_next_run(self) -> bool:
        """Whether the next run finds the session, on whichever machine it is."""
        return self.is_kept and self._journal.lasting

    def find(self) -> SessionRecord | None:
        """Return the session that an earlier run began for the same upload, if there is one."""
        if self._file is None:
            return None
        return self._journal.find(self._job)

    def is_of_same_content(self, record: SessionRecord) -> bool:
        """Return whether the file still has the content that an earlier run began to upload."""
        if self._file is None:
            return False
        sample = self._file.sample()
        if record.sample != sample:
            return False
        # The earlier run left no digest of what it sent.
        if record.length == 0:
            return True
        return self._file.begins_with(record.length, record.prefix)

    def inherit(self, record: SessionRecord) -> None:
        """Go on with the session of an earlier run, which the journal holds."""
        self.inherited = record
        self.is_kept = True
        self._record = record

    # --- what happens to the upload ---------------------------------------------------------------

    def session_started(self, uri: str, granularity: int) -> None:
        """Keep the new session."""
        self.inherited = None
        if self._file is None:
            return
        # A file of one block is sent by the first request, so that all of it is due at once.
        is_one_block = self._file.size <= BLOCK
        record = SessionRecord(
            uri,
            granularity,
            sample=self._file.sample(),
            last_block_due=is_one_block,
        )
        self._save(record)

    def session_resumed(self) -> None:
        """Remove the digest of what the earlier run sent: once this run sends more, it does not
        cover everything that was sent.
        """
        if self.inherited and self._upload.attempts == 0:
            record = replace(
                self.inherited,
                length=0,
                prefix="",
            )
            self._save(record)

    def last_block_due(self) -> None:
        """Note, before the last block leaves, that all of the file may have been sent."""
        record = self._record
        if record and not record.last_block_due:
            record = replace(record, last_block_due=True)
            self._save(record)

    def interrupted(self) -> None:
        """Add the digest of what was sent, by which the next run recognises the file.

        That works in a fresh checkout, too, where the file is another one with the same bytes.
        """
        record = self._record
        if self._file is None or record is None:
            return
        if self._upload.attempts == 0:
            return
        length, prefix = self._file.prefix()
        record = replace(
            record,
            length=length,
            prefix=prefix,
        )
        self._save(record)

    def session_lost(self, why: str) -> None:  # noqa: ARG002  # whatever the reason
        """Forget the session."""
        self._forget()

    def abandoned(self) -> None:
        """Forget the session."""
        self._forget()

    def completed(self) -> None:
        """Forget the session if the upload can be repeated without harm, or if a list of the
        service shows whether it arrived. Otherwise the session stays until the end of the run.
        """
        endpoint = self._job.endpoint
        can_be_repeated = endpoint.idempotent and not endpoint.lookup
        if self._job.search or can_be_repeated:
            self._journal.drop(self._job)

    def failed(self, error: UploaderError) -> None:
        """Forget a session that stored damaged bytes: a later run would find the same damage."""
        if isinstance(error, IntegrityError):
            self._journal.drop(self._job)

    def _save(self, record: SessionRecord) -> None:
        self._record = record
        self.is_kept = self._journal.save(self._job, record)
        if not self.is_kept:
            # An older record would say too little of what was sent.
            self._journal.drop(self._job)

    def _forget(self) -> None:
        self._record = None
        self.is_kept = False
        self._journal.drop(self._job)


class ResultInJournal(UploadListener):
    """The result of an upload in one request, kept since there is no session that a later run could
    ask.
    """

    def __init__(self, upload: FileUpload, journal: Journal) -> None:
        self._upload = upload
        self._job = upload.job
        self._journal = journal

    def finished(self) -> None:
        """Keep the result if a repeat would add a second one, or if the service may work on the
        file for longer than this run waits.
        """
        endpoint = self._job.endpoint
        if endpoint.adds or endpoint.completion:
            self._journal.save_finished(
                self._job,
                self._upload.sha256,
                self._upload.resource,
            )

    def failed(self, error: UploaderError) -> None:
        """Forget the kept result of a file that arrived damaged."""
        if isinstance(error, IntegrityError):
            self._journal.drop(self._job)
