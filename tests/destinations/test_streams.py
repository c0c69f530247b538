"""Bytes whose number nobody knows beforehand: standard input and named pipes, through every kind of
fault.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import pytest

from tests.destinations.conftest import Begin
from tests.support.destination_runs import sha256
from tests.support.destinations import MIB, PLACES, noise
from tests.support.job import Job

pytestmark = pytest.mark.slow

CHUNK = 512 * 1024
STORAGE = {
    "target": "storage.objects.insert",
    "params": "bucket: b",
    "chunk-size": str(CHUNK),
}
STORM: list[dict[str, Any]] = [
    {
        "on": "resumable.put",
        "do": "status",
        "status": 503,
        "nth": 2,
        "after": CHUNK // 2,
        "retry_after": 0,
    },
    {"on": "resumable.put", "do": "reset", "nth": 4, "after": CHUNK // 2},
    {"on": "resumable.final", "do": "answer-lost"},
]


def _pour(into: IO[bytes], content: bytes) -> None:
    with suppress(BrokenPipeError), into:  # a run that gives up stops reading
        into.write(content)


@contextmanager
def poured(content: bytes) -> Iterator[int]:
    """The reading end of a pipe into which somebody writes."""
    read, write = os.pipe()
    writer = threading.Thread(target=_pour, args=(os.fdopen(write, "wb"), content))
    writer.start()
    try:
        yield read
    finally:
        os.close(read)
        writer.join()


@contextmanager
def named_pipe(path: Path, content: bytes) -> Iterator[None]:
    """A named pipe into which somebody writes as soon as it is read."""
    os.mkfifo(path)
    writer = threading.Thread(target=lambda: _pour(path.open("wb"), content))
    writer.start()
    yield
    writer.join()


def objects(job: Job) -> dict[str, dict[str, Any]]:
    """What is stored, by name."""
    return {one["resource"]["name"]: one for one in job.emulator.state()["objects"]}


@pytest.mark.parametrize("name", ["cloud-storage", "youtube"])
def test_a_stream_survives_a_503_a_reset_and_a_lost_answer(
    begin: Begin, name: str
) -> None:
    """A stream has no second reading, yet nothing is missing, doubled or out of order after three
    faults.
    """
    job, content = begin(*STORM), noise(3 * MIB + 5)
    with poured(content) as stdin:
        ended = replace(job, stdin=stdin).run(
            {**PLACES[name].inputs, "files": "-", "chunk-size": str(CHUNK)}
        )
    assert ended.code == 0, ended.log
    state = job.emulator.state()
    assert [receipt["do"] for receipt in state["faults"]["fired"]] == [
        "status",
        "reset",
        "answer-lost",
    ]
    [stored] = state["objects"]
    assert (stored["size"], stored["sha256"]) == (len(content), sha256(content))
    [result] = ended.results
    assert (result["bytes"], result["sha256"]) == (len(content), sha256(content))
    assert ended.outputs["bytes-uploaded"] == str(len(content))


def test_named_pipes_and_standard_input_go_side_by_side(job: Job) -> None:
    """Each stream of one run is read by itself, and the results keep the order of `files`."""
    contents = {"-": noise(MIB), "a.pipe": noise(MIB + 1), "b.pipe": noise(MIB + 2)}
    with (
        poured(contents["-"]) as stdin,
        named_pipe(job.workspace / "a.pipe", contents["a.pipe"]),
        named_pipe(job.workspace / "b.pipe", contents["b.pipe"]),
    ):
        ended = replace(job, stdin=stdin).run({**STORAGE, "files": "b.pipe\n-\na.pipe"})
    assert ended.code == 0, ended.log
    assert [result["path"] for result in ended.results] == ["b.pipe", "-", "a.pipe"]
    stored = objects(job)
    assert {name: one["sha256"] for name, one in stored.items()} == {
        name: sha256(content) for name, content in contents.items()
    }


def test_a_stream_that_broke_off_keeps_nothing_for_a_next_run(job: Job) -> None:
    """No run could go on in it, so none is promised and no record stays."""
    job.emulator.add_fault("resumable.put", "status", status=503, nth=2)
    job.emulator.add_fault("resumable.query", "status", status=503)
    with poured(noise(3 * MIB)) as stdin:
        given = {
            **STORAGE,
            "files": "-",
            "chunk-size": "1MiB",
            "max-retries": "1",
            "state-dir": "state",
        }
        ended = replace(job, stdin=stdin).run(given)
    assert ended.code == 75, ended.log
    assert "The next run continues the upload" not in ended.log
    assert not list((job.workspace / "state").iterdir())


@pytest.mark.parametrize(
    "begun", [b"", bytes(700_000)], ids=["from its start", "in the middle"]
)
def test_a_writer_that_says_nothing_ends_the_run(job: Job, begun: bytes) -> None:
    """A command that hangs is told by `stall-timeout`; what it wrote before is not finished as if
    it were all.
    """
    read, write = os.pipe()
    writer = threading.Thread(target=os.write, args=(write, begun))
    writer.start()
    running = replace(job, stdin=read).start(
        {**STORAGE, "files": "-", "stall-timeout": "1s"}
    )
    ended = running.end()
    writer.join()
    os.close(write)
    os.close(read)
    assert (ended.code, ended.outputs["failure"]) == (5, "stream-silent"), ended.log
    assert "The stream - has sent nothing for 1 s" in ended.log
    assert "`stall-timeout`" in ended.log
    assert not job.emulator.state()["objects"]


def test_a_named_pipe_whose_writer_hangs_ends_the_run(job: Job) -> None:
    """Somebody has opened it and writes nothing."""
    path = job.workspace / "a.pipe"
    os.mkfifo(path)
    running = job.start({**STORAGE, "files": "a.pipe", "stall-timeout": "1s"})
    with path.open("wb"):
        ended = running.end()
    assert (ended.code, ended.outputs["failure"]) == (5, "stream-silent"), ended.log


def test_a_long_stream_takes_no_more_memory_than_a_short_one(job: Job) -> None:
    """What is held of a stream is what the server has not confirmed, however much comes."""
    peaks = []
    for size in (MIB, 96 * MIB):
        content = bytes(size)
        with poured(content) as stdin:
            fresh = replace(job, stdin=stdin, fresh=True)
            ended = fresh.run({**STORAGE, "files": "-", "chunk-size": "1MiB"})
        assert ended.code == 0, ended.log
        peaks.append(ended.peak)
        assert objects(job)["-"]["size"] == size
    assert peaks[1] < peaks[0] + 16 * MIB
