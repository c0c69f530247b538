"""Situations at the start of a session: errors, refusals, and addresses to which the token must not
travel.
"""

from __future__ import annotations

import pytest

from tests.support.scripted_transport import finished, says, scripted, started
from tests.support.transfer_harness import (
    DIALECTS,
    GRANULE,
    STEPS,
    Bench,
    data_of,
    emulated,
    fault,
    job,
)
from uploader.errors import (
    ApiError,
    CredentialsError,
    ProtocolError,
    TemporaryError,
    UntrustedHost,
)
from uploader.services.base import Dialect

pytestmark = pytest.mark.parametrize("dialect", DIALECTS)
DATA = data_of(4 * GRANULE + 5)
TRANSIENT = [
    {"do": "status", "status": 500},
    {"do": "status", "status": 502, "body": "<html>proxy</html>"},
    {"do": "status", "status": 503},
    {"do": "status", "status": 504},
    {"do": "status", "status": 408},
    {"do": "status", "status": 429},
    {"do": "status", "status": 403, "reason": "rateLimitExceeded"},
    {"do": "reset"},
    {"do": "answer-lost"},
]


@pytest.mark.parametrize("trouble", TRANSIENT, ids=str)
def test_a_start_that_fails_for_now_is_tried_again(
    dialect: Dialect, trouble: dict[str, object]
) -> None:
    """5xx, 408, 429, a rate limit or a broken connection: two waits of the schedule, then the
    upload.
    """
    with emulated({"on": STEPS[dialect]["start"], "times": 2, **trouble}) as bench:
        result = bench.send(job(DATA, dialect))
        assert (result.error, bench.stored(), bench.naps) == ("", [DATA], [1.0, 2.0])
        assert bench.fired() == [trouble["do"]] * 2
        assert result.bytes_resent == 0


def test_a_start_that_keeps_failing_is_temporary(dialect: Dialect) -> None:
    """Five waits, 31 s in all, then exit code 75."""
    with emulated(
        fault(STEPS[dialect]["start"], "status", status=503, times=6)
    ) as bench:
        result = bench.send(job(DATA, dialect))
        assert isinstance(result.failure, TemporaryError)
        assert (result.failure.exit_code, bench.naps, bench.stored()) == (
            75,
            [1.0, 2.0, 4.0, 8.0, 16.0],
            [],
        )


@pytest.mark.parametrize("status", [400, 403, 404, 409, 410, 412, 413])
def test_a_start_that_is_refused_fails_with_the_servers_words(
    dialect: Dialect, status: int
) -> None:
    """No second try, and the service's message reaches people."""
    said = {"message": "Not today.", "headers": {"X-Goog-Upload-Status": "final"}}
    with emulated(
        fault(STEPS[dialect]["start"], "status", status=status, **said)
    ) as bench:
        result = bench.send(job(DATA, dialect))
        assert isinstance(result.failure, ApiError)
        assert (result.failure.status, result.failure.exit_code) == (status, 4)
        assert "Not today." in result.error
        assert (bench.naps, bench.count("upload"), bench.stored()) == ([], 1, [])


def test_a_start_without_a_valid_token_renews_it_once(dialect: Dialect) -> None:
    """401 fetches a fresh token; a second 401 is about the credentials, exit code 3."""
    for times, ending in ((1, None), (2, CredentialsError)):
        with emulated(
            fault(STEPS[dialect]["start"], "token-expired", times=times)
        ) as bench:
            result = bench.send(job(DATA, dialect))
            assert bench.fired() == ["token-expired"] * times
            assert (bench.login.renewals, bench.naps) == (1, [])
            assert type(result.failure) is (ending or type(None))
            assert bench.stored() == ([] if ending else [DATA])


@pytest.mark.parametrize(
    "origin",
    [
        "https://upload.example.net",
        "http://127.0.0.1:1",
        "https://googleapis.com.example.net",
        "https://www.googleapis.com@example.net",
        "http://www.googleapis.com",
    ],
)
def test_a_session_on_a_foreign_host_is_refused(dialect: Dialect, origin: str) -> None:
    """Neither the token nor a byte leaves for another scheme, host or port."""
    with emulated(
        fault(STEPS[dialect]["start"], "foreign-session", origin=origin)
    ) as bench:
        result = bench.send(job(DATA, dialect))
        assert isinstance(result.failure, UntrustedHost)
        assert (bench.fired(), bench.count("upload"), result.attempts) == (
            ["foreign-session"],
            1,
            0,
        )
        assert origin not in result.error


@pytest.mark.parametrize(
    "path",
    [
        "/drive/v3/files/1",
        "/upload/../drive/v3/files/1",
        "/upload/%2e%2e/drive/v3/files/1",
    ],
)
def test_a_session_that_is_no_upload_is_refused(dialect: Dialect, path: str) -> None:
    """At Google's own hosts a PUT or a DELETE elsewhere would change or delete what the token may
    reach.
    """
    name = "Location" if dialect == "content-range" else "X-Goog-Upload-URL"
    session = f"{name}: https://nowhere.googleapis.com{path}?upload_id=1"
    with scripted(says(200, b"", "X-Goog-Upload-Status: active", session)) as server:
        bench = Bench(server.url)
        result = bench.send(job(b"data", dialect))
    assert isinstance(result.failure, UntrustedHost)
    assert (len(server.requests), bench.naps, result.attempts) == (1, [], 0)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_at_the_start_is_not_followed(dialect: Dialect, status: int) -> None:
    """Whatever kind of redirect it is, the token stays where it was sent."""
    with emulated(fault(STEPS[dialect]["start"], "redirect", status=status)) as bench:
        result = bench.send(job(DATA, dialect))
        assert isinstance(result.failure, ProtocolError)
        assert (bench.fired(), bench.count("any")) == (["redirect"], 1)


@pytest.mark.parametrize("body", [b"", b"{}", b"<html>"])
def test_a_start_without_a_session_is_tried_again(
    dialect: Dialect, body: bytes
) -> None:
    """Success without an address to send to is none, and nothing was begun."""
    with scripted(says(200, body), started(dialect), finished(dialect)) as server:
        bench = Bench(server.url)
        assert (bench.send(job(b"data", dialect)).error, bench.naps) == ("", [1.0])
    with scripted(says(200, body), says(200, body)) as server:
        result = Bench(server.url, max_retries=1).send(job(b"data", dialect))
    assert isinstance(result.failure, TemporaryError)
    assert len(server.requests) == 2


def test_a_session_at_a_long_address_is_refused(dialect: Dialect) -> None:
    """Beyond 8 KiB it is no session of Google's: not kept, not masked, never asked."""
    uri = "{url}/session?upload_id=" + "1" * 8200
    answer = says(
        200,
        b"",
        "X-Goog-Upload-Status: active",
        f"Location: {uri}",
        f"X-Goog-Upload-URL: {uri}",
    )
    with scripted(answer) as server:
        bench = Bench(server.url)
        result = bench.send(job(b"data", dialect))
    assert isinstance(result.failure, ProtocolError)
    assert (len(server.requests), bench.reporter.sessions) == (1, [])


def test_a_relative_session_address_belongs_to_the_endpoint(dialect: Dialect) -> None:
    """`/session` and the address without a scheme lead back to the server that named them."""
    name = (
        "Location: /session"
        if dialect == "content-range"
        else "X-Goog-Upload-URL: {host}/session"
    )
    with scripted(b"", finished(dialect)) as server:
        host = server.url.removeprefix("http://")
        server.responses[0] = says(
            200, b"", "X-Goog-Upload-Status: active", name.replace("{host}", host)
        )
        result = Bench(server.url).send(job(b"data", dialect))
    assert (result.error, [one.target for one in server.requests][1]) == (
        "",
        "/session",
    )
