"""Carries out the session machine's moves for one file until it is whole on the server, or can't become so.

`protocol.session` decides what to do next and what an answer means; here the requests are sent, the waits are taken,
and what must outlive the process goes into the journal.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from types import ModuleType

from uploader.errors import CredentialsError, IntegrityError, Interrupted, OutcomeUnknown, TemporaryError, UploaderError
from uploader.http.hosts import absolute, secrets_of
from uploader.http.messages import Response
from uploader.protocol import content_range, goog_upload
from uploader.protocol.chunking import Chunking
from uploader.protocol.retry import Verdict, verdict
from uploader.protocol.session import (
    Cancel,
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
from uploader.protocol.single_request import may_repeat
from uploader.state.journal import Journal, SessionRecord
from uploader.text import capitalised, format_size, share
from uploader.transfer import earlier_session
from uploader.transfer.api_client import refusal, require_trusted
from uploader.transfer.file_source import FileSource
from uploader.transfer.file_transfer import FileTransfer

_RESUMABLE = (TemporaryError, Interrupted, CredentialsError)  # after these the next run continues the session
_FORGOTTEN = "The service forgot the upload session before it reported how the upload ended."
_KEPT = "What the server has stored is kept, and the next run continues from there."


class Resumable:
    """One resumable upload; `run` is called once."""

    def __init__(self, transfer: FileTransfer, journal: Journal, chunk_size: int | None) -> None:
        self._transfer = transfer
        self._journal = journal
        self._job = transfer.job
        self._chunking = Chunking(chunk_size)
        self._inherited: SessionRecord | None = None  # while the session is an earlier run's
        self._kept = False  # whether the journal holds the session
        self._unconfirmed: OffsetUnknown | None = None  # what became of the last request, if all may have arrived
        # A stream can't be read again, so no other run continues it.
        self._file = transfer.source if isinstance(transfer.source, FileSource) else None
        self._dialect: ModuleType = goog_upload if self._job.endpoint.dialect == "goog-upload" else content_range

    def run(self) -> Response:
        """The service's answer to the finished upload. Raises the errors of `uploader.errors`."""
        session = self._first_session()
        try:
            while not session.over:
                session = self._step(session)
        except _RESUMABLE as error:
            self._keep(session)
            if not (self._kept or isinstance(error, Interrupted)) and (doubt := self._doubt(error.what)):
                raise doubt from None
            if self._kept and session.uri and _KEPT not in error.hint:  # a failed login is the same error for all
                error.hint = f"{error.hint} {_KEPT}".strip()
            raise
        except OutcomeUnknown:  # what is kept shows the same to the next run, should this one die before it has told
            raise
        except UploaderError:
            self._abandon(session)
            raise
        finally:
            self._journal.unlock(self._job)
        return self._outcome(session)

    def _first_session(self) -> Session:
        """A new session, or that of an earlier run."""
        size, source = self._job.artifact.size, self._file
        record = earlier_session.find(self._transfer, self._journal, source) if source else None
        if record is None or size is None:
            return Session(size, self._chunking)
        self._inherited, self._kept = record, True
        self._unconfirmed = earlier_session.unconfirmed(record, size)
        return Session.resumed(size, record.uri, record.granularity, self._chunking)

    # --- one move and its answer --------------------------------------------------------------------------------------

    def _step(self, session: Session) -> Session:
        session, move = self._next_move(session)
        request = self._dialect.request(move, session, self._transfer.media)
        sent = 0
        if isinstance(move, Send):
            response = self._transfer.send(request, move.span, final=move.final)
            sent = self._transfer.counts.reached
        else:
            response = self._transfer.client.exchange(request)
        event = self._dialect.event(move, response, self._transfer.media)
        if not isinstance(event, OffsetUnknown):  # which says nothing that could be checked
            event = self._checked(session, event)
        after = session.after(event, sent)
        self._follow(session, move, event, after)
        return after

    def _next_move(self, session: Session) -> tuple[Session, Move]:
        """The next move. A stream is read ahead, so that its last request is known to be the last."""
        move = session.next_move()
        if not isinstance(move, Send) or session.size is not None:
            return session, move
        span, ended = self._transfer.source.available(move.span)
        if not ended:
            return session, move
        self._transfer.counts.size = span.stop
        session = replace(session, size=span.stop)
        return session, session.next_move()

    def _checked(self, session: Session, event: Event) -> Event:
        """The event, held against what the endpoint is: which host may be trusted, what may be started over."""
        if isinstance(event, Stored):  # so it is not finished
            self._unconfirmed = None
        if self._inherited and session.state is State.OFFSET_UNKNOWN and self._transfer.counts.attempts == 0:
            event = earlier_session.checked(self._transfer, self._inherited, session, event)
        if isinstance(event, Rejected) and (doubt := self._doubt(self._refusal(event.response, session).what)):
            raise doubt
        if isinstance(event, SessionLost) and (doubt := self._doubt(_FORGOTTEN, event.why)):
            raise doubt
        if not isinstance(event, Started):
            return event
        self._inherited = None
        uri = absolute(event.uri, self._transfer.media.url)
        self._transfer.redact(uri)
        require_trusted(uri, self._transfer.media.url)
        return replace(event, uri=uri)

    def _may_be_finished(self) -> bool:
        """Whether the session may be complete though no answer said so: the last one did not turn the request away."""
        last = self._unconfirmed
        return last is not None and (last.response is None or not may_repeat(last.response, idempotent=False))

    def _doubt(self, cause: str, why: str = "") -> OutcomeUnknown | None:
        """The error where the session may be complete, nobody can ask it any more, and a repeat would add a second one.

        `why` is the last that is known of it, else what became of its last request.
        """
        last = self._unconfirmed
        if last is None or not self._job.endpoint.at_most_once or not self._may_be_finished():
            return None
        if self._inherited and self._transfer.counts.attempts == 0:
            how = f"{self._inherited.origin} may have sent all of it, and now {why or last.why}"
            return earlier_session.in_doubt(self._transfer.name, how)
        return OutcomeUnknown(
            f"It is not known whether {self._transfer.name} arrived: all of it was sent, and then {why or last.why}.",
            cause=cause,
            hint="It was not sent again, because the service could then have it twice. "
            "Check whether the service has it before you run again: the next run sends it.",
        )

    def _follow(self, before: Session, move: Move, event: Event, after: Session) -> None:
        """Waits, renews the token or continues, as the event asks; raises when nothing is left to try."""
        match event:
            case OffsetUnknown():
                if isinstance(move, Send) and after.sent == after.size:
                    self._unconfirmed = event
                self._wait(event, after)
            case TokenRejected():
                self._transfer.renew(self._without_uri(event.response, after))
            case Started():
                if self._file:
                    record = SessionRecord(after.uri, after.granularity, self._file.sample())
                    self._kept = self._journal.save(self._job, record)
                self._transfer.retrier.progressed()
            case Stored() if not after.over:
                self._stored(before, move, after)
            case SessionLost() if not after.over:
                in_doubt, self._unconfirmed = self._may_be_finished(), None
                self._transfer.in_doubt |= in_doubt
                self._journal.drop(self._job)
                self._holds(0)
                self._transfer.counts.resumed_from = None  # nothing of the earlier run is left
                self._transfer.add_event("restarted", event.why)
                # Of an earlier run's session, or of all of a file, it is not known what became of the bytes.
                lost = "nothing is stored, " if self._transfer.counts.attempts and not in_doubt else ""
                self._transfer.info(f"{capitalised(event.why)}; {lost}starting over at 0.")

    def _wait(self, event: OffsetUnknown, session: Session) -> None:
        """Waits before the next question. Raises what the service refused where that, and no trouble, was the last."""
        response = event.response
        said = self._without_uri(response, session) if isinstance(response, Response) else response
        try:
            self._transfer.retrier.wait(event.why, said, at_once=event.server_ok)
        except TemporaryError:
            if isinstance(said, Response) and 400 <= said.status < 500 and verdict(said) is not Verdict.RETRY:
                raise refusal(said, self._transfer.name) from None
            raise

    def _stored(self, before: Session, move: Move, after: Session) -> None:
        """Shows where the upload stands; a request of which nothing was stored counts as a wait."""
        counts = self._transfer.counts
        self._holds(after.offset)
        if after.rewinds > before.rewinds:
            self._transfer.warning(f"The server went back from byte {before.offset} to byte {after.offset}.")
        if before.state is State.OFFSET_UNKNOWN:
            if counts.attempts == 0:
                counts.resumed_from = after.offset
                self._continue_record()
            self._transfer.add_event("resumed", f"at {format_size(after.offset)}")
        if before.state is State.OFFSET_UNKNOWN or after.offset < counts.reached:
            held = share(after.offset, counts.size)
            self._transfer.info(f"The server holds {held}; continuing from there.")
        if after.offset > before.offset:
            self._transfer.retrier.progressed()
        elif isinstance(move, Send):
            self._transfer.retrier.wait("the server stored nothing of what was sent", at_once=True)

    def _holds(self, offset: int) -> None:
        """What the server says that it has: less than before, too."""
        self._transfer.counts.stored = offset
        self._transfer.progress.stored(offset)

    # --- how it ends --------------------------------------------------------------------------------------------------

    def _outcome(self, session: Session) -> Response:
        if session.state is State.COMPLETE and session.response is not None:
            self._completed()
            return self._without_uri(session.response, session)
        self._abandon(session)
        if session.state is State.REFUSED and session.response is not None:
            self._transfer.in_doubt |= self._may_be_finished()
            raise self._refusal(session.response, session)
        if session.state is State.LOST_TOO_OFTEN:
            raise TemporaryError(
                f"{self._transfer.name}: the server lost the upload session {session.restarts + 1} times.",
                cause="The service is having problems.",
                hint="Run again later; the upload starts over.",
                code="session-lost",
            )
        raise self._transfer.violation(session.why)

    def _completed(self) -> None:
        """It is on the server. Where a repeat would add a second one, or fail, the record stays until the run's end."""
        counts = self._transfer.counts
        if self._inherited and counts.attempts == 0:
            counts.resumed_from = counts.size
            self._transfer.info("The server already has the whole file; nothing is sent.")
        if self._job.endpoint.idempotent and not self._job.endpoint.lookup:
            self._journal.drop(self._job)

    def _without_uri(self, response: Response, session: Session) -> Response:
        """The answer without the session's URI, which some servers repeat in their errors and resources."""
        if not session.uri or not response.body:
            return response
        body = response.body
        for secret in secrets_of(session.uri, self._transfer.media.with_query()):
            body = body.replace(secret.encode(), b"***").replace(secret.replace("/", "\\/").encode(), b"***")
        return replace(response, body=body)

    def _refusal(self, response: Response, session: Session) -> UploaderError:
        return refusal(self._without_uri(response, session), self._transfer.name)

    def _continue_record(self) -> None:
        """Notes that more is sent in an earlier run's session: how much that run had sent is no longer all of it."""
        if self._inherited:
            self._journal.save(self._job, replace(self._inherited, length=0, prefix=""))

    def _keep(self, session: Session) -> None:
        """Completes the record for the next run, which knows the file again by its bytes, even in a fresh checkout."""
        source = self._file
        if source and session.uri and not session.over and self._transfer.counts.attempts:
            with suppress(IntegrityError):  # the file changed meanwhile: the record that stands will not fit it
                origin = self._inherited.origin if self._inherited else None
                record = SessionRecord(session.uri, session.granularity, source.sample(), *source.prefix(), origin)
                self._kept = self._journal.save(self._job, record)

    def _abandon(self, session: Session) -> None:
        """Forgets the session, and ends it on the server as far as one try can, so that it is never finished."""
        self._journal.drop(self._job)
        self._holds(0)
        if not session.uri or session.state in (State.REFUSED, State.LOST_TOO_OFTEN):
            return
        request = self._dialect.request(Cancel(), session, self._transfer.media)
        # What ended the upload is what is reported; a session that can't be ended expires by itself.
        with suppress(UploaderError):
            self._transfer.client.exchange(request)
