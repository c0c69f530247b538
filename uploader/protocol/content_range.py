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
from uploader.protocol.responses import Verdict, broken, failed, finished, started, verdict
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
_RANGE = re.compile(r"(?:bytes\s*=\s*)?(\d{1,19})\s*-\s*(\d{1,19})", re.ASCII | re.IGNORECASE)


def request(move: Move, session: Session, media: Media) -> Request:
    """The request that carries out a move."""
    match move:
        case Start():
            size = () if media.size is None else (("X-Upload-Content-Length", str(media.size)),)
            url = media.with_query(("uploadType", "resumable"))
            return media.start(url, ("X-Upload-Content-Type", media.media_type), *size)
        case Send():
            return _send(move, session, media)
        case QueryOffset():
            # Without a declared size the query is `*/*`: `*/N` could finish a stream too early.
            total = "*" if media.size is None else str(media.size)
            return Request("PUT", session.uri, (("Content-Range", f"bytes */{total}"),))
        case Cancel():
            return Request("DELETE", session.uri)


def _send(move: Send, session: Session, media: Media) -> Request:
    total = str(session.size) if move.final else ("*" if media.size is None else str(media.size))
    if not move.span.size:
        return Request("PUT", session.uri, (("Content-Range", f"bytes */{total}"),))
    # A whole file in one request needs no range: it is the documents' preferred way, and some
    # servers know only that.
    whole = move.final and move.span.start == 0
    place = f"bytes {move.span.start}-{move.span.stop - 1}/{total}"
    headers = (("Content-Type", media.media_type), *(() if whole else (("Content-Range", place),)))
    return Request("PUT", session.uri, headers, span=move.span)


def event(move: Move, response: Response | TransportError, media: Media) -> Event:
    """What a response to a move means."""
    if isinstance(response, TransportError):
        return broken(response)
    if response.status == 308 and not isinstance(move, Start):
        return _stored(move, response)
    judged = verdict(response)
    if judged is not Verdict.SUCCESS:
        return failed(move, response, judged)
    if not isinstance(move, Start):
        return finished(move, response, media)
    return started(response.headers.get("location"), DEFAULT_GRANULARITY, response)


def _stored(move: Move, response: Response) -> Event:
    # 308 is "Resume Incomplete" here, never a redirect: a Location header on it means nothing.
    value = response.headers.get("range")
    if value is None:
        if isinstance(move, QueryOffset):
            return Stored(0)
        return OffsetUnknown("the server did not say what it stored", response, server_ok=True)
    match = _RANGE.fullmatch(value.strip())
    if not match:
        return ProtocolViolated(f"the Range of the answer can't be read: {value[:80]!r}")
    first, last = int(match[1]), int(match[2])
    if first != 0:
        return ProtocolViolated(
            f"the server holds bytes {first} to {last}, which do not begin at 0"
        )
    return Stored(last + 1)
