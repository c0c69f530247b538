"""How soon the program begins: to the first request, to a refusal, to the end of its help; and what takes the time."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from statistics import median

from benchmarks.contestants import PYTHON, ours
from benchmarks.ground import ROOT, Ground
from benchmarks.measure import Run, measured
from benchmarks.turns import Data, in_turns, seconds, send_ours

_LIBRARIES = "os, requests, cryptography.hazmat.primitives.serialization"


def start(ground: Ground, rounds: int) -> Data:
    """Seconds from the start of the process, beside a bare Python and one with the libraries alone."""
    file = ground.file(1000)
    python = partial(measured, ground=ground, more={})
    names = {
        "bare": partial(python, [str(PYTHON), "-c", "pass"]),
        "libraries": partial(python, [str(PYTHON), "-c", f"import {_LIBRARIES}; os._exit(0)"]),
        "request": partial(send_ours, ground, file.name, scheme="http"),
        "refusal": partial(_refused, ground, file.name),
        "help": partial(python, [str(PYTHON), str(ROOT / "entrypoint.py"), "--help"]),
    }
    runs = in_turns(ground, names, rounds, needed=names)
    return {
        **{name: median(map(seconds, each)) for name, each in runs.items()},
        "request": median(run.first_request for run in runs["request"]),
        "byte": median(run.first_byte for run in runs["request"]),
        "beyond": median(
            run.first_request - bare.seconds for run, bare in zip(runs["request"], runs["bare"], strict=True)
        ),
    }


def _refused(ground: Ground, file: str) -> Run:
    """Damaged credentials end a run with 2, before any request."""
    wrong = '{"type": "service_account", '
    command, environment = ours(ground, "http", file, target="play", tracks="internal", credentials=wrong)
    run = measured(command, ground, environment)
    assert run.code == 2, run.log
    return replace(run, code=0)
