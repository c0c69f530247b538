"""What a response means for the next attempt, whatever was asked."""

from __future__ import annotations

import pytest
from hypothesis import given

from tests.support.words import responses
from uploader.http.messages import Response, TransportError
from uploader.protocol.responses import Verdict, verdict

RATE = b'{"error": {"errors": [{"reason": "%s"}]}}'

VERDICTS = [
    *((status, Verdict.SUCCESS) for status in (200, 201, 204, 299)),
    *((status, Verdict.RETRY) for status in (408, 429)),
    *((status, Verdict.IN_DOUBT) for status in (500, 501, 502, 503, 504, 599)),
    *((status, Verdict.GONE) for status in (404, 410)),
    *(
        (status, Verdict.REFUSED)
        for status in (100, 301, 302, 307, 308, 400, 402, 403, 405, 409, 411, 412, 413, 416, 499)
    ),
    (401, Verdict.RENEW),
]


@pytest.mark.parametrize(("status", "expected"), VERDICTS)
def test_each_status_has_its_verdict(status: int, expected: Verdict) -> None:
    """5xx, 408 and 429 are worth another try, the rest is not."""
    assert verdict(Response(status)) is expected


@pytest.mark.parametrize(("sent_whole", "expected"), [(False, Verdict.RETRY), (True, Verdict.IN_DOUBT)])
def test_what_never_arrived_whole_was_not_acted_on(sent_whole: bool, expected: Verdict) -> None:
    """A connection that broke and a failing server are worth another attempt; whether they may have acted differs."""
    assert verdict(TransportError("reset", sent_whole=sent_whole)) is expected
    assert verdict(Response(503, sent_whole=sent_whole)) is expected
    assert verdict(Response(429, sent_whole=sent_whole)) is Verdict.RETRY


@pytest.mark.parametrize("reason", [b"rateLimitExceeded", b"userRateLimitExceeded"])
def test_a_403_for_the_rate_means_slower(reason: bytes) -> None:
    """Two reasons turn a 403 into a retry."""
    assert verdict(Response(403, body=RATE % reason)) is Verdict.RETRY


@pytest.mark.parametrize(
    "body", [b"", b"<html>", b"{}", RATE % b"forbidden", RATE % b"dailyLimitExceeded", b'{"error": 3}']
)
def test_any_other_403_is_a_no(body: bytes) -> None:
    """Without one of the two reasons a 403 stays what it is."""
    assert verdict(Response(403, body=body)) is Verdict.REFUSED


@given(responses(["Retry-After"]))
def test_every_response_has_a_verdict(response: Response) -> None:
    """Any status, header and body."""
    assert verdict(response) in Verdict
