"""A pipe that is read with a clock in the test's hand: how long its writer may say nothing."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from uploader.clock import Clock
from uploader.errors import IntegrityError, Interrupted
from uploader.files.artifacts import Artifact, identity
from uploader.http.messages import Span
from uploader.upload.sources import StreamSource

TIMEOUT = 60.0  # seconds


class Silence:
    """A clock that moves only while the pipe is silent; `meanwhile` happens at each of the looks in
    between.
    """

    def __init__(self, meanwhile: Callable[[], object], seconds: float) -> None:
        self.now = 0.0
        self._meanwhile = meanwhile
        self._seconds = seconds

    def clock(self) -> Clock:
        return Clock(self._sleep, lambda: self.now)

    def _sleep(self, _: float) -> None:
        self.now += self._seconds
        self._meanwhile()


@contextmanager
def pipe(folder: Path) -> Iterator[tuple[Artifact, int]]:
    """A named pipe with a byte in it, and the end into which the test writes."""
    path = folder / "pipe"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    writer = os.open(path, os.O_WRONLY)
    os.write(writer, b"x")
    try:
        yield Artifact("pipe", str(path), None, identity(path.stat())), writer
    finally:
        os.close(reader)
        os.close(writer)


def test_a_writer_that_says_nothing_is_given_up(tmp_path: Path) -> None:
    """After `stall-timeout` without a byte, and not before."""
    silence = Silence(lambda: None, 20.0)
    with (
        pipe(tmp_path) as (artifact, _),
        StreamSource(artifact, silence.clock(), TIMEOUT) as source,
        pytest.raises(IntegrityError) as caught,
    ):
        source.available(Span(0, 100))
    assert (caught.value.code, silence.now) == ("stream-silent", TIMEOUT)


def test_a_slow_writer_is_waited_for(tmp_path: Path) -> None:
    """Each byte begins the time anew."""
    with pipe(tmp_path) as (artifact, writer):
        silence = Silence(lambda: os.write(writer, b"x"), 50.0)
        with StreamSource(artifact, silence.clock(), TIMEOUT) as source:
            assert source.available(Span(0, 9)) == (Span(0, 9), False)
    assert silence.now > 5 * TIMEOUT


def test_a_signal_ends_the_wait_for_a_writer(tmp_path: Path) -> None:
    """The sleep between two looks is where the run hears of it."""

    def stop() -> None:
        raise Interrupted(15)

    with (
        pipe(tmp_path) as (artifact, _),
        StreamSource(artifact, Silence(stop, 0.0).clock(), TIMEOUT) as source,
        pytest.raises(Interrupted),
    ):
        source.available(Span(0, 100))
