"""Carries out the session machine's moves for one file until it is whole on the server, or can't
become so.

`protocol.session` decides what to do next and what a response means; here the requests are sent,
the waits are taken, and what must outlive the process goes into the journal.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from urllib.parse import urljoin

from uploader.errors import ApiError, Interrupted, OutcomeUnknown, TemporaryError, UploaderError
from uploader.hosts import trusted
from uploader.http.messages import Response
from uploader.protocol import content_range, goog_upload
from uploader.protocol.session import (
    DEFAULT_GRANULARITY,
    Cancel,
    Chunking,
    Completed,
    Event,
    Move,
    OffsetUnknown,
    Rejected,
    Send,
    Session,
    SessionLost,
    Started,
    State,
    Stored,
    TokenRejected,
)
from uploader.redaction import without_session
from uploader.state.journal import Journal, SessionRecord
from uploader.text import capitalised, format_size, share
from uploader.transfer.api_client import refusal, require_trusted
from uploader.upload.file_upload import FileUpload
from uploader.upload.sources import BLOCK, FileSource

_KEPT = "What the server has stored is kept, and the next run continues from there."
_KEPT_HERE = (
    "A run on another machine starts over: set `state-dir` to a folder that is kept, and the next "
    "run continues the upload."
)
_LOOK = (
    "It was not sent again, because the service could then have it twice. Check whether the "
    "service has it before you run again: the next run sends it."
)
_LOOK_ELSEWHERE = (
    "It was not sent again, because the service could then have it twice. Check whether the "
    "service has it before you run again: a run on another machine sends it, unless `state-dir` "
    "names a folder that is kept."
)


class Resumable:
    """One resumable upload; `run` is called once."""

    def __init__(self, upload: FileUpload, journal: Journal, chunk_size: int | None) -> None:
        self._upload = upload
        self._journal = journal
        self._job = upload.job
        self._inherited: SessionRecord | None = None  # while the session is an earlier run's
        self._record: SessionRecord | None = None  # what the journal is to hold
        self._kept = False  # whether it holds it
        self._finishing = False  # whether the last request to be sent ends the upload
        # A stream can't be read again, so no other run continues it.
        self._file = upload.source if isinstance(upload.source, FileSource) else None
        self._dialect = (
            goog_upload if self._job.endpoint.dialect == "goog-upload" else content_range
        )
        # The documents of this dialect send all that remains with `upload, finalize` after an
        # interruption, too.
        chunking = Chunking(chunk_size, patient=self._dialect is goog_upload)
        self._session = Session(self._job.artifact.size, chunking, self._job.endpoint.at_most_once)

    def run(self) -> Response:
        """The service's response to the finished upload. Raises the errors of `uploader.errors`."""
        if self._file and (record := self._find(self._file)):
            self._inherited, self._record, self._kept = record, record, True
            unconfirmed = "an earlier run may have sent all of it" if record.last_block_due else ""
            self._session = self._session.resumed(record.uri, record.granularity, unconfirmed)
        try:
            while not self._session.over:
                self._step()
        # what is kept shows the same to the next run, should this one die before it has told
        except OutcomeUnknown:
            raise
        except UploaderError as error:
            if not error.session_kept:
                self._abandon()
                raise
            self._keep()
            raise self._broken_off(error) from None
        return self._outcome()

    # --- one move and its response ----------------------------------------------------------------

    def _step(self) -> None:
        move, sent = self._session.next_move(), 0
        self._finishing = False
        if isinstance(move, Send) and self._session.size is None:
            # A stream is read ahead, so that its last request is known to be the last.
            span, ended = self._upload.source.available(move.span)
            if ended:
                self._upload.size = span.stop
                self._session = replace(self._session, size=span.stop)
                move = self._session.next_move()
        before, media = self._session, self._upload.media
        request = self._dialect.request(move, before, media)
        if isinstance(move, Send):
            self._finishing = move.final
            response = self._upload.send(
                request, move.span, final=move.final, before_last=self._last_block_is_due
            )
            sent = self._upload.reached
        else:
            response = self._upload.client.exchange(request)
        event = self._checked(self._dialect.event(move, response, media))
        self._session = self._session.after(event, sent)
        match event:
            case OffsetUnknown() if not self._session.over:
                self._wait(event)
            case TokenRejected():
                self._upload.client.renew(
                    self._upload.retrier, self._without_uri(event.response), self._upload.name
                )
            case Started():
                if self._file:
                    due = self._file.size <= BLOCK
                    sample = self._file.sample()
                    self._save(
                        SessionRecord(event.uri, event.granularity, sample, last_block_due=due)
                    )
                self._upload.retrier.progressed()
            case Stored() if not self._session.over:
                self._stored(before, move)
            case SessionLost() if not self._session.over:
                self._lost(before, event)

    def _checked(self, event: Event) -> Event:
        """The event, held against which host may be trusted, and which earlier session may be
        continued.
        """
        if isinstance(event, Started):
            self._inherited = None
            uri = absolute(event.uri, self._upload.media.url)
            self._upload.reporter.redact_session(uri, self._upload.media.with_query())
            require_trusted(uri, self._upload.media.url)
            return replace(event, uri=uri)
        asked = self._session.state in (State.OFFSET_UNKNOWN, State.UNCONFIRMED)
        if asked and self._inherited and self._upload.attempts == 0:
            return self._of_earlier_session(self._inherited, event)
        return event

    def _wait(self, event: OffsetUnknown) -> None:
        """Waits before the next question, as long as retries are left.

        Then it raises what the service refused, where a refusal and no trouble was the last; and
        where it called the upload finished but showed nothing for it, the doubt of an upload that
        must not happen twice.
        """
        response = event.response
        said = self._without_uri(response) if isinstance(response, Response) else response
        try:
            self._upload.retrier.wait(event.why, said, at_once=event.server_ok)
        except TemporaryError:
            if isinstance(said, Response) and 400 <= said.status < 500 and event.acted:
                raise refusal(said, self._upload.name) from None
            untold = (
                isinstance(said, Response)
                and said.status < 300
                and self._session.state is State.UNCONFIRMED
            )
            if untold and self._session.at_most_once:
                cause = "The service took everything, and never said what became of it."
                raise self._doubt(cause, kept=False) from None
            raise

    def _stored(self, before: Session, move: Move) -> None:
        """Shows where the upload stands; a request of which nothing was stored counts as a wait.

        Less than a granule does too, unless it is all that was sent: a server that keeps one byte
        of each request would never come to an end.
        """
        upload, offset = self._upload, self._session.offset
        asked = before.state is not State.OFFSET_KNOWN
        self._holds(offset)
        if self._session.rewinds > before.rewinds:
            upload.warning(f"The server went back from byte {before.offset} to byte {offset}.")
        if asked:
            if upload.attempts == 0:
                upload.resumed_from = offset
                # more is sent now: what that run had sent is no longer all of it
                if self._inherited:
                    self._save(replace(self._inherited, length=0, prefix=""))
            upload.add_event("resumed", f"at {format_size(offset)}")
        if asked or offset < upload.reached:
            upload.info(f"The server holds {share(offset, upload.size)}; continuing from there.")
        gained, granule = offset - before.offset, min(before.granularity, DEFAULT_GRANULARITY)
        if gained >= granule or (gained > 0 and offset >= upload.reached):
            upload.retrier.progressed()
        elif isinstance(move, Send):
            little = "almost nothing" if gained > 0 else "nothing"
            upload.retrier.wait(f"the server stored {little} of what was sent", at_once=True)

    def _lost(self, before: Session, event: SessionLost) -> None:
        """The session is gone, and the next one begins at byte 0."""
        self._journal.drop(self._job)
        self._holds(0)
        self._upload.resumed_from = None  # nothing of the earlier run is left
        self._upload.add_event("restarted", event.why)
        # Of an earlier run's session, or of all of a file, it is not known what became of the
        # bytes.
        known = self._upload.attempts and before.state is not State.UNCONFIRMED
        lost = "nothing is stored, " if known else ""
        self._upload.info(f"{capitalised(event.why)}; {lost}starting over at 0.")

    def _holds(self, offset: int) -> None:
        """What the server says that it has: less than before, too."""
        self._upload.stored = offset
        self._upload.progress.stored(offset)

    # --- the journal ------------------------------------------------------------------------------

    def _find(self, file: FileSource) -> SessionRecord | None:
        """The session of an earlier run that may be continued with this file and this server."""
        upload, record = self._upload, self._journal.find(self._job)
        if record is None:
            return None
        if not trusted(record.uri, upload.media.url):
            upload.info("An earlier run began this upload on another host; starting over.")
            return None
        same_bytes = not record.length or file.begins_with(record.length, record.prefix)
        if record.sample != file.sample() or not same_bytes:
            upload.info(
                "The file's content is not what an earlier run began to upload; starting over."
            )
            return None
        upload.reporter.redact_session(record.uri, upload.media.with_query())
        upload.info("An earlier run began this upload; asking the server how far it came.")
        return record

    def _of_earlier_session(self, record: SessionRecord, event: Event) -> Event:
        """The first word about the session, which is lost unless it is there and surely this
        file's.

        One that is complete is this run's only if this run began it. Raises `OutcomeUnknown` where
        it can't be told whether the session was this run's, and sending the file again could add it
        twice.
        """
        size = self._session.size or 0
        stored = (
            event.offset
            if isinstance(event, Stored)
            else size
            if isinstance(event, Completed)
            else 0
        )
        if isinstance(event, Rejected):
            return SessionLost("the session of the earlier run is no longer accepted")
        if stored and not record.same_file and stored > record.length:
            why = "the server holds bytes that can't be compared with this file"
        elif isinstance(event, Completed) and (self._job.search or not record.own_run):
            # What a list shows is not sent at all, so that it may have been removed since.
            why = "another run began it"
        else:
            return event
        if isinstance(event, Stored):
            self._session = replace(self._session, state=State.OFFSET_UNKNOWN)  # it is not finished
        elif not self._job.endpoint.idempotent:
            how = f"an upload of it that {record.origin} began is complete, but {why}"
            raise in_doubt(self._upload.name, how)
        return SessionLost(why)

    def _last_block_is_due(self) -> None:
        """Notes, before it leaves, that all of the file can have been sent."""
        if self._record and not self._record.last_block_due:
            self._save(replace(self._record, last_block_due=True))

    def _keep(self) -> None:
        """Completes the record for the next run, which knows the file again by its bytes, even in a
        fresh checkout.
        """
        if self._file and self._record and self._session.uri and self._upload.attempts:
            length, prefix = self._file.prefix()
            self._save(replace(self._record, length=length, prefix=prefix))

    def _save(self, record: SessionRecord) -> None:
        self._record = record
        self._kept = self._journal.save(self._job, record)
        if not self._kept:  # an older record would say too little
            self._journal.drop(self._job)

    # --- how it ends ------------------------------------------------------------------------------

    def _outcome(self) -> Response:
        session, upload = self._session, self._upload
        if session.state is State.COMPLETE and session.response is not None:
            if self._inherited and upload.attempts == 0:
                upload.resumed_from = upload.size
                upload.info("The server already has the whole file; nothing is sent.")
            # Where a repeat would add a second one, or fail, and no list shows the first, the
            # record stays until the run's end.
            if self._job.search or (
                self._job.endpoint.idempotent and not self._job.endpoint.lookup
            ):
                self._journal.drop(self._job)
            return self._without_uri(session.response)
        refused = (
            refusal(self._without_uri(session.response), upload.name)
            if session.response is not None
            else None
        )
        if session.state is State.IN_DOUBT:
            forgotten = (
                "The service forgot the upload session before it reported how the upload ended."
            )
            raise self._doubt(refused.what if refused else forgotten, kept=False)
        self._abandon()
        if session.state is State.REFUSED and refused is not None:
            if session.doubted and isinstance(refused, ApiError):
                return upload.stored_before(refused)
            raise refused
        if session.state is State.LOST_TOO_OFTEN:
            raise TemporaryError(
                f"{upload.name}: the server lost the upload session {session.restarts + 1} times.",
                cause="The service is having problems.",
                hint="Run again later; the upload starts over.",
                code="session-lost",
            )
        raise upload.violation(session.why)

    def _broken_off(self, error: UploaderError) -> UploaderError:
        """The error with what a later run can do: continue, start over, or nothing before a person
        has looked.
        """
        lasting = self._kept and self._journal.lasting
        added_twice = self._session.at_most_once and self._job.endpoint.adds
        if added_twice and not lasting and self._may_be_complete(error):
            if not isinstance(error, Interrupted):
                return self._doubt(error.what, kept=self._kept)
            self._upload.warn_of_doubt(error)
        elif self._kept and self._session.uri:
            hint = _KEPT if lasting else _KEPT_HERE
            if hint not in error.hint:  # a failed login is the same error for all files
                error.hint = f"{error.hint} {hint}".strip()
        return error

    def _may_be_complete(self, error: UploaderError) -> bool:
        """Whether the server may have finished the upload, of which this run has not heard."""
        return self._session.state is State.UNCONFIRMED or (self._finishing and error.unanswered)

    def _doubt(self, cause: str, *, kept: bool) -> OutcomeUnknown:
        """The error where the upload may be complete, and a repeat would add a second one.

        `kept`: a run on this machine can still ask the session, but no other.
        """
        name, why = self._upload.name, self._session.why
        if self._inherited and self._upload.attempts == 0:
            error = in_doubt(
                name, f"{self._inherited.origin} may have sent all of it, and now {why}"
            )
        else:
            error = OutcomeUnknown(
                f"It is not known whether {name} arrived: all of it was sent, and then {why}.",
                cause=cause,
                hint=_LOOK_ELSEWHERE if kept else _LOOK,
            )
        error.session_kept = kept
        return error

    def _abandon(self) -> None:
        """Forgets the session, and ends it on the server as far as one try can, so that it is never
        finished.

        Not where all of it may have arrived: what is finished perhaps must not be cancelled.
        """
        self._journal.drop(self._job)
        self._holds(0)
        ended = self._session.state in (State.REFUSED, State.LOST_TOO_OFTEN)
        if self._session.uri and not ended and self._session.sent != self._session.size:
            request = self._dialect.request(Cancel(), self._session, self._upload.media)
            # What ended the upload is what is reported; a session that can't be ended expires by
            # itself.
            with suppress(UploaderError):
                self._upload.client.exchange(request)

    def _without_uri(self, response: Response) -> Response:
        """The response without the session's URI, which some servers repeat in their errors and
        resources.
        """
        if not self._session.uri or not response.body:
            return response
        body = without_session(response.body, self._session.uri, self._upload.media.with_query())
        return replace(response, body=body)


def in_doubt(name: str, how: str) -> OutcomeUnknown:
    """The error for a file that an earlier run may have sent; `how` it looks now is the middle of a
    sentence.
    """
    return OutcomeUnknown(
        f"It is not known whether {name} still has to be sent: {how}.",
        cause="That run ended before it could report success, or `state-dir` was restored to an "
        "older state.",
        hint="Check what the service has. If the file is missing there, run again: it will then be "
        "sent.",
    )


def absolute(uri: str, endpoint: str) -> str:
    """The session URI as an absolute one; a relative Location is allowed (RFC 9110, section
    10.2.2).
    """
    try:
        return urljoin(endpoint, uri)
    except ValueError:
        return uri
