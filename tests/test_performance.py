"""The hottest paths stay cheap: counted calls, and ratios inside one run, which a busy machine does not change."""

from __future__ import annotations

import hashlib
import os
import socket
import subprocess
import sys
import time
import tracemalloc
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from tests.support.raw_server import read_request, response, serving
from tests.support.transfer_harness import Bench, job, on_disk
from uploader.files.artifacts import find, from_path
from uploader.files.workspace import Workspace
from uploader.http.messages import Span
from uploader.transfer.file_source import BLOCK, FileSource

MIB = 1 << 20
ENTRYPOINT = Path(__file__).resolve().parent.parent / "entrypoint.py"


def calls(work: Callable[[], Any]) -> Counter[str]:
    """How often each function, of Python's or of C's, was called in this thread."""
    seen: Counter[str] = Counter()

    def note(frame: FrameType, event: str, argument: Any) -> None:
        if event == "call":
            seen[frame.f_code.co_name] += 1
        elif event == "c_call":
            seen[argument.__name__] += 1

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return seen


def cpu(work: Callable[[], Any], times: int = 5) -> float:
    """Processor seconds of this process, the least of several runs."""
    spent = []
    for _ in range(times):
        began = time.process_time()
        work()
        spent.append(time.process_time() - began)
    return min(spent)


def swallow(connection: socket.socket) -> None:
    """Takes one request and answers as a service that has stored it."""
    head, _ = read_request(connection)
    location = b"uploadType=resumable" in head
    headers = ["Location: /session"] if location else []
    connection.sendall(response(200, b"" if location else b'{"id": "1"}', "Connection: close", *headers))


def test_a_block_on_its_way_costs_a_bounded_number_of_calls(tmp_path: Path) -> None:
    """From the disk to the socket a block passes some forty functions, and each is read, looked at and sent once."""

    def sending(blocks: int) -> Counter[str]:
        file = on_disk(tmp_path, bytes(blocks * BLOCK))
        with serving(swallow) as url:
            return calls(lambda: Bench(url).send(job(file)))

    more = sending(192)
    more.subtract(sending(64))
    # A socket whose other side is slow takes a block in several parts, each with some calls of its own.
    parts = max(more["poll"] - 128, 0)
    assert sum(more.values()) < 128 * 60 + parts * 15
    assert (more["readinto"], more["fstat"]) == (128, 128)


def test_reading_and_digesting_costs_little_more_than_the_digest(tmp_path: Path) -> None:
    """The way of the bytes through the source takes less than half of what their sha256 takes."""
    data = os.urandom(32 * MIB)
    file = on_disk(tmp_path, data)

    def through_the_source() -> None:
        with FileSource(file) as source:
            for _ in source.blocks(Span(0, len(data))):
                pass
            source.digests()

    assert cpu(through_the_source) < 1.5 * cpu(lambda: hashlib.sha256(data))


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    """A file of 256 MiB needs no more than one of 8 MiB: the buffers go round."""
    peaks = []
    for size in (8 * MIB, 256 * MIB):
        path = tmp_path / str(size)
        with path.open("wb") as file:
            file.truncate(size)
        tracemalloc.start()
        with FileSource(from_path(path, path.name)) as source:
            for _ in source.blocks(Span(0, size)):
                pass
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.1 * peaks[0] < 6 * MIB


def test_a_refusal_takes_a_few_times_a_bare_python(tmp_path: Path) -> None:
    """Wrong inputs are told before anything heavy is loaded: in at most nine times what an idle Python takes."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    environment |= {"UPLOADER_TARGET": "play", "UPLOADER_CREDENTIALS": '{"type": ', "UPLOADER_TRACKS": "internal"}

    def run(*arguments: str) -> float:
        child = subprocess.Popen(
            [sys.executable, *arguments],
            env=environment,
            cwd=tmp_path,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        _, _, usage = os.wait4(child.pid, 0)
        child.returncode = 0
        return usage.ru_utime + usage.ru_stime

    run(str(ENTRYPOINT))  # the bytecode is made once
    bare = min(run("-c", "pass") for _ in range(5))
    assert min(run(str(ENTRYPOINT)) for _ in range(5)) < 9 * bare


@pytest.fixture
def many(tmp_path: Path) -> Path:
    """Five folders with eighty files each."""
    for folder in range(5):
        (tmp_path / str(folder)).mkdir()
        for number in range(80):
            (tmp_path / str(folder) / f"{number}.bin").touch()
    return tmp_path


def test_finding_files_is_linear_and_reads_each_folder_once(many: Path) -> None:
    """Twice the files are twice the work, and no folder is listed twice."""
    some, every = (calls(partial(find, [pattern], Workspace(many))) for pattern in ("[0-1]/*", "[0-3]/*"))
    assert sum(every.values()) < 2.1 * sum(some.values())
    assert every["scandir"] == 1 + 4


def test_a_file_more_takes_less_than_a_kilobyte(many: Path) -> None:
    """What is kept of a file that was found fits many times ten thousand."""
    find(["*/*"], Workspace(many))
    tracemalloc.start()
    found = find(["*/*"], Workspace(many))
    kept = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert kept < 1024 * len(found)
