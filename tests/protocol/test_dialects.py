"""Both dialects as tables: each move becomes exactly this request, each answer exactly this
event.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import Any, TypeAlias, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.words import MOVES, responses
from uploader.http.headers import Headers
from uploader.http.messages import Request, Response, Span, TransportError
from uploader.protocol import content_range, goog_upload
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

Row: TypeAlias = "tuple[str, Move, Response | TransportError, Event | type[Event]]"

# --- dialect A: Content-Range ---

A_URL = "https://www.googleapis.com/upload/x"
A_URI = "https://www.googleapis.com/upload/x?uploadType=resumable&upload_id=1"
A_OPEN = Session(2_000_000, uri=A_URI)
A_MEDIA = Media("POST", A_URL, (), "image/png", 2_000_000)
STREAM = Media("POST", A_URL, (), "image/png", None)
TYPE = ("Content-Type", "image/png")
ALL = Span(0, 2_000_000)
CHUNK = Send(Span(0, 524_288), final=False)
LAST = Send(Span(524_288, 2_000_000), final=True)


def put(*headers: tuple[str, str], span: Span | None = None) -> Request:
    """A PUT to the session."""
    return Request("PUT", A_URI, headers, span=span)


A_REQUESTS: list[tuple[str, Move, Media, Request]] = [
    (
        "start without metadata",
        Start(),
        A_MEDIA,
        Request(
            "POST",
            f"{A_URL}?uploadType=resumable",
            (
                ("X-Upload-Content-Type", "image/png"),
                ("X-Upload-Content-Length", "2000000"),
            ),
        ),
    ),
    (
        "start with metadata, as an update, with a query of the method",
        Start(),
        Media("PATCH", A_URL, (("fields", "id, name"),), "image/png", 5, b'{"a":1}'),
        Request(
            "PATCH",
            f"{A_URL}?fields=id%2C+name&uploadType=resumable",
            (
                ("X-Upload-Content-Type", "image/png"),
                ("X-Upload-Content-Length", "5"),
                ("Content-Type", JSON_TYPE),
            ),
            b'{"a":1}',
        ),
    ),
    (
        "start of a stream leaves the length out",
        Start(),
        STREAM,
        Request(
            "POST",
            f"{A_URL}?uploadType=resumable",
            (("X-Upload-Content-Type", "image/png"),),
        ),
    ),
    (
        "the whole file in one request has no range",
        Send(ALL, final=True),
        A_MEDIA,
        put(TYPE, span=ALL),
    ),
    (
        "the first chunk",
        CHUNK,
        A_MEDIA,
        put(TYPE, ("Content-Range", "bytes 0-524287/2000000"), span=CHUNK.span),
    ),
    (
        "the last chunk",
        LAST,
        A_MEDIA,
        put(TYPE, ("Content-Range", "bytes 524288-1999999/2000000"), span=LAST.span),
    ),
    (
        "a chunk of a stream",
        CHUNK,
        STREAM,
        put(TYPE, ("Content-Range", "bytes 0-524287/*"), span=CHUNK.span),
    ),
    (
        "the last chunk of a stream tells its size",
        LAST,
        STREAM,
        put(TYPE, ("Content-Range", "bytes 524288-1999999/2000000"), span=LAST.span),
    ),
    (
        "nothing left to send",
        Send(Span(2_000_000, 2_000_000), final=True),
        A_MEDIA,
        put(("Content-Range", "bytes */2000000")),
    ),
    ("the query", QueryOffset(), A_MEDIA, put(("Content-Range", "bytes */2000000"))),
    (
        "the query about a stream",
        QueryOffset(),
        STREAM,
        put(("Content-Range", "bytes */*")),
    ),
    ("cancel", Cancel(), A_MEDIA, Request("DELETE", A_URI)),
]


def said(
    status: int,
    headers: dict[str, str] | None = None,
    body: bytes = b"",
    *,
    whole: bool = True,
) -> Response:
    """An answer of dialect A."""
    return Response(status, Headers(headers or {}), body, whole)


RATE = b'{"error": {"code": 403, "errors": [{"reason": "userRateLimitExceeded"}]}}'
A_EVENTS: list[Row] = [
    (
        "started",
        Start(),
        said(200, {"Location": "https://x/1"}),
        Started("https://x/1"),
    ),
    (
        "started, 201 and another case",
        Start(),
        said(201, {"LOCATION": "https://x/1"}),
        Started("https://x/1"),
    ),
    ("started nowhere", Start(), said(200), OffsetUnknown),
    ("started nowhere, but a page", Start(), said(200, body=b"<html>"), OffsetUnknown),
    (
        "started at a long address",
        Start(),
        said(200, {"Location": "https://x/" + "1" * 8182}),
        Started,
    ),
    (
        "started at an address over 8 KiB",
        Start(),
        said(200, {"Location": "https://x/" + "1" * 8183}),
        ProtocolViolated,
    ),
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
    (
        "308 with a range",
        CHUNK,
        said(308, {"Range": "bytes=0-524287"}),
        Stored(524_288),
    ),
    ("308, the range without bytes=", CHUNK, said(308, {"Range": "0-42"}), Stored(43)),
    (
        "308, the two are the same",
        CHUNK,
        said(308, {"range": "bytes=0-42"}),
        Stored(43),
    ),
    (
        "308, blanks in the range",
        CHUNK,
        said(308, {"Range": " bytes = 0 - 42 "}),
        Stored(43),
    ),
    ("308 without a range to a chunk", CHUNK, said(308), OffsetUnknown),
    ("308 without a range to a query", QueryOffset(), said(308), Stored(0)),
    (
        "308 with a Location",
        CHUNK,
        said(308, {"Range": "0-9", "Location": "https://evil/"}),
        Stored(10),
    ),
    ("308, not from 0", CHUNK, said(308, {"Range": "bytes=1-42"}), ProtocolViolated),
    ("308, negative", CHUNK, said(308, {"Range": "bytes=0--1"}), ProtocolViolated),
    (
        "308, several ranges",
        CHUNK,
        said(308, {"Range": "bytes=0-4,6-9"}),
        ProtocolViolated,
    ),
    (
        "308, digits of another script",
        CHUNK,
        said(308, {"Range": "bytes=0-\u0664\u0662"}),
        ProtocolViolated,
    ),
    (
        "308, more digits than any file",
        CHUNK,
        said(308, {"Range": "bytes=0-" + "9" * 40}),
        ProtocolViolated,
    ),
    (
        "308, open end",
        QueryOffset(),
        said(308, {"Range": "bytes=0-"}),
        ProtocolViolated,
    ),
    ("308, empty range", QueryOffset(), said(308, {"Range": ""}), ProtocolViolated),
    ("complete", LAST, said(201, body=b'{"id":"1"}'), Completed),
    ("complete, 200", LAST, said(200, body=b'{"id":"1"}'), Completed),
    (
        "complete, learnt by asking",
        QueryOffset(),
        said(200, body=b'{"id":"1"}'),
        Completed,
    ),
    ("complete, but no resource", LAST, said(200, body=b""), OffsetUnknown),
    ("complete, but a page", LAST, said(200, body=b"<html>"), OffsetUnknown),
    (
        "complete, but an object without anything",
        LAST,
        said(200, body=b"{}"),
        OffsetUnknown,
    ),
    ("complete, but a list", LAST, said(200, body=b"[]"), OffsetUnknown),
    (
        "complete, no resource even when asked",
        QueryOffset(),
        said(200, body=b""),
        OffsetUnknown,
    ),
    (
        "complete while the body was on its way",
        LAST,
        said(200, body=b"{}", whole=False),
        OffsetUnknown,
    ),
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


# --- dialect B: X-Goog-Upload ---

B_URL = "https://androidovertheair.googleapis.com/upload/package"
B_URI = f"{B_URL}?upload_id=1"
B_OPEN = Session(2_000_000, uri=B_URI)
METADATA = b'{"deployment":"d","package_title":"t"}'
B_MEDIA = Media("POST", B_URL, (), "application/zip", 2_000_000, METADATA)


def command(words: str, offset: int | None = None, span: Span | None = None) -> Request:
    """One command to the session."""
    command = ("X-Goog-Upload-Command", words)
    if offset is None:
        return Request("POST", B_URI, (command,), span=span)
    kind = (("Content-Type", "application/zip"),) if span else ()
    place = ("X-Goog-Upload-Offset", str(offset))
    return Request(
        "POST",
        B_URI,
        (("X-Goog-Upload-Protocol", "resumable"), command, place, *kind),
        span=span,
    )


START = (
    ("X-Goog-Upload-Protocol", "resumable"),
    ("X-Goog-Upload-Command", "start"),
    ("X-Goog-Upload-Header-Content-Type", "application/zip"),
)
LENGTH = ("X-Goog-Upload-Header-Content-Length", "2000000")
B_REQUESTS: list[tuple[str, Move, Media, Request]] = [
    (
        "start",
        Start(),
        B_MEDIA,
        Request("POST", B_URL, (*START, LENGTH, ("Content-Type", JSON_TYPE)), METADATA),
    ),
    (
        "start of a stream",
        Start(),
        Media("POST", B_URL, (), "application/zip", None),
        Request("POST", B_URL, START),
    ),
    ("a chunk", CHUNK, B_MEDIA, command("upload", 0, CHUNK.span)),
    ("the last bytes", LAST, B_MEDIA, command("upload, finalize", 524_288, LAST.span)),
    (
        "everything at once",
        Send(Span(0, 2_000_000), True),
        B_MEDIA,
        command("upload, finalize", 0, Span(0, 2_000_000)),
    ),
    (
        "nothing left to send",
        Send(Span(2_000_000, 2_000_000), True),
        B_MEDIA,
        command("finalize", 2_000_000),
    ),
    ("an empty file", Send(Span(0, 0), True), B_MEDIA, command("finalize", 0)),
    ("the query", QueryOffset(), B_MEDIA, command("query")),
    ("cancel", Cancel(), B_MEDIA, command("cancel")),
]


def told(
    status: int,
    upload: str = "",
    body: bytes = b"",
    *,
    whole: bool = True,
    **headers: str,
) -> Response:
    """An answer of dialect B, with X-Goog-Upload-Status and other X-Goog-Upload headers
    (`size_received`, `url`, …).
    """
    pairs = [
        (f"X-Goog-Upload-{name.replace('_', '-')}", value)
        for name, value in headers.items()
    ]
    return Response(
        status,
        Headers([("X-Goog-Upload-Status", upload), *pairs] if upload else pairs),
        body,
        whole,
    )


UPLOADED = b'{"id":"1"}'
B_EVENTS: list[Row] = [
    (
        "started",
        Start(),
        told(200, "active", url="https://x/1"),
        Started("https://x/1"),
    ),
    (
        "started, status in another case",
        Start(),
        told(200, "ACTIVE", URL="https://x/1"),
        Started("https://x/1"),
    ),
    (
        "started, without the status",
        Start(),
        told(200, url="https://x/1"),
        Started("https://x/1"),
    ),
    (
        "started, the older name",
        Start(),
        told(200, "active", control_url="https://x/1"),
        Started("https://x/1"),
    ),
    (
        "started, without a scheme",
        Start(),
        told(200, "active", url="x.com/u?i=1"),
        Started("https://x.com/u?i=1"),
    ),
    (
        "started, without a scheme but with one in the query",
        Start(),
        told(200, "active", url="x.com/u?back=http://y/"),
        Started("https://x.com/u?back=http://y/"),
    ),
    (
        "started, with a granularity",
        Start(),
        told(200, "active", url="https://x/1", chunk_granularity="1048576"),
        Started("https://x/1", 1_048_576),
    ),
    ("started nowhere", Start(), told(200, "active"), OffsetUnknown),
    (
        "started at an address over 8 KiB",
        Start(),
        told(200, "active", url="https://" + "1" * 8185),
        ProtocolViolated,
    ),
    (
        "start refused as final",
        Start(),
        told(200, "final", UPLOADED, url="https://x/1"),
        Rejected,
    ),
    ("start refused", Start(), told(400, "final"), Rejected),
    ("start: 400 without a status", Start(), told(400), OffsetUnknown),
    ("start: 400 that lives", Start(), told(400, "active"), Rejected),
    ("start: 404", Start(), told(404), Rejected),
    ("start: 412", Start(), told(412), Rejected),
    ("start: 503", Start(), told(503), OffsetUnknown),
    ("start: 401", Start(), told(401), TokenRejected),
    ("start: redirect", Start(), told(302, url="https://evil/"), ProtocolViolated),
    ("start: broken", Start(), TransportError("gone", True), OffsetUnknown),
    ("stored", CHUNK, told(200, "active", size_received="524288"), Stored(524_288)),
    (
        "the size received is a count: nothing is added",
        QueryOffset(),
        told(200, "active", size_received="42"),
        Stored(42),
    ),
    (
        "nothing received",
        QueryOffset(),
        told(200, "active", size_received="0"),
        Stored(0),
    ),
    (
        "active without a size, to a chunk: all of it arrived",
        CHUNK,
        told(200, "active"),
        Stored(524_288),
    ),
    (
        "active without a size, before the chunk was sent",
        CHUNK,
        told(200, "active", whole=False),
        OffsetUnknown,
    ),
    (
        "active without a size, to the last bytes",
        LAST,
        told(200, "active"),
        OffsetUnknown,
    ),
    (
        "active without a size, to a query",
        QueryOffset(),
        told(200, "active"),
        ProtocolViolated,
    ),
    (
        "a size that is no number",
        CHUNK,
        told(200, "active", size_received="many"),
        ProtocolViolated,
    ),
    (
        "a negative size",
        QueryOffset(),
        told(200, "active", size_received="-1"),
        ProtocolViolated,
    ),
    (
        "no status on a query's 200",
        QueryOffset(),
        told(200, body=UPLOADED),
        OffsetUnknown,
    ),
    (
        "no status on a query's 200, but the size",
        QueryOffset(),
        told(200, size_received="42"),
        Stored(42),
    ),
    (
        "no status on a query's 200, and no size",
        QueryOffset(),
        told(200, size_received="-1"),
        OffsetUnknown,
    ),
    (
        "another status beside the size",
        QueryOffset(),
        told(200, "paused", size_received="42"),
        OffsetUnknown,
    ),
    (
        "no status on a chunk's 200, but the size",
        CHUNK,
        told(200, size_received="42"),
        OffsetUnknown,
    ),
    (
        "an unknown status on a query's 200",
        QueryOffset(),
        told(200, "paused"),
        OffsetUnknown,
    ),
    ("no status on a chunk's 200", CHUNK, told(200, body=UPLOADED), OffsetUnknown),
    ("no status on a 5xx", CHUNK, told(502, body=b"<html>"), OffsetUnknown),
    ("active on a 5xx", CHUNK, told(503, "active"), OffsetUnknown),
    ("final", LAST, told(200, "final", UPLOADED), Completed),
    ("Final", LAST, told(200, "Final", UPLOADED), Completed),
    ("final, learnt by asking", QueryOffset(), told(200, "final", UPLOADED), Completed),
    ("final without a resource", LAST, told(200, "final"), OffsetUnknown),
    (
        "final without a resource even when asked",
        QueryOffset(),
        told(200, "final"),
        OffsetUnknown,
    ),
    (
        "final while the body was on its way",
        LAST,
        told(200, "final", UPLOADED, whole=False),
        OffsetUnknown,
    ),
    (
        "final with 400",
        CHUNK,
        told(400, "final", b'{"error":{"message":"no"}}'),
        Rejected,
    ),
    ("final with 503", CHUNK, told(503, "final"), Rejected),
    ("cancelled with 400", CHUNK, told(400, "cancelled"), Rejected),
    ("cancelled", QueryOffset(), told(200, "cancelled"), SessionLost),
    ("404", CHUNK, told(404), SessionLost),
    ("410", QueryOffset(), told(410), SessionLost),
    ("404 that lives", QueryOffset(), told(404, "active"), OffsetUnknown),
    ("400 that lives", CHUNK, told(400, "active"), OffsetUnknown),
    ("409 that lives", CHUNK, told(409, "Active", size_received="42"), OffsetUnknown),
    ("412 that lives", LAST, told(412, "active"), OffsetUnknown),
    ("416 that lives", QueryOffset(), told(416, "active"), OffsetUnknown),
    ("a redirect that lives", CHUNK, told(307, "active"), ProtocolViolated),
    ("409", CHUNK, told(409), Rejected),
    ("401", CHUNK, told(401), TokenRejected),
    ("401 that lives", CHUNK, told(401, "active"), TokenRejected),
    ("403", CHUNK, told(403), Rejected),
    ("308 means nothing here", CHUNK, told(308), ProtocolViolated),
    ("429", CHUNK, told(429), OffsetUnknown),
    ("broken", LAST, TransportError("gone", True), OffsetUnknown),
]


# --- both ---

REQUESTS = [
    *((content_range, A_OPEN, *row) for row in A_REQUESTS),
    *((goog_upload, B_OPEN, *row) for row in B_REQUESTS),
]
EVENTS = [
    *((content_range, A_MEDIA, *row) for row in A_EVENTS),
    *((goog_upload, B_MEDIA, *row) for row in B_EVENTS),
]


def ids_of(rows: Sequence[tuple[Any, ...]]) -> list[str]:
    """`goog_upload: start without metadata` for each row."""
    return [f"{row[0].__name__.rpartition('.')[2]}: {row[2]}" for row in rows]


@pytest.mark.parametrize(
    ("dialect", "session", "name", "move", "media", "request_"),
    REQUESTS,
    ids=ids_of(REQUESTS),
)
def test_a_move_is_exactly_this_request(
    dialect: ModuleType,
    session: Session,
    name: str,
    move: Move,
    media: Media,
    request_: Request,
) -> None:
    """Method, address, headers and bytes of every move."""
    assert dialect.request(move, session, media) == request_, name


@pytest.mark.parametrize(
    ("dialect", "media", "name", "move", "response", "event"),
    EVENTS,
    ids=ids_of(EVENTS),
)
def test_an_answer_is_exactly_this_event(
    dialect: ModuleType,
    media: Media,
    name: str,
    move: Move,
    response: Response,
    event: Event | type[Event],
) -> None:
    """Every status and header that the documents name, and those that they don't; in B the status
    header rules.
    """
    got = dialect.event(move, response, media)
    assert type(got) is event if isinstance(event, type) else got == event, name


@pytest.mark.parametrize(
    "value", ["", "0", "-262144", "x", "2.5", str(1 << 31), "9" * 30, "\u0661"]
)
def test_a_granularity_that_makes_no_sense_is_the_documented_one(value: str) -> None:
    """Zero, nonsense and more than 1 GiB are not believed."""
    got = goog_upload.event(
        Start(),
        told(200, "active", url="https://x/1", chunk_granularity=value),
        B_MEDIA,
    )
    assert got == Started("https://x/1", DEFAULT_GRANULARITY)


def test_without_a_scheme_the_url_has_that_of_the_endpoint() -> None:
    """On loopback the endpoint's own scheme is plain http."""
    media = Media("POST", "http://127.0.0.1:9/upload/x", (), "application/zip", 1)
    assert goog_upload.event(
        Start(), told(200, "active", url="127.0.0.1:9/s"), media
    ) == Started("http://127.0.0.1:9/s")


@pytest.mark.parametrize(
    ("status", "why", "untold"),
    [
        ("", "has no X-Goog-Upload-Status", True),
        ("paused", "has an unknown X-Goog-Upload-Status, 'paused'", False),
        ("\u2028" + "x" * 50, r"'\u2028" + "x" * 19 + "'", False),
    ],
    ids=["missing", "unknown", "hostile"],
)
def test_an_unknown_status_is_not_a_missing_one(
    status: str, why: str, untold: bool
) -> None:
    """The documents show a bare answer to a query; they show no other status."""
    got = goog_upload.event(QueryOffset(), told(200, status), B_MEDIA)
    assert isinstance(got, OffsetUnknown)
    assert why in got.why
    assert got.untold is untold


HEADERS = ["Location", "Range", "Retry-After", "Content-Range"]
HEADERS += [
    f"X-Goog-Upload-{name}"
    for name in ("Status", "URL", "Size-Received", "Chunk-Granularity")
]


@pytest.mark.parametrize("dialect", [content_range, goog_upload])
@given(move=MOVES, response=responses(HEADERS), size=st.none() | st.integers(0))
def test_no_answer_raises(
    dialect: ModuleType, move: Move, response: Response, size: int | None
) -> None:
    """Whatever a server sends is an event."""
    event = dialect.event(move, response, Media("POST", A_URL, (), "image/png", size))
    assert isinstance(event, get_args(Event))
