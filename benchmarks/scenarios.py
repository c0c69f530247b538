"""What is measured: each scenario runs its children in turn, round by round, and returns plain data for the report."""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from statistics import median
from typing import Any

from benchmarks.contestants import CURL, OURS, PYTHON, Contestant, contestants, ours
from benchmarks.ground import Ground
from benchmarks.measure import Run, measured

MIB = 1 << 20
GIB = 1 << 30
LATENCY = 0.05  # seconds before each answer

Data = dict[str, Any]


def large(ground: Ground, rounds: int, size: int = GIB) -> Data:
    """One large file by everybody over both schemes: the contestants take turns, so that noise hits all alike."""
    file = ground.file(size)
    found: Data = {"size": size, **_digests(ground, size, rounds)}
    for scheme in ("https", "http"):
        field = [one for one in contestants(ground) if scheme in one.schemes]
        runs = _in_turns(field, rounds, partial(_send, ground, scheme, file.name))
        found[scheme] = {name: _summary(runs[name], runs[CURL], size) for name in runs}
    return found


def memory(ground: Ground) -> Data:
    """Our peak of memory for files from 1 MiB to 10 GiB; the large ones are sparse."""
    peaks = {}
    for size in (MIB, 64 * MIB, GIB, 10 * GIB):
        file = ground.sparse(size)
        peaks[size] = _ok(measured(*_ours(ground, "https", file.name), stated={})).memory
        file.unlink()
    return {"peaks": peaks}


def faults(ground: Ground, rounds: int, size: int = GIB) -> Data:
    """The server fails once, in the middle of a file and of a chunk: what goes again, and the time beyond the wait."""
    file = ground.file(size)
    found: Data = {"size": size, "peers": {}}
    for kind in ("503", "reset"):
        fault = {"at": size // 2 + 100_000, "do": kind}
        extra, again = [], []
        for _ in range(rounds):
            clean = _ok(measured(*_ours(ground, "https", file.name)))
            run = _ok(measured(*_ours(ground, "https", file.name), fault=fault))
            waits = sum(float(wait) for wait in re.findall(r"trying again in ([0-9.]+) s", run.log))
            extra.append(run.seconds - clean.seconds - waits)
            again.append(run.seen["received"] - size)
        found[kind] = {"extra": median(extra), "again": max(again)}
        for one in contestants(ground):
            if one.name != OURS and "https" in one.schemes:
                run = _send(ground, "https", file.name, one, fault=fault)
                found["peers"].setdefault(one.name, {})[kind] = _fate(run, size)
    return found


def latency(ground: Ground, rounds: int) -> Data:
    """Every answer is late: one large file beside curl, and two hundred small ones at once."""
    file = ground.file(GIB)
    field = [one for one in contestants(ground) if one.name in (OURS, CURL)]
    runs = _in_turns(field, rounds, partial(_send, ground, "https", file.name, latency=LATENCY))
    pairs = zip(runs[OURS], runs[CURL], strict=True)
    folder = ground.folder / "workspace" / "images"
    folder.mkdir(exist_ok=True)
    for number in range(200):
        (folder / f"{number}.bin").write_bytes(number.to_bytes(2, "big") * 100_000)
    images = [
        _ok(measured(*_ours(ground, "https", "images/*", concurrency="8"), latency=LATENCY)) for _ in range(rounds)
    ]
    return {
        "large": median(mine.seconds / theirs.seconds for mine, theirs in pairs),
        "images": median(run.seconds for run in images),
        "connections": max(run.seen["most_connections"] for run in images),
        "requests": max(run.seen["requests"] for run in images),
    }


def start(ground: Ground, rounds: int) -> Data:
    """From the start of the process to the first request, and to a refusal; beside a bare Python."""
    file = ground.file(1000)
    bare = [str(PYTHON), "-c", "pass"]
    modules = "os, requests, google.oauth2.service_account"
    libraries = [str(PYTHON), "-c", f"import {modules}; os._exit(0)"]
    wrong = '{"type": "service_account", '
    found: dict[str, list[float]] = {"bare": [], "libraries": [], "request": [], "byte": [], "refusal": []}
    for _ in range(rounds):
        found["bare"].append(measured(bare, ground, {}).seconds)
        found["libraries"].append(measured(libraries, ground, {}).seconds)
        run = _ok(measured(*_ours(ground, "http", file.name)))
        found["request"].append(run.first_request)
        found["byte"].append(run.first_byte)
        command, environment = ours(ground, "http", file.name, target="play", tracks="internal", credentials=wrong)
        run = measured(command, ground, environment)
        assert run.code == 2, run.log
        found["refusal"].append(run.seconds)
    return {name: median(values) for name, values in found.items()}


def growth(ground: Ground) -> Data:
    """Ten thousand files, planned and sent, against a thousand; and a sparse file of 100 GiB."""
    folder = ground.folder / "workspace" / "many"
    folder.mkdir(exist_ok=True)
    found: Data = {"files": {}}
    for count in (1_000, 5_000, 10_000):
        for number in range(count):
            (folder / f"{number}.bin").write_bytes(b"x")
        planned = _ok(measured(*_ours(ground, "http", "many/*", dry_run="true")))
        sent = _ok(measured(*_ours(ground, "http", "many/*", concurrency="8")))
        found["files"][count] = {
            "planned": [planned.seconds, planned.memory],
            "sent": [sent.seconds, sent.memory],
        }
    file = ground.sparse(100 * GIB)
    stop = {"at": 8 * MIB, "do": "503"}
    run = measured(*_ours(ground, "https", file.name, max_retries="0"), fault=stop)
    found["sparse"] = run.first_byte
    file.unlink()
    return found


def _ours(ground: Ground, scheme: str, files: str, **inputs: str) -> tuple[Sequence[str], Ground, Mapping[str, str]]:
    command, environment = ours(ground, scheme, files, **inputs)
    return command, ground, environment


def _send(ground: Ground, scheme: str, name: str, one: Contestant, **settings: Any) -> Run:
    command, environment = one.command(ground, scheme, ground.folder / "workspace" / name)
    return measured(command, ground, environment, **settings)


def _in_turns(field: Sequence[Contestant], rounds: int, run: Callable[[Contestant], Run]) -> dict[str, list[Run]]:
    runs: dict[str, list[Run]] = {one.name: [] for one in field}
    for _ in range(rounds):
        for one in field:
            runs[one.name].append(_ok(run(one)))
    return runs


def _ok(run: Run) -> Run:
    if run.code:
        raise RuntimeError(f"a contestant failed:\n{run.log[-2000:]}")
    return run


def _summary(runs: Sequence[Run], curl: Sequence[Run], size: int) -> Data:
    """Medians of one contestant's runs; ratios are made pair by pair with the curl of the same round."""
    pairs = list(zip(runs, curl, strict=True))
    return {
        "seconds": median(run.seconds for run in runs),
        "cpu": median(run.cpu for run in runs) * GIB / size,
        "memory": max(run.memory for run in runs),
        "sink_cpu": median(run.sink_cpu for run in runs) * GIB / size,
        "speed_ratio": median(theirs.seconds / mine.seconds for mine, theirs in pairs),
        "sending_ratio": median(_sending(theirs) / _sending(mine) for mine, theirs in pairs),
        "cpu_ratio": median(mine.cpu / theirs.cpu for mine, theirs in pairs),
        "again": max(run.seen["received"] for run in runs) - size,
    }


def _sending(run: Run) -> float:
    """Seconds from the first byte of a body on: without the start of the process."""
    return run.seconds - run.first_byte


def _digests(ground: Ground, size: int, rounds: int) -> Data:
    """Processor seconds for the sha256 of a GiB, by the system's tool and by the library that this program uses."""
    runs = [_ok(measured(["sha256sum", ground.file(size).name], ground, {})) for _ in range(rounds)]
    block, digest = bytes(MIB), hashlib.sha256()
    began = time.process_time()
    for _ in range(GIB // MIB):
        digest.update(block)
    return {"sha256sum": median(run.cpu for run in runs) * GIB / size, "hashlib": time.process_time() - began}


def _fate(run: Run, size: int) -> str:
    again = max(run.seen["received"] - size, 0) / size
    return f"sent {again:.0%} again" if run.code == 0 else "failed"


def load() -> str:
    """The machine's load averages now."""
    with open("/proc/loadavg", encoding="ascii") as file:
        return " ".join(file.read().split()[:3])


def machine() -> Data:
    """Where and when it was measured."""
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        names = [line.partition(":")[2].strip() for line in file if line.startswith("model name")]
    curl = subprocess.run(["curl", "--version"], check=True, capture_output=True, text=True).stdout.split()[1]
    return {
        "processor": names[0] if names else "unknown",
        "cores": len(names),
        "python": sys.version.split()[0],
        "curl": curl,
        "day": time.strftime("%Y-%m-%d", time.gmtime()),
    }
