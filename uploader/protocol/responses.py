"""What a response means whatever was asked: the verdict, and the events that do not depend on how
offsets are written.

A response is judged once, by `verdict`. The code that decides what comes next uses the verdict, not
the status.
"""

from __future__ import annotations

from collections.abc import Collection
from enum import Enum

from uploader.http.messages import Response, TransportError
from uploader.protocol import google_error
from uploader.protocol.media import Media
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
    Started,
    TokenRejected,
)

UNREADABLE = "unreadable-answer"  # the code of an answer that can't be the service's
MAX_URI = 8 * 1024  # characters of a session URI; Google's have some two hundred


class Verdict(Enum):
    """What a response means for the next attempt."""

    SUCCESS = "success"
    RETRY = "surely not acted on, and worth another attempt"
    IN_DOUBT = "perhaps acted on, and worth another attempt where a repeat does no harm"
    RENEW = "a fresh token first"
    GONE = "what was asked for is not there"
    REFUSED = "no, and it stays no"


def verdict(response: Response | TransportError) -> Verdict:
    """Judge a response, or its absence: broken connections, 5xx, 408, 429 and rate-limit 403s may
    be tried again, but not if a quota of the day is spent.

    Whether the server may have acted on the request matters if a repeat would add something. It has
    not if it never had all of the request, or turned it away (408, 429, rate limits). After a 5xx
    or a lost response it is unknown.
    """
    if isinstance(response, TransportError):
        return Verdict.IN_DOUBT if response.sent_whole else Verdict.RETRY
    status = response.status
    if 200 <= status < 300:
        return Verdict.SUCCESS
    if status >= 500:
        return Verdict.IN_DOUBT if response.sent_whole else Verdict.RETRY
    if status in (403, 429):
        error = google_error.read(response)
        if error.daily_quota:
            return Verdict.REFUSED
        if status == 429 or error.rate_limited:
            return Verdict.RETRY
    if status == 408:
        return Verdict.RETRY
    if status == 401:
        return Verdict.RENEW
    if status in (404, 410):
        return Verdict.GONE
    return Verdict.REFUSED


def as_answer(
    response: Response | TransportError,
    promised: Collection[str] = (),
    *,
    may_be_empty: bool = False,
) -> Response | TransportError:
    """Return the response, or a broken connection in place of a success that can't be the
    service's.

    Such a success has no body (unless it `may_be_empty`), a body that is not a JSON object, or none
    of the `promised` members: it comes from a proxy, a login page or a broken server.
    """
    if isinstance(response, TransportError) or verdict(response) is not Verdict.SUCCESS:
        return response
    is_empty = not response.body.strip()
    if is_empty and may_be_empty:
        return response
    answer = response.json()
    if is_empty:
        why = "the answer is empty"
    elif answer is None:
        why = "the answer is not a JSON object"
    elif promised and all(answer.get(name) in (None, "") for name in promised):
        why = f"the answer lacks what it always has ({' or '.join(promised)})"
    else:
        return response
    return TransportError(why, response.sent_whole, UNREADABLE)


def completion_event(move: Move, response: Response, media: Media) -> Event:
    """Return the event for a response that calls the upload complete. It is believed only with the
    resource, unless the method returns none.
    """
    if not response.sent_whole:
        why = "the server called the upload finished before it was sent"
        return OffsetUnknown(
            why,
            response,
            server_ok=True,
            may_have_acted=False,
        )
    if media.is_resource(response):
        return Completed(response)
    # The resource may have been lost on the way (a proxy, an early end): the offset query returns
    # it again. If the query itself is answered so, it is asked again after a wait.
    why = "the answer to the finished upload is not the resource"
    return OffsetUnknown(why, response, server_ok=not isinstance(move, QueryOffset))


def start_event(uri: str | None, granularity: int, response: Response) -> Event:
    """Return the event for a successful start of a session. A response without a session URI is not
    the upload service's, so the start is tried again.
    """
    if not uri:
        return OffsetUnknown(
            "the answer to the start of a session names no session", response
        )
    if len(uri) > MAX_URI:
        return ProtocolViolated(f"the session URI is longer than {MAX_URI} characters")
    return Started(uri, granularity)


def failure_event(move: Move, response: Response, judged: Verdict) -> Event:
    """Return the event for a response that is no success. 404 and 410 mean that the session is
    lost, once there is one.
    """
    match judged:
        case Verdict.RETRY | Verdict.IN_DOUBT:
            why = f"the server answered {response.status}"
            return OffsetUnknown(
                why, response, may_have_acted=judged is Verdict.IN_DOUBT
            )
        case Verdict.RENEW:
            return TokenRejected(response)
        case Verdict.GONE if not isinstance(move, Start):
            return SessionLost(
                f"the server answered {response.status}: the session is gone"
            )
        case _ if 300 <= response.status < 400:
            return ProtocolViolated(
                f"the server answered with a redirect ({response.status}), which is never followed"
            )
        case _:
            return Rejected(response)


def broken_connection_event(error: TransportError) -> OffsetUnknown:
    """Return the event for a connection that ended without a response."""
    return OffsetUnknown(error.why, error, may_have_acted=error.sent_whole)
