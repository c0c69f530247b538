"""Situations of the X-Goog-Upload dialect in which the status header says more than HTTP's status,
or is missing.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.situations.test_ends import journal
from tests.support.scripted_transport import finished, says, scripted, started, stored
from tests.support.transfer_harness import (
    GRANULE,
    Bench,
    data_of,
    emulated,
    fault,
    job,
    on_disk,
)
from uploader.errors import ApiError, OutcomeUnknown, ProtocolError, TemporaryError
from uploader.services.base import Dialect

B: Dialect = "goog-upload"
DATA = data_of(4 * GRANULE + 5)
STATUS, RECEIVED = "X-Goog-Upload-Status", "X-Goog-Upload-Size-Received"
ACTIVE = f"{STATUS}: active"
LIVES = {STATUS: "active"}
WORDS = b'{"error": {"message": "Offset 7 is not where I am."}}'
CONFLICT = says(409, WORDS, ACTIVE)
AT_ONCE_AND_FOUR_WAITS = [2.0, 4.0, 8.0, 16.0]


@pytest.mark.parametrize("status", [400, 404, 409, 412, 416])
@pytest.mark.parametrize("on", ["goog.upload", "goog.finalize"])
@pytest.mark.parametrize("after", [0, "end"])
def test_a_refused_request_of_a_live_session_is_followed_by_the_query(
    status: int, on: str, after: object
) -> None:
    """The offset is asked at once, without a wait, and the upload goes on in the same session."""
    with emulated(
        fault(on, "status", status=status, headers=LIVES, after=after), chunk=GRANULE
    ) as bench:
        result = bench.send(job(DATA, B))
        assert (result.error, bench.stored(), bench.naps, bench.fired()) == (
            "",
            [DATA],
            [],
            ["status"],
        )
        assert (
            bench.count("goog.start"),
            bench.count("goog.query"),
            result.retries,
        ) == (1, 1, 1)


def test_a_refused_query_of_a_live_session_is_asked_again() -> None:
    """The connection breaks, the query is answered 409: waits of the schedule, and the rest of
    the file.
    """
    refused = fault("goog.query", "status", status=409, headers=LIVES, times=2)
    with emulated(fault("goog.upload", "reset", after=GRANULE), refused) as bench:
        result = bench.send(job(DATA, B))
        assert (result.error, bench.stored(), bench.naps) == (
            "",
            [DATA],
            [1.0, 2.0, 4.0],
        )


@pytest.mark.parametrize("status", [400, 404, 409, 412, 416])
def test_a_live_session_that_takes_nothing_ends_with_the_services_own_words(
    status: int, tmp_path: Path
) -> None:
    """Asked and sent to again and again without progress: exit 4 after `max-retries`, and the
    session is ended.
    """
    broken = fault(
        "goog.upload",
        "status",
        status=status,
        headers=LIVES,
        nth=2,
        times=99,
        message="Not like this.",
    )
    with emulated(broken, chunk=GRANULE, journal=journal(tmp_path)) as bench:
        result = bench.send(job(on_disk(tmp_path, DATA), B))
        assert isinstance(result.failure, ApiError)
        assert (result.failure.status, result.failure.exit_code) == (status, 4)
        assert "Not like this." in result.error
        assert bench.naps == AT_ONCE_AND_FOUR_WAITS
        assert (bench.count("goog.cancel"), bench.stored()) == (1, [])
        assert not list((tmp_path / "state").glob("*.sealed"))


def test_a_server_that_answers_everything_so_is_left() -> None:
    """Chunks and queries alike, for ever: as many requests as retries; what may be finished is
    not cancelled.
    """
    with scripted(started(B), *[CONFLICT] * 99) as server:
        bench = Bench(server.url)
        result = bench.send(job(DATA, B))
    assert isinstance(result.failure, ApiError)
    assert "Offset 7 is not where I am." in result.error
    assert server.lines() == [
        "POST start",
        "POST upload, finalize",
        *["POST query"] * 5,
    ]


def test_trouble_that_comes_last_is_temporary() -> None:
    """A 409 of a live session and then nothing but 503: the service is having problems, and the
    session is kept.
    """
    with scripted(started(B), CONFLICT, *[says(503)] * 99) as server:
        result = Bench(server.url).send(job(DATA, B))
    assert isinstance(result.failure, TemporaryError)
    assert "POST cancel" not in server.lines()


def test_a_live_session_may_not_go_back_twice() -> None:
    """What a 409 says of the offset is not taken; what the query says may go back once."""
    size = 4 * GRANULE
    backwards = says(409, WORDS, ACTIVE, f"{RECEIVED}: 3")
    script = [started(B), stored(B, GRANULE), stored(B, 2 * GRANULE)]
    script += [backwards, stored(B, GRANULE), backwards, stored(B, 0), says(499)]
    with scripted(*script) as server:
        bench = Bench(server.url, chunk=GRANULE)
        result = bench.send(job(bytes(size), B))
    assert isinstance(result.failure, ProtocolError)
    assert [
        one.headers.get("x-goog-upload-offset") for one in server.requests if one.body
    ] == [
        "0",
        str(GRANULE),
        str(2 * GRANULE),
        str(GRANULE),
    ]
    assert len(bench.reporter.warnings) == 1


def test_active_alone_means_that_the_chunk_arrived() -> None:
    """No chunk is followed by a query; the last one is answered `final`."""
    with emulated(
        fault("goog.upload", "drop-header", name=RECEIVED, times=99), chunk=GRANULE
    ) as bench:
        result = bench.send(job(DATA, B))
        assert (result.error, bench.stored(), bench.naps) == ("", [DATA], [])
        assert (result.attempts, bench.count("goog.query"), bench.fired()) == (
            5,
            0,
            ["drop-header"] * 4,
        )


def test_active_alone_that_was_not_true_is_found_by_the_next_chunk() -> None:
    """A part of a chunk was stored: the next one is refused, the query shows it, and every byte
    gets its place.
    """
    data = data_of(2 * GRANULE)
    script = [
        started(B),
        says(200, b"", ACTIVE),
        CONFLICT,
        stored(B, 1000),
        stored(B, 1000 + GRANULE),
        finished(B),
    ]
    with scripted(*script) as server:
        bench = Bench(server.url, chunk=GRANULE)
        result = bench.send(job(data, B))
    assert (result.error, len(bench.reporter.warnings), bench.naps) == ("", 1, [])
    sent = [
        (one.headers["x-goog-upload-offset"], one.body)
        for one in server.requests
        if one.body
    ]
    assert sent[2:] == [
        ("1000", data[1000 : 1000 + GRANULE]),
        (str(1000 + GRANULE), data[1000 + GRANULE :]),
    ]


def test_active_alone_to_the_last_bytes_is_followed_by_the_query() -> None:
    """The upload was to be finished: whether it is, only the server knows."""
    with scripted(
        started(B), says(200, b"", ACTIVE), stored(B, 100), finished(B)
    ) as server:
        result = Bench(server.url).send(job(bytes(100), B))
    assert result.error == ""
    assert server.lines() == [
        "POST start",
        "POST upload, finalize",
        "POST query",
        "POST finalize",
    ]


def test_a_start_without_a_status_is_tried_again() -> None:
    """400 from something that is not the upload service: two waits of the schedule, then the
    upload.
    """
    with emulated(fault("goog.start", "status", status=400, times=2)) as bench:
        result = bench.send(job(DATA, B))
        assert (result.error, bench.stored(), bench.naps) == ("", [DATA], [1.0, 2.0])


def test_a_start_that_stays_without_a_status_ends_with_its_words() -> None:
    """The schedule is the bound; then exit code 4 and what the server said, not a temporary
    failure.
    """
    with emulated(
        fault("goog.start", "status", status=400, times=99, message="No deployment.")
    ) as bench:
        result = bench.send(job(DATA, B))
        assert isinstance(result.failure, ApiError)
        assert (result.failure.exit_code, bench.naps) == (4, [1.0, 2.0, 4.0, 8.0, 16.0])
        assert "No deployment." in result.error


@pytest.mark.parametrize("status", ["final", "active", "cancelled"])
def test_a_start_that_the_upload_service_refuses_is_refused(status: str) -> None:
    """With a status header it is the service's word, and nothing is tried again."""
    refused = fault(
        "goog.start",
        "status",
        status=400,
        headers={STATUS: status},
        message="No deployment.",
    )
    with emulated(refused) as bench:
        result = bench.send(job(DATA, B))
        assert isinstance(result.failure, ApiError)
        assert (bench.naps, bench.count("upload")) == ([], 1)


def test_a_query_whose_answer_has_the_size_alone_goes_on_from_there() -> None:
    """A query's status is missing: nothing has ended, and all that remains goes out in one
    request.
    """
    lost = fault("goog.query", "drop-header", name=STATUS)
    with emulated(fault("goog.upload", "reset", after=GRANULE), lost) as bench:
        result = bench.send(job(DATA, B))
        assert (result.error, bench.stored(), bench.count("goog.query")) == (
            "",
            [DATA],
            1,
        )
        assert (bench.naps, bench.count("goog.upload"), bench.count("goog.cancel")) == (
            [1.0],
            2,
            0,
        )


def test_a_server_that_has_everything_and_never_says_so_leaves_a_doubt() -> None:
    """It tells the size and no status, whatever is finished: exit code 4 after the usual waits, and
    no cancel.
    """
    bare, told = says(200), says(200, b"", f"{RECEIVED}: {len(DATA)}")
    with scripted(started(B), *[bare, told] * 99) as server:
        result = Bench(server.url).send(job(DATA, B, at_most_once=True))
    assert isinstance(result.failure, OutcomeUnknown)
    assert set(server.lines()[2:]) == {"POST query", "POST finalize"}
