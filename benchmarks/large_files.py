"""One large file: by everybody, by services that state different digests, of several sizes, and through a fault."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from statistics import median

from benchmarks.contestants import CURL, OURS, PYTHON, Contestant, contestants
from benchmarks.ground import Ground
from benchmarks.measure import Run, measured
from benchmarks.turns import Data, cpu, in_turns, ok, ratio, seconds, send, send_ours, sending

MIB = 1 << 20
GIB = 1 << 30
NO_DIGEST, SILENT = "YouTube, which states none", "Cloud Storage, stating none"
# What each service states, and how the method is called by which it is asked.
SERVICES: Mapping[str, tuple[str, str]] = {
    NO_DIGEST: ("youtube.videos.insert", '{"part": "id"}'),
    SILENT: ("storage.objects.insert", '{"bucket": "b"}'),
    "Cloud Storage (crc32c, md5)": ("storage.objects.insert", '{"bucket": "b"}'),
    "Drive (sha256)": ("drive.files.create", "{}"),
    "Play (sha256, sha1)": ("androidpublisher.edits.bundles.upload", '{"packageName": "com.example", "editId": "1"}'),
}
_HASH = "import hashlib, time; block = bytes({block}); digest = hashlib.sha256(); began = time.process_time()\n"
_HASH += "for _ in range({times}): digest.update(block)\nprint(time.process_time() - began)"


def large(ground: Ground, rounds: int, size: int = GIB) -> Data:
    """By everybody over TLS, as users have them: what checks a digest by default does it here."""
    file = ground.file(size)
    runs = in_turns(
        ground,
        {one.name: partial(send, ground, file.name, one) for one in contestants(ground)},
        rounds,
        needed=(OURS, CURL),
    )
    pairs = zip(runs[OURS], runs[CURL], strict=True)
    return {
        "size": size,
        "hashlib": _hashlib(ground, rounds),
        "cpu_beyond": median(mine.cpu - theirs.cpu for mine, theirs in pairs) * GIB / size,
        "https": {name: _summary(each, runs[CURL], size) for name, each in runs.items()},
    }


def digests(ground: Ground, rounds: int, size: int = GIB) -> Data:
    """To services that state different digests, by this program, beside one that states none."""
    file = ground.file(size)

    def to(service: str) -> Run:
        target, params = SERVICES[service]
        stated = {} if service == SILENT else ground.stated
        return send_ours(ground, file.name, inputs={"target": target, "params": params}, stated=stated)

    runs = in_turns(ground, {service: partial(to, service) for service in SERVICES}, rounds, needed=SERVICES)
    return {
        service: {
            "seconds": median(map(seconds, each)),
            "cpu": median(map(cpu, each)) * GIB / size,
            "seconds_ratio": ratio(each, runs[NO_DIGEST], seconds),
            "cpu_ratio": ratio(each, runs[NO_DIGEST], cpu),
        }
        for service, each in runs.items()
    }


def memory(ground: Ground, sizes: Sequence[int] = (MIB, 64 * MIB, GIB, 10 * GIB)) -> Data:
    """Our peak of memory by the size of the file; the files are sparse."""
    peaks: Data = {}
    for size in sizes:
        file = ground.sparse(size)
        peaks[str(size)] = ok(send_ours(ground, file.name, stated={})).memory
        file.unlink()
    return peaks


def faults(ground: Ground, rounds: int, size: int = GIB) -> Data:
    """The server fails once, in the middle of a file and of a chunk: what goes again, and the time beyond the wait."""
    file = ground.file(size)
    found: Data = {"size": size, "peers": {}}
    for kind in ("503", "reset"):
        fault = {"at": size // 2 + 100_000, "do": kind}
        extra, again = [], []
        for _ in range(rounds):
            clean = ok(send_ours(ground, file.name))
            run = ok(send_ours(ground, file.name, fault=fault))
            waits = sum(float(wait) for wait in re.findall(r"trying again in ([0-9.]+) s", run.log))
            extra.append(run.seconds - clean.seconds - waits)
            again.append(run.seen["received"] - size)
        found[kind] = {"extra": median(extra), "again": max(again)}
        for one in _peers(ground):
            found["peers"].setdefault(one.name, {})[kind] = _fate(send(ground, file.name, one, fault=fault), size)
    return found


def _peers(ground: Ground) -> Sequence[Contestant]:
    return [one for one in contestants(ground) if one.name != OURS and one.name not in ground.left_out]


def _summary(runs: Sequence[Run], curl: Sequence[Run], size: int) -> Data:
    """Medians of one contestant's runs; ratios are made pair by pair with the curl of the same round."""
    return {
        "seconds": median(map(seconds, runs)),
        "cpu": median(map(cpu, runs)) * GIB / size,
        "memory": max(run.memory for run in runs),
        "sink_cpu": median(run.sink_cpu for run in runs) * GIB / size,
        "speed_ratio": ratio(curl, runs, seconds),
        "sending_ratio": ratio(curl, runs, sending),
        "cpu_ratio": ratio(runs, curl, cpu),
    }


def _hashlib(ground: Ground, rounds: int) -> float:
    """Processor seconds for the sha256 of a GiB by the library that this program uses, without reading it."""
    script = _HASH.format(block=MIB, times=GIB // MIB)
    return median(float(ok(measured([str(PYTHON), "-c", script], ground, {})).log) for _ in range(rounds))


def _fate(run: Run, size: int) -> str:
    again = max(run.seen["received"] - size, 0) / size
    return f"sent {again:.0%} again" if run.code == 0 else "failed"
