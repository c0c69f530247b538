"""The documents' own exchanges, byte for byte, in both directions: a witness beside the client and
the emulator.

What the client builds is the documented request, what it reads is the documented answer's meaning,
and the emulator gives the documented answer to the documented request.
"""

from __future__ import annotations

import http.client
import re
from contextlib import closing
from types import ModuleType

import pytest

from google_emulator import Emulator
from tests.support.emulator_client import EmulatorClient, Reply
from tests.support.transcripts import Exchange, Message, Transcript, names, read
from uploader.http.headers import Headers
from uploader.http.messages import Request, Response, Span, TransportError
from uploader.protocol import content_range, goog_upload, single_request
from uploader.protocol.media import Media
from uploader.protocol.session import (
    Cancel,
    Completed,
    Event,
    Move,
    QueryOffset,
    Send,
    Session,
    Start,
    Started,
    Stored,
)

SIZE = 2_000_000
FILLER = bytes(range(251)) * (SIZE // 251 + 1)
PACKAGE = (b"PK\x03\x04" + FILLER)[:SIZE]
MAIL = (b"From: me@example.com\r\nTo: you@example.com\r\n\r\n" + FILLER)[:SIZE]
SESSION = re.compile(r"(?<=upload_id=)[\w-]+")
# The documents leave the media type out of the later requests of a session; the client repeats it
# in all of them.
REPEATED = {"Content-Type", "X-Goog-Upload-Protocol"}
TRANSCRIPTS = pytest.mark.parametrize("name", names())


def file_of(name: str) -> bytes:
    """What the transcript uploads."""
    return MAIL if name.startswith("gmail") else PACKAGE


def media_of(transcript: Transcript) -> Media:
    """What the transcript uploads, to where."""
    facts, first = transcript.facts, transcript.exchanges[0].request.line.split()
    url = f"https://{facts['host']}{first[1].partition('?')[0]}"
    empty = facts["dialect"] == "goog-upload"
    return Media(
        first[0],
        url,
        (),
        facts["media"],
        SIZE,
        facts["metadata"].encode() or None,
        empty,
    )


def dialect_of(transcript: Transcript) -> ModuleType:
    return (
        goog_upload if transcript.facts["dialect"] == "goog-upload" else content_range
    )


def move_of(words: list[str]) -> Move:
    """The move that the transcript names."""
    kind, *rest = words
    if kind == "Send":
        return Send(Span(int(rest[0]), int(rest[1])), final=rest[2] == "final")
    moves: dict[str, Move] = {
        "Start": Start(),
        "QueryOffset": QueryOffset(),
        "Cancel": Cancel(),
    }
    return moves[kind]


def built(transcript: Transcript, exchange: Exchange, session: Session) -> Request:
    """The client's request for the exchange."""
    media, (kind, *rest) = media_of(transcript), exchange.move
    if kind == "Simple":
        return single_request.simple(media, SIZE)
    if kind == "Multipart":
        goog = transcript.facts["dialect"] == "goog-upload"
        return single_request.multipart(media, SIZE, rest[0], goog_upload=goog)
    request: Request = dialect_of(transcript).request(
        move_of(exchange.move), session, media
    )
    return request


def as_message(request: Request, file: bytes) -> Message:
    """The client's request as it goes over the wire."""
    span = request.span
    body = (
        request.prefix
        + (file[span.start : span.stop] if span else b"")
        + request.suffix
    )
    target = "/" + request.url.split("/", 3)[3]
    headers = (*request.headers, ("Content-Length", str(request.size)))
    return Message(f"{request.method} {target}", headers, body)


@TRANSCRIPTS
def test_the_client_builds_the_documented_requests(name: str) -> None:
    """Line, headers and body of every request, nothing left out; only protocol and media type are
    said more often.
    """
    transcript = read(name, file_of(name))
    session = Session(SIZE)
    for exchange in transcript.exchanges:
        mine, theirs = (
            as_message(built(transcript, exchange, session), file_of(name)),
            exchange.request,
        )
        assert (mine.line, mine.body) == (theirs.line, theirs.body)
        assert set(theirs.headers) <= set(mine.headers)
        more = {key for key, _ in set(mine.headers) - set(theirs.headers)}
        assert more <= (REPEATED if exchange.move[0] == "Send" else set())
        assert int(theirs.header("Content-Length")) == len(theirs.body)
        if exchange.move[0] == "Start":
            session = Session(SIZE, uri=exchange.event[1])


@TRANSCRIPTS
def test_the_client_reads_the_documented_answers(name: str) -> None:
    """Every answer of a session is exactly the event that the documents mean."""
    transcript = read(name, file_of(name))
    for exchange in transcript.exchanges:
        if exchange.move[0] not in ("Simple", "Multipart", "Cancel"):
            event = dialect_of(transcript).event(
                move_of(exchange.move),
                response_of(exchange.response),
                media_of(transcript),
            )
            assert words_of(event) == exchange.event


def response_of(response: Message) -> Response | TransportError:
    if response.line == "lost":
        return TransportError("the connection was reset", sent_whole=False)
    return Response(int(response.line), Headers(response.headers), response.body)


def words_of(event: Event) -> list[str]:
    """The event as a transcript writes it."""
    words = [type(event).__name__]
    if isinstance(event, Started):
        words += [event.uri, str(event.granularity)]
    elif isinstance(event, Stored):
        words += [str(event.offset)]
    elif isinstance(event, Completed):
        assert event.response.status in (200, 201)
    return words


@TRANSCRIPTS
def test_the_emulator_gives_the_documented_answers(name: str) -> None:
    """Status and every named header, from the first request of the transcript to the last."""
    transcript = read(name, file_of(name))
    with (
        Emulator(config={"upload_url_scheme": False}) as emulator,
        closing(EmulatorClient(emulator)) as talk,
    ):
        stage = Stage(talk, transcript.facts["host"])
        for exchange in transcript.exchanges:
            reply = stage.replay(exchange)
            assert (str(reply.status) if reply else "lost") == exchange.response.line
            for key, value in exchange.response.headers:
                assert reply
                assert stage.neutral(reply.header(key)) == stage.neutral(value)
        fired = [receipt["do"] for receipt in emulator.state()["faults"]["fired"]]
        assert fired == [
            exchange.fault["do"] for exchange in transcript.exchanges if exchange.fault
        ]


class Stage:
    """An emulator on which a transcript is played; its draft and its session have other names
    there.
    """

    def __init__(self, talk: EmulatorClient, host: str) -> None:
        self._talk = talk
        self._host = host
        drafts, mail = (
            "/upload/gmail/v1/users/me/drafts?uploadType=media",
            {"Content-Type": "message/rfc822"},
        )
        self._draft = talk.request(
            "POST", drafts, b"From: me@example.com\r\n\r\nHello", mail
        ).json["id"]
        self._session = ""

    def replay(self, exchange: Exchange) -> Reply | None:
        """The documented request, sent to the emulator; None when no answer comes."""
        method, target = exchange.request.line.replace("DRAFT", self._draft).split(
            " ", 1
        )
        if exchange.fault:
            self._talk.emulator.faults.add([exchange.fault])
        headers = {
            key: value
            for key, value in exchange.request.headers
            if key != "Content-Length"
        }
        body = exchange.request.body.replace(b"DRAFT", self._draft.encode())
        try:
            reply = self._talk.request(
                method, SESSION.sub(self._session, target), body, headers
            )
        except (ConnectionError, http.client.HTTPException):
            self._talk.close()
            return None
        named = SESSION.findall(
            reply.header("Location") + reply.header("X-Goog-Upload-URL")
        )
        self._session = named[0] if named else self._session
        return reply

    def neutral(self, value: str) -> str:
        """A header's value without what differs from host to host and from day to day."""
        emulator = self._talk.emulator.url
        plain = value.replace(emulator, f"https://{self._host}").replace(
            emulator.partition("://")[2], self._host
        )
        return SESSION.sub("*", plain).replace(self._draft, "DRAFT")
