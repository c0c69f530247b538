"""Dialect B as tables: each move becomes exactly this request, each answer exactly this event."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given

from tests.support.words import MOVES, responses
from uploader.http.messages import Headers, Request, Response, Span, TransportError
from uploader.protocol import goog_upload
from uploader.protocol.media import JSON_TYPE, Media
from uploader.protocol.session import (
    DEFAULT_GRANULARITY,
    Cancel,
    Completed,
    Event,
    Move,
    OffsetUnknown,
    ProtocolViolated,
    QueryOffset,
    Rejected,
    Send,
    Session,
    SessionLost,
    Start,
    Started,
    Stored,
    TokenRejected,
)

URL = "https://androidovertheair.googleapis.com/upload/package"
URI = f"{URL}?upload_id=1"
OPEN = Session(2_000_000, uri=URI)
METADATA = b'{"deployment":"d","package_title":"t"}'
MEDIA = Media("POST", URL, (), "application/zip", 2_000_000, METADATA)
CHUNK = Send(Span(0, 524_288), final=False)
LAST = Send(Span(524_288, 2_000_000), final=True)


def command(words: str, offset: int | None = None, span: Span | None = None) -> Request:
    """One command to the session."""
    command = ("X-Goog-Upload-Command", words)
    if offset is None:
        return Request("POST", URI, (command,), span=span)
    kind = (("Content-Type", "application/zip"),) if span else ()
    place = ("X-Goog-Upload-Offset", str(offset))
    return Request("POST", URI, (("X-Goog-Upload-Protocol", "resumable"), command, place, *kind), span=span)


START = (
    ("X-Goog-Upload-Protocol", "resumable"),
    ("X-Goog-Upload-Command", "start"),
    ("X-Goog-Upload-Header-Content-Type", "application/zip"),
)
LENGTH = ("X-Goog-Upload-Header-Content-Length", "2000000")
REQUESTS: list[tuple[str, Move, Media, Request]] = [
    (
        "start",
        Start(),
        MEDIA,
        Request("POST", URL, (*START, LENGTH, ("Content-Type", JSON_TYPE)), METADATA),
    ),
    ("start of a stream", Start(), Media("POST", URL, (), "application/zip", None), Request("POST", URL, START)),
    ("a chunk", CHUNK, MEDIA, command("upload", 0, CHUNK.span)),
    ("the last bytes", LAST, MEDIA, command("upload, finalize", 524_288, LAST.span)),
    ("everything at once", Send(Span(0, 2_000_000), True), MEDIA, command("upload, finalize", 0, Span(0, 2_000_000))),
    ("nothing left to send", Send(Span(2_000_000, 2_000_000), True), MEDIA, command("finalize", 2_000_000)),
    ("an empty file", Send(Span(0, 0), True), MEDIA, command("finalize", 0)),
    ("the question", QueryOffset(), MEDIA, command("query")),
    ("cancel", Cancel(), MEDIA, command("cancel")),
]


@pytest.mark.parametrize(("move", "media", "request_"), [row[1:] for row in REQUESTS], ids=[row[0] for row in REQUESTS])
def test_a_move_is_exactly_this_request(move: Move, media: Media, request_: Request) -> None:
    """Method, address, headers and bytes of every command."""
    assert goog_upload.request(move, OPEN, media) == request_


def said(status: int, upload: str = "", body: bytes = b"", *, whole: bool = True, **headers: str) -> Response:
    """An answer with X-Goog-Upload-Status and other X-Goog-Upload headers (`size_received`, `url`, …)."""
    pairs = [(f"X-Goog-Upload-{name.replace('_', '-')}", value) for name, value in headers.items()]
    return Response(status, Headers([("X-Goog-Upload-Status", upload), *pairs] if upload else pairs), body, whole)


UPLOADED = b'{"id":"1"}'
EVENTS: list[tuple[str, Move, Response | TransportError, Event | type[Event]]] = [
    ("started", Start(), said(200, "active", url="https://x/1"), Started("https://x/1")),
    ("started, status in another case", Start(), said(200, "ACTIVE", URL="https://x/1"), Started("https://x/1")),
    ("started, without the status", Start(), said(200, url="https://x/1"), Started("https://x/1")),
    ("started, the older name", Start(), said(200, "active", control_url="https://x/1"), Started("https://x/1")),
    ("started, without a scheme", Start(), said(200, "active", url="x.com/u?i=1"), Started("https://x.com/u?i=1")),
    (
        "started, without a scheme but with one in the query",
        Start(),
        said(200, "active", url="x.com/u?back=http://y/"),
        Started("https://x.com/u?back=http://y/"),
    ),
    (
        "started, with a granularity",
        Start(),
        said(200, "active", url="https://x/1", chunk_granularity="1048576"),
        Started("https://x/1", 1_048_576),
    ),
    ("started nowhere", Start(), said(200, "active"), ProtocolViolated),
    ("start refused as final", Start(), said(200, "final", UPLOADED, url="https://x/1"), Rejected),
    ("start refused", Start(), said(400, "final"), Rejected),
    ("start: 400 without a status", Start(), said(400), OffsetUnknown),
    ("start: 400 that lives", Start(), said(400, "active"), Rejected),
    ("start: 404", Start(), said(404), Rejected),
    ("start: 412", Start(), said(412), Rejected),
    ("start: 503", Start(), said(503), OffsetUnknown),
    ("start: 401", Start(), said(401), TokenRejected),
    ("start: redirect", Start(), said(302, url="https://evil/"), ProtocolViolated),
    ("start: broken", Start(), TransportError("gone", True), OffsetUnknown),
    ("stored", CHUNK, said(200, "active", size_received="524288"), Stored(524_288)),
    (
        "the size received is a count: nothing is added",
        QueryOffset(),
        said(200, "active", size_received="42"),
        Stored(42),
    ),
    ("nothing received", QueryOffset(), said(200, "active", size_received="0"), Stored(0)),
    ("active without a size, to a chunk: all of it arrived", CHUNK, said(200, "active"), Stored(524_288)),
    ("active without a size, before the chunk was sent", CHUNK, said(200, "active", whole=False), OffsetUnknown),
    ("active without a size, to the last bytes", LAST, said(200, "active"), OffsetUnknown),
    ("active without a size, to a query", QueryOffset(), said(200, "active"), ProtocolViolated),
    ("a size that is no number", CHUNK, said(200, "active", size_received="many"), ProtocolViolated),
    ("a negative size", QueryOffset(), said(200, "active", size_received="-1"), ProtocolViolated),
    ("no status on a query's 200", QueryOffset(), said(200, body=UPLOADED), ProtocolViolated),
    ("no status on a query's 200, but the size", QueryOffset(), said(200, size_received="42"), Stored(42)),
    ("no status on a query's 200, and no size", QueryOffset(), said(200, size_received="-1"), ProtocolViolated),
    ("another status beside the size", QueryOffset(), said(200, "paused", size_received="42"), ProtocolViolated),
    ("no status on a chunk's 200, but the size", CHUNK, said(200, size_received="42"), OffsetUnknown),
    ("an unknown status on a query's 200", QueryOffset(), said(200, "paused"), ProtocolViolated),
    ("no status on a chunk's 200", CHUNK, said(200, body=UPLOADED), OffsetUnknown),
    ("no status on a 5xx", CHUNK, said(502, body=b"<html>"), OffsetUnknown),
    ("active on a 5xx", CHUNK, said(503, "active"), OffsetUnknown),
    ("final", LAST, said(200, "final", UPLOADED), Completed),
    ("Final", LAST, said(200, "Final", UPLOADED), Completed),
    ("final, learnt by asking", QueryOffset(), said(200, "final", UPLOADED), Completed),
    ("final without a resource", LAST, said(200, "final"), OffsetUnknown),
    ("final without a resource even when asked", QueryOffset(), said(200, "final"), ProtocolViolated),
    ("final while the body was on its way", LAST, said(200, "final", UPLOADED, whole=False), OffsetUnknown),
    ("final with 400", CHUNK, said(400, "final", b'{"error":{"message":"no"}}'), Rejected),
    ("final with 503", CHUNK, said(503, "final"), Rejected),
    ("cancelled with 400", CHUNK, said(400, "cancelled"), Rejected),
    ("cancelled", QueryOffset(), said(200, "cancelled"), SessionLost),
    ("404", CHUNK, said(404), SessionLost),
    ("410", QueryOffset(), said(410), SessionLost),
    ("404 that lives", QueryOffset(), said(404, "active"), OffsetUnknown),
    ("400 that lives", CHUNK, said(400, "active"), OffsetUnknown),
    ("409 that lives", CHUNK, said(409, "Active", size_received="42"), OffsetUnknown),
    ("412 that lives", LAST, said(412, "active"), OffsetUnknown),
    ("416 that lives", QueryOffset(), said(416, "active"), OffsetUnknown),
    ("a redirect that lives", CHUNK, said(307, "active"), ProtocolViolated),
    ("409", CHUNK, said(409), Rejected),
    ("401", CHUNK, said(401), TokenRejected),
    ("401 that lives", CHUNK, said(401, "active"), TokenRejected),
    ("403", CHUNK, said(403), Rejected),
    ("308 means nothing here", CHUNK, said(308), ProtocolViolated),
    ("429", CHUNK, said(429), OffsetUnknown),
    ("broken", LAST, TransportError("gone", True), OffsetUnknown),
]


@pytest.mark.parametrize(("move", "response", "event"), [row[1:] for row in EVENTS], ids=[row[0] for row in EVENTS])
def test_an_answer_is_exactly_this_event(
    move: Move, response: Response | TransportError, event: Event | type[Event]
) -> None:
    """The status header rules; HTTP's status tells why."""
    got = goog_upload.event(move, response, MEDIA)
    assert type(got) is event if isinstance(event, type) else got == event


@pytest.mark.parametrize("value", ["", "0", "-262144", "x", "2.5", str(1 << 31), "9" * 30, "\u0661"])
def test_a_granularity_that_makes_no_sense_is_the_documented_one(value: str) -> None:
    """Zero, nonsense and more than 1 GiB are not believed."""
    got = goog_upload.event(Start(), said(200, "active", url="https://x/1", chunk_granularity=value), MEDIA)
    assert got == Started("https://x/1", DEFAULT_GRANULARITY)


def test_without_a_scheme_the_url_has_that_of_the_endpoint() -> None:
    """On loopback the endpoint's own scheme is plain http."""
    media = Media("POST", "http://127.0.0.1:9/upload/x", (), "application/zip", 1)
    assert goog_upload.event(Start(), said(200, "active", url="127.0.0.1:9/s"), media) == Started(
        "http://127.0.0.1:9/s"
    )


HEADERS = [f"X-Goog-Upload-{name}" for name in ("Status", "URL", "Size-Received", "Chunk-Granularity")]


@given(move=MOVES, response=responses(HEADERS))
def test_no_answer_raises(move: Move, response: Response) -> None:
    """Whatever a server sends is an event."""
    assert isinstance(goog_upload.event(move, response, MEDIA), get_args(Event))
