"""Carries out the session machine's moves for one file until it is whole on the server, or the
upload has failed.

`protocol.session` decides what to do next and what a response means. Here the requests are sent and
the waits are taken, and the upload is told what the server has confirmed.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from urllib.parse import urljoin

from uploader.errors import (
    ApiError,
    Interrupted,
    OutcomeUnknown,
    Stopped,
    TemporaryError,
    UploaderError,
)
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
from uploader.state.journal import SessionRecord
from uploader.text import capitalise, share
from uploader.transfer.api_client import refusal, require_trusted
from uploader.upload.journal_records import SessionInJournal
from uploader.upload.proof import look_up_stored
from uploader.upload.sender import FileSender

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


class ResumableUpload:
    """One resumable upload; `run` is called once, and `begin` perhaps before it. `record` is what
    the journal holds of it.
    """

    def __init__(
        self,
        sender: FileSender,
        record: SessionInJournal,
        chunk_size: int | None,
    ) -> None:
        self._sender = sender
        self._record = record
        self._upload = sender.upload
        self._endpoint = sender.upload.job.endpoint
        self._client = sender.client
        self._media = sender.media
        self._retrier = sender.retrier
        # whether the last request to be sent ends the upload
        self._is_finishing = False
        # what kept `begin` from starting a session
        self._failure: UploaderError | None = None
        is_goog_upload = self._endpoint.dialect == "goog-upload"
        self._dialect = goog_upload if is_goog_upload else content_range
        # In the documents of this dialect all that remains is sent with `upload, finalize` even
        # after an interruption.
        chunking = Chunking(chunk_size, patient=is_goog_upload)
        self._session = Session(
            self._upload.size, chunking, self._endpoint.at_most_once
        )

    def begin(self) -> None:
        """Start a session ahead of the bytes. What goes wrong is raised by `run`."""
        try:
            while self._session.state is State.NEW:
                self._step()
        except UploaderError as error:
            self._failure = error

    def run(self) -> Response:
        """Return the service's response to the finished upload.

        Raises OutcomeUnknown if it is not known whether the upload was finished. After
        TemporaryError, CredentialsError, Interrupted and Stopped, the session stays in the journal,
        and the next run continues it. After any other UploaderError it is cancelled and forgotten.
        """
        if self._session.state is State.NEW:
            self._go_on_with_earlier_session()
        try:
            if self._failure is not None:
                raise self._failure
            while not self._session.over:
                self._step()
        except OutcomeUnknown:
            # The record stays as it is. If this run dies before it has reported the doubt, the next
            # one comes to the same conclusion.
            raise
        except UploaderError as error:
            if not error.session_kept:
                self.abandon()
                raise
            self._upload.interrupt()
            raise self._with_advice(error) from None
        return self._outcome()

    # --- one move and its response ----------------------------------------------------------------

    def _step(self) -> None:
        self._is_finishing = False
        move = self._next_move()
        before = self._session
        event = self._carry_out(move)
        event = self._check_event(event)
        sent = 0
        if isinstance(move, Send):
            sent = self._upload.position
        self._session = self._session.after(event, sent)
        match event:
            case Started():
                self._upload.start_session(event.uri, event.granularity)
                self._retrier.progressed()
            case TokenRejected():
                response = self._without_uri(event.response)
                self._client.renew(self._retrier, response, self._upload.name)
            case OffsetUnknown() if not self._session.over:
                self._wait(event)
            case Stored() if not self._session.over:
                self._go_on(before, move)
            case SessionLost() if not self._session.over:
                self._start_over(before, event)

    def _next_move(self) -> Move:
        """Return the session's next move. If a stream ends with it, the session has a size from
        then on.
        """
        move = self._session.next_move()
        if not isinstance(move, Send):
            return move
        if self._session.size is not None:
            return move
        # A stream is read ahead, so that its last request is known to be the last.
        span, has_ended = self._sender.source.available(move.span)
        if not has_ended:
            return move
        size = span.stop
        self._upload.find_end(size)
        self._session = replace(self._session, size=size)
        return self._session.next_move()

    def _carry_out(self, move: Move) -> Event:
        """Send the request of a move, and return what its response means."""
        request = self._dialect.request(move, self._session, self._media)
        if isinstance(move, Send):
            self._is_finishing = move.final
            response = self._sender.send(request, move.span, final=move.final)
        else:
            response = self._client.exchange(request)
        event: Event = self._dialect.event(move, response, self._media)
        return event

    def _check_event(self, event: Event) -> Event:
        """Return the event as this run takes it. A new session must be on a trusted host. The first
        response about an earlier run's session counts only if that surely is this file's.
        """
        if isinstance(event, Started):
            uri = absolute(event.uri, self._media.url)
            self._sender.reporter.redact_session(uri, self._media.with_query())
            require_trusted(uri, self._media.url)
            return replace(event, uri=uri)
        inherited = self._record.inherited
        if inherited is None or self._upload.attempts > 0:
            return event
        state = self._session.state
        if state not in (State.OFFSET_UNKNOWN, State.UNCONFIRMED):
            return event
        return self._judge_earlier_session(inherited, event)

    def _wait(self, event: OffsetUnknown) -> None:
        """Wait before the next request for the offset, or before another start, as long as retries
        are left.

        When none are left, raises what `_last_word` returns, or TemporaryError.
        """
        response = event.response
        if isinstance(response, Response):
            response = self._without_uri(response)
        try:
            self._retrier.wait(event.why, response, at_once=event.server_ok)
        except TemporaryError:
            if not isinstance(response, Response):
                raise
            last_word = self._last_word(event, response)
            if last_word is None:
                raise
            raise last_word from None

    def _last_word(
        self, event: OffsetUnknown, response: Response
    ) -> UploaderError | None:
        """Return the error for the last response before the retries were spent; None if it is only
        temporary.

        A 4xx is a refusal, unless it was worth another attempt, as 408 and 429 are. If the service
        called the upload complete but never showed its result, an upload that must not happen twice
        is in doubt.
        """
        session = self._session
        is_refusal = 400 <= response.status < 500
        if is_refusal and event.may_have_acted:
            return refusal(response, self._upload.name)
        if response.status >= 300 or not session.at_most_once:
            return None
        if session.state is not State.UNCONFIRMED:
            return None
        cause = "The service received everything, but never reported the result."
        return self._doubt(cause, kept=False)

    def _go_on(self, before: Session, move: Move) -> None:
        """Go on from the offset that the server has just stated.

        A request of which nothing was stored counts as a retry, and so does one of which less than
        a granule was stored, unless that was all that was sent. Otherwise a server that keeps one
        byte of each request could go on without end.
        """
        upload = self._upload
        offset = self._session.offset
        sent = upload.position
        was_asked = before.state is not State.OFFSET_KNOWN
        upload.confirm(offset)
        if self._session.rewinds > before.rewinds:
            self._sender.warning(
                f"The server went back from byte {before.offset} to byte {offset}."
            )
        if was_asked:
            is_inherited = self._record.inherited is not None
            has_sent_nothing = upload.attempts == 0
            upload.resume(of_earlier_run=is_inherited and has_sent_nothing)
        if was_asked or offset < sent:
            held = share(offset, upload.size)
            self._sender.info(f"The server holds {held}; continuing from there.")
        gained = offset - before.offset
        granule = min(before.granularity, DEFAULT_GRANULARITY)
        holds_all_of_it = gained > 0 and offset >= sent
        if gained >= granule or holds_all_of_it:
            self._retrier.progressed()
        elif isinstance(move, Send):
            why = "the server stored nothing of what was sent"
            if gained > 0:
                why = "the server stored almost nothing of what was sent"
            self._retrier.wait(why, at_once=True)

    def _start_over(self, before: Session, event: SessionLost) -> None:
        """Note and log that the upload begins again at byte 0; the next step opens a session."""
        self._upload.start_over(event.why)
        what = "starting over at 0"
        has_sent_something = self._upload.attempts > 0
        was_sent_to_end = before.state is State.UNCONFIRMED
        # What an earlier run sent, or what was sent to the end, may be stored after all.
        if has_sent_something and not was_sent_to_end:
            what = "nothing is stored, starting over at 0"
        why = capitalise(event.why)
        self._sender.info(f"{why}; {what}.")

    # --- the session of an earlier run ------------------------------------------------------------

    def _go_on_with_earlier_session(self) -> None:
        """Take up the session of an earlier run, if one may be continued."""
        record = self._find_earlier_session()
        if record is None:
            return
        self._record.inherit(record)
        unconfirmed = ""
        if record.last_block_due:
            unconfirmed = "an earlier run may have sent all of it"
        self._session = self._session.resume(
            record.uri, record.granularity, unconfirmed
        )

    def _find_earlier_session(self) -> SessionRecord | None:
        """Return the session of an earlier run that may be continued with this file and server;
        None if there is none.
        """
        record = self._record.find()
        if record is None:
            return None
        if not trusted(record.uri, self._media.url):
            self._sender.info(
                "An earlier run began this upload on another host; starting over."
            )
            return None
        if not self._record.is_of_same_content(record):
            self._sender.info(
                "The file's content is not what an earlier run began to upload; starting over."
            )
            return None
        self._sender.reporter.redact_session(record.uri, self._media.with_query())
        self._sender.info(
            "An earlier run began this upload; asking the server how far it got."
        )
        return record

    def _judge_earlier_session(self, record: SessionRecord, event: Event) -> Event:
        """Return what the first response about an earlier session means for this run.

        The session counts as lost unless it still exists and is surely this file's. If it is
        complete, this run, or an earlier attempt of it, must have begun it. Raises `OutcomeUnknown`
        if a complete one does not count, and sending the file again could add it twice.
        """
        if isinstance(event, Rejected):
            return SessionLost("the session of the earlier run is no longer accepted")
        why = self._why_not_continued(record, event)
        if not why:
            return event
        if isinstance(event, Stored):
            # The server stated an offset, so the session is not finished.
            self._session = replace(self._session, state=State.OFFSET_UNKNOWN)
        elif not self._endpoint.idempotent:
            how = f"an upload of it that {record.origin} began is complete, but {why}"
            raise in_doubt(self._upload.name, how)
        return SessionLost(why)

    def _why_not_continued(self, record: SessionRecord, event: Event) -> str:
        """Return why the session that an earlier run began can't be this run's; empty if it can."""
        stored = 0
        if isinstance(event, Stored):
            stored = event.offset
        elif isinstance(event, Completed):
            stored = self._session.size or 0
        can_be_compared = record.same_file or stored <= record.length
        if not can_be_compared:
            return "the server has bytes that can't be compared with this file"
        if not isinstance(event, Completed):
            return ""
        # A file that the service lists is not sent at all, so this one may have been removed since
        # it was complete.
        is_listed = self._upload.job.search is not None
        if is_listed or not record.own_run:
            return "another run began it"
        return ""

    # --- how it ends ------------------------------------------------------------------------------

    def _outcome(self) -> Response:
        """Return the response of a session that is complete, or raise why it is not."""
        session = self._session
        if session.state is State.COMPLETE:
            assert session.response is not None, "a complete session has the response"
            self._tell_of_earlier_completion()
            return self._without_uri(session.response)
        if session.state is State.IN_DOUBT:
            raise self._doubt(self._cause_of_doubt(), kept=False)
        self.abandon()
        if session.state is State.REFUSED:
            assert session.response is not None, "a refused session has the response"
            response = self._without_uri(session.response)
            refused = refusal(response, self._upload.name)
            if session.doubted and isinstance(refused, ApiError):
                return look_up_stored(self._sender, refused)
            raise refused
        if session.state is State.LOST_TOO_OFTEN:
            times = session.restarts + 1
            raise TemporaryError(
                f"{self._upload.name}: the server lost the upload session {times} times.",
                cause="The service is having problems.",
                hint="Run again later; the upload starts over.",
                code="session-lost",
            )
        raise self._sender.violation(session.why)

    def _cause_of_doubt(self) -> str:
        """Return a sentence on what the service did instead of reporting how the upload ended."""
        if self._session.response is not None:
            response = self._without_uri(self._session.response)
            return refusal(response, self._upload.name).what
        if self._session.untold:
            return "The service answers for the upload session, but not how the upload ended."
        return "The service forgot the upload session before it reported how the upload ended."

    def _tell_of_earlier_completion(self) -> None:
        """Say that nothing is sent, if an earlier run had sent all of the file."""
        if self._record.inherited and self._upload.attempts == 0:
            self._upload.find_complete()
            self._sender.info("The server already has the whole file; nothing is sent.")

    def _with_advice(self, error: UploaderError) -> UploaderError:
        """Return the error with what a later run can do: continue, start over, or nothing before a
        person has looked.
        """
        if isinstance(error, Stopped):
            # The failure of the other task decides what becomes of the upload.
            return error
        is_kept = self._record.is_kept
        is_found = self._record.is_found_by_next_run
        is_added_twice = self._session.at_most_once and self._endpoint.adds
        if is_added_twice and not is_found and self._may_be_complete(error):
            if isinstance(error, Interrupted):
                return self._sender.warn_of_doubt(error)
            return self._doubt(error.what, kept=is_kept)
        if not is_kept or not self._session.uri:
            return error
        if not is_found:
            return error.with_advice(also=_KEPT_HERE)
        return error.with_advice(also=self._what_is_kept())

    def _what_is_kept(self) -> str:
        """Return a sentence that says where the next run, which finds the session, goes on."""
        upload = self._upload
        if not upload.stored:
            return f"The next run continues the upload of {upload.name}."
        received = share(upload.stored, upload.size)
        return (
            f"The server has received {received} of {upload.name}: the next run goes on from "
            "there."
        )

    def _may_be_complete(self, error: UploaderError) -> bool:
        """Return whether the server may have finished the upload without this run's knowledge."""
        if self._session.state is State.UNCONFIRMED:
            return True
        return self._is_finishing and error.unanswered

    def _doubt(self, cause: str, *, kept: bool) -> OutcomeUnknown:
        """Return the error for an upload that may be complete, when a repeat would add a second
        one.

        `kept`: a run on this machine can still query the session, but no other can.
        """
        name = self._upload.name
        why = self._session.why
        inherited = self._record.inherited
        if inherited and self._upload.attempts == 0:
            how = f"{inherited.origin} may have sent all of it, and now {why}"
            return in_doubt(name, how, kept=kept)
        hint = _LOOK
        if kept:
            hint = _LOOK_ELSEWHERE
        return OutcomeUnknown(
            f"It is not known whether {name} arrived: all of it was sent, and then {why}.",
            cause=cause,
            hint=hint,
            session_kept=kept,
        )

    def abandon(self) -> None:
        """Forget the session, and end it on the server, so that it is never finished.

        One attempt is enough. A session that may have all of the file is not cancelled, since it
        may be finished.
        """
        self._upload.abandon()
        session = self._session
        has_ended = session.state in (State.REFUSED, State.LOST_TOO_OFTEN)
        may_be_finished = session.sent == session.size
        if not session.uri or has_ended or may_be_finished:
            return
        request = self._dialect.request(Cancel(), session, self._media)
        # What ended the upload is reported, not this; a session that can't be ended expires.
        with suppress(UploaderError):
            self._client.exchange(request)

    def _without_uri(self, response: Response) -> Response:
        """Return the response without the session's URI, which some servers repeat in their errors
        and resources.
        """
        uri = self._session.uri
        if not uri or not response.body:
            return response
        body = without_session(
            response.body,
            uri,
            self._media.with_query(),
        )
        return replace(response, body=body)


def in_doubt(name: str, how: str, *, kept: bool = False) -> OutcomeUnknown:
    """Return the error for a file that an earlier run may have sent.

    `how` says what is known of that, as the middle of a sentence. `kept`: its session stays in the
    journal.
    """
    return OutcomeUnknown(
        f"It is not known whether {name} still has to be sent: {how}.",
        cause="That run ended before it could report success, or `state-dir` was restored to an "
        "older state.",
        hint="Check what the service has. If the file is missing there, run again: it will then be "
        "sent.",
        session_kept=kept,
    )


def absolute(uri: str, endpoint: str) -> str:
    """Return the session URI as an absolute one; a relative Location is allowed (RFC 9110, section
    10.2.2).
    """
    try:
        return urljoin(endpoint, uri)
    except ValueError:
        return uri
