"""The state folder: what is removed from it, in whose folder nothing is kept, and that nothing is held open or lost."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.job import Job
from tests.support.transfer_harness import Bench, RecordingReporter, in_memory
from tests.support.transfer_harness import job as upload_of
from uploader.http.client import Timeouts
from uploader.http.messages import Headers, Request, Response, TransportError
from uploader.inputs import JobRun
from uploader.state.journal import Journal
from uploader.state.sealed_store import SealedStore

NOW = 1_800_000_000.0  # seconds since the epoch
MONTHS = 90 * 86400.0  # seconds
FOREIGN = ("poetry.lock", "Cargo.lock", "a.new", "draft.sealed", f"{'0' * 40}.txt", f"{'g' * 40}.sealed", "0.sealed")
OURS = (f"{'0' * 40}.sealed", f"{'1' * 40}.lock", f"{'2' * 40}.0123abcd.new")


def store(folder: Path, reporter: RecordingReporter, owners: tuple[int, ...] = ()) -> SealedStore:
    """The store as a run opens it."""
    return SealedStore(folder, b"k" * 32, "me", lambda: NOW, reporter, owners)


def old_files(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).write_bytes(b"x")
        os.utime(folder / name, (NOW - MONTHS, NOW - MONTHS))


def left(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


# --- what is removed --------------------------------------------------------------------------------------------------


def test_other_programs_files_are_never_removed(tmp_path: Path) -> None:
    """In a folder of ours only our own names go, however old the others are and whatever they end with."""
    folder = tmp_path / "state"
    first = store(folder, RecordingReporter())
    assert first.write("0" * 40, {"a": 1})
    first.close()
    old_files(folder, *FOREIGN, *OURS)
    store(folder, RecordingReporter()).close()
    assert left(folder) == {*FOREIGN, ".uploader"}


def test_nothing_is_removed_from_a_folder_that_is_not_ours(tmp_path: Path) -> None:
    """A folder that held something before keeps even what is named like our own files."""
    old_files(tmp_path, *FOREIGN, *OURS)
    reporter = RecordingReporter()
    one = store(tmp_path, reporter)
    assert one.write("5" * 40, {"a": 1})
    one.close()
    store(tmp_path, reporter).close()
    assert left(tmp_path) == {*FOREIGN, *OURS, f"{'5' * 40}.sealed"}
    assert not reporter.infos


def test_an_empty_folder_becomes_ours_and_is_left_empty(tmp_path: Path) -> None:
    """The mark is there while something is kept, and goes with it, so that an empty state stays empty."""
    for _ in range(2):
        one = store(tmp_path, RecordingReporter())
        one.write("0" * 40, {"a": 1})
        assert ".uploader" in left(tmp_path)
        one.remove("0" * 40)
        one.close()
        assert not left(tmp_path)


def test_the_mark_is_not_written_through_a_link(tmp_path: Path) -> None:
    """Whoever planted a link where the mark would be gets nothing made."""
    folder = tmp_path / "state"
    one = store(folder, RecordingReporter())
    (folder / ".uploader").symlink_to(tmp_path / "victim")
    one.write("0" * 40, {"a": 1})
    assert not (tmp_path / "victim").exists()


# --- in whose folder nothing is kept ----------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702])
def test_a_folder_that_others_can_change_keeps_nothing(tmp_path: Path, mode: int) -> None:
    """Group or others could plant or remove entries: one warning with the cure, and the run goes on."""
    tmp_path.chmod(mode)
    reporter = RecordingReporter()
    one = store(tmp_path, reporter)
    assert not one.write("0" * 40, {"a": 1})
    assert one.read("0" * 40) is None
    one.remove("0" * 40)
    one.close()
    assert not left(tmp_path)
    (warning,) = reporter.warnings
    assert "can be changed by other users" in warning
    assert "mode 0700" in warning


def test_a_folder_of_another_user_keeps_nothing(tmp_path: Path) -> None:
    """It is refused, unless it belongs to the user for whom the run works, as in GitHub's container."""
    if os.geteuid():
        pytest.skip("needs the right to give a folder away")
    os.chown(tmp_path, 4321, -1)
    reporter = RecordingReporter()
    assert not store(tmp_path, reporter).write("0" * 40, {"a": 1})
    assert "belongs to another user" in reporter.warnings[0]
    assert store(tmp_path, RecordingReporter(), (4321,)).write("0" * 40, {"a": 1})


@pytest.mark.parametrize("whose", ["the workspace's owner's", "a stranger's"])
def test_root_works_for_the_owner_of_the_workspace(job: Job, whose: str) -> None:
    """In GitHub's container a restored cache belongs to the runner's user, who also owns the workspace."""
    if os.geteuid():
        pytest.skip("needs the right to give a folder away")
    state = job.workspace.parent / "state"
    state.mkdir(mode=0o700)
    os.chown(state, 4321, -1)
    os.chown(job.workspace, 4321 if "owner" in whose else 0, -1)
    (job.workspace / "a.bin").write_bytes(b"x")
    ended = job.run({"target": "drive.files.create", "files": "a.bin", "state-dir": str(state)})
    assert ended.code == 0, ended.log
    assert ("belongs to another user" in ended.log) is ("stranger" in whose)


# --- what is held open, and what a power cut leaves -------------------------------------------------------------------


class NoNetwork:
    """Opens a session for whoever asks, and breaks every other connection."""

    def send(self, request: Request, blocks: object, token: str, timeouts: Timeouts) -> Response:
        """The answer to a start; anything else breaks off."""
        del blocks, token, timeouts
        if "uploadType=resumable" in request.url and "upload_id" not in request.url:
            return Response(200, Headers({"Location": f"{request.url}&upload_id={os.urandom(12).hex()}"}), b"")
        raise TransportError("the connection was reset", sent_whole=False)

    def abort(self) -> None:
        """Nothing is open."""


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_failed_uploads_hold_no_descriptors(tmp_path: Path) -> None:
    """Each of 300 uploads that fail is kept, and none leaves a file open."""
    reporter = RecordingReporter()
    journal = Journal(tmp_path / "state", b"k" * 32, "me", lambda: NOW, reporter, JobRun("run"))
    bench = Bench("http://127.0.0.1:9", max_retries=0, journal=journal, transport=NoNetwork())
    before = descriptors()
    for number in range(300):
        result = bench.send(upload_of(in_memory(b"x", f"{number}.bin")))
        assert "is kept, and the next run continues" in result.error
    assert descriptors() <= before + 5
    assert len(list((tmp_path / "state").glob("*.sealed"))) == 300


def test_nothing_is_promised_that_is_not_kept() -> None:
    """Without a journal a failure does not say that the next run goes on."""
    bench = Bench("http://127.0.0.1:9", max_retries=0, transport=NoNetwork())
    assert bench.send(upload_of(b"x")).error.endswith("Run again later.")


def test_an_entry_outlives_a_power_cut(tmp_path: Path) -> None:
    """The file is written to the disk before it gets its name, and its folder after that."""
    code = """
import sys
from pathlib import Path
from tests.support.transfer_harness import RecordingReporter
from uploader.state.sealed_store import SealedStore
store = SealedStore(Path(sys.argv[1]), b"k" * 32, "me", lambda: 0.0, RecordingReporter())
store.write("1" * 40, {"a": 1})
calls = []
sys.setprofile(lambda frame, event, what: calls.append(what.__name__) if event == "c_call" else None)
store.write("0" * 40, {"a": 1})
sys.setprofile(None)
print(*(name for name in calls if name in ("fsync", "replace", "rename")))
"""
    root = Path(__file__).resolve().parents[2]
    child = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "s")], cwd=root, capture_output=True, text=True, check=True
    )
    assert child.stdout.split() == ["fsync", "replace", "fsync"]
