"""Situations in which only the server knows how far an upload came: it is asked, and its word alone
counts.
"""

from __future__ import annotations

import os

import pytest

from google_emulator import Emulator
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
from uploader.errors import ProtocolError, TemporaryError
from uploader.protocol.session import AUTO_CHUNK
from uploader.services.base import Dialect
from uploader.text import format_size

BOTH = pytest.mark.parametrize("dialect", DIALECTS)
DATA = data_of(4 * GRANULE + 5)
RECEIVED = "X-Goog-Upload-Size-Received"


@BOTH
@pytest.mark.parametrize("kept", [0, 43, GRANULE, 3 * GRANULE + 1])
def test_a_connection_that_breaks_is_followed_by_the_query(
    dialect: Dialect, kept: int
) -> None:
    """One wait, one query, and the rest from exactly where the server stands."""
    with emulated(
        fault(STEPS[dialect]["put"], "reset", after=4 * GRANULE, stored=kept)
    ) as bench:
        result = bench.send(job(DATA, dialect))
        assert (result.error, bench.stored(), bench.naps) == ("", [DATA], [1.0])
        assert (bench.fired(), bench.count(STEPS[dialect]["query"])) == (["reset"], 1)
        assert bench.state()["sessions"][0]["bytes_repeated"] == 0
        assert any(
            f"holds {format_size(kept)} of" in text for text in bench.reporter.infos
        )


@BOTH
@pytest.mark.parametrize("nth", [1, 2, 3])
def test_a_chunk_that_breaks_is_not_resent_blindly(dialect: Dialect, nth: int) -> None:
    """The chunk was stored and its answer lost: the next request is the query, not the chunk
    again.
    """
    with emulated(
        fault(STEPS[dialect]["put"], "answer-lost", nth=nth), chunk=GRANULE
    ) as bench:
        result = bench.send(job(DATA, dialect))
        assert (result.error, bench.stored(), bench.fired()) == (
            "",
            [DATA],
            ["answer-lost"],
        )
        assert (
            result.attempts,
            result.bytes_resent,
            bench.count(STEPS[dialect]["query"]),
        ) == (
            5,
            0,
            1,
        )


@BOTH
@pytest.mark.parametrize("status", [500, 503])
def test_an_error_in_the_middle_of_a_body_is_read(
    dialect: Dialect, status: int
) -> None:
    """The answer is read behind the body, and the upload goes on where the server stands."""
    data = os.urandom(24 << 20)
    with emulated(
        fault(
            STEPS[dialect]["put"], "status", after=GRANULE, status=status, retry_after=7
        )
    ) as bench:
        result = bench.send(job(data, dialect))
        assert (result.error, bench.stored() == [data], bench.fired()) == (
            "",
            True,
            ["status"],
        )
        assert bench.naps == ([7.0] if status == 503 else [1.0])
        assert result.timeline[0].text != f"{len(data)} bytes from 0"


@BOTH
def test_a_refusal_in_the_middle_of_a_body_is_the_end(dialect: Dialect) -> None:
    """A 403 that comes while the body is being sent is reported in the server's words."""
    with emulated(
        fault(
            STEPS[dialect]["put"], "status", after=GRANULE, status=403, message="Quota."
        )
    ) as bench:
        result = bench.send(job(os.urandom(24 << 20), dialect))
        assert "Quota." in result.error
        assert (bench.naps, bench.stored(), result.attempts) == ([], [], 1)


@BOTH
def test_a_lost_error_is_revealed_by_the_query(dialect: Dialect) -> None:
    """The connection broke under the answer: the query shows the cause, and the run ends with
    it.
    """
    refused = fault(STEPS[dialect]["query"], "status", status=403, message="Suspended.")
    with emulated(
        fault(STEPS[dialect]["put"], "reset", after=GRANULE), refused
    ) as bench:
        result = bench.send(job(DATA, dialect))
        assert "Suspended." in result.error
        assert (bench.fired(), bench.stored()) == (["reset", "status"], [])


def test_308_without_a_range_to_a_chunk_asks() -> None:
    """The chunk was stored; the silence about it costs a query and no bytes."""
    with emulated(fault("resumable.put", "no-range", nth=2), chunk=GRANULE) as bench:
        result = bench.send(job(DATA))
        assert (result.error, bench.stored(), bench.fired()) == (
            "",
            [DATA],
            ["no-range"],
        )
        assert (result.bytes_resent, bench.count("resumable.query"), bench.naps) == (
            0,
            1,
            [],
        )


def test_308_without_a_range_to_the_query_means_nothing_is_stored() -> None:
    """The upload begins at byte 0 again, in the same session."""
    with emulated(fault("resumable.put", "reset", after=GRANULE, stored=0)) as bench:
        result = bench.send(job(DATA))
        assert (result.error, bench.stored(), bench.count("resumable.start")) == (
            "",
            [DATA],
            1,
        )
        assert any("holds 0 B of" in text for text in bench.reporter.infos)


def test_a_server_that_never_tells_the_range_is_given_up() -> None:
    """Without any offset there is no progress: the budget ends it."""
    with emulated(fault("resumable", "no-range", times=1000), chunk=GRANULE) as bench:
        result = bench.send(job(DATA))
        assert result.failure is not None
        assert bench.stored() == []
        assert bench.count("upload") < 20


@BOTH
@pytest.mark.parametrize("kept", [43, GRANULE - 1])
def test_a_chunk_stored_in_part_is_continued_at_the_servers_offset(
    dialect: Dialect, kept: int
) -> None:
    """The server's offset is no multiple of anything; lengths stay multiples of 256 KiB, and there
    is no hole.
    """
    with emulated(
        fault(STEPS[dialect]["put"], "short-store", stored=kept, nth=2), chunk=GRANULE
    ) as bench:
        result = bench.send(job(DATA, dialect))
        assert (result.error, bench.stored(), bench.fired()) == (
            "",
            [DATA],
            ["short-store"],
        )
        assert result.bytes_resent == GRANULE - kept


@BOTH
def test_a_server_that_takes_little_each_time_is_not_sent_everything_each_time(
    dialect: Dialect,
) -> None:
    """After a partial store `auto` goes on in chunks: what is sent again stays in proportion."""
    data = os.urandom(20 << 20)
    with emulated(
        fault(STEPS[dialect]["put"], "short-store", stored=GRANULE, times=4)
    ) as bench:
        result = bench.send(job(data, dialect))
        assert (result.error, bench.stored() == [data], bench.fired()) == (
            "",
            True,
            ["short-store"] * 4,
        )
        # whose documents send all that remains, once more
        whole = 2 if dialect == "goog-upload" else 1
        assert result.bytes_resent <= whole * len(data) + 4 * AUTO_CHUNK


@BOTH
@pytest.mark.parametrize("kind", ["short-store", "reset"])
def test_a_server_that_keeps_one_byte_of_each_request_is_given_up(
    dialect: Dialect, kind: str
) -> None:
    """Such progress would end only after as many requests as the file has bytes."""
    with emulated(
        fault(STEPS[dialect]["put"], kind, stored=1, times=1000), chunk=GRANULE
    ) as bench:
        result = bench.send(job(DATA, dialect))
        assert (isinstance(result.failure, TemporaryError), bench.stored()) == (
            True,
            [],
        )
        assert bench.count("upload") < 20


@BOTH
def test_an_offset_that_goes_back_is_accepted_once_with_a_warning(
    dialect: Dialect,
) -> None:
    """The server really lost bytes: they are sent again, and people hear of it."""
    with emulated(
        fault(STEPS[dialect]["put"], "range-backward", to=GRANULE, nth=3), chunk=GRANULE
    ) as bench:
        result = bench.send(job(DATA, dialect))
        assert (result.error, bench.stored(), bench.fired()) == (
            "",
            [DATA],
            ["range-backward"],
        )
        assert len(bench.reporter.warnings) == 1
        assert "went back" in bench.reporter.warnings[0]
        assert result.bytes_resent == 2 * GRANULE


@BOTH
def test_an_offset_that_goes_back_again_is_a_protocol_error(dialect: Dialect) -> None:
    """A server that loses bytes time after time is not trusted with a release; the session is
    cancelled.
    """
    step = STEPS[dialect]
    back = [
        fault(step["put"], "range-backward", to=GRANULE, nth=3),
        fault(step["put"], "range-backward", to=0, nth=5),
    ]
    with emulated(*back, chunk=GRANULE) as bench:
        result = bench.send(job(DATA, dialect))
        assert isinstance(result.failure, ProtocolError)
        assert (bench.fired(), bench.stored(), bench.count(step["cancel"])) == (
            ["range-backward"] * 2,
            [],
            1,
        )


@BOTH
def test_an_offset_beyond_what_was_sent_is_a_protocol_error(dialect: Dialect) -> None:
    """To believe it would leave a hole; the session is cancelled and nothing is finished."""
    with emulated(
        fault(STEPS[dialect]["put"], "range-beyond", by=1), chunk=GRANULE
    ) as bench:
        result = bench.send(job(DATA, dialect))
        assert isinstance(result.failure, ProtocolError)
        assert (bench.fired(), bench.stored()) == (["range-beyond"], [])
        assert bench.state()["sessions"][0]["state"] == "cancelled"


@pytest.mark.parametrize("start", [1, 42])
def test_a_range_that_does_not_begin_at_0_is_a_protocol_error(start: int) -> None:
    """Bytes 1 to 42 are no prefix of the file."""
    with emulated(
        fault("resumable.put", "range-from", start=start), chunk=GRANULE
    ) as bench:
        result = bench.send(job(DATA))
        assert isinstance(result.failure, ProtocolError)
        assert (bench.fired(), bench.stored(), bench.count("resumable.cancel")) == (
            ["range-from"],
            [],
            1,
        )


@BOTH
def test_success_before_the_end_is_a_protocol_error(dialect: Dialect) -> None:
    """A server that calls the upload complete after its first chunk has not got the file."""
    with scripted(started(dialect), finished(dialect), says(499)) as server:
        result = Bench(server.url, chunk=GRANULE).send(job(DATA, dialect))
    assert isinstance(result.failure, ProtocolError)
    assert server.lines()[-1] in {"DELETE", "POST cancel"}


def test_308_with_a_location_is_no_redirect() -> None:
    """The next chunk goes to the session, not to the address beside the Range."""
    with emulated(
        fault("resumable.put", "redirect-308", times=4), chunk=GRANULE
    ) as bench:
        result = bench.send(job(DATA))
        assert (result.error, bench.stored(), bench.fired()) == (
            "",
            [DATA],
            ["redirect-308"] * 4,
        )
        assert bench.count("any") == 6


@BOTH
def test_a_query_that_a_proxy_answered_is_repeated(dialect: Dialect) -> None:
    """200 with a page is not the service's answer: nothing is concluded from it, and it is asked
    again.
    """
    broken, lost = (
        fault(STEPS[dialect]["put"], "reset", after=GRANULE),
        fault(STEPS[dialect]["query"], "html"),
    )
    with emulated(broken, lost) as bench:
        assert (bench.send(job(DATA, dialect)).error, bench.stored()) == ("", [DATA])
        assert (bench.fired(), bench.naps) == (["reset", "html"], [1.0, 2.0])
    with emulated(broken, {**lost, "times": 99}) as bench:
        assert isinstance(bench.send(job(DATA, dialect)).failure, TemporaryError)
        assert bench.stored() == []


def test_a_query_without_a_size_is_a_protocol_error() -> None:
    """`active` alone does not say where to go on."""
    lost = fault("goog.query", "drop-header", name=RECEIVED)
    with emulated(fault("goog.upload", "reset", after=GRANULE), lost) as bench:
        assert isinstance(bench.send(job(DATA, "goog-upload")).failure, ProtocolError)
        assert bench.stored() == []


@BOTH
@pytest.mark.parametrize("status", [500, 502, 503, 504])
def test_a_proxys_page_is_a_broken_connection(dialect: Dialect, status: int) -> None:
    """An HTML page with a 5xx says nothing of the session: wait, ask, go on."""
    with emulated(
        fault(STEPS[dialect]["put"], "html", status=status, nth=2), chunk=GRANULE
    ) as bench:
        result = bench.send(job(DATA, dialect))
        assert (result.error, bench.stored(), bench.naps) == ("", [DATA], [1.0])
        assert (bench.fired(), result.bytes_resent) == (["html"], 0)


def test_a_chunk_answered_without_a_status_is_followed_by_the_query() -> None:
    """A page with 200 in place of the service's answer does not move the upload; the query
    does.
    """
    with emulated(
        fault("goog.upload", "html", status=200, nth=2), chunk=GRANULE
    ) as bench:
        result = bench.send(job(DATA, "goog-upload"))
        assert (result.error, bench.stored(), bench.fired(), result.bytes_resent) == (
            "",
            [DATA],
            ["html"],
            0,
        )


@pytest.mark.parametrize("granularity", [1000, 3 * GRANULE, 1 << 20])
def test_the_servers_granularity_is_kept(granularity: int) -> None:
    """What the start of a session announces is the measure of every chunk, in interruptions too."""
    broken = fault("goog.upload", "reset", after=GRANULE, stored=43)
    with Emulator([broken], config={"granularity": granularity}) as emulator:
        bench = Bench(emulator, chunk=512 * 1024)
        result = bench.send(job(DATA, "goog-upload"))
        assert (result.error, bench.stored(), bench.fired()) == ("", [DATA], ["reset"])


@BOTH
def test_after_a_retreat_every_chunk_is_progress(dialect: Dialect) -> None:
    """Eleven chunks are sent a second time without a fault: that is no trouble, and costs no wait
    of the budget.
    """
    data = data_of(14 * GRANULE)
    with emulated(
        fault(STEPS[dialect]["put"], "range-backward", to=0, nth=11), chunk=GRANULE
    ) as bench:
        result = bench.send(job(data, dialect))
        assert (result.error, bench.stored(), bench.naps) == ("", [data], [])
