"""How uploads end: whole and checked, refused for good, begun again, cancelled, or left for the
next run.
"""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.support.scripted_transport import finished, says, scripted, started, stored
from tests.support.transfer_harness import (
    DIALECTS,
    GRANULE,
    STEPS,
    Bench,
    MemoryJournal,
    RecordingReporter,
    data_of,
    emulated,
    fault,
    job,
)
from uploader.clock import Clock
from uploader.errors import (
    ApiError,
    IntegrityError,
    OutcomeUnknown,
    ProtocolError,
    TemporaryError,
)
from uploader.inputs import JobRun
from uploader.services.base import Dialect
from uploader.state.journal import Journal
from uploader.state.sealed_store import SealedStore

BOTH = pytest.mark.parametrize("dialect", DIALECTS)
DATA = data_of(4 * GRANULE + 5)


@BOTH
@pytest.mark.parametrize("chunk", [None, GRANULE, 3 * GRANULE])
@pytest.mark.parametrize("size", [1, GRANULE - 1, GRANULE, GRANULE + 1, 3 * GRANULE])
def test_an_undisturbed_upload_is_stored_once_and_identical(
    dialect: Dialect, chunk: int | None, size: int
) -> None:
    """Whole or in chunks, at every edge of the granularity: as many requests as chunks, each byte
    once.
    """
    data = data_of(size)
    with emulated(chunk=chunk) as bench:
        result = bench.send(job(data, dialect, metadata={"name": "x"}))
        assert (result.error, bench.stored(), result.bytes_resent) == ("", [data], 0)
        assert result.attempts == (1 if chunk is None else -(-size // chunk))
        assert result.resource["name"] == "x"
        assert (result.bytes, result.bytes_uploaded, bench.reporter.lines[0].ok) == (
            size,
            size,
            True,
        )


@BOTH
@pytest.mark.parametrize(
    "trouble",
    [{"do": "answer-lost"}, {"do": "status-after-effect", "status": 500}],
    ids=str,
)
@pytest.mark.parametrize("chunk", [None, GRANULE])
def test_the_file_is_never_uploaded_a_second_time(
    dialect: Dialect, trouble: dict[str, object], chunk: int | None
) -> None:
    """All bytes were stored and the answer is lost: the query brings the resource, one object
    was made.
    """
    with emulated({"on": STEPS[dialect]["final"], **trouble}, chunk=chunk) as bench:
        result = bench.send(job(DATA, dialect))
        assert (result.error, bench.stored(), result.bytes_resent) == ("", [DATA], 0)
        assert bench.fired() == [trouble["do"]]
        assert (result.id, bench.count(STEPS[dialect]["start"])) == (
            result.resource["id"],
            1,
        )


@BOTH
@pytest.mark.parametrize("status", [404, 410])
@pytest.mark.parametrize("times", [1, 3])
def test_a_lost_session_is_begun_again_from_byte_0(
    dialect: Dialect, status: int, times: int
) -> None:
    """404 and 410 in mid-upload: a new session, at most three times a file; one object is made."""
    with emulated(
        fault(STEPS[dialect]["put"], "session-lost", status=status, nth=2, times=times),
        chunk=2 * GRANULE,
    ) as bench:
        result = bench.send(job(DATA, dialect))
        assert (result.error, bench.stored(), bench.fired()) == (
            "",
            [DATA],
            ["session-lost"] * times,
        )
        assert bench.count(STEPS[dialect]["start"]) == 1 + times


@BOTH
def test_a_session_lost_four_times_is_temporary(dialect: Dialect) -> None:
    """After the third new session the run gives up with exit code 75."""
    with emulated(fault(STEPS[dialect]["put"], "session-lost", times=9)) as bench:
        result = bench.send(job(DATA, dialect))
        assert isinstance(result.failure, TemporaryError)
        assert (bench.count(STEPS[dialect]["start"]), bench.stored()) == (4, [])


@BOTH
def test_a_session_found_lost_by_asking_is_begun_again(dialect: Dialect) -> None:
    """The query itself is answered 404."""
    step = STEPS[dialect]
    with emulated(
        fault(step["put"], "reset", after=GRANULE), fault(step["query"], "session-lost")
    ) as bench:
        result = bench.send(job(DATA, dialect))
        assert (result.error, bench.stored(), bench.fired()) == (
            "",
            [DATA],
            ["reset", "session-lost"],
        )


@BOTH
@pytest.mark.parametrize("chunk", [None, GRANULE])
@pytest.mark.parametrize(
    "trouble",
    [{"do": "answer-lost"}, {"do": "status-after-effect", "status": 500}],
    ids=str,
)
def test_what_may_be_there_is_not_begun_again(
    dialect: Dialect, trouble: dict[str, object], chunk: int | None
) -> None:
    """Everything was sent, the answer was lost, and then the session: a second effect is worse than
    an error.
    """
    step = STEPS[dialect]
    with emulated(
        {"on": step["final"], **trouble},
        fault(step["query"], "session-lost"),
        chunk=chunk,
    ) as bench:
        result = bench.send(job(DATA, dialect, at_most_once=True))
        assert isinstance(result.failure, OutcomeUnknown)
        assert "forgot the upload session" in result.failure.cause
        assert (bench.fired(), bench.stored()) == (
            [trouble["do"], "session-lost"],
            [DATA],
        )
        assert bench.count(step["start"]) == 1


@BOTH
@pytest.mark.parametrize("status", [400, 403, 503])
def test_what_may_be_there_and_nobody_can_ask_is_not_begun_again(
    dialect: Dialect, status: int
) -> None:
    """Everything was sent, the answer was lost, the query has none, and no state is kept for a
    later run to ask.
    """
    step = STEPS[dialect]
    with emulated(
        fault(step["final"], "answer-lost"),
        fault(step["query"], "status", status=status, times=99),
    ) as bench:
        result = bench.send(job(DATA, dialect, at_most_once=True))
        assert isinstance(result.failure, OutcomeUnknown)
        assert (bench.stored(), bench.count(step["start"])) == ([DATA], 1)


@BOTH
@pytest.mark.parametrize("status", [408, 429])
def test_what_was_turned_away_at_the_end_is_begun_again(
    dialect: Dialect, status: int
) -> None:
    """Everything was sent, and the answer says that nothing was done with it: the lost session
    leaves no doubt.
    """
    step = STEPS[dialect]
    turned_away = fault(step["final"], "status", status=status, after="end")
    with emulated(turned_away, fault(step["query"], "session-lost")) as bench:
        result = bench.send(job(DATA, dialect, at_most_once=True))
        assert (result.error, bench.stored(), bench.fired()) == (
            "",
            [DATA],
            ["status", "session-lost"],
        )


@BOTH
def test_a_server_that_holds_a_part_has_ended_the_doubt(dialect: Dialect) -> None:
    """The last request failed, the server held only a part, and the session is lost later: nothing
    is there yet.
    """
    step = STEPS[dialect]
    lost = fault(step["put"], "session-lost", nth=2)
    with emulated(
        fault(step["final"], "reset", after="end", stored=GRANULE), lost
    ) as bench:
        result = bench.send(job(DATA, dialect, at_most_once=True))
        assert (result.error, bench.stored(), bench.fired()) == (
            "",
            [DATA],
            ["reset", "session-lost"],
        )


@BOTH
def test_an_empty_file_is_an_upload_too(dialect: Dialect) -> None:
    """Started, finalised with nothing to send, stored with no bytes."""
    with emulated() as bench:
        result = bench.send(job(b"", dialect))
        assert (result.error, bench.stored()) == ("", [b""])
        assert bench.count(STEPS[dialect]["final"]) == 1


@pytest.mark.parametrize("status", [400, 403, 500, 503])
def test_final_with_an_error_is_the_end(status: int) -> None:
    """The session is called over: the first error is reported, and no 200 that would follow is
    believed.
    """
    with emulated(
        fault("goog.upload", "final-error", status=status, nth=2), chunk=GRANULE
    ) as bench:
        result = bench.send(job(DATA, "goog-upload"))
        assert isinstance(result.failure, ApiError)
        assert (bench.fired(), bench.count("goog"), bench.stored()) == (
            ["final-error"],
            3,
            [],
        )
        assert "The upload has been rejected." in result.error


def test_final_at_the_start_is_a_refusal() -> None:
    """A session that is over before it began was refused, whatever HTTP's status says."""
    refused = says(
        200,
        b'{"error": {"message": "No such deployment."}}',
        "X-Goog-Upload-Status: final",
    )
    with scripted(refused) as server:
        result = Bench(server.url).send(job(DATA, "goog-upload"))
    assert isinstance(result.failure, ApiError)
    assert "No such deployment." in result.error


@BOTH
def test_a_wrong_digest_is_found_when_completion_was_learnt_by_asking(
    dialect: Dialect,
) -> None:
    """The resource that the query brings is checked like any other."""
    step = STEPS[dialect]
    with emulated(
        fault(step["final"], "answer-lost"), fault(step["query"], "wrong-digest")
    ) as bench:
        result = bench.send(job(DATA, dialect))
        assert isinstance(result.failure, IntegrityError)
        assert bench.fired() == ["answer-lost", "wrong-digest"]


@BOTH
def test_an_empty_answer_is_followed_by_the_query(dialect: Dialect) -> None:
    """The resource was lost on the way: asking returns it, and the upload is complete with it."""
    with emulated(fault(STEPS[dialect]["final"], "empty-body")) as bench:
        result = bench.send(job(DATA, dialect))
        assert (result.error, bench.stored(), bench.fired()) == (
            "",
            [DATA],
            ["empty-body"],
        )
        assert result.resource["sha256"] == result.sha256


@BOTH
@pytest.mark.parametrize("body", [b"", b"<html>done</html>", b"[]", b'{"id": '])
def test_success_without_a_resource_is_none(dialect: Dialect, body: bytes) -> None:
    """Asked again the server has no resource to show: not a success, and nothing is cancelled."""
    with scripted(started(dialect), *[finished(dialect, body)] * 3) as server:
        result = Bench(server.url, max_retries=1).send(job(DATA, dialect))
    assert isinstance(result.failure, TemporaryError)
    assert len(server.requests) == 3
    with scripted(started(dialect), *[finished(dialect, body)] * 3) as server:
        result = Bench(server.url, max_retries=1).send(
            job(DATA, dialect, at_most_once=True)
        )
    assert isinstance(result.failure, OutcomeUnknown)


@BOTH
@pytest.mark.parametrize("body", [b"", b"<html>done</html>", b"{}"])
def test_one_nonsensical_answer_to_the_query_is_asked_about_again(
    dialect: Dialect, body: bytes
) -> None:
    """A proxy's page, an empty object or nothing may come between; the next answer settles it."""
    with scripted(
        started(dialect),
        finished(dialect, body),
        finished(dialect, body),
        finished(dialect),
    ) as server:
        result = Bench(server.url).send(
            job(DATA, dialect, id_promised=True, at_most_once=True)
        )
    assert (result.error, result.id, len(server.requests)) == ("", "1", 4)


@BOTH
@pytest.mark.parametrize("body", [b"", b"<html>done</html>", b"{}"])
def test_nonsense_about_what_was_sent_whole_leaves_it_in_doubt(
    dialect: Dialect, body: bytes
) -> None:
    """Nobody knows whether a mail is out: the error never says that the run may simply be
    repeated.
    """
    with scripted(started(dialect), *[finished(dialect, body)] * 99) as server:
        bench = Bench(server.url, max_retries=2, journal=MemoryJournal())
        result = bench.send(job(DATA, dialect, id_promised=True, at_most_once=True))
    assert isinstance(result.failure, OutcomeUnknown)
    assert "Check whether the service has it before you run again" in result.error
    assert "continues" not in result.error


@BOTH
@pytest.mark.parametrize("body", [b"{}", b'{"id": ""}', b'{"id": null, "kind": "x"}'])
def test_a_success_without_the_promised_id_is_asked_again(
    dialect: Dialect, body: bytes
) -> None:
    """The offset query returns the resource that an answer left out; one without it is repeated."""
    with scripted(
        started(dialect), finished(dialect, body), finished(dialect)
    ) as server:
        result = Bench(server.url).send(job(DATA, dialect, id_promised=True))
        assert (result.error, result.id, len(server.requests)) == ("", "1", 3)
    with scripted(started(dialect), *[finished(dialect, body)] * 3) as server:
        result = Bench(server.url, max_retries=1).send(
            job(DATA, dialect, id_promised=True)
        )
        assert isinstance(result.failure, TemporaryError)
        assert not result.id


@BOTH
def test_where_bodies_may_be_empty_an_empty_one_is_success(dialect: Dialect) -> None:
    """The OTA service answers 200 without a body."""
    with scripted(started(dialect), finished(dialect, b"")) as server:
        result = Bench(server.url).send(job(DATA, dialect, empty_response=True))
    assert (result.error, len(server.requests)) == ("", 2)


@BOTH
def test_success_while_the_body_is_on_its_way_is_not_believed(dialect: Dialect) -> None:
    """A 200 in the middle of the body can't be about the whole of it: the server is asked what it
    holds.
    """
    early = says(200, b'{"id": "1"}', "X-Goog-Upload-Status: final")
    with scripted(
        started(dialect), lambda peer: peer.sendall(early), says(404), says(400)
    ) as server:
        result = Bench(server.url).send(job(bytes(24 << 20), dialect))
    assert result.error
    assert server.lines()[2] in {f"PUT bytes */{24 << 20}", "POST query"}


@BOTH
@pytest.mark.parametrize("lie", ["complete", "range beyond"])
def test_after_a_rewind_only_what_was_sent_since_counts(
    dialect: Dialect, lie: str
) -> None:
    """Everything was sent once, then the server held nothing: a success or a count that skips the
    rest is a lie.
    """
    size = 20 << 20
    response = finished(dialect) if lie == "complete" else stored(dialect, size - 1)
    # The documents of the one dialect send all that remains a second time before `auto` goes on in
    # chunks.
    broken = [says(503), stored(dialect, 0)] * (2 if dialect == "goog-upload" else 1)
    with scripted(started(dialect), *broken, response, says(499)) as server:
        result = Bench(server.url).send(job(bytes(size), dialect))
    assert isinstance(result.failure, ProtocolError)
    assert not server.responses, "the session was given up"


@BOTH
def test_a_server_that_repeats_the_session_uri_reveals_nothing(
    dialect: Dialect,
) -> None:
    """Some errors and resources hold the request's own address; whoever reads it could write into
    the session.
    """
    echo = (
        b'{"error": {"code": 400, "message": "Bad request for %s"}}'
        % b"/s/SECRET-SESSION?upload_id=SECRET-ID"
    )
    uri = "{url}/s/SECRET-SESSION?upload_id=SECRET-ID"
    start = says(
        200,
        b"",
        f"Location: {uri}",
        "X-Goog-Upload-Status: active",
        f"X-Goog-Upload-URL: {uri}",
    )
    with scripted(start, says(400, echo)) as server:
        result = Bench(server.url).send(job(DATA, dialect))
    assert isinstance(result.failure, ApiError)
    assert "SECRET" not in result.error + str(result.failure.body)


@BOTH
@pytest.mark.parametrize(
    ("body", "whole"),
    [
        (b'{"id": "1", "size": "5"}', False),
        (b'{"id": "1", "size": 1048581}', True),
        (b'{"id": "1", "size": "?"}', True),
    ],
)
def test_a_size_that_the_service_states_is_checked(
    dialect: Dialect, body: bytes, whole: bool
) -> None:
    """A resource that is shorter than the file is damage, even where no digest says so."""
    with scripted(started(dialect), finished(dialect, body)) as server:
        result = Bench(server.url).send(job(DATA, dialect))
    assert (not result.error) is whole
    assert whole or isinstance(result.failure, IntegrityError)


@BOTH
def test_a_failing_cancel_does_not_hide_the_cause(dialect: Dialect) -> None:
    """What ended the upload is reported, whatever becomes of the cancellation afterwards."""
    step = STEPS[dialect]
    with emulated(
        fault(step["put"], "range-beyond"),
        fault(step["cancel"], "reset"),
        chunk=GRANULE,
    ) as bench:
        assert isinstance(bench.send(job(DATA, dialect)).failure, ProtocolError)
        assert bench.fired() == ["range-beyond", "reset"]


def journal(folder: Path) -> Journal:
    """The journal that a run and the next one share."""
    store = SealedStore(
        folder / "state",
        b"lasting secret",
        "a@example.com",
        Clock(time.sleep),
        RecordingReporter(),
    )
    return Journal(store, JobRun("run"))
