"""Runs that take turns, round by round, so that noise hits all alike; ratios are those of the runs of one round."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from statistics import median
from typing import Any

from benchmarks.contestants import Contestant, ours
from benchmarks.ground import Ground
from benchmarks.measure import Run, measured

Data = dict[str, Any]
Measure = Callable[[Run], float]


def in_turns(
    ground: Ground, runs: Mapping[str, Callable[[], Run]], rounds: int, needed: Collection[str] = ()
) -> dict[str, list[Run]]:
    """The runs of each name. One that fails is left out from then on, with all of its runs, and the ground knows why.

    Raises `RuntimeError` when it is one of the `needed`.
    """
    done: dict[str, list[Run]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name in list(done):
            run = runs[name]()
            if name in needed or worked(ground, name, run):
                done[name].append(ok(run))
            else:
                del done[name]
    return done


def worked(ground: Ground, name: str, run: Run) -> bool:
    """Whether a peer's run ended well; if not, the ground notes the last line of its log."""
    if run.code:
        ground.left_out[name] = (run.log.strip().splitlines() or [f"exit code {run.code}"])[-1][:200]
    return not run.code


def ok(run: Run) -> Run:
    """The run, if it ended well. Raises `RuntimeError` with the end of its log."""
    if run.code:
        raise RuntimeError(f"a contestant failed with {run.code}:\n{run.log[-2000:]}")
    return run


def send_ours(ground: Ground, files: str, *, scheme: str = "https", inputs: Data | None = None, **settings: Any) -> Run:
    """Has this program send the files that a pattern names; `settings` are the sink's."""
    command, environment = ours(ground, scheme, files, **(inputs or {}))
    return measured(command, ground, environment, **settings)


def send(ground: Ground, name: str, one: Contestant, **settings: Any) -> Run:
    """Has a contestant send a file of the workspace over TLS."""
    command, environment = one.command(ground, "https", ground.workspace / name)
    return measured(command, ground, environment, **settings)


def ratio(mine: Sequence[Run], theirs: Sequence[Run], of: Measure) -> float:
    """By how much mine are more than theirs: the median of the rounds."""
    return median(of(one) / of(other) for one, other in zip(mine, theirs, strict=True))


def seconds(run: Run) -> float:
    """The whole process."""
    return run.seconds


def cpu(run: Run) -> float:
    """Its processor seconds."""
    return run.cpu


def sending(run: Run) -> float:
    """Seconds from the first byte of a body on: without the start of the process."""
    return run.seconds - run.first_byte
