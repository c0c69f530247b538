"""Points in time as Google's JSON writes them."""

from __future__ import annotations

from datetime import datetime, timezone


def timestamp(seconds: float) -> str:
    """Seconds since the epoch as RFC 3339 in UTC, with milliseconds."""
    moment = datetime.fromtimestamp(seconds, timezone.utc)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03}Z"
