"""What an answer means in either dialect: the rules that do not depend on how offsets are written."""

from __future__ import annotations

from uploader.http.messages import Response
from uploader.protocol.media import Media
from uploader.protocol.retry import Verdict
from uploader.protocol.session import (
    Completed,
    Event,
    Move,
    OffsetUnknown,
    ProtocolViolated,
    QueryOffset,
    Rejected,
    SessionLost,
    Start,
    TokenRejected,
)


def finished(move: Move, response: Response, media: Media) -> Event:
    """The event for an answer that calls the upload complete: only with the resource, unless the service sends none."""
    if not response.sent_whole:
        return OffsetUnknown("the server called the upload finished before it was sent", response, server_ok=True)
    if media.is_resource(response):
        return Completed(response)
    if isinstance(move, QueryOffset):
        return ProtocolViolated("the server calls the upload finished but does not return the resource that it made")
    # The resource may have been lost on the way (a proxy, an early end): the offset query returns it again.
    return OffsetUnknown("the answer to the finished upload is not the resource", response, server_ok=True)


def failed(move: Move, response: Response, verdict: Verdict) -> Event:
    """The event for an answer that is no success. 404 and 410 mean a lost session, once there is one."""
    match verdict:
        case Verdict.RETRY:
            return OffsetUnknown(f"the server answered {response.status}", response)
        case Verdict.RENEW:
            return TokenRejected(response)
        case Verdict.GONE if not isinstance(move, Start):
            return SessionLost(f"the server answered {response.status}: the session is gone")
        case _ if 300 <= response.status < 400:
            return ProtocolViolated(f"the server answered with a redirect ({response.status}), which is never followed")
        case _:
            return Rejected(response)
