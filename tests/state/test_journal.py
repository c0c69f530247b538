"""Sessions that outlive a process: what the next run goes on with, what it begins anew and says so,
and who can't.
"""

from __future__ import annotations

import os
import signal
import stat
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.support.job import Job
from tests.support.transfer_harness import (
    ITEMS,
    KIB,
    RecordingReporter,
    data_of,
    in_memory,
    on_disk,
)
from uploader.clock import Clock
from uploader.files.artifacts import identity
from uploader.inputs import JobRun
from uploader.services.base import Upload
from uploader.state.journal import Journal, SessionOrigin, SessionRecord
from uploader.state.sealed_store import SealedStore

MIB = 1024 * KIB
SIZE = 3 * MIB + 777  # bytes
DRIVE = {"target": "drive.files.create", "files": "*.bin", "chunk-size": "256KiB"}
RECORD = SessionRecord(
    "https://things.googleapis.com/upload?upload_id=very-secret", 256 * KIB, "sample"
)
NOW = time.time()  # seconds since the epoch; files bear the real time
KEY = b"k" * 32
RUN = JobRun("GitHub run 1, job release", 1)
BEGUN = replace(RECORD, origin=SessionOrigin(RUN.id, RUN.attempt, NOW))


class Books:
    """A state folder, and journals on it whose clock and words a test holds in its hand."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.now = NOW
        self.reporter = RecordingReporter()
        self._last: Journal | None = None

    def open(
        self, key: bytes = KEY, account: str = "me", *, beside: bool = False
    ) -> Journal:
        """A journal as a new process would open it, once the one before has ended, or `beside`
        it.
        """
        if self._last and not beside:
            self._last.close()
        clock = Clock(time.sleep, wall=lambda: self.now)
        journal = Journal(
            SealedStore(self.folder, key, account, clock, self.reporter), RUN
        )
        self._last = self._last if beside else journal
        return journal

    def files(self, suffix: str = "") -> list[Path]:
        """What is in the folder, but for its mark and its lock."""
        return sorted(
            path
            for path in self.folder.glob(f"*{suffix}")
            if path.name not in (".uploader", ".lock")
        )


@pytest.fixture
def books(tmp_path: Path) -> Books:
    """An empty place for a state folder."""
    return Books(tmp_path / "state")


@pytest.fixture
def upload(tmp_path: Path) -> Upload:
    """The upload of one file."""
    return Upload(ITEMS, on_disk(tmp_path, b"content"), "text/plain")


def kept(books: Books, upload: Upload) -> None:
    """An unfinished session of an earlier process."""
    journal = books.open()
    journal.save(upload, RECORD)
    journal.close()


# --- what is found again --------------------------------------------------------------------------


def test_the_next_process_finds_the_session(books: Books, upload: Upload) -> None:
    """What was saved is found by a journal with the same credential and account, and nothing is
    said about it.
    """
    kept(books, upload)
    assert books.open().find(upload) == BEGUN
    assert not books.reporter.warnings + books.reporter.infos


def touched(upload: Upload) -> Upload:
    os.utime(upload.artifact.path, (1, 1))
    status = upload.artifact.path.stat()
    return replace(upload, artifact=replace(upload.artifact, identity=identity(status)))


OTHERS: dict[str, Callable[[Upload], Upload]] = {
    "method": lambda one: replace(
        one, endpoint=replace(one.endpoint, http_method="PUT")
    ),
    "path": lambda one: replace(
        one, endpoint=replace(one.endpoint, upload_path="/upload/else")
    ),
    "query": lambda one: replace(
        one, endpoint=replace(one.endpoint, query=(("a", "b"),))
    ),
    "metadata": lambda one: replace(one, metadata={"name": "x"}),
    "media type": lambda one: replace(one, media_type="text/html"),
    "name": lambda one: replace(one, artifact=replace(one.artifact, name="b.bin")),
    "size": lambda one: replace(one, artifact=replace(one.artifact, size=8)),
    "content": lambda one: replace(one, artifact=in_memory(b"CONTENT")),
}


@pytest.mark.parametrize("what", OTHERS)
def test_another_upload_is_not_found(books: Books, upload: Upload, what: str) -> None:
    """Method, parameters, metadata and the file's name, size or content make an upload what it
    is.
    """
    kept(books, upload)
    assert books.open().find(OTHERS[what](upload)) is None


def test_a_file_that_was_touched_is_another_one_until_its_bytes_are_compared(
    books: Books, upload: Upload
) -> None:
    """After a fresh checkout the session is found, with the word that the file has to be
    compared.
    """
    kept(books, upload)
    assert books.open().find(touched(upload)) == replace(BEGUN, same_file=False)
    assert not books.reporter.infos


@pytest.mark.parametrize("days", [1, 3, 7])
def test_a_session_expires_as_its_service_says(
    books: Books, upload: Upload, days: int
) -> None:
    """After the documented end of its life a session is asked about all the same, and the log says
    how old it is.
    """
    upload = replace(
        upload, endpoint=replace(upload.endpoint, session_lifetime=timedelta(days=days))
    )
    kept(books, upload)
    books.now = NOW + days * 86400 - 60
    assert books.open().find(upload) == BEGUN
    assert not books.reporter.infos
    books.now += 120
    assert books.open().find(upload) == BEGUN
    assert books.reporter.infos == [
        "app.bin: the session of an earlier run should have expired by now."
    ]


@pytest.mark.parametrize("jump", [-3600.0, -10 * 365 * 86400.0])
def test_a_clock_that_went_back_loses_nothing(
    books: Books, upload: Upload, jump: float
) -> None:
    """An entry that is younger than nothing is asked about at the server, who knows."""
    kept(books, upload)
    books.now += jump
    assert books.open().find(upload) == BEGUN


def test_a_clock_that_jumps_ahead_begins_anew(books: Books, upload: Upload) -> None:
    """A clock that is years ahead costs the resume and nothing else; the folder goes on to work."""
    kept(books, upload)
    books.now += 3 * 365 * 86400
    journal = books.open()
    assert journal.find(upload) is None
    journal.save(upload, RECORD)
    assert journal.find(upload) == replace(
        RECORD, origin=SessionOrigin(RUN.id, RUN.attempt, books.now)
    )


def test_a_note_is_found_until_it_is_forgotten(books: Books) -> None:
    """What one run remembers under a name the next one recalls; forgetting leaves no file
    behind.
    """
    first = books.open()
    first.remember("edit", "one")
    first.remember("edit", "two")
    second = books.open()
    assert (second.recall("edit"), second.recall("other")) == ("two", None)
    second.remember("edit", None)
    assert not books.files()
    third = books.open()
    assert third.recall("edit") is None
    third.remember("edit", "three")
    assert not books.reporter.warnings + books.reporter.infos


def test_the_notes_of_a_release_in_every_language_are_recalled(books: Books) -> None:
    """A track with five releases, each with notes of 500 characters in 86 languages."""
    text = "\u4e2d" * (500 * 86 * 5)
    books.open().remember("edit", text)
    assert books.open().recall("edit") == text


# --- whom it tells nothing ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "account"), [(b"o" * 32, "me"), (KEY, "somebody else")]
)
def test_it_is_useless_without_the_credential(
    books: Books, upload: Upload, key: bytes, account: str
) -> None:
    """Another credential or account finds nothing, is told so in one warning, and leaves the entry
    to its owner.
    """
    kept(books, upload)
    stranger = books.open(key, account)
    assert stranger.find(upload) is None
    assert len(books.reporter.warnings) == 1
    assert "another account" in books.reporter.warnings[0]
    stranger.save(upload, replace(RECORD, uri="https://things.googleapis.com/mine"))
    stranger.close()
    assert books.open().find(upload) == BEGUN


def test_nothing_is_in_clear(books: Books, upload: Upload) -> None:
    """Neither the content nor the name of any file tells the session, the file, the method or the
    account.
    """
    journal = books.open(account="me@example.com")
    journal.save(upload, RECORD)
    journal.remember("edit:com.example.app", "42")
    seen = b"".join(
        path.name.encode() + b"\n" + path.read_bytes() for path in books.files()
    )
    for word in (
        b"secret",
        b"googleapis",
        b"app.bin",
        b"example",
        b"things",
        b"uri",
        b"created",
        b"edit",
    ):
        assert word not in seen


def test_files_and_folder_are_for_the_owner_alone(books: Books, upload: Upload) -> None:
    """Mode 0600 for every file and 0700 for the folder, whatever the umask."""
    before = os.umask(0)
    try:
        books.open().save(upload, RECORD)
    finally:
        os.umask(before)
    assert {stat.S_IMODE(path.stat().st_mode) for path in books.files()} == {0o600}
    assert stat.S_IMODE(books.folder.stat().st_mode) == 0o700


def bits(content: bytes) -> Iterator[bytes]:
    """The content with one bit turned, at the places where something else stands: nonce, text,
    seal.
    """
    for place in (0, 11, 12, len(content) // 2, len(content) - 1):
        yield content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]


def test_what_was_changed_is_left_aside(books: Books, upload: Upload) -> None:
    """One wrong bit, a cut, an empty file, text, or another upload's entry under this name: a
    warning, no entry.
    """
    kept(books, upload)
    (path,) = books.files(".sealed")
    whole = path.read_bytes()
    other = books.open()
    other.remember("note", "x" * len(whole))
    foreign = next(file for file in books.files(".sealed") if file != path).read_bytes()
    other.remember("note", None)
    for content in (
        *bits(whole),
        whole[:-1],
        whole[:12],
        b"",
        b"{}",
        os.urandom(200_000),
        foreign,
    ):
        path.write_bytes(content)
        books.reporter.warnings.clear()
        assert books.open().find(upload) is None
        assert books.reporter.warnings
        assert "secret" not in str(books.reporter.warnings)
    path.write_bytes(whole)
    assert books.open().find(upload) == BEGUN


@pytest.mark.parametrize("suffix", ["sealed", "lock"])
@pytest.mark.parametrize("plant", ["link", "pipe", "folder"])
def test_what_somebody_planted_leads_nowhere(
    books: Books, upload: Upload, tmp_path: Path, suffix: str, plant: str
) -> None:
    """A link, a pipe or a folder under the name of an entry or its lock neither hangs a run nor is
    written through.
    """
    kept(books, upload)
    (entry,) = books.files(".sealed")
    victim = tmp_path / "victim"
    victim.write_text("untouched")
    books.open().close()
    path = entry if suffix == "sealed" else books.folder / ".lock"
    path.unlink(missing_ok=True)
    match plant:
        case "link":
            path.symlink_to(victim)
        case "pipe":
            os.mkfifo(path)
        case _:
            path.mkdir()
    journal = books.open()
    found = journal.find(upload)
    assert found is None or (suffix, plant) == (
        "lock",
        "pipe",
    )  # a pipe can be locked like a file
    journal.save(upload, RECORD)
    assert victim.read_text() == "untouched"


# --- two at once, and disks that refuse -----------------------------------------------------------


def test_two_runs_at_once_do_not_share_a_session(books: Books, upload: Upload) -> None:
    """While one process uses the folder another keeps nothing, says so, and disturbs nothing; after
    it it may.
    """
    kept(books, upload)
    first = books.open()
    assert first.find(upload) == BEGUN
    second = books.open(beside=True)
    assert second.find(upload) is None
    (said,) = books.reporter.infos
    assert "Another run is using the state folder" in said
    assert not second.save(
        upload, replace(RECORD, uri="https://things.googleapis.com/second")
    )
    second.drop(upload)
    second.close()
    assert first.find(upload) == BEGUN
    assert books.open().find(upload) == BEGUN


# --- through the entrypoint -----------------------------------------------------------------------


@pytest.fixture
def job(job: Job) -> Job:
    """A job with one file for a method that would make a second object of a second upload."""
    (job.workspace / "a.bin").write_bytes(data_of(SIZE))
    return job


def broken_off(job: Job, **more: str) -> None:
    """A run that ends with 75 after two chunks."""
    job.emulator.add_fault("resumable.put", "status", status=503, nth=3)
    job.emulator.add_fault("resumable.query", "status", status=503)
    job.fail(75, {**DRIVE, "max-retries": "1", **more})


def rewrite(job: Job, seed: int) -> None:
    """Other bytes of the same size, with size, inode and mtime as they were."""
    path = job.workspace / "a.bin"
    before = path.stat()
    with path.open("r+b") as file:
        file.write(data_of(SIZE, seed))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def expire(job: Job) -> None:
    for session in job.emulator.uploads.sessions.values():
        session.expires = 0


CHANGES: dict[str, tuple[Callable[[Job], Any], str]] = {
    "rebuilt": (
        lambda job: (job.workspace / "a.bin").write_bytes(data_of(SIZE, 8)),
        "content is not",
    ),
    "longer": (
        lambda job: (job.workspace / "a.bin").write_bytes(data_of(SIZE + 1)),
        "not the one",
    ),
    "same mtime": (lambda job: rewrite(job, 8), "content is not"),
    "expired at the server": (expire, "the session is gone; starting over at 0."),
}


@pytest.mark.slow
@pytest.mark.parametrize("what", CHANGES)
def test_what_changed_in_between_begins_anew(job: Job, what: str) -> None:
    """Another file, or a session that is gone: a whole new upload of what is there now, and one
    line that says why.
    """
    broken_off(job)
    change, words = CHANGES[what]
    change(job)
    ended = job.run(DRIVE)
    assert (ended.code, ended.outputs["resumed"]) == (0, "false"), ended.log
    assert job.stored() == [(job.workspace / "a.bin").read_bytes()]
    assert words in ended.log


@pytest.mark.parametrize(
    "second",
    [
        pytest.param("stopped while it asked", marks=pytest.mark.slow),
        "killed after it had sent more",
    ],
)
def test_a_fresh_checkout_goes_on_only_with_bytes_that_were_compared(
    job: Job, second: str
) -> None:
    """What a second run did to the entry of the first one never lets a third mix two builds, its
    file being another.
    """
    job.emulator.add_fault("resumable.put", "stall", nth=4, after=100_000, seconds=30)
    begun = job.start(DRIVE).when(lambda state: len(state["faults"]["fired"]) == 1)
    assert begun.send(signal.SIGTERM).end().code == 143
    on, number = (
        ("resumable.query", signal.SIGTERM)
        if "asked" in second
        else ("resumable.put", signal.SIGKILL)
    )
    job.emulator.add_fault(on, "stall", nth=1 if "asked" in second else 7, seconds=30)
    job.start(DRIVE).when(lambda state: len(state["faults"]["fired"]) == 2).send(
        number
    ).end()
    path = job.workspace / "a.bin"
    content = bytearray(path.read_bytes())
    # beyond what the sample sees
    content[700_000 if "asked" in second else 5 * 256 * KIB] ^= 1
    path.write_bytes(content)
    os.utime(path, (1, 1))
    ended = job.succeed(DRIVE)
    assert job.stored() == [bytes(content)]
    assert ended.outputs["resumed"] == "false"


def test_a_session_that_the_server_refuses_begins_anew(job: Job) -> None:
    """An old session that is answered 400 (terminated, of another account) is no reason to fail."""
    broken_off(job)
    job.emulator.add_fault(
        "resumable.query",
        "status",
        status=400,
        message="Upload has already been terminated.",
    )
    job.succeed(DRIVE)
    assert job.stored() == [data_of(SIZE)]


def test_what_is_done_is_not_done_again_when_a_run_is_repeated(job: Job) -> None:
    """Of three independent files one fails: running again sends that one alone, though each send
    would add another.
    """
    for name in ("b.bin", "c.bin"):
        (job.workspace / name).write_bytes(data_of(600_000, ord(name[0])))
    job.emulator.add_fault(
        "resumable.start", "status", status=400, message="Not today.", nth=2
    )
    job.fail(4, {**DRIVE, "concurrency": "1"})
    assert len(job.stored()) == 2
    second = job.succeed({**DRIVE, "concurrency": "1"})
    assert sorted(job.stored()) == sorted(
        path.read_bytes() for path in job.workspace.glob("*.bin")
    )
    assert second.outputs["bytes-uploaded"] == "600000"
    assert len(second.outputs["ids"].split(",")) == 3
    assert not list(job.state_folder.iterdir())


def test_a_state_folder_that_refuses_costs_nothing_but_the_resume(job: Job) -> None:
    """The upload goes through; the log has one warning with the cure."""
    (job.workspace / "blocked").touch()
    ended = job.succeed({**DRIVE, "state-dir": "blocked/state"})
    assert ended.log.count("Set `state-dir` to a writable folder.") == 1
    assert job.stored() == [data_of(SIZE)]
