"""Many files in one run, and one list of files over many runs: in order, side by side, each exactly
once.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.destinations.conftest import Begin
from tests.support.destination_runs import sha256
from tests.support.destinations import MIB, apk, bundle, noise
from tests.support.job import Job

DRIVE = {"target": "drive.files.create"}
STORAGE = {"target": "storage.objects.insert", "params": "bucket: b"}
ONE_BY_ONE = {"concurrency": "1"}


def fill(workspace: Path, count: int, size: int) -> dict[str, str]:
    """Writes files of different content; returns their digests by name."""
    digests = {}
    for number in range(count):
        content = noise(size, b"%6d" % number)
        (workspace / f"{number:04}.bin").write_bytes(content)
        digests[f"{number:04}.bin"] = sha256(content)
    return digests


def stored(job: Job) -> list[tuple[str, str]]:
    """Name and digest of everything that was stored."""
    return [
        (one["resource"]["name"], one["sha256"])
        for one in job.emulator.state()["objects"]
    ]


@contextmanager
def watched(process: int) -> Iterator[list[int]]:
    """Counts a process's open descriptors again and again while it lives."""
    counts: list[int] = []
    over = threading.Event()

    def watch() -> None:
        with suppress(OSError):  # the process is gone
            while not over.wait(0.05):
                counts.append(sum(1 for _ in Path(f"/proc/{process}/fd").iterdir()))

    watcher = threading.Thread(target=watch)
    watcher.start()
    yield counts
    over.set()
    watcher.join()


def test_what_was_sent_is_told_by_its_address(begin: Begin) -> None:
    """An object of Cloud Storage by bucket and name, a file in Drive by its link."""
    job = begin()
    fill(job.workspace, 2, 100)
    ended = job.succeed({**STORAGE, "files": "*.bin"})
    assert "0001.bin is gs://b/0001.bin\n" in ended.log
    ended = job.succeed({**DRIVE, "files": "0000.bin"})
    address = f"https://drive.google.com/file/d/{ended.outputs['id']}/view"
    assert f"0000.bin is {address}\n" in ended.log


@pytest.mark.slow
def test_a_thousand_files_share_eight_connections(begin: Begin) -> None:
    """1,000 files, 8 at once: each arrives once, over 8 connections that are used again, in flat
    memory.
    """
    few = replace(begin(), fresh=True)
    fill(few.workspace, 8, 20_000)
    small = few.run({**DRIVE, "files": "*.bin", "concurrency": "8"})
    job = replace(begin(), fresh=True)
    digests = fill(job.workspace, 1000, 20_000)
    running = job.start({**DRIVE, "files": "*.bin", "concurrency": "8"})
    with watched(running.child.pid) as descriptors:
        ended = running.end()
    assert ended.code == 0, ended.log[-2000:]
    assert sorted(stored(job)) == sorted(digests.items())
    assert [result["path"] for result in ended.results] == sorted(digests)
    assert ended.outputs["ids"].count(",") == 999
    assert job.emulator.state()["connections"] <= 8 + 1  # one more is for the token
    # for each of eight: a file, a connection, what is written of its session
    assert max(descriptors) < 60
    assert ended.peak < small.peak + 16 * MIB


LATE: dict[str, Any] = {
    "on": "simple",
    "do": "slow-answer",
    "seconds": 0.03,
    "times": 1000,
}
TOO_MANY: dict[str, Any] = {
    "on": "simple",
    "do": "status",
    "status": 429,
    "retry_after": 0,
}


def test_sixteen_small_files_are_in_flight(begin: Begin) -> None:
    """Two hundred small files and late responses: sixteen are on their way at once, and no more."""
    job = begin(LATE)
    digests = fill(job.workspace, 200, 1000)
    ended = job.succeed({**STORAGE, "files": "*.bin"})
    assert sorted(stored(job)) == sorted(digests.items())
    assert [result["path"] for result in ended.results] == list(digests)
    # one more is for the token
    assert 12 < job.emulator.state()["connections"] <= 16 + 1


@pytest.mark.slow
def test_four_large_files_are_in_flight_among_the_small_ones(begin: Begin) -> None:
    """Eight files of more than 8 MiB, whose responses are late, take the place of four; a small one
    passes them.
    """
    job = begin(
        {"on": "resumable.final", "do": "slow-answer", "seconds": 1.0, "times": 99}
    )
    for number in range(8):
        with (job.workspace / f"{number}.bin").open("wb") as file:
            file.truncate(8 * MIB + 1)
    (job.workspace / "small.txt").write_bytes(b"small")
    job.succeed({**STORAGE, "files": "*.bin\nsmall.txt"})
    assert job.emulator.state()["connections"] <= 5 + 1
    assert [name for name, _ in stored(job)].index("small.txt") < 4


@pytest.mark.slow
def test_a_concurrency_that_was_chosen_is_never_exceeded(begin: Begin) -> None:
    """A 429 among the answers changes nothing about it, and every file arrives."""
    job = begin({**TOO_MANY, "nth": 6}, LATE)
    digests = fill(job.workspace, 60, 1000)
    job.succeed({**STORAGE, "files": "*.bin", "concurrency": "3"})
    state = job.emulator.state()
    assert [fired["do"] for fired in state["faults"]["fired"]].count("status") == 1
    assert sorted(stored(job)) == sorted(digests.items())
    # one more is for the token
    assert state["connections"] <= 3 + 1


@pytest.mark.slow
def test_faults_among_many_files_cost_none_of_them(begin: Begin) -> None:
    """Resets, full servers and lost answers while eight files are on their way: every file is there
    once.
    """
    job = begin(
        {"on": "resumable.put", "do": "reset", "nth": 3, "times": 4},
        {"on": "resumable.final", "do": "answer-lost", "nth": 10, "times": 4},
        {
            "on": "resumable.start",
            "do": "status",
            "status": 429,
            "retry_after": 0,
            "nth": 20,
            "times": 4,
        },
    )
    digests = fill(job.workspace, 40, 20_000)
    job.succeed({**DRIVE, "files": "*.bin", "concurrency": "8"})
    assert len(job.emulator.state()["faults"]["fired"]) == 12
    assert sorted(stored(job)) == sorted(digests.items())


def test_a_login_that_fails_has_failed_for_every_file(begin: Begin) -> None:
    """None of them asks for a token again, or waits for one."""
    job = begin({"on": "oauth.token", "do": "status", "status": 503, "times": 99})
    fill(job.workspace, 20, 10)
    ended = job.run({**STORAGE, "files": "*.bin", "max-retries": "1"})
    assert (ended.code, job.emulator.state()["requests"]["oauth.token"]) == (75, 2), (
        ended.log
    )
    assert all("no access token" in one["error"] for one in ended.results), (
        ended.results
    )


def test_results_keep_the_order_of_the_files(begin: Begin) -> None:
    """However the uploads overtake one another, ids and results come as `files` names them."""
    # one of two is overtaken
    job = begin({"on": "resumable.start", "do": "slow-answer", "seconds": 0.5})
    for name in ("c.bin", "a.bin", "b.bin"):
        (job.workspace / name).write_bytes(name.encode())
    ended = job.succeed({**DRIVE, "files": "c.bin\na.bin\nb.bin", "concurrency": "2"})
    assert [name for name, _ in stored(job)] != ["c.bin", "a.bin", "b.bin"]
    assert [result["path"] for result in ended.results] == ["c.bin", "a.bin", "b.bin"]
    assert ended.outputs["ids"].split(",") == [result["id"] for result in ended.results]
    assert ended.outputs["id"] == ended.results[0]["id"]


def test_links_of_internal_sharing_come_in_the_order_of_the_files(job: Job) -> None:
    """An APK and two bundles shared by one run: each has its link, and the first one's is
    `download-url`.
    """
    files = [
        bundle(job.workspace, code=3),
        apk(job.workspace, code=2),
        bundle(job.workspace, code=1),
    ]
    ended = job.succeed(
        {
            "target": "play-internal-sharing",
            "files": "\n".join(file.name for file in files),
        }
    )
    links = [
        f"https://play.google.com/apps/test/com.example.app/{sha256(file.read_bytes())[:16]}"
        for file in files
    ]
    assert ended.outputs["download-urls"].split(",") == links
    assert ended.outputs["download-url"] == ended.outputs["id"] == links[0]
    assert [
        one["method"].rpartition(".")[2] for one in job.emulator.state()["objects"]
    ].count("uploadapk") == 1


FORBIDDEN: dict[str, Any] = {
    "do": "status",
    "status": 403,
    "reason": "storageQuotaExceeded",
    "message": "No room.",
}
BUSY: dict[str, Any] = {"do": "status", "status": 503}


@pytest.mark.parametrize(
    ("second", "third", "code"),
    [(FORBIDDEN, BUSY, 4), (BUSY, FORBIDDEN, 75)],
    ids=["refused first", "busy first"],
)
def test_one_failure_does_not_hide_the_others(
    begin: Begin, second: dict[str, Any], third: dict[str, Any], code: int
) -> None:
    """All files are tried; the exit code is the first failure's, and the results say which file met
    what.
    """
    start = "drive.files.create+resumable.start"
    job = begin({"on": start, "nth": 2, **second}, {"on": start, "nth": 3, **third})
    digests = fill(job.workspace, 4, 1000)
    ended = job.run({**DRIVE, **ONE_BY_ONE, "files": "*.bin", "max-retries": "0"})
    assert ended.code == code, ended.log
    assert [name for name, _ in stored(job)] == ["0000.bin", "0003.bin"]
    assert [result["path"] for result in ended.results] == list(digests)
    assert [bool(result["error"]) for result in ended.results] == [
        False,
        True,
        True,
        False,
    ]
    assert ["No room." in result["error"] for result in ended.results].index(True) == (
        1 if code == 4 else 2
    )
    assert [bool(result["id"]) for result in ended.results] == [
        True,
        False,
        False,
        True,
    ]
    assert ended.outputs["ids"].split(",") == [
        ended.results[0]["id"],
        ended.results[3]["id"],
    ]


@pytest.mark.slow
@pytest.mark.parametrize("how", ["input", "gitlab"])
def test_shards_together_send_everything_once(begin: Begin, how: str) -> None:
    """Three jobs of a matrix, told apart by `shard` or by GitLab's own variables, split the files
    without a rest.
    """
    job = begin(kind="gitlab")
    digests = fill(job.workspace, 10, 100)
    parts = []
    for number in ("1", "2", "3"):
        node = (
            {"CI_NODE_INDEX": number, "CI_NODE_TOTAL": "3"} if how == "gitlab" else {}
        )
        shard = {} if how == "gitlab" else {"shard": f"{number}/3"}
        ended = job.succeed({**STORAGE, **shard, "files": "*.bin"}, **node)
        parts.append([result["path"] for result in ended.results])
    assert sorted(len(part) for part in parts) == [3, 3, 4]
    assert [path for part in parts for path in part] == list(digests)
    assert sorted(stored(job)) == sorted(digests.items())


def test_a_matrix_of_jobs_fills_one_edit(begin: Begin) -> None:
    """One job opens the edit, a matrix puts its shard on tracks of its own, the last one commits
    all of it at once.
    """
    job = begin()
    play = {"target": "play", "package-name": "com.example.app"}
    opened = job.succeed({**play, "commit": "false"})
    edit = opened.outputs["edit-id"]
    for code in (101, 102, 103):
        bundle(job.workspace, code=code)
    for number, track in enumerate(("internal", "alpha", "beta"), 1):
        inputs = {
            "files": "*.aab",
            "shard": f"{number}/3",
            "tracks": track,
            "commit": "false",
        }
        ended = job.succeed({**play, **inputs, "existing-edit-id": edit})
        assert (ended.outputs["edit-id"], ended.outputs["committed"]) == (edit, "false")
        assert ended.outputs["version-codes"] == str(100 + number)
    assert job.emulator.state()["edits"]["committed"] == []
    last = job.succeed({**play, "existing-edit-id": edit})
    assert last.outputs["committed"] == "true"
    state = job.emulator.state()
    assert [one["id"] for one in state["edits"]["committed"]] == [edit]
    assert state["edits"]["open"] == state["edits"]["deleted"] == []
    tracks = {
        track: found[0]["versionCodes"]
        for track, found in state["tracks"]["com.example.app"].items()
    }
    assert tracks == {"internal": ["101"], "alpha": ["102"], "beta": ["103"]}
    assert state["requests"]["play.bundles.upload"] == 2 * 3


@pytest.mark.parametrize("number", range(1, 6))
def test_parallel_jobs_on_one_bundle_make_one_release(job: Job, number: int) -> None:
    """The job that has the bundle releases it, its mapping too; the others end well, and say
    why.
    """
    bundle(job.workspace, MIB, 7)
    (job.workspace / "mapping.txt").write_text("com.example.Main -> a:\n")
    inputs = {
        "target": "play",
        "files": "*.aab",
        "tracks": "internal",
        "mapping-file": "mapping.txt",
    }
    ended = job.succeed({**inputs, "shard": f"{number}/5"})
    assert ("no file is assigned to this job" in ended.log) is (number != 5)
    state = job.emulator.state()
    assert len(state["edits"]["committed"]) == (number == 5)
    mappings = [
        name
        for edit in state["edits"]["committed"]
        for name in edit["deobfuscationFiles"]
    ]
    assert mappings == (["7/proguard"] if number == 5 else [])
