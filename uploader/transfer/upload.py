"""One file on its way: carries out the session machine's moves until the file is whole on the server, and checks it."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import Any, Protocol

from uploader.errors import (
    AnswerLost,
    CredentialsError,
    ForeignHost,
    IntegrityError,
    Interrupted,
    ProtocolError,
    TemporaryError,
    UploaderError,
)
from uploader.journal import Entry, Journal
from uploader.protocol import content_range, digests, goog_upload, single
from uploader.protocol.hosts import absolute
from uploader.protocol.media import Media
from uploader.protocol.messages import Broken, Request, Response, Span
from uploader.protocol.retry import Verdict, whether
from uploader.protocol.session import (
    Ask,
    Cancel,
    Chunking,
    Doubted,
    Event,
    Lost,
    Move,
    Send,
    Session,
    Start,
    Started,
    State,
    Stored,
    TokenRejected,
)
from uploader.results import FileResult, Moment
from uploader.services.base import Endpoint, Upload
from uploader.transfer.source import Source, Stream, open_source
from uploader.transfer.wire import Pace, Settings, Wire, refusal

SMALL = 1024 * 1024  # bytes: up to here one request saves a round trip worth saving


class Watcher(Protocol):
    """Who is told how an upload goes."""

    def to(self, offset: int) -> None:
        """The upload stands at so many bytes."""

    def say(self, text: str) -> None:
        """Something happened that people want to know."""


@dataclass(slots=True)
class Tally:
    """What happened so far to one file, written down while it happens. Bytes and seconds."""

    began: float
    size: int = 0
    sha256: str = ""
    resource: dict[str, Any] = field(default_factory=dict)
    attempts: int = 0
    furthest: int = 0
    resent: int = 0
    stored: int = 0
    resumed_from: int | None = None
    timeline: list[Moment] = field(default_factory=list)


def protocol_for(endpoint: Endpoint, size: int | None, wanted: str, *, has_metadata: bool) -> str:
    """`resumable`, `multipart` or `simple`: what was asked for, or what `auto` chooses.

    `auto` is resumable, except where the method has none, or where a small file saves a round trip and sending it twice
    would replace instead of add.
    """
    if wanted != "auto":
        return wanted
    one_request = "multipart" if has_metadata and endpoint.multipart else "simple"
    small = size is not None and size <= SMALL and endpoint.repeatable
    offered = endpoint.multipart if one_request == "multipart" else endpoint.simple
    return one_request if not endpoint.resumable or (small and offered) else "resumable"


class FileUpload:
    """Brings one file to one endpoint. `run` is called once; `tally` tells afterwards, however it ended."""

    def __init__(self, job: Upload, wire: Wire, settings: Settings, journal: Journal, watcher: Watcher) -> None:
        self._job = job
        self._wire = wire
        self._settings = settings
        self._journal = journal
        self._watcher = watcher
        self._clock = wire.patience.clock
        self._pace = Pace(wire, self._say)
        self._dialect: ModuleType = goog_upload if job.endpoint.dialect == "goog-upload" else content_range
        self._media = self._make_media()
        self.tally = Tally(self._clock.monotonic(), job.artifact.size or 0)

    def run(self) -> FileResult:
        """Uploads the file and checks what the service says it holds. Raises the errors of `uploader.errors`."""
        try:
            with open_source(self._job.artifact) as source:
                answer = self._send_all(source)
                self._verify(answer, source)
        except UploaderError as error:
            self._mark("failed", error.what)
            raise
        self._mark("done", "stored and checked")
        return self.result()

    def result(self, error: UploaderError | None = None) -> FileResult:
        """The record of this file as far as it got."""
        tally = self.tally
        done = error is None
        return FileResult(
            path=self._job.artifact.name,
            bytes=tally.size,
            sha256=tally.sha256,
            resource=tally.resource,
            attempts=tally.attempts,
            bytes_uploaded=(tally.size if done else tally.stored) - min(tally.resumed_from or 0, tally.stored or 0),
            bytes_resent=tally.resent,
            retries=self._pace.retries,
            waited=self._pace.waited,
            seconds=self._clock.monotonic() - tally.began,
            resumed_from=tally.resumed_from,
            error="" if error is None else str(error),
            timeline=tuple(tally.timeline),
            failure=error,
        )

    # --- which way ------------------------------------------------------------------------------------------------

    def _make_media(self) -> Media:
        endpoint, metadata = self._job.endpoint, self._job.metadata
        return Media(
            method=endpoint.http_method,
            url=self._wire.url(endpoint.root, endpoint.upload_path),
            query=endpoint.query,
            media_type=self._job.media_type,
            size=self._job.artifact.size,
            metadata=None if metadata is None else json.dumps(metadata, separators=(",", ":")).encode(),
            empty_answer=endpoint.empty_answer,
        )

    def _send_all(self, source: Source | Stream) -> Response:
        size, metadata = self._media.size, self._media.metadata
        protocol = protocol_for(
            self._job.endpoint, size, self._settings.protocol, has_metadata=metadata is not None
        )
        if protocol == "resumable" or size is None:
            return self._resumable(source)
        return self._single(source, protocol, size)

    # --- simple and multipart -------------------------------------------------------------------------------------

    def _single(self, source: Source | Stream, protocol: str, size: int) -> Response:
        while True:
            request = self._single_request(protocol, size)
            answer = self._transfer(request, source, Span(0, size), final=True)
            verdict = whether(answer)
            if isinstance(answer, Response) and verdict is Verdict.SUCCESS:
                return self._accepted(answer)
            if not isinstance(answer, Broken) and verdict not in (Verdict.RETRY, Verdict.RENEW):
                raise refusal(answer, self._job.artifact.name)
            if not single.may_repeat(answer, repeatable=self._job.endpoint.repeatable):
                raise self._answer_lost(answer)
            if isinstance(answer, Response) and verdict is Verdict.RENEW:
                self._pace.renew(answer)
            else:
                self._pace.wait(_why(answer), answer)

    def _single_request(self, protocol: str, size: int) -> Request:
        if protocol == "simple":
            return single.simple(self._media, size)
        goog_dialect = self._job.endpoint.dialect == "goog-upload"
        return single.multipart(self._media, size, f"=={secrets.token_hex(16)}==", goog_upload=goog_dialect)

    def _accepted(self, answer: Response) -> Response:
        if answer.json() is None and not self._media.empty_answer:
            raise self._broken("the answer to the finished upload is not the resource that the method returns")
        self.tally.stored = self.tally.size
        return answer

    def _answer_lost(self, answer: Response | Broken) -> AnswerLost:
        return AnswerLost(
            f"Whether {self._job.artifact.name} arrived is not known: {_why(answer)}.",
            cause="It was sent in a single request, which leaves no session to ask, and repeating it could add it twice.",
            cure="Look whether it is there. `upload-protocol: resumable` can ask the server and never has this doubt.",
        )

    # --- resumable ------------------------------------------------------------------------------------------------

    def _resumable(self, source: Source | Stream) -> Response:
        session = self._first_session()
        try:
            while not session.over:
                session = self._step(session, source)
        except (TemporaryError, Interrupted, CredentialsError):
            raise  # the session is kept: the next run goes on in it
        except UploaderError:
            self._give_up(session)
            raise
        return self._ended(session)

    def _first_session(self) -> Session:
        chunking = Chunking(self._settings.chunk_size)
        size = self._media.size
        entry = self._journal.find(self._job) if size is not None else None
        if entry is None or size is None:
            return Session(size, chunking)
        self._say("An earlier run began this upload; asking the server how far it came.")
        return Session.resumed(size, entry.uri, entry.granularity, chunking)

    def _step(self, session: Session, source: Source | Stream) -> Session:
        """One move, its answer, and what follows from it."""
        session, move = self._next(session, source)
        request = self._dialect.request(move, session, self._media)
        if isinstance(move, Send):
            answer = self._transfer(request, source, move.span, final=move.final)
            session = session.sending(Span(move.span.start, self._reached))
        else:
            answer = self._wire.exchange(request, _metadata(request))
        event = self._checked(self._dialect.event(move, answer, self._media))
        after = session.after(event)
        self._note(session, event, after)
        self._follow(session, move, event, after)
        return after

    def _next(self, session: Session, source: Source | Stream) -> tuple[Session, Move]:
        move = session.move()
        if not isinstance(move, Send) or session.size is not None:
            return session, move
        span, ended = source.settle(move.span)
        if not ended:
            return session, move
        self.tally.size = span.stop
        session = session.with_size(span.stop)
        return session, session.move()

    def _checked(self, event: Event) -> Event:
        if not isinstance(event, Started):
            return event
        uri = absolute(event.uri, self._media.url)
        self._wire.check(uri, self._media.url)
        return replace(event, uri=uri)

    def _note(self, before: Session, event: Event, after: Session) -> None:
        """Writes down what must outlive this process, and what people want to see."""
        if isinstance(event, Started):
            self._journal.save(self._job, Entry(after.uri, after.granularity))
        elif isinstance(event, Lost) or after.state in (State.COMPLETE, State.REFUSED, State.BROKEN):
            self._journal.drop(self._job)
        if isinstance(event, Stored):
            self.tally.stored = max(self.tally.stored, after.offset)
            self._watcher.to(after.offset)
            if before.state is State.UNSURE and after.state is State.KNOWN:
                self._continued(before, after)

    def _continued(self, before: Session, after: Session) -> None:
        resumed = self.tally.attempts == 0 and self.tally.resumed_from is None
        if resumed:
            self.tally.resumed_from = after.offset
        if before.retreats < after.retreats:
            self._say(f"WARNING: the server went back from byte {before.offset} to {after.offset}.")
        self._mark("resumed", f"at byte {after.offset}")
        self._say(f"The server holds {after.offset} of {self.tally.size} bytes; going on from there.")

    def _follow(self, before: Session, move: Move, event: Event, after: Session) -> None:
        """Waits, renews the token or goes on at once, as the event asks; raises when there is nothing left to try."""
        if isinstance(event, Started) or (after.high > before.high and after.uri == before.uri):
            self._pace.progressed()
        elif isinstance(event, Doubted):
            self._wait(event.why, event.answer, polite=event.polite)
        elif isinstance(event, TokenRejected):
            self._pace.renew(event.answer)
        elif isinstance(event, Stored) and isinstance(move, Send) and after.state is State.KNOWN:
            self._wait("the server stored nothing of what was sent", None, polite=True)
        elif isinstance(event, Lost) and not after.over:
            self._mark("restarted", event.why)
            self._say(f"{event.why[:1].upper()}{event.why[1:]}; beginning again with a new one.")

    def _ended(self, session: Session) -> Response:
        match session.state:
            case State.COMPLETE if session.answer is not None:
                self.tally.stored = self.tally.size
                return session.answer
            case State.REFUSED if session.answer is not None:
                raise refusal(session.answer, self._job.artifact.name)
            case State.EXHAUSTED:
                raise TemporaryError(
                    f"{self._job.artifact.name}: the server lost the upload session {session.restarts + 1} times.",
                    cause="The service is in trouble at the moment.",
                    cure="Run again later; the upload begins anew.",
                )
            case _:
                self._give_up(session)
                raise self._broken(session.why)

    def _give_up(self, session: Session) -> None:
        """Ends the session on the server, as far as one short try can: nothing of it shall ever be finished."""
        self._journal.drop(self._job)
        if not session.uri or session.state in (State.COMPLETE, State.REFUSED):
            return
        try:
            self._wire.exchange(self._dialect.request(Cancel(), session, self._media), ())
        except UploaderError:
            pass  # what ended the upload is the story; an abandoned session expires by itself

    # --- bytes ----------------------------------------------------------------------------------------------------

    def _transfer(self, request: Request, source: Source | Stream, span: Span, *, final: bool) -> Response | Broken:
        self.tally.attempts += 1
        self._reached = span.start
        began = self._clock.monotonic()
        answer = self._wire.exchange(request, self._blocks(request, source, span), final=final)
        seconds = self._clock.monotonic() - began
        text = f"{self._reached - span.start} bytes from {span.start}"
        self.tally.timeline.append(Moment(began - self.tally.began, "sent", text, seconds))
        return answer

    def _blocks(self, request: Request, source: Source | Stream, span: Span) -> Iterator[bytes]:
        if request.body.prefix:
            yield request.body.prefix
        for block in source.blocks(span):
            self._wire.patience.stop.check()
            self._count(len(block))
            yield block
            self._watcher.to(self._reached)
        if request.body.suffix:
            yield request.body.suffix

    def _count(self, length: int) -> None:
        """Counts bytes as sent before they are: what may have arrived must never be more than what is known here."""
        again = min(self.tally.furthest, self._reached + length) - self._reached
        self.tally.resent += max(again, 0)
        self._reached += length
        self.tally.furthest = max(self.tally.furthest, self._reached)

    _reached = 0

    # --- the end --------------------------------------------------------------------------------------------------

    def _verify(self, answer: Response, source: Source | Stream) -> None:
        """Compares every digest that the service states with what was sent. Raises `IntegrityError` with both."""
        self.tally.resource = answer.json() or {}
        sent = source.digests()
        self.tally.sha256 = sent["sha256"]
        for claim in digests.claims(self.tally.resource, answer.headers):
            mine = sent.get(claim.algorithm) or source.digest(claim.algorithm)
            if mine != claim.value:
                raise IntegrityError(
                    f"{self._job.artifact.name} arrived damaged: the service states {claim.field} {claim.value}, "
                    f"what was sent has {mine}.",
                    cause="Bytes were changed on the way, or the service stored something else.",
                    cure="Do not use what was stored. Run again, and report it to Google if it repeats.",
                )

    def _wait(self, why: str, answer: Response | Broken | None, *, polite: bool) -> None:
        began = self._clock.monotonic()
        self._pace.wait(why, answer, polite=polite)
        self.tally.timeline.append(Moment(began - self.tally.began, "wait", why, self._clock.monotonic() - began))

    def _broken(self, why: str) -> ProtocolError:
        return ProtocolError(
            f"The server broke the upload protocol for {self._job.artifact.name}: {why}.",
            cause="A proxy changed the answer, or the service has a fault.",
            cure="Going on could have damaged the upload, so it was given up. Run again; report it if it repeats.",
        )

    def _mark(self, kind: Any, text: str) -> None:
        self.tally.timeline.append(Moment(self._clock.monotonic() - self.tally.began, kind, text))

    def _say(self, text: str) -> None:
        self._watcher.say(text)


def _metadata(request: Request) -> Iterable[bytes]:
    return (request.body.prefix,) if request.body.prefix else ()


def _why(answer: Response | Broken) -> str:
    return answer.why if isinstance(answer, Broken) else f"the server answered {answer.status}"
