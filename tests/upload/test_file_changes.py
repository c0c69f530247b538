"""Files that change while they are sent: never finished on the server, exit 5; and digests that go
on over a resume.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from google_emulator import Emulator
from tests.support.job import Job
from tests.support.transfer_harness import (
    KIB,
    STEPS,
    Bench,
    data_of,
    job,
    on_disk,
)
from uploader.errors import IntegrityError
from uploader.reporting import UploadListener, UploadProgress
from uploader.services.base import Dialect

MIB = 1024 * KIB
SIZE = 5 * MIB + 99  # bytes: enough for the digest to run in a thread of its own


def grow(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"one more line\n")


def shrink(path: Path) -> None:
    os.truncate(path, SIZE // 2)


def empty(path: Path) -> None:
    os.truncate(path, 0)


def replace_by_rename(path: Path) -> None:
    new = path.with_suffix(".new")
    new.write_bytes(data_of(SIZE, 9))
    os.utime(new, ns=(path.stat().st_atime_ns, path.stat().st_mtime_ns))
    new.replace(path)


def remove(path: Path) -> None:
    path.unlink()


def rewrite(path: Path) -> None:
    with path.open("r+b") as file:
        file.write(data_of(SIZE, 9))


def rewrite_secretly(path: Path) -> None:
    """In place, with the same size, and with mtime set back."""
    before = path.stat()
    rewrite(path)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def rewrite_one_byte_secretly(path: Path) -> None:
    """The first byte alone: it was sent long ago."""
    before = path.stat()
    with path.open("r+b") as file:
        file.write(b"\xff")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


CHANGES = (
    grow,
    shrink,
    empty,
    replace_by_rename,
    remove,
    rewrite,
    rewrite_secretly,
    rewrite_one_byte_secretly,
)


class Meddling(Bench):
    """A run in which something happens to the file once the server's answer to a chunk was
    counted.
    """

    def change_at(self, offset: int, change: Callable[[], object]) -> None:
        """Calls `change` when the upload stands at `offset` or beyond, once."""
        show_progress, pending = self.reporter.show_progress, [change]

        class Line(UploadListener):
            def __init__(self, upload: UploadProgress) -> None:
                self._upload = upload

            def progressed(self) -> None:
                if self._upload.position >= offset and pending:
                    pending.pop()()

            def offset_confirmed(self) -> None:
                self.progressed()

        def wrapped(upload: UploadProgress) -> Line:
            show_progress(upload)
            return Line(upload)

        self.reporter.show_progress = wrapped  # type: ignore[assignment, method-assign]  # this line has no memory of its own


@pytest.mark.parametrize(
    ("chunk", "dialect"),
    [
        pytest.param(None, "content-range", id="one request-content-range"),
        pytest.param(MIB, "goog-upload", id="chunks-goog-upload"),
        pytest.param(
            None,
            "goog-upload",
            id="one request-goog-upload",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            MIB,
            "content-range",
            id="chunks-content-range",
            marks=pytest.mark.slow,
        ),
    ],
)
@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_a_change_while_it_is_sent(
    tmp_path: Path,
    emulator: Emulator,
    change: Callable[[Path], None],
    chunk: int | None,
    dialect: Dialect,
) -> None:
    """Whatever happens to the file after its first half was sent: exit 5, no object, the session
    ended.
    """
    artifact = on_disk(tmp_path, data_of(SIZE))
    bench = Meddling(emulator, chunk=chunk)
    bench.change_at(SIZE // 2, lambda: change(artifact.path))
    result = bench.send(job(artifact, dialect))
    assert isinstance(result.failure, IntegrityError)
    assert result.failure.exit_code == 5
    assert "changed during the upload" in result.error
    assert not bench.stored()
    assert not [
        session for session in bench.state()["sessions"] if session["state"] == "open"
    ]
    assert bench.count(STEPS[dialect]["query"]) == 0


@pytest.mark.parametrize("change", CHANGES[:6], ids=lambda change: change.__name__)
def test_a_file_that_changed_before_its_upload_is_not_sent(
    tmp_path: Path, emulator: Emulator, change: Callable[[Path], None]
) -> None:
    """What was found and checked is what is sent; another file is not."""
    artifact = on_disk(tmp_path, data_of(SIZE))
    change(artifact.path)
    bench = Bench(emulator)
    assert isinstance(bench.send(job(artifact)).failure, IntegrityError)
    assert (bench.stored(), bench.state()["bytes_received"]) == ([], 0)


def rewrite_same(path: Path) -> None:
    before = path.stat()
    path.open("r+b").close()
    with path.open("r+b") as file:
        file.write(data_of(SIZE))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


HARMLESS: dict[str, Callable[[Path], object]] = {
    "mode": lambda path: path.chmod(0o600),
    "another link": lambda path: path.with_suffix(".link").hardlink_to(path),
    "read": lambda path: path.read_bytes(),
    "written as it was": rewrite_same,
}


@pytest.mark.parametrize("what", HARMLESS)
def test_what_leaves_the_bytes_alone_is_no_change(
    tmp_path: Path, emulator: Emulator, what: str
) -> None:
    """A new mode or link moves the file's ctime, too: the content is read once more and the upload
    goes through.
    """
    artifact = on_disk(tmp_path, data_of(SIZE))
    bench = Meddling(emulator, chunk=MIB)
    bench.change_at(SIZE // 2, lambda: HARMLESS[what](artifact.path))
    assert not bench.send(job(artifact)).error
    assert bench.stored() == [data_of(SIZE)]


def test_a_file_that_changes_under_a_running_job(job: Job) -> None:
    """Through the entrypoint: exit 5, one error line with a cure, nothing stored, the journal
    empty.
    """
    path = job.workspace / "app.bin"
    path.write_bytes(data_of(SIZE))
    job.emulator.add_fault("resumable.put", "stall", nth=3, seconds=1)
    running = job.start(
        {"target": "drive.files.create", "files": "app.bin", "chunk-size": "1MiB"}
    )
    running.when(lambda state: bool(state["faults"]["fired"]))
    rewrite_secretly(path)
    ended = running.end()
    assert ended.code == 5, ended.log
    assert "Let the build finish before this step." in ended.log
    assert not job.emulator.state()["objects"]
    assert not list(job.state_folder.iterdir())
