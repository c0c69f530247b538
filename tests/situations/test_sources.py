"""Situations of the bytes themselves: streams whose end nobody knows, and files that change while
they are sent.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.scripted_transport import finished, scripted, silent, started, stored
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
from uploader.errors import TemporaryError
from uploader.files.artifacts import Artifact, identity
from uploader.services.base import Dialect

pytestmark = pytest.mark.parametrize("dialect", DIALECTS)
DATA = data_of(4 * GRANULE + 5)


@contextmanager
def pipe(folder: Path, data: bytes) -> Iterator[Artifact]:
    """A named pipe out of which `data` comes."""
    path = folder / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=_fill, args=(path, data))
    writer.start()
    try:
        yield Artifact("pipe", str(path), None, identity(path.stat()))
    finally:
        writer.join()


def _fill(path: Path, data: bytes) -> None:
    with path.open("wb") as file:
        try:
            file.write(data)
        except BrokenPipeError:
            return


@pytest.mark.parametrize("size", [0, 1, GRANULE, 2 * GRANULE, 4 * GRANULE + 5])
@pytest.mark.parametrize("chunk", [None, GRANULE])
def test_a_stream_of_unknown_size_arrives_whole(
    dialect: Dialect, size: int, chunk: int | None, tmp_path: Path
) -> None:
    """Whatever its length, also nothing at all and exactly one chunk, it is stored once and
    identical.
    """
    data = data_of(size)
    with emulated(chunk=chunk) as bench, pipe(tmp_path, data) as stream:
        result = bench.send(job(stream, dialect))
        assert (result.error, bench.stored(), result.bytes) == ("", [data], size)
        assert result.resource["sha256"] == result.sha256


def test_a_stream_says_its_size_with_its_last_bytes(
    dialect: Dialect, tmp_path: Path
) -> None:
    """No length at the start, `*` for the total until the end is seen, and then the total."""
    responses = [started(dialect), stored(dialect, GRANULE), finished(dialect)]
    with scripted(*responses) as server, pipe(tmp_path, data_of(GRANULE + 5)) as stream:
        assert Bench(server.url, chunk=GRANULE).send(job(stream, dialect)).error == ""
    assert (
        not {"x-upload-content-length", "x-goog-upload-header-content-length"}
        & server.requests[0].headers.keys()
    )
    assert server.lines()[1:] == (
        [
            f"PUT bytes 0-{GRANULE - 1}/*",
            f"PUT bytes {GRANULE}-{GRANULE + 4}/{GRANULE + 5}",
        ]
        if dialect == "content-range"
        else ["POST upload", "POST upload, finalize"]
    )


@pytest.mark.parametrize("nth", [1, 3, 5])
def test_a_stream_survives_an_interruption(
    dialect: Dialect, nth: int, tmp_path: Path
) -> None:
    """What the server has not confirmed is still held: it is sent again from the server's
    offset.
    """
    broken = fault(STEPS[dialect]["put"], "reset", after="end", stored=43, nth=nth)
    with emulated(broken, chunk=GRANULE) as bench, pipe(tmp_path, DATA) as stream:
        result = bench.send(job(stream, dialect))
        assert bench.fired() == ["reset"]
        assert (result.error, bench.stored()) == ("", [DATA])


def test_a_stream_is_asked_about_without_a_total(
    dialect: Dialect, tmp_path: Path
) -> None:
    """`*/*`: a query with the total could finish an upload, so the total is left out even when the
    end was seen.
    """
    responses = (started(dialect), silent, stored(dialect, 5), finished(dialect))
    with scripted(*responses) as server, pipe(tmp_path, b"0123456789") as stream:
        assert Bench(server.url).send(job(stream, dialect)).error == ""
    assert server.lines()[2] == (
        "PUT bytes */*" if dialect == "content-range" else "POST query"
    )
    assert server.requests[3].body == b"56789"


def test_a_stream_that_would_have_to_be_read_again_is_a_temporary_failure(
    dialect: Dialect, tmp_path: Path
) -> None:
    """The session was lost after bytes had left the pipe: nobody has them any more, and people are
    told.
    """
    with (
        emulated(
            fault(STEPS[dialect]["put"], "session-lost", nth=3), chunk=GRANULE
        ) as bench,
        pipe(tmp_path, DATA) as stream,
    ):
        result = bench.send(job(stream, dialect))
        assert isinstance(result.failure, TemporaryError)
        assert "second time" in result.error
        assert bench.stored() == []
