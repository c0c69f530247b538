"""Retry in three pure questions: whether an answer is worth another try, how long to wait, and when to stop.

The documented schedule: wait 2^n seconds plus a random number of milliseconds up to 1000, drawn anew each time, for
n = 0, 1, 2, …; by default five waits without progress, about 32 s in all; each delay stays under a minute
(developers.google.com/android-publisher/upload, "Best practices").
"""

from __future__ import annotations

import math
from enum import Enum

from uploader.http.messages import Response, TransportError
from uploader.protocol import google_error

LONGEST_BACKOFF = 58.0  # seconds, so that with jitter each delay stays under a minute
LONGEST_RETRY_AFTER = 300.0  # seconds
FIRST_LOOK, LONGEST_PAUSE = 15.0, 600.0  # seconds


class Verdict(Enum):
    """What an answer means for the next try, whatever the request was."""

    SUCCESS = "success"
    RETRY = "worth another try"
    RENEW = "a fresh token first"
    GONE = "what was asked for is not there"
    REFUSED = "no, and it stays no"


def verdict(response: Response | TransportError) -> Verdict:
    """Sorts an answer: broken connections, 5xx, 408, 429 and rate-limit 403s may be tried again."""
    if isinstance(response, TransportError):
        return Verdict.RETRY
    status = response.status
    if 200 <= status < 300:
        return Verdict.SUCCESS
    if status >= 500 or status in (408, 429):
        return Verdict.RETRY
    if status == 401:
        return Verdict.RENEW
    if status in (404, 410):
        return Verdict.GONE
    if status == 403 and google_error.read(response).rate_limited:
        return Verdict.RETRY
    return Verdict.REFUSED


def retry_after(response: Response | TransportError, wall_clock: float) -> float | None:
    """Seconds that the server asks us to wait (RFC 9110, section 10.2.3), at most five minutes; None for nonsense.

    `wall_clock` is the time in seconds since the epoch, needed for the date form. Read on 429 and 503 alone.
    """
    if isinstance(response, TransportError) or response.status not in (429, 503):
        return None
    value = response.headers.get("retry-after")
    if value is None:
        return None
    if value.isascii() and value.isdigit():
        # More digits than any sane wait has: do not build a huge number only to cut it down.
        return min(float(value), LONGEST_RETRY_AFTER) if len(value) < 20 else LONGEST_RETRY_AFTER
    from email.utils import parsedate_to_datetime  # few servers answer with a date, and start-up counts

    try:
        seconds = parsedate_to_datetime(value).timestamp() - wall_clock
    except (ValueError, TypeError, OverflowError):
        return None
    return min(max(seconds, 0.0), LONGEST_RETRY_AFTER)


def backoff(attempt: int, fraction: float) -> float:
    """Seconds to wait before retry number `attempt` (0, 1, 2, …); `fraction` is random in [0, 1)."""
    return min(math.ldexp(1.0, min(attempt, 16)), LONGEST_BACKOFF) + math.floor(fraction * 1001) / 1000


def next_look(looks: int) -> float:
    """Seconds before the next look at something that takes hours, after so many pauses: each is twice the last."""
    return min(math.ldexp(FIRST_LOOK, min(looks, 16)), LONGEST_PAUSE)


def next_wait(
    spent: int, max_retries: int, *, time_left: float, fraction: float, asked: float | None = None
) -> float | None:
    """Seconds to wait before the next attempt: what the server `asked` for, or else our own schedule; None: stop.

    `spent` is how many waits were taken since the last progress, `max_retries` how many may be, `time_left` the seconds
    until the run's deadline, which no wait may reach.
    """
    if spent >= max_retries:
        return None
    seconds = backoff(spent, fraction) if asked is None else asked
    return seconds if seconds < time_left else None
