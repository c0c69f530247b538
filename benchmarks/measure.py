"""One child process, measured by the system's own books: wall time, processor time, peak memory, what the sink saw."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.ground import Ground

LONGEST = 300.0  # seconds until a child that hangs is killed


@dataclass(frozen=True)
class Run:
    """What one child took: seconds, processor seconds (`cpu`), bytes of resident memory at the peak (`memory`).

    `first_request` and `first_byte` are seconds from the start of the child to the first request and to the first byte
    of a body, as the sink saw them. `sink_cpu` is what the sink itself took meanwhile.
    """

    code: int
    seconds: float
    cpu: float
    memory: int
    sink_cpu: float
    seen: Mapping[str, Any]
    first_request: float
    first_byte: float
    log: str


def measured(command: Sequence[str], ground: Ground, more: Mapping[str, str], **settings: Any) -> Run:
    """Runs the command in the ground's workspace, with the sink set up as told, and measures it."""
    ground.set_up(**settings)
    before = ground.seen()["cpu"]
    log = ground.folder / "child.log"
    with log.open("wb") as out:
        began = time.monotonic()
        child = subprocess.Popen(
            command,
            env={**ground.environment(), **more},
            cwd=ground.workspace,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
        )
        watch = threading.Timer(LONGEST, os.kill, (child.pid, signal.SIGKILL))
        watch.start()
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.monotonic() - began
        watch.cancel()
    child.returncode = os.waitstatus_to_exitcode(status)
    seen = ground.seen()
    return Run(
        code=child.returncode,
        seconds=seconds,
        cpu=usage.ru_utime + usage.ru_stime,
        memory=usage.ru_maxrss * 1024,
        sink_cpu=seen["cpu"] - before,
        seen=seen,
        first_request=max(seen["first_request"] - began, 0.0),
        first_byte=max(seen["first_byte"] - began, 0.0),
        log=log.read_text(errors="replace"),
    )
