"""Dialect B: `X-Goog-Upload-*` headers, as moves into requests and responses into events.

Source: developers.google.com/android/over-the-air/v1/how-tos/create-package and, for the variants
of the header names, the guides of Google's newer APIs that speak the same protocol.
"""

from __future__ import annotations

import re

from uploader.http.messages import Request, Response, TransportError
from uploader.protocol.media import Media
from uploader.protocol.responses import (
    Verdict,
    broken_connection_event,
    completion_event,
    failure_event,
    start_event,
    verdict,
)
from uploader.protocol.session import (
    DEFAULT_GRANULARITY,
    Cancel,
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
    Stored,
)

# Every header name of the dialect, in the documents' spelling; servers may use any case.
PROTOCOL = "X-Goog-Upload-Protocol"
COMMAND = "X-Goog-Upload-Command"
OFFSET = "X-Goog-Upload-Offset"
FILE_NAME = "X-Goog-Upload-File-Name"
CONTENT_TYPE = "X-Goog-Upload-Header-Content-Type"
CONTENT_LENGTH = "X-Goog-Upload-Header-Content-Length"
STATUS = "X-Goog-Upload-Status"
SIZE_RECEIVED = "X-Goog-Upload-Size-Received"
GRANULARITY = "X-Goog-Upload-Chunk-Granularity"
# the second is the same thing under an older name
URLS = ("X-Goog-Upload-URL", "X-Goog-Upload-Control-URL")

# bytes; a server that wants more than 1 GiB in a chunk is not believed
_MAX_GRANULARITY = 1 << 30
_COUNT = re.compile(r"\d{1,19}", re.ASCII)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


def request(move: Move, session: Session, media: Media) -> Request:
    """Return the request that carries out a move; every command is a POST."""
    match move:
        case Start():
            headers = [
                (PROTOCOL, "resumable"),
                (COMMAND, "start"),
                (CONTENT_TYPE, media.media_type),
            ]
            if media.size is not None:
                headers.append((CONTENT_LENGTH, str(media.size)))
            return media.start(media.with_query(), *headers)
        case Send():
            return _send(move, session, media)
        case QueryOffset():
            return Request("POST", session.uri, ((COMMAND, "query"),))
        case Cancel():
            return Request("POST", session.uri, ((COMMAND, "cancel"),))


def _send(move: Send, session: Session, media: Media) -> Request:
    """Return the request that sends a span, or finishes what is stored with an empty one.

    The documents show the protocol and the media type with the bytes as well.
    """
    command = "upload"
    if move.final:
        command = "upload, finalize"
    if not move.span.size:
        command = "finalize"
    headers = [
        (PROTOCOL, "resumable"),
        (COMMAND, command),
        (OFFSET, str(move.span.start)),
    ]
    if not move.span.size:
        return Request("POST", session.uri, tuple(headers))
    headers.append(("Content-Type", media.media_type))
    return Request("POST", session.uri, tuple(headers), span=move.span)


def event(move: Move, response: Response | TransportError, media: Media) -> Event:
    """Return what a response to a move means. Both HTTP's status and the dialect's status header
    count.
    """
    if isinstance(response, TransportError):
        return broken_connection_event(response)
    status = (response.headers.get(STATUS) or "").lower()
    judged = verdict(response)
    if isinstance(move, Start):
        return _read_start(response, status, judged, media)
    if judged is Verdict.SUCCESS:
        return _read_success(move, response, status, media)
    if status in ("final", "cancelled"):
        # terminal: this first error is the cause, whatever a later query may say
        return Rejected(response)
    is_refusal = response.status >= 400 and judged in (Verdict.REFUSED, Verdict.GONE)
    if is_refusal and status == "active":
        # The request was wrong (most often its offset), but the session lives and can be asked for
        # the right one.
        return OffsetUnknown(
            f"the server answered {response.status}", response, server_ok=True
        )
    return failure_event(move, response, judged)


def _read_start(
    response: Response,
    status: str,
    judged: Verdict,
    media: Media,
) -> Event:
    """Return what the response to the start of a session means."""
    if status in ("final", "cancelled"):
        return Rejected(response)
    # A refusal by the upload service itself would have the status `final`.
    if response.status == 400 and not status:
        return OffsetUnknown(
            f"the server answered {response.status} without {STATUS}", response
        )
    if judged is not Verdict.SUCCESS:
        return failure_event(Start(), response, judged)
    return start_event(_session_uri(response, media), _granularity(response), response)


def _session_uri(response: Response, media: Media) -> str | None:
    """Return the URI of a new session; None if the response names none."""
    for header in URLS:
        uri = response.headers.get(header)
        if not uri:
            continue
        if _SCHEME.match(uri):
            return uri
        # As the documents show it, without a scheme: then it is https, or the endpoint's own (http
        # on loopback).
        scheme = media.url.partition("://")[0]
        return f"{scheme}://{uri.lstrip('/')}"
    return None


def _granularity(response: Response) -> int:
    """Return the chunk granularity of a new session in bytes; the default if the response states
    none, or one that is not believed.
    """
    granularity = _read_size(response.headers.get(GRANULARITY)) or 0
    if 0 < granularity <= _MAX_GRANULARITY:
        return granularity
    return DEFAULT_GRANULARITY


def _read_success(
    move: Move,
    response: Response,
    status: str,
    media: Media,
) -> Event:
    """Return what a response with a successful status means."""
    if status == "final":
        return completion_event(move, response, media)
    if status == "cancelled":
        return SessionLost("the session was cancelled")
    queried = isinstance(move, QueryOffset)
    header = response.headers.get(SIZE_RECEIVED)
    size = _read_size(header)
    # Some servers answer a query with the size alone.
    has_size_alone = queried and not status and size is not None
    if status != "active" and not has_size_alone:
        return _without_status(response, status, queried=queried)
    if size is not None:
        # A count, hence the next offset; the documents' 42-then-43 is a slip.
        return Stored(size)
    if header is not None or queried:
        return ProtocolViolated(f"the answer has no readable {SIZE_RECEIVED}")
    if isinstance(move, Send) and not move.final and response.sent_whole:
        # how some servers say that all of a chunk arrived
        return Stored(move.span.stop)
    return OffsetUnknown(
        "the server did not say what it stored", response, server_ok=True
    )


def _read_size(header: str | None) -> int | None:
    """Return the number of bytes that a header states, None if it states none."""
    if header is None or not _COUNT.fullmatch(header):
        return None
    return int(header)


def _without_status(response: Response, status: str, *, queried: bool) -> OffsetUnknown:
    """Return what a success means if its status header is missing, or has a value that is not in
    the documents.

    The documents' own example of success is a bare 200. No upload has ended without the header, so
    the offset is queried. A query with such an answer is repeated after a wait, unless the answer
    is bare: then the session decides (`OffsetUnknown.untold`).
    """
    of_query = " to a query" if queried else ""
    why = f"the answer{of_query} has no {STATUS}"
    if status:
        why = f"the answer{of_query} has an unknown {STATUS}, {status[:20]!a}"
    is_bare = not status and not response.body.strip()
    return OffsetUnknown(
        why,
        response,
        server_ok=not queried,
        untold=queried and is_bare,
    )
