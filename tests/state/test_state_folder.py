"""The state folder: what is removed from it, and in whose folder nothing is kept."""

from __future__ import annotations

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Barrier

import pytest

from google_emulator import specimens
from tests.support.job import Job
from tests.support.transfer_harness import RecordingReporter
from uploader.clock import Clock
from uploader.state.sealed_store import SealedStore

NOW = 1_800_000_000.0  # seconds since the epoch
MONTH = 31 * 86400.0  # seconds
FOREIGN = (
    "poetry.lock",
    "Cargo.lock",
    "a.new",
    "draft.sealed",
    f"{'0' * 40}.txt",
    f"{'g' * 40}.sealed",
    "0.sealed",
)
OURS = (f"{'0' * 40}.sealed", f"{'1' * 40}.lock", f"{'2' * 40}.0123abcd.new")


def store(
    folder: Path, reporter: RecordingReporter, owners: tuple[int, ...] = ()
) -> SealedStore:
    """The store as a run opens it."""
    return SealedStore(
        folder, b"k" * 32, "me", Clock(time.sleep, wall=lambda: NOW), reporter, *owners
    )


def old_files(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).write_bytes(b"x")
        os.utime(folder / name, (NOW - MONTH, NOW - MONTH))


def left(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


# --- what is kept ---------------------------------------------------------------------------------


def test_all_of_several_first_values_are_kept(tmp_path: Path) -> None:
    """Uploads side by side keep their sessions in a fresh folder at the same moment."""
    names = [f"{number:040x}" for number in range(4)]
    for attempt in range(40):
        reporter = RecordingReporter()
        kept = store(tmp_path / str(attempt), reporter)
        together = threading.Barrier(len(names))

        def write(
            name: str, kept: SealedStore = kept, together: Barrier = together
        ) -> bool:
            together.wait()
            return kept.write(name, {"session": name})

        with ThreadPoolExecutor(len(names)) as threads:
            assert all(threads.map(write, names))
        assert [kept.read(name) for name in names] == [
            {"session": name} for name in names
        ]
        assert not reporter.warnings
        kept.close()


def test_a_value_that_is_too_large_to_be_read_again_is_not_kept(tmp_path: Path) -> None:
    """Nor is the value before it, which is no longer true."""
    kept = store(tmp_path / "state", RecordingReporter())
    name = "0" * 40
    assert kept.write(name, {"notes": "first"})
    assert not kept.write(name, {"notes": "x" * (4 << 20)})
    assert kept.read(name) is None
    kept.close()


# --- what is removed ------------------------------------------------------------------------------


def test_other_programs_files_are_never_removed(tmp_path: Path) -> None:
    """In a folder of ours only our own names go, once they are older than any session, whatever the
    others are.
    """
    folder = tmp_path / "state"
    first = store(folder, RecordingReporter())
    assert first.write("0" * 40, {"a": 1})
    first.close()
    old_files(folder, *FOREIGN, *OURS)
    young, reporter = folder / f"{'3' * 40}.sealed", RecordingReporter()
    young.touch()
    os.utime(young, (NOW - 29 * 86400, NOW - 29 * 86400))
    store(folder, reporter).close()
    assert left(folder) == {*FOREIGN, ".uploader", young.name}
    assert reporter.infos == [
        "Removed 1 file from the state folder, older than any upload session."
    ]


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
    """The mark is there while something is kept, and goes with it, so that an empty state stays
    empty.
    """
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


@pytest.mark.parametrize(
    "name", [".lock", ".uploader", f"{'0' * 40}.sealed", f"{'1' * 40}.lock"]
)
def test_nothing_is_done_through_a_link_in_the_folder(
    tmp_path: Path, name: str
) -> None:
    """Whoever the folder belongs to can't have a file elsewhere written, removed or made
    read-only.
    """
    victim = tmp_path / "victim"
    victim.write_bytes(b"untouched")
    before = victim.stat()
    folder = tmp_path / "state"
    folder.mkdir(mode=0o700)
    (folder / name).symlink_to(victim)
    one = store(folder, RecordingReporter())
    one.write("0" * 40, {"a": 1})
    one.read("0" * 40)
    one.remove("0" * 40)
    one.close()
    after = victim.stat()
    assert victim.read_bytes() == b"untouched"
    assert (after.st_mode, after.st_mtime_ns) == (before.st_mode, before.st_mtime_ns)


def test_a_file_with_a_second_name_keeps_its_mode(tmp_path: Path) -> None:
    """A hard link that was planted may be of a file elsewhere."""
    victim = tmp_path / "victim"
    victim.write_bytes(b"no value of ours")
    before = victim.stat()
    folder = tmp_path / "state"
    folder.mkdir(mode=0o700)
    (folder / f"{'0' * 40}.sealed").hardlink_to(victim)
    store(folder, RecordingReporter()).close()
    assert victim.stat().st_mode == before.st_mode


def test_a_folder_that_is_replaced_by_a_link_is_not_followed(tmp_path: Path) -> None:
    """Once it is open, its descriptor counts, and what stands in its place later gets nothing."""
    folder, elsewhere = tmp_path / "state", tmp_path / "elsewhere"
    elsewhere.mkdir()
    one = store(folder, RecordingReporter())
    folder.rename(tmp_path / "away")
    folder.symlink_to(elsewhere)
    assert one.write("0" * 40, {"a": 1})
    assert one.read("0" * 40) == {"a": 1}
    one.close()
    assert not list(elsewhere.iterdir())


def test_a_link_to_a_folder_of_another_user_s_is_no_state_folder(
    tmp_path: Path,
) -> None:
    """Where the folder may belong to the workspace's owner, they may have put a link in its
    place.
    """
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    (tmp_path / "state").symlink_to(tmp_path / "elsewhere")
    reporter = RecordingReporter()
    one = store(tmp_path / "state", reporter, (os.geteuid(),))
    assert not one.write("0" * 40, {"a": 1})
    assert "is not a folder" in "".join(reporter.warnings)
    assert not list((tmp_path / "elsewhere").iterdir())


def cut_off(job: Job, state_dir: str) -> str:
    """The log of a release whose upload breaks off, so that there is something to keep."""
    specimens.make_bundle(
        job.workspace / "app.aab", "com.example.app", 7, "1.4.2", size_bytes=1_000_000
    )
    job.emulator.add_fault(
        "play.bundles.upload+resumable.put", "status", status=503, after=600_000
    )
    given = {
        "target": "play",
        "files": "app.aab",
        "tracks": "internal",
        "max-retries": "0",
        "state-dir": state_dir,
    }
    return job.fail(75, given).log


@pytest.mark.parametrize("state_dir", ["cache/state", "cache", "kept/cache/state"])
@pytest.mark.parametrize("named", ["relative", "absolute"])
def test_no_link_of_the_workspace_leads_the_state_elsewhere(
    job: Job, state_dir: str, named: str
) -> None:
    """Whoever commits to the workspace chooses its links: nothing is kept behind one, wherever it
    stands.
    """
    elsewhere = job.workspace.parent / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    link = job.workspace / state_dir[: state_dir.index("cache")] / "cache"
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(elsewhere)
    log = cut_off(
        job, state_dir if named == "relative" else str(job.workspace / state_dir)
    )
    assert "cache is a link or not a folder, and links are not followed" in log
    assert not list(elsewhere.rglob("*"))


@pytest.mark.parametrize("kind", ["github", "gitlab", "console"])
def test_a_folder_of_the_workspace_keeps_the_state(job: Job, kind: str) -> None:
    """In a cache that the CI system restores, made where it is not there."""
    cut_off(replace(job, kind=kind), "cache/state")
    assert list((job.workspace / "cache/state").glob("*.sealed"))


@pytest.mark.parametrize(
    "inside", [False, True], ids=["to a folder", "to the workspace's own parent"]
)
def test_a_link_outside_the_workspace_is_the_machine_s_own(
    job: Job, inside: bool
) -> None:
    """As /tmp on macOS, which leads to /private/tmp."""
    machine = job.workspace.parent / "linked"
    machine.symlink_to(
        job.workspace.parent if inside else job.workspace.parent / "elsewhere"
    )
    (job.workspace.parent / "elsewhere").mkdir(mode=0o700)
    cut_off(job, f"{machine}/state")
    assert list((machine / "state").glob("*.sealed"))


def test_a_workspace_may_be_reached_by_a_link(job: Job) -> None:
    """The link before it is not the workspace's; one in it is, by either name."""
    (job.workspace / "cache").symlink_to(job.workspace.parent)
    named = job.workspace.parent / "named"
    named.symlink_to(job.workspace)
    linked = replace(job, workspace=named)
    cut_off(linked, "kept/state")
    assert list((job.workspace / "kept/state").glob("*.sealed"))
    assert "cache is a link" in cut_off(linked, f"{job.workspace}/cache/state")
    assert not (job.workspace.parent / "state").exists()


# --- in whose folder nothing is kept --------------------------------------------------------------


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702])
def test_a_folder_that_others_can_change_keeps_nothing(
    tmp_path: Path, mode: int
) -> None:
    """Group or others could plant or remove entries: one warning with the cure, and the run goes
    on.
    """
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
    """It is refused, unless it belongs to the user for whom the run works, as in GitHub's
    container.
    """
    if os.geteuid():
        pytest.skip("needs the right to give a folder away")
    os.chown(tmp_path, 4321, -1)
    reporter = RecordingReporter()
    assert not store(tmp_path, reporter).write("0" * 40, {"a": 1})
    assert "belongs to another user" in reporter.warnings[0]
    assert store(tmp_path, RecordingReporter(), (4321,)).write("0" * 40, {"a": 1})


@pytest.mark.parametrize("whose", ["the workspace's owner's", "a stranger's"])
def test_root_works_for_the_owner_of_the_workspace(job: Job, whose: str) -> None:
    """In GitHub's container a restored cache belongs to the runner's user, who also owns the
    workspace.
    """
    if os.geteuid():
        pytest.skip("needs the right to give a folder away")
    state = job.workspace.parent / "state"
    state.mkdir(mode=0o700)
    os.chown(state, 4321, -1)
    os.chown(job.workspace, 4321 if "owner" in whose else 0, -1)
    (job.workspace / "a.bin").write_bytes(b"x")
    ended = job.succeed(
        {"target": "drive.files.create", "files": "a.bin", "state-dir": str(state)}
    )
    assert ("belongs to another user" in ended.log) is ("stranger" in whose)
