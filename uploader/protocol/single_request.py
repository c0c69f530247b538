"""Simple and multipart uploads: the whole file in one request, in either dialect.

Sources: the "Simple upload" and "Multipart upload" sections of the Google Play, Gmail and Over-The-Air documents, and
RFC 2387 for `multipart/related`. There is no offset to ask for afterwards, so the rule for a repeat differs: what may
have been received is not sent again when the method has an effect.
"""

from __future__ import annotations

from uploader.http.messages import Body, Request, Response, Span, TransportError
from uploader.protocol.goog_upload import PROTOCOL
from uploader.protocol.media import JSON_TYPE, Media
from uploader.protocol.retry import Verdict, verdict


def simple(media: Media, size: int) -> Request:
    """The file alone, `uploadType=media`."""
    headers = (("Content-Type", media.media_type),)
    return Request(media.method, media.with_query(("uploadType", "media")), headers, Body(span=Span(0, size)))


def multipart(media: Media, size: int, boundary: str, *, goog_upload: bool = False) -> Request:
    """Metadata first, then the file: exactly two parts. `boundary` must be random, so that no file can hold it."""
    prefix = (
        f"--{boundary}\r\nContent-Type: {JSON_TYPE}\r\n\r\n".encode()
        + (media.metadata or b"{}")
        + f"\r\n--{boundary}\r\nContent-Type: {media.media_type}\r\n\r\n".encode()
    )
    body = Body(prefix, Span(0, size), f"\r\n--{boundary}--\r\n".encode())
    kind = ("Content-Type", f"multipart/related; boundary={boundary}")
    if goog_upload:
        return Request(media.method, media.with_query(), ((PROTOCOL, "multipart"), kind), body)
    return Request(media.method, media.with_query(("uploadType", "multipart")), (kind,), body)


def may_repeat(response: Response | TransportError, *, idempotent: bool) -> bool:
    """Whether a request that failed for now may be sent again.

    Yes when a repeat replaces what the first one made. Otherwise only when the server surely did not act on it: it
    never got the whole request, or it turned it away before acting (401, 403, 408 and 429 say so; a 5xx does not).
    """
    if idempotent or not response.sent_whole:
        return True
    return (
        isinstance(response, Response) and verdict(response) in (Verdict.RETRY, Verdict.RENEW) and response.status < 500
    )


def may_have_acted(response: Response | TransportError | None) -> bool:
    """Whether a request that failed for now may have had its effect: its answer was lost, or the server failed."""
    if response is None or not response.sent_whole:
        return False
    return isinstance(response, TransportError) or response.status >= 500
