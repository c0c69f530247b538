"""The benchmark measures what it says: its sink answers as the services do, and its page says what was missed."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks import report
from benchmarks.answers import Method, media_size, resource
from benchmarks.contestants import CURL, OURS, RCLONE, ours
from benchmarks.goals import Goal, goals
from benchmarks.ground import Ground, ground
from benchmarks.large_files import NO_DIGEST, SERVICES
from benchmarks.measure import Run, measured
from benchmarks.turns import in_turns

DIGESTS = {"md5": "00" * 16, "sha1": "11" * 20, "sha256": "22" * 32, "crc32c": "33" * 4}


@pytest.mark.parametrize(
    ("path", "fields", "stated"),
    [
        ("/upload/storage/v1/b/b/o", "", {"md5Hash": "AAAAAAAAAAAAAAAAAAAAAA==", "crc32c": "MzMzMw=="}),
        ("/upload/storage/v1/b/b/o", "id,crc32c", {"crc32c": "MzMzMw=="}),
        ("/upload/drive/v3/files", "", {}),
        ("/upload/drive/v3/files", "id,sha256Checksum", {"sha256Checksum": "22" * 32}),
        ("/upload/androidpublisher/v3/bundles", "", {"sha1": "11" * 20, "sha256": "22" * 32}),
        ("/upload/youtube/v3/videos", "", {}),
    ],
)
def test_the_sink_states_the_digests_that_the_service_does(path: str, fields: str, stated: dict[str, str]) -> None:
    """Which digests an answer holds depends on the service and on what was asked for."""
    answer = resource(Method(path, fields), 5, DIGESTS)
    assert {name: value for name, value in answer.items() if re.search("md5|sha|crc", name)} == stated


@pytest.mark.parametrize("end", [b"", b"\r\n"])
def test_the_sink_finds_the_file_in_a_body_of_two_parts(end: bytes) -> None:
    """What a client sends beside the file does not count as its size, even where the file looks like a boundary."""
    parts = (
        b'--x\r\nContent-Type: application/json\r\n\r\n{"a": 1}\r\n',
        b"--x\r\nContent-Type: a/b\r\n\r\n--x\r\n\r\n",
    )
    assert media_size(b"".join(parts) + b"\r\n--x--" + end, 'multipart/related; boundary="x"') == len(b"--x\r\n\r\n")


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    """The sink, running."""
    if not shutil.which("openssl"):
        pytest.skip("the sink's certificate is made by openssl")
    with ground(tmp_path_factory.mktemp("benchmark")) as made:
        yield made


@pytest.mark.parametrize("service", SERVICES)
def test_what_the_sink_states_is_compared(here: Ground, service: str) -> None:
    """A wrong digest ends a run with 5 at every service that states one, so that the runs do compare it."""
    file = here.file(2_000_000)
    wrong = {size: {name: "0" * len(value) for name, value in each.items()} for size, each in here.stated.items()}
    target, params = SERVICES[service]
    command, environment = ours(here, "https", file.name, target=target, params=params)
    codes = [
        measured([sys.executable, *command[1:]], here, environment, stated=stated).code
        for stated in (here.stated, wrong)
    ]
    assert codes == [0, 0 if service == NO_DIGEST else 5]


def run(code: int = 0, log: str = "") -> Run:
    return Run(code, seconds=2.0, cpu=1.0, memory=1, sink_cpu=0.0, seen={}, first_request=0, first_byte=0, log=log)


def test_a_peer_that_fails_is_left_out_and_named(tmp_path: Path) -> None:
    """The others go on, and the page can say why one is missing."""
    place = Ground(tmp_path, {})
    codes = iter((0, 1))
    field = {OURS: run, "peer": lambda: run(next(codes), "first line\nno route\n")}
    runs = in_turns(place, field, rounds=3, needed=(OURS,))
    assert {name: len(each) for name, each in runs.items()} == {OURS: 3}
    assert place.left_out == {"peer": "no route"}


def test_a_run_of_this_program_that_fails_ends_the_benchmark(tmp_path: Path) -> None:
    """Nothing is measured of a program that does not work."""
    with pytest.raises(RuntimeError, match="why"):
        in_turns(Ground(tmp_path, {}), {OURS: lambda: run(1, "why")}, rounds=1, needed=(OURS,))


@pytest.mark.parametrize(
    ("goal", "verdict"),
    [
        (Goal("a", "b", 0.75, least=0.75), "met"),
        (Goal("a", "b", 0.6, least=0.75), "missed by 20%"),
        (Goal("a", "b", 48.1, most=48), "missed by 0.2%"),
        (Goal("a", "b", 7.0, most=0), "missed by 7"),
        (Goal("a", "b", None, most=1), "not measured"),
    ],
)
def test_a_goal_says_by_how_much_it_was_missed(goal: Goal, verdict: str) -> None:
    """In parts of what was asked, or plainly where nothing was."""
    assert goal.verdict == verdict


def found(**more: Any) -> dict[str, Any]:
    """What a run leaves, in which all goals are met."""
    sent = {"seconds": 1.0, "cpu": 1.2, "memory": 47_000_000, "sink_cpu": 0.4}
    ratios = {"speed_ratio": 0.8, "sending_ratio": 0.9, "cpu_ratio": 1.7}
    small = {"ratio": 1.5, "seconds": 1.0, "cpu": 0.5, "memory": 50_000_000, "connections": 32, "requests": 201}
    few = {"count": 200, "size": 200_000, "latency": 0.05, "runs": {OURS: small, RCLONE: small}}
    fault = {"extra": 0.01, "again": 0}
    pull = {"pull": 2.0, "first_request": 2.5}
    image = {"layers": [17_000_000, 9_000_000], "python": 0.01, "first_request": 0.1, "program": 0.2, "nothing": 0.2}
    other = {"cold": pull, "cold_other": {"pull": 8.0}, "other": "the older image", "other_size": 80_000_000}
    return {
        "machine": {"processor": "a processor", "cores": 2, "python": "3.13", "curl": "8", "day": "2026-01-01"},
        "rounds": 5,
        "load": ["0 0 0", "1 1 1"],
        "left_out": {},
        "rest": "the rest",
        "start": dict.fromkeys(("bare", "libraries", "request", "byte", "beyond", "refusal", "help"), 0.03),
        "costs": [["the rest", 0.02], ["urllib3", 0.01], ["requests", 0.005]],
        "large": {
            "size": 1 << 30,
            "hashlib": 0.53,
            "cpu_beyond": 0.6,
            "https": {OURS: {**sent, **ratios}, CURL: {**sent, **ratios}},
        },
        "digests": {name: {"seconds": 1, "cpu": 1, "seconds_ratio": 1, "cpu_ratio": 1} for name in SERVICES},
        "images": few,
        "many": {**few, "count": 10_000},
        "memory": {str(1 << 20): 46_000_000, str(1 << 30): 47_000_000},
        "growth": {"1000": {"planned": 0, "sent": 0}, "10000": {"planned": 8_000_000, "sent": 9_000_000}},
        "faults": {
            "size": 1 << 30,
            "503": fault,
            "reset": fault,
            "peers": {CURL: {"503": "failed", "reset": "failed"}},
        },
        "image": {**image, **other},
        **more,
    }


def test_the_page_explains_with_the_figures_of_its_own_run() -> None:
    """Five sentences by hand, each of a part that has goals, with figures that a later run changes."""
    assert not [goal for goal in goals(found()) if goal.verdict != "met"]
    assert set(report.notes()) <= {goal.part for goal in goals(found())}
    page = report.page(found())
    said = page.partition("## What bounds it")[2].partition("\n## ")[0].strip().split("\n\n")
    assert len(said) == 5
    assert "each of 10,000 files costs 0.05 ms" in said[0]
    assert "{" not in page


def test_the_page_names_what_it_does_not_explain_and_what_is_not_there() -> None:
    """A miss without a sentence, a peer that was left out and an image that could not be built are told of."""
    again = {"size": 1 << 30, "503": {"extra": 0, "again": 9}, "reset": {"extra": 0, "again": 0}, "peers": {}}
    page = report.page(found(faults=again, image={}, left_out={"rclone": "not installed"}))
    assert "**Faults.** Missed in this run" in page
    assert "Left out: rclone (not installed)." in page
    assert "No image could be built" in page
    assert "| Image | packed, MB | at most 30 | - | not measured |" in page
