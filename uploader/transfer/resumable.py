"""Carries out the session machine's moves for one file until it is whole on the server, or can't become so."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from types import ModuleType

from uploader.errors import AnswerLost, CredentialsError, IntegrityError, Interrupted, TemporaryError, UploaderError
from uploader.http.hosts import absolute, secrets_of, trusted
from uploader.http.messages import Broken, Response, Span
from uploader.protocol import content_range, goog_upload
from uploader.protocol.session import (
    Ask,
    Cancel,
    Chunking,
    Completed,
    Event,
    Lost,
    Move,
    OffsetUnknown,
    Rejected,
    Send,
    Session,
    Started,
    State,
    Stored,
    TokenRejected,
)
from uploader.results import size
from uploader.state.journal import Entry, Journal
from uploader.transfer.api_client import refusal
from uploader.transfer.file_transfer import FileTransfer, own_bytes

_KEPT = (TemporaryError, Interrupted, CredentialsError)  # after these the next run goes on in the session


class Resumable:
    """One resumable upload; `run` is called once."""

    def __init__(self, sending: FileTransfer, journal: Journal, chunk_size: int | None) -> None:
        self._sending = sending
        self._journal = journal
        self._job = sending.job
        self._chunking = Chunking(chunk_size)
        self._inherited = False  # whether the session is an earlier run's
        self._known = 0  # bytes of an earlier run that are surely those of this file
        self._dialect: ModuleType = goog_upload if self._job.endpoint.dialect == "goog-upload" else content_range

    def run(self) -> Response:
        """The service's answer to the finished upload. Raises the errors of `uploader.errors`."""
        session = self._first()
        try:
            while not session.over:
                session = self._step(session)
        except _KEPT:
            self._leave(session)
            raise
        except UploaderError:
            self._give_up(session)
            raise
        return self._ended(session)

    def _first(self) -> Session:
        """A new session, or that of an earlier run. A stream can't be read again, so it has no earlier run."""
        size = self._job.artifact.size
        entry = None if size is None else self._journal.find(self._job)
        if entry is None or size is None or not self._still_ours(entry):
            return Session(size, self._chunking)
        self._sending.watcher.say("An earlier run began this upload; asking the server how far it came.")
        self._inherited = True
        self._known = size if entry.same_file else entry.length
        return Session.resumed(size, entry.uri, entry.granularity, self._chunking)

    def _still_ours(self, entry: Entry) -> bool:
        """Whether the session may be continued with this file and this server: what is sealed is checked, too."""
        if not trusted(entry.uri, self._sending.media.url):
            self._sending.watcher.say("An earlier run began this upload on another host; beginning anew.")
            return False
        source = self._sending.source
        recognised = entry.sample == source.sample() and (
            entry.same_file or source.begins_with(entry.length, entry.prefix)
        )
        if not recognised:
            self._sending.watcher.say("The file's content is not what an earlier run began to upload; beginning anew.")
            return False
        return True

    def _step(self, session: Session) -> Session:
        """One move, its answer, and what follows from it."""
        session, move = self._next(session)
        request = self._dialect.request(move, session, self._sending.media)
        if isinstance(move, Send):
            answer = self._sending.transfer(request, move.span, final=move.final)
            session = session.sending(Span(move.span.start, self._sending.tally.reached))
        else:
            answer = self._sending.wire.exchange(request, own_bytes(request))
        answer = self._without_session(answer, session)
        event = self._checked(session, move, self._dialect.event(move, answer, self._sending.media))
        after = session.after(event)
        self._write_down(session, event, after)
        self._follow(session, move, event, after)
        return after

    def _without_session(self, answer: Response | Broken, session: Session) -> Response | Broken:
        """The answer without the session's URI, which some servers repeat in their errors and resources."""
        if isinstance(answer, Broken) or not session.uri or not answer.body:
            return answer
        body = answer.body
        for secret in secrets_of(session.uri, self._sending.media.with_query()):
            body = body.replace(secret.encode(), b"***").replace(secret.replace("/", "\\/").encode(), b"***")
        return replace(answer, body=body)

    def _next(self, session: Session) -> tuple[Session, Move]:
        """The next move. A stream is read ahead, so that its last request is known to be the last."""
        move = session.move()
        if not isinstance(move, Send) or session.size is not None:
            return session, move
        span, ended = self._sending.source.settle(move.span)
        if not ended:
            return session, move
        self._sending.tally.size = span.stop
        session = session.with_size(span.stop)
        return session, session.move()

    def _checked(self, session: Session, move: Move, event: Event) -> Event:
        """The event, held against what the endpoint is: which host may be believed, what may be begun again."""
        if self._inherited and session.state is State.UNSURE and self._sending.tally.attempts == 0:
            event = self._checked_first(session, event)
        if isinstance(event, Lost) and isinstance(move, Ask) and self._job.endpoint.once:
            self._refuse_doubt(session, event)
        if not isinstance(event, Started):
            return event
        self._inherited = False
        uri = absolute(event.uri, self._sending.media.url)
        self._sending.wire.check(uri, self._sending.media.url)
        return replace(event, uri=uri)

    def _checked_first(self, session: Session, event: Event) -> Event:
        """What an earlier run left is gone on with only where it is still there, and surely this file's."""
        stored = event.offset if isinstance(event, Stored) else session.size if isinstance(event, Completed) else 0
        if isinstance(event, Rejected):
            return Lost("the session of the earlier run is not accepted any more")
        if stored and stored > self._known:
            return Lost("the server holds bytes that can't be compared with this file")
        return event

    def _refuse_doubt(self, session: Session, event: Lost) -> None:
        """Raises `AnswerLost` where the lost session may have been finished, and a second effect is worse than none."""
        if session.size is not None and session.sent < session.size:
            return
        name = self._job.artifact.name
        raise AnswerLost(
            f"Whether {name} had its effect is not known: everything was sent, then {event.why}.",
            cause="The service forgot the upload session before it told how the upload ended.",
            cure="It was not sent again, because it must not happen twice. Look whether it is there, then run again.",
        )

    def _write_down(self, before: Session, event: Event, after: Session) -> None:
        """Keeps what must outlive this process, and shows what people want to see."""
        if isinstance(event, Started):
            self._journal.save(self._job, Entry(after.uri, after.granularity, self._sending.source.sample()))
        elif after.state is State.COMPLETE:
            self._whole()
        elif isinstance(event, Lost) or (after.over and after.state is not State.EXHAUSTED):
            self._journal.drop(self._job)
        if isinstance(event, Stored) and not after.over:
            self._sending.tally.stored = max(self._sending.tally.stored, after.offset)
            self._sending.watcher.to(after.offset)
            if after.retreats > before.retreats:
                self._sending.watcher.warn(f"The server went back from byte {before.offset} to byte {after.offset}.")
            if before.state is State.UNSURE:
                self._continued(after)

    def _whole(self) -> None:
        """It is on the server. Where a repeat would add a second one, the entry stays until the whole run has ended."""
        tally = self._sending.tally
        if self._inherited and tally.attempts == 0:
            tally.resumed_from = tally.size
            self._sending.watcher.say("The server has it whole already; nothing is sent again.")
        if self._job.endpoint.repeatable:
            self._journal.drop(self._job)
        else:
            self._journal.rest(self._job)

    def _continued(self, after: Session) -> None:
        tally, watcher = self._sending.tally, self._sending.watcher
        if tally.attempts == 0:
            tally.resumed_from = after.offset
        self._sending.mark("resumed", f"at {size(after.offset)}")
        whole = f" of {size(tally.size)}" if tally.size else ""
        watcher.say(f"The server holds {size(after.offset)}{whole}; going on from there.")

    def _follow(self, before: Session, move: Move, event: Event, after: Session) -> None:
        """Waits, renews the token or goes on at once, as the event asks; raises when nothing is left to try."""
        if isinstance(event, Started) or (isinstance(event, Stored) and after.offset > before.offset):
            self._sending.retrier.progressed()
        elif isinstance(event, OffsetUnknown):
            self._sending.retrier.wait(event.why, event.answer, at_once=event.polite)
        elif isinstance(event, TokenRejected):
            self._sending.renew(event.answer)
        elif isinstance(event, Stored) and isinstance(move, Send) and not after.over:
            self._sending.retrier.wait("the server stored nothing of what was sent", at_once=True)
        elif isinstance(event, Lost) and not after.over:
            self._sending.mark("restarted", event.why)
            self._sending.watcher.say(f"{event.why[:1].upper()}{event.why[1:]}; beginning again with a new one.")

    def _ended(self, session: Session) -> Response:
        name = self._job.artifact.name
        if session.state is State.COMPLETE and session.answer is not None:
            return session.answer
        if session.state is State.REFUSED and session.answer is not None:
            raise refusal(session.answer, name)
        if session.state is State.EXHAUSTED:
            raise TemporaryError(
                f"{name}: the server lost the upload session {session.restarts + 1} times.",
                cause="The service is in trouble at the moment.",
                cure="Run again later; the upload begins anew.",
            )
        self._give_up(session)
        raise self._sending.broken(session.why)

    def _leave(self, session: Session) -> None:
        """Completes the entry for the next run, which knows the file again by its bytes, even in a fresh checkout."""
        if session.uri and not session.over and self._sending.tally.attempts:
            source = self._sending.source
            with suppress(IntegrityError):  # the file changed meanwhile: the entry that stands will not fit it
                self._journal.save(
                    self._job, Entry(session.uri, session.granularity, source.sample(), *source.prefix())
                )

    def _give_up(self, session: Session) -> None:
        """Ends the session on the server, as far as one try can: nothing of it shall ever be finished."""
        self._journal.drop(self._job)
        if not session.uri or session.state in (State.COMPLETE, State.REFUSED):
            return
        request = self._dialect.request(Cancel(), session, self._sending.media)
        # What ended the upload is the story; a session that can't be ended expires by itself.
        with suppress(UploaderError):
            self._sending.wire.exchange(request, ())
