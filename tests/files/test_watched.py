"""A file that is not read any more once the run is to end."""

from __future__ import annotations

import io
import signal
import zipfile
from dataclasses import dataclass

import pytest

from uploader.cancellation import Cancellation
from uploader.errors import Interrupted
from uploader.files.watched import Watched


@dataclass(frozen=True)
class Memory:
    """A file in memory."""

    data: bytes
    name: str = "base.apk"

    def reader(self) -> io.BufferedReader:
        return io.BufferedReader(io.BytesIO(self.data))


def test_it_reads_like_the_file() -> None:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("assets/data.bin", bytes(range(256)) * 1000)
    watched = Watched(Memory(content.getvalue()), Cancellation().check)
    assert watched.name == "base.apk"
    with watched.reader() as file, zipfile.ZipFile(file) as archive:
        assert archive.read("assets/data.bin") == bytes(range(256)) * 1000


def test_it_is_not_read_on_after_a_signal() -> None:
    cancellation = Cancellation()
    with Watched(Memory(bytes(1 << 20)), cancellation.check).reader() as file:
        assert len(file.read(1000)) == 1000
        cancellation.cancel(signal.SIGTERM)
        with pytest.raises(Interrupted):
            file.read()
