"""A Play release, a step of its rollout or an upload, killed at any moment: a plain re-run ends as
a clean run does.
"""

from __future__ import annotations

import random
import signal
import socket
import struct
import time
import zlib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from google_emulator import Emulator, specimens
from tests.support.job import Job
from tests.support.transfer_harness import data_of

pytestmark = pytest.mark.slow

RELEASE = {
    "target": "play",
    "tracks": "internal",
    "release-name": "One",
    "images-directory": "listing",
}
RELEASES = (
    {**RELEASE, "files": "*.aab"},
    # which belongs to one artifact
    {**RELEASE, "files": "app42.aab", "mapping-file": "mapping.txt"},
)
MAPPING = (
    "com.example.Shop -> a.a:\n    int price -> a\n    1:1:void pay():10:10 -> b\n"
)


def png(shade: int) -> bytes:
    """A 320 x 320 picture of one shade."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data))
            + kind
            + data
            + struct.pack(">I", zlib.crc32(kind + data))
        )

    rows = b"".join(b"\0" + bytes([shade]) * 320 for _ in range(320))
    head = struct.pack(">IIBBBBB", 320, 320, 8, 0, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )


def workspace(folder: Path) -> Path:
    """Two bundles, a mapping and six images."""
    pictures = folder / "listing" / "en-US" / "images" / "phoneScreenshots"
    pictures.mkdir(parents=True)
    for place in range(6):
        (pictures / f"{place}.png").write_bytes(png(place * 40))
    for code in (42, 43):
        specimens.make_bundle(
            folder / f"app{code}.aab",
            "com.example.shop",
            code,
            "1.0",
            size_bytes=1_500_000 + code,
        )
    (folder / "mapping.txt").write_text(MAPPING)
    return folder


def live(state: dict[str, Any]) -> Any:
    """What is live in the end, without the ids and addresses that differ from run to run, nor the
    order in which the artifacts came, which are sent at the same time.
    """

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return {
                key: plain(one)
                for key, one in value.items()
                if key not in ("id", "url")
            }
        return [plain(one) for one in value] if isinstance(value, list) else value

    apps = plain(state["apps"])
    for app in apps.values():
        app["artifacts"].sort(key=lambda artifact: artifact["versionCode"])
    return apps


def accepted(state: dict[str, Any]) -> Counter[str]:
    """How often each bundle was taken by Play, by digest."""
    return Counter(
        item["sha256"] for item in state["objects"] if "/bundles" in item["path"]
    )


@pytest.fixture(scope="module", params=RELEASES, ids=["two bundles", "a mapping"])
def clean(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[dict[str, str], Any, float]:
    """A release, what one undisturbed run of it leaves, and how many seconds it takes."""
    release: dict[str, str] = request.param
    with Emulator() as emulator:
        began = time.monotonic()
        ended = Job(
            workspace(tmp_path_factory.mktemp("clean") / "workspace"), emulator
        ).run(release)
        assert ended.code == 0, ended.log
        state = emulator.state()
        assert len(accepted(state)) == (1 if "mapping-file" in release else 2)
        return release, live(state), time.monotonic() - began


@pytest.mark.parametrize("seed", range(10))
def test_a_killed_release_is_finished_by_a_plain_re_run(
    tmp_path: Path, clean: tuple[dict[str, str], Any, float], seed: int
) -> None:
    """SIGKILL at a random moment, then the same job once more: the same state, and no bundle is
    taken twice.
    """
    release, expected, seconds = clean
    with Emulator() as emulator:
        job = Job(workspace(tmp_path / "workspace"), emulator)
        running = job.start(release)
        # the moment itself is what is tested
        time.sleep(random.Random(seed).uniform(0.1, 0.95) * seconds)
        running.send(signal.SIGKILL).end()
        again = job.run(release)
        assert again.code == 0, again.log
        state = emulator.state()
    assert live(state) == expected
    assert set(accepted(state).values()) == {1}


# A step of a rollout

APP = "com.example.app"
ROLLOUT = {
    "target": "play-rollout",
    "package-name": APP,
    "tracks": "production",
    "rollout-steps": "1%, 5%, 20%",
    "halt-above": "crash-rate 1.09%",
}


def rolling(folder: Path, emulator: Emulator, *, crashing: bool) -> Job:
    """A job whose release is at 1 %, and fares well or badly."""
    release = {"versionCodes": ["42"], "status": "inProgress", "userFraction": 0.01}
    emulator.console.add_release(APP, "production", release)
    vitals = {"users": 5000, "userPerceivedCrashRate": 0.03 if crashing else 0.004}
    emulator.vitals.script({APP: {"versions": {"42": vitals}}})
    folder.mkdir(exist_ok=True)
    return Job(folder, emulator)


def share(job: Job) -> tuple[str, float]:
    """Status and share of the release."""
    (release,) = job.emulator.state()["apps"][APP]["tracks"]["production"]
    return release["status"], release["userFraction"]


@pytest.fixture(scope="module")
def seconds(tmp_path_factory: pytest.TempPathFactory) -> float:
    """How long an undisturbed look takes."""
    with Emulator() as emulator:
        job, began = (
            rolling(tmp_path_factory.mktemp("clean"), emulator, crashing=False),
            time.monotonic(),
        )
        assert job.run(ROLLOUT).code == 0
        return time.monotonic() - began


@pytest.mark.parametrize("seed", range(50))
def test_a_killed_step_is_one_step_or_one_halt(
    tmp_path: Path, seconds: float, seed: int
) -> None:
    """SIGKILL at a random moment, then the same job once more, unless the first run had reported
    its end: there is one commit.
    """
    crashing = seed % 2 == 1
    with Emulator() as emulator:
        job = rolling(tmp_path / "workspace", emulator, crashing=crashing)
        running = job.start(ROLLOUT)
        # the moment itself is what is tested
        time.sleep(random.Random(seed).uniform(0.2, 1.05) * seconds)
        killed = running.send(signal.SIGKILL).end()
        if "decision=" not in killed.log:
            again = job.run(ROLLOUT)
            expected = (6, "halted") if crashing else (0, "stepped")
            assert (again.code, again.outputs["decision"]) == expected, again.log
        assert share(job) == (("halted", 0.01) if crashing else ("inProgress", 0.05))
        assert len(emulator.state()["edits"]["committed"]) == 1


DRIVE = {"target": "drive.files.create", "files": "*.bin"}


def test_killed_and_then_the_session_is_lost(tmp_path: Path) -> None:
    """SIGKILL at 20 random moments of 32 MiB: a doubt only where the last block was due, and never
    a doubled file.
    """
    chance, content = random.Random(3), data_of(32 << 20)
    # The last block, and what the sockets between the two can hold.
    on_the_way = (
        (1 << 20)
        + int(Path("/proc/sys/net/ipv4/tcp_wmem").read_text().split()[2])
        + (1 << 20)
    )
    for number in range(20):
        with Emulator(config={"read_rate": 48 << 20}) as emulator:
            emulator._server.socket.setsockopt(
                socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 18
            )
            job = Job(tmp_path / f"{number}", emulator)
            job.workspace.mkdir()
            (job.workspace / "0.bin").write_bytes(content)
            running = job.start(DRIVE)
            # Every fourth run is killed wherever it is, perhaps before it has a session.
            if number % 4:
                running.when(lambda state: bool(state["sessions"]))
            time.sleep(chance.uniform(0.0, 0.9))
            killed = running.send(signal.SIGKILL).end()
            received = sum(
                one["bytes_received"] for one in emulator.state()["sessions"]
            )
            emulator.add_fault("resumable.query", "status", status=404)
            again = job.run(DRIVE)
            if "1 file sent" in killed.log:
                continue
            assert again.code in (0, 4), again.log
            if again.code == 4:
                assert again.outputs["failure"] == "outcome-unknown"
                assert received > len(content) - on_the_way
            stored = [
                Path(one["file"]).read_bytes() for one in emulator.state()["objects"]
            ]
            assert stored in ([], [content])
