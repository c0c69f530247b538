"""The service's own words, from every place where Google's APIs put them, and from answers that are
not Google's.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.words import responses
from uploader.http.headers import Headers
from uploader.http.messages import Response
from uploader.protocol.google_error import read

OLD = {
    "code": 403,
    "message": "Slower.",
    "errors": [{"domain": "usageLimits", "reason": "rateLimitExceeded"}],
}
NEW = {
    "code": 403,
    "message": "No.",
    "status": "PERMISSION_DENIED",
    "details": [{"reason": "SERVICE_DISABLED"}],
}
BOTH = {
    "message": " Both. ",
    "status": "ABORTED",
    "errors": [{"reason": "conflict"}, {"reason": ""}, "x", {}],
}

BODIES: list[tuple[str, bytes, str, tuple[str, ...]]] = [
    (
        "the older form",
        json.dumps({"error": OLD}).encode(),
        "Slower.",
        ("rateLimitExceeded",),
    ),
    (
        "the newer form",
        json.dumps({"error": NEW}).encode(),
        "No.",
        ("SERVICE_DISABLED", "PERMISSION_DENIED"),
    ),
    ("both", json.dumps({"error": BOTH}).encode(), "Both.", ("conflict", "ABORTED")),
    (
        "OAuth",
        b'{"error": "invalid_grant", "error_description": "Bad."}',
        "Bad.",
        ("invalid_grant",),
    ),
    (
        "OAuth without a description",
        b'{"error": "invalid_scope"}',
        "invalid_scope",
        ("invalid_scope",),
    ),
    ("plain text", b" Not Found\n", "Not Found", ()),
    ("a page", b"<html>Proxy</html>", "HTTP 400 without an explanation", ()),
    ("nothing", b"", "HTTP 400 without an explanation", ()),
    ("binary", b"\x00\xff\x1b[2J", "HTTP 400 without an explanation", ()),
    ("JSON of another kind", b'["error"]', "HTTP 400 without an explanation", ()),
    (
        "an error of another kind",
        b'{"error": 3}',
        "HTTP 400 without an explanation",
        (),
    ),
    (
        "types that are wrong all over",
        b'{"error": {"message": 3, "errors": {}, "status": []}}',
        "HTTP 400 without an explanation",
        (),
    ),
]


@pytest.mark.parametrize(
    ("body", "message", "reasons"),
    [row[1:] for row in BODIES],
    ids=[row[0] for row in BODIES],
)
def test_message_and_reasons_are_found(
    body: bytes, message: str, reasons: tuple[str, ...]
) -> None:
    """The message for people, and the reasons with the most specific one first."""
    found = read(Response(400, Headers(), body))
    assert (found.message, found.reasons, found.reason) == (
        message,
        reasons,
        reasons[0] if reasons else "",
    )


@pytest.mark.parametrize(
    ("body", "how", "cause"),
    [
        (b"", "without any explanation.", "may not have been Google"),
        (b"<html>Blocked", "with an HTML page.", "a proxy or firewall"),
        (
            b"\n<!DOCTYPE HTML>\n<title>Blocked</title>",
            "with an HTML page.",
            "a proxy or firewall",
        ),
        (
            b"<!DOCTYPE html><title>Error 403 (Forbidden)!!1</title>",
            ": Error 403 (Forbidden)",
            "in front of the API",
        ),
        (b'{"error": {"code": 400, "message": ""}}', "without any explanation.", ""),
        (b'{"error": {"code": 400, "message": "No."}}', "No.", ""),
        (b"Not Found", "Not Found", ""),
    ],
    ids=[
        "nothing",
        "page",
        "whole page",
        "page of Google's",
        "no message",
        "message",
        "text",
    ],
)
def test_a_refusal_that_says_nothing_quotes_nothing(
    body: bytes, how: str, cause: str
) -> None:
    """Who may have answered instead of Google is told where the answer is not in Google's form."""
    found = read(Response(403, Headers(), body))
    assert found.how.endswith(how)
    assert cause in found.advice[0]
    assert bool(cause) == bool(found.advice[0])


def test_a_message_has_an_end() -> None:
    """A message of a megabyte is cut before anybody has to read it."""
    body = json.dumps({"error": {"message": "x" * 1_000_000}}).encode()
    assert len(read(Response(400, Headers(), body)).message) == 2000


@given(
    responses(["Content-Type"])
    | st.binary(max_size=200).map(lambda body: Response(400, Headers(), body))
)
def test_no_answer_raises(response: Response) -> None:
    """Whatever the body is, there are words for it."""
    assert read(response).message


METRIC = "Quota exceeded for quota metric 'Queries' and limit 'Queries per {}' of service 'x'."


@pytest.mark.parametrize(
    ("error", "daily"),
    [
        ({"errors": [{"reason": "dailyLimitExceeded"}]}, True),
        ({"errors": [{"reason": "publishingDailySaveQuotaExceeded"}]}, True),
        ({"message": METRIC.format("day"), "status": "RESOURCE_EXHAUSTED"}, True),
        ({"message": METRIC.format("minute"), "status": "RESOURCE_EXHAUSTED"}, False),
        (
            {
                "message": "Slow down.",
                "status": "RESOURCE_EXHAUSTED",
                "details": [{"metadata": {"quota_limit": "RequestsPerDayPerProject"}}],
            },
            True,
        ),
        (
            {
                "message": "Slow down.",
                "status": "RESOURCE_EXHAUSTED",
                "details": [{"metadata": {"quota_unit": "1/min/{project}"}}, "x"],
            },
            False,
        ),
        ({"errors": [{"reason": "quotaExceeded", "domain": "youtube.quota"}]}, True),
        ({"errors": [{"reason": "quotaExceeded", "domain": "usageLimits"}]}, False),
        ({"message": "Your daily report.", "errors": [{"reason": "forbidden"}]}, False),
    ],
)
def test_a_quota_of_the_day_is_told_from_a_rate(
    error: dict[str, Any], *, daily: bool
) -> None:
    """By its reason, its words, or the limit that the details name."""
    response = Response(429, Headers(), json.dumps({"error": error}).encode())
    assert read(response).daily_quota is daily
