"""Dialect A as tables: each move becomes exactly this request, each answer exactly this event."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.words import MOVES, responses
from uploader.http.messages import Headers, Request, Response, Span, TransportError
from uploader.protocol import content_range
from uploader.protocol.media import JSON_TYPE, Media
from uploader.protocol.session import (
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

URL = "https://www.googleapis.com/upload/x"
URI = "https://www.googleapis.com/upload/x?uploadType=resumable&upload_id=1"
OPEN = Session(2_000_000, uri=URI)
MEDIA = Media("POST", URL, (), "image/png", 2_000_000)
STREAM = Media("POST", URL, (), "image/png", None)
TYPE = ("Content-Type", "image/png")
ALL = Span(0, 2_000_000)
CHUNK = Send(Span(0, 524_288), final=False)
LAST = Send(Span(524_288, 2_000_000), final=True)


def put(*headers: tuple[str, str], span: Span | None = None) -> Request:
    """A PUT to the session."""
    return Request("PUT", URI, headers, span=span)


REQUESTS: list[tuple[str, Move, Media, Request]] = [
    (
        "start without metadata",
        Start(),
        MEDIA,
        Request(
            "POST",
            f"{URL}?uploadType=resumable",
            (("X-Upload-Content-Type", "image/png"), ("X-Upload-Content-Length", "2000000")),
        ),
    ),
    (
        "start with metadata, as an update, with a query of the method",
        Start(),
        Media("PATCH", URL, (("fields", "id, name"),), "image/png", 5, b'{"a":1}'),
        Request(
            "PATCH",
            f"{URL}?fields=id%2C+name&uploadType=resumable",
            (("X-Upload-Content-Type", "image/png"), ("X-Upload-Content-Length", "5"), ("Content-Type", JSON_TYPE)),
            b'{"a":1}',
        ),
    ),
    (
        "start of a stream leaves the length out",
        Start(),
        STREAM,
        Request("POST", f"{URL}?uploadType=resumable", (("X-Upload-Content-Type", "image/png"),)),
    ),
    ("the whole file in one request has no range", Send(ALL, final=True), MEDIA, put(TYPE, span=ALL)),
    (
        "the first chunk",
        CHUNK,
        MEDIA,
        put(TYPE, ("Content-Range", "bytes 0-524287/2000000"), span=CHUNK.span),
    ),
    ("the last chunk", LAST, MEDIA, put(TYPE, ("Content-Range", "bytes 524288-1999999/2000000"), span=LAST.span)),
    ("a chunk of a stream", CHUNK, STREAM, put(TYPE, ("Content-Range", "bytes 0-524287/*"), span=CHUNK.span)),
    (
        "the last chunk of a stream tells its size",
        LAST,
        STREAM,
        put(TYPE, ("Content-Range", "bytes 524288-1999999/2000000"), span=LAST.span),
    ),
    (
        "nothing left to send",
        Send(Span(2_000_000, 2_000_000), final=True),
        MEDIA,
        put(("Content-Range", "bytes */2000000")),
    ),
    ("the question", QueryOffset(), MEDIA, put(("Content-Range", "bytes */2000000"))),
    ("the question about a stream", QueryOffset(), STREAM, put(("Content-Range", "bytes */*"))),
    ("cancel", Cancel(), MEDIA, Request("DELETE", URI)),
]


@pytest.mark.parametrize(("move", "media", "request_"), [row[1:] for row in REQUESTS], ids=[row[0] for row in REQUESTS])
def test_a_move_is_exactly_this_request(move: Move, media: Media, request_: Request) -> None:
    """Method, address, headers and bytes of every move."""
    assert content_range.request(move, OPEN, media) == request_


def said(status: int, headers: dict[str, str] | None = None, body: bytes = b"", *, whole: bool = True) -> Response:
    """An answer."""
    return Response(status, Headers(headers or {}), body, whole)


RATE = b'{"error": {"code": 403, "errors": [{"reason": "userRateLimitExceeded"}]}}'
EVENTS: list[tuple[str, Move, Response | TransportError, Event | type[Event]]] = [
    ("started", Start(), said(200, {"Location": "https://x/1"}), Started("https://x/1")),
    ("started, 201 and another case", Start(), said(201, {"LOCATION": "https://x/1"}), Started("https://x/1")),
    ("started nowhere", Start(), said(200), ProtocolViolated),
    ("start: 5xx", Start(), said(500), OffsetUnknown),
    ("start: 408", Start(), said(408), OffsetUnknown),
    ("start: 429", Start(), said(429), OffsetUnknown),
    ("start: broken", Start(), TransportError("gone", False), OffsetUnknown),
    ("start: 401", Start(), said(401), TokenRejected),
    ("start: 400", Start(), said(400), Rejected),
    ("start: 403", Start(), said(403), Rejected),
    ("start: 403 for the rate", Start(), said(403, body=RATE), OffsetUnknown),
    ("start: 404 is a refusal, there is no session yet", Start(), said(404), Rejected),
    ("start: 410 as well", Start(), said(410), Rejected),
    ("start: 302", Start(), said(302, {"Location": "https://evil/"}), ProtocolViolated),
    ("start: 308", Start(), said(308, {"Location": "https://evil/"}), ProtocolViolated),
    ("308 with a range", CHUNK, said(308, {"Range": "bytes=0-524287"}), Stored(524_288)),
    ("308, the range without bytes=", CHUNK, said(308, {"Range": "0-42"}), Stored(43)),
    ("308, the two are the same", CHUNK, said(308, {"range": "bytes=0-42"}), Stored(43)),
    ("308, blanks in the range", CHUNK, said(308, {"Range": " bytes = 0 - 42 "}), Stored(43)),
    ("308 without a range to a chunk", CHUNK, said(308), OffsetUnknown),
    ("308 without a range to a question", QueryOffset(), said(308), Stored(0)),
    ("308 with a Location", CHUNK, said(308, {"Range": "0-9", "Location": "https://evil/"}), Stored(10)),
    ("308, not from 0", CHUNK, said(308, {"Range": "bytes=1-42"}), ProtocolViolated),
    ("308, negative", CHUNK, said(308, {"Range": "bytes=0--1"}), ProtocolViolated),
    ("308, several ranges", CHUNK, said(308, {"Range": "bytes=0-4,6-9"}), ProtocolViolated),
    ("308, digits of another script", CHUNK, said(308, {"Range": "bytes=0-\u0664\u0662"}), ProtocolViolated),
    ("308, more digits than any file", CHUNK, said(308, {"Range": "bytes=0-" + "9" * 40}), ProtocolViolated),
    ("308, open end", QueryOffset(), said(308, {"Range": "bytes=0-"}), ProtocolViolated),
    ("308, empty range", QueryOffset(), said(308, {"Range": ""}), ProtocolViolated),
    ("complete", LAST, said(201, body=b'{"id":"1"}'), Completed),
    ("complete, 200", LAST, said(200, body=b'{"id":"1"}'), Completed),
    ("complete, learnt by asking", QueryOffset(), said(200, body=b'{"id":"1"}'), Completed),
    ("complete, but no resource", LAST, said(200, body=b""), OffsetUnknown),
    ("complete, but a page", LAST, said(200, body=b"<html>"), OffsetUnknown),
    ("complete, no resource even when asked", QueryOffset(), said(200, body=b""), ProtocolViolated),
    ("complete while the body was on its way", LAST, said(200, body=b"{}", whole=False), OffsetUnknown),
    ("5xx", CHUNK, said(503), OffsetUnknown),
    ("5xx as a proxy's page", CHUNK, said(502, body=b"<html>"), OffsetUnknown),
    ("408", CHUNK, said(408), OffsetUnknown),
    ("429", CHUNK, said(429), OffsetUnknown),
    ("broken", CHUNK, TransportError("gone", True), OffsetUnknown),
    ("401", CHUNK, said(401), TokenRejected),
    ("404", CHUNK, said(404), SessionLost),
    ("410", QueryOffset(), said(410), SessionLost),
    ("403", CHUNK, said(403), Rejected),
    ("403 for the rate", CHUNK, said(403, body=RATE), OffsetUnknown),
    ("412", LAST, said(412), Rejected),
    ("499", CHUNK, said(499), Rejected),
    ("307", CHUNK, said(307, {"Location": "https://evil/"}), ProtocolViolated),
]


@pytest.mark.parametrize(("move", "response", "event"), [row[1:] for row in EVENTS], ids=[row[0] for row in EVENTS])
def test_an_answer_is_exactly_this_event(
    move: Move, response: Response | TransportError, event: Event | type[Event]
) -> None:
    """Every status and header that the documents name, and those that they don't."""
    got = content_range.event(move, response, MEDIA)
    assert type(got) is event if isinstance(event, type) else got == event


@given(
    move=MOVES,
    response=responses(["Location", "Range", "Retry-After", "Content-Range"]),
    size=st.none() | st.integers(0),
)
def test_no_answer_raises(move: Move, response: Response, size: int | None) -> None:
    """Whatever a server sends is an event."""
    event = content_range.event(move, response, Media("POST", URL, (), "image/png", size))
    assert isinstance(event, get_args(Event))
