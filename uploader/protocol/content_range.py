"""Dialect A: `uploadType=resumable`, `Content-Range` and 308, as moves into requests and responses
into events.

Source: developers.google.com/android-publisher/upload and
developers.google.com/gmail/api/guides/uploads, "Resumable upload"; where servers differ from the
documents, the comments say so.
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
    Send,
    Session,
    Start,
    Stored,
)

# `Range: bytes=0-42`, and `Range: 0-42` without the unit: both are in Google's documents and mean
# the same.
_RANGE = re.compile(
    r"(?:bytes\s*=\s*)?(\d{1,19})\s*-\s*(\d{1,19})", re.ASCII | re.IGNORECASE
)


def request(move: Move, session: Session, media: Media) -> Request:
    """Return the request that carries out a move."""
    match move:
        case Start():
            headers = [("X-Upload-Content-Type", media.media_type)]
            if media.size is not None:
                headers.append(("X-Upload-Content-Length", str(media.size)))
            return media.start(media.with_query(("uploadType", "resumable")), *headers)
        case Send():
            return _send(move, session, media)
        case QueryOffset():
            # Without a declared size the query is `*/*`: `*/N` could finish a stream too early.
            return _without_bytes(session, _total(media.size))
        case Cancel():
            return Request("DELETE", session.uri)


def _send(move: Send, session: Session, media: Media) -> Request:
    """Return the request that sends a span, or finishes what is stored with an empty one."""
    # The session knows the size of a stream once its end was read.
    total = _total(session.size if move.final else media.size)
    if not move.span.size:
        return _without_bytes(session, total)
    headers = [("Content-Type", media.media_type)]
    # A whole file in one request needs no range: it is the documents' preferred way, and some
    # servers know only that.
    is_whole_file = move.final and move.span.start == 0
    if not is_whole_file:
        last = move.span.stop - 1
        sent = f"bytes {move.span.start}-{last}/{total}"
        headers.append(("Content-Range", sent))
    return Request("PUT", session.uri, tuple(headers), span=move.span)


def _without_bytes(session: Session, total: str) -> Request:
    """Return the request that sends nothing: it asks for the offset, or finishes what is stored."""
    return Request("PUT", session.uri, (("Content-Range", f"bytes */{total}"),))


def _total(size: int | None) -> str:
    """Return the size as `Content-Range` states it."""
    return "*" if size is None else str(size)


def event(move: Move, response: Response | TransportError, media: Media) -> Event:
    """Return what a response to a move means."""
    if isinstance(response, TransportError):
        return broken_connection_event(response)
    if response.status == 308 and not isinstance(move, Start):
        return _read_stored(move, response)
    judged = verdict(response)
    if judged is not Verdict.SUCCESS:
        return failure_event(move, response, judged)
    if not isinstance(move, Start):
        return completion_event(move, response, media)
    return start_event(response.headers.get("location"), DEFAULT_GRANULARITY, response)


def _read_stored(move: Move, response: Response) -> Event:
    """Return what a 308 says about the bytes that the server holds.

    It is "Resume Incomplete" here, never a redirect: a Location header on it means nothing.
    """
    value = response.headers.get("range")
    if value is None:
        if isinstance(move, QueryOffset):
            return Stored(0)
        return OffsetUnknown(
            "the server did not say what it stored", response, server_ok=True
        )
    match = _RANGE.fullmatch(value.strip())
    if not match:
        return ProtocolViolated(
            f"the Range of the answer can't be read: {value[:80]!r}"
        )
    first = int(match[1])
    last = int(match[2])
    if first != 0:
        return ProtocolViolated(
            f"the server has bytes {first} to {last}, which do not begin at 0"
        )
    return Stored(last + 1)
