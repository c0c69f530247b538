"""Many small files: images with late answers, ten thousand beside rclone, and what one more of them costs in memory."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from benchmarks.contestants import OURS, RCLONE, rclone_folder, rclone_installed
from benchmarks.ground import Ground
from benchmarks.measure import Run, measured
from benchmarks.turns import Data, in_turns, ok, ratio, seconds, send_ours


def small(ground: Ground, rounds: int, *, count: int, size: int, latency: float) -> Data:
    """So many files with every answer late by so many seconds, by defaults; and rclone with as many connections."""
    folder = ground.files(count, size)
    most = 0

    def ours() -> Run:
        nonlocal most
        run = send_ours(ground, f"{folder.name}/*", latency=latency)
        most = run.seen["most_connections"]
        return run

    def rclone() -> Run:
        command, environment = rclone_folder(ground, folder, most)
        return measured(command, ground, environment, latency=latency)

    field = {OURS: ours, RCLONE: rclone} if rclone_installed(ground) else {OURS: ours}
    runs = in_turns(ground, field, rounds, needed=(OURS,))
    summaries = {name: _summary(each, runs[OURS]) for name, each in runs.items()}
    return {"count": count, "size": size, "latency": latency, "runs": summaries}


def _summary(runs: Sequence[Run], ours: Sequence[Run]) -> Data:
    return {
        "ratio": ratio(runs, ours, seconds),
        "seconds": median(map(seconds, runs)),
        "cpu": median(run.cpu for run in runs),
        "memory": max(run.memory for run in runs),
        "connections": max(run.seen["most_connections"] for run in runs),
        "requests": max(run.seen["requests"] for run in runs),
    }


def growth(ground: Ground, counts: Sequence[int]) -> Data:
    """Files of one byte, planned and sent: the peak of memory by their number. Few and many are enough for a line."""
    found: Data = {}
    for count in counts:
        pattern = f"{ground.files(count, 1).name}/*"
        planned = ok(send_ours(ground, pattern, scheme="http", inputs={"dry_run": "true"}))
        sent = ok(send_ours(ground, pattern, scheme="http"))
        found[str(count)] = {"planned": planned.memory, "sent": sent.memory}
    return found
